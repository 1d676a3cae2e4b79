// pow. Small exponents that are known become products and roots.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Types infer_pow(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(std::vector<Type> result, infer_binary<ResultRule::kPromote>(context));
  if (result[0].dtype == DType::kBool) return context.error("self", "a numeric dtype", "bool");
  if (const auto* exponent = std::get_if<Expr>(&context.argument(1)); exponent && !is_floating(result[0].dtype)) {
    const std::optional<int64_t> value = context.pool().as_constant(*exponent);
    if (value && *value < 0) {
      return context.error("exponent", "0 or more, as the base is an integer", std::to_string(*value));
    }
  }
  return result;
}

// x^exponent for an exponent that is known; an invalid value when there is no short form.
ValueRef short_power(Emitter& e, ValueRef x, double exponent, bool floating) {
  if (exponent == 0) return e.full(e.dims(x), floating ? Operand(1.0) : Operand(e.constant(1)), e.dtype(x));
  if (exponent == 1) return x;
  if (exponent == 2) return e.mul(x, x);
  if (exponent == 3) return e.mul(e.mul(x, x), x);
  if (!floating) return {};
  if (exponent == 0.5) return e.pointwise("prim.sqrt", {x});
  if (exponent == -0.5) return e.pointwise("prim.rsqrt", {x});
  if (exponent == -1) return e.pointwise("prim.reciprocal", {x});
  if (exponent == -2) return e.pointwise("prim.reciprocal", {e.mul(x, x)});
  return {};
}

Values pow(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  const Operand base = e.operand(0, dtype);
  if (const std::optional<double> exponent = e.number(1)) {
    if (const auto* x = std::get_if<ValueRef>(&base.argument)) {
      const ValueRef result = short_power(e, *x, *exponent, is_floating(dtype));
      if (result.id != graph::kNoValue) return e.done({e.store(result)});
    }
  }
  if (is_floating(dtype) && e.is_number(0, 2)) {
    return e.done({e.store(e.pointwise("prim.exp2", {e.operand(1, dtype)}))});
  }
  return e.done({e.store(e.pointwise("prim.pow", {base, e.operand(1, dtype)}))});
}

}  // namespace

void register_power(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", infer_pow, pow},
      {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", infer_pow, pow},
      {"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", infer_pow, pow},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
       infer_in_place<infer_pow>, "aten.pow.Tensor_Scalar"},
      {"aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
       infer_in_place<infer_pow>, "aten.pow.Tensor_Tensor"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
