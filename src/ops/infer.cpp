#include "ops/infer.hpp"

namespace tenon::ops {

void add_rows(graph::OperatorRegistry& registry, std::span<const Row> rows) {
  for (const Row& row : rows) {
    graph::Operator& op = registry.add(row.schema, row.infer, row.decompose);
    op.pointwise = row.pointwise;
    op.view = row.view;
    op.effect = row.effect;
  }
}

void add_in_place_rows(graph::OperatorRegistry& registry, std::span<const InPlaceRow> rows) {
  for (const InPlaceRow& row : rows) registry.add(row.schema, row.infer).functional = row.functional;
}

Types in_place_result(InferContext& context, Types functional) {
  if (!functional.ok()) return functional;
  TENON_ASSIGN_OR_RETURN(Type self, context.type(0));
  const Type& result = (*functional)[0];
  const std::string_view argument = context.op().schema.arguments[0].name;
  if (!can_store(result.dtype, self.dtype)) {
    return context.error(argument, std::string("a dtype that can hold ") + std::string(name(result.dtype)),
                         name(self.dtype));
  }
  if (result.dims.size() != self.dims.size()) {
    return context.error(argument, "the broadcast shape " + describe(context.pool(), result.dims),
                         describe(context.pool(), self.dims));
  }
  for (size_t i = 0; i < self.dims.size(); ++i) {
    TENON_RETURN_IF_ERROR(expect_equal(context, argument, result.dims[i], self.dims[i]));
  }
  return one(std::move(self));
}

Result<DType> promoted(InferContext& context, std::span<const Type> types) {
  std::vector<PromotionOperand> operands;
  operands.reserve(types.size());
  for (const Type& type : types) operands.push_back(promotion_operand(type));
  if (const std::optional<DType> dtype = promote(operands)) return *dtype;
  std::string found;
  for (const Type& type : types) {
    if (!found.empty()) found += ", ";
    found += name(type.dtype);
  }
  return context.error(context.op().schema.arguments[0].name, "dtypes with a promotion rule", found);
}

Types infer_pointwise(InferContext& context, std::initializer_list<size_t> operands, ResultRule rule) {
  std::vector<Type> types;
  types.reserve(operands.size());
  for (size_t index : operands) {
    if (context.absent(index)) continue;
    TENON_ASSIGN_OR_RETURN(Type type, context.type(index));
    types.push_back(std::move(type));
  }
  TENON_ASSIGN_OR_RETURN(DType dtype, promoted(context, types));
  if (rule == ResultRule::kFloat) dtype = float_dtype(dtype);
  if (rule == ResultRule::kBool) dtype = DType::kBool;
  graph::Device device = types[0].device;
  for (const Type& type : types) {
    if (type.is_scalar()) continue;
    device = type.device;
    if (type.rank() > 0) break;
  }
  if (types.size() == 1) return one(graph::tensor_type(dtype, std::move(types[0].dims), device));
  TENON_ASSIGN_OR_RETURN(Dims dims, context.broadcast(types));
  return one(graph::tensor_type(dtype, std::move(dims), device));
}

Types infer_same(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type type, context.type(0));
  return one(graph::tensor_type(type.dtype, std::move(type.dims), type.device));
}

DType dtype_or(const InferContext& context, size_t index, DType fallback) {
  const DType* dtype = std::get_if<DType>(&context.argument(index));
  return dtype ? *dtype : fallback;
}

graph::Device device_or(const InferContext& context, size_t index, graph::Device fallback) {
  const graph::Device* device = std::get_if<graph::Device>(&context.argument(index));
  return device ? *device : fallback;
}

Result<Type> tensor_type_of(InferContext& context, size_t index, size_t min_rank) {
  TENON_ASSIGN_OR_RETURN(Type type, context.type(index));
  const std::string& argument = context.op().schema.arguments[index].name;
  if (type.is_scalar()) return context.error(argument, "a tensor", "a number");
  if (type.rank() < min_rank) {
    return context.error(argument, "a tensor of " + std::to_string(min_rank) + " dims or more",
                         describe(context.pool(), type));
  }
  type.strides.clear();
  return type;
}

Status expect_integer_index(InferContext& context, size_t index, const Type& type) {
  if (type.dtype == DType::kI64 || type.dtype == DType::kI32) return {};
  return context.error(context.op().schema.arguments[index].name, "i64 or i32", name(type.dtype));
}

Status expect_equal(InferContext& context, std::string_view argument, Expr expected, Expr found) {
  if (expected == found) return {};
  TENON_ASSIGN_OR_RETURN(const bool equal, context.decide(Relation::kEq, expected, found));
  if (equal) return {};
  return context.error(argument, "size " + context.pool().print(expected), context.pool().print(found));
}

std::string describe(const Pool& pool, std::span<const Expr> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += pool.print(dims[i]);
  }
  return text + "]";
}

std::string describe(const Pool& pool, const Type& type) {
  std::string text(name(type.dtype));
  return type.is_scalar() ? text : text + describe(pool, type.dims);
}

Expr product(Pool& pool, std::span<const Expr> dims) { return pool.product(dims); }

Dims reduced_dims(Pool& pool, std::span<const Expr> dims, std::span<const int64_t> axes, bool keepdim) {
  std::vector<bool> reduced(dims.size(), false);
  for (int64_t axis : axes) {
    if (static_cast<size_t>(axis) < reduced.size()) reduced[axis] = true;
  }
  Dims result;
  result.reserve(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) result.push_back(dims[i]);
    else if (keepdim) result.push_back(pool.constant(1));
  }
  return result;
}

Result<Axes> reduction_axes(InferContext& context, size_t index, size_t rank) {
  Axes axes;
  if (!context.absent(index)) {
    const auto* list = std::get_if<std::vector<Expr>>(&context.argument(index));
    if (list == nullptr || !list->empty()) {
      TENON_ASSIGN_OR_RETURN(axes, context.dims(index, rank == 0 ? 1 : rank));
      if (rank == 0) axes.clear();
      return axes;
    }
  }
  axes.resize(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

Result<int64_t> wrapped_dim(InferContext& context, size_t index, size_t rank) {
  return context.dim(index, rank == 0 ? 1 : rank);
}

}  // namespace tenon::ops
