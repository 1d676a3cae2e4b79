#include "import/pt2_operators.hpp"

#include <algorithm>
#include <map>

#include "import/pt2_arguments.hpp"
#include "support/format.hpp"

namespace tenon::import {
namespace {

constexpr size_t kDeepest = 32;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return text.starts_with(start); });
}

// The elements of an array, none of anything else.
std::vector<JsonView> elements_of(JsonView array) {
  Result<std::vector<JsonView>> elements = array.elements();
  return elements.ok() ? *std::move(elements) : std::vector<JsonView>();
}

// All results are sizes, conditions or numbers, and there is one.
bool gives_numbers(JsonView node) {
  const auto outputs = node.find("outputs");
  if (!outputs) return false;
  const std::vector<JsonView> elements = elements_of(*outputs);
  return !elements.empty() && std::all_of(elements.begin(), elements.end(), [](JsonView output) {
    const auto member = output.only_member();
    return member.ok() && starts_with_any(member->first, {"as_sym_", "as_int", "as_bool", "as_float"});
  });
}

Result<std::vector<JsonView>> nodes_of(JsonView graph) {
  TENON_ASSIGN_OR_RETURN(const JsonView nodes, graph.member("nodes"));
  return nodes.elements();
}

Result<std::vector<JsonView>> arguments_of(JsonView node) {
  TENON_ASSIGN_OR_RETURN(const JsonView inputs, node.member("inputs"));
  TENON_ASSIGN_OR_RETURN(const auto elements, inputs.elements());
  std::vector<JsonView> arguments;
  for (const JsonView& element : elements) {
    TENON_ASSIGN_OR_RETURN(const JsonView argument, element.member("arg"));
    arguments.push_back(argument);
  }
  return arguments;
}

// The graph of {"as_graph": {"name": .., "graph": ..}}.
std::optional<JsonView> graph_of(JsonView argument) {
  const auto tagged = argument.find("as_graph");
  return tagged ? tagged->find("graph") : std::nullopt;
}

bool is_bool(JsonView argument, bool wanted) {
  const auto flag = argument.find("as_bool");
  const Result<bool> value = flag ? flag->boolean() : Result<bool>(Status(Code::kNotFound, ""));
  return value.ok() && *value == wanted;
}

// Wrappers that change nothing for inference: gradient modes, and autocast that is switched off.
bool is_plain_wrapper(std::string_view name, JsonView node) {
  if (name == "higher_order.wrap_with_set_grad_enabled") return inlined_graph(node).ok();
  if (name != "higher_order.wrap_with_autocast") return false;
  const auto arguments = arguments_of(node);
  return arguments.ok() && arguments->size() > 2 && is_bool((*arguments)[2], false) && inlined_graph(node).ok();
}

Status count_unsupported(JsonView graph, const graph::OperatorRegistry& registry, size_t depth,
                         std::map<std::string, size_t>& counts) {
  if (depth > kDeepest) return graph.error(concat("graphs nested at most ", kDeepest, " deep"), "more");
  TENON_ASSIGN_OR_RETURN(const auto nodes, nodes_of(graph));
  for (const JsonView& node : nodes) {
    TENON_ASSIGN_OR_RETURN(const Target target, classify(node, registry));
    if (target.kind == TargetKind::kUnsupported) ++counts[target.name];
    TENON_ASSIGN_OR_RETURN(const auto arguments, arguments_of(node));
    for (const JsonView& argument : arguments) {
      if (const auto nested = graph_of(argument)) {
        TENON_RETURN_IF_ERROR(count_unsupported(*nested, registry, depth + 1, counts));
      }
    }
  }
  return {};
}

// Operators that change running statistics without saying so in their schema.
struct HiddenMutation {
  std::string_view op;
  std::string_view flag;
};
constexpr HiddenMutation kHiddenMutations[] = {
    {"aten.batch_norm", "training"},
    {"aten.native_batch_norm", "training"},
    {"aten.cudnn_batch_norm", "training"},
    {"aten.instance_norm", "use_input_stats"},
};

class MutationFinder {
 public:
  explicit MutationFinder(const graph::OperatorRegistry& registry) : registry_(registry) {}

