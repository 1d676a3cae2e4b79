// Reductions and cumsum. Half types accumulate in f32, integers and bool in i64.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

size_t slot(const graph::Operator& op, std::string_view argument) {
  const int index = op.schema.find(argument);
  return index < 0 ? SIZE_MAX : static_cast<size_t>(index);
}

// The dims, keepdim and dtype arguments, wherever the overload has them (or has not).
struct Arguments {
  size_t dims = SIZE_MAX, keepdim = SIZE_MAX, dtype = SIZE_MAX;
};
Arguments arguments_of(const graph::Operator& op) {
  return {slot(op, "dim"), slot(op, "keepdim"), slot(op, "dtype")};
}

Result<Axes> axes_of(InferContext& context, const Arguments& arguments, size_t rank) {
  if (arguments.dims != SIZE_MAX) return reduction_axes(context, arguments.dims, rank);
  Axes axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

Axes axes_of(Emitter& e, const Arguments& arguments, size_t rank) {
  if (arguments.dims != SIZE_MAX) return e.reduced(arguments.dims, rank);
  Axes axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}

bool keeps(InferContext& context, const Arguments& arguments) {
  return arguments.keepdim != SIZE_MAX && context.boolean(arguments.keepdim);
}
bool keeps(Emitter& e, const Arguments& arguments) {
  return arguments.keepdim != SIZE_MAX && e.boolean(arguments.keepdim);
}

Types reduced(InferContext& context, const Type& self, const Axes& axes, DType dtype) {
  const bool keepdim = keeps(context, arguments_of(context.op()));
  return one(graph::tensor_type(dtype, reduced_dims(context.pool(), self.dims, axes, keepdim), self.device));
}

// sum, prod
Types infer_accumulate(InferContext& context) {
  const Arguments arguments = arguments_of(context.op());
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes axes, axes_of(context, arguments, self.rank()));
  return reduced(context, self, axes, dtype_or(context, arguments.dtype, sum_dtype(self.dtype)));
}

// A reduction over no axes (of a 0-d tensor) is the value itself.
template <Literal kPrim>
Values accumulate(DecomposeContext& context) {
  Emitter e(context);
  const Arguments arguments = arguments_of(*context.node().op);
  const DType dtype = compute_dtype(e.result_dtype());
  const ValueRef x = e.convert(e.tensor(0), dtype);
  const Axes axes = axes_of(e, arguments, e.rank(x));
  if (axes.empty()) return e.done({e.store(x)});
  // sum and prod into bool are "any" and "all".
  std::string_view op = kPrim.view();
  if (dtype == DType::kBool) op = op == "prim.sum" ? "prim.any" : "prim.all";
  return e.done({e.store(e.reduce(op, x, axes, keeps(e, arguments)))});
}

Types infer_mean(InferContext& context) {
  const Arguments arguments = arguments_of(context.op());
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  const DType dtype = dtype_or(context, arguments.dtype, self.dtype);
  if (!is_floating(dtype)) {
    return context.error(context.absent(arguments.dtype) ? "self" : "dtype", "a floating dtype", name(dtype));
  }
  TENON_ASSIGN_OR_RETURN(const Axes axes, axes_of(context, arguments, self.rank()));
  return reduced(context, self, axes, dtype);
}

Values mean(DecomposeContext& context) {
  Emitter e(context);
  const Arguments arguments = arguments_of(*context.node().op);
  const ValueRef x = e.convert(e.tensor(0), compute_dtype(e.result_dtype()));
  const Axes axes = axes_of(e, arguments, e.rank(x));
  if (axes.empty()) return e.done({e.store(x)});
  const Expr count = e.count(x, axes);
  return e.done({e.store(e.div(e.reduce("prim.sum", x, axes, keeps(e, arguments)), count))});
}

// A maximum of nothing does not exist.
Status expect_elements(InferContext& context, const Type& self, const Axes& axes) {
  for (int64_t axis : axes) {
    const Expr extent = self.dims[axis];
    TENON_ASSIGN_OR_RETURN(const bool some, context.decide(Relation::kNe, extent, context.pool().constant(0)));
    if (!some) return context.error("self", "a size above 0 in dim " + std::to_string(axis), "0");
  }
  return {};
}

Types infer_extremum(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes axes, axes_of(context, arguments_of(context.op()), self.rank()));
  TENON_RETURN_IF_ERROR(expect_elements(context, self, axes));
  return reduced(context, self, axes, self.dtype);
}

// amax and amin; of bool they are any and all.
ValueRef extremum_of(Emitter& e, bool maximum, ValueRef x, const Axes& axes, bool keepdim) {
  if (axes.empty()) return x;
  const DType dtype = e.dtype(x);
  if (dtype == DType::kBool) return e.reduce(maximum ? "prim.any" : "prim.all", x, axes, keepdim);
  const ValueRef wide = e.convert(x, compute_dtype(dtype));
  return e.convert(e.reduce(maximum ? "prim.amax" : "prim.amin", wide, axes, keepdim), dtype);
}

