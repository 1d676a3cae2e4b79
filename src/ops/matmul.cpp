// Matrix products. A product with one 2-d matrix on the right is one 2-d product over all leading rows.
#include <algorithm>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

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

// Dims of a product by torch.matmul's rules; a and b are arguments `first` and `first` + 1.
Result<Dims> product_dims(InferContext& context, size_t first, const Type& a, const Type& b) {
  const std::string& argument = context.op().schema.arguments[first + 1].name;
  TENON_RETURN_IF_ERROR(expect_dtype(context, first + 1, b, a.dtype));
  if (a.rank() == 0) return context.error(context.op().schema.arguments[first].name, "rank 1 or more", "rank 0");
  if (b.rank() == 0) return context.error(argument, "rank 1 or more", "rank 0");
  const Expr inner = b.rank() == 1 ? b.dims[0] : b.dims[b.rank() - 2];
  TENON_RETURN_IF_ERROR(expect_equal(context, argument, a.dims.back(), inner));
  const auto batch = [](const Type& type) {
    const size_t count = type.rank() > 2 ? type.rank() - 2 : 0;
    return graph::tensor_type(type.dtype, Dims(type.dims.begin(), type.dims.begin() + static_cast<ptrdiff_t>(count)));
  };
  const Type batches[] = {batch(a), batch(b)};
  TENON_ASSIGN_OR_RETURN(Dims dims, context.broadcast(batches));
  if (a.rank() > 1) dims.push_back(a.dims[a.rank() - 2]);
  if (b.rank() > 1) dims.push_back(b.dims[b.rank() - 1]);
  return dims;
}

// The product of two tensors of any rank from 1, with the dims `result`.
ValueRef product_of(Emitter& e, ValueRef a, ValueRef b, const Dims& result) {
  if (!e.ok()) return {};
  const Expr one = e.constant(1);
  const bool row = e.rank(a) == 1, column = e.rank(b) == 1;
  if (row) a = e.reshape(a, {one, e.extent(a, 0)});
  if (column) b = e.reshape(b, {e.extent(b, 0), one});
  const size_t rank_a = e.rank(a), rank_b = e.rank(b);
  const Expr rows = e.extent(a, rank_a - 2), inner = e.extent(a, rank_a - 1), columns = e.extent(b, rank_b - 1);
  if (rank_b == 2) {
    if (rank_a > 2) {
      const Dims shape = e.dims(a);
      const Expr all = e.pool().product(std::span(shape).first(shape.size() - 1));
      a = e.reshape(a, {all, inner});
    }
    return e.reshape(e.matmul(a, b), result);
  }
  Dims batch(result.begin(), result.end() - (row ? 0 : 1) - (column ? 0 : 1));
  const auto spread = [&](ValueRef value, Expr height, Expr width) {
    Dims target = batch;
    target.push_back(height);
    target.push_back(width);
    return e.expand(value, std::move(target));
  };
  const ValueRef left = spread(a, rows, inner), right = spread(b, inner, columns);
  return e.reshape(e.matmul(left, right), result);
}

// Both operands of exactly kRank dims with equal batch dims.
template <size_t kRank>
Types infer_strict(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type a, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type b, tensor_type_of(context, 1));
  TENON_RETURN_IF_ERROR(expect_rank(context, 0, a, kRank));
  TENON_RETURN_IF_ERROR(expect_rank(context, 1, b, kRank));
  if (kRank == 3) TENON_RETURN_IF_ERROR(expect_equal(context, "mat2", a.dims[0], b.dims[0]));
  TENON_ASSIGN_OR_RETURN(Dims dims, product_dims(context, 0, a, b));
  return one(graph::tensor_type(a.dtype, std::move(dims), a.device));
}

// self and another of fixed ranks: mv, dot.
template <size_t kRankA>
Types infer_vector(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type a, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type b, tensor_type_of(context, 1));
  TENON_RETURN_IF_ERROR(expect_rank(context, 0, a, kRankA));
  TENON_RETURN_IF_ERROR(expect_rank(context, 1, b, 1));
  TENON_ASSIGN_OR_RETURN(Dims dims, product_dims(context, 0, a, b));
  return one(graph::tensor_type(a.dtype, std::move(dims), a.device));
}

Types infer_matmul(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type a, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type b, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(Dims dims, product_dims(context, 0, a, b));
  return one(graph::tensor_type(a.dtype, std::move(dims), a.device));
}

Values matmul(DecomposeContext& context) {
  Emitter e(context);
  return e.done({product_of(e, e.tensor(0), e.tensor(1), e.result_dims())});
}

