#include "import/pt2_build.hpp"

#include "import/pt2_outputs.hpp"
#include "support/format.hpp"

namespace tenon::import {

using graph::Argument;
using graph::ValueId;
using graph::ValueRef;

namespace {

struct WeightSpec {
  std::string_view kind;
  std::string_view name_member;
};
constexpr WeightSpec kWeightSpecs[] = {
    {"parameter", "parameter_name"},
    {"buffer", "buffer_name"},
    {"tensor_constant", "tensor_constant_name"},
};

Result<std::string_view> text_of(JsonView object, std::string_view key) {
  TENON_ASSIGN_OR_RETURN(const JsonView member, object.member(key));
  return member.text();
}

Result<std::vector<JsonView>> elements_of(JsonView object, std::string_view key) {
  TENON_ASSIGN_OR_RETURN(const JsonView member, object.member(key));
  return member.elements();
}

// Elements that the view spans in its file, [first, last).
struct Span {
  int64_t first = 0, last = 0;
};
Span span_of(const StaticTensor& view) {
  Span span{view.offset, view.offset + 1};
  for (size_t i = 0; i < view.dims.size(); ++i) {
    if (view.dims[i] == 0) return {view.offset, view.offset};
    span.last += (view.dims[i] - 1) * view.strides[i];
  }
  return span;
}

bool overlaps_itself(const Weight& weight) {
  int64_t count = 1;
  for (const int64_t dim : weight.view.dims) count *= dim;
  const Span span = span_of(weight.view);
  return count > span.last - span.first;
}

}  // namespace

ProgramBuilder::ProgramBuilder(JsonView program, const WeightIndex& weights, graph::Graph& graph,
                               std::vector<std::string>& notes)
    : program_(program),
      graph_module_(program),
      source_(program),
      weights_(weights),
      graph_(graph),
      notes_(notes),
      sizes_(graph.facts()) {}

Status ProgramBuilder::build() {
  TENON_ASSIGN_OR_RETURN(graph_module_, program_.member("graph_module"));
  TENON_ASSIGN_OR_RETURN(source_, graph_module_.member("graph"));
  TENON_RETURN_IF_ERROR(check_operators(source_, graph_.registry()));
  TENON_ASSIGN_OR_RETURN(scope_, Scope::read(source_));
  TENON_RETURN_IF_ERROR(declare_symbols());
  TENON_RETURN_IF_ERROR(plan_weights());
  TENON_RETURN_IF_ERROR(check_shared_memory());
  TENON_RETURN_IF_ERROR(add_leaves());
  TENON_RETURN_IF_ERROR(add_nodes(source_, scope_));
  return add_outputs();
}

Status ProgramBuilder::declare_symbols() {
  TENON_ASSIGN_OR_RETURN(const JsonView signature, graph_module_.member("signature"));
  TENON_ASSIGN_OR_RETURN(const auto specs, elements_of(signature, "input_specs"));
  std::vector<InputSizes> inputs;
  for (const JsonView& spec : specs) {
    const auto user = spec.find("user_input");
    const auto argument = user ? user->find("arg") : std::nullopt;
    const auto tensor = argument ? argument->find("as_tensor") : std::nullopt;
    if (!tensor) continue;
    TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(*tensor, "name"));
    const auto meta = scope_.tensors.find(name);
    if (meta == scope_.tensors.end()) return tensor->error("a tensor with a description", concat("'", name, "'"));
    TENON_ASSIGN_OR_RETURN(const JsonView sizes, meta->second.member("sizes"));
    inputs.push_back({std::string(name), sizes});
  }
  TENON_ASSIGN_OR_RETURN(symbols_, read_symbols(program_, inputs, notes_));
  for (const auto& [name, terms] : symbols_.bound) {
    TENON_ASSIGN_OR_RETURN(const graph::Expr symbol,
                           graph_.declare_symbol(name, terms.min, terms.max, terms.divisor));
    sizes_.bind(name, symbol);
  }
  return {};
}

