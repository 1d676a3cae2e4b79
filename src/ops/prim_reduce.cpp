// Reductions and scans. The dtype is kept: who wants a wider accumulator converts before. No elements: sum 0, prod 1,
// any false, all true; amax, amin, argmax and argmin need at least one. NaN wins in amax, amin, argmax and argmin; the
// first of equal elements wins in argmax and argmin.
#include "ops/infer.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

enum class Domain : uint8_t { kNumeric, kBool };

template <Domain kDomain>
Types infer_reduce(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0));
  if ((x.dtype == DType::kBool) != (kDomain == Domain::kBool)) {
    return context.error("x", kDomain == Domain::kBool ? "bool" : "a numeric dtype", name(x.dtype));
  }
  TENON_ASSIGN_OR_RETURN(const Axes axes, context.dims(1, x.rank()));
  return one(graph::tensor_type(x.dtype, reduced_dims(context.pool(), x.dims, axes, context.boolean(2)), x.device));
}

Types infer_arg(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type x, tensor_type_of(context, 0, 1));
  if (x.dtype == DType::kBool) return context.error("x", "a numeric dtype", name(x.dtype));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, x.rank()));
  Dims dims = reduced_dims(context.pool(), x.dims, Axes{dim}, context.boolean(2));
  return one(graph::tensor_type(DType::kI64, std::move(dims), x.device));
}

Types infer_scan(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type x, tensor_type_of(context, 0, 1));
  if (x.dtype == DType::kBool) return context.error("x", "a numeric dtype", name(x.dtype));
  TENON_RETURN_IF_ERROR(context.dim(1, x.rank()).status());
  return one(std::move(x));
}

}  // namespace

void register_prim_reduce(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"prim::sum(Tensor x, int[] dims, bool keepdim) -> Tensor", infer_reduce<Domain::kNumeric>},
      {"prim::prod(Tensor x, int[] dims, bool keepdim) -> Tensor", infer_reduce<Domain::kNumeric>},
      {"prim::amax(Tensor x, int[] dims, bool keepdim) -> Tensor", infer_reduce<Domain::kNumeric>},
      {"prim::amin(Tensor x, int[] dims, bool keepdim) -> Tensor", infer_reduce<Domain::kNumeric>},
      {"prim::any(Tensor x, int[] dims, bool keepdim) -> Tensor", infer_reduce<Domain::kBool>},
      {"prim::all(Tensor x, int[] dims, bool keepdim) -> Tensor", infer_reduce<Domain::kBool>},
      {"prim::argmax(Tensor x, int dim, bool keepdim) -> Tensor", infer_arg},
      {"prim::argmin(Tensor x, int dim, bool keepdim) -> Tensor", infer_arg},
      {"prim::cumsum(Tensor x, int dim) -> Tensor", infer_scan},
  };
  for (const Row& row : rows) registry.add(row.schema, row.infer).primitive = true;
}

}  // namespace tenon::ops
