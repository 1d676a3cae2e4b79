#include "passes/inspect.hpp"

#include <cstring>

#include "graph/element.hpp"
#include "ops/promotion.hpp"

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;

const Node* maker(const Graph& graph, ValueId value) {
  const graph::Value& known = graph.value(value);
  return known.source == graph::ValueSource::kNode ? &graph.node(known.node) : nullptr;
}

bool is_call(const Node& node, std::string_view op) { return node.op->schema.name == op; }

const Node* made_by(const Graph& graph, ValueId value, std::string_view op) {
  const Node* node = maker(graph, value);
  return node != nullptr && is_call(*node, op) ? node : nullptr;
}

const Node* made_by(const Graph& graph, const Argument& argument, std::string_view op) {
  const auto* ref = std::get_if<ValueRef>(&argument);
  return ref == nullptr ? nullptr : made_by(graph, ref->id, op);
}

ValueId tensor_argument(const Node& node, size_t index) {
  const auto* ref = std::get_if<ValueRef>(&node.arguments[index]);
  return ref == nullptr ? graph::kNoValue : ref->id;
}

namespace {

// The one element of a constant, when its bytes are there.
const uint8_t* single_element(const Graph& graph, ValueId value) {
  const graph::Value& known = graph.value(value);
  if (known.source != graph::ValueSource::kConstant) return nullptr;
  const graph::Constant& constant = graph.constants()[known.index];
  for (int64_t size : constant.dims) {
    if (size != 1) return nullptr;
  }
  const size_t end = size_t(constant.offset_bytes) + size_bytes(known.type.dtype);
  return constant.bytes.size() >= end ? constant.bytes.data() + constant.offset_bytes : nullptr;
}

template <typename T>
T read(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::optional<int64_t> read_integer(const uint8_t* bytes, DType dtype) {
  switch (dtype) {
    case DType::kBool: return *bytes != 0 ? 1 : 0;
    case DType::kU8: return *bytes;
    case DType::kI8: return read<int8_t>(bytes);
    case DType::kI16: return read<int16_t>(bytes);
    case DType::kU16: return read<uint16_t>(bytes);
    case DType::kI32: return read<int32_t>(bytes);
    case DType::kU32: return read<uint32_t>(bytes);
    case DType::kI64: return read<int64_t>(bytes);
    default: return std::nullopt;
  }
}

std::optional<double> read_number(const uint8_t* bytes, DType dtype) {
  switch (dtype) {
    case DType::kF16: return graph::float_of_f16(read<uint16_t>(bytes));
    case DType::kBF16: return graph::float_of_bf16(read<uint16_t>(bytes));
    case DType::kF32: return read<float>(bytes);
    case DType::kF64: return read<double>(bytes);
    default: break;
  }
  const auto integer = read_integer(bytes, dtype);
  if (!integer) return std::nullopt;
  return double(*integer);
}

std::optional<double> literal_number(const Graph& graph, const Argument& argument) {
  if (const auto* value = std::get_if<double>(&argument)) return *value;
  if (const auto* value = std::get_if<bool>(&argument)) return *value ? 1.0 : 0.0;
  if (const auto* value = std::get_if<Expr>(&argument)) {
    if (const auto known = graph.pool().as_constant(*value)) return double(*known);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> uniform_value(const Graph& graph, const Argument& argument, DType dtype) {
  if (const auto literal = literal_number(graph, argument)) return ops::round_to(dtype, *literal);
  const auto* ref = std::get_if<ValueRef>(&argument);
  if (ref == nullptr) return std::nullopt;
  if (const uint8_t* element = single_element(graph, ref->id)) return read_number(element, graph.type(ref->id).dtype);
  const Node* full = made_by(graph, ref->id, "prim.full");
  if (full == nullptr) return std::nullopt;
  const auto value = literal_number(graph, full->arguments[1]);
  if (!value) return std::nullopt;
  return ops::round_to(graph.type(ref->id).dtype, *value);
}

std::optional<int64_t> uniform_integer(const Graph& graph, const Argument& argument) {
  if (const auto* value = std::get_if<bool>(&argument)) return *value ? 1 : 0;
  if (const auto* value = std::get_if<Expr>(&argument)) return graph.pool().as_constant(*value);
  const auto* ref = std::get_if<ValueRef>(&argument);
  if (ref == nullptr) return std::nullopt;
  if (const uint8_t* element = single_element(graph, ref->id)) {
    return read_integer(element, graph.type(ref->id).dtype);
  }
  const Node* full = made_by(graph, ref->id, "prim.full");
  if (full == nullptr || is_floating(graph.type(ref->id).dtype)) return std::nullopt;
  if (std::holds_alternative<ValueRef>(full->arguments[1])) return std::nullopt;
  return uniform_integer(graph, full->arguments[1]);
}

bool same_dims(Graph& graph, const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t index = 0; index < a.size(); ++index) {
    if (a[index] != b[index] && !graph.facts().provably_equal(a[index], b[index])) return false;
  }
  return true;
}

std::optional<int64_t> constant_integer(const Graph& graph, const Argument& argument) {
  const auto* value = std::get_if<Expr>(&argument);
  if (value == nullptr) return std::nullopt;
  return graph.pool().as_constant(*value);
}

std::optional<std::vector<int64_t>> constant_integers(const Graph& graph, const Argument& argument) {
  const auto* list = std::get_if<std::vector<Expr>>(&argument);
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> values;
  for (Expr value : *list) {
    const auto known = graph.pool().as_constant(value);
    if (!known) return std::nullopt;
    values.push_back(*known);
  }
  return values;
}

std::vector<Expr> constants(Graph& graph, const std::vector<int64_t>& values) {
  std::vector<Expr> made;
  for (int64_t value : values) made.push_back(graph.pool().constant(value));
  return made;
}

}  // namespace tenon::passes
