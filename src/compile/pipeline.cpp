#include "compile/pipeline.hpp"

#include <chrono>

#include "graph/print.hpp"
#include "graph/verify.hpp"
#include "lower/lower.hpp"
#include "passes/canonicalize_views.hpp"
#include "passes/decompose.hpp"
#include "passes/eliminate_common_subexpressions.hpp"
#include "passes/eliminate_dead_code.hpp"
#include "passes/fold_constants.hpp"
#include "passes/functionalize.hpp"
#include "passes/match_attention.hpp"
#include "passes/simplify_algebra.hpp"
#include "schedule/emit.hpp"
#include "support/format.hpp"

namespace tenon::compile {

namespace {

bool listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

class Pipeline {
 public:
  explicit Pipeline(const PipelineOptions& options) : options_(options) {}

  using Pass = std::function<Result<bool>(graph::Graph&)>;

  // Runs one pass with everything that belongs to a step: disable list, time, verify, dump.
  Status pass(graph::Graph& graph, std::string_view name, const Pass& run, bool* any = nullptr) {
    if (listed(options_.disabled_passes, name)) return {};
    const auto start = std::chrono::steady_clock::now();
    auto changed = run(graph);
    if (!changed.ok()) return std::move(changed).status().with("pass", name);
    record(name, start, *changed);
    if (any != nullptr) *any = *any || *changed;
    if (options_.verify) {
      if (Status status = graph::verify(graph); !status.ok()) {
        return internal_error(concat("pass ", name, " left a malformed graph: ", status.message())).with("pass", name);
      }
    }
    if (*changed) dump(name, "graph", [&] { return graph::print(graph); });
    return {};
  }

  // Each makes work for the others: a few rounds, until nothing changes.
  Status clean_up(graph::Graph& graph) {
    constexpr int kRounds = 4;
    for (int round = 0; round < kRounds; ++round) {
      bool changed = false;
      TENON_RETURN_IF_ERROR(pass(graph, "canonicalize_views", passes::canonicalize_views, &changed));
      TENON_RETURN_IF_ERROR(pass(graph, "simplify_algebra", passes::simplify_algebra, &changed));
      if (options_.evaluator != nullptr) {
        const auto fold = [this](graph::Graph& g) { return passes::fold_constants(g, *options_.evaluator); };
        TENON_RETURN_IF_ERROR(pass(graph, "fold_constants", fold, &changed));
      }
      TENON_RETURN_IF_ERROR(pass(graph, "eliminate_common_subexpressions", passes::eliminate_common_subexpressions, &changed));
      TENON_RETURN_IF_ERROR(pass(graph, "eliminate_dead_code", passes::eliminate_dead_code, &changed));
      if (!changed) break;
    }
    return {};
  }

  template <typename Start>
  void record(std::string_view name, Start start, bool changed) {
    StepRecord step;
    step.name = name;
    step.time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    step.changed = changed;
    steps_.push_back(std::move(step));
  }

  template <typename Text>
  void dump(std::string_view name, std::string_view extension, Text text) {
    if (options_.dump_directory.empty() || options_.env == nullptr) return;
    std::string number = concat(steps_.size());
    if (number.size() < 2) number.insert(0, "0");
    const std::string path = join_path(options_.dump_directory, concat(number, "_", name, ".", extension));
    (void)options_.env->write_file(path, text(), false).ok();
  }

  Result<PipelineResult> run(const graph::Graph& source, const runtime::CallSignature& signature, DimHistory& history) {
    auto start = std::chrono::steady_clock::now();
    TENON_ASSIGN_OR_RETURN(Specialized specialized, specialize(source, signature, options_.auto_dims, history));
    record("specialize", start, true);
    graph::Graph& graph = *specialized.graph;
    dump("specialize", "graph", [&] { return graph::print(graph); });

    TENON_RETURN_IF_ERROR(pass(graph, "functionalize", passes::functionalize));
    TENON_RETURN_IF_ERROR(pass(graph, "decompose", passes::decompose));
    TENON_RETURN_IF_ERROR(clean_up(graph));
    bool attention = false;
    TENON_RETURN_IF_ERROR(pass(graph, "match_attention", passes::match_attention, &attention));
    if (attention) TENON_RETURN_IF_ERROR(clean_up(graph));

    PipelineResult result;
    if (!options_.dump_directory.empty()) result.graph_text = graph::print(graph);

    start = std::chrono::steady_clock::now();
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<loop::Module> module, lower::lower(graph));
    record("lower", start, true);

    start = std::chrono::steady_clock::now();
    TENON_ASSIGN_OR_RETURN(std::vector<schedule::Launch> launches, schedule::schedule(*module));
    record("schedule", start, true);

    start = std::chrono::steady_clock::now();
    graph.facts().minimize_guards();
    TENON_ASSIGN_OR_RETURN(result.assembled, assemble(specialized, *module, launches, options_.target));
    record("assemble", start, true);
    dump("assemble", "plan", [&] { return result.assembled.artifact.listing; });

    result.steps = std::move(steps_);
    return result;
  }

 private:
  const PipelineOptions& options_;
  std::vector<StepRecord> steps_;
};

}  // namespace

Result<PipelineResult> run_pipeline(const graph::Graph& graph, const runtime::CallSignature& signature, DimHistory& history,
                                    const PipelineOptions& options) {
  return Pipeline(options).run(graph, signature, history);
}

}  // namespace tenon::compile
