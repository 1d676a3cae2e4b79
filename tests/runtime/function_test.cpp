// Guards, misses, policies, entries, kernels that arrive: with a compiler that is a fake.
#include "runtime/function.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/hand_made.hpp"
#include "runtime/native_kernel.hpp"

namespace tenon::tests {
namespace {

using runtime::Call;
using runtime::CallSignature;
using runtime::Function;
using runtime::FunctionOptions;

// Each shape gets an entry of its own; past the bound one that takes all.
void one_entry_a_shape(FakeCompiler& fake) {
  fake.interface = interface_of(pointwise_artifact());
  fake.specialize = [](const CallSignature& s, artifact::Artifact* out, std::vector<Blob>*) -> Status {
    *out = s.dynamic_now ? pointwise_artifact() : fixed_pointwise_artifact(s.inputs[0].dims[0], s.inputs[0].dims[1]);
    return {};
  };
}

Status run(Function& function, std::vector<int64_t> dims, float* first = nullptr) {
  HostTensor x = HostTensor::floats(dims, [](size_t i) { return float(i) + 3; }), y(DType::kF32, dims);
  const tenon_tensor_t in = x.tensor();
  tenon_tensor_t out = y.tensor();
  const Status status = function.run(0, {&in, 1}, {&out, 1});
  if (first != nullptr && status.ok()) *first = y.f32()[0];
  return status;
}

int64_t counter(const Function& function, std::string_view name) {
  int64_t value = -1;
  EXPECT_TRUE(function.counter(name, &value)) << name;
  return value;
}

std::string explain(const Function& function, std::string_view what) {
  std::string text;
  const auto write = [](void* user, tenon_str_t chunk) {
    static_cast<std::string*>(user)->append(chunk.data, chunk.size);
  };
  EXPECT_TRUE(function.explain(what, write, &text).ok());
  return text;
}

TEST(Guards, AMissSaysWhichGuardWhoAskedExpectedAndFound) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto function = make_function(make_context(1), fake);
  ASSERT_TRUE(run(*function, {2, 3}).ok());
  ASSERT_TRUE(run(*function, {2, 4}).ok());
  ASSERT_TRUE(run(*function, {2, 3}).ok());
  EXPECT_EQ(counter(*function, "misses"), 2);
  EXPECT_EQ(counter(*function, "entries"), 2);
  EXPECT_EQ(counter(*function, "hits"), 1);
  EXPECT_EQ(counter(*function, "compile_ns"), 1234);
  const std::string misses = explain(*function, "misses");
  EXPECT_NE(misses.find("no entries yet"), std::string::npos) << misses;
  EXPECT_NE(misses.find("guard `dim 1 of `x` == 3` (asked by aten.view) expected 3, found 4"), std::string::npos)
      << misses;
  EXPECT_NE(explain(*function, "guards").find("guards dim 1 of `x` == 4  // aten.view"), std::string::npos)
      << explain(*function, "guards");
}

TEST(Guards, StridesThatTheProgramDoesNotTakeAreAMiss) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto function = make_function(make_context(1), fake, {TENON_MISS_VM, 8, false});
  ASSERT_TRUE(run(*function, {2, 3}).ok());
  HostTensor x(DType::kF32, {2, 3}), y(DType::kF32, {2, 3});
  tenon_tensor_t in = x.tensor(), out = y.tensor();
  const int64_t strides[] = {1, 2};
  in.strides = strides;
  const Status status = function->run(0, {&in, 1}, {&out, 1});
  // The fake makes the same program again, which still does not take it: our own error, never a wrong answer.
  EXPECT_EQ(status.code(), Code::kInternal) << status.message();
  EXPECT_NE(status.message().find("contiguous(x)"), std::string_view::npos) << status.message();
  // A dim of size 1 has no stride worth a miss.
  HostTensor one = HostTensor::floats({1, 3}, [](size_t) { return 1; }), one_out(DType::kF32, {1, 3});
  in = one.tensor();
  out = one_out.tensor();
  const int64_t odd[] = {77, 1};
  in.strides = odd;
  EXPECT_TRUE(function->run(0, {&in, 1}, {&out, 1}).ok());
}

