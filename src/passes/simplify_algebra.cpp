#include "passes/simplify_algebra.hpp"

#include <algorithm>
#include <cmath>

#include "ops/promotion.hpp"
#include "passes/inspect.hpp"
#include "passes/lossless.hpp"
#include "passes/rewrite.hpp"

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Type;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;

namespace {

using Replacement = Result<std::optional<ValueId>>;

bool positive_zero(double value) { return value == 0 && !std::signbit(value); }
bool negative_zero(double value) { return value == 0 && std::signbit(value); }

// The value that an integer type holds when it is given `value`.
int64_t wrapped(DType dtype, int64_t value) {
  const int bits = int(size_bytes(dtype)) * 8;
  if (bits == 64) return value;
  const uint64_t low = uint64_t(value) & ((uint64_t{1} << bits) - 1);
  const bool negative = is_signed(dtype) && (low >> (bits - 1)) != 0;
  return negative ? int64_t(low | ~((uint64_t{1} << bits) - 1)) : int64_t(low);
}

// One node under the rules.
class Rules {
 public:
  Rules(Graph& graph, NodeId id) : graph_(graph) {
    const Node& node = graph.node(id);
    op_ = node.op;
    arguments_ = node.arguments;
    result_ = node.results.size() == 1 ? node.results[0] : graph::kNoValue;
    type_ = result_ == graph::kNoValue ? Type{} : graph.type(result_);
  }

  Replacement apply() {
    if (result_ == graph::kNoValue || !op_->primitive || !op_->pointwise || type_.pending) return kKeep;
    const std::string_view op = std::string_view(op_->schema.name).substr(5);  // after "prim."
    if (arguments_.size() == 1) return unary(op);
    if (op == "convert") return convert();
    if (op == "where") return where();
    if (arguments_.size() == 2) return binary(op);
    return kKeep;
  }

  // A prim.full operand becomes the number itself where the result keeps its type. Gives the new argument list.
  bool inline_numbers(std::vector<Argument>& arguments) const {
    if (!op_->primitive || !op_->pointwise || type_.pending || arguments_.size() < 2) return false;
    if (op_->schema.name == "prim.convert") return false;
    const size_t first = op_->schema.name == "prim.where" ? 1 : 0;
    bool changed = false;
    for (size_t index = arguments.size(); index-- > first;) {
      const Node* full = made_by(graph_, arguments[index], "prim.full");
      if (full == nullptr || !fits(full->arguments[1], std::get<DType>(full->arguments[2]))) continue;
      if (!covered_without(arguments, index, first)) continue;
      arguments[index] = Argument(full->arguments[1]);
      changed = true;
    }
    return changed;
  }

 private:
  // A literal that means the same as an operand as it does inside prim.full.
  bool fits(const Argument& value, DType dtype) const {
    if (std::holds_alternative<bool>(value)) return dtype == DType::kBool;
    if (std::holds_alternative<Expr>(value)) return dtype != DType::kBool;
    return std::holds_alternative<double>(value) && is_floating(dtype);
  }

  // Another operand is a tensor, and the tensors left broadcast to the dims of the result.
  bool covered_without(const std::vector<Argument>& arguments, size_t left_out, size_t first) const {
    bool typed = false, ranked = type_.rank() == 0;
    std::vector<bool> covered(type_.rank(), false);
    for (size_t index = 0; index < arguments.size(); ++index) {
      const auto* ref = std::get_if<ValueRef>(&arguments[index]);
      if (index == left_out || ref == nullptr || graph_.type(ref->id).is_scalar()) continue;
      typed = typed || index >= first;
      const auto& dims = graph_.type(ref->id).dims;
      const size_t added = type_.rank() - dims.size();
      for (size_t dim = 0; dim < dims.size(); ++dim) {
        if (dims[dim] == type_.dims[added + dim]) covered[added + dim] = true;
      }
      ranked = ranked || dims.size() == type_.rank();
    }
    for (bool dim : covered) {
      if (!dim) return false;
    }
    return typed && ranked;
  }

  bool integral() const { return is_integral(operand_dtype()); }
  DType operand_dtype() const {
    for (size_t index = arguments_.size(); index-- > 0;) {
      if (const auto* ref = std::get_if<ValueRef>(&arguments_[index])) return graph_.type(ref->id).dtype;
    }
    return type_.dtype;
  }

  Replacement call(std::string_view op, std::vector<Argument> arguments) {
    TENON_ASSIGN_OR_RETURN(const ValueId made, graph_.call(op, std::move(arguments)));
    return std::optional<ValueId>(made);
  }

  // `argument` as the result: it must be a value of the result's dtype; it is spread where it was broadcast.
  Replacement value_of(const Argument& argument) {
    const auto* ref = std::get_if<ValueRef>(&argument);
    if (ref == nullptr) return full(argument);
    const Type& type = graph_.type(ref->id);
    if (type.is_scalar() || type.pending || type.dtype != type_.dtype) return kKeep;
    if (same_dims(graph_, type.dims, type_.dims)) return std::optional<ValueId>(ref->id);
    return call("prim.expand", {*ref, type_.dims});
  }
  Replacement full(Argument value) { return call("prim.full", {type_.dims, std::move(value), type_.dtype}); }
  Argument integer(int64_t value) {
    if (type_.dtype == DType::kBool) return value != 0;
    return graph_.pool().constant(value);
  }

