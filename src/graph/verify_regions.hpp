// What cond, while_loop and scan demand of their regions.
#pragma once

#include "graph/graph.hpp"

namespace tenon::graph {

// Inputs and yields of the node's regions against its operands and results:
//   cond(pred, operands): both regions take the operands and yield the results; pred is one bool
//   while_loop(carried, additional): both take carried + additional; cond yields one bool, body the carried, as results
//   scan(carried, xs, additional): body takes carried + slices of xs along dim 0 + additional, yields carried + ys;
//     results are carried + ys stacked along a new dim 0
// OK for a node of another operator without regions. Errors: INVALID_ARGUMENT with field operator.
Status verify_regions(const Graph& graph, const Node& node);

// Same kind, element type, device and sizes, strides aside; true when either is pending.
bool same_element_types(const Graph& graph, const Type& a, const Type& b);

}  // namespace tenon::graph