Status ProgramBuilder::plan_weights() {
  TENON_ASSIGN_OR_RETURN(std::set<std::string> changed, mutated_inputs(source_, graph_.registry()));
  TENON_ASSIGN_OR_RETURN(const JsonView signature, graph_module_.member("signature"));
  TENON_ASSIGN_OR_RETURN(const auto output_specs, elements_of(signature, "output_specs"));
  std::set<std::string, std::less<>> changed_names;  // in the module
  for (const JsonView& spec : output_specs) {
    if (const auto buffer = spec.find("buffer_mutation")) {
      TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(*buffer, "buffer_name"));
      changed_names.emplace(name);
    } else if (const auto parameter = spec.find("parameter_mutation")) {
      TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(*parameter, "parameter_name"));
      changed_names.emplace(name);
    }
  }
  TENON_ASSIGN_OR_RETURN(const auto input_specs, elements_of(signature, "input_specs"));
  std::set<std::string> changed_views;
  for (const JsonView& spec : input_specs) {
    for (const WeightSpec& kind : kWeightSpecs) {
      const auto content = spec.find(kind.kind);
      if (!content) continue;
      WeightLeaf leaf;
      TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(*content, kind.name_member));
      TENON_ASSIGN_OR_RETURN(const JsonView argument, content->member("arg"));
      TENON_ASSIGN_OR_RETURN(const std::string_view value, text_of(argument, "name"));
      leaf.name = name;
      leaf.value = value;
      TENON_ASSIGN_OR_RETURN(leaf.weight, weights_.find(name));
      leaf.changes = changed.count(leaf.value) != 0 || changed_names.count(leaf.name) != 0;
      if (leaf.changes) changed_views.insert(leaf.view());
      leaves_.push_back(std::move(leaf));
    }
  }
  for (WeightLeaf& leaf : leaves_) leaf.changes = changed_views.count(leaf.view()) != 0;
  return {};
}

// A state is memory of its own, so nothing else may show a part of it.
Status ProgramBuilder::check_shared_memory() const {
  for (const WeightLeaf& leaf : leaves_) {
    if (!leaf.changes) continue;
    if (overlaps_itself(leaf.weight)) {
      return unimplemented(concat("'", leaf.name, "' is changed by the program and several of its elements are one"))
          .with("value", leaf.name);
    }
    const Span span = span_of(leaf.weight.view);
    for (const WeightLeaf& other : leaves_) {
      if (other.weight.file != leaf.weight.file || other.view() == leaf.view()) continue;
      const Span seen = span_of(other.weight.view);
      if (seen.first < span.last && span.first < seen.last) {
        return unimplemented(concat("'", leaf.name, "' is changed by the program and shares memory with '", other.name,
                                    "', another view"))
            .with("value", leaf.name);
      }
    }
  }
  return {};
}

Status ProgramBuilder::add_leaves() {
  TENON_ASSIGN_OR_RETURN(const JsonView signature, graph_module_.member("signature"));
  TENON_ASSIGN_OR_RETURN(const auto specs, elements_of(signature, "input_specs"));
  // User inputs first: their names are the callers', a weight of the same name gives way.
  for (const JsonView& spec : specs) {
    TENON_ASSIGN_OR_RETURN(const auto member, spec.only_member());
    const auto& [kind, content] = member;
    if (kind == "user_input") {
      TENON_ASSIGN_OR_RETURN(const JsonView argument, content.member("arg"));
      TENON_RETURN_IF_ERROR(add_user_input(argument));
    } else if (kind == "constant_input") {
      TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(content, "name"));
      TENON_ASSIGN_OR_RETURN(const JsonView value, content.member("value"));
      TENON_ASSIGN_OR_RETURN(Argument literal, reader(scope_).read_value(value));
      scope_.values.insert_or_assign(std::string(name), std::move(literal));
    } else if (kind != "parameter" && kind != "buffer" && kind != "tensor_constant") {
      return unimplemented(concat("an input of the kind '", kind, "' is not supported")).with("found", kind);
    }
  }
  for (const WeightLeaf& leaf : leaves_) TENON_RETURN_IF_ERROR(add_weight(leaf));
  return {};
}

