// Activations with parameters; all keep the dtype of self.
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Types infer_activation(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  if (!is_floating(self.dtype)) return context.error("self", "a floating dtype", name(self.dtype));
  return infer_same(context);
}

Types infer_gelu(InferContext& context) {
  const std::string& mode = std::get<std::string>(context.argument(1));
  if (mode != "none" && mode != "tanh") return context.error("approximate", "\"none\" or \"tanh\"", mode);
  return infer_activation(context);
}

// Also for integers; an unsigned one has no room for a negative limit.
Types infer_hardtanh(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  if (self.dtype == DType::kBool) return context.error("self", "a numeric dtype", "bool");
  for (size_t index = 1; index < context.size() && !is_signed(self.dtype); ++index) {
    const auto* limit = std::get_if<Expr>(&context.argument(index));
    const auto* value = std::get_if<double>(&context.argument(index));
    if ((limit && context.pool().as_constant(*limit).value_or(0) < 0) || (value && *value < 0)) {
      return context.error(context.op().schema.arguments[index].name, "0 or more, as self is unsigned", "less");
    }
  }
  return infer_same(context);
}

ValueRef load(Emitter& e) { return e.convert(e.tensor(0), compute_dtype(e.result_dtype())); }

constexpr double kSqrtHalf = 0.70710678118654752440;   // 1/sqrt(2)
constexpr double kSqrt2OverPi = 0.79788456080286535588;

Values gelu(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  if (std::get<std::string>(context.argument(1)) == "tanh") {
    const ValueRef cubed = e.mul(e.mul(x, x), x);
    const ValueRef inner = e.mul(kSqrt2OverPi, e.add(x, e.mul(0.044715, cubed)));
    return e.done({e.store(e.mul(e.mul(0.5, x), e.add(1.0, e.pointwise("prim.tanh", {inner}))))});
  }
  const ValueRef erf = e.pointwise("prim.erf", {e.mul(x, kSqrtHalf)});
  return e.done({e.store(e.mul(e.mul(x, 0.5), e.add(1.0, erf)))});
}

// x / (1 + exp(-x))
Values silu(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  return e.done({e.store(e.div(x, e.add(1.0, e.pointwise("prim.exp", {e.pointwise("prim.neg", {x})}))))});
}

Values hardtanh(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.result_dtype());
  const ValueRef raised = e.pointwise("prim.max", {load(e), e.operand(1, dtype)});
  return e.done({e.store(e.pointwise("prim.min", {raised, e.operand(2, dtype)}))});
}

Values relu6(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.store(e.min(e.max(load(e), e.constant(0)), e.constant(6)))});
}

ValueRef relu6_shifted(Emitter& e, ValueRef x) { return e.min(e.max(e.add(x, 3.0), 0.0), 6.0); }

Values hardsigmoid(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.store(e.div(relu6_shifted(e, load(e)), 6.0))});
}

Values hardswish(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  return e.done({e.store(e.div(e.mul(x, relu6_shifted(e, x)), 6.0))});
}

Values leaky_relu(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  const ValueRef scaled = e.mul(x, e.operand(1, e.dtype(x)));
  return e.done({e.store(e.where(e.pointwise("prim.gt", {x, 0.0}), x, scaled))});
}

// x <= 0: expm1(x * input_scale) * negative; else x * scale
ValueRef elu_form(Emitter& e, ValueRef x, double negative, double scale, double input_scale) {
  const ValueRef inner = input_scale == 1 ? x : e.mul(x, input_scale);
  ValueRef below = e.pointwise("prim.expm1", {inner});
  if (negative != 1) below = e.mul(below, negative);
  return e.where(e.pointwise("prim.le", {x, 0.0}), below, scale == 1 ? x : e.mul(x, scale));
}

// A Scalar parameter that must be known: activations are configured, not fed.
double parameter(Emitter& e, size_t index) {
  const std::optional<double> value = e.number(index);
  if (!value) e.fail(unimplemented(std::string(e.origin()) + ": a parameter that is computed at run time"));
  return value.value_or(0);
}

