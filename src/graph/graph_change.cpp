// Changes of a built graph: uses, erasing, order.
#include <algorithm>

#include "graph/graph.hpp"

namespace tenon::graph {
namespace {

void replace(Argument& argument, ValueId from, ValueId to) {
  if (auto* ref = std::get_if<ValueRef>(&argument); ref != nullptr && ref->id == from) ref->id = to;
  if (auto* list = std::get_if<std::vector<ValueId>>(&argument)) std::replace(list->begin(), list->end(), from, to);
}

}  // namespace

std::vector<ValueId> Graph::uses(const Node& node) {
  std::vector<ValueId> uses;
  for (const Argument& argument : node.arguments) append_uses(argument, uses);
  return uses;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes_) {
    if (node.erased) continue;
    for (Argument& argument : node.arguments) replace(argument, from, to);
    for (auto& region : node.regions) std::replace(region->yields.begin(), region->yields.end(), from, to);
  }
  for (Output& output : outputs_) replace(output.argument, from, to);
  for (WriteBack& write : write_backs_) {
    if (write.value == from) write.value = to;
  }
}

void Graph::drop_from_order(NodeId node) {
  const auto drop = [&](std::vector<NodeId>& order) {
    const auto found = std::find(order.begin(), order.end(), node);
    if (found == order.end()) return false;
    order.erase(found);
    return true;
  };
  if (drop(order_)) return;
  if (region_ != nullptr && drop(region_->nodes)) return;
  for (Node& other : nodes_) {
    for (auto& region : other.regions) {
      if (drop(region->nodes)) return;
    }
  }
}

void Graph::erase(NodeId node) {
  drop_from_order(node);
  nodes_[node].erased = true;
  // What its regions hold goes with it.
  for (auto& region : nodes_[node].regions) {
    while (!region->nodes.empty()) {
      const NodeId inner = region->nodes.back();
      region->nodes.pop_back();
      erase(inner);
    }
  }
}

void Graph::set_order(std::vector<NodeId> order) { order_ = std::move(order); }

std::vector<uint32_t> Graph::use_counts() const {
  std::vector<uint32_t> counts(values_.size(), 0);
  const auto count = [&](ValueId value) {
    if (value < counts.size()) ++counts[value];
  };
  std::vector<ValueId> uses;
  for (const Node& node : nodes_) {
    if (node.erased) continue;
    for (const Argument& argument : node.arguments) append_uses(argument, uses);
    for (const auto& region : node.regions) uses.insert(uses.end(), region->yields.begin(), region->yields.end());
  }
  for (const Output& output : outputs_) append_uses(output.argument, uses);
  for (const WriteBack& write : write_backs_) uses.push_back(write.value);
  for (ValueId value : uses) count(value);
  return counts;
}

}  // namespace tenon::graph