Status ProgramBuilder::add_weight(const WeightLeaf& leaf) {
  const std::string view = leaf.view();
  auto made = by_view_.find(view);
  if (made == by_view_.end()) {
    const auto add = [&](const std::string& name) -> Result<ValueId> {
      const Weight& weight = leaf.weight;
      if (leaf.changes) {
        std::vector<graph::Expr> dims;
        for (const int64_t dim : weight.view.dims) dims.push_back(graph_.pool().constant(dim));
        return graph_.add_state(name, graph::tensor_type(weight.view.dtype, std::move(dims)), weight.row_major());
      }
      graph::Constant constant;
      constant.name = name;
      constant.bytes = weight.bytes;
      constant.offset_bytes = weight.view.offset * int64_t(size_bytes(weight.view.dtype));
      constant.dims = weight.view.dims;
      constant.strides = weight.view.strides;
      constant.key = weight.key;
      return graph_.add_constant(std::move(constant), weight.view.dtype);
    };
    Result<ValueId> value = add(leaf.name);
    if (!value.ok() && value.status().code() == Code::kAlreadyExists) value = add(leaf.value);
    if (!value.ok()) return std::move(value).status();
    made = by_view_.emplace(view, *value).first;
  }
  by_module_name_.insert_or_assign(leaf.name, made->second);
  scope_.values.insert_or_assign(leaf.value, ValueRef{made->second});
  return {};
}

Status ProgramBuilder::add_user_input(JsonView argument) {
  TENON_ASSIGN_OR_RETURN(const auto member, argument.only_member());
  const auto& [tag, content] = member;
  if (tag == "as_tensor") {
    TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(content, "name"));
    const JsonView meta = scope_.tensors.find(name)->second;  // declare_symbols has looked
    TENON_ASSIGN_OR_RETURN(const JsonView number, meta.member("dtype"));
    TENON_ASSIGN_OR_RETURN(const DType dtype, read_dtype(number));
    TENON_ASSIGN_OR_RETURN(const JsonView sizes, meta.member("sizes"));
    TENON_ASSIGN_OR_RETURN(std::vector<graph::Expr> dims, sizes_.sizes(sizes));
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto constant = graph_.pool().as_constant(dims[i]);
      if (constant && *constant < 0) return sizes.error("sizes of at least 0", concat(*constant));
    }
    // Strides are left out: those of the example that was exported bind nobody.
    TENON_ASSIGN_OR_RETURN(const ValueId value, graph_.add_input(name, graph::tensor_type(dtype, std::move(dims))));
    scope_.values.insert_or_assign(std::string(name), ValueRef{value});
    return {};
  }
  struct NumberInput {
    std::string_view tag;
    DType dtype;
  };
  static constexpr NumberInput kNumbers[] = {
      {"as_sym_int", DType::kI64}, {"as_sym_float", DType::kF64}, {"as_sym_bool", DType::kBool}};
  for (const NumberInput& number : kNumbers) {
    const auto named = tag == number.tag ? content.find("as_name") : std::nullopt;
    if (!named) continue;
    TENON_ASSIGN_OR_RETURN(const std::string_view name, named->text());
    TENON_ASSIGN_OR_RETURN(const ValueId value, graph_.add_input(name, graph::scalar_type(number.dtype)));
    scope_.values.insert_or_assign(std::string(name), ValueRef{value});
    return {};
  }
  if (tag == "as_none" || tag == "as_int" || tag == "as_bool" || tag == "as_float" || tag == "as_string") return {};
  return unimplemented(concat(argument.path(), ": an input of the kind '", tag, "' is not supported"))
      .with("found", tag);
}

