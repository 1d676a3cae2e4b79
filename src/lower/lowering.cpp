#include "lower/lowering.hpp"

#include <bit>

#include "support/format.hpp"

namespace tenon::lower {

using artifact::ScalarOp;
using loop::Scalar;
using symbolic::Relation;
using symbolic::Truth;

Lowering::Lowering(graph::Graph& graph, Module& module) : graph_(graph), module_(module) {
  // Site 0 is that of index arithmetic, whose divisors are sizes: it cannot fail where a kernel has anything to do.
  module_.sites.emplace_back("index arithmetic", "division by zero");
}

std::function<ScalarId(std::span<const Expr>)> Lowering::operand(size_t index, size_t rank, DType dtype) {
  const graph::Argument& argument = this->argument(index);
  auto number = [this](ScalarId id) { return [id](std::span<const Expr>) { return id; }; };
  if (const auto* flag = std::get_if<bool>(&argument)) return number(scalars().constant_int(*flag, dtype));
  if (const auto* real = std::get_if<double>(&argument)) return number(scalars().constant(*real, dtype));
  if (const auto* integer = std::get_if<Expr>(&argument)) {
    if (auto known = pool().as_constant(*integer)) return number(scalars().constant_int(*known, dtype));
    return number(scalars().convert(scalars().index(*integer), dtype));
  }
  const ValueId id = std::get<graph::ValueRef>(argument).id;
  const size_t own_rank = tensors_[id].dims.size();
  std::vector<bool> broadcast(own_rank);
  for (size_t d = 0; d < own_rank; ++d) broadcast[d] = is_one(tensors_[id].dims[d]);
  return [this, id, rank, own_rank, broadcast](std::span<const Expr> indices) {
    std::vector<Expr> own(own_rank);
    for (size_t d = 0; d < own_rank; ++d) own[d] = broadcast[d] ? zero() : indices[rank - own_rank + d];
    return tensors_[id].at(own);
  };
}

void Lowering::define(size_t result, Tensor tensor) {
  const ValueId id = node_->results[result];
  if (uses_[id] > 1 && !tensor.view) tensor = realize_if_shared(tensor, graph_.value(id).name);
  tensors_[id] = std::move(tensor);
}

Tensor Lowering::inline_tensor(DType dtype, std::vector<Expr> dims, std::function<ScalarId(std::span<const Expr>)> at) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.at = std::move(at);
  return tensor;
}

Tensor Lowering::view_tensor(DType dtype, std::vector<Expr> dims, View view) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.view = view;
  tensor.at = [this, view, dtype](std::span<const Expr> indices) {
    Expr offset = view.offset;
    for (size_t d = 0; d < indices.size(); ++d) offset = pool().add(offset, pool().mul(view.strides[d], indices[d]));
    return scalars().load(view.buffer, dtype, facts().simplify(offset));
  };
  return tensor;
}

Expr Lowering::new_axis(Expr extent, std::vector<loop::Axis>& axes, std::string_view prefix) {
  if (is_one(extent)) return zero();
  const SymbolId symbol = pool().fresh_symbol(prefix, symbolic::SymbolKind::kIndex);
  facts().set_index_bound(symbol, extent);
  axes.push_back({symbol, extent});
  return pool().of(symbol);
}

loop::BufferId Lowering::new_buffer(DType dtype, std::vector<Expr> dims, std::string_view name) {
  loop::BufferInfo info;
  info.name = name;
  info.dtype = dtype;
  info.strides = row_major(dims);
  info.dims = std::move(dims);
  module_.buffers.push_back(std::move(info));
  return loop::BufferId(module_.buffers.size() - 1);
}

std::vector<Expr> Lowering::row_major(std::span<const Expr> dims) {
  std::vector<Expr> strides(dims.size(), constant(1));
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = pool().mul(strides[d], dims[d]);
  return strides;
}