  Replacement unary(std::string_view op) {
    const Node* inner = nullptr;
    const auto inside = [&](std::string_view name) {
      inner = made_by(graph_, arguments_[0], name);
      return inner != nullptr;
    };
    if ((op == "neg" && inside("prim.neg")) || (op == "logical_not" && inside("prim.logical_not")) ||
        (op == "bitwise_not" && inside("prim.bitwise_not"))) {
      return value_of(Argument(inner->arguments[0]));
    }
    if (op == "abs" && inside("prim.neg")) return call("prim.abs", {Argument(inner->arguments[0])});
    const bool idempotent =
        op == "abs" || op == "floor" || op == "ceil" || op == "round" || op == "trunc" || op == "sign";
    if (idempotent && inside(op_->schema.name)) return value_of(arguments_[0]);
    return kKeep;
  }

  Replacement convert() {
    const auto* ref = std::get_if<ValueRef>(&arguments_[0]);
    if (ref == nullptr || graph_.type(ref->id).is_scalar() || graph_.type(ref->id).pending) return kKeep;
    const DType from = graph_.type(ref->id).dtype, to = type_.dtype;
    if (from == to) return value_of(arguments_[0]);
    if (const Node* inner = made_by(graph_, ref->id, "prim.convert")) {
      const ValueId x = tensor_argument(*inner, 0);
      if (x != graph::kNoValue && !graph_.type(x).pending && may_skip(graph_.type(x).dtype, from, to)) {
        if (graph_.type(x).dtype == to) return value_of(ValueRef{x});
        return call("prim.convert", {ValueRef{x}, to});
      }
    }
    if (const Node* inner = made_by(graph_, ref->id, "prim.full")) {
      const Argument value = inner->arguments[1];
      if (std::holds_alternative<ValueRef>(value)) return kKeep;
      return converted_full(value, from, to);
    }
    return kKeep;
  }

  // A number is what `from` made of it; only those that `to` holds as well are converted here.
  Replacement converted_full(const Argument& value, DType from, DType to) {
    const auto number = uniform_value(graph_, value, from);
    if (!number || std::isnan(*number) || !fits(value, from)) return kKeep;
    if (to == DType::kBool) return full(*number != 0);
    if (is_floating(to)) {
      if (!is_floating(from) && std::fabs(*number) > 0x1p53) return kKeep;
      if (ops::round_to(to, *number) != *number) return kKeep;
      return full(*number);
    }
    if (!is_floating(from)) {
      const auto exact = uniform_integer(graph_, value);
      if (!exact || wrapped(from, *exact) != *exact || wrapped(to, *exact) != *exact) return kKeep;
      return full(integer(*exact));
    }
    if (std::fabs(*number) > 0x1p53 || std::trunc(*number) != *number || negative_zero(*number)) return kKeep;
    if (wrapped(to, int64_t(*number)) != int64_t(*number)) return kKeep;
    return full(integer(int64_t(*number)));
  }

  Replacement where() {
    if (const auto chosen = uniform_integer(graph_, arguments_[0])) return value_of(arguments_[*chosen != 0 ? 1 : 2]);
    if (same_argument(arguments_[1], arguments_[2])) return value_of(arguments_[1]);
    if (const Node* inverted = made_by(graph_, arguments_[0], "prim.logical_not")) {
      return call("prim.where", {Argument(inverted->arguments[0]), arguments_[2], arguments_[1]});
    }
    return kKeep;
  }

  Replacement binary(std::string_view op) {
    if (same_argument(arguments_[0], arguments_[1]) && std::holds_alternative<ValueRef>(arguments_[0])) {
      TENON_ASSIGN_OR_RETURN(const std::optional<ValueId> same, of_itself(op));
      if (same) return same;
    }
    if (is_floating(operand_dtype())) return float_binary(op);
    return integer_binary(op);
  }

  Replacement of_itself(std::string_view op) {
    if (op == "max" || op == "min" || op == "bitwise_and" || op == "bitwise_or") return value_of(arguments_[0]);
    if (is_floating(operand_dtype())) return kKeep;
    if (op == "bitwise_xor" || op == "sub") return full(integer(0));
    if (op == "eq" || op == "le" || op == "ge") return full(true);
    if (op == "ne" || op == "lt" || op == "gt") return full(false);
    return kKeep;
  }

  Replacement float_binary(std::string_view op) {
    const DType dtype = operand_dtype();
    for (size_t side : {1u, 0u}) {
      const auto number = uniform_value(graph_, arguments_[side], dtype);
      if (!number) continue;
      const Argument& other = arguments_[1 - side];
      const bool right = side == 1;
      if (op == "add" && negative_zero(*number)) return value_of(other);
      if (op == "sub" && right && positive_zero(*number)) return value_of(other);
      if (op == "mul" && *number == 1) return value_of(other);
      if ((op == "div" || op == "pow") && right && *number == 1) return value_of(other);
    }
    return kKeep;
  }

