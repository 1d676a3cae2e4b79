// Scalars of a call: integers are symbols, others are read by kernels; results that are no tensors.
#include <gtest/gtest.h>

#include "runtime/hand_made.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;
using runtime::Call;

TEST(Scalars, AnIntegerInputIsASizeThatIsReadAtEveryRun) {
  ArtifactBuilder b;
  const uint32_t x = b.input("x", DType::kF32, 2);
  b.input("n", DType::kI64, 0);
  b.a.inputs[1].scalar = true;
  const SizeRegister rows = b.dim(0, 0), columns = b.dim(0, 1), n = b.op(SizeOpKind::kInputScalar, 1, 0);
  b.guard(GuardRelation::kLe, b.constant(0), n, "0 <= n", "aten.narrow", true);
  b.guard(GuardRelation::kLe, n, rows, "n <= s0", "aten.narrow", true);
  const uint32_t y = b.output("y", DType::kF32, {n, columns});
  b.launch(pointwise_program("k0", 2, 1), {x, y}, {n, columns}, "aten.add");
  FakeCompiler fake;
  auto function = make_function(make_context(1), std::move(b.a), fake);
  HostTensor in = HostTensor::floats({5, 4}, [](size_t i) { return float(i); }), count(DType::kI64, {});
  Call call(*function, function);
  ASSERT_TRUE(call.bind_input(0, in.tensor()).ok());
  ASSERT_TRUE(call.bind_input(1, count.tensor()).ok());
  for (int64_t n_value : {3, 5, 0, 1}) {
    count.i64()[0] = n_value;  // no new binding
    ASSERT_TRUE(call.run().ok());
    tenon_tensor_t out;
    ASSERT_TRUE(call.output(0, &out).ok());
    ASSERT_EQ(out.dims[0], n_value);
    if (n_value > 0) {
      EXPECT_EQ(static_cast<float*>(out.data)[n_value * 4 - 1], float((n_value * 4 - 1) * 2 + 1));
    }
  }
  count.i64()[0] = 6;
  const Status status = call.run();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.field("input"), "n");
  EXPECT_EQ(status.field("found"), "6");
}

TEST(Scalars, ResultsThatAreNoTensors) {
  ArtifactBuilder b;
  for (OutputDecl::Kind kind :
       {OutputDecl::Kind::kNone, OutputDecl::Kind::kBool, OutputDecl::Kind::kInt, OutputDecl::Kind::kFloat}) {
    OutputDecl decl;
    decl.kind = kind;
    decl.integer = kind == OutputDecl::Kind::kBool ? 1 : -7;
    decl.real = 2.5;
    b.a.outputs.push_back(decl);
  }
  FakeCompiler fake;
  auto function = make_function(make_context(1), std::move(b.a), fake);
  tenon_tensor_t out[4] = {};
  ASSERT_TRUE(function->run(0, {}, out).ok());
  EXPECT_EQ(out[0].dtype, 0);
  EXPECT_EQ(out[0].owner, nullptr);
  EXPECT_EQ(out[1].dtype, TENON_DTYPE_BOOL);
  EXPECT_EQ(*static_cast<uint8_t*>(out[1].data), 1);
  EXPECT_EQ(*static_cast<int64_t*>(out[2].data), -7);
  EXPECT_EQ(*static_cast<double*>(out[3].data), 2.5);
  for (auto& tensor : out) {
    if (tensor.owner != nullptr) tensor.owner->release();
  }
  HostTensor number(DType::kF64, {});
  tenon_tensor_t given[4] = {};
  given[3] = number.tensor();
  ASSERT_TRUE(function->run(0, {}, given).ok());
  EXPECT_EQ(*reinterpret_cast<double*>(number.bytes.data()), 2.5);
  given[1].owner->release();
  given[2].owner->release();
}

TEST(Outputs, OneValueShownTwiceIsCopied) {
  ArtifactBuilder b;
  b.a = pointwise_artifact();
  OutputDecl again = b.a.outputs[0];
  again.name = "z";
  b.a.outputs.push_back(again);
  FakeCompiler fake;
  auto function = make_function(make_context(1), std::move(b.a), fake);
  HostTensor x = HostTensor::floats({2, 3}, [](size_t i) { return float(i); }), y(DType::kF32, {2, 3}),
             z(DType::kF32, {2, 3});
  const tenon_tensor_t in = x.tensor();
  tenon_tensor_t out[] = {y.tensor(), z.tensor()};
  ASSERT_TRUE(function->run(0, {&in, 1}, out).ok());
  EXPECT_EQ(y.bytes, z.bytes);
  EXPECT_EQ(z.f32()[5], 11);
}

}  // namespace
}  // namespace tenon::tests
