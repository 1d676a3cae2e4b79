// The inverse of print (print.hpp describes the format). Safe on any bytes.
#pragma once

#include <memory>
#include <string_view>

#include "graph/graph.hpp"

namespace tenon::graph {

// One graph. Every node goes through add_node, so arguments are checked and types inferred; a stated type that inference
// contradicts is an error naming the value, what was inferred and what was stated. Where inference is pending the stated
// type is not used.
// Errors: INVALID_ARGUMENT "line:column: expected X, found Y" with fields line, column, expected, found (value, operator,
// input where they apply); INTERNAL when an operator's inference is at fault.
Result<std::unique_ptr<Graph>> parse(std::string_view text, std::shared_ptr<const OperatorRegistry> registry);

}  // namespace tenon::graph