  Replacement integer_binary(std::string_view op) {
    for (size_t side : {1u, 0u}) {
      const auto number = uniform_integer(graph_, arguments_[side]);
      if (!number) continue;
      const Argument other = arguments_[1 - side];
      TENON_ASSIGN_OR_RETURN(const std::optional<ValueId> made, with_number(op, other, *number, side == 1));
      if (made) return made;
    }
    return kKeep;
  }

  // The elements are positions: none is below 0.
  bool is_position(const Argument& x) const {
    const auto* ref = std::get_if<ValueRef>(&x);
    ValueId value = ref == nullptr ? graph::kNoValue : ref->id;
    while (value != graph::kNoValue) {
      const Node* node = maker(graph_, value);
      if (node == nullptr) return false;
      if (is_call(*node, "prim.iota")) return graph_.type(value).dtype == DType::kI64;
      constexpr std::string_view kViews[] = {"prim.reshape", "prim.permute", "prim.expand", "prim.slice", "prim.flip"};
      if (std::find(std::begin(kViews), std::end(kViews), node->op->schema.name) == std::end(kViews)) return false;
      value = tensor_argument(*node, 0);
    }
    return false;
  }

  // x op n (`right`) or n op x.
  Replacement with_number(std::string_view op, const Argument& x, int64_t n, bool right) {
    const bool zero = n == 0;
    if (op == "bitwise_and" || op == "bitwise_or" || op == "bitwise_xor") return with_bits(op, x, n);
    if (!integral()) return kKeep;
    if (n <= 0 && op == (right ? "ge" : "le") && is_position(x)) return full(true);
    if (n <= 0 && op == (right ? "lt" : "gt") && is_position(x)) return full(false);
    if (op == "add" && zero) return value_of(x);
    if (op == "sub" && zero) return right ? value_of(x) : call_kept("prim.neg", x);
    if (op == "mul" && zero) return full(integer(0));
    if (op == "mul" && n == 1) return value_of(x);
    if ((op == "div" || op == "floor_div" || op == "pow") && right && n == 1) return value_of(x);
    if ((op == "shl" || op == "shr") && right && zero) return value_of(x);
    if ((op == "add" || op == "mul") && std::holds_alternative<ValueRef>(x)) return gathered(op, x, n);
    return kKeep;
  }

  Replacement with_bits(std::string_view op, const Argument& x, int64_t n) {
    const bool zero = n == 0;
    const bool ones = type_.dtype == DType::kBool ? n != 0 : wrapped(type_.dtype, n) == wrapped(type_.dtype, -1);
    if (op == "bitwise_and") return ones ? value_of(x) : zero ? full(integer(0)) : Replacement(kKeep);
    if (op == "bitwise_or" && ones) return full(integer(type_.dtype == DType::kBool ? 1 : wrapped(type_.dtype, -1)));
    return zero ? value_of(x) : Replacement(kKeep);
  }

  Replacement call_kept(std::string_view op, const Argument& x) {
    const auto* ref = std::get_if<ValueRef>(&x);
    if (ref == nullptr || !same_dims(graph_, graph_.type(ref->id).dims, type_.dims)) return kKeep;
    return call(op, {x});
  }

  // (x op m) op n == x op (m op n): integers wrap around.
  Replacement gathered(std::string_view op, const Argument& x, int64_t n) {
    const Node* inner = made_by(graph_, x, op_->schema.name);
    if (inner == nullptr) return kKeep;
    for (size_t side : {1u, 0u}) {
      const auto m = uniform_integer(graph_, inner->arguments[side]);
      if (!m) continue;
      const Argument rest = inner->arguments[1 - side];
      const auto* ref = std::get_if<ValueRef>(&rest);
      if (ref == nullptr || !same_dims(graph_, graph_.type(ref->id).dims, type_.dims)) continue;
      const uint64_t both = op == "add" ? uint64_t(*m) + uint64_t(n) : uint64_t(*m) * uint64_t(n);
      return call(op_->schema.name, {rest, integer(wrapped(type_.dtype, int64_t(both)))});
    }
    return kKeep;
  }

  Graph& graph_;
  const graph::Operator* op_ = nullptr;
  std::vector<Argument> arguments_;
  ValueId result_ = graph::kNoValue;
  Type type_;
};

}  // namespace

Result<bool> simplify_algebra(Graph& graph) {
  return rewrite_nodes(graph, [&](NodeId id, bool& touched) -> Replacement {
    std::vector<Argument> arguments = graph.node(id).arguments;
    if (Rules(graph, id).inline_numbers(arguments)) {
      graph.node(id).arguments = std::move(arguments);
      touched = true;
    }
    return Rules(graph, id).apply();
  });
}

}  // namespace tenon::passes