  // `roots`: which input of the whole graph a value is, or is a view of.
  Status walk(JsonView graph, ByName<std::string>& roots, size_t depth) {
    if (depth > kDeepest) return graph.error(concat("graphs nested at most ", kDeepest, " deep"), "more");
    TENON_ASSIGN_OR_RETURN(const auto nodes, nodes_of(graph));
    for (const JsonView& node : nodes) {
      TENON_ASSIGN_OR_RETURN(const Target target, classify(node, registry_));
      if (target.kind == TargetKind::kOperator) TENON_RETURN_IF_ERROR(walk_operator(node, *target.op, roots));
      if (target.kind == TargetKind::kInlined) TENON_RETURN_IF_ERROR(walk_inlined(node, roots, depth));
    }
    return {};
  }

  std::set<std::string> mutated;

 private:
  static std::vector<std::string> names_in(JsonView argument) {
    std::vector<std::string> names;
    const auto add = [&](JsonView tensor) {
      const auto name = tensor.find("name");
      if (name && name->is_text()) names.emplace_back(*name->text());
    };
    if (const auto one = argument.find("as_tensor")) add(*one);
    if (const auto list = argument.find("as_tensors")) {
      for (const JsonView& element : elements_of(*list)) add(element);
    }
    if (const auto list = argument.find("as_optional_tensors")) {
      for (const JsonView& element : elements_of(*list)) {
        if (const auto one = element.find("as_tensor")) add(*one);
      }
    }
    return names;
  }

  static std::vector<std::string> roots_of(std::optional<JsonView> argument, const ByName<std::string>& roots) {
    std::vector<std::string> found;
    if (!argument) return found;
    for (const std::string& name : names_in(*argument)) {
      if (const auto root = roots.find(name); root != roots.end()) found.push_back(root->second);
    }
    return found;
  }

  Status walk_operator(JsonView node, const graph::Operator& op, ByName<std::string>& roots) {
    const graph::Schema& schema = op.schema;
    for (const graph::SchemaArgument& argument : schema.arguments) {
      if (!argument.mutates) continue;
      for (std::string& root : roots_of(find_argument(node, argument.name), roots)) mutated.insert(std::move(root));
    }
    for (const HiddenMutation& hidden : kHiddenMutations) {
      if (schema.name != hidden.op) continue;
      const auto flag = find_argument(node, hidden.flag);
      if (!flag || is_bool(*flag, false)) continue;
      for (const std::string_view statistic : {"running_mean", "running_var"}) {
        for (std::string& root : roots_of(find_argument(node, statistic), roots)) mutated.insert(std::move(root));
      }
    }
    // What the results are views of.
    TENON_ASSIGN_OR_RETURN(const JsonView outputs, node.member("outputs"));
    TENON_ASSIGN_OR_RETURN(const auto results, outputs.elements());
    for (size_t i = 0; i < results.size(); ++i) {
      const char alias = i < schema.returns.size() ? schema.returns[i].alias : 0;
      std::optional<JsonView> viewed;
      if (alias != 0) {
        for (const graph::SchemaArgument& argument : schema.arguments) {
          if (argument.alias == alias) viewed = find_argument(node, argument.name);
        }
      } else if (op.view && !schema.arguments.empty()) {
        viewed = find_argument(node, schema.arguments[0].name);
      }
      const std::vector<std::string> found = roots_of(viewed, roots);
      if (found.empty()) continue;
      for (std::string& name : names_in(results[i])) roots.insert_or_assign(std::move(name), found[0]);
    }
    return {};
  }

  Status walk_inlined(JsonView node, ByName<std::string>& roots, size_t depth) {
    TENON_ASSIGN_OR_RETURN(const InlinedGraph inlined, inlined_graph(node));
    TENON_ASSIGN_OR_RETURN(const JsonView inputs, inlined.graph.member("inputs"));
    TENON_ASSIGN_OR_RETURN(const auto parameters, inputs.elements());
    ByName<std::string> inner;
    for (size_t i = 0; i < parameters.size() && i < inlined.operands.size(); ++i) {
      const std::vector<std::string> names = names_in(parameters[i]), found = roots_of(inlined.operands[i], roots);
      if (names.size() == 1 && found.size() == 1) inner.emplace(names[0], found[0]);
    }
    TENON_RETURN_IF_ERROR(walk(inlined.graph, inner, depth + 1));
    TENON_ASSIGN_OR_RETURN(const JsonView yielded, inlined.graph.member("outputs"));
    TENON_ASSIGN_OR_RETURN(const auto yields, yielded.elements());
    TENON_ASSIGN_OR_RETURN(const JsonView outputs, node.member("outputs"));
    TENON_ASSIGN_OR_RETURN(const auto results, outputs.elements());
    std::vector<std::string> result_names;
    for (const JsonView& result : results) {
      for (std::string& name : names_in(result)) result_names.push_back(std::move(name));
    }
    for (size_t i = 0; i < yields.size() && i < result_names.size(); ++i) {
      const std::vector<std::string> found = roots_of(yields[i], inner);
      if (found.size() == 1) roots.insert_or_assign(result_names[i], found[0]);
    }
    return {};
  }

