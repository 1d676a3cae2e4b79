// where and masked_fill: choosing elements by a condition.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Status expect_mask(InferContext& context, size_t index, const Type& mask, bool byte_allowed) {
  if (mask.dtype == DType::kBool || (byte_allowed && mask.dtype == DType::kU8)) return {};
  return context.error(context.op().schema.arguments[index].name, "bool", name(mask.dtype));
}

// condition, self, other
Types infer_where(InferContext& context) {
  std::vector<Type> types;
  for (size_t i = 0; i < 3; ++i) {
    TENON_ASSIGN_OR_RETURN(Type type, context.type(i));
    types.push_back(std::move(type));
  }
  TENON_RETURN_IF_ERROR(expect_mask(context, 0, types[0], true));
  TENON_ASSIGN_OR_RETURN(const DType dtype, promoted(context, std::span(types).subspan(1)));
  TENON_ASSIGN_OR_RETURN(Dims dims, context.broadcast(types));
  return one(graph::tensor_type(dtype, std::move(dims), types[0].device));
}

Values where(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = e.result_dtype();
  Operand self = e.operand(1, dtype);
  const Operand other = e.operand(2, dtype);
  if (!std::holds_alternative<ValueRef>(self.argument) && !std::holds_alternative<ValueRef>(other.argument)) {
    self = e.full({}, self, dtype);
  }
  return e.done({e.where(e.convert(e.tensor(0), DType::kBool), self, other)});
}

// self, mask, value; the value is converted, 2.9 fills integers with 2.
Types infer_masked_fill(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type mask, tensor_type_of(context, 1));
  TENON_RETURN_IF_ERROR(expect_mask(context, 1, mask, false));
  TENON_ASSIGN_OR_RETURN(const Type value, context.type(2));
  if (value.rank() != 0) return context.error("value", "a number or a 0-d tensor", describe(context.pool(), value));
  const Type both[] = {self, mask};
  TENON_ASSIGN_OR_RETURN(Dims dims, context.broadcast(both));
  return one(graph::tensor_type(self.dtype, std::move(dims), self.device));
}

Values masked_fill(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.where(e.tensor(1), e.operand(2, e.result_dtype()), e.tensor(0))});
}

}  // namespace

void register_select(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", infer_where, where},
      {"aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", infer_where, where},
      {"aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", infer_where, where},
      {"aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", infer_where, where},
      {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", infer_masked_fill, masked_fill},
      {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", infer_masked_fill, masked_fill},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
       infer_in_place<infer_masked_fill>, "aten.masked_fill.Scalar"},
      {"aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
       infer_in_place<infer_masked_fill>, "aten.masked_fill.Tensor"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
