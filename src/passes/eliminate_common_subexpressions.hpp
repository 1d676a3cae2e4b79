// Computes equal calls once.
//
//   %0 = prim.exp(%x); %1 = prim.exp(%x); %2 = prim.add(%0, %1)   ->   %0 = prim.exp(%x); %2 = prim.add(%0, %0)
//
// Calls are equal when operator, arguments (floats by their bits) and types are. Random operators, effects, in-place
// operators and nodes with regions are left alone; a region sees nothing from outside, so it has calls of its own.
// Requires: a functional graph: two clones of one value are not the same once one of them is written to.
// Stands after canonicalize_views and simplify_algebra, which make more calls equal, and before eliminate_dead_code.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

Result<bool> eliminate_common_subexpressions(graph::Graph& graph);

}  // namespace tenon::passes
