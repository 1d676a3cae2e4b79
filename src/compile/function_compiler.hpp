// The compiler's half of a function: a snapshot of the graph, the sizes seen so far, and the last listings for explain.
#pragma once

#include <memory>

#include "compile/services.hpp"
#include "graph/graph.hpp"

namespace tenon::compile {

// Copies the graph. `services` must outlive the result.
std::unique_ptr<runtime::FunctionCompiler> make_function_compiler(Services& services, const graph::Graph& graph,
                                                                  const runtime::CompileOptions& options);

}  // namespace tenon::compile
