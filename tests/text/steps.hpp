// Runs passes and stages by name on the text of a graph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "support/status.hpp"

namespace tenon::text {

struct Outcome {
  std::string text;      // of the graph, the loop IR or the kernel programs
  bool changed = false;  // what the last pass said; true for a stage
};

// Names of passes, as --pass takes them.
std::vector<std::string_view> pass_names();
// One pass; the graph is verified after it.
Result<bool> run_pass(std::string_view name, graph::Graph& graph);
// Passes in order, which may be followed by a stage: "lower" or "schedule".
Result<Outcome> run_steps(const std::vector<std::string>& steps, graph::Graph& graph);
Result<Outcome> run_steps(const std::vector<std::string>& steps, std::string_view graph_text);

}  // namespace tenon::text
