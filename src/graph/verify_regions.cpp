#include "graph/verify_regions.hpp"

#include "graph/print.hpp"
#include "graph/regions.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

using Types = std::vector<Type>;

class RegionChecker {
 public:
  RegionChecker(const Graph& graph, const Node& node) : graph_(graph), node_(node) {
    for (ValueId value : node.results) results_.push_back(graph.type(value));
    for (const Argument& argument : node.arguments) {
      if (const auto* values = std::get_if<std::vector<ValueId>>(&argument)) lists_.push_back(types(*values));
    }
  }

  Status run() {
    const auto words = region_words(*node_.op);
    if (node_.regions.size() != words.size())
      return error(concat("expected ", words.size(), " regions, found ", node_.regions.size()));
    if (words.empty()) return {};
    if (node_.op->schema.name == "higher_order.cond") return cond();
    return node_.op->schema.name == "higher_order.scan" ? scan() : while_loop();
  }

 private:
  Status error(std::string_view problem) const {
    return invalid_argument(concat(node_.op->schema.name, ": ", problem)).with("operator", node_.op->schema.name);
  }
  Types types(const std::vector<ValueId>& values) const {
    Types types;
    for (ValueId value : values) {
      if (value != kNoValue) types.push_back(graph_.type(value));
    }
    return types;
  }
  Types list(size_t index) const { return index < lists_.size() ? lists_[index] : Types(); }
  static Types joined(Types first, const Types& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  Status same(std::string_view what, const Types& expected, const Types& found) const {
    if (expected.size() != found.size())
      return error(concat(what, ": expected ", expected.size(), ", found ", found.size()));
    for (size_t index = 0; index < expected.size(); ++index) {
      if (same_element_types(graph_, expected[index], found[index])) continue;
      return error(concat(what, " ", index, ": expected ", print(graph_.pool(), expected[index]), ", found ",
                          print(graph_.pool(), found[index])));
    }
    return {};
  }
  Status one_bool(std::string_view what, const Types& found) const {
    const bool fits = found.size() == 1 &&
                      (found[0].pending || (found[0].dtype == DType::kBool && found[0].dims.empty()));
    return fits ? Status() : error(concat(what, ": expected one bool"));
  }

  Status cond() {
    const auto* predicate = node_.arguments.empty() ? nullptr : std::get_if<ValueRef>(&node_.arguments[0]);
    if (predicate != nullptr) TENON_RETURN_IF_ERROR(one_bool("predicate", {graph_.type(predicate->id)}));
    for (size_t index = 0; index < 2; ++index) {
      const std::string word(region_words(*node_.op)[index]);
      const Region& region = *node_.regions[index];
      TENON_RETURN_IF_ERROR(same(word + " input", list(0), types(region.inputs)));
      TENON_RETURN_IF_ERROR(same(word + " yield", results_, types(region.yields)));
    }
    return {};
  }

  Status while_loop() {
    const Types inputs = joined(list(0), list(1));
    TENON_RETURN_IF_ERROR(same("cond input", inputs, types(node_.regions[0]->inputs)));
    TENON_RETURN_IF_ERROR(same("body input", inputs, types(node_.regions[1]->inputs)));
    TENON_RETURN_IF_ERROR(one_bool("cond yield", types(node_.regions[0]->yields)));
    TENON_RETURN_IF_ERROR(same("body yield", list(0), types(node_.regions[1]->yields)));
    return same("result", list(0), results_);
  }

  Status scan() {
    const Types carried = list(0);
    Types inputs = carried;
    std::optional<Expr> steps;
    for (Type slice : list(1)) {
      if (!slice.pending) {
        if (slice.dims.empty()) return error("scanned operand: expected a dim 0 to scan along, found none");
        steps = slice.dims.front();
        slice.dims.erase(slice.dims.begin());
        slice.strides.clear();
      }
      inputs.push_back(std::move(slice));
    }
    const Region& body = *node_.regions[0];
    TENON_RETURN_IF_ERROR(same("body input", joined(std::move(inputs), list(2)), types(body.inputs)));
    Types yields = types(body.yields);
    if (yields.size() < carried.size())
      return error(concat("body yield: expected at least ", carried.size(), ", found ", yields.size()));
    TENON_RETURN_IF_ERROR(same("body yield", carried, Types(yields.begin(), yields.begin() + long(carried.size()))));
    Types results = carried;
    for (size_t index = carried.size(); index < yields.size(); ++index) {
      Type stacked = yields[index];
      if (steps && !stacked.pending) stacked.dims.insert(stacked.dims.begin(), *steps);
      results.push_back(steps ? std::move(stacked) : pending_type());
    }
    return same("result", results, results_);
  }

  const Graph& graph_;
  const Node& node_;
  Types results_;
  std::vector<Types> lists_;  // of the Tensor[] arguments, in order
};

}  // namespace

bool same_element_types(const Graph& graph, const Type& a, const Type& b) {
  if (a.pending || b.pending) return true;
  if (a.dtype != b.dtype || a.kind != b.kind || a.device != b.device || a.dims.size() != b.dims.size()) return false;
  if (a.dims == b.dims) return true;
  // Two sizes that facts hold equal may still be written in two ways; proofs do not change the facts.
  symbolic::Facts facts = graph.facts();
  for (size_t dim = 0; dim < a.dims.size(); ++dim) {
    if (a.dims[dim] != b.dims[dim] && !facts.provably_equal(a.dims[dim], b.dims[dim])) return false;
  }
  return true;
}

Status verify_regions(const Graph& graph, const Node& node) {
  // Dangling results are the caller's to report.
  for (ValueId value : node.results) {
    if (value >= graph.value_count()) return {};
  }
  return RegionChecker(graph, node).run();
}

}  // namespace tenon::graph
