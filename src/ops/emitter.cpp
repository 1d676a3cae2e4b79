#include "ops/emitter.hpp"

#include <algorithm>

namespace tenon::ops {
namespace {

// The dtype that a number has by itself.
DType number_dtype(const Argument& argument) {
  if (std::holds_alternative<bool>(argument)) return DType::kBool;
  return std::holds_alternative<double>(argument) ? DType::kF32 : DType::kI64;
}

}  // namespace

const Type& Emitter::type(ValueRef value) const {
  return value.id == graph::kNoValue ? none_ : context_.type(value.id);
}

void Emitter::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

Values Emitter::done(std::initializer_list<ValueRef> results) {
  return done(std::span<const ValueRef>(results.begin(), results.size()));
}

Values Emitter::done(std::span<const ValueRef> results) {
  if (!status_.ok()) return status_;
  std::vector<ValueId> ids;
  ids.reserve(results.size());
  for (ValueRef result : results) ids.push_back(result.id);
  return ids;
}

ValueRef Emitter::call(std::string_view op, std::vector<Argument> arguments) {
  if (!status_.ok()) return {};
  Result<ValueId> value = context_.call(op, std::move(arguments));
  if (!value.ok()) {
    status_ = std::move(value).status();
    return {};
  }
  return ValueRef{*value};
}

ValueRef Emitter::pointwise(std::string_view op, std::initializer_list<Operand> operands) {
  std::vector<Argument> arguments;
  arguments.reserve(operands.size());
  for (const Operand& operand : operands) arguments.push_back(operand.argument);
  return call(op, std::move(arguments));
}

ValueRef Emitter::as_tensor(const Argument& argument) {
  if (const auto* value = std::get_if<ValueRef>(&argument)) {
    if (value->id == graph::kNoValue || !type(*value).is_scalar()) return *value;
    return full({}, argument, type(*value).dtype);
  }
  return full({}, argument, number_dtype(argument));
}

ValueRef Emitter::tensor(size_t index) { return as_tensor(context_.argument(index)); }

Operand Emitter::operand(size_t index, DType dtype) {
  const Argument& argument = context_.argument(index);
  if (std::holds_alternative<ValueRef>(argument)) {
    const ValueRef value = std::get<ValueRef>(argument);
    if (type(value).is_scalar()) return full({}, argument, dtype);
    return convert(value, dtype);
  }
  if (const bool* value = std::get_if<bool>(&argument)) {
    if (dtype == DType::kBool) return argument;
    return constant(*value ? 1 : 0);
  }
  if (const double* value = std::get_if<double>(&argument); value && dtype == DType::kBool) {
    return Argument(*value != 0);
  } else if (value && !is_floating(dtype)) {
    return constant(static_cast<int64_t>(*value));
  }
  if (const Expr* value = std::get_if<Expr>(&argument); value && dtype == DType::kBool) {
    if (const std::optional<int64_t> known = pool().as_constant(*value)) return Argument(*known != 0);
  }
  return argument;
}

std::vector<ValueRef> Emitter::tensors(size_t index) {
  std::vector<ValueRef> values;
  if (const auto* list = std::get_if<std::vector<ValueId>>(&context_.argument(index))) {
    for (ValueId id : *list) values.push_back(ValueRef{id});
  }
  return values;
}

Dims Emitter::integers(size_t index) {
  const Argument& argument = context_.argument(index);
  if (const auto* list = std::get_if<Dims>(&argument)) return *list;
  if (const auto* single = std::get_if<Expr>(&argument)) return {*single};
  return {};
}

Expr Emitter::integer(size_t index) { return std::get<Expr>(context_.argument(index)); }

int64_t Emitter::dim(size_t index, size_t rank) {
  const int64_t value = pool().as_constant(integer(index)).value_or(0);
  return value < 0 ? value + static_cast<int64_t>(std::max<size_t>(rank, 1)) : value;
}

Axes Emitter::axes(size_t index, size_t rank) {
  Axes result;
  for (Expr e : integers(index)) {
    const int64_t value = pool().as_constant(e).value_or(0);
    result.push_back(value < 0 ? value + static_cast<int64_t>(std::max<size_t>(rank, 1)) : value);
  }
  return result;
}

Axes Emitter::reduced(size_t index, size_t rank) {
  Axes result = axes(index, rank);
  if (rank == 0) return {};
  if (result.empty()) {
    for (size_t i = 0; i < rank; ++i) result.push_back(static_cast<int64_t>(i));
  }
  return result;
}

std::optional<double> Emitter::number(size_t index) const {
  const Argument& argument = context_.argument(index);
  if (const auto* value = std::get_if<double>(&argument)) return *value;
  if (const auto* value = std::get_if<bool>(&argument)) return *value ? 1 : 0;
  if (const auto* value = std::get_if<Expr>(&argument)) {
    if (const auto known = context_.graph().pool().as_constant(*value)) return static_cast<double>(*known);
  }
  return std::nullopt;
}

bool Emitter::is_number(size_t index, double value) const { return number(index) == value; }

DType Emitter::promoted(std::initializer_list<size_t> operands) {
  std::vector<PromotionOperand> list;
  for (size_t index : operands) {
    const Argument& argument = context_.argument(index);
    if (graph::is_none(argument)) continue;
    if (const auto* value = std::get_if<ValueRef>(&argument)) list.push_back(promotion_operand(type(*value)));
    else list.push_back({number_dtype(argument), true, true});
  }
  return promote(list).value_or(DType::kF32);
}

ValueRef Emitter::convert(ValueRef value, DType to) {
  if (!status_.ok() || dtype(value) == to) return value;
  return call("prim.convert", {value, to});
}

ValueRef Emitter::full(Dims size, Operand value, DType dtype) {
  return call("prim.full", {std::move(size), std::move(value.argument), dtype});
}

ValueRef Emitter::iota(Expr size, DType dtype) { return call("prim.iota", {size, dtype}); }

ValueRef Emitter::reshape(ValueRef value, Dims size) {
  if (!status_.ok() || dims(value) == size) return value;
  return call("prim.reshape", {value, std::move(size)});
}

Dims Emitter::constants(std::span<const int64_t> values) {
  Dims result;
  result.reserve(values.size());
  for (int64_t value : values) result.push_back(constant(value));
  return result;
}

ValueRef Emitter::permute(ValueRef value, const Axes& order) {
  bool identity = true;
  for (size_t i = 0; i < order.size(); ++i) identity &= order[i] == static_cast<int64_t>(i);
  if (identity) return value;
  return call("prim.permute", {value, constants(order)});
}

ValueRef Emitter::transpose(ValueRef value, size_t a, size_t b) {
  Axes order(rank(value));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  if (a < order.size() && b < order.size()) std::swap(order[a], order[b]);
  return permute(value, order);
}

ValueRef Emitter::expand(ValueRef value, Dims size) {
  if (!status_.ok() || dims(value) == size) return value;
  return call("prim.expand", {value, std::move(size)});
}

ValueRef Emitter::unsqueeze(ValueRef value, size_t dim) {
  Dims size = dims(value);
  if (dim > size.size()) return value;
  size.insert(size.begin() + static_cast<ptrdiff_t>(dim), constant(1));
  return reshape(value, std::move(size));
}

ValueRef Emitter::slice(ValueRef value, size_t dim, Expr start, Expr end, Expr step) {
  if (!status_.ok()) return {};
  if (pool().is_constant(start, 0) && end == extent(value, dim) && pool().is_constant(step, 1)) return value;
  return call("prim.slice", {value, constant(static_cast<int64_t>(dim)), start, end, step});
}

ValueRef Emitter::cat(std::span<const ValueRef> values, size_t dim) {
  if (values.size() == 1) return values[0];
  std::vector<ValueId> ids;
  for (ValueRef value : values) ids.push_back(value.id);
  return call("prim.cat", {std::move(ids), constant(static_cast<int64_t>(dim))});
}

ValueRef Emitter::reduce(std::string_view op, ValueRef value, const Axes& axes, bool keepdim) {
  return call(op, {value, constants(axes), keepdim});
}

Expr Emitter::count(ValueRef value, const Axes& axes) {
  Dims sizes;
  for (int64_t axis : axes) sizes.push_back(extent(value, axis));
  return pool().product(sizes);
}

}  // namespace tenon::ops
