// Unary operators that are one primitive.
#include <cfloat>
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// Transcendental functions: integers and bool become f32.
template <Literal kPrim>
Values to_float(DecomposeContext& context) {
  Emitter e(context);
  const Operand x = e.operand(0, compute_dtype(float_dtype(e.promoted({0}))));
  return e.done({e.store(e.pointwise(kPrim.view(), {x}))});
}

// Keeps the dtype; no-op on integers when `kRounding`.
template <Literal kPrim, bool kRounding>
Values same_dtype(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.tensor(0);
  if (kRounding && !is_floating(e.dtype(x))) return e.done({x});
  const Operand operand = e.operand(0, compute_dtype(e.dtype(x)));
  return e.done({e.store(e.pointwise(kPrim.view(), {operand}))});
}

Types infer_numeric(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type type, context.type(0));
  if (type.dtype == DType::kBool) return context.error("self", "a numeric dtype", "bool");
  return infer_same(context);
}

// sign(bool) is the identity.
template <Literal kPrim>
Values bool_identity(DecomposeContext& context) {
  if (context.type(context.tensor(0)).dtype == DType::kBool) return std::vector<ValueId>{context.tensor(0)};
  return same_dtype<kPrim, false>(context);
}

Values relu(DecomposeContext& context) {
  Emitter e(context);
  const Operand x = e.operand(0, compute_dtype(e.result_dtype()));
  return e.done({e.store(e.max(x, e.constant(0)))});
}

// As pow by the integer 2, which makes an integer of bool.
Types infer_square(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> types, infer_same(context));
  if (types[0].dtype == DType::kBool) types[0].dtype = DType::kI64;
  return types;
}

Values square(DecomposeContext& context) {
  Emitter e(context);
  const Operand x = e.operand(0, compute_dtype(e.result_dtype()));
  return e.done({e.store(e.mul(x, x))});
}

// isnan and isinf of integers are false everywhere.
template <Literal kPrim>
Values classify(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.tensor(0);
  if (!is_floating(e.dtype(x))) return e.done({e.full(e.dims(x), Argument(false), DType::kBool)});
  return e.done({e.pointwise(kPrim.view(), {e.convert(x, compute_dtype(e.dtype(x)))})});
}

// |x| != inf, and false for NaN.
Values isfinite(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.tensor(0);
  if (!is_floating(e.dtype(x))) return e.done({e.full(e.dims(x), Argument(true), DType::kBool)});
  const ValueRef magnitude = e.pointwise("prim.abs", {e.convert(x, compute_dtype(e.dtype(x)))});
  return e.done({e.pointwise("prim.lt", {magnitude, HUGE_VAL})});
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kF16: return 65504;
    case DType::kBF16: return 0x1.fep127;
    case DType::kF32: return FLT_MAX;
    default: return DBL_MAX;
  }
}

// self, nan, posinf, neginf; absent: 0 and the largest numbers of the dtype.
Values nan_to_num(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const DType dtype = e.dtype(self);
  if (!is_floating(dtype)) return e.done({self});
  const ValueRef x = e.convert(self, compute_dtype(dtype));
  const auto given = [&](size_t index, double otherwise) { return e.number(index).value_or(otherwise); };
  ValueRef result = e.where(e.pointwise("prim.isnan", {x}), given(1, 0.0), x);
  result = e.where(e.pointwise("prim.eq", {x, HUGE_VAL}), given(2, largest(dtype)), result);
  result = e.where(e.pointwise("prim.eq", {x, -HUGE_VAL}), given(3, -largest(dtype)), result);
  return e.done({e.store(result)});
}

constexpr graph::InferFn kFloat = infer_unary<ResultRule::kFloat>;
constexpr graph::InferFn kBool = infer_unary<ResultRule::kBool>;

}  // namespace

