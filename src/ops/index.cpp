// Reading by computed positions. index.Tensor wraps negative positions; index_select, gather and embedding refuse them.
#include <algorithm>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// One index tensor is a take along its dim; several go to prim.index.
Values index(DecomposeContext& context) {
  Emitter e(context);
  const auto& list = std::get<std::vector<ValueId>>(context.argument(1));
  std::optional<size_t> only;
  size_t count = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == graph::kNoValue) continue;
    only = i;
    ++count;
  }
  const ValueRef self = e.tensor(0);
  if (count == 0) return e.done({self});
  if (count > 1) return e.done({e.call("prim.index", {self, list})});
  return e.done({e.call("prim.take", {self, ValueRef{list[*only]}, e.constant(static_cast<int64_t>(*only)), true})});
}

// self, dim, index
Types infer_index_select(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, wrapped_dim(context, 1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const Type index, tensor_type_of(context, 2));
  TENON_RETURN_IF_ERROR(expect_integer_index(context, 2, index));
  if (index.rank() > 1) return context.error("index", "rank 1 or 0", describe(context.pool(), index));
  const Expr count = index.rank() == 0 ? context.pool().constant(1) : index.dims[0];
  if (self.rank() > 0) self.dims[dim] = count;
  else TENON_RETURN_IF_ERROR(expect_equal(context, "index", context.pool().constant(1), count));
  return one(std::move(self));
}

Values index_select(DecomposeContext& context) {
  Emitter e(context);
  ValueRef self = e.tensor(0), index = e.tensor(2);
  const int64_t dim = e.dim(1, e.rank(self));
  if (e.rank(self) == 0) self = e.unsqueeze(self, 0);
  if (e.rank(index) == 0) index = e.unsqueeze(index, 0);
  return e.done({e.reshape(e.call("prim.take", {self, index, e.constant(dim), false}), e.result_dims())});
}

// self, dim, index: every dim of the index but `dim` is at most that of self.
Types infer_gather(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, wrapped_dim(context, 1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const Type index, tensor_type_of(context, 2));
  TENON_RETURN_IF_ERROR(expect_integer_index(context, 2, index));
  if (std::max<size_t>(index.rank(), 1) != std::max<size_t>(self.rank(), 1)) {
    return context.error("index", "rank " + std::to_string(self.rank()), describe(context.pool(), index));
  }
  for (size_t i = 0; i < std::min(index.rank(), self.rank()); ++i) {
    if (static_cast<int64_t>(i) == dim || index.dims[i] == self.dims[i]) continue;
    TENON_ASSIGN_OR_RETURN(const bool inside, context.decide(Relation::kLe, index.dims[i], self.dims[i]));
    if (!inside) {
      return context.error("index", "at most " + context.pool().print(self.dims[i]) + " in dim " + std::to_string(i),
                           context.pool().print(index.dims[i]));
    }
  }
  return one(graph::tensor_type(self.dtype, index.dims, self.device));
}

Values gather(DecomposeContext& context) {
  Emitter e(context);
  ValueRef self = e.tensor(0), index = e.tensor(2);
  const int64_t dim = e.dim(1, e.rank(self));
  if (e.rank(self) == 0) self = e.unsqueeze(self, 0);
  if (e.rank(index) == 0) index = e.unsqueeze(index, 0);
  return e.done({e.reshape(e.call("prim.gather", {self, e.constant(dim), index}), e.result_dims())});
}

// weight, indices, ...
Types infer_embedding(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type weight, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type indices, tensor_type_of(context, 1));
  if (weight.rank() != 2) return context.error("weight", "rank 2", describe(context.pool(), weight));
  TENON_RETURN_IF_ERROR(expect_integer_index(context, 1, indices));
  Dims dims = indices.dims;
  dims.push_back(weight.dims[1]);
  return one(graph::tensor_type(weight.dtype, std::move(dims), weight.device));
}

Values embedding(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.call("prim.take", {e.tensor(0), e.tensor(1), e.constant(0), false})});
}

}  // namespace

void register_index(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", infer_advanced_index, index},
      {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", infer_index_select, index_select},
      {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", infer_gather, gather},
      {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
       "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", infer_embedding, embedding},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
