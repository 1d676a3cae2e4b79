// Operators that make tensors from sizes and numbers. What "empty" leaves undefined is zero here.
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

size_t slot(InferContext& context, std::string_view argument) {
  const int index = context.op().schema.find(argument);
  TENON_CHECK(index >= 0);
  return static_cast<size_t>(index);
}

Types checked(InferContext& context, std::string_view argument, DType dtype, Dims dims, graph::Device fallback) {
  for (Expr size : dims) {
    const std::optional<int64_t> value = context.pool().as_constant(size);
    if (value && *value < 0) return context.error(argument, "sizes of 0 or more", describe(context.pool(), dims));
  }
  const graph::Device device = device_or(context, slot(context, "device"), fallback);
  return one(graph::tensor_type(dtype, std::move(dims), device));
}

DType number_dtype(const Type& type) { return is_floating(type.dtype) ? DType::kF32 : type.dtype; }

// size, ...
Types infer_sized(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(0));
  return checked(context, "size", dtype_or(context, slot(context, "dtype"), DType::kF32), std::move(size), {});
}

// size, fill_value, ...
Types infer_full(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(0));
  TENON_ASSIGN_OR_RETURN(const Type value, context.type(1));
  return checked(context, "size", dtype_or(context, slot(context, "dtype"), number_dtype(value)), std::move(size), {});
}

// self, ...: like self
Types infer_like(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  return checked(context, "self", dtype_or(context, slot(context, "dtype"), self.dtype), self.dims, self.device);
}

// self, size, ...: self gives the dtype
Types infer_new(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(Dims size, context.integers(1));
  return checked(context, "size", dtype_or(context, slot(context, "dtype"), self.dtype), std::move(size),
                 self.device);
}

Types infer_scalar_tensor(InferContext& context) {
  TENON_RETURN_IF_ERROR(context.type(0).status());
  return checked(context, "s", dtype_or(context, slot(context, "dtype"), DType::kF32), {}, {});
}

template <int64_t kValue>
Values constant(DecomposeContext& context) {
  Emitter e(context);
  const Operand value = e.result_dtype() == DType::kBool ? Operand(Argument(kValue != 0)) : Operand(e.constant(kValue));
  return e.done({e.full(e.result_dims(), value, e.result_dtype())});
}

// Argument kIndex is the value.
template <size_t kIndex>
Values filled(DecomposeContext& context) {
  Emitter e(context);
  const Operand value = e.operand(kIndex, e.result_dtype());
  if (const auto* scalar = std::get_if<ValueRef>(&value.argument)) return e.done({e.expand(*scalar, e.result_dims())});
  return e.done({e.full(e.result_dims(), value, e.result_dtype())});
}

// Where the arguments of the three arange overloads are.
struct Sequence {
  std::optional<size_t> start, step;
  size_t end = 0;
};
Sequence sequence_of(const graph::Operator& op) {
  const int start = op.schema.find("start"), step = op.schema.find("step");
  Sequence sequence;
  if (start >= 0) sequence.start = static_cast<size_t>(start);
  if (step >= 0) sequence.step = static_cast<size_t>(step);
  sequence.end = static_cast<size_t>(op.schema.find("end"));
  return sequence;
}

// A Scalar argument as a double when known.
Result<double> known_number(InferContext& context, size_t index) {
  if (const auto* value = std::get_if<double>(&context.argument(index))) return *value;
  TENON_ASSIGN_OR_RETURN(const int64_t value, context.constant_int(index));
  return static_cast<double>(value);
}

Result<Expr> integer_bound(InferContext& context, std::optional<size_t> index, int64_t fallback, bool truncates) {
  if (!index) return context.pool().constant(fallback);
  if (const auto* value = std::get_if<double>(&context.argument(*index)); value && truncates) {
    return context.pool().constant(static_cast<int64_t>(*value));
  }
  return context.integer(*index);
}

