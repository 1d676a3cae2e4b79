// softmax and its kin.
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// self, dim, dtype? or half_to_float
Types infer_softmax(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_RETURN_IF_ERROR(wrapped_dim(context, 1, self.rank()).status());
  self.dtype = dtype_or(context, 2, self.dtype);
  if (const bool* widen = std::get_if<bool>(&context.argument(2)); widen && *widen) self.dtype = DType::kF32;
  if (!is_floating(self.dtype)) return context.error("self", "a floating dtype", name(self.dtype));
  return one(std::move(self));
}

ValueRef normalized(Emitter& e, ValueRef x, bool log) {
  const Dims shape = e.dims(x);
  const int64_t dim = e.dim(1, shape.size());
  if (shape.empty()) x = e.unsqueeze(x, 0);
  return e.reshape(e.call("prim.softmax", {x, e.constant(dim), log}), shape);
}

template <bool kLog>
Values softmax(DecomposeContext& context) {
  Emitter e(context);
  return e.done({normalized(e, e.store(e.tensor(0)), kLog)});
}

// A row of -inf gives 0 instead of NaN.
Values safe_softmax(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.store(e.tensor(0));
  const DType compute = compute_dtype(e.dtype(x));
  ValueRef masked = e.pointwise("prim.eq", {e.convert(x, compute), -HUGE_VAL});
  if (e.rank(x) > 0) masked = e.reduce("prim.all", masked, {e.dim(1, e.rank(x))}, true);
  return e.done({e.where(masked, 0.0, normalized(e, x, false))});
}

// self, dim, keepdim
Types infer_logsumexp(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes axes, reduction_axes(context, 1, self.rank()));
  Dims dims = reduced_dims(context.pool(), self.dims, axes, context.boolean(2));
  return one(graph::tensor_type(float_dtype(self.dtype), std::move(dims), self.device));
}

Values logsumexp(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.convert(e.tensor(0), compute_dtype(e.result_dtype()));
  const Axes axes = e.reduced(1, e.rank(x));
  if (axes.empty()) return e.done({e.store(x)});
  for (int64_t axis : axes) {  // nothing has no maximum; its sum is 0
    if (!decide_or(e.facts(), e.origin(), Relation::kEq, e.extent(x, axis), e.constant(0), false)) continue;
    return e.done({e.full(e.result_dims(), -HUGE_VAL, e.result_dtype())});
  }
  // An infinite maximum would give inf - inf.
  ValueRef maximum = e.reduce("prim.amax", x, axes, true);
  maximum = e.where(e.pointwise("prim.isinf", {maximum}), 0.0, maximum);
  const ValueRef sum = e.reduce("prim.sum", e.pointwise("prim.exp", {e.sub(x, maximum)}), axes, true);
  const ValueRef result = e.add(e.pointwise("prim.log", {sum}), maximum);
  return e.done({e.store(e.reshape(result, e.result_dims()))});
}

}  // namespace

void register_softmax(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax, softmax<false>},
      {"aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", infer_softmax, softmax<false>},
      {"aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax, softmax<true>},
      {"aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", infer_softmax, softmax<true>},
      {"aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", infer_softmax, safe_softmax},
      {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", infer_logsumexp, logsumexp},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
