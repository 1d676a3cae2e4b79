// add, sub, mul, div and their kin. Arithmetic on half types happens in f32; a number beside a half tensor is not
// rounded to it first.
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

bool is_floating_number(InferContext& context, size_t index) {
  const Argument& argument = context.argument(index);
  if (std::holds_alternative<double>(argument)) return true;
  const auto* value = std::get_if<ValueRef>(&argument);
  return value && is_floating(context.type_of(value->id).dtype);
}

// self, other, alpha
template <bool kSubtract>
Types infer_sum(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> result, infer_pointwise(context, {0, 1}, ResultRule::kPromote));
  const DType dtype = result[0].dtype;
  if (kSubtract) {
    // PyTorch refuses bool with bool, and any bool tensor.
    for (size_t index : {size_t{0}, size_t{1}}) {
      TENON_ASSIGN_OR_RETURN(const Type type, context.type(index));
      if (type.dtype == DType::kBool) {
        return context.error(context.op().schema.arguments[index].name, "a numeric dtype (use bitwise_xor)", "bool");
      }
    }
  }
  if (!is_floating(dtype) && is_floating_number(context, 2)) {
    return context.error("alpha", "an integer, as both operands are", "a float");
  }
  if (dtype != DType::kBool && std::holds_alternative<bool>(context.argument(2))) {
    return context.error("alpha", "a number", "bool");
  }
  return result;
}

// a + alpha * b or a - alpha * b; alpha is the argument 2.
ValueRef scaled_sum(Emitter& e, bool subtract, Operand a, Operand b, DType dtype) {
  if (dtype == DType::kBool) {
    if (!e.is_number(2, 1)) b = e.pointwise("prim.bitwise_and", {e.full({}, e.operand(2, dtype), dtype), b});
    return e.pointwise("prim.bitwise_or", {a, b});
  }
  if (!e.is_number(2, 1)) {
    // A product of two numbers has no dtype of its own.
    if (!std::holds_alternative<ValueRef>(b.argument)) b = e.full({}, b, dtype);
    b = e.mul(e.operand(2, dtype), b);
  }
  return subtract ? e.sub(a, b) : e.add(a, b);
}

template <bool kSubtract>
Values sum(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  const Operand self = e.operand(0, dtype), other = e.operand(1, dtype);
  return e.done({e.store(scaled_sum(e, kSubtract, self, other, dtype))});
}

// other - alpha * self
Values reverse_sub(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  const Operand self = e.operand(0, dtype), other = e.operand(1, dtype);
  return e.done({e.store(scaled_sum(e, true, other, self, dtype))});
}

Values mul(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  const std::string_view op = dtype == DType::kBool ? "prim.bitwise_and" : "prim.mul";
  return e.done({e.store(e.pointwise(op, {e.operand(0, dtype), e.operand(1, dtype)}))});
}

Values div(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(float_dtype(e.promoted({0, 1})));
  return e.done({e.store(e.pointwise("prim.div", {e.operand(0, dtype), e.operand(1, dtype)}))});
}

Types infer_div_mode(InferContext& context) {
  if (context.absent(2)) return infer_binary<ResultRule::kFloat>(context);
  const std::string& mode = std::get<std::string>(context.argument(2));
  if (mode != "trunc" && mode != "floor") return context.error("rounding_mode", "None, \"trunc\" or \"floor\"", mode);
  return infer_binary<ResultRule::kPromote>(context);
}

// bool is divided as an integer and stored as bool.
DType division_dtype(DType dtype) { return dtype == DType::kBool ? DType::kU8 : compute_dtype(dtype); }

Values div_mode(DecomposeContext& context) {
  if (context.absent(2)) return div(context);
  Emitter e(context);
  const DType dtype = division_dtype(e.promoted({0, 1}));
  const Operand a = e.operand(0, dtype), b = e.operand(1, dtype);
  if (std::get<std::string>(context.argument(2)) == "floor") {
    return e.done({e.store(e.pointwise("prim.floor_div", {a, b}))});
  }
  ValueRef quotient = e.div(a, b);
  if (is_floating(dtype)) quotient = e.pointwise("prim.trunc", {quotient});
  return e.done({e.store(quotient)});
}

template <Literal kPrim>
Values integer_like(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = division_dtype(e.promoted({0, 1}));
  return e.done({e.store(e.pointwise(kPrim.view(), {e.operand(0, dtype), e.operand(1, dtype)}))});
}

Types infer_no_bool(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> result, infer_binary<ResultRule::kPromote>(context));
  if (result[0].dtype == DType::kBool) return context.error("self", "a numeric dtype", "bool");
  return result;
}

Values atan2(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(float_dtype(e.promoted({0, 1})));
  return e.done({e.store(e.pointwise("prim.atan2", {e.operand(0, dtype), e.operand(1, dtype)}))});
}

// self + value * tensor1 (*|/) tensor2
template <bool kDivide>
Types infer_addc(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> result, infer_pointwise(context, {0, 1, 2}, ResultRule::kPromote));
  if (result[0].dtype == DType::kBool) return context.error("self", "a numeric dtype", "bool");
  if (kDivide && !is_floating(result[0].dtype)) {
    return context.error("tensor1", "a floating dtype", name(result[0].dtype));
  }
  if (!is_floating(result[0].dtype) && is_floating_number(context, 3)) {
    return context.error("value", "an integer, as all operands are", "a float");
  }
  return result;
}

