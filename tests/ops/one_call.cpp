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

// "??" for each result of a call "%a, %b = op(...)": the parser takes what it infers.
std::string stated_types(std::string_view call) {
  const size_t equals = call.find(" = ");
  if (equals == std::string_view::npos) return "";
  std::string types = " : ??";
  for (char c : call.substr(0, equals)) {
    if (c == ',') types += ", ??";
  }
  return types;
}

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
  if (!call.where.empty()) text += " where " + call.where;
  text += " {\n" + call.call + stated_types(call.call) + "\n  return\n}\n";
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
  Graph& graph = **built;
  std::map<ValueId, ValueId> mapped;
  const size_t before = graph.node_count();
  const std::vector<graph::NodeId> calls = graph.order();
  for (graph::NodeId id : calls) {
    // A copy, because new nodes move the old ones in memory.
    graph::Node node;
    node.op = graph.node(id).op;
    node.arguments = graph.node(id).arguments;
    node.results = graph.node(id).results;
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
    graph::DecomposeContext context(graph, node, graph, std::move(arguments));
    const Result<std::vector<ValueId>> results = node.op->decompose(context);
    if (!results.ok()) return failure(results.status());
    if (results->size() != node.results.size()) return "wrong number of results";
    for (size_t i = 0; i < results->size(); ++i) {
      const graph::Type& expected = graph.type(node.results[i]);
      const graph::Type& found = graph.type((*results)[i]);
      if (expected.dtype != found.dtype || expected.dims != found.dims) {
        return "result " + std::to_string(i) + " is " + graph::print(graph.pool(), found) + ", expected " +
               graph::print(graph.pool(), expected);
      }
      mapped[node.results[i]] = (*results)[i];
    }
  }
  // Drop the original calls, then cut the body out of the text.
  std::vector<graph::NodeId> order;
  for (graph::NodeId id : graph.order()) {
    if (id >= before) order.push_back(id);
  }
  for (size_t i = before; i-- > 0;) graph.erase(static_cast<graph::NodeId>(i));
  graph.set_order(order);
  const std::string text = graph::print(graph);
  const size_t begin = text.find("{\n") + 2, end = text.rfind("  return");
  return text.substr(begin, end - begin);
}

}  // namespace tenon::ops
