#include "passes/decompose.hpp"

#include <map>
#include <unordered_map>

#include "support/format.hpp"

namespace tenon::passes {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

class Decomposer {
 public:
  explicit Decomposer(Graph& graph) : graph_(graph) {}

  Result<bool> run() {
    const std::vector<NodeId> order = graph_.order();
    for (NodeId id : order) note_missing(id);
    if (!missing_.empty()) return report();
    graph_.set_order({});
    for (NodeId id : order) TENON_RETURN_IF_ERROR(visit(id));
    for (graph::Output& output : graph_.outputs()) map_argument(output.argument);
    for (Graph::WriteBack& write_back : graph_.write_backs()) write_back.value = mapped(write_back.value);
    if (!missing_.empty()) return report();
    return changed_;
  }

 private:
  void note_missing(NodeId id) {
    const graph::Operator& op = *graph_.node(id).op;
    if (!op.primitive && op.decompose == nullptr) ++missing_[op.schema.name];
  }

  Status report() const {
    std::string text = "operators without a decomposition:";
    for (const auto& [name, count] : missing_) append(text, concat(" ", name, " (", count, ")"));
    return unimplemented(text).with("operator", missing_.begin()->first);
  }

  ValueId mapped(ValueId value) const {
    auto it = replaced_.find(value);
    return it == replaced_.end() ? value : it->second;
  }

  void map_argument(graph::Argument& argument) const {
    if (auto* ref = std::get_if<graph::ValueRef>(&argument)) ref->id = mapped(ref->id);
    if (auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
      for (ValueId& value : *list) value = mapped(value);
    }
  }

  // Leaves the node, or what it decomposes to, at the end of the order.
  Status visit(NodeId id) {
    for (graph::Argument& argument : graph_.node(id).arguments) map_argument(argument);
    const graph::Operator& op = *graph_.node(id).op;
    std::vector<NodeId> order = graph_.order();
    if (op.primitive) {
      order.push_back(id);
      graph_.set_order(std::move(order));
      return {};
    }
    if (op.decompose == nullptr) {
      note_missing(id);
      return {};
    }
    changed_ = true;
    // A copy, because new nodes move the old ones in memory.
    Node node;
    node.op = &op;
    node.arguments = graph_.node(id).arguments;
    node.results = graph_.node(id).results;
    node.origin = graph_.node(id).origin;
    node.source = graph_.node(id).source != nullptr ? graph_.node(id).source : &op;
    graph::DecomposeContext context(graph_, node, graph_, node.arguments);
    const size_t first = order.size();
    auto results = op.decompose(context);
    if (!results.ok()) return std::move(results).status().prefixed(concat("decomposing ", op.schema.name));
    if (results->size() != node.results.size()) {
      return internal_error(concat(op.schema.name, ": the decomposition gives ", results->size(), " results, the schema ", node.results.size()));
    }
    graph_.node(id).erased = true;
    const std::vector<NodeId> made(graph_.order().begin() + long(first), graph_.order().end());
    order.resize(first);
    graph_.set_order(std::move(order));
    for (NodeId inner : made) {
      if (graph_.node(inner).origin.empty()) graph_.node(inner).origin = node.origin;
      graph_.node(inner).source = node.source;
      TENON_RETURN_IF_ERROR(visit(inner));
    }
    for (size_t i = 0; i < node.results.size(); ++i) {
      const ValueId to = mapped((*results)[i]);
      if (to != node.results[i]) replaced_[node.results[i]] = to;
    }
    return {};
  }

  Graph& graph_;
  std::unordered_map<ValueId, ValueId> replaced_;
  std::map<std::string, int> missing_;
  bool changed_ = false;
};

}  // namespace

Result<bool> decompose(Graph& graph) { return Decomposer(graph).run(); }

}  // namespace tenon::passes
