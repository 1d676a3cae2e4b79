#include <algorithm>

#include "graph/argument_check.hpp"
#include "graph/graph.hpp"
#include "graph/operators.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

const std::string& argument_name(const Operator& op, size_t index) { return op.schema.arguments[index].name; }

}  // namespace

const Argument& InferContext::argument(std::string_view name) const {
  const int index = op_.schema.find(name);
  TENON_CHECK(index >= 0);
  return arguments_[size_t(index)];
}

Result<Type> InferContext::type(size_t index) const {
  const Argument& argument = arguments_[index];
  if (const auto* ref = std::get_if<ValueRef>(&argument)) {
    const Type& type = graph_.type(ref->id);
    if (type.pending) return pending();
    return type;
  }
  if (std::holds_alternative<bool>(argument)) return scalar_type(DType::kBool);
  if (std::holds_alternative<Expr>(argument)) return scalar_type(DType::kI64);
  if (std::holds_alternative<double>(argument)) return scalar_type(DType::kF64);
  return error(argument_name(op_, index), "a tensor", describe(graph_, argument));
}

const Type& InferContext::type_of(ValueId value) const { return graph_.type(value); }

Result<std::vector<Type>> InferContext::types(size_t index) const {
  const auto* values = std::get_if<std::vector<ValueId>>(&arguments_[index]);
  if (values == nullptr)
    return error(argument_name(op_, index), "a list of tensors", describe(graph_, arguments_[index]));
  std::vector<Type> types;
  types.reserve(values->size());
  for (ValueId value : *values) {
    if (value == kNoValue) return error(argument_name(op_, index), "a list of tensors", "none in it");
    if (graph_.type(value).pending) return pending();
    types.push_back(graph_.type(value));
  }
  return types;
}

Result<Expr> InferContext::integer(size_t index) const {
  const Argument& argument = arguments_[index];
  if (const auto* expr = std::get_if<Expr>(&argument)) return *expr;
  // A number that the program computes: known when it runs, or once specialization has a symbol for it.
  if (std::holds_alternative<ValueRef>(argument)) return pending();
  return error(argument_name(op_, index), "an integer", describe(graph_, argument));
}

Result<int64_t> InferContext::constant_int(size_t index) const {
  TENON_ASSIGN_OR_RETURN(const Expr expr, integer(index));
  if (const auto value = pool().as_constant(expr)) return *value;
  if (const auto value = pool().as_constant(facts_.simplify(expr))) return *value;
  if (const auto value = facts_.specialize(expr, op_.schema.name)) return *value;
  for (symbolic::SymbolId symbol : pool().symbols(expr)) {
    const GraphSymbol* known = graph_.find(symbol);
    if (known != nullptr && known->kind == DimKind::kAuto) return pending();
  }
  return error(argument_name(op_, index), "a constant integer", pool().print(expr));
}

Result<std::vector<Expr>> InferContext::integers(size_t index) const {
  const Argument& argument = arguments_[index];
  if (const auto* list = std::get_if<std::vector<Expr>>(&argument)) return *list;
  if (const auto* expr = std::get_if<Expr>(&argument)) return std::vector<Expr>{*expr};
  return error(argument_name(op_, index), "a list of integers", describe(graph_, argument));
}

bool InferContext::boolean(size_t index) const {
  const bool* value = std::get_if<bool>(&arguments_[index]);
  TENON_CHECK(value != nullptr);
  return *value;
}

namespace {

// Python's rule; a 0-d tensor takes 0 and -1.
Result<int64_t> wrap_dim(const InferContext& context, size_t index, int64_t dim, size_t rank) {
  const int64_t extent = std::max<int64_t>(int64_t(rank), 1);
  if (dim >= -extent && dim < extent) return dim < 0 ? dim + extent : dim;
  return context.error(argument_name(context.op(), index), concat("a dim in [", -extent, ", ", extent, ")"),
                       concat(dim));
}

}  // namespace

Result<int64_t> InferContext::dim(size_t index, size_t rank) const {
  TENON_ASSIGN_OR_RETURN(const int64_t dim, constant_int(index));
  return wrap_dim(*this, index, dim, rank);
}

