// Lowering of primitives to loop nests, define by run: a tensor under lowering is a function from indices to a scalar
// expression and becomes a buffer only when it must (several readers of something that costs, reduction, operand of a template,
// output). One file an operator family registers its rules; the driver (lower.cpp) walks the graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "loop/module.hpp"

namespace tenon::lower {

using graph::ValueId;
using loop::Expr;
using loop::Module;
using loop::ScalarId;
using symbolic::SymbolId;

// A strided window of a buffer: element i... is at offset + sum(strides[d] * i[d]).
struct View {
  loop::BufferId buffer = 0;
  Expr offset;
  std::vector<Expr> strides;
};

struct Tensor {
  DType dtype = DType::kF32;
  std::vector<Expr> dims;
  std::function<ScalarId(std::span<const Expr>)> at;  // value of one element; `dims.size()` indices
  std::optional<View> view;                            // when it lies in memory
  // When it is a view of a value that is not in memory: that value, and how to make the view again once it is.
  ValueId base = graph::kNoValue;
  std::function<Tensor(const Tensor&)> again;
};

class Lowering {
 public:
  Lowering(graph::Graph& graph, Module& module);

  graph::Graph& graph() { return graph_; }
  Module& module() { return module_; }
  loop::Scalars& scalars() { return module_.scalars; }
  symbolic::Pool& pool() { return graph_.pool(); }
  symbolic::Facts& facts() { return graph_.facts(); }
  const graph::Node& node() const { return *node_; }

  // Arguments of the node being lowered.
  const graph::Argument& argument(size_t index) const { return node_->arguments[index]; }
  bool absent(size_t index) const { return graph::is_none(argument(index)); }
  ValueId value(size_t index) const { return std::get<graph::ValueRef>(argument(index)).id; }
  const Tensor& tensor(size_t index) { return tensors_[value(index)]; }
  const Tensor& tensor_of(ValueId value) { return tensors_[value]; }
  // The element of operand `index` (a tensor that broadcasts to `rank` dims, or a number of type `dtype`).
  std::function<ScalarId(std::span<const Expr>)> operand(size_t index, size_t rank, DType dtype);

  Expr constant(int64_t value) { return pool().constant(value); }
  Expr zero() { return pool().constant(0); }
  bool is_one(Expr e) { return pool().is_constant(e, 1); }

  // Defines the node's result.
  void define(size_t result, Tensor tensor);
  // A tensor given by a function; nothing is computed yet.
  Tensor inline_tensor(DType dtype, std::vector<Expr> dims, std::function<ScalarId(std::span<const Expr>)> at);
  // A tensor that lies in memory.
  Tensor view_tensor(DType dtype, std::vector<Expr> dims, View view);

  // A fresh loop variable in [0, extent); for extent 1 there is none and the index is 0.
  Expr new_axis(Expr extent, std::vector<loop::Axis>& axes, std::string_view prefix = "i");
  loop::BufferId new_buffer(DType dtype, std::vector<Expr> dims, std::string_view name);
  std::vector<Expr> row_major(std::span<const Expr> dims);

  // Computes a tensor into a new row-major buffer (if it is not a row-major buffer already).
  Tensor realize(const Tensor& tensor, std::string_view name);
  // The same, but only when reading it several times costs more than memory does.
  Tensor realize_if_shared(const Tensor& tensor, std::string_view name);
  // A tensor in memory with any strides; realizes when it is not: a view's base rather than the view, so that what computes
  // the base can store it, and other views of it share it.
  Tensor in_memory(const Tensor& tensor, std::string_view name);
  // `made` is `again` applied to the node's first argument.
  Tensor remember_view(Tensor made, std::function<Tensor(const Tensor&)> again);
  // Combines over `dims` (ascending); the result has the other dims, row-major in memory.
  Tensor reduce(const Tensor& tensor, artifact::Combiner combiner, DType dtype, std::span<const int64_t> dims, std::string_view name);

  // Views of tensors, as functions of indices and of strides where there are any.
  Tensor permute(const Tensor& tensor, std::span<const int64_t> order);
  Tensor reshape(const Tensor& tensor, std::vector<Expr> dims);
  Tensor expand(const Tensor& tensor, std::vector<Expr> dims);

  // `body` made safe to evaluate where `predicate` is false: no memory is read and no index fails there.
  ScalarId guarded(ScalarId body, ScalarId predicate);
  // a < b etc. over index expressions as a bool scalar; folded when facts decide.
  ScalarId compare(artifact::ScalarOp op, Expr a, Expr b);
  ScalarId both(ScalarId a, ScalarId b);
  int64_t site(std::string_view what);

  Status error(std::string_view message) const;

  // Masks of attention that are in memory already, by value.
  std::unordered_map<ValueId, std::pair<Tensor, std::vector<size_t>>>& masks() { return masks_; }

  Status run();

 private:
  Status lower_leaves();
  Status lower_node(graph::NodeId id);
  Status finish();

  graph::Graph& graph_;
  Module& module_;
  const graph::Node* node_ = nullptr;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> uses_;
  std::unordered_map<ValueId, std::pair<Tensor, std::vector<size_t>>> masks_;
};

using Rule = Status (*)(Lowering&);
const Rule* find_rule(std::string_view op);  // null: no rule

// The families.
struct NamedRule {
  std::string_view op;
  Rule rule;
};
std::span<const NamedRule> pointwise_rules();
std::span<const NamedRule> view_rules();
std::span<const NamedRule> index_rules();
std::span<const NamedRule> reduction_rules();
std::span<const NamedRule> matmul_rules();
std::span<const NamedRule> normalization_rules();

}  // namespace tenon::lower
