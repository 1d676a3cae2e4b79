// layer_norm and rms_norm over the trailing dims `normalized_shape`.
#include <limits>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// input, normalized_shape, weight, [bias]
Result<Type> checked_input(InferContext& context, size_t scales) {
  TENON_ASSIGN_OR_RETURN(Type input, tensor_type_of(context, 0, 1));
  if (!is_floating(input.dtype)) return context.error("input", "a floating dtype", name(input.dtype));
  TENON_ASSIGN_OR_RETURN(const Dims shape, context.integers(1));
  if (shape.empty() || shape.size() > input.rank()) {
    return context.error("normalized_shape", "1 to " + std::to_string(input.rank()) + " sizes",
                         std::to_string(shape.size()));
  }
  const size_t leading = input.rank() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    TENON_RETURN_IF_ERROR(expect_equal(context, "normalized_shape", input.dims[leading + i], shape[i]));
  }
  for (size_t index = 2; index < 2 + scales; ++index) {
    if (context.absent(index)) continue;
    TENON_ASSIGN_OR_RETURN(const Type scale, tensor_type_of(context, index));
    const std::string& argument = context.op().schema.arguments[index].name;
    if (scale.rank() != shape.size()) {
      return context.error(argument, "sizes " + describe(context.pool(), shape), describe(context.pool(), scale));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      TENON_RETURN_IF_ERROR(expect_equal(context, argument, shape[i], scale.dims[i]));
    }
  }
  return input;
}

Types infer_layer_norm(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type input, checked_input(context, 2));
  return one(std::move(input));
}

// result, mean, rstd: the statistics keep the leading dims and have 1 for the others.
Types infer_native_layer_norm(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type input, checked_input(context, 2));
  TENON_ASSIGN_OR_RETURN(const Dims shape, context.integers(1));
  Type statistic = input;
  for (size_t i = input.rank() - shape.size(); i < input.rank(); ++i) statistic.dims[i] = context.pool().constant(1);
  // With a weight of another dtype the statistics are in the weight's.
  for (size_t index : {size_t{2}, size_t{3}}) {
    if (context.absent(index)) continue;
    TENON_ASSIGN_OR_RETURN(const Type scale, context.type(index));
    if (scale.dtype != input.dtype) statistic.dtype = scale.dtype;
  }
  return std::vector<Type>{std::move(input), statistic, statistic};
}

// A weight or bias of another dtype means the whole is computed in f32.
ValueRef layer_norm_of(Emitter& e, Axes& axes) {
  ValueRef input = e.tensor(0);
  const size_t count = e.integers(1).size();
  for (size_t i = e.rank(input) - count; i < e.rank(input); ++i) axes.push_back(static_cast<int64_t>(i));
  DType dtype = e.dtype(input);
  for (size_t index : {size_t{2}, size_t{3}}) {
    if (!e.absent(index) && e.dtype(e.tensor(index)) != dtype) dtype = compute_dtype(dtype);
  }
  const auto scale = [&](size_t index) {
    return e.absent(index) ? Argument() : Argument(e.convert(e.tensor(index), dtype));
  };
  const Argument eps = e.context().argument(4);
  const Argument weight = scale(2), bias = scale(3);
  return e.store(e.call("prim.layer_norm", {e.convert(input, dtype), e.constant(static_cast<int64_t>(count)), weight,
                                            bias, eps}));
}

Values layer_norm(DecomposeContext& context) {
  Emitter e(context);
  Axes axes;
  return e.done({layer_norm_of(e, axes)});
}

// The statistics are computed apart: mostly nobody reads them.
Values native_layer_norm(DecomposeContext& context) {
  Emitter e(context);
  Axes axes;
  const ValueRef result = layer_norm_of(e, axes);
  const ValueRef x = e.convert(e.tensor(0), compute_dtype(e.result_dtype()));
  const Expr count = e.count(x, axes);
  const ValueRef mean = e.div(e.reduce("prim.sum", x, axes, true), count);
  const ValueRef distance = e.sub(x, mean);
  const ValueRef variance = e.div(e.reduce("prim.sum", e.mul(distance, distance), axes, true), count);
  const ValueRef rstd = e.pointwise("prim.rsqrt", {e.add(variance, e.operand(4, e.dtype(x)))});
  return e.done({result, e.convert(mean, e.result_dtype(1)), e.convert(rstd, e.result_dtype(2))});
}

// input, normalized_shape, weight, eps?
Types infer_rms_norm(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type input, checked_input(context, 1));
  if (!context.absent(2)) {
    TENON_ASSIGN_OR_RETURN(const Type weight, context.type(2));
    const std::optional<DType> dtype = promote_types(input.dtype, weight.dtype);
    if (dtype) input.dtype = *dtype;
  }
  return one(std::move(input));
}

Values rms_norm(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef input = e.tensor(0);
  const DType dtype = e.dtype(input), compute = compute_dtype(dtype);
  const ValueRef x = e.convert(input, compute);
  Axes axes;
  for (size_t i = e.rank(x) - e.integers(1).size(); i < e.rank(x); ++i) axes.push_back(static_cast<int64_t>(i));
  const ValueRef mean = e.div(e.reduce("prim.sum", e.mul(x, x), axes, true), e.count(x, axes));
  const double epsilon = compute == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                                : static_cast<double>(std::numeric_limits<float>::epsilon());
  const Operand eps = e.absent(3) ? Operand(epsilon) : e.operand(3, compute);
  // Rounded to the dtype of the input before the weight.
  ValueRef result = e.convert(e.mul(x, e.pointwise("prim.rsqrt", {e.add(mean, eps)})), dtype);
  if (!e.absent(2)) {
    const DType product = compute_dtype(e.result_dtype());
    result = e.mul(e.convert(result, product), e.operand(2, product));
  }
  return e.done({e.store(result)});
}

}  // namespace

void register_norm(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
       "Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor", infer_layer_norm, layer_norm},
      {"aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
       "float eps) -> (Tensor, Tensor, Tensor)", infer_native_layer_norm, native_layer_norm},
      {"aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
       "float? eps=None) -> Tensor", infer_rms_norm, rms_norm},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
