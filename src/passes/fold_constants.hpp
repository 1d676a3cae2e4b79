// Computes at compile time what depends on constants only.
//
//   %a = constant "a" = [1.0, 2.0]; %b = constant "b" = [3.0, 4.0]; %0 = prim.add(%a, %b)
//   ->   %0 = constant "folded.0" = [4.0, 6.0]
//
// Sources are constants with known bytes, and prim.full and prim.iota with constant sizes, which by themselves stay (they
// cost nothing where they are used). A result is kept when it has at most kFoldedBytes or is not larger than the
// operands together. Never: random operators, effects, in-place operators, nodes with regions, sizes with symbols, a
// view or conversion of a large constant (lowering reads weights through strides).
// Requires: primitives. New constants have the names "folded.0", "folded.1", ...; constants that nobody reads any more
// stay in the graph's list.
// Stands after canonicalize_views and simplify_algebra: views of fulls are fulls by then, and need no memory.
#pragma once

#include "passes/evaluator.hpp"

namespace tenon::passes {

inline constexpr int64_t kFoldedBytes = 64 * 1024;

Result<bool> fold_constants(graph::Graph& graph, Evaluator& evaluator);

}  // namespace tenon::passes
