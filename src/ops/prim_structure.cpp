// Primitives that make, move and pick elements. Arguments are normalized: dims are not negative, sizes are explicit.
#include <algorithm>

#include "ops/registry.hpp"
#include "ops/shapes.hpp"

namespace tenon::ops {
namespace {

// size elements: 0, 1, 2, ...
Types infer_iota(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Expr size, context.integer(0));
  return one(graph::tensor_type(std::get<DType>(context.argument(1)), {size}));
}

// Every element is `value`: a number, an SSA scalar or a 0-d tensor.
Types infer_full(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(0));
  return one(graph::tensor_type(std::get<DType>(context.argument(2)), std::move(size)));
}

Types infer_reshape(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(1));
  TENON_ASSIGN_OR_RETURN(Dims dims, resolve_reshape(context, "size", x.dims, std::move(size)));
  return one(graph::tensor_type(x.dtype, std::move(dims), x.device));
}

Types infer_permute(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes order, context.dims(1, x.rank()));
  if (order.size() != x.rank()) {
    return context.error("dims", std::to_string(x.rank()) + " dims", std::to_string(order.size()));
  }
  Dims dims;
  for (int64_t axis : order) dims.push_back(x.dims[axis]);
  return one(graph::tensor_type(x.dtype, std::move(dims), x.device));
}

Types infer_expand(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(1));
  TENON_ASSIGN_OR_RETURN(Dims dims, resolve_expand(context, "size", x.dims, std::move(size)));
  return one(graph::tensor_type(x.dtype, std::move(dims), x.device));
}

// Elements start, start + step, ... below end; 0 <= start <= end <= extent and step >= 1 hold.
Types infer_slice(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type x, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, x.rank()));
  TENON_ASSIGN_OR_RETURN(const Expr start, context.integer(2));
  TENON_ASSIGN_OR_RETURN(const Expr end, context.integer(3));
  TENON_ASSIGN_OR_RETURN(const Expr step, context.integer(4));
  const Pool& pool = context.pool();
  const auto first = pool.as_constant(start), last = pool.as_constant(end), extent = pool.as_constant(x.dims[dim]);
  const auto stride = pool.as_constant(step);
  if ((first && *first < 0) || (first && last && *last < *first) || (last && extent && *last > *extent)) {
    return context.error("end", "0 <= start <= end <= " + pool.print(x.dims[dim]),
                         pool.print(start) + ", " + pool.print(end));
  }
  if (stride && *stride < 1) return context.error("step", "1 or more", pool.print(step));
  Expr length = context.pool().sub(end, start);
  if (stride != 1) length = context.pool().ceil_div(length, step);
  x.dims[dim] = context.facts().simplify(length);
  return one(std::move(x));
}

Types infer_flip(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type x, tensor_type_of(context, 0));
  TENON_RETURN_IF_ERROR(context.dims(1, x.rank()).status());
  return one(std::move(x));
}

// low[d] elements of `value` before and high[d] after those of x, none negative.
Types infer_pad(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type x, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Dims low, context.integers(1));
  TENON_ASSIGN_OR_RETURN(const Dims high, context.integers(2));
  const std::string count = std::to_string(x.rank()) + " sizes";
  if (low.size() != x.rank()) return context.error("low", count, std::to_string(low.size()));
  if (high.size() != x.rank()) return context.error("high", count, std::to_string(high.size()));
  Pool& pool = context.pool();
  for (size_t i = 0; i < x.rank(); ++i) x.dims[i] = pool.add(pool.add(low[i], x.dims[i]), high[i]);
  return one(std::move(x));
}

Types infer_cat(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Type> xs, context.types(0));
  if (xs.empty()) return context.error("xs", "one tensor or more", "none");
  Type result = graph::tensor_type(xs[0].dtype, xs[0].dims, xs[0].device);
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, result.rank()));
  Pool& pool = context.pool();
  for (size_t i = 1; i < xs.size(); ++i) {
    if (xs[i].dtype != result.dtype) return context.error("xs", name(result.dtype), name(xs[i].dtype));
    if (xs[i].rank() != result.rank()) {
      return context.error("xs", "tensors of rank " + std::to_string(result.rank()), describe(pool, xs[i]));
    }
    for (size_t d = 0; d < result.rank(); ++d) {
      if (static_cast<int64_t>(d) == dim) result.dims[d] = pool.add(result.dims[d], xs[i].dims[d]);
      else TENON_RETURN_IF_ERROR(expect_equal(context, "xs", result.dims[d], xs[i].dims[d]));
    }
  }
  return one(std::move(result));
}

