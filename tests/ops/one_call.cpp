#include "ops/one_call.hpp"

#include <map>

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

using graph::Argument;
using graph::Graph;
using graph::ValueId;
using graph::ValueRef;

std::string failure(const Status& status) {
  return std::string(code_name(status.code())) + " " + std::string(status.message());
}

// The call may be several lines; the results of the last one are not returned, so nothing needs their types.
Result<std::unique_ptr<Graph>> build(const Call& call) {
  std::string inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const bool starts = i == 0 || (call.inputs[i - 1] == ' ' && i >= 2 && call.inputs[i - 2] == ',' &&
                                   call.inputs.find(':', i) != std::string_view::npos &&
                                   call.inputs.substr(i).find(':') < call.inputs.substr(i).find_first_of(",]"));
    if (starts) inputs += '%';
    inputs += call.inputs[i];
  }
  std::string text = "graph @test(" + inputs + ") -> () on cpu";
  if (!call.where.empty()) text += " where " + std::string(call.where);
  text += " {\n" + std::string(call.call) + "\n  return\n}\n";
  return graph::parse(text, registry());
}

}  // namespace

Outcome infer(const Call& call) {
  Outcome outcome;
  Result<std::unique_ptr<Graph>> built = build(call);
  if (!built.ok()) return {failure(built.status()), ""};
  Graph& graph = **built;
  for (ValueId result : graph.node(graph.order().back()).results) {
    if (!outcome.types.empty()) outcome.types += "; ";
    outcome.types += graph::print(graph.pool(), graph.type(result));
  }
  for (const symbolic::Guard& guard : graph.facts().guards()) {
    if (!outcome.guards.empty()) outcome.guards += ", ";
    outcome.guards += graph.facts().print(guard.predicate);
  }
  return outcome;
}

std::string decompose(const Call& call) {
  Result<std::unique_ptr<Graph>> built = build(call);
  if (!built.ok()) return failure(built.status());
  const Graph& source = **built;
  const std::unique_ptr<Graph> into = source.clone();
  std::map<ValueId, ValueId> mapped;
  const size_t before = into->node_count();
  for (graph::NodeId id : source.order()) {
    const graph::Node& node = source.node(id);
    std::vector<Argument> arguments = node.arguments;
    const auto map = [&](ValueId& value) {
      if (const auto found = mapped.find(value); found != mapped.end()) value = found->second;
    };
    for (Argument& argument : arguments) {
      if (auto* value = std::get_if<ValueRef>(&argument)) map(value->id);
      if (auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
        for (ValueId& value : *list) map(value);
      }
    }
    if (node.op->decompose == nullptr) return "no decomposition of " + node.op->schema.name;
    graph::DecomposeContext context(source, node, *into, std::move(arguments));
    const Result<std::vector<ValueId>> results = node.op->decompose(context);
    if (!results.ok()) return failure(results.status());
    if (results->size() != node.results.size()) return "wrong number of results";
    for (size_t i = 0; i < results->size(); ++i) {
      const graph::Type& expected = source.type(node.results[i]);
      const graph::Type& found = into->type((*results)[i]);
      if (expected.dtype != found.dtype || expected.dims != found.dims) {
        return "result " + std::to_string(i) + " is " + graph::print(into->pool(), found) + ", expected " +
               graph::print(into->pool(), expected);
      }
      mapped[node.results[i]] = (*results)[i];
    }
  }
  // Drop the original calls, then cut the body out of the text.
  std::vector<graph::NodeId> order;
  for (graph::NodeId id : into->order()) {
    if (id >= before) order.push_back(id);
  }
  for (size_t i = before; i-- > 0;) into->erase(static_cast<graph::NodeId>(i));
  into->set_order(order);
  const std::string text = graph::print(*into);
  const size_t begin = text.find("{\n") + 2, end = text.rfind("  return");
  return text.substr(begin, end - begin);
}

}  // namespace tenon::ops