void register_unary(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::exp(Tensor self) -> Tensor", kFloat, to_float<"prim.exp">},
      {"aten::exp2(Tensor self) -> Tensor", kFloat, to_float<"prim.exp2">},
      {"aten::expm1(Tensor self) -> Tensor", kFloat, to_float<"prim.expm1">},
      {"aten::log(Tensor self) -> Tensor", kFloat, to_float<"prim.log">},
      {"aten::log1p(Tensor self) -> Tensor", kFloat, to_float<"prim.log1p">},
      {"aten::log2(Tensor self) -> Tensor", kFloat, to_float<"prim.log2">},
      {"aten::log10(Tensor self) -> Tensor", kFloat, to_float<"prim.log10">},
      {"aten::sqrt(Tensor self) -> Tensor", kFloat, to_float<"prim.sqrt">},
      {"aten::rsqrt(Tensor self) -> Tensor", kFloat, to_float<"prim.rsqrt">},
      {"aten::reciprocal(Tensor self) -> Tensor", kFloat, to_float<"prim.reciprocal">},
      {"aten::sin(Tensor self) -> Tensor", kFloat, to_float<"prim.sin">},
      {"aten::cos(Tensor self) -> Tensor", kFloat, to_float<"prim.cos">},
      {"aten::tan(Tensor self) -> Tensor", kFloat, to_float<"prim.tan">},
      {"aten::asin(Tensor self) -> Tensor", kFloat, to_float<"prim.asin">},
      {"aten::acos(Tensor self) -> Tensor", kFloat, to_float<"prim.acos">},
      {"aten::atan(Tensor self) -> Tensor", kFloat, to_float<"prim.atan">},
      {"aten::sinh(Tensor self) -> Tensor", kFloat, to_float<"prim.sinh">},
      {"aten::cosh(Tensor self) -> Tensor", kFloat, to_float<"prim.cosh">},
      {"aten::tanh(Tensor self) -> Tensor", kFloat, to_float<"prim.tanh">},
      {"aten::asinh(Tensor self) -> Tensor", kFloat, to_float<"prim.asinh">},
      {"aten::acosh(Tensor self) -> Tensor", kFloat, to_float<"prim.acosh">},
      {"aten::atanh(Tensor self) -> Tensor", kFloat, to_float<"prim.atanh">},
      {"aten::erf(Tensor self) -> Tensor", kFloat, to_float<"prim.erf">},
      {"aten::erfc(Tensor self) -> Tensor", kFloat, to_float<"prim.erfc">},
      {"aten::sigmoid(Tensor self) -> Tensor", kFloat, to_float<"prim.sigmoid">},
      {"aten::neg(Tensor self) -> Tensor", infer_numeric, same_dtype<"prim.neg", false>},
      {"aten::abs(Tensor self) -> Tensor", infer_numeric, same_dtype<"prim.abs", false>},
      {"aten::sign(Tensor self) -> Tensor", infer_same, bool_identity<"prim.sign">},
      {"aten::floor(Tensor self) -> Tensor", infer_numeric, same_dtype<"prim.floor", true>},
      {"aten::ceil(Tensor self) -> Tensor", infer_numeric, same_dtype<"prim.ceil", true>},
      {"aten::round(Tensor self) -> Tensor", infer_numeric, same_dtype<"prim.round", true>},
      {"aten::trunc(Tensor self) -> Tensor", infer_numeric, same_dtype<"prim.trunc", true>},
      {"aten::relu(Tensor self) -> Tensor", infer_numeric, relu},
      {"aten::square(Tensor self) -> Tensor", infer_square, square},
      {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", infer_same,
       nan_to_num},
      {"aten::isnan(Tensor self) -> Tensor", kBool, classify<"prim.isnan">},
      {"aten::isinf(Tensor self) -> Tensor", kBool, classify<"prim.isinf">},
      {"aten::isfinite(Tensor self) -> Tensor", kBool, isfinite},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::exp_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.exp"},
      {"aten::log_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.log"},
      {"aten::sqrt_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.sqrt"},
      {"aten::rsqrt_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.rsqrt"},
      {"aten::reciprocal_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.reciprocal"},
      {"aten::sin_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.sin"},
      {"aten::cos_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.cos"},
      {"aten::tanh_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.tanh"},
      {"aten::erf_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.erf"},
      {"aten::sigmoid_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<kFloat>, "aten.sigmoid"},
      {"aten::neg_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.neg"},
      {"aten::abs_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.abs"},
      {"aten::sign_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_same>, "aten.sign"},
      {"aten::floor_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.floor"},
      {"aten::ceil_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.ceil"},
      {"aten::round_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.round"},
      {"aten::trunc_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.trunc"},
      {"aten::relu_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.relu"},
      {"aten::square_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_numeric>, "aten.square"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
