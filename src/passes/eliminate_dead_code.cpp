#include "passes/eliminate_dead_code.hpp"

#include <algorithm>

namespace tenon::passes {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

class Sweep {
 public:
  explicit Sweep(Graph& graph) : graph_(graph), live_(graph.value_count(), false) {}

  bool run() {
    std::vector<ValueId> uses;
    for (const graph::Output& output : graph_.outputs()) append_uses(output.argument, uses);
    for (const Graph::WriteBack& write : graph_.write_backs()) uses.push_back(write.value);
    mark(uses);
    std::vector<NodeId> order = graph_.order();
    if (sweep(order)) graph_.set_order(std::move(order));
    return changed_;
  }

 private:
  void mark(const std::vector<ValueId>& values) {
    for (ValueId value : values) live_[value] = true;
  }

  // A node with regions stays when one of them holds a node that must stay.
  bool must_stay(const Node& node) const {
    if (node.op->effect || node.op->random || node.op->schema.mutates()) return true;
    for (const auto& region : node.regions) {
      for (NodeId inner : region->nodes) {
        if (must_stay(graph_.node(inner))) return true;
      }
    }
    return std::any_of(node.results.begin(), node.results.end(), [&](ValueId value) { return live_[value]; });
  }

  bool sweep(std::vector<NodeId>& order) {
    std::vector<NodeId> kept;
    for (size_t position = order.size(); position-- > 0;) {
      Node& node = graph_.node(order[position]);
      if (!must_stay(node)) {
        erase(node);
        continue;
      }
      kept.push_back(order[position]);
      mark(Graph::uses(node));
      for (auto& region : node.regions) {
        mark(region->yields);
        sweep(region->nodes);
      }
    }
    const bool dropped = kept.size() != order.size();
    std::reverse(kept.begin(), kept.end());
    order = std::move(kept);
    return dropped;
  }

  void erase(Node& node) {
    changed_ = true;
    node.erased = true;
    for (auto& region : node.regions) {
      for (NodeId inner : region->nodes) erase(graph_.node(inner));
      region->nodes.clear();
    }
  }

  Graph& graph_;
  std::vector<bool> live_;
  bool changed_ = false;
};

}  // namespace

Result<bool> eliminate_dead_code(Graph& graph) { return Sweep(graph).run(); }

}  // namespace tenon::passes