TEST(Guards, WhatTheGraphRequiresIsAnError) {
  ArtifactBuilder b;
  b.a = pointwise_artifact();
  b.guard(artifact::GuardRelation::kLe, b.dim(0, 0), b.constant(10), "s0 <= 10", "declaration", true);
  b.guard(artifact::GuardRelation::kLe, b.constant(2), b.dim(0, 0), "2 <= s0", "declaration", true);
  FakeCompiler fake;
  auto function = make_function(make_context(1), b.a, fake);
  ASSERT_TRUE(run(*function, {10, 3}).ok());
  const Status status = run(*function, {11, 3});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.field("input"), "x");
  EXPECT_EQ(status.field("expected"), "at most 10");
  EXPECT_EQ(status.field("found"), "11");
  EXPECT_EQ(run(*function, {1, 3}).field("expected"), "at least 2");
  EXPECT_EQ(fake.specializations.load(), 1);
}

TEST(Guards, FactsAreGuardedByEquality) {
  FakeCompiler fake;
  auto function = make_function(make_context(1), pointwise_artifact(), fake);
  HostTensor x(DType::kF32, {2, 3});
  Call call(*function, function);
  ASSERT_TRUE(call.bind_input(0, x.tensor()).ok());
  ASSERT_TRUE(call.run().ok());
  const int64_t one[] = {1}, two[] = {2};
  ASSERT_TRUE(call.bind_facts(one).ok());
  ASSERT_TRUE(call.run().ok());
  ASSERT_TRUE(call.bind_facts(two).ok());
  ASSERT_TRUE(call.run().ok());
  ASSERT_TRUE(call.bind_facts(one).ok());
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(fake.specializations.load(), 3);
  EXPECT_NE(explain(*function, "misses").find("facts expected [1], found [2]"), std::string::npos)
      << explain(*function, "misses");
}

TEST(Entries, PastTheBoundDimsGoDynamicAndTheLeastUsedEntryGoes) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto function = make_function(make_context(1), fake, {TENON_MISS_VM, 3, false});
  for (int64_t n : {1, 1, 1, 2, 3, 3}) ASSERT_TRUE(run(*function, {n, 5}).ok());
  EXPECT_EQ(counter(*function, "entries"), 3);
  float first = 0;
  ASSERT_TRUE(run(*function, {4, 5}, &first).ok());
  EXPECT_EQ(first, 7);
  EXPECT_EQ(counter(*function, "entries"), 3);
  EXPECT_EQ(counter(*function, "evictions"), 1);
  for (int64_t n : {5, 6, 2, 1}) ASSERT_TRUE(run(*function, {n, 5}).ok());  // the dynamic one takes them all
  EXPECT_EQ(fake.specializations.load(), 4);
  EXPECT_EQ(explain(*function, "guards").find("`x` == 2"), std::string::npos);  // it was the least used
}

TEST(Policy, FailDoesNotCompileUnlessPrepared) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto function = make_function(make_context(1), fake, {TENON_MISS_FAIL, 8, false});
  Status status = run(*function, {2, 3});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  HostTensor x(DType::kF32, {2, 3});
  tenon_tensor_t in = x.tensor();
  in.data = nullptr;
  ASSERT_TRUE(function->prepare({&in, 1}).ok());
  EXPECT_TRUE(run(*function, {2, 3}).ok());
  status = run(*function, {2, 4});
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("expected 3, found 4"), std::string_view::npos) << status.message();
  EXPECT_EQ(counter(*function, "hits"), 1);
  EXPECT_EQ(counter(*function, "misses"), 3);
}

