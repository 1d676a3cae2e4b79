// Rebuilds operators from primitives, by their own decompositions (ops room), until only primitives are left.
//
//   %2 = aten.linear(%x, %w, %b)   ->   %0 = prim.permute(%w, [1, 0]); %1 = prim.matmul(%x, %0); %2 = prim.add(%1, %b)
//
// Requires: functional graph (passes/functionalize). Guarantees: every node's operator is a primitive; types are known wherever
// they were. Stands before all clean-ups, which know primitives only.
// Errors: UNIMPLEMENTED listing every operator that has no decomposition, with counts.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

Result<bool> decompose(graph::Graph& graph);

}  // namespace tenon::passes
