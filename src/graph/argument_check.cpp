#include "graph/argument_check.hpp"

#include <algorithm>

#include "graph/print.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

bool exists(const Graph& graph, ValueId value) { return value < graph.value_count(); }

// A list without elements says nothing of their kind.
bool is_empty_list(const Argument& argument) {
  return std::visit(
      [](const auto& held) {
        if constexpr (requires { held.begin(); held.empty(); } &&
                      !std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
          return held.empty();
        } else {
          return false;
        }
      },
      argument);
}

// May this SSA value stand in a slot for a number of that type?
bool scalar_fits(const Type& type, ArgumentType slot) {
  if (!type.is_scalar()) return false;
  if (type.pending) return true;
  switch (slot) {
    case ArgumentType::kInt: return is_integral(type.dtype);
    case ArgumentType::kBool: return type.dtype == DType::kBool;
    default: return true;
  }
}

// The argument in the slot's form, or nullopt when it does not fit. Values in it exist.
std::optional<Argument> fit(const Graph& graph, const SchemaArgument& slot, Argument argument) {
  symbolic::Pool& pool = graph.pool();
  const auto keep = [&](bool fits) { return fits ? std::optional(std::move(argument)) : std::nullopt; };
  const auto* ref = std::get_if<ValueRef>(&argument);
  const auto* expr = std::get_if<Expr>(&argument);
  const auto* exprs = std::get_if<std::vector<Expr>>(&argument);
  const bool is_bool = std::holds_alternative<bool>(argument);
  const bool is_double = std::holds_alternative<double>(argument);
  switch (slot.type) {
    case ArgumentType::kTensor: return keep(ref != nullptr || is_bool || is_double || expr != nullptr);
    case ArgumentType::kTensorList:
    case ArgumentType::kOptionalTensorList: {
      if (is_empty_list(argument)) return std::vector<ValueId>{};
      const auto* values = std::get_if<std::vector<ValueId>>(&argument);
      if (values == nullptr) return std::nullopt;
      for (ValueId value : *values) {
        if (value == kNoValue && slot.type == ArgumentType::kTensorList) return std::nullopt;
      }
      return keep(true);
    }
    case ArgumentType::kScalar:
      return keep(is_bool || is_double || expr != nullptr ||
                  (ref != nullptr && scalar_fits(graph.type(ref->id), slot.type)));
    case ArgumentType::kScalarList:
      if (is_empty_list(argument)) return std::vector<double>{};
      return keep(exprs != nullptr || std::holds_alternative<std::vector<double>>(argument) ||
                  std::holds_alternative<std::vector<bool>>(argument));
    case ArgumentType::kInt:
      return keep(expr != nullptr || (ref != nullptr && scalar_fits(graph.type(ref->id), slot.type)));
    case ArgumentType::kIntList:
      if (is_empty_list(argument)) return std::vector<Expr>{};
      if (expr != nullptr && slot.list_size > 0) return std::vector<Expr>(size_t(slot.list_size), *expr);
      return keep(exprs != nullptr);
    case ArgumentType::kFloat: {
      if (expr != nullptr) {
        const auto value = pool.as_constant(*expr);
        if (!value) return std::nullopt;
        return double(*value);
      }
      return keep(is_double || (ref != nullptr && scalar_fits(graph.type(ref->id), slot.type)));
    }
    case ArgumentType::kFloatList: {
      if (is_empty_list(argument)) return std::vector<double>{};
      if (exprs != nullptr) {
        std::vector<double> values;
        for (Expr element : *exprs) {
          const auto value = pool.as_constant(element);
          if (!value) return std::nullopt;
          values.push_back(double(*value));
        }
        return values;
      }
      return keep(std::holds_alternative<std::vector<double>>(argument));
    }
    case ArgumentType::kBool: return keep(is_bool || (ref != nullptr && scalar_fits(graph.type(ref->id), slot.type)));
    case ArgumentType::kBoolList:
      if (is_empty_list(argument)) return std::vector<bool>{};
      return keep(std::holds_alternative<std::vector<bool>>(argument));
    case ArgumentType::kString: return keep(std::holds_alternative<std::string>(argument));
    case ArgumentType::kDType: return keep(std::holds_alternative<DType>(argument));
    case ArgumentType::kDevice: return keep(std::holds_alternative<Device>(argument));
    case ArgumentType::kLayout: return keep(std::holds_alternative<Layout>(argument));
    case ArgumentType::kMemoryFormat: return keep(std::holds_alternative<MemoryFormat>(argument));
    case ArgumentType::kGenerator: return std::nullopt;
  }
  return std::nullopt;
}

std::string expected_text(const SchemaArgument& slot) {
  std::string text(describe(slot.type));
  if (slot.optional && slot.type != ArgumentType::kGenerator) text += " or none";
  return text;
}

}  // namespace

Status argument_error(std::string_view op, std::string_view argument, std::string_view expected,
                      std::string_view found) {
  return invalid_argument(concat(op, ": argument ", argument, ": expected ", expected, ", found ", found))
      .with("operator", op)
      .with("input", argument)
      .with("expected", expected)
      .with("found", found);
}

