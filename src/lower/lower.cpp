#include "lower/lower.hpp"

#include <array>
#include <unordered_map>

#include "lower/lowering.hpp"
#include "support/format.hpp"

namespace tenon::lower {

const Rule* find_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Rule> rules = [] {
    std::unordered_map<std::string_view, Rule> table;
    for (auto family : {pointwise_rules(), view_rules(), index_rules(), reduction_rules(), matmul_rules(), normalization_rules()}) {
      for (const NamedRule& named : family) table.emplace(named.op, named.rule);
    }
    return table;
  }();
  auto it = rules.find(op);
  return it == rules.end() ? nullptr : &it->second;
}

Status Lowering::lower_leaves() {
  auto add = [&](ValueId id, loop::BufferRole role, uint32_t index, std::string name, std::vector<Expr> strides, Expr offset) {
    const graph::Type& type = graph_.type(id);
    loop::BufferInfo info;
    info.name = std::move(name);
    info.role = role;
    info.index = index;
    info.dtype = type.dtype;
    info.dims = type.dims;
    info.strides = strides;
    module_.buffers.push_back(info);
    tensors_[id] = view_tensor(type.dtype, type.dims, View{loop::BufferId(module_.buffers.size() - 1), offset, std::move(strides)});
  };
  uint32_t index = 0;
  for (const graph::Input& input : graph_.inputs()) {
    const graph::Type& type = graph_.type(input.value);
    if (type.pending) return internal_error(concat("input ", input.name, " has no complete type"));
    add(input.value, loop::BufferRole::kInput, index++, input.name, type.strides.empty() ? row_major(type.dims) : type.strides, zero());
  }
  index = 0;
  for (const graph::Constant& constant : graph_.constants()) {
    std::vector<Expr> strides;
    for (int64_t stride : constant.strides) strides.push_back(this->constant(stride));
    add(constant.value, loop::BufferRole::kConstant, index++, constant.name, std::move(strides), zero());
  }
  index = 0;
  for (const graph::State& state : graph_.states()) {
    add(state.value, loop::BufferRole::kState, index++, graph_.value(state.value).name, row_major(graph_.type(state.value).dims), zero());
  }
  return {};
}

Status Lowering::lower_node(graph::NodeId id) {
  node_ = &graph_.node(id);
  const Rule* rule = find_rule(node_->op->schema.name);
  if (rule == nullptr) {
    return unimplemented(concat("no lowering for ", node_->op->schema.name)).with("operator", node_->op->schema.name);
  }
  for (ValueId result : node_->results) {
    if (graph_.type(result).pending) return internal_error(concat(node_->op->schema.name, ": a result has no complete type"));
  }
  return (*rule)(*this);
}

Status Lowering::finish() {
  std::vector<bool> taken(module_.buffers.size(), false);
  auto own_buffer = [&](ValueId id, std::string_view name) {
    Tensor tensor = tensors_[id];
    if (tensor.view) {
      const loop::BufferInfo& info = module_.buffers[tensor.view->buffer];
      const bool is_taken = tensor.view->buffer < taken.size() && taken[tensor.view->buffer];
      if (info.role != loop::BufferRole::kTemporary || is_taken) {
        // Every result has memory of its own: copied.
        tensor = realize(inline_tensor(tensor.dtype, tensor.dims, tensor.at), name);
        taken.resize(module_.buffers.size(), false);
        taken[tensor.view->buffer] = true;
        return tensor.view->buffer;
      }
    }
    tensor = realize(tensor, name);
    tensors_[id] = tensor;  // for a write-back of the same value
    taken.resize(module_.buffers.size(), false);
    taken[tensor.view->buffer] = true;
    return tensor.view->buffer;
  };
  for (const graph::Output& output : graph_.outputs()) {
    if (const auto* ref = std::get_if<graph::ValueRef>(&output.argument)) module_.outputs.push_back(own_buffer(ref->id, output.name));
  }
  // What is written back at the end may be any memory that is complete by then, but the target's own and what another
  // write-back replaces.
  for (const graph::Graph::WriteBack& write_back : graph_.write_backs()) {
    Tensor tensor = realize(tensors_[write_back.value], "write_back");
    if (module_.buffers[tensor.view->buffer].role != loop::BufferRole::kTemporary) {
      tensor = realize(inline_tensor(tensor.dtype, tensor.dims, tensor.at), "write_back");
    }
    tensors_[write_back.value] = tensor;
    module_.write_backs.emplace_back(tensors_[write_back.target].view->buffer, tensor.view->buffer);
  }
  return {};
}

Status Lowering::run() {
  uses_ = graph_.use_counts();
  tensors_.resize(graph_.value_count());
  TENON_RETURN_IF_ERROR(lower_leaves());
  for (graph::NodeId id : graph_.order()) TENON_RETURN_IF_ERROR(lower_node(id));
  return finish();
}

Result<std::unique_ptr<loop::Module>> lower(graph::Graph& graph) {
  auto module = std::make_unique<loop::Module>(graph.pool(), graph.facts());
  Lowering lowering(graph, *module);
  TENON_RETURN_IF_ERROR(lowering.run());
  return module;
}

}  // namespace tenon::lower
