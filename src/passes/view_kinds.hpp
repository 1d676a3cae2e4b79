// What the view operators of ATen do with memory, for functionalize.
#pragma once

#include <string_view>

#include "graph/graph.hpp"

namespace tenon::passes {

enum class Sharing : uint8_t {
  kFresh,  // memory of its own
  kSame,   // the argument itself, or all of it with other sizes
  kView,   // a view of the argument
  kMaybe,  // a view of the argument or a copy, by its strides
};

// How the results of a node share memory with its first argument. In-place operators: kSame.
Sharing sharing_of(const graph::Graph& graph, const graph::Node& node);
// The results lie row-major in memory when the first argument does. Of a view whose types are complete.
bool keeps_row_major(graph::Graph& graph, const graph::Node& node);

// `base` with the part that result `index` of `view` stands for replaced by `part`: appends calls to the graph.
// Errors: UNIMPLEMENTED for a view that no part can be put back through.
Result<graph::ValueId> put_back(graph::Graph& graph, const graph::Node& view, size_t index, graph::ValueId base,
                                graph::ValueId part);

}  // namespace tenon::passes
