// Replaces pointwise primitives by simpler ones that give the same bits.
//
//   %1 = prim.mul(%x, 1.0)                    ->   %x
//   %1 = prim.sub(%x, 0.0)                    ->   %x        (x + 0.0 stays: it turns -0.0 into 0.0)
//   %1 = prim.add(%x, 0) : i64[4]             ->   %x
//   %1 = prim.where(%mask, %x, %x)            ->   %x
//   %0 = prim.convert(%x, f32); %1 = prim.convert(%0, f64)  ->  %1 = prim.convert(%x, f64)   (x: f16)
//   %0 = prim.iota(8, i64); %1 = prim.ge(%0, 0)             ->   %1 = prim.full([8], true, bool)
//   %0 = prim.full([], 2.0, f32); %1 = prim.mul(%x, %0)     ->  %1 = prim.mul(%x, 2.0)
//
// Floats: only identities that hold for NaN, infinities and both zeros (the sign of a NaN is not a bit that anyone may
// ask for). Integers wrap around, so their constants may be gathered. Numbers count as rounded to the dtype in which
// they are used.
// Requires: primitives. Guarantees: types of results stay.
// Stands after canonicalize_views, which turns views of constants into constants.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

Result<bool> simplify_algebra(graph::Graph& graph);

}  // namespace tenon::passes
