// What the nodes of an archive call, found before anything is built.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "graph/operators.hpp"
#include "import/json_view.hpp"

namespace tenon::import {

enum class TargetKind : uint8_t {
  kOperator,    // of the registry
  kSize,        // arithmetic on sizes, whose results the archive gives as expressions
  kAssertion,   // of a condition on sizes
  kSizeRange,   // says the range of a size, which the archive gives elsewhere too
  kInlined,     // a higher-order operator that only runs its graph
  kUnsupported,
};

struct Target {
  TargetKind kind = TargetKind::kUnsupported;
  std::string name;                       // canonical: "aten.add.Tensor", "higher_order.cond"
  const graph::Operator* op = nullptr;    // of kOperator
};
// Errors: INVALID_ARGUMENT (malformed node).
Result<Target> classify(JsonView node, const graph::OperatorRegistry& registry);

// {"inputs": [{"name": .., "arg": ..}, ..]} of a node: the argument called `name`, if it is there.
std::optional<JsonView> find_argument(JsonView node, std::string_view name);

// The parts of a node of kind kInlined.
struct InlinedGraph {
  JsonView graph;
  std::vector<JsonView> operands;
};
Result<InlinedGraph> inlined_graph(JsonView node);

// One error that lists every unsupported operator with its number of calls, nested graphs included.
Status check_operators(JsonView graph, const graph::OperatorRegistry& registry);

// Names of the graph's inputs that some node changes in place, itself or through a view.
Result<std::set<std::string>> mutated_inputs(JsonView graph, const graph::OperatorRegistry& registry);

}  // namespace tenon::import
