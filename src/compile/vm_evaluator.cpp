#include "compile/vm_evaluator.hpp"

#include "compile/assemble.hpp"
#include "graph/expr_map.hpp"
#include "lower/lower.hpp"
#include "schedule/emit.hpp"
#include "support/format.hpp"

namespace tenon::compile {

using graph::Graph;
using graph::ValueId;
using passes::KnownTensor;

namespace {

// The node alone, over constants.
Result<Specialized> isolate(const Graph& graph, const graph::Node& node, std::span<const KnownTensor> operands,
                            std::shared_ptr<const graph::OperatorRegistry> registry) {
  Specialized out;
  out.graph = std::make_unique<Graph>("fold", std::move(registry));
  Graph& made = *out.graph;
  const std::vector<ValueId> uses = Graph::uses(node);
  std::unordered_map<ValueId, ValueId> values;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (values.contains(uses[i])) continue;
    graph::Constant constant;
    constant.name = concat("c", i);
    constant.bytes = operands[i].bytes;
    constant.dims = operands[i].dims;
    constant.strides.assign(constant.dims.size(), 1);
    for (size_t d = constant.dims.size(); d-- > 1;) constant.strides[d - 1] = constant.strides[d] * constant.dims[d];
    TENON_ASSIGN_OR_RETURN(const ValueId value, made.add_constant(std::move(constant), operands[i].dtype));
    values.emplace(uses[i], value);
  }
  graph::ExprMap map(graph.pool(), made.pool());
  std::vector<graph::Argument> arguments;
  for (const graph::Argument& argument : node.arguments) {
    graph::Argument moved = map(argument);
    if (auto* ref = std::get_if<graph::ValueRef>(&moved)) ref->id = values.at(ref->id);
    if (auto* list = std::get_if<std::vector<ValueId>>(&moved)) {
      for (ValueId& value : *list) {
        if (value != graph::kNoValue) value = values.at(value);
      }
    }
    arguments.push_back(std::move(moved));
  }
  TENON_ASSIGN_OR_RETURN(const graph::NodeId id, made.add_node(*node.op, std::move(arguments)));
  const std::vector<ValueId> results = made.node(id).results;
  for (size_t i = 0; i < results.size(); ++i) made.add_output(concat("o", i), graph::ValueRef{results[i]});
  return out;
}

}  // namespace

std::optional<std::vector<KnownTensor>> VmEvaluator::evaluate(const Graph& graph, const graph::Node& node,
                                                              std::span<const KnownTensor> operands) {
  if (services_.host().run_once == nullptr) return std::nullopt;
  auto isolated = isolate(graph, node, operands, graph.shared_registry());
  if (!isolated.ok()) return std::nullopt;
  auto module = lower::lower(*isolated->graph);
  if (!module.ok()) return std::nullopt;
  auto launches = schedule::schedule(**module);
  if (!launches.ok()) return std::nullopt;
  auto assembled = assemble(*isolated, **module, *launches, services_.host().target);
  if (!assembled.ok()) return std::nullopt;
  std::vector<std::vector<uint8_t>> outputs;
  const Status run = services_.host().run_once(artifact::write(assembled->artifact), assembled->sources, services_.host().target, &outputs);
  if (!run.ok()) return std::nullopt;
  std::vector<KnownTensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    KnownTensor result;
    const graph::Type& type = isolated->graph->type(std::get<graph::ValueRef>(isolated->graph->outputs()[i].argument).id);
    result.dtype = type.dtype;
    for (symbolic::Expr e : type.dims) {
      const auto size = isolated->graph->pool().as_constant(e);
      if (!size) return std::nullopt;
      result.dims.push_back(*size);
    }
    result.bytes = Blob::own(std::move(outputs[i]));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tenon::compile
