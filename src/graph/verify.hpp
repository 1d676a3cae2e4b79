// Checks that a graph is well-formed. Run after every pass in debug builds and on graphs from front ends.
#pragma once

#include "graph/graph.hpp"

namespace tenon::graph {

// Leaves, nodes in order (regions inside), write-backs, outputs: every used value exists, is defined before its use and
// belongs to the same region; arguments have the form and type of their schema slot; results agree in number; types are
// whole (strides for every dim, symbols declared, no negative size); regions agree with their operator; write-backs go
// to inputs or states of the same type; names are unique; no erased node is in order.
// Inference is not run again. Returns the first problem: INVALID_ARGUMENT with fields value and operator.
Status verify(const Graph& graph);

}  // namespace tenon::graph
