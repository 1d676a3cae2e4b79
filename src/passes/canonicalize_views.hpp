// One form for each chain of primitives that only move elements.
//
//   %0 = prim.reshape(%x, [4, 6]); %1 = prim.reshape(%0, [24])    ->   %1 = prim.reshape(%x, [24])
//   %0 = prim.permute(%x, [1, 0]); %1 = prim.permute(%0, [1, 0])  ->   %x
//   %0 = prim.expand(%x, sizes of %x)                             ->   %x
//   %0 = prim.reshape(%a, [B*H, M, K]); %1 = prim.reshape(%b, [B*H, K, N]); %2 = prim.matmul(%0, %1);
//   %3 = prim.reshape(%2, [B, H, M, N])                           ->   %3 = prim.matmul(%a, %b)
//   %0 = prim.expand(%w, [B, K, N]); %1 = prim.matmul(%a, %0)     ->   %0 = prim.reshape(%a, [B*M, K]);
//     (%w: a constant matrix)                                          %1 = prim.matmul(%0, %w); reshape to [B, M, N]
//
// Also: views of prim.full are prim.full, a permute that moves only dims of size 1 and an expand that only adds such dims
// are reshapes, slices of slices are one slice, flips cancel, pads of nothing and joins of one tensor vanish.
// Sizes are compared by proof, never by guard.
// Requires: primitives. Guarantees: no chain of two reshapes, permutes, expands or flips, no view that changes nothing.
// Stands first among the clean-ups: fewer views make more calls equal and let match_attention see its pattern. Nothing
// is moved across other primitives: where a copy is made is decided by lowering, which sees strides.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

Result<bool> canonicalize_views(graph::Graph& graph);

}  // namespace tenon::passes