template <bool kMaximum>
Values extremum(DecomposeContext& context) {
  Emitter e(context);
  const Arguments arguments = arguments_of(*context.node().op);
  const ValueRef x = e.tensor(0);
  return e.done({extremum_of(e, kMaximum, x, axes_of(e, arguments, e.rank(x)), keeps(e, arguments))});
}

ValueRef position_of(Emitter& e, bool maximum, ValueRef x, int64_t dim, bool keepdim) {
  if (e.rank(x) == 0) return e.full({}, e.constant(0), DType::kI64);
  const DType dtype = e.dtype(x) == DType::kBool ? DType::kU8 : compute_dtype(e.dtype(x));
  return e.call(maximum ? "prim.argmax" : "prim.argmin", {e.convert(x, dtype), e.constant(dim), keepdim});
}

// self, dim, keepdim -> values, indices
Types infer_extremum_dim(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, wrapped_dim(context, 1, self.rank()));
  Axes axes;
  if (self.rank() > 0) axes.push_back(dim);
  TENON_RETURN_IF_ERROR(expect_elements(context, self, axes));
  TENON_ASSIGN_OR_RETURN(std::vector<Type> types, reduced(context, self, axes, self.dtype));
  types.push_back(types[0]);
  types[1].dtype = DType::kI64;
  return types;
}

template <bool kMaximum>
Values extremum_dim(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.tensor(0);
  const int64_t dim = e.dim(1, e.rank(x));
  const bool keepdim = e.boolean(2);
  const Axes axes = e.rank(x) == 0 ? Axes{} : Axes{dim};
  return e.done({extremum_of(e, kMaximum, x, axes, keepdim), position_of(e, kMaximum, x, dim, keepdim)});
}

// self, dim?, keepdim
Types infer_arg(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  if (self.dtype == DType::kBool) return context.error("self", "a numeric dtype", "bool");
  TENON_ASSIGN_OR_RETURN(const Axes axes, axes_of(context, arguments_of(context.op()), self.rank()));
  TENON_RETURN_IF_ERROR(expect_elements(context, self, axes));
  return reduced(context, self, axes, DType::kI64);
}

template <bool kMaximum>
Values arg(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef x = e.tensor(0);
  if (!e.absent(1)) return e.done({position_of(e, kMaximum, x, e.dim(1, e.rank(x)), e.boolean(2))});
  // Without dim the position is that in the flattened tensor.
  const Dims flat{e.pool().product(e.dims(x))};
  const ValueRef position = position_of(e, kMaximum, e.rank(x) == 0 ? x : e.reshape(x, flat), 0, false);
  return e.done({e.reshape(position, e.result_dims())});
}

// any and all give bool, but u8 for u8.
Types infer_truth(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes axes, axes_of(context, arguments_of(context.op()), self.rank()));
  return reduced(context, self, axes, self.dtype == DType::kU8 ? DType::kU8 : DType::kBool);
}

template <Literal kPrim>
Values truth(DecomposeContext& context) {
  Emitter e(context);
  const Arguments arguments = arguments_of(*context.node().op);
  ValueRef x = e.convert(e.tensor(0), DType::kBool);
  const Axes axes = axes_of(e, arguments, e.rank(x));
  if (!axes.empty()) x = e.reduce(kPrim.view(), x, axes, keeps(e, arguments));
  return e.done({e.store(x)});
}

// self, dim, dtype
Types infer_cumsum(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_RETURN_IF_ERROR(wrapped_dim(context, 1, self.rank()).status());
  self.dtype = dtype_or(context, 2, sum_dtype(self.dtype));
  return one(std::move(self));
}

Values cumsum(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = e.result_dtype();
  const ValueRef x = e.convert(e.tensor(0), dtype == DType::kBool ? DType::kI64 : compute_dtype(dtype));
  if (e.rank(x) == 0) return e.done({e.store(x)});
  return e.done({e.store(e.call("prim.cumsum", {x, e.constant(e.dim(1, e.rank(x)))}))});
}

}  // namespace

void register_reduce(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_accumulate, accumulate<"prim.sum">},
      {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor", infer_accumulate, accumulate<"prim.sum">},
      {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_accumulate, accumulate<"prim.prod">},
      {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       infer_accumulate, accumulate<"prim.prod">},
      {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_mean, mean},
      {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       infer_mean, mean},
      {"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", infer_extremum, extremum<true>},
      {"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", infer_extremum, extremum<false>},
      {"aten::max(Tensor self) -> Tensor", infer_extremum, extremum<true>},
      {"aten::min(Tensor self) -> Tensor", infer_extremum, extremum<false>},
      {"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       infer_extremum_dim, extremum_dim<true>},
      {"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       infer_extremum_dim, extremum_dim<false>},
      {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", infer_arg, arg<true>},
      {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", infer_arg, arg<false>},
      {"aten::any(Tensor self) -> Tensor", infer_truth, truth<"prim.any">},
      {"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", infer_truth, truth<"prim.any">},
      {"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", infer_truth, truth<"prim.any">},
      {"aten::all(Tensor self) -> Tensor", infer_truth, truth<"prim.all">},
      {"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", infer_truth, truth<"prim.all">},
      {"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", infer_truth, truth<"prim.all">},
      {"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", infer_cumsum, cumsum},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