Types infer_arange(InferContext& context) {
  const Sequence sequence = sequence_of(context.op());
  bool floating = false;
  for (std::optional<size_t> index : {sequence.start, sequence.step, std::optional(sequence.end)}) {
    if (!index) continue;
    TENON_ASSIGN_OR_RETURN(const Type type, context.type(*index));
    floating |= is_floating(type.dtype);
  }
  const DType dtype = dtype_or(context, slot(context, "dtype"), floating ? DType::kF32 : DType::kI64);
  if (dtype == DType::kBool) return context.error("dtype", "a numeric dtype", "bool");
  Pool& pool = context.pool();
  if (floating && dtype != DType::kI64) {
    double start = 0, step = 1;
    if (sequence.start) {
      TENON_ASSIGN_OR_RETURN(start, known_number(context, *sequence.start));
    }
    if (sequence.step) {
      TENON_ASSIGN_OR_RETURN(step, known_number(context, *sequence.step));
    }
    TENON_ASSIGN_OR_RETURN(const double end, known_number(context, sequence.end));
    const double count = std::ceil((end - start) / step);
    if (step == 0 || !std::isfinite(count) || count < 0 || count > 0x1p62) {
      return context.error("end", "a finite range in the direction of step", std::to_string(count) + " elements");
    }
    return checked(context, "end", dtype, {pool.constant(static_cast<int64_t>(count))}, {});
  }
  TENON_ASSIGN_OR_RETURN(Expr start, integer_bound(context, sequence.start, 0, true));
  TENON_ASSIGN_OR_RETURN(Expr end, integer_bound(context, sequence.end, 0, true));
  TENON_ASSIGN_OR_RETURN(const Expr step_size, integer_bound(context, sequence.step, 1, true));
  const std::optional<int64_t> known = context.facts().specialize(step_size, context.op().schema.name);
  if (!known) return InferContext::pending();
  if (*known == 0) return context.error("step", "not 0", "0");
  if (*known < 0) std::swap(start, end);
  TENON_ASSIGN_OR_RETURN(const bool ordered, context.decide(Relation::kLe, start, end));
  if (!ordered) {
    return context.error("end", "a bound in the direction of step from " + pool.print(*known < 0 ? end : start),
                         pool.print(*known < 0 ? start : end));
  }
  Expr count = pool.sub(end, start);
  if (std::abs(*known) != 1) count = pool.ceil_div(count, pool.constant(std::abs(*known)));
  return checked(context, "end", dtype, {context.facts().simplify(count)}, {});
}

Values arange(DecomposeContext& context) {
  Emitter e(context);
  const Sequence sequence = sequence_of(*context.node().op);
  const DType dtype = e.result_dtype();
  const Expr size = e.result_dims()[0];
  const bool from_zero = !sequence.start || e.is_number(*sequence.start, 0);
  const bool by_one = !sequence.step || e.is_number(*sequence.step, 1);
  if (from_zero && by_one) return e.done({e.store(e.iota(size, compute_dtype(dtype)))});
  // Floats are computed in f64 and rounded once.
  const DType compute = is_floating(dtype) ? DType::kF64 : dtype;
  ValueRef value = e.iota(size, compute);
  if (!by_one) value = e.mul(value, e.operand(*sequence.step, compute));
  if (!from_zero) value = e.add(value, e.operand(*sequence.start, compute));
  return e.done({e.store(value)});
}

}  // namespace

void register_create(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor", infer_arange, arange},
      {"aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor", infer_arange, arange},
      {"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", infer_arange, arange},
      {"aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor", infer_sized, constant<0>},
      {"aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor", infer_sized, constant<1>},
      {"aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       infer_sized, constant<0>},
      {"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor", infer_full, filled<1>},
      {"aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       infer_like, constant<0>},
      {"aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       infer_like, constant<1>},
      {"aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       infer_like, constant<0>},
      {"aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       infer_like, filled<1>},
      {"aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor", infer_new, constant<0>},
      {"aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor", infer_new, constant<1>},
      {"aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor", infer_new, constant<0>},
      {"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", infer_new, filled<2>},
      {"aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None) -> Tensor", infer_scalar_tensor, filled<0>},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
