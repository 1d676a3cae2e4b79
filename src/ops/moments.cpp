// Variance, standard deviation and vector norms. Variance takes two passes: mean, then the sum of squared distances.
#include <algorithm>
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

int find(const graph::Operator& op, std::string_view argument) { return op.schema.find(argument); }

bool keeps(const Argument* keepdim) { return keepdim && std::get<bool>(*keepdim); }

Result<Axes> infer_axes(InferContext& context, size_t rank) {
  if (const int index = find(context.op(), "dim"); index >= 0) return reduction_axes(context, index, rank);
  Axes axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

Axes decompose_axes(Emitter& e, size_t rank) {
  if (const int index = find(*e.context().node().op, "dim"); index >= 0) return e.reduced(index, rank);
  Axes axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

bool decompose_keeps(Emitter& e) {
  const int index = find(*e.context().node().op, "keepdim");
  return keeps(index < 0 ? nullptr : &e.context().argument(index));
}

Types infer_variance(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  if (!is_floating(self.dtype)) return context.error("self", "a floating dtype", name(self.dtype));
  TENON_ASSIGN_OR_RETURN(const Axes axes, infer_axes(context, self.rank()));
  const int keepdim = find(context.op(), "keepdim");
  const bool keep = keeps(keepdim < 0 ? nullptr : &context.argument(keepdim));
  std::vector<Type> types =
      one(graph::tensor_type(self.dtype, reduced_dims(context.pool(), self.dims, axes, keep), self.device));
  if (context.op().schema.returns.size() == 2) types.push_back(types[0]);
  return types;
}

// max(count - correction, 0) as an operand of a division.
Operand divisor(Emitter& e, Expr count, DType dtype) {
  Pool& pool = e.pool();
  const graph::Operator& op = *e.context().node().op;
  double correction = 1;
  if (const int index = find(op, "unbiased"); index >= 0) {
    correction = e.boolean(index) ? 1 : 0;
  } else if (const int given = find(op, "correction"); given >= 0 && !e.absent(given)) {
    const std::optional<double> value = e.number(given);
    if (!value) e.fail(unimplemented(std::string(e.origin()) + ": a correction that is computed at run time"));
    correction = value.value_or(1);
  }
  if (correction == std::floor(correction)) {
    const Expr rest = pool.sub(count, pool.constant(static_cast<int64_t>(correction)));
    return e.facts().simplify(pool.max(rest, pool.constant(0)));
  }
  if (const std::optional<int64_t> known = pool.as_constant(count)) {
    return std::max(static_cast<double>(*known) - correction, 0.0);
  }
  return e.max(e.sub(e.full({}, count, dtype), correction), 0.0);
}

struct Moments {
  ValueRef variance, mean;
};

Moments moments(Emitter& e) {
  const ValueRef x = e.convert(e.tensor(0), compute_dtype(e.result_dtype()));
  const Axes axes = decompose_axes(e, e.rank(x));
  const bool keepdim = decompose_keeps(e);
  const Expr count = e.count(x, axes);
  const auto sum = [&](ValueRef value, bool keep) {
    return axes.empty() ? value : e.reduce("prim.sum", value, axes, keep);
  };
  const ValueRef mean = e.div(sum(x, true), count);
  const ValueRef distance = e.sub(x, mean);
  const ValueRef squares = sum(e.mul(distance, distance), keepdim);
  return {e.div(squares, divisor(e, count, e.dtype(x))), mean};
}

template <bool kRoot>
Values variance(DecomposeContext& context) {
  Emitter e(context);
  const Moments result = moments(e);
  const ValueRef value = kRoot ? e.pointwise("prim.sqrt", {result.variance}) : result.variance;
  if (context.node().op->schema.returns.size() == 1) return e.done({e.store(value)});
  return e.done({e.store(value), e.store(e.reshape(result.mean, e.result_dims(1)))});
}

// The order of a norm: "ord" or "p", 2 when absent.
int order_slot(const graph::Operator& op) { return std::max(find(op, "ord"), find(op, "p")); }

Types infer_norm(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  const int dtype_slot = find(context.op(), "dtype");
  if (!is_floating(self.dtype)) return context.error("self", "a floating dtype", name(self.dtype));
  const DType dtype = dtype_slot < 0 ? self.dtype : dtype_or(context, dtype_slot, self.dtype);
  if (!is_floating(dtype)) return context.error("dtype", "a floating dtype", name(dtype));
  TENON_ASSIGN_OR_RETURN(const Axes axes, infer_axes(context, self.rank()));
  const int keepdim = find(context.op(), "keepdim");
  const bool keep = keeps(keepdim < 0 ? nullptr : &context.argument(keepdim));
  return one(graph::tensor_type(dtype, reduced_dims(context.pool(), self.dims, axes, keep), self.device));
}

Values norm(DecomposeContext& context) {
  Emitter e(context);
  const int slot = order_slot(*context.node().op);
  double order = 2;
  if (slot >= 0 && !e.absent(slot)) {
    const std::optional<double> value = e.number(slot);
    if (!value) e.fail(unimplemented(std::string(e.origin()) + ": an order that is computed at run time"));
    order = value.value_or(2);
  }
  const ValueRef x = e.convert(e.tensor(0), compute_dtype(e.result_dtype()));
  const Axes axes = decompose_axes(e, e.rank(x));
  const bool keepdim = decompose_keeps(e);
  const auto reduce = [&](std::string_view op, ValueRef value) {
    return axes.empty() ? value : e.reduce(op, value, axes, keepdim);
  };
  const auto magnitude = [&] { return e.pointwise("prim.abs", {x}); };
  ValueRef result;
  if (order == 2) {
    result = axes.empty() ? magnitude() : e.pointwise("prim.sqrt", {reduce("prim.sum", e.mul(x, x))});
  } else if (order == 1) {
    result = reduce("prim.sum", magnitude());
  } else if (order == 0) {
    result = reduce("prim.sum", e.convert(e.pointwise("prim.ne", {x, 0.0}), e.dtype(x)));
  } else if (std::isinf(order)) {
    result = reduce(order > 0 ? "prim.amax" : "prim.amin", magnitude());
  } else {
    const ValueRef sum = reduce("prim.sum", e.pointwise("prim.pow", {magnitude(), order}));
    result = e.pointwise("prim.pow", {sum, 1 / order});
  }
  return e.done({e.store(result)});
}

}  // namespace

void register_moments(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::var(Tensor self, bool unbiased=True) -> Tensor", infer_variance, variance<false>},
      {"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       infer_variance, variance<false>},
      {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
       "bool keepdim=False) -> Tensor", infer_variance, variance<false>},
      {"aten::std(Tensor self, bool unbiased=True) -> Tensor", infer_variance, variance<true>},
      {"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       infer_variance, variance<true>},
      {"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
       "bool keepdim=False) -> Tensor", infer_variance, variance<true>},
      {"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", infer_variance, variance<false>},
      {"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, "
       "bool keepdim=False) -> (Tensor, Tensor)", infer_variance, variance<false>},
      {"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
       "bool keepdim=False) -> (Tensor, Tensor)", infer_variance, variance<false>},
      {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor", infer_norm, norm},
      {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", infer_norm, norm},
      {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", infer_norm, norm},
      {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", infer_norm, norm},
      {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
       "ScalarType dtype) -> Tensor", infer_norm, norm},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
