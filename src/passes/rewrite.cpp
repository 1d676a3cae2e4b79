#include "passes/rewrite.hpp"

#include <unordered_map>

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

class Rewriting {
 public:
  Rewriting(Graph& graph, const RewriteRule& rule) : graph_(graph), rule_(rule) {}

  Result<bool> run() {
    TENON_ASSIGN_OR_RETURN(std::vector<NodeId> order, walk(graph_.order(), nullptr));
    graph_.set_order(std::move(order));
    for (graph::Output& output : graph_.outputs()) map(output.argument);
    for (Graph::WriteBack& write : graph_.write_backs()) write.value = mapped(write.value);
    return changed_;
  }

 private:
  ValueId mapped(ValueId value) const {
    const auto found = replaced_.find(value);
    return found == replaced_.end() ? value : found->second;
  }

  void map(Argument& argument) const {
    if (auto* ref = std::get_if<graph::ValueRef>(&argument)) ref->id = mapped(ref->id);
    if (auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
      for (ValueId& value : *list) value = mapped(value);
    }
  }

  // Takes what was added to the body since it was last emptied.
  std::vector<NodeId> take_added(graph::Region* region) {
    if (region != nullptr) return std::exchange(region->nodes, {});
    std::vector<NodeId> added = graph_.order();
    graph_.set_order({});
    return added;
  }

  Status inside(NodeId id) {
    for (size_t index = 0; index < graph_.node(id).regions.size(); ++index) {
      graph::Region* region = graph_.node(id).regions[index].get();
      TENON_ASSIGN_OR_RETURN(std::vector<NodeId> nodes, walk(region->nodes, region));
      region->nodes = std::move(nodes);
      for (ValueId& value : region->yields) value = mapped(value);
    }
    return {};
  }

  Result<std::vector<NodeId>> walk(std::vector<NodeId> order, graph::Region* region) {
    std::vector<NodeId> done;
    done.reserve(order.size());
    graph::Region* outer = graph_.enter(region);
    take_added(region);
    const Status status = walk_body(order, region, done);
    graph_.enter(outer);
    if (!status.ok()) return status;
    return done;
  }

  Status walk_body(const std::vector<NodeId>& order, graph::Region* region, std::vector<NodeId>& done) {
    for (NodeId id : order) {
      for (Argument& argument : graph_.node(id).arguments) map(argument);
      TENON_RETURN_IF_ERROR(inside(id));
      bool touched = false;
      TENON_ASSIGN_OR_RETURN(const std::optional<ValueId> made, rule_(id, touched));
      changed_ = changed_ || touched || made.has_value();
      for (NodeId added : take_added(region)) {
        if (!made) {
          graph_.node(added).erased = true;
          continue;
        }
        if (graph_.node(added).origin.empty()) graph_.node(added).origin = graph_.node(id).origin;
        done.push_back(added);
      }
      if (!made) {
        done.push_back(id);
        continue;
      }
      TENON_CHECK(graph_.node(id).results.size() == 1);
      replaced_[graph_.node(id).results.front()] = *made;
      graph_.node(id).erased = true;
    }
    return {};
  }

  Graph& graph_;
  const RewriteRule& rule_;
  std::unordered_map<ValueId, ValueId> replaced_;
  bool changed_ = false;
};

}  // namespace

Result<bool> rewrite_nodes(Graph& graph, const RewriteRule& rule) { return Rewriting(graph, rule).run(); }

}  // namespace tenon::passes
