// Conversions and copies. After functionalization a copy is the value itself.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

size_t slot(const graph::Operator& op, std::string_view argument) {
  const int index = op.schema.find(argument);
  TENON_CHECK(index >= 0);
  return static_cast<size_t>(index);
}

// to.* and _to_copy: the dtype and device arguments where the schema has them.
Types infer_to(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  const graph::Schema& schema = context.op().schema;
  const DType dtype = dtype_or(context, slot(context.op(), "dtype"), self.dtype);
  graph::Device device = self.device;
  if (const int index = schema.find("device"); index >= 0) {
    device = device_or(context, static_cast<size_t>(index), self.device);
    if (device.kind != self.device.kind) {
      return unimplemented(schema.name + ": a copy between devices inside a graph is not supported");
    }
    if (device.kind == DeviceKind::kCpu) device = self.device;
  }
  return one(graph::tensor_type(dtype, self.dims, device));
}

Types infer_like_other(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type other, tensor_type_of(context, 1));
  return one(graph::tensor_type(other.dtype, self.dims, self.device));
}

Values convert(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.store(e.tensor(0))});
}

Values identity(DecomposeContext& context) { return std::vector<ValueId>{context.tensor(0)}; }

// copy(self, src): src with the dtype and the dims of self.
Types infer_copy(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Type source, context.type(1));
  TENON_RETURN_IF_ERROR(resolve_expand(context, "self", source.dims, self.dims).status());
  return one(graph::tensor_type(self.dtype, self.dims, self.device));
}

Values copy(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.expand(e.store(e.tensor(1)), e.dims(e.tensor(0)))});
}

Types infer_fill(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type value, context.type(1));
  if (value.rank() != 0) return context.error("value", "a number or a 0-d tensor", describe(context.pool(), value));
  return infer_same(context);
}

Values fill(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = e.result_dtype();
  const Operand value = e.operand(1, dtype);
  const Dims dims = e.dims(e.tensor(0));
  if (const auto* tensor = std::get_if<ValueRef>(&value.argument)) return e.done({e.expand(*tensor, dims)});
  return e.done({e.full(dims, value, dtype)});
}

Values zero(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.full(e.dims(e.tensor(0)), e.constant(0), e.result_dtype())});
}

// In place any dtype may be copied in or filled in.
Types infer_into_self(InferContext& context) {
  TENON_RETURN_IF_ERROR(infer_copy(context).status());
  TENON_ASSIGN_OR_RETURN(Type self, context.type(0));
  return one(std::move(self));
}

Types infer_filled_self(InferContext& context) {
  if (context.size() > 1) TENON_RETURN_IF_ERROR(infer_fill(context).status());
  TENON_ASSIGN_OR_RETURN(Type self, context.type(0));
  return one(std::move(self));
}

}  // namespace

void register_convert(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      // These alias self when nothing changes and copy otherwise.
      {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor(a)", infer_to, convert},
      {"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor(a)", infer_to, convert},
      {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
       "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", infer_to, convert},
      {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
       "MemoryFormat? memory_format=None) -> Tensor(a)", infer_like_other, convert},
      {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, bool non_blocking=False, "
       "MemoryFormat? memory_format=None) -> Tensor", infer_to, convert},
      {"aten::type_as(Tensor self, Tensor other) -> Tensor", infer_like_other, convert},
      {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", infer_same, identity},
      {"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", infer_same,
       identity},
      {.schema = "aten::alias(Tensor(a) self) -> Tensor(a)", .infer = infer_same, .decompose = identity, .view = true},
      {.schema = "aten::detach(Tensor(a) self) -> Tensor(a)", .infer = infer_same, .decompose = identity, .view = true},
      // In place it changes no element, only what autograd knows.
      {.schema = "aten::detach_(Tensor(a) self) -> Tensor(a)", .infer = infer_same, .decompose = identity, .view = true},
      {"aten::lift_fresh_copy(Tensor self) -> Tensor", infer_same, identity},
      {"aten::lift(Tensor self) -> Tensor", infer_same, identity},
      {.schema = "aten::lift_fresh(Tensor(a) self) -> Tensor(a)",
       .infer = infer_same, .decompose = identity, .view = true},
      {.schema = "aten::positive(Tensor(a) self) -> Tensor(a)",
       .infer = infer_same, .decompose = identity, .view = true},
      {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", infer_copy, copy},
      {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", infer_fill, fill},
      {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", infer_fill, fill},
      {"aten::zero(Tensor self) -> Tensor", infer_same, zero},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", infer_into_self, "aten.copy"},
      {"aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", infer_filled_self, "aten.fill.Scalar"},
      {"aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", infer_filled_self, "aten.fill.Tensor"},
      {"aten::zero_(Tensor(a!) self) -> Tensor(a!)", infer_filled_self, "aten.zero"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