namespace {

bool is_row_major(Lowering& lowering, const Tensor& tensor) {
  if (!tensor.view || !lowering.pool().is_constant(tensor.view->offset, 0)) return false;
  if (lowering.module().buffers[tensor.view->buffer].role != loop::BufferRole::kTemporary) return false;
  const std::vector<Expr> wanted = lowering.row_major(tensor.dims);
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (!lowering.is_one(tensor.dims[d]) && !lowering.facts().provably_equal(wanted[d], tensor.view->strides[d])) return false;
  }
  // All of the buffer, not a part of it.
  const std::vector<Expr>& dims = lowering.module().buffers[tensor.view->buffer].dims;
  return lowering.facts().provably_equal(lowering.pool().product(tensor.dims), lowering.pool().product(dims));
}

}  // namespace

Tensor Lowering::realize(const Tensor& tensor, std::string_view name) {
  if (is_row_major(*this, tensor)) return tensor;
  loop::Nest nest;
  std::vector<Expr> indices;
  for (Expr extent : tensor.dims) indices.push_back(new_axis(extent, nest.mapped));
  nest.value = tensor.at(indices);
  nest.output = new_buffer(tensor.dtype, tensor.dims, name);
  if (node_ != nullptr) nest.origin = node_->op->schema.name;
  const loop::BufferId buffer = nest.output;
  module_.statements.push_back({std::move(nest), std::nullopt});
  return view_tensor(tensor.dtype, tensor.dims, View{buffer, zero(), row_major(tensor.dims)});
}

Tensor Lowering::realize_if_shared(const Tensor& tensor, std::string_view name) {
  if (tensor.view) return tensor;
  std::vector<loop::Axis> axes;
  std::vector<Expr> indices;
  for (Expr extent : tensor.dims) indices.push_back(new_axis(extent, axes));
  const ScalarId body = tensor.at(indices);
  int loads = 0;
  for (ScalarId id : scalars().postorder(std::span(&body, 1))) {
    const ScalarOp op = scalars()[id].op;
    loads += op == ScalarOp::kLoad || op == ScalarOp::kMaskedLoad;
  }
  // Reading it anew must not cost more than one read of memory and a few operations.
  if (loads == 0 || (loads <= 1 && scalars().cost(body) <= 4)) return tensor;
  return realize(tensor, name);
}

Tensor Lowering::in_memory(const Tensor& tensor, std::string_view name) {
  if (tensor.view) return tensor;
  if (tensor.base != graph::kNoValue) {
    const ValueId base = tensor.base;
    const auto again = tensor.again;
    tensors_[base] = in_memory(Tensor(tensors_[base]), name);
    Tensor viewed = again(tensors_[base]);
    if (viewed.view) return viewed;
    return realize(viewed, name);
  }
  return realize(tensor, name);
}

Tensor Lowering::remember_view(Tensor made, std::function<Tensor(const Tensor&)> again) {
  if (made.view) return made;
  made.base = value(0);
  made.again = std::move(again);
  return made;
}

Tensor Lowering::reduce(const Tensor& tensor, artifact::Combiner combiner, DType dtype, std::span<const int64_t> dims,
                        std::string_view name) {
  loop::Nest nest;
  nest.combiner = combiner;
  std::vector<bool> reduced(tensor.dims.size(), false);
  for (int64_t d : dims) reduced[size_t(d)] = true;
  std::vector<Expr> indices(tensor.dims.size()), kept;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (reduced[d]) continue;
    indices[d] = new_axis(tensor.dims[d], nest.mapped);
    kept.push_back(tensor.dims[d]);
  }
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (reduced[d]) indices[d] = new_axis(tensor.dims[d], nest.reduced, "r");
  }
  nest.value = tensor.at(indices);
  const bool position = combiner == artifact::Combiner::kArgMax || combiner == artifact::Combiner::kArgMin;
  const DType result = position ? DType::kI64 : dtype;
  if (!position) nest.value = scalars().convert(nest.value, dtype);
  if (node_ != nullptr) nest.origin = node_->op->schema.name;
  if (nest.reduced.empty()) {
    // One element to combine: itself, or position 0.
    nest.combiner.reset();
    if (position) nest.value = scalars().constant_int(0, DType::kI64);
  }
  nest.output = new_buffer(result, kept, name);
  const loop::BufferId buffer = nest.output;
  module_.statements.push_back({std::move(nest), std::nullopt});
  return view_tensor(result, kept, View{buffer, zero(), row_major(kept)});
}

