#include "text/steps.hpp"

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "graph/verify.hpp"
#include "ops/registry.hpp"
#include "passes/canonicalize_views.hpp"
#include "passes/decompose.hpp"
#include "passes/eliminate_common_subexpressions.hpp"
#include "passes/eliminate_dead_code.hpp"
#include "passes/fold_constants.hpp"
#include "passes/functionalize.hpp"
#include "passes/match_attention.hpp"
#include "passes/simplify_algebra.hpp"
#include "support/format.hpp"
#include "text/small_evaluator.hpp"
#include "text/stages.hpp"

namespace tenon::text {
namespace {

Result<bool> fold_constants(graph::Graph& graph) {
  SmallEvaluator evaluator;
  return passes::fold_constants(graph, evaluator);
}

// The clean-ups to a fixed point, as the pipeline runs them.
Result<bool> clean_up(graph::Graph& graph) {
  bool changed = false;
  for (int round = 0; round < 8; ++round) {
    bool once = false;
    for (const auto pass : {passes::canonicalize_views, passes::simplify_algebra, fold_constants,
                            passes::eliminate_common_subexpressions, passes::eliminate_dead_code}) {
      TENON_ASSIGN_OR_RETURN(const bool here, pass(graph));
      once = once || here;
    }
    changed = changed || once;
    if (!once) break;
  }
  return changed;
}

struct Pass {
  std::string_view name;
  Result<bool> (*run)(graph::Graph&);
};

constexpr Pass kPasses[] = {
    {"functionalize", passes::functionalize},
    {"decompose", passes::decompose},
    {"canonicalize_views", passes::canonicalize_views},
    {"simplify_algebra", passes::simplify_algebra},
    {"fold_constants", fold_constants},
    {"eliminate_common_subexpressions", passes::eliminate_common_subexpressions},
    {"eliminate_dead_code", passes::eliminate_dead_code},
    {"match_attention", passes::match_attention},
    {"clean_up", clean_up},
};

}  // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

Result<bool> run_pass(std::string_view name, graph::Graph& graph) {
  for (const Pass& pass : kPasses) {
    if (pass.name != name) continue;
    TENON_ASSIGN_OR_RETURN(const bool changed, pass.run(graph));
    if (Status status = graph::verify(graph); !status.ok()) {
      return internal_error(concat(name, " left a broken graph: ", status.message(), "\n", graph::print(graph)));
    }
    return changed;
  }
  return not_found(concat("no pass is called ", name));
}

Result<Outcome> run_steps(const std::vector<std::string>& steps, graph::Graph& graph) {
  Outcome outcome;
  for (const std::string& step : steps) {
    if (is_stage(step)) {
      TENON_ASSIGN_OR_RETURN(outcome.text, run_stage(step, graph));
      outcome.changed = true;
      return outcome;
    }
    TENON_ASSIGN_OR_RETURN(outcome.changed, run_pass(step, graph));
  }
  outcome.text = graph::print(graph);
  return outcome;
}

Result<Outcome> run_steps(const std::vector<std::string>& steps, std::string_view graph_text) {
  TENON_ASSIGN_OR_RETURN(const auto graph, graph::parse(graph_text, ops::registry()));
  return run_steps(steps, *graph);
}

}  // namespace tenon::text
