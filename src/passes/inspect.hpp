// Questions that several passes ask of primitives.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"

namespace tenon::passes {

// The node that makes `value`; null for a leaf.
const graph::Node* maker(const graph::Graph& graph, graph::ValueId value);
// The node that makes the value of a Tensor argument when it is a call of `op`; else null.
const graph::Node* made_by(const graph::Graph& graph, const graph::Argument& argument, std::string_view op);
const graph::Node* made_by(const graph::Graph& graph, graph::ValueId value, std::string_view op);
graph::ValueId tensor_argument(const graph::Node& node, size_t index);
bool is_call(const graph::Node& node, std::string_view op);

// The value every element has: a literal (int, float, bool), prim.full of one, or a constant of one element with known
// bytes. Rounded to the dtype in which it is used.
std::optional<double> uniform_value(const graph::Graph& graph, const graph::Argument& argument, DType dtype);
// The same for integers and bool, exact.
std::optional<int64_t> uniform_integer(const graph::Graph& graph, const graph::Argument& argument);

// Sizes that are proven to be equal, dim by dim.
bool same_dims(graph::Graph& graph, const std::vector<symbolic::Expr>& a, const std::vector<symbolic::Expr>& b);
// Constant integers of an int[] argument; nullopt when one is not.
std::optional<std::vector<int64_t>> constant_integers(const graph::Graph& graph, const graph::Argument& argument);
std::optional<int64_t> constant_integer(const graph::Graph& graph, const graph::Argument& argument);
std::vector<symbolic::Expr> constants(graph::Graph& graph, const std::vector<int64_t>& values);

}  // namespace tenon::passes
