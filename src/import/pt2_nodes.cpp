// Nodes of the archive become calls in the graph.
#include "import/pt2_build.hpp"

#include "graph/print.hpp"
#include "support/format.hpp"

namespace tenon::import {

using graph::Argument;
using graph::Expr;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Truth;

namespace {

Result<std::vector<JsonView>> elements_of(JsonView object, std::string_view key) {
  TENON_ASSIGN_OR_RETURN(const JsonView member, object.member(key));
  return member.elements();
}

// The path of the innermost module: nn_module_stack is "key,path,class;key,path,class".
std::string origin_of(JsonView node) {
  const auto metadata = node.find("metadata");
  const auto stack = metadata ? metadata->find("nn_module_stack") : std::nullopt;
  if (!stack || !stack->is_text()) return "";
  std::string_view text = *stack->text();
  if (const size_t last = text.rfind(';'); last != std::string_view::npos) text.remove_prefix(last + 1);
  const size_t first = text.find(',');
  if (first == std::string_view::npos) return "";
  const size_t second = text.find(',', first + 1);
  return std::string(text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
}

// How many tensors the outputs of a node are.
size_t count_results(const std::vector<JsonView>& outputs) {
  size_t count = 0;
  for (const JsonView& output : outputs) {
    const auto list = output.find("as_tensors");
    const auto elements = list ? list->elements() : Result<std::vector<JsonView>>(Status(Code::kNotFound, ""));
    count += elements.ok() ? elements->size() : 1;
  }
  return count;
}

}  // namespace

Status ProgramBuilder::add_nodes(JsonView graph, Scope& scope) {
  TENON_ASSIGN_OR_RETURN(const auto nodes, elements_of(graph, "nodes"));
  for (const JsonView& node : nodes) {
    Status status = add_node(node, scope);
    if (!status.ok()) return status;
  }
  return {};
}

Status ProgramBuilder::add_node(JsonView node, Scope& scope) {
  TENON_ASSIGN_OR_RETURN(const Target target, classify(node, graph_.registry()));
  switch (target.kind) {
    case TargetKind::kOperator: return add_operator(node, *target.op, scope);
    case TargetKind::kInlined: return add_inlined(node, scope);
    case TargetKind::kAssertion: return check_assertion(node, scope);
    // The values of sizes are read where they are used, their ranges are in the symbols.
    case TargetKind::kSize:
    case TargetKind::kSizeRange: return {};
    case TargetKind::kUnsupported: break;  // check_operators has looked
  }
  return internal_error(concat("the operator ", target.name, " was not found before"));
}

Status ProgramBuilder::add_operator(JsonView node, const graph::Operator& op, Scope& scope) {
  const ArgumentReader arguments = reader(scope);
  std::vector<graph::Graph::NamedArgument> named;
  TENON_ASSIGN_OR_RETURN(const auto inputs, elements_of(node, "inputs"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const JsonView name_member, inputs[i].member("name"));
    TENON_ASSIGN_OR_RETURN(const std::string_view name, name_member.text());
    TENON_ASSIGN_OR_RETURN(const JsonView argument, inputs[i].member("arg"));
    const int slot = op.schema.find(name);
    if (slot < 0) {
      // An argument that this library's schema has not, such as pin_memory: fine while it says nothing.
      const auto flag = argument.find("as_bool");
      const Result<bool> value = flag ? flag->boolean() : Result<bool>(Status(Code::kNotFound, ""));
      if (argument.find("as_none") || (value.ok() && !*value)) continue;
      return name_member.error(concat("an argument of ", op.schema.name), concat("'", name, "'"));
    }
    TENON_ASSIGN_OR_RETURN(Argument value, arguments.read(op.schema.arguments[size_t(slot)], argument));
    named.emplace_back(std::string(name), std::move(value));
  }
  TENON_ASSIGN_OR_RETURN(const auto outputs, elements_of(node, "outputs"));
  Result<graph::NodeId> added = graph_.add_node_named(op.schema.name, {}, std::move(named), count_results(outputs));
  if (!added.ok()) return std::move(added).status().prefixed(node.path());
  graph_.node(*added).origin = origin_of(node);
  return bind_results(node, graph_.node(*added).results, scope);
}

Status ProgramBuilder::bind_results(JsonView node, const std::vector<ValueId>& results, Scope& scope) {
  const std::vector<ValueId> made = results;  // nodes may move
  TENON_ASSIGN_OR_RETURN(const auto outputs, elements_of(node, "outputs"));
  const size_t expected = count_results(outputs);
  // An operator without results may be written with one None.
  if (made.empty() && outputs.size() == 1 && outputs[0].find("as_none")) return {};
  if (expected != made.size()) return node.error(concat(made.size(), " results"), concat(expected));
  size_t next = 0;
  for (const JsonView& output : outputs) {
    if (const auto list = output.find("as_tensors")) {
      TENON_ASSIGN_OR_RETURN(const auto elements, list->elements());
      for (const JsonView& element : elements) TENON_RETURN_IF_ERROR(bind_result(element, made[next++], scope));
      continue;
    }
    TENON_ASSIGN_OR_RETURN(const auto member, output.only_member());
    const auto& [tag, content] = member;
    if (tag == "as_tensor" || tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
      TENON_RETURN_IF_ERROR(bind_result(content, made[next], scope));
    } else if (tag != "as_none") {
      return output.error("a tensor, a list of tensors or a number", tag);
    }
    ++next;
  }
  return {};
}

// `tagged` is {"name": ..} of a tensor or {"as_name": ..} of a number.
Status ProgramBuilder::bind_result(JsonView tagged, ValueId value, Scope& scope) {
  const auto number = tagged.find("as_name");
  TENON_ASSIGN_OR_RETURN(const JsonView member, number ? Result<JsonView>(*number) : tagged.member("name"));
  TENON_ASSIGN_OR_RETURN(const std::string_view name, member.text());
  scope.values.insert_or_assign(std::string(name), ValueRef{value});
  if (number) return {};
  const auto meta = scope.tensors.find(name);
  if (meta == scope.tensors.end()) return {};
  const auto sizes = meta->second.find("sizes");
  if (!sizes) return {};
  const graph::Type& type = graph_.type(value);
  if (type.pending) return {};
  // A size that only the data tells gets its name here: the archive's symbol is what inference made.
  TENON_ASSIGN_OR_RETURN(const auto elements, sizes->elements());
  for (size_t i = 0; i < elements.size() && elements.size() == type.dims.size(); ++i) {
    const auto symbol = plain_symbol(elements[i]);
    if (!symbol || sizes_.is_bound(*symbol)) continue;
    sizes_.bind(*symbol, type.dims[i]);
    const auto range = symbols_.other.find(*symbol);
    if (range == symbols_.other.end() || graph_.pool().kind(type.dims[i]) != symbolic::Kind::kSymbol) continue;
    graph_.facts().set_range(graph_.pool().symbol_of(type.dims[i]), range->second);
  }
  compare(name, meta->second, type);
  return {};
}

// The archive tells the type of every tensor: another one from our inference is worth a note.
void ProgramBuilder::compare(std::string_view name, JsonView meta, const graph::Type& type) {
  const auto differs = [&](std::string_view what) {
    notes_.push_back(concat("the tensor '", name, "': expected ", what, ", found ", graph::print(graph_.pool(), type)));
  };
  const auto number = meta.find("dtype");
  const Result<DType> dtype = number ? read_dtype(*number) : Result<DType>(type.dtype);
  if (dtype.ok() && *dtype != type.dtype) return differs(tenon::name(*dtype));
  const auto sizes = meta.find("sizes");
  const auto dims = sizes ? sizes_.sizes(*sizes) : Result<std::vector<Expr>>(type.dims);
  if (!dims.ok()) return;
  bool equal = dims->size() == type.dims.size();
  for (size_t i = 0; equal && i < dims->size(); ++i) {
    equal = graph_.facts().prove({symbolic::Relation::kEq, (*dims)[i], type.dims[i]}) != Truth::kFalse;
  }
  if (!equal) differs(graph::print(graph_.pool(), graph::tensor_type(type.dtype, *dims)));
}

Status ProgramBuilder::add_inlined(JsonView node, Scope& scope) {
  TENON_ASSIGN_OR_RETURN(const InlinedGraph inlined, inlined_graph(node));
  TENON_ASSIGN_OR_RETURN(Scope inner, Scope::read(inlined.graph));
  TENON_ASSIGN_OR_RETURN(const auto parameters, elements_of(inlined.graph, "inputs"));
  if (parameters.size() != inlined.operands.size()) {
    return node.error(concat(parameters.size(), " operands of its graph"), concat(inlined.operands.size()));
  }
  const ArgumentReader outer = reader(scope);
  for (size_t i = 0; i < parameters.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(Argument operand, outer.read_value(inlined.operands[i]));
    TENON_ASSIGN_OR_RETURN(const auto member, parameters[i].only_member());
    const auto named = member.second.find(member.first == "as_tensor" ? "name" : "as_name");
    if (!named) continue;  // a literal
    TENON_ASSIGN_OR_RETURN(const std::string_view name, named->text());
    inner.values.insert_or_assign(std::string(name), std::move(operand));
  }
  TENON_RETURN_IF_ERROR(add_nodes(inlined.graph, inner));
  TENON_ASSIGN_OR_RETURN(const auto yields, elements_of(inlined.graph, "outputs"));
  TENON_ASSIGN_OR_RETURN(const auto outputs, elements_of(node, "outputs"));
  std::vector<JsonView> names;
  for (const JsonView& output : outputs) {
    TENON_ASSIGN_OR_RETURN(const auto member, output.only_member());
    if (member.first == "as_tensors") {
      TENON_ASSIGN_OR_RETURN(const auto elements, member.second.elements());
      names.insert(names.end(), elements.begin(), elements.end());
    } else {
      names.push_back(member.second);
    }
  }
  if (names.size() != yields.size()) return node.error(concat(yields.size(), " results"), concat(names.size()));
  const ArgumentReader within = reader(inner);
  for (size_t i = 0; i < names.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(Argument value, within.read_value(yields[i]));
    auto name = names[i].find("name");
    if (!name) name = names[i].find("as_name");
    if (!name) continue;  // None
    TENON_ASSIGN_OR_RETURN(const std::string_view text, name->text());
    scope.values.insert_or_assign(std::string(text), std::move(value));
  }
  return {};
}

Status ProgramBuilder::check_assertion(JsonView node, const Scope& scope) {
  auto asserted = find_argument(node, "self");
  const auto tagged = asserted ? asserted->find("as_sym_bool") : std::nullopt;
  const auto named = tagged ? tagged->find("as_name") : std::nullopt;
  std::string message = "a condition on sizes";
  if (const auto text = find_argument(node, "assert_msg"); text && text->find("as_string")) {
    TENON_ASSIGN_OR_RETURN(const std::string_view words, text->find("as_string")->text());
    message = words;
  }
  if (!named) return {};  // a literal that held when the program was exported
  TENON_ASSIGN_OR_RETURN(const std::string_view name, named->text());
  const auto condition = scope.bools.find(name);
  const auto predicates = condition == scope.bools.end()
                              ? Result<std::vector<symbolic::Predicate>>(Status(Code::kNotFound, "no such condition"))
                              : sizes_.condition(condition->second);
  bool proven = predicates.ok();
  for (size_t i = 0; predicates.ok() && i < predicates->size(); ++i) {
    const Truth truth = graph_.facts().prove((*predicates)[i]);
    if (truth == Truth::kFalse) {
      return invalid_argument(concat(node.path(), ": the program asserts what its sizes rule out: ", message));
    }
    proven = proven && truth == Truth::kTrue;
  }
  if (!proven) notes_.push_back(concat("an assertion is not checked: ", message));
  return {};
}

}  // namespace tenon::import
