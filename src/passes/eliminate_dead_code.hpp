// Drops nodes whose results nobody reads.
//
//   %0 = prim.exp(%x); %1 = prim.neg(%x); return %1   ->   %1 = prim.neg(%x); return %1
//
// Requires: nothing; in-place operators are kept. Guarantees: every node left is an effect, random, in place, or read by
// one that is left, by an output or by a write-back. A status that a dropped node could have given (integer division by
// zero) is not given. Stands last in each round of clean-ups: the others leave unread nodes behind.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

Result<bool> eliminate_dead_code(graph::Graph& graph);

}  // namespace tenon::passes
