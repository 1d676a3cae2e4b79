// Removes mutation: in-place operators become their functional forms, and what they changed is written back at the end.
//
//   %0 = aten.slice.Tensor(%x, 1, 0, 2)        %0 = aten.slice.Tensor(%x, 1, 0, 2)
//   %1 = aten.mul_.Scalar(%0, 2)          ->   %1 = aten.mul.Scalar(%0, 2)
//   %2 = aten.sum(%x)                          %2 = aten.slice_scatter(%x, %1, 1, 0, 2)
//   return %2                                  %3 = aten.sum(%2)
//                                              write %x = %2
//                                              return %3
//
// Values that share memory (a base, its views, views of views, results of in-place operators) share one current value:
// a write through a view puts the new part back into the base, and a view that is read after its base changed is taken
// anew. Inputs and states that changed get write-backs; those that the graph has already keep their place.
// The operators stay ATen's; every one that is left is functional. Views stay calls of the same operators.
//
// Whether reshape, flatten, contiguous and the like give a view or a copy depends on strides that a graph does not track
// for intermediate values. Where it is not known and would change a result, the answer is an error.
// Requires: complete types. Errors: UNIMPLEMENTED naming the operator (an in-place operator without a functional form,
// a write through an expanded or an unknown view, an unknown view or copy, mutation inside a region), INVALID_ARGUMENT
// (a constant is changed).
// Stands before decompose: schemas say what is changed and what is a view; primitives know neither.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

Result<bool> functionalize(graph::Graph& graph);

}  // namespace tenon::passes
