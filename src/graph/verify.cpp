#include "graph/verify.hpp"

#include <unordered_set>

#include "graph/argument_check.hpp"
#include "graph/print.hpp"
#include "graph/verify_regions.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;
constexpr uint32_t kTopLevel = 0;

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), scope_of_(graph.value_count(), kNowhere), seen_(graph.node_count(), false) {
    for (const GraphSymbol& symbol : graph.symbols()) declared_.insert(symbol.symbol);
  }

  Status run() {
    TENON_RETURN_IF_ERROR(symbols());
    TENON_RETURN_IF_ERROR(leaves());
    TENON_RETURN_IF_ERROR(nodes(graph_.order(), kTopLevel));
    TENON_RETURN_IF_ERROR(write_backs());
    TENON_RETURN_IF_ERROR(outputs());
    return {};
  }

 private:
  std::string name_of(ValueId value) const {
    if (value >= graph_.value_count()) return concat("value ", value);
    const std::string& name = graph_.value(value).name;
    return name.empty() ? concat("value ", value) : concat("%", name);
  }
  Status error(std::string_view where, ValueId value, std::string_view problem) const {
    const std::string name = name_of(value);
    Status status = invalid_argument(concat(where, where.empty() ? "" : ": ", name, " ", problem));
    status.with("value", name);
    return status;
  }
  Status error_at(const Node& node, ValueId value, std::string_view problem) const {
    return error(node.op->schema.name, value, problem).with("operator", node.op->schema.name);
  }
  static Status error_of(const Node& node, std::string_view problem) {
    return invalid_argument(concat(node.op->schema.name, ": ", problem)).with("operator", node.op->schema.name);
  }

  Status symbols() {
    std::unordered_set<symbolic::SymbolId> once;
    for (const GraphSymbol& symbol : graph_.symbols()) {
      if (symbol.symbol >= graph_.pool().symbol_count())
        return invalid_argument(concat("symbol ", symbol.symbol, " does not exist"));
      const std::string_view name = graph_.pool().symbol_name(symbol.symbol);
      if (!once.insert(symbol.symbol).second) return invalid_argument(concat("symbol ", name, " is declared twice"));
      if (symbol.min > symbol.max || symbol.divisor < 1)
        return invalid_argument(concat("symbol ", name, " has an empty range or a divisor below 1"));
    }
    return {};
  }

  Status leaf(ValueId value, ValueSource source, size_t index, std::string_view name) {
    if (value >= graph_.value_count()) return error("", value, "does not exist");
    const Value& made = graph_.value(value);
    if (made.source != source || made.index != index)
      return error("", value, concat("does not know that it is the leaf ", json_quoted(name)));
    if (!leaf_names_.emplace(name).second)
      return error("", value, concat("shares the name ", json_quoted(name), " with another leaf"));
    return define("", value, kTopLevel);
  }

  Status leaves() {
    for (size_t index = 0; index < graph_.inputs().size(); ++index)
      TENON_RETURN_IF_ERROR(
          leaf(graph_.inputs()[index].value, ValueSource::kInput, index, graph_.inputs()[index].name));
    for (size_t index = 0; index < graph_.constants().size(); ++index) {
      const Constant& constant = graph_.constants()[index];
      TENON_RETURN_IF_ERROR(leaf(constant.value, ValueSource::kConstant, index, constant.name));
      const Type& type = graph_.type(constant.value);
      bool same = !type.pending && !type.is_scalar() && type.dims.size() == constant.dims.size() &&
                  constant.strides.size() == constant.dims.size();
      for (size_t dim = 0; same && dim < type.dims.size(); ++dim)
        same = graph_.pool().is_constant(type.dims[dim], constant.dims[dim]);
      if (!same) return error("", constant.value, "has another shape than its bytes");
    }
    for (size_t index = 0; index < graph_.states().size(); ++index)
      TENON_RETURN_IF_ERROR(
          leaf(graph_.states()[index].value, ValueSource::kState, index, graph_.states()[index].name));
    return {};
  }

  // A value comes into being: once, with a whole type and a name that nobody in the scope has.
  Status define(std::string_view where, ValueId value, uint32_t scope) {
    if (value >= graph_.value_count()) return error(where, value, "does not exist");
    if (scope_of_[value] != kNowhere) return error(where, value, "is defined twice");
    scope_of_[value] = scope;
    const std::string& name = graph_.value(value).name;
    if (!name.empty() && !names_.emplace(concat(scope, ":", name)).second)
      return error(where, value, "has a name that another value has");
    return whole(where, value);
  }

  Status whole(std::string_view where, ValueId value) {
    const Type& type = graph_.type(value);
    if (type.pending) return {};
    if (type.dtype < DType::kBool || type.dtype > DType::kU64) return error(where, value, "has no element type");
    if (type.is_scalar() && !type.dims.empty()) return error(where, value, "is a scalar with dims");
    if (!type.strides.empty() && type.strides.size() != type.dims.size())
      return error(where, value, concat("has ", type.dims.size(), " dims and ", type.strides.size(), " strides"));
    for (Expr size : type.dims) {
      const auto constant = graph_.pool().as_constant(size);
      if (constant && *constant < 0) return error(where, value, concat("has a size of ", *constant));
      TENON_RETURN_IF_ERROR(known_symbols(where, value, size));
    }
    for (Expr stride : type.strides) TENON_RETURN_IF_ERROR(known_symbols(where, value, stride));
    return {};
  }

  // Sizes come from `where` or the inputs (declared), or from operators (unbacked).
  Status known_symbols(std::string_view where, ValueId value, Expr expr) {
    for (symbolic::SymbolId symbol : graph_.pool().symbols(expr)) {
      if (declared_.contains(symbol)) continue;
      const std::string_view name = graph_.pool().symbol_name(symbol);
      if (graph_.pool().symbol_kind(symbol) != symbolic::SymbolKind::kUnbacked)
        return error(where, value, concat("has a size with the symbol ", name, ", which is not declared"));
      const ValueSource source = graph_.value(value).source;
      if (source == ValueSource::kInput || source == ValueSource::kConstant || source == ValueSource::kState)
        return error(where, value, concat("has a size with ", name, ", which only operators give"));
    }
    return {};
  }

  Status use(const Node& node, ValueId value, uint32_t scope) {
    if (value >= graph_.value_count()) return error_at(node, value, "does not exist");
    if (scope_of_[value] == scope) return {};
    if (scope_of_[value] != kNowhere) return error_at(node, value, "is used in another region than its own");
    const Value& used = graph_.value(value);
    if (used.source == ValueSource::kNode && used.node < graph_.node_count() && graph_.node(used.node).erased)
      return error_at(node, value, "is the result of an erased node");
    return error_at(node, value, "is used before it is defined");
  }

  Status nodes(const std::vector<NodeId>& order, uint32_t scope) {
    for (NodeId id : order) {
      if (id >= graph_.node_count()) return invalid_argument(concat("node ", id, " does not exist"));
      const Node& node = graph_.node(id);
      if (node.op == nullptr) return invalid_argument(concat("node ", id, " has no operator"));
      if (node.erased) return error_of(node, "an erased node is in the order");
      if (seen_[id]) return error_of(node, "a node is in the order twice");
      seen_[id] = true;
      TENON_RETURN_IF_ERROR(arguments(node, scope));
      for (size_t index = 0; index < node.regions.size(); ++index)
        TENON_RETURN_IF_ERROR(region(node, *node.regions[index]));
      TENON_RETURN_IF_ERROR(verify_regions(graph_, node));
      TENON_RETURN_IF_ERROR(results(node, id, scope));
    }
    return {};
  }

  Status arguments(const Node& node, uint32_t scope) {
    const std::vector<SchemaArgument>& slots = node.op->schema.arguments;
    if (node.arguments.size() != slots.size())
      return error_of(node, concat("expected ", slots.size(), " arguments, found ", node.arguments.size()));
    for (size_t index = 0; index < slots.size(); ++index) {
      std::vector<ValueId> uses;
      append_uses(node.arguments[index], uses);
      for (ValueId value : uses) TENON_RETURN_IF_ERROR(use(node, value, scope));
      TENON_ASSIGN_OR_RETURN(const Argument checked,
                             check_argument(graph_, *node.op, slots[index], node.arguments[index]));
      if (!same_argument(checked, node.arguments[index]))
        return argument_error(node.op->schema.name, slots[index].name, describe(slots[index].type),
                              describe(graph_, node.arguments[index]));
    }
    return {};
  }

  Status region(const Node& node, const Region& region) {
    const uint32_t scope = ++last_scope_;
    for (size_t index = 0; index < region.inputs.size(); ++index) {
      const ValueId value = region.inputs[index];
      if (value < graph_.value_count() && graph_.value(value).source != ValueSource::kRegionInput)
        return error_at(node, value, "is no region input");
      TENON_RETURN_IF_ERROR(define(node.op->schema.name, value, scope));
    }
    TENON_RETURN_IF_ERROR(nodes(region.nodes, scope));
    for (ValueId value : region.yields) TENON_RETURN_IF_ERROR(use(node, value, scope));
    return {};
  }

  Status results(const Node& node, NodeId id, uint32_t scope) {
    size_t lists = 0;
    for (const SchemaReturn& result : node.op->schema.returns) lists += result.type == ArgumentType::kTensorList;
    const size_t declared = node.op->schema.returns.size();
    const bool matches = lists > 0 ? node.results.size() + lists >= declared : node.results.size() == declared;
    if (!matches) return error_of(node, concat("expected ", declared, " results, found ", node.results.size()));
    for (size_t index = 0; index < node.results.size(); ++index) {
      const ValueId value = node.results[index];
      if (value >= graph_.value_count()) return error_at(node, value, "does not exist");
      const Value& made = graph_.value(value);
      if (made.source != ValueSource::kNode || made.node != id || made.index != index)
        return error_at(node, value, "does not know which node makes it");
      TENON_RETURN_IF_ERROR(define(node.op->schema.name, value, scope));
    }
    return {};
  }

  Status defined_at_top(std::string_view where, ValueId value) {
    if (value >= graph_.value_count()) return error(where, value, "does not exist");
    if (scope_of_[value] == kTopLevel) return {};
    return error(where, value, scope_of_[value] == kNowhere ? "is never defined" : "belongs to a region");
  }

  Status write_backs() {
    std::unordered_set<ValueId> targets;
    for (const Graph::WriteBack& write : graph_.write_backs()) {
      TENON_RETURN_IF_ERROR(defined_at_top("write", write.target));
      TENON_RETURN_IF_ERROR(defined_at_top("write", write.value));
      const ValueSource source = graph_.value(write.target).source;
      if (source != ValueSource::kInput && source != ValueSource::kState)
        return error("write", write.target, "is neither an input nor a state");
      if (!targets.insert(write.target).second) return error("write", write.target, "is written twice");
      const Type& target = graph_.type(write.target);
      const Type& value = graph_.type(write.value);
      // Layout is the target's own affair: the value is copied into it.
      if (!same_element_types(graph_, target, value))
        return error("write", write.target,
                     concat("has type ", print(graph_.pool(), target), ", the value written to it ",
                            print(graph_.pool(), value)));
    }
    return {};
  }

  Status outputs() {
    for (const Output& output : graph_.outputs()) {
      const std::string where = concat("output ", output.name);
      if (const auto* ref = std::get_if<ValueRef>(&output.argument)) {
        TENON_RETURN_IF_ERROR(defined_at_top(where, ref->id));
        continue;
      }
      const bool is_literal = is_none(output.argument) || std::holds_alternative<bool>(output.argument) ||
                              std::holds_alternative<Expr>(output.argument) ||
                              std::holds_alternative<double>(output.argument);
      if (!is_literal)
        return invalid_argument(concat(where, ": expected a value, none or a number, found ",
                                       describe(graph_, output.argument)))
            .with("value", output.name);
    }
    return {};
  }

  const Graph& graph_;
  std::vector<uint32_t> scope_of_;  // of each value, kNowhere until it is defined
  std::vector<bool> seen_;          // nodes
  std::unordered_set<symbolic::SymbolId> declared_;
  std::unordered_set<std::string> leaf_names_;
  std::unordered_set<std::string> names_;  // "scope:name"
  uint32_t last_scope_ = kTopLevel;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace tenon::graph