template <bool kDivide>
Values addc(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1, 2}));
  ValueRef first = e.convert(e.tensor(1), dtype);
  const Operand second = e.operand(2, dtype);
  if (!e.is_number(3, 1)) first = e.mul(e.operand(3, dtype), first);
  const ValueRef product = kDivide ? e.div(first, second) : e.mul(first, second);
  return e.done({e.store(e.add(e.operand(0, dtype), product))});
}

Types infer_lerp(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> result, infer_pointwise(context, {0, 1, 2}, ResultRule::kPromote));
  TENON_ASSIGN_OR_RETURN(const Type start, context.type(0));
  for (size_t index : {size_t{1}, size_t{2}}) {
    TENON_ASSIGN_OR_RETURN(const Type type, context.type(index));
    if (!type.is_scalar() && type.dtype != start.dtype) {
      return context.error(context.op().schema.arguments[index].name, name(start.dtype), name(type.dtype));
    }
  }
  if (!is_floating(start.dtype)) return context.error("self", "a floating dtype", name(start.dtype));
  result[0].dtype = start.dtype;
  return result;
}

// Exact at both ends: start + w (end - start) for |w| < 0.5, else end - (1 - w) (end - start).
Values lerp(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.result_dtype());
  const Operand start = e.operand(0, dtype), end = e.operand(1, dtype);
  const ValueRef distance = e.sub(end, start);
  if (const std::optional<double> weight = e.number(2)) {
    if (std::abs(*weight) < 0.5) return e.done({e.store(e.add(start, e.mul(*weight, distance)))});
    return e.done({e.store(e.sub(end, e.mul(distance, 1 - *weight)))});
  }
  const Operand weight = e.operand(2, dtype);
  const ValueRef near_start = e.add(start, e.mul(weight, distance));
  const ValueRef near_end = e.sub(end, e.mul(distance, e.sub(1.0, weight)));
  const ValueRef small = e.pointwise("prim.lt", {e.pointwise("prim.abs", {weight}), 0.5});
  return e.done({e.store(e.where(small, near_start, near_end))});
}

constexpr graph::InferFn kSame = infer_binary<ResultRule::kPromote>;
constexpr graph::InferFn kFloat = infer_binary<ResultRule::kFloat>;

}  // namespace

void register_arithmetic(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_sum<false>, sum<false>},
      {"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_sum<false>, sum<false>},
      {"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_sum<true>, sum<true>},
      {"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_sum<true>, sum<true>},
      {"aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_sum<true>, reverse_sub},
      {"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_sum<true>, reverse_sub},
      {"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", kSame, mul},
      {"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", kSame, mul},
      {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor", kFloat, div},
      {"aten::div.Scalar(Tensor self, Scalar other) -> Tensor", kFloat, div},
      {"aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", kFloat, div},
      {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", infer_div_mode, div_mode},
      {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", infer_div_mode, div_mode},
      {"aten::floor_divide(Tensor self, Tensor other) -> Tensor", kSame, integer_like<"prim.floor_div">},
      {"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", kSame, integer_like<"prim.floor_div">},
      {"aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", infer_no_bool, integer_like<"prim.remainder">},
      {"aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", infer_no_bool, integer_like<"prim.remainder">},
      {"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       infer_no_bool, integer_like<"prim.remainder">},
      {"aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", infer_no_bool, integer_like<"prim.fmod">},
      {"aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", infer_no_bool, integer_like<"prim.fmod">},
      {"aten::atan2(Tensor self, Tensor other) -> Tensor", kFloat, atan2},
      {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       infer_addc<false>, addc<false>},
      {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       infer_addc<true>, addc<true>},
      {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", infer_lerp, lerp},
      {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", infer_lerp, lerp},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
       infer_in_place<infer_sum<false>>, "aten.add.Tensor"},
      {"aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
       infer_in_place<infer_sum<false>>, "aten.add.Scalar"},
      {"aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
       infer_in_place<infer_sum<true>>, "aten.sub.Tensor"},
      {"aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
       infer_in_place<infer_sum<true>>, "aten.sub.Scalar"},
      {"aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_in_place<kSame>, "aten.mul.Tensor"},
      {"aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", infer_in_place<kSame>, "aten.mul.Scalar"},
      {"aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_in_place<kFloat>, "aten.div.Tensor"},
      {"aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", infer_in_place<kFloat>, "aten.div.Scalar"},
      {"aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)",
       infer_in_place<infer_div_mode>, "aten.div.Tensor_mode"},
      {"aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)",
       infer_in_place<infer_div_mode>, "aten.div.Scalar_mode"},
      {"aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       infer_in_place<kSame>, "aten.floor_divide"},
      {"aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       infer_in_place<kSame>, "aten.floor_divide.Scalar"},
      {"aten::remainder_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       infer_in_place<infer_no_bool>, "aten.remainder.Tensor"},
      {"aten::remainder_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       infer_in_place<infer_no_bool>, "aten.remainder.Scalar"},
      {"aten::fmod_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
       infer_in_place<infer_no_bool>, "aten.fmod.Tensor"},
      {"aten::fmod_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
       infer_in_place<infer_no_bool>, "aten.fmod.Scalar"},
      {"aten::atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_in_place<kFloat>, "aten.atan2"},
      {"aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)",
       infer_in_place<infer_addc<false>>, "aten.addcmul"},
      {"aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)",
       infer_in_place<infer_addc<true>>, "aten.addcdiv"},
      {"aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)",
       infer_in_place<infer_lerp>, "aten.lerp.Scalar"},
      {"aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)",
       infer_in_place<infer_lerp>, "aten.lerp.Tensor"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
