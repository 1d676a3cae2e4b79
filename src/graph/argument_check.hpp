// Arguments against schemas: one place for add_node, the parser and verify.
#pragma once

#include "graph/graph.hpp"

namespace tenon::graph {

// The argument in the form that nodes hold: an integer constant in a float slot becomes a double, one integer for
// int[N] becomes N of them, an empty list gets the slot's element kind. Errors: INVALID_ARGUMENT with operator, input,
// expected and found; a value that does not exist is one of them.
Result<Argument> check_argument(const Graph& graph, const Operator& op, const SchemaArgument& slot, Argument argument);

// check_argument for every slot; absent trailing arguments become their defaults.
Result<std::vector<Argument>> check_arguments(const Graph& graph, const Operator& op, std::vector<Argument> arguments);

// Positional and named arguments brought into schema order, gaps filled with defaults. They are not checked yet.
Result<std::vector<Argument>> bind_arguments(const Graph& graph, const Operator& op, std::vector<Argument> positional,
                                             std::vector<Graph::NamedArgument> named);

// "aten.mm: argument mat2: expected 4 rows, found 5", with fields.
Status argument_error(std::string_view op, std::string_view argument, std::string_view expected,
                      std::string_view found);

// What an argument is, for "found": "a tensor f32[2]", "none", "a list of integers".
std::string describe(const Graph& graph, const Argument& argument);

}  // namespace tenon::graph
