// Calls of several threads at once, and things that change under them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/hand_made.hpp"
#include "runtime/native_kernel.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;
using runtime::Call;

TEST(ConcurrentCalls, KernelsAreSwappedInWhileCallsRun) {
  FakeCompiler fake;
  auto function = make_function(make_context(2), pointwise_artifact(), fake);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, native{0};
  std::vector<std::thread> threads;
  const std::vector<uint8_t> image = compile_image(
      "extern \"C\" __attribute__((visibility(\"default\"))) void k0(const tenon_kernel_args* a, long first, long "
      "last, void*) {\n"
      "  const float* x = (const float*)a->buffers[0]; float* y = (float*)a->buffers[1];\n"
      "  for (long i = first * a->sizes[1]; i < last * a->sizes[1]; ++i) y[i] = x[i] * 2 + 101;\n}\n");
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      HostTensor x = HostTensor::floats({40, 100}, [](size_t) { return 3; }), y(DType::kF32, {40, 100});
      Call call(*function, function);
      const tenon_tensor_t out = y.tensor();
      (void)call.bind_input(0, x.tensor());
      (void)call.bind_output(0, &out);
      while (!stop) {
        if (!call.run().ok()) wrong.fetch_add(1);
        for (size_t i : {size_t(0), size_t(3999)}) {
          if (y.f32()[i] == 107)
            native.fetch_add(1);
          else if (y.f32()[i] != 7)
            wrong.fetch_add(1);
        }
      }
    });
  }
  while (function->entries().empty()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const uint32_t programs[] = {0};
  const std::string symbols[] = {"k0"};
  EXPECT_TRUE(function->entries()[0]->executable->install(image, programs, symbols).ok());
  for (int i = 0; i < 2000 && native == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(native.load(), 0);
}

TEST(ConcurrentCalls, TheFunctionsOwnStateIsWrittenByOneAtATime) {
  // n' = n + 1 in two kernels, through memory that a second writer would tear.
  ArtifactBuilder b;
  const SizeRegister one = b.constant(1), width = b.constant(64), bytes = b.constant(256);
  const uint32_t n = b.state("n", DType::kF32, {64}), y = b.output("y", DType::kF32, {width});
  b.launch(pointwise_program("k0", 1, 1), {n, y}, {one, width}, "aten.add_");
  b.copy(n, y, bytes);
  FakeCompiler fake;
  auto function = make_function(make_context(1), std::move(b.a), fake);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      HostTensor y(DType::kF32, {64});
      tenon_tensor_t out = y.tensor();
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(function->run(0, {}, {&out, 1}).ok());
    });
  }
  for (auto& thread : threads) thread.join();
  tenon_tensor_t tensor;
  ASSERT_TRUE((*function->own_state())->get("n", &tensor).ok());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(static_cast<float*>(tensor.data)[i], 200);
}

TEST(ConcurrentCalls, CancelFromAnotherThreadEndsARun) {
  FakeCompiler fake;
  auto function = make_function(make_context(2), pointwise_artifact(), fake);
  HostTensor x(DType::kF32, {2000, 2000}), y(DType::kF32, {2000, 2000});
  Call call(*function, function);
  const tenon_tensor_t out = y.tensor();
  ASSERT_TRUE(call.bind_input(0, x.tensor()).ok());
  ASSERT_TRUE(call.bind_output(0, &out).ok());
  std::atomic<bool> stop{false};
  std::thread canceller([&] {
    while (!stop) call.cancel();
  });
  bool cancelled = false;
  for (int i = 0; i < 200 && !cancelled; ++i) cancelled = call.run().code() == Code::kCancelled;
  stop = true;
  canceller.join();
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(call.run().ok());
}

// Counts the members of each crew and runs them one after the other.
struct CountingHost {
  static uint32_t width(void*) { return 8; }
  static void parallel_for(void* user, size_t count, void (*task)(void*, size_t, uint32_t), void* data) {
    static_cast<CountingHost*>(user)->most = std::max(static_cast<CountingHost*>(user)->most, count);
    for (size_t i = 0; i < count; ++i) task(data, i, uint32_t(i));
  }
  size_t most = 0;
};

TEST(Parallelism, IsCappedByTheCallAndTheContext) {
  CountingHost host;
  tenon_executor_t executor = TENON_EXECUTOR_INIT;
  executor.user = &host;
  executor.width = CountingHost::width;
  executor.parallel_for = CountingHost::parallel_for;
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.executor = &executor;
  options.threads = 5;
  auto context = runtime::Context::create(options);
  ASSERT_TRUE(context.ok());
  FakeCompiler fake;
  auto function = make_function(*context, pointwise_artifact(), fake);
  HostTensor x(DType::kF32, {500, 1000}), y(DType::kF32, {500, 1000}), tiny(DType::kF32, {2, 8}),
      tiny_out(DType::kF32, {2, 8});
  tenon_tensor_t in = x.tensor(), out = y.tensor();
  for (auto [asked, expected] : {std::pair<uint32_t, size_t>{0, 5}, {3, 3}, {100, 5}, {1, 0}}) {
    host.most = 0;
    ASSERT_TRUE(function->run(asked, {&in, 1}, {&out, 1}).ok());
    EXPECT_EQ(host.most, expected) << asked;
  }
  host.most = 0;
  in = tiny.tensor();
  out = tiny_out.tensor();
  ASSERT_TRUE(function->run(0, {&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(host.most, 0u);  // too little to wake anybody for
}

}  // namespace
}  // namespace tenon::tests
