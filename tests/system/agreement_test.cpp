// The vm and compiled code give the same bits on random programs, for each level of the architecture and for one and two
// threads: all element types, NaN and infinities, odd sizes, strided inputs, reductions, softmax, norms, matrix products.
#include <gtest/gtest.h>

#include <limits>

#include "system/random_program.hpp"

namespace tenon::tests {
namespace {

struct Machines {
  std::vector<std::string> isas;
  Machines() {
    for (const char* isa : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "neon"}) {
      if (has_feature(std::string("isa:") + isa)) isas.push_back(isa);
    }
  }
};

std::vector<HostArray> run_on(Context& context, const Graph& graph, MissPolicy policy, const std::vector<Tensor>& inputs,
                              uint32_t threads, const std::string& what) {
  CompileOptions options;
  options.miss_policy = policy;
  options.fallback_is_error = policy == MissPolicy::kCompileNow;
  auto function = context.compile(graph, options);
  EXPECT_TRUE(function.ok()) << what << text(function.status());
  std::vector<HostArray> out;
  if (!function.ok()) return out;
  auto results = function->run(inputs, threads);
  EXPECT_TRUE(results.ok()) << what << text(results.status());
  if (!results.ok()) return out;
  EXPECT_EQ(function->counter("tier").or_die(), policy == MissPolicy::kCompileNow ? 1 : 0) << what;
  for (const Tensor& result : *results) {
    EXPECT_TRUE(result.row_major()) << what;
    out.push_back(copy_of(result));
  }
  return out;
}

// Two answers, element by element; NaNs are alike whatever their payload.
void expect_same(const std::vector<HostArray>& left, const std::vector<HostArray>& right, const std::string& what) {
  ASSERT_EQ(left.size(), right.size()) << what;
  for (size_t o = 0; o < left.size(); ++o) {
    ASSERT_EQ(left[o].dims, right[o].dims) << what;
    if (left[o].bytes == right[o].bytes) continue;
    for (int64_t i = 0; i < left[o].elements(); ++i) {
      if (is_nan(left[o], i) && is_nan(right[o], i)) continue;
      const int64_t width = size_bytes(left[o].dtype);
      if (std::memcmp(&left[o].bytes[size_t(i * width)], &right[o].bytes[size_t(i * width)], size_t(width)) != 0) {
        ADD_FAILURE() << what << "output " << o << " (" << name_of(left[o].dtype) << "), element " << i << " of "
                      << left[o].elements() << ": " << shown(left[o], i) << " and " << shown(right[o], i);
        break;
      }
    }
  }
}

class Agreement : public ::testing::TestWithParam<int> {};

TEST_P(Agreement, VmAndCompiledCodeGiveTheSameBits) {
  const TemporaryFolder cache;  // threads 1 and 2 share images
  for (const std::string& isa : Machines().isas) {
    for (int part = 0; part < 3; ++part) {
      const uint32_t seed = uint32_t(GetParam() * 3 + part);
      RandomProgram program(seed);
      ContextOptions options;
      options.isa = isa;
      options.threads = 2;
      options.cache_directory = cache.path();
      auto context = Context::create(options).or_die();
      auto graph = context.graph("g").or_die();
      program.build(graph);
      ASSERT_TRUE(graph.status().ok()) << text(graph.status()) << "\nseed " << seed << "\n" << program.steps();
      const std::string printed = graph.print().or_die();
      const std::string what = "seed " + std::to_string(seed) + " on " + isa + "\n" + printed;
      // Also through the text format.
      auto parsed = context.parse(printed);
      ASSERT_TRUE(parsed.ok()) << what << text(parsed.status());
      EXPECT_EQ(parsed->print().or_die(), printed);
      const std::vector<Tensor> inputs = program.inputs();
      const auto vm = run_on(context, graph, MissPolicy::kVm, inputs, 1, what);
      const auto vm2 = run_on(context, *parsed, MissPolicy::kVm, inputs, 2, what);
      const auto native = run_on(context, *parsed, MissPolicy::kCompileNow, inputs, 1, what);
      const auto native2 = run_on(context, graph, MissPolicy::kCompileNow, inputs, 2, what);
      if (HasFailure()) return;
      expect_same(vm, vm2, "threads, vm: " + what);
      expect_same(vm, native, "vm and compiled: " + what);
      expect_same(native, native2, "threads, compiled: " + what);
      if (HasFailure()) return;
    }
  }
}

// TENON_LONG_TESTS=1: 60 times three programs.
INSTANTIATE_TEST_SUITE_P(Random, Agreement, ::testing::Range(0, std::getenv("TENON_LONG_TESTS") != nullptr ? 60 : 12));

}  // namespace
}  // namespace tenon::tests
