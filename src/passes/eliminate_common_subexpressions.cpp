#include "passes/eliminate_common_subexpressions.hpp"

#include <bit>
#include <functional>
#include <unordered_map>

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

void mix(size_t& seed, size_t value) { seed ^= value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2); }

// Arguments that are the same have the same hash; other kinds than these tell little apart.
size_t hash_of(const Argument& argument) {
  size_t seed = argument.index();
  if (const auto* value = std::get_if<symbolic::Expr>(&argument)) mix(seed, value->id);
  if (const auto* value = std::get_if<double>(&argument)) {
    mix(seed, *value != *value ? 0 : std::bit_cast<uint64_t>(*value));  // every NaN alike
  }
  if (const auto* value = std::get_if<bool>(&argument)) mix(seed, *value);
  if (const auto* value = std::get_if<DType>(&argument)) mix(seed, size_t(*value));
  if (const auto* value = std::get_if<std::string>(&argument)) mix(seed, std::hash<std::string>()(*value));
  if (const auto* value = std::get_if<graph::ValueRef>(&argument)) mix(seed, value->id);
  if (const auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
    for (ValueId value : *list) mix(seed, value);
  }
  if (const auto* list = std::get_if<std::vector<symbolic::Expr>>(&argument)) {
    for (symbolic::Expr value : *list) mix(seed, value.id);
  }
  return seed;
}

size_t hash_of(const Node& node) {
  size_t seed = std::hash<const void*>()(node.op);
  for (const Argument& argument : node.arguments) mix(seed, hash_of(argument));
  return seed;
}

class Merge {
 public:
  explicit Merge(Graph& graph) : graph_(graph) {}

  bool run() {
    std::vector<NodeId> order = graph_.order();
    merge(order);
    graph_.set_order(std::move(order));
    for (graph::Output& output : graph_.outputs()) map(output.argument);
    for (Graph::WriteBack& write : graph_.write_backs()) write.value = mapped(write.value);
    return !replaced_.empty();
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

  bool same_call(const Node& a, const Node& b) const {
    if (a.op != b.op || a.results.size() != b.results.size()) return false;
    for (size_t index = 0; index < a.arguments.size(); ++index) {
      if (!same_argument(a.arguments[index], b.arguments[index])) return false;
    }
    for (size_t index = 0; index < a.results.size(); ++index) {
      const graph::Type& type = graph_.type(a.results[index]);
      if (type.pending || type != graph_.type(b.results[index])) return false;
    }
    return true;
  }

  void merge(std::vector<NodeId>& order) {
    std::unordered_multimap<size_t, NodeId> seen;
    std::vector<NodeId> kept;
    for (NodeId id : order) {
      Node& node = graph_.node(id);
      for (Argument& argument : node.arguments) map(argument);
      for (auto& region : node.regions) {
        merge(region->nodes);
        for (ValueId& value : region->yields) value = mapped(value);
      }
      const bool pure = !node.op->random && !node.op->effect && !node.op->schema.mutates() && node.regions.empty() &&
                        !node.results.empty();
      if (pure && merge_into(seen, id)) continue;
      kept.push_back(id);
    }
    order = std::move(kept);
  }

  bool merge_into(std::unordered_multimap<size_t, NodeId>& seen, NodeId id) {
    Node& node = graph_.node(id);
    const size_t hash = hash_of(node);
    const auto [first, last] = seen.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      const Node& earlier = graph_.node(it->second);
      if (!same_call(earlier, node)) continue;
      for (size_t index = 0; index < node.results.size(); ++index) {
        replaced_[node.results[index]] = earlier.results[index];
      }
      node.erased = true;
      return true;
    }
    seen.emplace(hash, id);
    return false;
  }

  Graph& graph_;
  std::unordered_map<ValueId, ValueId> replaced_;
};

}  // namespace

Result<bool> eliminate_common_subexpressions(Graph& graph) { return Merge(graph).run(); }

}  // namespace tenon::passes