Values elu(DecomposeContext& context) {
  Emitter e(context);
  const double alpha = parameter(e, 1), scale = parameter(e, 2), input_scale = parameter(e, 3);
  return e.done({e.store(elu_form(e, load(e), alpha * scale, scale, input_scale))});
}

Values celu(DecomposeContext& context) {
  Emitter e(context);
  const double alpha = parameter(e, 1);
  return e.done({e.store(elu_form(e, load(e), alpha, 1, 1 / alpha))});
}

Values selu(DecomposeContext& context) {
  Emitter e(context);
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  return e.done({e.store(elu_form(e, load(e), kAlpha * kScale, kScale, 1))});
}

// x * tanh(log(1 + exp(x)))
Values mish(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  const ValueRef softplus = e.pointwise("prim.log1p", {e.pointwise("prim.exp", {x})});
  return e.done({e.store(e.mul(x, e.pointwise("prim.tanh", {softplus})))});
}

// x above threshold / beta, where it equals log(1 + exp(beta x)) / beta
Values softplus(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  const double beta = parameter(e, 1), threshold = parameter(e, 2);
  const ValueRef scaled = beta == 1 ? x : e.mul(x, beta);
  ValueRef smooth = e.pointwise("prim.log1p", {e.pointwise("prim.exp", {scaled})});
  if (beta != 1) smooth = e.div(smooth, beta);
  return e.done({e.store(e.where(e.pointwise("prim.gt", {scaled, threshold}), x, smooth))});
}

// min(x, 0) - log(1 + exp(-|x|))
Values log_sigmoid(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = load(e);
  const ValueRef tail = e.pointwise("prim.exp", {e.pointwise("prim.neg", {e.pointwise("prim.abs", {x})})});
  return e.done({e.store(e.sub(e.min(x, 0.0), e.pointwise("prim.log1p", {tail})))});
}

}  // namespace

void register_activation(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", infer_gelu, gelu},
      {"aten::silu(Tensor self) -> Tensor", infer_activation, silu},
      {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", infer_hardtanh, hardtanh},
      {"aten::relu6(Tensor self) -> Tensor", infer_hardtanh, relu6},
      {"aten::hardsigmoid(Tensor self) -> Tensor", infer_activation, hardsigmoid},
      {"aten::hardswish(Tensor self) -> Tensor", infer_activation, hardswish},
      {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", infer_activation, leaky_relu},
      {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", infer_activation, elu},
      {"aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", infer_activation, celu},
      {"aten::selu(Tensor self) -> Tensor", infer_activation, selu},
      {"aten::mish(Tensor self) -> Tensor", infer_activation, mish},
      {"aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", infer_activation, softplus},
      {"aten::log_sigmoid(Tensor self) -> Tensor", infer_activation, log_sigmoid},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::gelu_(Tensor(a!) self, *, str approximate=\"none\") -> Tensor(a!)",
       infer_in_place<infer_gelu>, "aten.gelu"},
      {"aten::silu_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_activation>, "aten.silu"},
      {"aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)",
       infer_in_place<infer_hardtanh>, "aten.hardtanh"},
      {"aten::relu6_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_hardtanh>, "aten.relu6"},
      {"aten::hardsigmoid_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_activation>, "aten.hardsigmoid"},
      {"aten::hardswish_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_activation>, "aten.hardswish"},
      {"aten::leaky_relu_(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)",
       infer_in_place<infer_activation>, "aten.leaky_relu"},
      {"aten::elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)",
       infer_in_place<infer_activation>, "aten.elu"},
      {"aten::celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)", infer_in_place<infer_activation>, "aten.celu"},
      {"aten::selu_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_activation>, "aten.selu"},
      {"aten::mish_(Tensor(a!) self) -> Tensor(a!)", infer_in_place<infer_activation>, "aten.mish"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