Result<std::vector<int64_t>> InferContext::dims(size_t index, size_t rank) const {
  std::vector<int64_t> dims;
  if (absent(index)) return dims;
  TENON_ASSIGN_OR_RETURN(const std::vector<Expr> list, integers(index));
  for (Expr expr : list) {
    const auto value = pool().as_constant(expr);
    if (!value) return error(argument_name(op_, index), "constant dims", pool().print(expr));
    TENON_ASSIGN_OR_RETURN(const int64_t dim, wrap_dim(*this, index, *value, rank));
    if (std::find(dims.begin(), dims.end(), dim) != dims.end())
      return error(argument_name(op_, index), "each dim once", concat(dim, " twice"));
    dims.push_back(dim);
  }
  return dims;
}

Result<bool> InferContext::decide(symbolic::Relation relation, Expr a, Expr b) {
  const auto decided = facts_.decide({relation, a, b}, op_.schema.name);
  if (!decided) return pending();
  return *decided;
}

Status InferContext::pending() { return unavailable("the type depends on sizes that are not known yet"); }

Status InferContext::error(std::string_view argument, std::string_view expected, std::string_view found) const {
  return argument_error(op_.schema.name, argument, expected, found);
}

namespace {

// The size that two sizes broadcast to; nullopt when they do not. Proofs first; then a predicate that the hints make
// true, so that the guard says what the call needs and no more; UNAVAILABLE when neither helps.
Result<std::optional<Expr>> broadcast_dim(InferContext& context, Expr a, Expr b) {
  using symbolic::Relation;
  using symbolic::Truth;
  symbolic::Facts& facts = context.facts();
  symbolic::Pool& pool = context.pool();
  if (a == b) return std::optional(a);
  const Expr one = pool.constant(1);
  const Truth a_is_one = facts.prove({Relation::kEq, a, one});
  const Truth b_is_one = facts.prove({Relation::kEq, b, one});
  if (a_is_one == Truth::kTrue) return std::optional(b);
  if (b_is_one == Truth::kTrue) return std::optional(a);
  const Expr simpler = pool.as_constant(b) ? b : a;
  const Truth equal = facts.prove({Relation::kEq, a, b});
  if (equal == Truth::kTrue) return std::optional(simpler);
  if (equal == Truth::kFalse && a_is_one == Truth::kFalse && b_is_one == Truth::kFalse)
    return std::optional<Expr>();

  const auto hint_a = facts.hinted(a);
  const auto hint_b = facts.hinted(b);
  if (equal == Truth::kUnknown && ((hint_a && hint_b && *hint_a == *hint_b) ||
                                   (a_is_one == Truth::kFalse && b_is_one == Truth::kFalse))) {
    TENON_ASSIGN_OR_RETURN(const bool same, context.decide(Relation::kEq, a, b));
    return same ? std::optional(simpler) : std::optional<Expr>();
  }
  if (hint_a == 1) {
    TENON_ASSIGN_OR_RETURN(const bool is_one, context.decide(Relation::kEq, a, one));
    if (is_one) return std::optional(b);
  }
  if (hint_b == 1) {
    TENON_ASSIGN_OR_RETURN(const bool is_one, context.decide(Relation::kEq, b, one));
    if (is_one) return std::optional(a);
  }
  if (hint_a && hint_b) return std::optional<Expr>();
  return InferContext::pending();
}

}  // namespace

Result<std::vector<Expr>> InferContext::broadcast(std::span<const Type> types) {
  std::vector<Expr> dims;
  for (size_t index = 0; index < types.size(); ++index) {
    if (types[index].pending) return pending();
    const std::vector<Expr>& operand = types[index].dims;
    if (operand.size() > dims.size()) dims.insert(dims.begin(), operand.size() - dims.size(), pool().constant(1));
    const size_t offset = dims.size() - operand.size();
    for (size_t dim = 0; dim < operand.size(); ++dim) {
      TENON_ASSIGN_OR_RETURN(const std::optional<Expr> size, broadcast_dim(*this, dims[offset + dim], operand[dim]));
      if (size) {
        dims[offset + dim] = *size;
        continue;
      }
      // Name the argument when the operands are just the tensor arguments.
      std::vector<std::string_view> names;
      for (size_t slot = 0; slot < arguments_.size(); ++slot) {
        if (op_.schema.arguments[slot].type == ArgumentType::kTensor && !absent(slot))
          names.push_back(argument_name(op_, slot));
      }
      const std::string_view name = names.size() == types.size() ? names[index] : std::string_view("shapes");
      return error(name, concat("size ", pool().print(dims[offset + dim]), " or 1 in dim ", dim),
                   pool().print(operand[dim]));
    }
  }
  return dims;
}

}  // namespace tenon::graph
