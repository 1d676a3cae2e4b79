#include "graph/print.hpp"

#include <unordered_set>

#include "graph/element.hpp"
#include "graph/expr_map.hpp"
#include "graph/inline_data.hpp"
#include "graph/regions.hpp"
#include "graph/text_names.hpp"
#include "support/format.hpp"

namespace tenon::graph {

std::string print(Device device) {
  if (device.kind == DeviceKind::kCpu) return "cpu";
  return concat("cuda:", device.index);
}

std::string_view print(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::kContiguous: return "contiguous_format";
    case MemoryFormat::kChannelsLast: return "channels_last";
    case MemoryFormat::kChannelsLast3d: return "channels_last_3d";
    case MemoryFormat::kPreserve: return "preserve_format";
  }
  return "?";
}

std::string print(const symbolic::Pool& pool, const Type& type) {
  if (type.pending) return "??";
  std::string out(name(type.dtype));
  if (type.is_scalar()) return out;
  const auto append_exprs = [&](char open, const std::vector<Expr>& exprs, char close) {
    out += open;
    for (size_t index = 0; index < exprs.size(); ++index) {
      if (index > 0) out += ", ";
      out += pool.print(exprs[index]);
    }
    out += close;
  };
  append_exprs('[', type.dims, ']');
  if (!type.strides.empty()) append_exprs('{', type.strides, '}');
  return out;
}

