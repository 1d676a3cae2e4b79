// Views that keep all elements: other dims over the same data. Sizes are all that inference tracks: a value inside a
// graph is row-major whatever it was viewed from.
#include <algorithm>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Types with_dims(const Type& self, Dims dims) {
  return one(graph::tensor_type(self.dtype, std::move(dims), self.device));
}

// self, size
Types infer_view(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(1));
  const std::string& argument = context.op().schema.arguments[1].name;
  TENON_ASSIGN_OR_RETURN(Dims dims, resolve_reshape(context, argument, self.dims, std::move(size)));
  return with_dims(self, std::move(dims));
}

Types infer_view_as(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type other, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(Dims dims, resolve_reshape(context, "other", self.dims, other.dims));
  return with_dims(self, std::move(dims));
}

Values reshape(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.reshape(e.tensor(0), e.result_dims())});
}

// self, start_dim, end_dim
Types infer_flatten(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  if (self.rank() == 0) return with_dims(self, {context.pool().constant(1)});
  TENON_ASSIGN_OR_RETURN(const int64_t start, context.dim(1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const int64_t end, context.dim(2, self.rank()));
  if (start > end) return context.error("start_dim", "at most end_dim " + std::to_string(end), std::to_string(start));
  Dims dims(self.dims.begin(), self.dims.begin() + start);
  dims.push_back(product(context.pool(), std::span(self.dims).subspan(start, end - start + 1)));
  dims.insert(dims.end(), self.dims.begin() + end + 1, self.dims.end());
  return with_dims(self, std::move(dims));
}

// self, dim, sizes
Types infer_unflatten(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank()));
  TENON_ASSIGN_OR_RETURN(Dims sizes, context.integers(2));
  const Expr extent = self.dims[dim];
  TENON_ASSIGN_OR_RETURN(const Dims parts, resolve_reshape(context, "sizes", Dims{extent}, std::move(sizes)));
  Dims dims(self.dims.begin(), self.dims.begin() + dim);
  dims.insert(dims.end(), parts.begin(), parts.end());
  dims.insert(dims.end(), self.dims.begin() + dim + 1, self.dims.end());
  return with_dims(self, std::move(dims));
}

Types infer_unsqueeze(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank() + 1));
  Dims dims = self.dims;
  dims.insert(dims.begin() + dim, context.pool().constant(1));
  return with_dims(self, std::move(dims));
}

// Drops the dims of `axes` that are 1: proven, or decided and guarded.
Types squeezed(InferContext& context, const Type& self, std::span<const int64_t> axes) {
  Dims dims;
  for (size_t i = 0; i < self.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end()) {
      TENON_ASSIGN_OR_RETURN(const bool single,
                             context.decide(Relation::kEq, self.dims[i], context.pool().constant(1)));
      if (single) continue;
    }
    dims.push_back(self.dims[i]);
  }
  return with_dims(self, std::move(dims));
}

Types infer_squeeze(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  Axes axes;
  if (context.size() > 1) {
    TENON_ASSIGN_OR_RETURN(axes, context.dims(1, std::max<size_t>(self.rank(), 1)));
  } else {
    for (size_t i = 0; i < self.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  return squeezed(context, self, axes);
}

Types infer_expand(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(1));
  TENON_ASSIGN_OR_RETURN(Dims dims, resolve_expand(context, "size", self.dims, std::move(size)));
  return with_dims(self, std::move(dims));
}

Types infer_expand_as(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type other, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(Dims dims, resolve_expand(context, "other", self.dims, other.dims));
  return with_dims(self, std::move(dims));
}

Values expand(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.expand(e.tensor(0), e.result_dims())});
}

// self, dims
Types infer_permute(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes order, context.dims(1, self.rank()));
  if (order.size() != self.rank()) {
    return context.error("dims", std::to_string(self.rank()) + " dims", std::to_string(order.size()));
  }
  Dims dims;
  for (int64_t axis : order) dims.push_back(self.dims[axis]);
  return with_dims(self, std::move(dims));
}

Values permute(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  return e.done({e.permute(self, e.axes(1, e.rank(self)))});
}

Types infer_transpose(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const int64_t a, wrapped_dim(context, 1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const int64_t b, wrapped_dim(context, 2, self.rank()));
  Dims dims = self.dims;
  if (self.rank() > 0) std::swap(dims[a], dims[b]);
  return with_dims(self, std::move(dims));
}

Values transpose(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const size_t rank = e.rank(self);
  return e.done({e.transpose(self, e.dim(1, rank), e.dim(2, rank))});
}

// Swaps the last two dims; t() is for rank 2 and less.
template <bool kMatrix>
Types infer_swap_last(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, kMatrix ? 0 : 2));
  if (kMatrix && self.rank() > 2) return context.error("self", "rank 2 or less", describe(context.pool(), self));
  Dims dims = self.dims;
  if (dims.size() >= 2) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return with_dims(self, std::move(dims));
}

Values swap_last(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const size_t rank = e.rank(self);
  return e.done({rank < 2 ? self : e.transpose(self, rank - 2, rank - 1)});
}

// self, source, destination: the order that moves dims there and keeps the others in sequence.
Axes moved(const Axes& source, const Axes& destination, size_t rank) {
  Axes order(rank, -1);
  std::vector<bool> used(rank, false);
  for (size_t i = 0; i < source.size(); ++i) {
    order[destination[i]] = source[i];
    used[source[i]] = true;
  }
  size_t next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (used[next]) ++next;
    axis = static_cast<int64_t>(next++);
  }
  return order;
}

Types infer_movedim(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Axes source, context.dims(1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const Axes destination, context.dims(2, self.rank()));
  if (source.size() != destination.size()) {
    return context.error("destination", std::to_string(source.size()) + " dims", std::to_string(destination.size()));
  }
  Dims dims;
  for (int64_t axis : moved(source, destination, self.rank())) dims.push_back(self.dims[axis]);
  return with_dims(self, std::move(dims));
}

Values movedim(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const size_t rank = e.rank(self);
  return e.done({e.permute(self, moved(e.axes(1, rank), e.axes(2, rank), rank))});
}

}  // namespace

void register_view(graph::OperatorRegistry& registry) {
  Row rows[] = {
      {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", infer_view, reshape},
      {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", infer_view, reshape},
      {"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer_view_as, reshape},
      {"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer_view_as, reshape},
      {"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
       infer_flatten, reshape},
      {"aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", infer_unflatten, reshape},
      {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", infer_unsqueeze, reshape},
      {"aten::squeeze(Tensor(a) self) -> Tensor(a)", infer_squeeze, reshape},
      {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", infer_squeeze, reshape},
      {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", infer_squeeze, reshape},
      {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", infer_expand, expand},
      {"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", infer_expand_as, expand},
      {"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", infer_expand, expand},
      {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", infer_permute, permute},
      {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", infer_transpose, transpose},
      {"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", infer_transpose, transpose},
      {"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", infer_transpose, transpose},
      {"aten::t(Tensor(a) self) -> Tensor(a)", infer_swap_last<true>, swap_last},
      {"aten::mT(Tensor(a) self) -> Tensor(a)", infer_swap_last<false>, swap_last},
      {"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", infer_movedim, movedim},
      {"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", infer_movedim, movedim},
  };
  for (Row& row : rows) row.view = true;
  add_rows(registry, rows);
  const Row fresh[] = {{"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", infer_view, reshape}};
  add_rows(registry, fresh);
}

}  // namespace tenon::ops