TEST(Policy, ErrorsOfTheCompilerReachTheCaller) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  fake.specialize = [](const CallSignature&, artifact::Artifact*, std::vector<Blob>*) {
    return invalid_argument("no such thing").with("input", "x");
  };
  auto function = make_function(make_context(1), fake);
  EXPECT_EQ(run(*function, {2, 3}).field("input"), "x");
  EXPECT_EQ(counter(*function, "entries"), 0);
}

// A build that is ready when the test says so.
struct Gate {
  std::atomic<bool> open{false};
  Status status;
  std::vector<uint8_t> image;
};
class GatedBuild final : public runtime::KernelBuild {
 public:
  GatedBuild(Gate& gate, std::string symbol) : gate_(gate), symbol_(std::move(symbol)) {}
  bool poll(int64_t wait_ns, std::vector<Ready>& ready) override {
    if (!gate_.open) {
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(std::min<int64_t>(wait_ns < 0 ? 1'000'000 : wait_ns, 1'000'000)));
      return false;
    }
    ready.push_back({gate_.image, {0}, {symbol_}, gate_.status, false});
    return true;
  }

 private:
  Gate& gate_;
  std::string symbol_;
};

struct Kernels : testing::Test {
  Gate gate;
  FakeCompiler fake;
  Kernels() {
    one_entry_a_shape(fake);
    fake.start_kernels = [this](const artifact::Artifact& a) {
      return std::make_unique<GatedBuild>(gate, a.programs[0].name);
    };
    // Does what pointwise_program(2, 1) does, but adds 100 more, so that the test sees who ran.
    gate.image = compile_image(
        "extern \"C\" __attribute__((visibility(\"default\"))) void k0(const tenon_kernel_args* a, long first, long "
        "last, void*) {\n"
        "  const float* x = (const float*)a->buffers[0]; float* y = (float*)a->buffers[1];\n"
        "  for (long i = first * a->sizes[1]; i < last * a->sizes[1]; ++i) y[i] = x[i] * 2 + 101;\n}\n");
  }
};

