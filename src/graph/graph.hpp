// A tensor program: operator calls with ATen's names in SSA form. Shape-polymorphic: sizes are expressions over the
// graph's symbols. In-place operators and views are allowed here; passes/functionalize removes them.
//
// Semantics are PyTorch's eager ones: nodes run in order; a view shares memory with its base; an in-place operator
// changes the memory of its argument and of every view of it; integer arithmetic wraps around; NaN propagates as in
// ATen. Inputs are never changed unless an in-place operator names them (or a view of them).
//
// Single owner. Ids are dense indices, valid for the graph's life; erased nodes keep their id and are skipped by order().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/operators.hpp"
#include "support/blob.hpp"

namespace tenon::graph {

enum class ValueSource : uint8_t { kNode, kInput, kConstant, kState, kRegionInput };

struct Value {
  Type type;
  ValueSource source = ValueSource::kNode;
  NodeId node = 0;         // kNode: who makes it
  uint32_t index = 0;      // which result of the node, or index in inputs()/constants()/states()
  std::string name;        // "x" for inputs and named values, "" for numbered ones
};

struct Region;

struct Node {
  const Operator* op = nullptr;
  std::vector<Argument> arguments;   // one for each schema argument, defaults filled in
  std::vector<ValueId> results;
  std::vector<std::unique_ptr<Region>> regions;  // cond: then, else; while_loop: cond, body; scan: body
  std::string origin;                // where the front end made it (module path), for messages; may be ""
  const Operator* source = nullptr;  // the program's operator that was decomposed into this one, for messages; null: op itself
  bool erased = false;
};

// A nested body. Its nodes live in the same Graph; it sees only its inputs.
struct Region {
  std::vector<ValueId> inputs;
  std::vector<NodeId> nodes;
  std::vector<ValueId> yields;
};

struct Input {
  std::string name;
  ValueId value;
};
struct Output {
  std::string name;
  Argument argument;     // a ValueRef, or a literal (None, int, bool, float) that is returned as it is
};

// Where a constant's bytes are and how the value lies in them. `key` identifies the content (CRC and size, or a hash).
struct Constant {
  std::string name;
  ValueId value;
  Blob bytes;                          // shared; at least the span that dims and strides reach
  int64_t offset_bytes = 0;            // of element 0
  std::vector<int64_t> dims, strides;  // elements
  std::string key;                     // "" until someone computes it
};
// A named mutable tensor (design 3.9).
struct State {
  std::string name;
  ValueId value;
  Blob initial;                        // empty: zeros
};

enum class DimKind : uint8_t { kDeclared, kAuto };
// A symbol the graph's inputs bind.
struct GraphSymbol {
  symbolic::SymbolId symbol;
  DimKind kind = DimKind::kDeclared;
  int64_t min = 0, max = symbolic::kUnbounded, divisor = 1;
};

class Graph {
 public:
  Graph(std::string name, std::shared_ptr<const OperatorRegistry> registry);
  ~Graph();

  const std::string& name() const { return name_; }
  symbolic::Pool& pool() const { return *pool_; }
  symbolic::Facts& facts() { return facts_; }
  const symbolic::Facts& facts() const { return facts_; }
  const OperatorRegistry& registry() const { return *registry_; }
  std::shared_ptr<const OperatorRegistry> shared_registry() const { return registry_; }

  // Symbols. Errors: ALREADY_EXISTS, INVALID_ARGUMENT (empty range, divisor < 1, a name that is no identifier or means
  // something else in the text format).
  Result<Expr> declare_symbol(std::string_view name, int64_t min, int64_t max, int64_t divisor);
  Expr auto_symbol();  // a dim that is free: PyTorch's rules decide at specialization
  const std::vector<GraphSymbol>& symbols() const { return symbols_; }
  const GraphSymbol* find(symbolic::SymbolId symbol) const;

  // Leaves. Names must be unique among inputs, constants, states.
  Result<ValueId> add_input(std::string_view name, Type type);
  Result<ValueId> add_constant(Constant constant, DType dtype);
  Result<ValueId> add_state(std::string_view name, Type type, Blob initial);

