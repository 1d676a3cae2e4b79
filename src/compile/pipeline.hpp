// THE list of steps from a graph to an artifact. Nothing else calls a pass or a stage.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compile/assemble.hpp"
#include "compile/specialize.hpp"
#include "passes/evaluator.hpp"

namespace tenon::compile {

struct StepRecord {
  std::string name;
  int64_t time_ns = 0;
  bool changed = false;
};

struct PipelineOptions {
  target::TargetInfo target;
  int32_t auto_dims = 0;
  std::string disabled_passes;   // comma separated
  std::string dump_directory;    // "" or TENON_DEBUG: one file a step that changed something
  Env* env = nullptr;
  passes::Evaluator* evaluator = nullptr;  // null: constants are not folded
  bool verify = false;           // after each step
};

struct PipelineResult {
  Assembled assembled;
  std::vector<StepRecord> steps;
  std::string graph_text;        // after the passes
};

Result<PipelineResult> run_pipeline(const graph::Graph& graph, const runtime::CallSignature& signature, DimHistory& history,
                                    const PipelineOptions& options);

}  // namespace tenon::compile