ScalarId Lowering::compare(ScalarOp op, Expr a, Expr b) {
  Truth truth = Truth::kUnknown;
  switch (op) {
    case ScalarOp::kLt: truth = facts().prove({Relation::kLt, a, b}); break;
    case ScalarOp::kLe: truth = facts().prove({Relation::kLe, a, b}); break;
    case ScalarOp::kGe: truth = facts().prove({Relation::kLe, b, a}); break;
    case ScalarOp::kGt: truth = facts().prove({Relation::kLt, b, a}); break;
    case ScalarOp::kEq: truth = facts().prove({Relation::kEq, a, b}); break;
    default: break;
  }
  if (truth != Truth::kUnknown) return scalars().constant_int(truth == Truth::kTrue, DType::kBool);
  return scalars().binary(op, scalars().index(a), scalars().index(b));
}

ScalarId Lowering::both(ScalarId a, ScalarId b) {
  for (auto [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    if (scalars()[x].op == ScalarOp::kConstant) return scalars()[x].bits != 0 ? y : x;
  }
  return scalars().binary(ScalarOp::kAnd, a, b);
}

ScalarId Lowering::guarded(ScalarId body, ScalarId predicate) {
  if (scalars()[predicate].op == ScalarOp::kConstant && scalars()[predicate].bits != 0) return body;
  std::unordered_map<uint32_t, ScalarId> memo;
  // Index expressions inside are rebuilt too, because a gathered row number may come from memory.
  std::function<ScalarId(ScalarId)> walk = [&](ScalarId id) -> ScalarId {
    if (!id.valid()) return id;
    if (auto it = memo.find(id.id); it != memo.end()) return it->second;
    Scalar s = scalars()[id];
    s.a = walk(s.a);
    s.b = walk(s.b);
    s.c = walk(s.c);
    if (s.op == ScalarOp::kIndex || s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) {
      std::vector<SymbolId> from;
      std::vector<Expr> to;
      for (SymbolId symbol : pool().symbols(s.index)) {
        if (auto defined = scalars().definition(symbol)) {
          from.push_back(symbol);
          to.push_back(scalars().as_index(walk(*defined)));
        }
      }
      if (!from.empty()) s.index = pool().substitute(s.index, from, to);
    }
    ScalarId made;
    switch (s.op) {
      case ScalarOp::kLoad:
        made = scalars().masked_load(s.buffer, s.dtype, s.index, predicate, scalars().constant_int(0, s.dtype));
        break;
      case ScalarOp::kMaskedLoad:
        s.a = both(s.a, predicate);
        made = scalars().intern(s);
        break;
      case ScalarOp::kCheckIndex:
      case ScalarOp::kWrapIndex:
        // 0 passes both checks unless the bound is 0, and then the predicate's bound makes it pass.
        s.a = scalars().select(predicate, s.a, scalars().constant_int(0, DType::kI64));
        s.b = scalars().select(predicate, s.b, scalars().constant_int(1, DType::kI64));
        made = scalars().intern(s);
        break;
      case ScalarOp::kDiv:
      case ScalarOp::kFloorDiv:
      case ScalarOp::kFmod:
      case ScalarOp::kRemainder:
        if (!is_floating(s.dtype)) s.b = scalars().select(predicate, s.b, scalars().constant_int(1, s.dtype));
        made = scalars().intern(s);
        break;
      default:
        made = s.op == ScalarOp::kIndex ? scalars().index(s.index) : scalars().intern(s);
        break;
    }
    memo.emplace(id.id, made);
    return made;
  };
  return walk(body);
}

int64_t Lowering::site(std::string_view what) {
  const std::string& name = (node_->source != nullptr ? node_->source : node_->op)->schema.name;
  const std::string op = node_->origin.empty() ? name : concat(name, " at ", node_->origin);
  for (size_t i = 0; i < module_.sites.size(); ++i) {
    if (module_.sites[i].first == op && module_.sites[i].second == what) return int64_t(i);
  }
  module_.sites.emplace_back(op, what);
  return int64_t(module_.sites.size() - 1);
}

Status Lowering::error(std::string_view message) const {
  return unimplemented(concat(node_->op->schema.name, ": ", message)).with("operator", node_->op->schema.name);
}

}  // namespace tenon::lower