Result<ValueId> ProgramBuilder::mutation_target(std::string_view kind, JsonView spec) {
  if (kind == "user_input_mutation") {
    TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(spec, "user_input_name"));
    const auto found = scope_.values.find(name);
    const auto* value = found == scope_.values.end() ? nullptr : std::get_if<ValueRef>(&found->second);
    if (value == nullptr) return spec.error("the name of an input", concat("'", name, "'"));
    return value->id;
  }
  TENON_ASSIGN_OR_RETURN(const std::string_view name,
                         text_of(spec, kind == "buffer_mutation" ? "buffer_name" : "parameter_name"));
  const auto found = by_module_name_.find(name);
  if (found == by_module_name_.end()) return spec.error("the name of a buffer or parameter", concat("'", name, "'"));
  return found->second;
}

Result<std::vector<std::string>> ProgramBuilder::names_of_outputs(size_t count) const {
  std::string_view spec;
  if (const auto calls = graph_module_.find("module_call_graph")) {
    TENON_ASSIGN_OR_RETURN(const auto elements, calls->elements());
    const auto signature = elements.empty() ? std::nullopt : elements[0].find("signature");
    const auto member = signature ? signature->find("out_spec") : std::nullopt;
    if (member) {
      TENON_ASSIGN_OR_RETURN(spec, member->text());
    }
  }
  return output_names(spec, count);
}

Status ProgramBuilder::add_outputs() {
  TENON_ASSIGN_OR_RETURN(const JsonView signature, graph_module_.member("signature"));
  TENON_ASSIGN_OR_RETURN(const auto specs, elements_of(signature, "output_specs"));
  std::vector<Argument> results;
  for (const JsonView& spec : specs) {
    TENON_ASSIGN_OR_RETURN(const auto member, spec.only_member());
    const auto& [kind, content] = member;
    if (kind == "user_output" || kind == "loss_output") {
      TENON_ASSIGN_OR_RETURN(JsonView argument, content.member("arg"));
      // A loss is written as {"name": ..}, other results as a tagged union.
      if (kind == "loss_output") {
        TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(argument, "name"));
        TENON_ASSIGN_OR_RETURN(Argument result, reader(scope_).value(name, argument));
        results.push_back(std::move(result));
        continue;
      }
      TENON_ASSIGN_OR_RETURN(Argument result, reader(scope_).read_value(argument));
      const bool returnable = std::holds_alternative<std::monostate>(result) || std::holds_alternative<bool>(result) ||
                              std::holds_alternative<graph::Expr>(result) || std::holds_alternative<double>(result) ||
                              std::holds_alternative<ValueRef>(result);
      if (!returnable) return unimplemented(concat(argument.path(), ": a result of this kind is not supported"));
      results.push_back(std::move(result));
      continue;
    }
    if (kind != "buffer_mutation" && kind != "parameter_mutation" && kind != "user_input_mutation") {
      return unimplemented(concat("an output of the kind '", kind, "' is not supported")).with("found", kind);
    }
    TENON_ASSIGN_OR_RETURN(const ValueId target, mutation_target(kind, content));
    TENON_ASSIGN_OR_RETURN(const JsonView argument, content.member("arg"));
    TENON_ASSIGN_OR_RETURN(const std::string_view name, text_of(argument, "name"));
    TENON_ASSIGN_OR_RETURN(const Argument value, reader(scope_).value(name, argument));
    const auto* stored = std::get_if<ValueRef>(&value);
    if (stored == nullptr) return argument.error("a tensor", concat("'", name, "', which is none"));
    if (stored->id != target) graph_.add_write_back(target, stored->id);
  }
  TENON_ASSIGN_OR_RETURN(const auto names, names_of_outputs(results.size()));
  for (size_t i = 0; i < results.size(); ++i) graph_.add_output(names[i], std::move(results[i]));
  return {};
}

}  // namespace tenon::import
