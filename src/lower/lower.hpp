// Graph of primitives with complete types -> loop IR.
// Requires: passes/decompose has run (primitives only, no mutation), types without pending parts.
// Errors: UNIMPLEMENTED naming the operator that has no rule.
#pragma once

#include <memory>

#include "graph/graph.hpp"
#include "loop/module.hpp"

namespace tenon::lower {

Result<std::unique_ptr<loop::Module>> lower(graph::Graph& graph);

}  // namespace tenon::lower