  // Appends a call: `arguments` in schema order, trailing ones may be left out when they have defaults. Checks arguments
  // against the schema and infers types. Errors: NOT_FOUND (operator), INVALID_ARGUMENT.
  Result<NodeId> add_node(std::string_view op, std::vector<Argument> arguments);
  Result<NodeId> add_node(const Operator& op, std::vector<Argument> arguments);
  // For front ends that name arguments: positional ones first, the rest by name. Errors besides those of add_node:
  // an unknown name, an argument given twice, a keyword-only argument given by position.
  // `results` is needed only when the operator returns a list and its types are pending: how many tensors it has.
  using NamedArgument = std::pair<std::string, Argument>;
  Result<NodeId> add_node_named(std::string_view op, std::vector<Argument> positional,
                                std::vector<NamedArgument> named, std::optional<size_t> results = std::nullopt);
  // The one result of a new call.
  Result<ValueId> call(std::string_view op, std::vector<Argument> arguments);
  void add_output(std::string_view name, Argument argument);
  // `value` is stored into `target`, an input or state, after all nodes have run.
  void add_write_back(ValueId target, ValueId value);
  // Node with regions (higher_order.cond, while_loop, scan), types of results given.
  NodeId add_region_node(const Operator& op, std::vector<Argument> arguments, std::vector<std::unique_ptr<Region>> regions,
                         std::vector<Type> types);
  ValueId add_region_input(Region& region, std::string_view name, Type type);
  // While set, add_node appends into this region instead of the top level. Null: top level. Gives the previous one.
  Region* enter(Region* region);

  // Look.
  const std::vector<NodeId>& order() const { return order_; }   // top-level nodes in order, erased ones dropped
  const Node& node(NodeId id) const { return nodes_[id]; }
  Node& node(NodeId id) { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  const Type& type(ValueId id) const { return values_[id].type; }
  // Names a top-level value for the text format; a name that is taken or cannot be written leaves it numbered.
  void set_value_name(ValueId value, std::string_view name);
  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  std::vector<Output>& outputs() { return outputs_; }
  const std::vector<Constant>& constants() const { return constants_; }
  std::vector<Constant>& constants() { return constants_; }
  const std::vector<State>& states() const { return states_; }
  // For a value that a write-back at the end stores into an input or state (made by functionalize).
  struct WriteBack {
    ValueId target;  // an input or state value
    ValueId value;
  };
  const std::vector<WriteBack>& write_backs() const { return write_backs_; }
  std::vector<WriteBack>& write_backs() { return write_backs_; }

  // Change. Values that an argument refers to, in order (tensors, lists and SSA scalars).
  static std::vector<ValueId> uses(const Node& node);
  // Replaces `from` in the arguments of every live node, outputs and write-backs.
  void replace_uses(ValueId from, ValueId to);
  void erase(NodeId node);              // its results must be unused
  void set_order(std::vector<NodeId> order);
  // How many live uses (nodes, outputs, write-backs) each value has.
  std::vector<uint32_t> use_counts() const;

  // A deep copy with a Pool of its own (symbols and ids keep their numbers); blobs are shared; facts are copied.
  std::unique_ptr<Graph> clone() const;

 private:
  ValueId add_value(Type type, ValueSource source, NodeId node, size_t index, std::string_view name);
  Status claim_leaf_name(std::string_view name);
  std::string free_value_name(std::string_view wanted);
  Result<NodeId> append(const Operator& op, std::vector<Argument> arguments, std::optional<size_t> results);
  Result<std::vector<Type>> infer_types(const Operator& op, const std::vector<Argument>& arguments,
                                        std::optional<size_t> results);
  Result<const Operator*> operator_named(std::string_view name) const;
  NodeId push_node(Node node, std::vector<Type> types);
  void drop_from_order(NodeId node);

  std::string name_;
  std::shared_ptr<const OperatorRegistry> registry_;
  std::unique_ptr<symbolic::Pool> pool_;
  symbolic::Facts facts_;
  std::vector<GraphSymbol> symbols_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Constant> constants_;
  std::vector<State> states_;
  std::vector<WriteBack> write_backs_;
  Region* region_ = nullptr;
  std::unordered_set<std::string> leaf_names_;   // of inputs, constants and states
  std::unordered_set<std::string> value_names_;  // "%x" of leaves
};

// Rebuilds a graph node by node into a new one (the way most passes work): old values map to new ones.
// `rewrite` returns the new results of a node, or nullopt to copy it.
class DecomposeContext {
 public:
  DecomposeContext(const Graph& source, const Node& node, Graph& into, std::vector<Argument> arguments)
      : source_(source), node_(node), into_(into), arguments_(std::move(arguments)) {}

  Graph& graph() { return into_; }
  symbolic::Pool& pool() { return into_.pool(); }
  const Node& node() const { return node_; }
  // Arguments with values already mapped into the new graph.
  const Argument& argument(size_t index) const { return arguments_[index]; }
  bool absent(size_t index) const { return is_none(arguments_[index]); }
  ValueId tensor(size_t index) const { return std::get<ValueRef>(arguments_[index]).id; }
  const Type& type(ValueId value) const { return into_.type(value); }
  const Type& result_type(size_t index) const { return source_.type(node_.results[index]); }
  // Appends a call in the new graph. A failure is our own mistake in a decomposition and comes back as INTERNAL.
  Result<ValueId> call(std::string_view op, std::vector<Argument> arguments);

 private:
  const Graph& source_;
  const Node& node_;
  Graph& into_;
  std::vector<Argument> arguments_;
};

}  // namespace tenon::graph