// result[a.., i.., b..] = x[a.., index[i..], b..]; wrap: an index below 0 counts from the end. Out of range is a
// run-time status.
Types infer_take(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const Type index, tensor_type_of(context, 1));
  TENON_RETURN_IF_ERROR(expect_integer_index(context, 1, index));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, x.rank()));
  Dims dims(x.dims.begin(), x.dims.begin() + dim);
  dims.insert(dims.end(), index.dims.begin(), index.dims.end());
  dims.insert(dims.end(), x.dims.begin() + dim + 1, x.dims.end());
  return one(graph::tensor_type(x.dtype, std::move(dims), x.device));
}

// result[i..] = x[i.. with i[dim] replaced by index[i..]]; never wraps, out of range is a run-time status.
Types infer_gather(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type index, tensor_type_of(context, 2));
  TENON_RETURN_IF_ERROR(expect_integer_index(context, 2, index));
  TENON_RETURN_IF_ERROR(wrapped_dim(context, 1, x.rank()).status());
  if (x.rank() != index.rank()) {
    return context.error("index", "rank " + std::to_string(x.rank()), describe(context.pool(), index));
  }
  return one(graph::tensor_type(x.dtype, index.dims, x.device));
}

}  // namespace

Types infer_advanced_index(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0));
  const std::string& argument = context.op().schema.arguments[1].name;
  const auto& list = std::get<std::vector<ValueId>>(context.argument(1));
  if (list.size() > x.rank()) {
    return context.error(argument, "at most " + std::to_string(x.rank()) + " indices", std::to_string(list.size()));
  }
  std::vector<Type> indices;
  std::vector<size_t> positions;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == graph::kNoValue) continue;
    const Type& type = context.type_of(list[i]);
    if (type.dtype == DType::kBool || type.dtype == DType::kU8) {
      return unimplemented(context.op().schema.name +
                           ": a mask as an index (its size depends on data) is not supported");
    }
    if (type.dtype != DType::kI64 && type.dtype != DType::kI32) {
      return context.error(argument, "i64 or i32 tensors", name(type.dtype));
    }
    indices.push_back(type);
    positions.push_back(i);
  }
  if (positions.empty()) return one(Type(x));
  TENON_ASSIGN_OR_RETURN(const Dims broadcast, context.broadcast(indices));
  const bool adjacent = positions.back() - positions.front() + 1 == positions.size();
  const size_t at = adjacent ? positions.front() : 0;
  Dims dims;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (std::find(positions.begin(), positions.end(), i) == positions.end()) dims.push_back(x.dims[i]);
  }
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(at), broadcast.begin(), broadcast.end());
  return one(graph::tensor_type(x.dtype, std::move(dims), x.device));
}

void register_prim_structure(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"prim::iota(SymInt size, ScalarType dtype) -> Tensor", infer_iota},
      {"prim::full(SymInt[] size, Scalar value, ScalarType dtype) -> Tensor", infer_full},
      {"prim::reshape(Tensor x, SymInt[] size) -> Tensor", infer_reshape},
      {"prim::permute(Tensor x, int[] dims) -> Tensor", infer_permute},
      {"prim::expand(Tensor x, SymInt[] size) -> Tensor", infer_expand},
      {"prim::slice(Tensor x, int dim, SymInt start, SymInt end, SymInt step) -> Tensor", infer_slice},
      {"prim::flip(Tensor x, int[] dims) -> Tensor", infer_flip},
      {"prim::pad(Tensor x, SymInt[] low, SymInt[] high, Scalar value) -> Tensor", infer_pad},
      {"prim::cat(Tensor[] xs, int dim) -> Tensor", infer_cat},
      {"prim::take(Tensor x, Tensor index, int dim, bool wrap) -> Tensor", infer_take},
      {"prim::gather(Tensor x, int dim, Tensor index) -> Tensor", infer_gather},
      // The general form of x[i, :, j]: aten.index.Tensor's semantics, negative indices wrap.
      {"prim::index(Tensor x, Tensor?[] indices) -> Tensor", infer_advanced_index},
  };
  for (const Row& row : rows) registry.add(row.schema, row.infer).primitive = true;
}

}  // namespace tenon::ops
