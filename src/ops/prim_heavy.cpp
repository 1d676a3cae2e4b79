// Primitives that stay whole until lowering. Half types are taken as they are and accumulate in f32 inside.
#include "ops/registry.hpp"
#include "ops/shapes.hpp"

namespace tenon::ops {
namespace {

Status expect_rank(InferContext& context, size_t index, const Type& type, size_t rank) {
  if (type.rank() == rank) return {};
  return context.error(context.op().schema.arguments[index].name, "rank " + std::to_string(rank),
                       describe(context.pool(), type));
}

Status expect_dtype(InferContext& context, size_t index, const Type& type, DType dtype) {
  if (type.dtype == dtype) return {};
  return context.error(context.op().schema.arguments[index].name, name(dtype), name(type.dtype));
}

Status expect_floating(InferContext& context, size_t index, const Type& type) {
  if (is_floating(type.dtype)) return {};
  return context.error(context.op().schema.arguments[index].name, "a floating dtype", name(type.dtype));
}

// [batch.., M, K] x [batch.., K, N] -> [batch.., M, N]
Types infer_matmul(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type a, tensor_type_of(context, 0, 2));
  TENON_ASSIGN_OR_RETURN(const Type b, tensor_type_of(context, 1, 2));
  const size_t rank = a.rank();
  TENON_RETURN_IF_ERROR(expect_rank(context, 1, b, rank));
  TENON_RETURN_IF_ERROR(expect_dtype(context, 1, b, a.dtype));
  if (a.dtype == DType::kBool) return context.error("a", "a numeric dtype", "bool");
  for (size_t i = 0; i + 2 < rank; ++i) TENON_RETURN_IF_ERROR(expect_equal(context, "b", a.dims[i], b.dims[i]));
  TENON_RETURN_IF_ERROR(expect_equal(context, "b", a.dims[rank - 1], b.dims[rank - 2]));
  Dims dims = a.dims;
  dims[rank - 1] = b.dims[rank - 1];
  return one(graph::tensor_type(a.dtype, std::move(dims), a.device));
}

Types infer_softmax(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type x, tensor_type_of(context, 0, 1));
  TENON_RETURN_IF_ERROR(expect_floating(context, 0, x));
  TENON_RETURN_IF_ERROR(context.dim(1, x.rank()).status());
  return one(std::move(x));
}

// Normalizes over the last `axes` dims: (x - mean) / sqrt(variance + eps) * weight + bias.
Types infer_layer_norm(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type x, tensor_type_of(context, 0, 1));
  TENON_RETURN_IF_ERROR(expect_floating(context, 0, x));
  TENON_ASSIGN_OR_RETURN(const int64_t axes, context.constant_int(1));
  if (axes < 1 || axes > static_cast<int64_t>(x.rank())) {
    return context.error("axes", "1 to " + std::to_string(x.rank()), std::to_string(axes));
  }
  for (size_t index : {size_t{2}, size_t{3}}) {
    if (context.absent(index)) continue;
    TENON_ASSIGN_OR_RETURN(const Type scale, tensor_type_of(context, index));
    TENON_RETURN_IF_ERROR(expect_rank(context, index, scale, static_cast<size_t>(axes)));
    TENON_RETURN_IF_ERROR(expect_dtype(context, index, scale, x.dtype));
    for (size_t i = 0; i < scale.rank(); ++i) {
      TENON_RETURN_IF_ERROR(expect_equal(context, context.op().schema.arguments[index].name,
                                         x.dims[x.rank() - scale.rank() + i], scale.dims[i]));
    }
  }
  return one(std::move(x));
}

// q [B, H, Sq, D], k [B, Hk, Sk, D], v [B, Hk, Sk, Dv], H a multiple of Hk -> [B, H, Sq, Dv].
// mask: bool (true: attend) or added to the scaled scores. causal: key j is seen by query i when j <= i.
// A row without any key to attend to is 0 when `safe`, else NaN.
Types infer_attention(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type q, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type k, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(const Type v, tensor_type_of(context, 2));
  TENON_RETURN_IF_ERROR(expect_floating(context, 0, q));
  TENON_RETURN_IF_ERROR(expect_rank(context, 0, q, 4));
  TENON_RETURN_IF_ERROR(expect_rank(context, 1, k, 4));
  TENON_RETURN_IF_ERROR(expect_rank(context, 2, v, 4));
  TENON_RETURN_IF_ERROR(expect_dtype(context, 1, k, q.dtype));
  TENON_RETURN_IF_ERROR(expect_dtype(context, 2, v, q.dtype));
  TENON_RETURN_IF_ERROR(expect_equal(context, "k", q.dims[0], k.dims[0]));
  TENON_RETURN_IF_ERROR(expect_equal(context, "v", q.dims[0], v.dims[0]));
  TENON_RETURN_IF_ERROR(expect_equal(context, "v", k.dims[1], v.dims[1]));
  TENON_RETURN_IF_ERROR(expect_equal(context, "k", q.dims[3], k.dims[3]));
  TENON_RETURN_IF_ERROR(expect_equal(context, "v", k.dims[2], v.dims[2]));
  Pool& pool = context.pool();
  if (q.dims[1] != k.dims[1]) {
    TENON_ASSIGN_OR_RETURN(const bool grouped,
                           context.decide(Relation::kEq, pool.mod(q.dims[1], k.dims[1]), pool.constant(0)));
    if (!grouped) {
      return context.error("k", "a number of heads that divides " + pool.print(q.dims[1]), pool.print(k.dims[1]));
    }
  }
  if (!context.absent(3)) {
    TENON_ASSIGN_OR_RETURN(const Type mask, tensor_type_of(context, 3));
    if (mask.dtype != DType::kBool) TENON_RETURN_IF_ERROR(expect_dtype(context, 3, mask, q.dtype));
    const Dims scores{q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
    if (mask.rank() > 4) return context.error("mask", "rank 4 or less", describe(pool, mask));
    Dims target(scores.end() - static_cast<ptrdiff_t>(mask.rank()), scores.end());
    TENON_RETURN_IF_ERROR(resolve_expand(context, "mask", mask.dims, std::move(target)).status());
  }
  return one(graph::tensor_type(q.dtype, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]}, q.device));
}

}  // namespace

void register_prim_heavy(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"prim::matmul(Tensor a, Tensor b) -> Tensor", infer_matmul},
      {"prim::softmax(Tensor x, int dim, bool log=False) -> Tensor", infer_softmax},
      {"prim::layer_norm(Tensor x, int axes, Tensor? weight, Tensor? bias, float eps) -> Tensor", infer_layer_norm},
      {"prim::attention(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale, bool causal, bool safe) -> Tensor",
       infer_attention},
  };
  for (const Row& row : rows) registry.add(row.schema, row.infer).primitive = true;
}

}  // namespace tenon::ops