TEST_F(Kernels, ArriveBehindOnPolls) {
  auto context = make_context(1, TENON_CONTEXT_NO_THREADS);
  auto function = make_function(context, fake);
  float first = 0;
  ASSERT_TRUE(run(*function, {2, 3}, &first).ok());
  EXPECT_EQ(first, 7);
  EXPECT_EQ(counter(*function, "tier"), 0);
  EXPECT_EQ(counter(*function, "pending_kernels"), 1);
  EXPECT_EQ(context->poll(0), 1);
  gate.open = true;
  EXPECT_EQ(context->poll(1'000'000'000), 0);
  EXPECT_EQ(counter(*function, "tier"), 1);
  ASSERT_TRUE(run(*function, {2, 3}, &first).ok());
  EXPECT_EQ(first, 107);
}

TEST_F(Kernels, ArriveBehindOnTheBackgroundThread) {
  auto function = make_function(make_context(2), fake);
  float first = 0;
  ASSERT_TRUE(run(*function, {2, 3}, &first).ok());
  EXPECT_EQ(first, 7);
  gate.open = true;
  for (int i = 0; i < 2000 && counter(*function, "tier") == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(run(*function, {2, 3}, &first).ok());
  EXPECT_EQ(first, 107);
}

TEST_F(Kernels, CompileNowAndPrepareWait) {
  gate.open = true;
  float first = 0;
  auto now = make_function(make_context(1, TENON_CONTEXT_NO_THREADS), fake, {TENON_MISS_COMPILE_NOW, 8, false});
  ASSERT_TRUE(run(*now, {2, 3}, &first).ok());
  EXPECT_EQ(first, 107);
  auto behind = make_function(make_context(1, TENON_CONTEXT_NO_THREADS), fake);
  HostTensor x(DType::kF32, {2, 3});
  const tenon_tensor_t in = x.tensor();
  ASSERT_TRUE(behind->prepare({&in, 1}).ok());
  ASSERT_TRUE(run(*behind, {2, 3}, &first).ok());
  EXPECT_EQ(first, 107);
}

TEST_F(Kernels, TheVmOnlyPolicyStartsNone) {
  gate.open = true;
  auto function = make_function(make_context(1, TENON_CONTEXT_NO_THREADS), fake, {TENON_MISS_VM, 8, false});
  float first = 0;
  ASSERT_TRUE(run(*function, {2, 3}, &first).ok());
  EXPECT_EQ(first, 7);
  EXPECT_EQ(counter(*function, "pending_kernels"), 0);
}

TEST_F(Kernels, AFallbackIsCountedAndCanBeAnError) {
  gate.open = true;
  gate.status = unavailable("the compiler crashed");
  auto function = make_function(make_context(1, TENON_CONTEXT_NO_THREADS), fake, {TENON_MISS_COMPILE_NOW, 8, false});
  float first = 0;
  ASSERT_TRUE(run(*function, {2, 3}, &first).ok());
  EXPECT_EQ(first, 7);
  EXPECT_EQ(counter(*function, "fallbacks"), 1);
  auto strict = make_function(make_context(1, TENON_CONTEXT_NO_THREADS), fake, {TENON_MISS_COMPILE_NOW, 8, true});
  const Status status = run(*strict, {2, 3});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("crashed"), std::string_view::npos);
}

TEST_F(Kernels, AFunctionMayGoWhileItsKernelsAreOnTheirWay) {
  auto context = make_context(2);
  auto function = make_function(context, fake);
  ASSERT_TRUE(run(*function, {2, 3}).ok());
  function.reset();
  EXPECT_EQ(context->poll(0), 0);
}

TEST(Concurrency, ManyThreadsMissAndHitAndEvictTogether) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  fake.specialize = [](const CallSignature& s, artifact::Artifact* out, std::vector<Blob>*) -> Status {
    *out = fixed_pointwise_artifact(s.inputs[0].dims[0], s.inputs[0].dims[1]);
    return {};
  };
  auto function = make_function(make_context(2), fake, {TENON_MISS_VM, 3, false});
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        float first = 0;
        if (!run(*function, {1 + (i + t) % 5, 4}, &first).ok() || first != 7) failures.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(counter(*function, "hits") + counter(*function, "misses"), 240);
  EXPECT_LE(counter(*function, "entries"), 3);
}

TEST(Concurrency, OneKeyIsCompiledOnce) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto function = make_function(make_context(1), fake);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { EXPECT_TRUE(run(*function, {3, 4}).ok()); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(fake.specializations.load(), 1);
}

TEST(OutputTypes, AreToldWithoutRunning) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto function = make_function(make_context(1), fake);
  HostTensor x(DType::kF32, {5, 7});
  tenon_tensor_t in = x.tensor();
  in.data = nullptr;
  tenon_type_t out;
  ASSERT_TRUE(function->output_types({&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(out.dtype, TENON_DTYPE_F32);
  ASSERT_EQ(out.rank, 2);
  EXPECT_EQ(out.dims[0], 5);
  EXPECT_EQ(out.dims[1], 7);
}

TEST(OutputTypes, UnboundOutputsAreAllocatedAndOwned) {
  FakeCompiler fake;
  one_entry_a_shape(fake);
  auto context = make_context(1);
  auto function = make_function(context, fake);
  HostTensor x = HostTensor::floats({5, 7}, [](size_t) { return 3; });
  const tenon_tensor_t in = x.tensor();
  tenon_tensor_t a{}, b{};
  ASSERT_TRUE(function->run(0, {&in, 1}, {&a, 1}).ok());
  ASSERT_TRUE(function->run(0, {&in, 1}, {&b, 1}).ok());
  EXPECT_NE(a.data, b.data);
  EXPECT_EQ(static_cast<float*>(a.data)[34], 7);
  EXPECT_EQ(uintptr_t(a.data) % 64, 0u);
  function.reset();
  context.reset();
  EXPECT_EQ(a.dims[1], 7);  // lives as long as the owner
  a.owner->release();
  b.owner->release();
}

}  // namespace
}  // namespace tenon::tests
