// The stages after the passes, printed.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace tenon::text {

bool is_stage(std::string_view name);  // "lower", "schedule"
// The loop IR ("lower") or the kernel programs ("schedule") of a graph of primitives.
Result<std::string> run_stage(std::string_view name, graph::Graph& graph);

}  // namespace tenon::text