std::string describe(const Graph& graph, const Argument& argument) {
  struct Describe {
    const Graph& graph;
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool) const { return "a bool"; }
    std::string operator()(Expr expr) const { return concat("the integer ", graph.pool().print(expr)); }
    std::string operator()(double value) const { return concat("the float ", value); }
    std::string operator()(const std::string&) const { return "a string"; }
    std::string operator()(DType dtype) const { return concat("the element type ", name(dtype)); }
    std::string operator()(Device) const { return "a device"; }
    std::string operator()(MemoryFormat) const { return "a memory format"; }
    std::string operator()(Layout) const { return "a layout"; }
    std::string operator()(ValueRef ref) const {
      if (!exists(graph, ref.id)) return "a value that does not exist";
      const Type& type = graph.type(ref.id);
      return concat(type.is_scalar() ? "a scalar " : "a tensor ", print(graph.pool(), type));
    }
    std::string operator()(const std::vector<ValueId>& values) const {
      for (ValueId value : values) {
        if (value == kNoValue) return "a list of tensors or none";
      }
      return "a list of tensors";
    }
    std::string operator()(const std::vector<Expr>&) const { return "a list of integers"; }
    std::string operator()(const std::vector<double>&) const { return "a list of floats"; }
    std::string operator()(const std::vector<bool>&) const { return "a list of bools"; }
  };
  if (is_empty_list(argument)) return "an empty list";
  return std::visit(Describe{graph}, argument);
}

Result<Argument> check_argument(const Graph& graph, const Operator& op, const SchemaArgument& slot,
                                Argument argument) {
  std::vector<ValueId> uses;
  append_uses(argument, uses);
  for (ValueId value : uses) {
    if (!exists(graph, value))
      return argument_error(op.schema.name, slot.name, expected_text(slot), "a value that does not exist");
  }
  if (is_none(argument)) {
    const bool may_be_none = slot.optional || slot.type == ArgumentType::kGenerator ||
                             (slot.has_default && slot.default_text == "None");
    if (may_be_none) return argument;
    return argument_error(op.schema.name, slot.name, expected_text(slot), "none");
  }
  std::optional<Argument> fitted = fit(graph, slot, argument);
  if (fitted) return *std::move(fitted);
  return argument_error(op.schema.name, slot.name, expected_text(slot), describe(graph, argument));
}

namespace {

Status too_many(const Schema& schema, size_t limit, size_t found) {
  const std::string expected = concat("at most ", limit, " positional arguments");
  return invalid_argument(concat(schema.name, ": expected ", expected, ", found ", found))
      .with("operator", schema.name)
      .with("expected", expected)
      .with("found", concat(found));
}

Result<Argument> default_of(const Graph& graph, const Operator& op, const SchemaArgument& slot) {
  if (!slot.has_default) return argument_error(op.schema.name, slot.name, expected_text(slot), "nothing");
  auto value = default_argument(slot, graph.pool());
  if (!value.ok()) return internal_error(concat(op.schema.name, ": ", value.status().message()));
  return value;
}

}  // namespace

Result<std::vector<Argument>> check_arguments(const Graph& graph, const Operator& op,
                                              std::vector<Argument> arguments) {
  const Schema& schema = op.schema;
  if (arguments.size() > schema.arguments.size()) return too_many(schema, schema.arguments.size(), arguments.size());
  const size_t given = arguments.size();
  arguments.resize(schema.arguments.size());
  for (size_t index = 0; index < arguments.size(); ++index) {
    const SchemaArgument& slot = schema.arguments[index];
    if (index >= given) {
      TENON_ASSIGN_OR_RETURN(arguments[index], default_of(graph, op, slot));
    } else {
      TENON_ASSIGN_OR_RETURN(arguments[index], check_argument(graph, op, slot, std::move(arguments[index])));
    }
  }
  return arguments;
}

Result<std::vector<Argument>> bind_arguments(const Graph& graph, const Operator& op, std::vector<Argument> positional,
                                             std::vector<Graph::NamedArgument> named) {
  const Schema& schema = op.schema;
  size_t limit = 0;
  while (limit < schema.arguments.size() && !schema.arguments[limit].keyword_only) ++limit;
  if (positional.size() > limit) return too_many(schema, limit, positional.size());
  std::vector<bool> given(schema.arguments.size(), false);
  std::fill_n(given.begin(), positional.size(), true);
  std::vector<Argument> arguments = std::move(positional);
  arguments.resize(schema.arguments.size());
  for (Graph::NamedArgument& argument : named) {
    const int index = schema.find(argument.first);
    if (index < 0) {
      std::string known;
      for (const SchemaArgument& slot : schema.arguments) known += concat(known.empty() ? "" : ", ", slot.name);
      return argument_error(schema.name, argument.first, concat("one of ", known), "an unknown name");
    }
    if (given[size_t(index)]) return argument_error(schema.name, argument.first, "one value", "a second one");
    given[size_t(index)] = true;
    arguments[size_t(index)] = std::move(argument.second);
  }
  for (size_t index = 0; index < arguments.size(); ++index) {
    if (given[index]) continue;
    TENON_ASSIGN_OR_RETURN(arguments[index], default_of(graph, op, schema.arguments[index]));
  }
  return arguments;
}

}  // namespace tenon::graph