namespace {

// What a dim that mentions an auto symbol looks like.
enum class AutoDims : uint8_t {
  kLeaf,     // "?" where it is first met, then its label
  kGiven,    // its label: nothing could infer it
  kDerived,  // "??"
};
using Scope = std::unordered_set<std::string>;

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), to_text_(graph.pool(), text_pool_) {
    names_.resize(graph.value_count());
    for (const GraphSymbol& symbol : graph.symbols()) {
      if (symbol.kind == DimKind::kAuto) {
        auto_symbols_.insert(symbol.symbol);
      } else {
        bind(symbol.symbol, graph.pool().symbol_name(symbol.symbol));
      }
    }
    device_ = graph_device();
  }

  std::string print() {
    Scope scope;
    std::string inputs;
    for (const Input& input : graph_.inputs()) {
      if (!inputs.empty()) inputs += ", ";
      define(input.value, scope);
      inputs += names_[input.value];
      if (names_[input.value].substr(1) != input.name) append(inputs, " ", json_quoted(input.name));
      append(inputs, ": ", type(graph_.type(input.value), AutoDims::kLeaf));
    }
    std::string body = leaves(scope);
    nodes(body, graph_.order(), scope, 1);
    for (const Graph::WriteBack& write : graph_.write_backs())
      append(body, "  write ", reference(write.target), " = ", reference(write.value), "\n");
    body += "  return";
    for (size_t index = 0; index < graph_.outputs().size(); ++index)
      append(body, index > 0 ? ", " : " ", argument(graph_.outputs()[index].argument));

    std::string out = "graph @";
    append_name(out, graph_.name());
    append(out, "(", inputs, ") -> (");
    for (size_t index = 0; index < graph_.outputs().size(); ++index) {
      if (index > 0) out += ", ";
      append_name(out, graph_.outputs()[index].name);
      append(out, ": ", output_type(graph_.outputs()[index].argument));
    }
    append(out, ") on ", graph::print(device_), where(), " {\n", body, "\n}\n");
    return out;
  }

 private:
  template <typename... Parts>
  static void append(std::string& out, const Parts&... parts) {
    (tenon::append(out, parts), ...);
  }

  void bind(symbolic::SymbolId symbol, std::string_view name) {
    to_text_.bind(symbol, text_pool_.of(text_pool_.symbol(name, symbolic::SymbolKind::kSize)));
  }

  // Names for symbols that are met for the first time.
  void meet(Expr expr) {
    for (symbolic::SymbolId symbol : graph_.pool().symbols(expr)) {
      if (to_text_.bound(symbol)) continue;
      if (auto_symbols_.contains(symbol)) {
        bind(symbol, concat("?", auto_count_++));
      } else if (graph_.pool().symbol_kind(symbol) == symbolic::SymbolKind::kUnbacked) {
        std::string name;
        do name = concat("u", unbacked_count_++);
        while (text_pool_.find_symbol(name));
        bind(symbol, name);
      } else {
        bind(symbol, graph_.pool().symbol_name(symbol));
      }
    }
  }

  std::string expr(Expr expr) {
    meet(expr);
    return text_pool_.print(to_text_(expr));
  }

  std::string size(Expr size, AutoDims style) {
    const auto is_auto = [&](symbolic::SymbolId symbol) { return auto_symbols_.contains(symbol); };
    if (style == AutoDims::kLeaf && graph_.pool().kind(size) == symbolic::Kind::kSymbol) {
      const symbolic::SymbolId symbol = graph_.pool().symbol_of(size);
      if (is_auto(symbol) && !to_text_.bound(symbol)) {
        meet(size);
        return "?";
      }
    }
    if (style == AutoDims::kDerived) {
      for (symbolic::SymbolId symbol : graph_.pool().symbols(size)) {
        if (is_auto(symbol)) return "??";
      }
    }
    return expr(size);
  }

  std::string type(const Type& type, AutoDims style) {
    if (type.pending) return "??";
    std::string out(name(type.dtype));
    if (type.is_scalar()) return out;
    append_sizes(out, '[', type.dims, ']', style);
    if (!type.strides.empty()) append_sizes(out, '{', type.strides, '}', style);
    if (type.device != device_) append(out, " on ", graph::print(type.device));
    return out;
  }
  void append_sizes(std::string& out, char open, const std::vector<Expr>& sizes, char close, AutoDims style) {
    out += open;
    for (size_t index = 0; index < sizes.size(); ++index) append(out, index > 0 ? ", " : "", size(sizes[index], style));
    out += close;
  }

  // The device of the first leaf that is a tensor.
  Device graph_device() const {
    for (ValueId value = 0; value < graph_.value_count(); ++value) {
      const ValueSource source = graph_.value(value).source;
      if (source == ValueSource::kNode || source == ValueSource::kRegionInput) continue;
      const Type& type = graph_.type(value);
      if (!type.pending && !type.is_scalar()) return type.device;
    }
    return {};
  }

  std::string where() {
    std::string out;
    for (const GraphSymbol& symbol : graph_.symbols()) {
      if (symbol.kind == DimKind::kAuto) continue;
      const auto bound = [](int64_t value) {
        if (value == symbolic::kUnbounded) return std::string("inf");
        return value == -symbolic::kUnbounded ? std::string("-inf") : concat(value);
      };
      append(out, out.empty() ? " where " : ", ", graph_.pool().symbol_name(symbol.symbol), " in [", bound(symbol.min),
             ", ", bound(symbol.max), "]");
      if (symbol.divisor != 1) append(out, " multiple of ", symbol.divisor);
    }
    return out;
  }

  // Gives a value its name: its own if it can be written and nobody in the scope has it, else the next number.
  void define(ValueId value, Scope& scope) {
    const std::string& own = graph_.value(value).name;
    if (is_value_name(own) && scope.insert(own).second) {
      names_[value] = "%" + own;
    } else {
      names_[value] = concat("%", number_++);
    }
  }
  std::string reference(ValueId value) const {
    if (value == kNoValue) return "none";
    if (value >= names_.size() || names_[value].empty()) return concat("%!", value);
    return names_[value];
  }

  std::string leaves(Scope& scope) {
    std::string out;
    for (const Constant& constant : graph_.constants()) {
      define(constant.value, scope);
      leaf(out, "constant", constant.name, constant.value, inline_data(graph_, constant));
    }
    for (const State& state : graph_.states()) {
      define(state.value, scope);
      leaf(out, "state", state.name, state.value, inline_data(graph_, state));
    }
    return out;
  }
  void leaf(std::string& out, std::string_view word, std::string_view name, ValueId value, const std::string& data) {
    append(out, "  ", names_[value], " = ", word, " ", json_quoted(name), data.empty() ? "" : " = ", data, " : ",
           type(graph_.type(value), AutoDims::kLeaf), "\n");
  }

  void nodes(std::string& out, const std::vector<NodeId>& order, Scope& scope, size_t depth) {
    for (NodeId id : order) {
      if (id < graph_.node_count()) node(out, graph_.node(id), scope, depth);
    }
  }

  void node(std::string& out, const Node& node, Scope& scope, size_t depth) {
    std::string call = node.op->schema.name;
    call += "(";
    call += arguments(node);
    call += ")";
    out.append(2 * depth, ' ');
    for (size_t index = 0; index < node.results.size(); ++index) {
      define(node.results[index], scope);
      append(out, index > 0 ? ", " : "", names_[node.results[index]]);
    }
    append(out, node.results.empty() ? "" : " = ", call);
    const auto words = region_words(*node.op);
    for (size_t index = 0; index < node.regions.size(); ++index)
      region(out, index < words.size() ? words[index] : "region", *node.regions[index], depth);
    const AutoDims style = node.regions.empty() ? AutoDims::kDerived : AutoDims::kGiven;
    for (size_t index = 0; index < node.results.size(); ++index)
      append(out, index > 0 ? ", " : " : ", type(graph_.type(node.results[index]), style));
    out += "\n";
  }

  void region(std::string& out, std::string_view word, const Region& region, size_t depth) {
    Scope scope;
    append(out, " ", word, " (");
    for (size_t index = 0; index < region.inputs.size(); ++index) {
      define(region.inputs[index], scope);
      append(out, index > 0 ? ", " : "", names_[region.inputs[index]], ": ",
             type(graph_.type(region.inputs[index]), AutoDims::kGiven));
    }
    out += ") {\n";
    nodes(out, region.nodes, scope, depth + 1);
    out.append(2 * depth + 2, ' ');
    out += "yield";
    for (size_t index = 0; index < region.yields.size(); ++index)
      append(out, index > 0 ? ", " : " ", reference(region.yields[index]));
    out += "\n";
    out.append(2 * depth, ' ');
    out += "}";
  }

  // Positional ones up to the last that differs from its default, keyword-only ones by name.
  std::string arguments(const Node& node) {
    const std::vector<SchemaArgument>& slots = node.op->schema.arguments;
    const size_t count = std::min(slots.size(), node.arguments.size());
    const auto is_default = [&](size_t index) {
      if (!slots[index].has_default) return false;
      const auto value = default_argument(slots[index], graph_.pool());
      return value.ok() && same_argument(*value, node.arguments[index]);
    };
    size_t positional = 0;
    for (size_t index = 0; index < count && !slots[index].keyword_only; ++index) {
      if (!is_default(index)) positional = index + 1;
    }
    std::string out;
    for (size_t index = 0; index < count; ++index) {
      if (slots[index].keyword_only ? is_default(index) : index >= positional) continue;
      if (!out.empty()) out += ", ";
      if (slots[index].keyword_only) append(out, slots[index].name, "=");
      out += argument(node.arguments[index]);
    }
    return out;
  }

  template <typename List, typename Print>
  std::string list(const List& elements, Print print_element) {
    std::string out = "[";
    for (size_t index = 0; index < elements.size(); ++index)
      append(out, index > 0 ? ", " : "", print_element(elements[index]));
    return out + "]";
  }

  std::string argument(const Argument& argument) {
    struct Print {
      Printer& printer;
      std::string operator()(std::monostate) const { return "none"; }
      std::string operator()(bool value) const { return concat(value); }
      std::string operator()(Expr value) const { return printer.expr(value); }
      std::string operator()(double value) const { return concat(value); }
      std::string operator()(const std::string& value) const { return json_quoted(value); }
      std::string operator()(DType value) const { return std::string(name(value)); }
      std::string operator()(Device value) const { return graph::print(value); }
      std::string operator()(MemoryFormat value) const { return std::string(graph::print(value)); }
      std::string operator()(Layout) const { return "strided"; }
      std::string operator()(ValueRef value) const { return printer.reference(value.id); }
      std::string operator()(const std::vector<ValueId>& values) const {
        return printer.list(values, [&](ValueId value) { return printer.reference(value); });
      }
      std::string operator()(const std::vector<Expr>& values) const {
        return printer.list(values, [&](Expr value) { return printer.expr(value); });
      }
      std::string operator()(const std::vector<double>& values) const {
        return printer.list(values, [](double value) { return concat(value); });
      }
      std::string operator()(const std::vector<bool>& values) const {
        return printer.list(values, [](bool value) { return concat(value); });
      }
    };
    return std::visit(Print{*this}, argument);
  }

  std::string output_type(const Argument& argument) {
    if (const auto* ref = std::get_if<ValueRef>(&argument))
      return ref->id < graph_.value_count() ? type(graph_.type(ref->id), AutoDims::kDerived) : "??";
    if (std::holds_alternative<bool>(argument)) return "bool";
    if (std::holds_alternative<Expr>(argument)) return "i64";
    if (std::holds_alternative<double>(argument)) return "f64";
    return "none";
  }

  const Graph& graph_;
  // Its symbols are numbered in the order of the text, so that expressions do not depend on the graph's history.
  symbolic::Pool text_pool_;
  ExprMap to_text_;
  std::unordered_set<symbolic::SymbolId> auto_symbols_;
  std::vector<std::string> names_;
  Device device_;
  size_t number_ = 0;
  size_t auto_count_ = 0;
  size_t unbacked_count_ = 0;
};

}  // namespace

std::string print(const Graph& graph) { return Printer(graph).print(); }

}  // namespace tenon::graph
