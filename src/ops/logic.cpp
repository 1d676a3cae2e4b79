// logical_* take any dtype and give bool; bitwise_* take integers and bool, promoted.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

template <Literal kPrim>
Values logical(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef a = e.convert(e.tensor(0), DType::kBool), b = e.convert(e.tensor(1), DType::kBool);
  return e.done({e.pointwise(kPrim.view(), {a, b})});
}

Values logical_not(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.pointwise("prim.logical_not", {e.convert(e.tensor(0), DType::kBool)})});
}

Types require_bits(InferContext& context, Types result) {
  if (result.ok() && is_floating((*result)[0].dtype)) {
    return context.error("self", "integers or bool", name((*result)[0].dtype));
  }
  return result;
}

Types infer_bitwise(InferContext& context) {
  return require_bits(context, infer_binary<ResultRule::kPromote>(context));
}

Types infer_bitwise_not(InferContext& context) { return require_bits(context, infer_same(context)); }

Types infer_shift(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> result, infer_bitwise(context));
  if (result[0].dtype == DType::kBool) return context.error("self", "integers", "bool");
  return result;
}

template <Literal kPrim>
Values bitwise(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = e.promoted({0, 1});
  return e.done({e.pointwise(kPrim.view(), {e.operand(0, dtype), e.operand(1, dtype)})});
}

Values bitwise_not(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.tensor(0);
  return e.done({e.pointwise(e.dtype(x) == DType::kBool ? "prim.logical_not" : "prim.bitwise_not", {x})});
}

constexpr graph::InferFn kBool = infer_binary<ResultRule::kBool>;

}  // namespace

void register_logic(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::logical_and(Tensor self, Tensor other) -> Tensor", kBool, logical<"prim.bitwise_and">},
      {"aten::logical_or(Tensor self, Tensor other) -> Tensor", kBool, logical<"prim.bitwise_or">},
      {"aten::logical_xor(Tensor self, Tensor other) -> Tensor", kBool, logical<"prim.bitwise_xor">},
      {"aten::logical_not(Tensor self) -> Tensor", infer_unary<ResultRule::kBool>, logical_not},
      {"aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_and">},
      {"aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_and">},
      {"aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_or">},
      {"aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_or">},
      {"aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_xor">},
      {"aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_xor">},
      {"aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_and">},
      {"aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_and">},
      {"aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_or">},
      {"aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_or">},
      {"aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_xor">},
      {"aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", infer_bitwise, bitwise<"prim.bitwise_xor">},
      {"aten::bitwise_not(Tensor self) -> Tensor", infer_bitwise_not, bitwise_not},
      {"aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", infer_shift, bitwise<"prim.shl">},
      {"aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", infer_shift, bitwise<"prim.shl">},
      {"aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", infer_shift, bitwise<"prim.shr">},
      {"aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
       infer_shift, bitwise<"prim.shr">},
      {"aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", infer_shift, bitwise<"prim.shl">},
      {"aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", infer_shift, bitwise<"prim.shr">},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::logical_and_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_in_place<kBool>, "aten.logical_and"},
      {"aten::logical_or_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_in_place<kBool>, "aten.logical_or"},
      {"aten::logical_not_(Tensor(a!) self) -> Tensor(a!)",
       infer_in_place<infer_unary<ResultRule::kBool>>, "aten.logical_not"},
      {"aten::bitwise_and_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       infer_in_place<infer_bitwise>, "aten.bitwise_and.Tensor"},
      {"aten::bitwise_or_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       infer_in_place<infer_bitwise>, "aten.bitwise_or.Tensor"},
      {"aten::bitwise_xor_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       infer_in_place<infer_bitwise>, "aten.bitwise_xor.Tensor"},
      {"aten::bitwise_not_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_bitwise_not>, "aten.bitwise_not"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
