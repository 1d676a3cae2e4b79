// The walk that local passes share: every node of a graph in order, regions included, through one rule.
#pragma once

#include <functional>
#include <optional>

#include "graph/graph.hpp"

namespace tenon::passes {

// What the rule may return for a node: the value that stands for its only result, or nothing to keep the node. The
// node's arguments are already the new values. Nodes that the rule adds stand where the node stood; when it keeps the
// node they are dropped. The rule may change the node's arguments in place and says so by `touched`.
using RewriteRule = std::function<Result<std::optional<graph::ValueId>>(graph::NodeId node, bool& touched)>;

inline constexpr std::optional<graph::ValueId> kKeep;

// True when a node was replaced or touched. Replaced nodes are erased.
Result<bool> rewrite_nodes(graph::Graph& graph, const RewriteRule& rule);

}  // namespace tenon::passes
