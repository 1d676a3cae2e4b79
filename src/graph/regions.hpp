// The operators that hold regions.
#pragma once

#include <span>
#include <string_view>

#include "graph/operators.hpp"

namespace tenon::graph {

// The word before each region in the text format, in order: then, else (higher_order.cond); cond, body
// (higher_order.while_loop); body (higher_order.scan). Empty for every other operator.
std::span<const std::string_view> region_words(const Operator& op);

}  // namespace tenon::graph
