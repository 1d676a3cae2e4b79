// cat and stack: the inputs are promoted to one dtype.
#include <algorithm>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// A 1-d tensor without elements joins anything (an old rule of PyTorch's).
bool may_be_skipped(const Type& type, size_t rank) { return rank != 1 && type.rank() == 1; }

size_t joined_rank(std::span<const Type> types) {
  size_t rank = 0;
  for (const Type& type : types) rank = std::max(rank, type.rank());
  return rank;
}

// tensors, dim
Types infer_cat(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Type> types, context.types(0));
  if (types.empty()) return context.error("tensors", "one tensor or more", "none");
  const size_t rank = joined_rank(types);
  if (rank == 0) return context.error("tensors", "tensors of 1 dim or more", describe(context.pool(), types[0]));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, rank));
  TENON_ASSIGN_OR_RETURN(const DType dtype, promoted(context, types));
  Pool& pool = context.pool();
  std::optional<Dims> dims;
  for (const Type& type : types) {
    if (may_be_skipped(type, rank)) {
      TENON_ASSIGN_OR_RETURN(const bool is_empty, context.decide(Relation::kEq, type.dims[0], pool.constant(0)));
      if (is_empty) continue;
    }
    if (type.rank() != rank) {
      return context.error("tensors", "tensors of rank " + std::to_string(rank), describe(pool, type));
    }
    if (!dims) {
      dims = type.dims;
      continue;
    }
    for (size_t i = 0; i < rank; ++i) {
      if (static_cast<int64_t>(i) == dim) (*dims)[i] = pool.add((*dims)[i], type.dims[i]);
      else TENON_RETURN_IF_ERROR(expect_equal(context, "tensors", (*dims)[i], type.dims[i]));
    }
  }
  return one(graph::tensor_type(dtype, std::move(*dims), types[0].device));
}

Values cat(DecomposeContext& context) {
  Emitter e(context);
  const size_t rank = e.result_dims().size();
  std::vector<ValueRef> values;
  for (ValueRef value : e.tensors(0)) {
    if (!may_be_skipped(e.type(value), rank)) values.push_back(e.store(value));  // inference found the others empty
  }
  return e.done({e.cat(values, e.dim(1, rank))});
}

Types infer_stack(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Type> types, context.types(0));
  if (types.empty()) return context.error("tensors", "one tensor or more", "none");
  Dims dims = types[0].dims;
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, dims.size() + 1));
  TENON_ASSIGN_OR_RETURN(const DType dtype, promoted(context, types));
  for (const Type& type : types) {
    if (type.rank() != dims.size()) {
      return context.error("tensors", "sizes " + describe(context.pool(), dims), describe(context.pool(), type));
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      TENON_RETURN_IF_ERROR(expect_equal(context, "tensors", dims[i], type.dims[i]));
    }
  }
  dims.insert(dims.begin() + dim, context.pool().constant(static_cast<int64_t>(types.size())));
  return one(graph::tensor_type(dtype, std::move(dims), types[0].device));
}

Values stack(DecomposeContext& context) {
  Emitter e(context);
  const int64_t dim = e.dim(1, e.result_dims().size());
  std::vector<ValueRef> values;
  for (ValueRef value : e.tensors(0)) values.push_back(e.unsqueeze(e.store(value), dim));
  return e.done({e.cat(values, dim)});
}

}  // namespace

void register_join(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, cat},
      {"aten::concat(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, cat},
      {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", infer_stack, stack},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