  const graph::OperatorRegistry& registry_;
};

}  // namespace

Result<Target> classify(JsonView node, const graph::OperatorRegistry& registry) {
  TENON_ASSIGN_OR_RETURN(const JsonView member, node.member("target"));
  TENON_ASSIGN_OR_RETURN(const std::string_view text, member.text());
  Target target;
  if (!text.starts_with("torch.ops.")) {
    target.name = text;
    const bool known = starts_with_any(text, {"_operator.", "math.", "torch.sym_", "torch._sym_"});
    if (known && gives_numbers(node)) target.kind = TargetKind::kSize;
    return target;
  }
  target.name = graph::canonical_operator_name(text);
  if (starts_with_any(target.name, {"aten.sym_size", "aten.sym_stride", "aten.sym_numel", "aten.sym_storage_offset"})) {
    if (gives_numbers(node)) target.kind = TargetKind::kSize;
  } else if (target.name == "aten._assert_scalar") {
    target.kind = TargetKind::kAssertion;
  } else if (target.name == "aten.sym_constrain_range" || target.name == "aten.sym_constrain_range_for_size") {
    target.kind = TargetKind::kSizeRange;
  } else if (is_plain_wrapper(target.name, node)) {
    target.kind = TargetKind::kInlined;
  } else if (const graph::Operator* op = registry.find(target.name); op != nullptr) {
    target.kind = TargetKind::kOperator;
    target.op = op;
  }
  return target;
}

std::optional<JsonView> find_argument(JsonView node, std::string_view name) {
  const auto inputs = node.find("inputs");
  if (!inputs) return std::nullopt;
  for (const JsonView& element : elements_of(*inputs)) {
    const auto called = element.find("name");
    if (called && called->is_text() && *called->text() == name) return element.find("arg");
  }
  return std::nullopt;
}

Result<InlinedGraph> inlined_graph(JsonView node) {
  TENON_ASSIGN_OR_RETURN(const auto arguments, arguments_of(node));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (const auto graph = graph_of(arguments[i])) {
      return InlinedGraph{*graph, {arguments.begin() + ptrdiff_t(i) + 1, arguments.end()}};
    }
  }
  return node.error("an argument that is a graph", "none");
}

Status check_operators(JsonView graph, const graph::OperatorRegistry& registry) {
  std::map<std::string, size_t> counts;
  TENON_RETURN_IF_ERROR(count_unsupported(graph, registry, 0, counts));
  if (counts.empty()) return {};
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  size_t calls = 0;
  for (const auto& [name, count] : sorted) {
    append(list, concat(list.empty() ? "" : ", ", name, " (", count, ")"));
    calls += count;
  }
  Status status = unimplemented(concat("the program uses ", sorted.size(), " unsupported ",
                                       sorted.size() == 1 ? "operator" : "operators", " in ", calls,
                                       calls == 1 ? " call: " : " calls: ", list));
  status.with("operator", sorted[0].first).with("found", list);
  return status;
}

Result<std::set<std::string>> mutated_inputs(JsonView graph, const graph::OperatorRegistry& registry) {
  TENON_ASSIGN_OR_RETURN(const JsonView member, graph.member("inputs"));
  TENON_ASSIGN_OR_RETURN(const auto inputs, member.elements());
  ByName<std::string> roots;
  for (const JsonView& input : inputs) {
    const auto tensor = input.find("as_tensor");
    const auto name = tensor ? tensor->find("name") : std::nullopt;
    if (name && name->is_text()) roots.emplace(std::string(*name->text()), std::string(*name->text()));
  }
  MutationFinder finder(registry);
  TENON_RETURN_IF_ERROR(finder.walk(graph, roots, 0));
  return std::move(finder.mutated);
}

}  // namespace tenon::import
