// What a run costs once everything is there: no allocation, little time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/allocation_count.hpp"
#include "runtime/hand_made.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;
using runtime::Call;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The least time of one of `count` repetitions, over a few rounds: others use the machine too.
template <typename F>
double least_ns(int count, F body) {
  double best = 1e18;
  for (int round = 0; round < 30; ++round) {
    const int64_t begin = now_ns();
    for (int i = 0; i < count; ++i) body();
    best = std::min(best, double(now_ns() - begin) / count);
  }
  return best;
}

TEST(SteadyState, TheCounterSeesAllocations) {
  const uint64_t before = allocation_count();
  void* volatile memory = std::malloc(100);
  std::free(memory);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(allocation_count(), before + 1);
#endif
}

TEST(SteadyState, AThousandRunsAllocateNothing) {
  for (uint32_t threads : {1u, 2u}) {
    auto context = make_context(threads);
    ArtifactBuilder b;
    const uint32_t x = b.input("x", DType::kF32, 2);
    const SizeRegister rows = b.dim(0, 0), columns = b.dim(0, 1);
    const uint32_t y = b.output("y", DType::kF32, {rows});
    const uint32_t middle = b.arena(b.mul(b.mul(rows, columns), b.constant(4)), 0, 1);
    b.guard_row_major(0);
    b.launch(pointwise_program("k0", 2, 1), {x, middle}, {rows, columns}, "aten.add");
    b.launch(row_sum_program("k1"), {middle, y}, {rows, columns}, "aten.sum");
    FakeCompiler fake;
    auto function = make_function(context, std::move(b.a), fake);
    // Two sizes, two places each, the call's own output memory too.
    HostTensor small[] = {HostTensor(DType::kF32, {4, 16}), HostTensor(DType::kF32, {4, 16})};
    HostTensor large[] = {HostTensor(DType::kF32, {300, 400}), HostTensor(DType::kF32, {300, 400})};
    HostTensor out_small(DType::kF32, {4}), out_large(DType::kF32, {300});
    const tenon_tensor_t in[] = {small[0].tensor(), small[1].tensor(), large[0].tensor(), large[1].tensor()};
    tenon_tensor_t out[] = {out_small.tensor(), out_large.tensor()};
    Call call(*function, function);
    const auto once = [&](int i) {
      const int which = i % 4;
      Status status = call.bind_input(0, in[which]);
      if (status.ok()) status = call.bind_output(0, &out[which / 2]);
      if (status.ok()) status = call.run();
      if (status.ok()) status = function->run(0, {&in[which], 1}, {&out[which / 2], 1});
      return status.ok();
    };
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(once(i));
    const uint64_t before = allocation_count();
    bool fine = true;
    for (int i = 0; i < 1000; ++i) fine &= once(i);
    EXPECT_EQ(allocation_count(), before) << threads << " threads";
    EXPECT_TRUE(fine);
  }
}

TEST(SteadyState, ARunOfASmallKernelTakesUnderAMicrosecond) {
  auto context = make_context(1);
  FakeCompiler fake;
  auto function = make_function(context, pointwise_artifact(), fake);
  HostTensor x(DType::kF32, {1, 16}), y(DType::kF32, {1, 16});
  Call call(*function, function);
  const tenon_tensor_t out = y.tensor();
  ASSERT_TRUE(call.bind_input(0, x.tensor()).ok());
  ASSERT_TRUE(call.bind_output(0, &out).ok());
  ASSERT_TRUE(call.run().ok());
  const double ns = least_ns(2000, [&] { (void)call.run(); });
  RecordProperty("run_ns", int(ns));
  std::printf("call run: %.0f ns\n", ns);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(ns, 1000);
#endif
}

TEST(SteadyState, LookupOfTheLastOfFourEntriesTakesUnderAHundredNanoseconds) {
  // Four inputs of rank 4; entries differ in the last dim of the last input.
  const auto artifact_for = [](int64_t last) {
    ArtifactBuilder b;
    for (int i = 0; i < 4; ++i) b.input("x" + std::to_string(i), DType::kF32, 4);
    for (uint32_t i = 0; i < 4; ++i) {
      int64_t dense = 1;
      for (uint32_t axis = 4; axis-- > 0;) {
        const int64_t extent = i == 3 && axis == 3 ? last : 4;
        b.guard(GuardRelation::kEq, b.dim(i, axis), b.constant(extent), "dim", "test");
        b.guard(GuardRelation::kEq, b.stride(i, axis), b.constant(dense), "contiguous", "test");
        dense *= extent;
      }
    }
    return std::move(b.a);
  };
  FakeCompiler fake;
  fake.interface = interface_of(artifact_for(1));
  fake.specialize = [&](const runtime::CallSignature& s, Artifact* out, std::vector<Blob>*) -> Status {
    *out = artifact_for(s.inputs[3].dims[3]);
    return {};
  };
  auto function = make_function(make_context(1), fake);
  struct Shape {
    std::vector<std::unique_ptr<runtime::BoundTensor>> bound;
    std::vector<tenon_tensor_t> tensors;
    std::vector<const int64_t*> dims, strides;
    std::vector<int64_t> scalars = std::vector<int64_t>(4);
    explicit Shape(int64_t last) {
      HostTensor x(DType::kF32, {4, 4, 4, 16});
      for (size_t i = 0; i < 4; ++i) {
        x.dims = {4, 4, 4, i == 3 ? last : 4};
        bound.push_back(std::make_unique<runtime::BoundTensor>());
        bool changed;
        EXPECT_TRUE(bound[i]->bind(x.tensor(), "input", "x", &changed).ok());
        tensors.push_back(bound[i]->tensor);
        dims.push_back(bound[i]->dims);
        strides.push_back(bound[i]->strides);
      }
    }
    runtime::CallShape view() const { return {tensors, dims.data(), strides.data(), scalars.data(), {}}; }
  };
  std::vector<int64_t> registers;
  const Shape shapes[] = {Shape(5), Shape(6), Shape(7), Shape(8)};
  for (const Shape& shape : shapes) ASSERT_TRUE(function->obtain(shape.view(), registers).ok());
  Status error;
  const runtime::CallShape first = shapes[0].view(), last = shapes[3].view();
  const double recent = least_ns(2000, [&] { (void)function->find(last, registers, &error); });
  // By turns, so that none is the most recent: the first looks at two entries, the last at all four.
  const double both = least_ns(2000, [&] {
    (void)function->find(first, registers, &error);
    (void)function->find(last, registers, &error);
  });
  std::printf("lookup: the most recent %.0f ns, first and last of four by turns %.0f ns\n", recent, both);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // About 60 and 90 on a quiet core; the bounds leave room for a busy machine.
  EXPECT_LT(recent, 200);
  EXPECT_LT(both - recent, 250);
#endif
}

}  // namespace
}  // namespace tenon::tests