// input [.., K], weight [N, K] or [K], bias [N] -> [.., N]
Types infer_linear(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type input, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const Type weight, tensor_type_of(context, 1));
  if (weight.rank() != 1 && weight.rank() != 2) {
    return context.error("weight", "rank 2 or 1", describe(context.pool(), weight));
  }
  TENON_RETURN_IF_ERROR(expect_dtype(context, 1, weight, input.dtype));
  TENON_RETURN_IF_ERROR(expect_equal(context, "weight", input.dims.back(), weight.dims.back()));
  Dims dims(input.dims.begin(), input.dims.end() - 1);
  if (weight.rank() == 2) dims.push_back(weight.dims[0]);
  if (!context.absent(2)) {
    TENON_ASSIGN_OR_RETURN(const Type bias, tensor_type_of(context, 2));
    TENON_RETURN_IF_ERROR(expect_dtype(context, 2, bias, input.dtype));
    TENON_RETURN_IF_ERROR(resolve_expand(context, "bias", bias.dims, dims).status());
  }
  return one(graph::tensor_type(input.dtype, std::move(dims), input.device));
}

// The bias is added to the 2-d product, next to it.
Values linear(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef input = e.tensor(0), weight = e.tensor(1);
  const DType compute = compute_dtype(e.result_dtype());
  const auto with_bias = [&](ValueRef product) {
    if (e.absent(2)) return product;
    const ValueRef wide = e.convert(product, compute);
    return e.store(e.add(wide, e.convert(e.tensor(2), compute)));
  };
  if (e.rank(weight) == 1 || (!e.absent(2) && e.rank(e.tensor(2)) > 1)) {
    const ValueRef matrix = e.rank(weight) == 1 ? weight : e.transpose(weight, 0, 1);
    return e.done({with_bias(product_of(e, input, matrix, e.result_dims()))});
  }
  const Dims shape = e.dims(input);
  const Expr rows = e.pool().product(std::span(shape).first(shape.size() - 1));
  const ValueRef flat = e.reshape(input, {rows, shape.back()});
  const ValueRef product = e.matmul(flat, e.transpose(weight, 0, 1));
  return e.done({e.reshape(with_bias(product), e.result_dims())});
}

// beta * self + alpha * (a b); self is broadcast to the product.
template <size_t kRankA, size_t kRankB>
Types infer_add_product(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type a, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(const Type b, tensor_type_of(context, 2));
  TENON_RETURN_IF_ERROR(expect_rank(context, 1, a, kRankA));
  TENON_RETURN_IF_ERROR(expect_rank(context, 2, b, kRankB));
  TENON_RETURN_IF_ERROR(expect_dtype(context, 0, self, a.dtype));
  if (kRankA == 3) TENON_RETURN_IF_ERROR(expect_equal(context, "batch2", a.dims[0], b.dims[0]));
  TENON_ASSIGN_OR_RETURN(Dims dims, product_dims(context, 1, a, b));
  TENON_RETURN_IF_ERROR(resolve_expand(context, "self", self.dims, dims).status());
  if (!is_floating(a.dtype)) {
    for (size_t index : {size_t{3}, size_t{4}}) {
      if (std::holds_alternative<double>(context.argument(index))) {
        return context.error(context.op().schema.arguments[index].name, "an integer, as all operands are", "a float");
      }
    }
  }
  return one(graph::tensor_type(a.dtype, std::move(dims), a.device));
}

// With beta 0 self is not read, so its NaN does not spread.
Values add_product(DecomposeContext& context) {
  Emitter e(context);
  const DType compute = compute_dtype(e.result_dtype());
  ValueRef result = product_of(e, e.tensor(1), e.tensor(2), e.result_dims());
  if (!e.is_number(4, 1)) result = e.mul(e.convert(result, compute), e.operand(4, compute));
  if (e.is_number(3, 0)) return e.done({e.store(result)});
  ValueRef self = e.convert(e.tensor(0), compute);
  if (!e.is_number(3, 1)) self = e.mul(self, e.operand(3, compute));
  return e.done({e.store(e.add(e.convert(result, compute), self))});
}

}  // namespace

void register_matmul(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::mm(Tensor self, Tensor mat2) -> Tensor", infer_strict<2>, matmul},
      {"aten::bmm(Tensor self, Tensor mat2) -> Tensor", infer_strict<3>, matmul},
      {"aten::mv(Tensor self, Tensor vec) -> Tensor", infer_vector<2>, matmul},
      {"aten::dot(Tensor self, Tensor tensor) -> Tensor", infer_vector<1>, matmul},
      {"aten::matmul(Tensor self, Tensor other) -> Tensor", infer_matmul, matmul},
      {"aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", infer_linear, linear},
      {"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       infer_add_product<2, 2>, add_product},
      {"aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       infer_add_product<2, 1>, add_product},
      {"aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "
       "Scalar alpha=1) -> Tensor", infer_add_product<3, 3>, add_product},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
