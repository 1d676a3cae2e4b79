// Forks, several processes on one cache, many threads on one function, several contexts in one process.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "system/host_program.hpp"

namespace tenon::tests {
namespace {

TEST(Fork, AChildOfAProgramThatRanMayLeave) {
  ContextOptions options;
  options.no_cache = true;
  options.threads = 2;
  auto context = Context::create(options).or_die();
  auto function = function_of(context, kSmallGraph).or_die();
  const HostArray x = small_input();
  auto y = function.run({x.tensor()}).or_die();
  ASSERT_EQ(small_problem(x, y[0]), "");
  // Exits the usual way: static destructors, but none of our objects.
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  // The parent is unharmed.
  y = function.run({x.tensor()}).or_die();
  EXPECT_EQ(small_problem(x, y[0]), "");
}

TEST(Fork, AChildMayDestroyWhatItInherited) {
  ContextOptions options;
  options.no_cache = true;
  options.threads = 2;
  auto context = std::make_unique<Context>(Context::create(options).or_die());
  auto function = std::make_unique<Function>(function_of(*context, kSmallGraph).or_die());
  const HostArray x = small_input();
  ASSERT_TRUE(function->run({x.tensor()}).ok());
  EXPECT_EQ(in_child([&] {
    function.reset();
    context.reset();
    return 5;
  }), 5);
}

// The compilers that run at the time of the fork are the parent's.
TEST(Fork, AChildThatDestroysLeavesTheParentsCompilersAlone) {
  ContextOptions options;
  options.no_cache = true;
  options.threads = 2;
  auto context = std::make_unique<Context>(Context::create(options).or_die());
  for (int round = 0; round < 5; ++round) {
    auto function = std::make_unique<Function>(function_of(*context, kSmallGraph, MissPolicy::kCompileBehind).or_die());
    const HostArray x = small_input();
    ASSERT_TRUE(function->run({x.tensor()}).ok());
    usleep(10000 * round);
    EXPECT_EQ(in_child([&] {
      function.reset();
      context.reset();
      return 5;
    }), 5);
    for (int i = 0; i < 2000 && function->counter("pending_kernels").or_die() > 0; ++i) usleep(10000);
    EXPECT_EQ(function->counter("tier").or_die(), 1);
    EXPECT_EQ(function->counter("fallbacks").or_die(), 0) << "round " << round;
  }
}

// The worker threads are gone in a child. One thread is always there: its own.
TEST(Fork, AChildMayRunOnItsOwnThread) {
  ContextOptions options;
  options.no_cache = true;
  options.threads = 2;
  auto context = Context::create(options).or_die();
  auto function = function_of(context, kSmallGraph).or_die();
  const HostArray x = small_input(64);
  ASSERT_TRUE(function.run({x.tensor()}).ok());
  EXPECT_EQ(in_child([&] {
    const std::vector<Tensor> in = {x.tensor()};
    for (uint32_t threads : {1u, 0u}) {
      auto y = function.run(in, threads);
      if (!y.ok()) return y.status().code() == Code::kFailedPrecondition ? 0 : 2;  // may refuse, with a status
      if (!small_problem(x, (*y)[0]).empty()) return 1;
    }
    return 0;
  }), 0);
}

TEST(Fork, AChildMayStartAnew) {
  EXPECT_EQ(run_small({.threads = 2, .no_cache = true}), "");
  EXPECT_EQ(in_child([] {
    const std::string problem = run_small({.threads = 2, .no_cache = true});
    if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
    return problem.empty() ? 0 : 1;
  }), 0);
}

// A graph of its own for each number.
std::string numbered_graph(int number) {
  const std::string c = std::to_string(number + 1) + ".5";
  return "graph @g(%x: f32[n, 8]) -> (y: f32[n]) on cpu where n in [1, 64] {\n  %0 = aten.mul.Scalar(%x, " + c +
         ") : f32[n, 8]\n  %1 = aten.sum.dim_IntList(%0, [1]) : f32[n]\n  return %1\n}\n";
}
std::string numbered_problem(int number, const Context& context) {
  auto function = function_of(context, numbered_graph(number));
  if (!function.ok()) return text(function.status());
  HostArray x(DType::kF32, {3, 8});
  for (int64_t i = 0; i < 24; ++i) x.as<float>()[i] = float(i);
  auto y = function->run({x.tensor()});
  if (!y.ok()) return text(y.status());
  for (int64_t row = 0; row < 3; ++row) {
    const float expected = float(number + 1.5) * float(28 + 64 * row);
    if (static_cast<const float*>((*y)[0].data())[row] != expected) return "wrong value of graph " + std::to_string(number);
  }
  return "";
}

TEST(SharedCache, FourProcessesCompileTheSameGraphsWhileOneDeletes) {
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/cache";
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(200);
      ContextOptions options;
      options.cache_directory = cache;
      options.threads = 1;
      auto context = Context::create(options).or_die();
      for (int number = 0; number < 8; ++number) {
        const std::string problem = numbered_problem(number, context);
        if (!problem.empty()) {
          std::fprintf(stderr, "%s\n", problem.c_str());
          _exit(1);
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  size_t running = children.size();
  while (running > 0) {
    std::error_code ignored;
    std::filesystem::remove_all(cache, ignored);
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended > 0) {
      --running;
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    }
    usleep(3000);
  }
}

TEST(SharedCache, TheNextProcessCompilesNothing) {
  const TemporaryFolder folder;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(in_child([&] {
      ContextOptions options;
      options.cache_directory = folder.path();
      auto context = Context::create(options).or_die();
      for (int number = 0; number < 3; ++number) {
        if (!numbered_problem(number, context).empty()) return 1;
      }
      const int64_t compiles = context.counter("compiles").or_die();
      return round == 0 ? (compiles > 0 ? 0 : 2) : (compiles == 0 ? 0 : 3);
    }), 0) << "round " << round;
  }
}

// Another constant, attribute, flag or target is another entry, though everything else is equal.
TEST(SharedCache, NoStaleHits) {
  const TemporaryFolder folder;
  ContextOptions options;
  options.cache_directory = folder.path();
  auto graph_with = [](const std::string& dim, const std::string& scale) {
    return "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.mul.Scalar(%x, " + scale +
           ") : f32[4, 4]\n  %1 = aten.softmax.int(%0, " + dim + ") : f32[4, 4]\n  return %1\n}\n";
  };
  HostArray x(DType::kF32, {4, 4});
  for (int64_t i = 0; i < 16; ++i) x.as<float>()[i] = float((i * 7) % 5);
  struct Variant {
    std::string dim, scale, isa;
  };
  const Variant variants[] = {{"1", "1.5", ""}, {"0", "1.5", ""}, {"1", "2.5", ""}, {"1", "1.5", "x86-64-v2"}};
  for (int round = 0; round < 2; ++round) {
    for (const Variant& variant : variants) {
      if (!variant.isa.empty() && !has_feature("isa:" + variant.isa)) continue;
      options.isa = variant.isa;
      auto context = Context::create(options).or_die();
      auto function = function_of(context, graph_with(variant.dim, variant.scale)).or_die();
      auto y = function.run({x.tensor()}).or_die();
      for (int64_t row = 0; row < 4; ++row) {
        for (int64_t column = 0; column < 4; ++column) {
          const double scale = std::stod(variant.scale);
          double sum = 0;
          for (int64_t k = 0; k < 4; ++k) {
            sum += std::exp(scale * x.as<float>()[variant.dim == "1" ? row * 4 + k : k * 4 + column]);
          }
          EXPECT_NEAR(y[0].values<float>()[row * 4 + column], std::exp(scale * x.as<float>()[row * 4 + column]) / sum, 1e-6);
        }
      }
      if (round == 1) {
        EXPECT_EQ(context.counter("compiles").or_die(), 0);
      }
    }
  }
}

TEST(Threads, ManyRunOneFunction) {
  ContextOptions options;
  options.no_cache = true;
  options.threads = 2;
  auto context = Context::create(options).or_die();
  auto function = function_of(context, kSmallGraph, MissPolicy::kCompileBehind).or_die();
  // What each row count gives, from a context of its own.
  std::vector<HostArray> inputs, expected;
  {
    auto alone = Context::create({.threads = 1, .no_cache = true, .no_compiler = true}).or_die();
    auto reference = function_of(alone, kSmallGraph, MissPolicy::kVm).or_die();
    for (int64_t rows = 1; rows <= 8; ++rows) {
      inputs.push_back(small_input(rows));
      expected.push_back(copy_of(reference.run({inputs.back().tensor()}).or_die()[0]));
      ASSERT_EQ(small_problem(inputs.back(), expected.back().tensor()), "");
    }
  }
  std::atomic<int> wrong = 0, runs = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      Function mine = function;
      for (int i = 0; i < 1500; ++i) {
        const size_t which = size_t(thread + i) % inputs.size();
        auto y = mine.run({inputs[which].tensor()});
        if (!y.ok() || copy_of((*y)[0]).bytes != expected[which].bytes) ++wrong;
        ++runs;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(runs.load(), 8 * 1500);
  EXPECT_EQ(function.counter("entries").or_die(), 1);
}

TEST(Threads, CallsOfTheirOwn) {
  auto context = Context::create({.threads = 2, .no_cache = true}).or_die();
  auto function = function_of(context, kSmallGraph).or_die();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      auto call = function.call().or_die();
      const HostArray x = small_input(thread + 1);
      HostArray y(DType::kF32, x.dims);
      if (!call.bind_input(0, x.tensor()).ok() || !call.bind_output(0, y.tensor()).ok()) ++wrong;
      for (int i = 0; i < 1000; ++i) {
        std::fill(y.bytes.begin(), y.bytes.end(), uint8_t(255));
        if (!call.run().ok() || (i % 50 == 0 && !small_problem(x, y.tensor()).empty())) ++wrong;
      }
      if (!small_problem(x, y.tensor()).empty()) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Contexts, TwoLiveSideBySideAndEndInAnyOrder) {
  auto first = std::make_unique<Context>(Context::create({.threads = 2, .no_cache = true}).or_die());
  auto second = std::make_unique<Context>(Context::create({.threads = 1, .no_cache = true}).or_die());
  auto of_first = function_of(*first, kSmallGraph).or_die();
  auto of_second = function_of(*second, kSmallGraph).or_die();
  const HostArray x = small_input();
  first.reset();  // the function keeps it alive
  auto y1 = of_first.run({x.tensor()}).or_die();
  auto y2 = of_second.run({x.tensor()}).or_die();
  EXPECT_EQ(small_problem(x, y1[0]), "");
  EXPECT_EQ(copy_of(y1[0]).bytes, copy_of(y2[0]).bytes);
  second.reset();
  EXPECT_TRUE(of_second.run({x.tensor()}).ok());
}

}  // namespace
}  // namespace tenon::tests
