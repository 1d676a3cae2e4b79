#include "passes/view_kinds.hpp"

#include <algorithm>

#include "ops/shapes.hpp"
#include "passes/inspect.hpp"
#include "support/format.hpp"

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::Type;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;

namespace {

using Dims = std::vector<Expr>;

enum class Family : uint8_t { kNone, kResize, kReorder, kSlice, kSelect, kNarrow, kParts, kUnbind, kExpand };

struct Kind {
  std::string_view name;
  Family family;
  bool may_copy = false;
};

constexpr Kind kKinds[] = {
    {"aten.view", Family::kResize},
    {"aten.reshape", Family::kResize, true},
    {"aten.view_as", Family::kResize},
    {"aten.reshape_as", Family::kResize, true},
    {"aten.flatten.using_ints", Family::kResize, true},
    {"aten.unflatten.int", Family::kResize},
    {"aten.unsqueeze", Family::kResize},
    {"aten.squeeze", Family::kResize},
    {"aten.squeeze.dim", Family::kResize},
    {"aten.squeeze.dims", Family::kResize},
    {"aten.alias", Family::kResize},
    {"aten.detach", Family::kResize},
    {"aten.detach_", Family::kResize},
    {"aten.lift", Family::kResize},
    {"aten.lift_fresh", Family::kResize},
    {"aten.positive", Family::kResize},
    {"aten.contiguous", Family::kResize, true},
    {"aten.dropout", Family::kResize},
    {"aten.to.dtype", Family::kResize},
    {"aten.to.dtype_layout", Family::kResize},
    {"aten.to.device", Family::kResize},
    {"aten.to.other", Family::kResize},
    {"aten.type_as", Family::kResize},
    {"aten.expand", Family::kExpand},
    {"aten.expand_as", Family::kExpand},
    {"aten.broadcast_to", Family::kExpand},
    {"aten.permute", Family::kReorder},
    {"aten.transpose.int", Family::kReorder},
    {"aten.swapaxes", Family::kReorder},
    {"aten.swapdims", Family::kReorder},
    {"aten.t", Family::kReorder},
    {"aten.mT", Family::kReorder},
    {"aten.movedim.int", Family::kReorder},
    {"aten.movedim.intlist", Family::kReorder},
    {"aten.slice.Tensor", Family::kSlice},
    {"aten.select.int", Family::kSelect},
    {"aten.narrow", Family::kNarrow},
    {"aten.split.Tensor", Family::kParts},
    {"aten.split_with_sizes", Family::kParts},
    {"aten.split.sizes", Family::kParts},
    {"aten.chunk", Family::kParts},
    {"aten.unbind.int", Family::kUnbind},
};

const Kind* kind_of(const Node& node) {
  for (const Kind& kind : kKinds) {
    if (kind.name == node.op->schema.name) return &kind;
  }
  return nullptr;
}

// A literal bool argument, false when the schema has none of that name.
bool flag(const Node& node, std::string_view argument) {
  const int index = node.op->schema.find(argument);
  const bool* value = index < 0 ? nullptr : std::get_if<bool>(&node.arguments[size_t(index)]);
  return value != nullptr && *value;
}

// Asks for another order of the elements in memory than that of the argument.
bool asks_for_format(const Node& node) {
  const int index = node.op->schema.find("memory_format");
  if (index < 0) return false;
  const auto* format = std::get_if<graph::MemoryFormat>(&node.arguments[size_t(index)]);
  return format != nullptr && *format != graph::MemoryFormat::kPreserve;
}

int64_t dim_argument(const Graph& graph, const Node& node, size_t index, size_t rank) {
  const int64_t dim = constant_integer(graph, node.arguments[index]).value_or(0);
  return dim < 0 ? dim + int64_t(std::max<size_t>(rank, 1)) : dim;
}

// One int or a list of them.
std::vector<int64_t> dim_arguments(const Graph& graph, const Node& node, size_t index, size_t rank) {
  std::vector<int64_t> dims;
  if (const auto list = constant_integers(graph, node.arguments[index])) dims = *list;
  else dims.push_back(constant_integer(graph, node.arguments[index]).value_or(0));
  for (int64_t& dim : dims) dim += dim < 0 ? int64_t(rank) : 0;
  return dims;
}

// result dim i is dim order[i] of the argument
std::vector<int64_t> order_of(const Graph& graph, const Node& node, size_t rank) {
  const std::string_view op = node.op->schema.name;
  std::vector<int64_t> order(rank);
  for (size_t dim = 0; dim < rank; ++dim) order[dim] = int64_t(dim);
  if (op == "aten.permute") return dim_arguments(graph, node, 1, rank);
  if (op == "aten.t" || op == "aten.mT") {
    if (rank >= 2) std::swap(order[rank - 1], order[rank - 2]);
    return order;
  }
  if (op != "aten.movedim.int" && op != "aten.movedim.intlist") {
    if (rank > 0) {
      std::swap(order[size_t(dim_argument(graph, node, 1, rank))], order[size_t(dim_argument(graph, node, 2, rank))]);
    }
    return order;
  }
  const auto from = dim_arguments(graph, node, 1, rank), to = dim_arguments(graph, node, 2, rank);
  std::fill(order.begin(), order.end(), -1);
  for (size_t index = 0; index < from.size(); ++index) order[size_t(to[index])] = from[index];
  int64_t next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    axis = next++;
  }
  return order;
}

Status refused(const Node& view, std::string_view why) {
  return unimplemented(concat("an in-place operator writes through the result of ", view.op->schema.name, ": ", why))
      .with("operator", view.op->schema.name);
}

}  // namespace

Sharing sharing_of(const Graph& graph, const Node& node) {
  if (node.op->schema.mutates()) return Sharing::kSame;
  const Kind* kind = kind_of(node);
  if (kind == nullptr) {
    if (node.op->view) return Sharing::kView;
    const auto& returns = node.op->schema.returns;
    const bool may_alias = std::any_of(returns.begin(), returns.end(), [](const auto& one) { return one.alias != 0; });
    return may_alias ? Sharing::kMaybe : Sharing::kFresh;
  }
  if (node.results.size() == 1) {
    const ValueId x = tensor_argument(node, 0);
    if (x == graph::kNoValue || graph.type(x).dtype != graph.type(node.results[0]).dtype || flag(node, "copy")) {
      return Sharing::kFresh;
    }
  }
  if (kind->may_copy || asks_for_format(node)) return Sharing::kMaybe;
  return kind->family == Family::kResize ? Sharing::kSame : Sharing::kView;
}

bool keeps_row_major(Graph& graph, const Node& node) {
  const Kind* kind = kind_of(node);
  if (node.op->schema.mutates()) return true;
  if (kind == nullptr) return false;
  const Dims& from = graph.type(tensor_argument(node, 0)).dims;
  switch (kind->family) {
    case Family::kResize: return true;
    case Family::kReorder: {
      const auto order = order_of(graph, node, from.size());
      return std::is_sorted(order.begin(), order.end());
    }
    case Family::kExpand: return same_dims(graph, from, graph.type(node.results[0]).dims);
    case Family::kSlice:
      return dim_argument(graph, node, 1, from.size()) == 0 && constant_integer(graph, node.arguments[4]) == 1;
    case Family::kSelect:
    case Family::kNarrow:
    case Family::kUnbind: return dim_argument(graph, node, 1, from.size()) == 0;
    case Family::kParts: return dim_argument(graph, node, 2, from.size()) == 0;
    case Family::kNone: break;
  }
  return false;
}

Result<ValueId> put_back(Graph& graph, const Node& view, size_t index, ValueId base, ValueId part) {
  const Kind* kind = kind_of(view);
  if (view.op->schema.mutates()) return part;
  if (kind == nullptr) return refused(view, "how that shares memory is not known");
  symbolic::Pool& pool = graph.pool();
  const Dims dims = graph.type(base).dims;
  const Dims part_dims = graph.type(view.results[index]).dims;
  const Expr one = pool.constant(1);
  const auto dim_literal = [&](int64_t dim) { return Argument(pool.constant(dim)); };
  switch (kind->family) {
    case Family::kResize:
      if (same_dims(graph, dims, part_dims)) return part;
      return graph.call("aten.reshape", {ValueRef{part}, dims});
    case Family::kReorder: {
      const auto order = order_of(graph, view, dims.size());
      std::vector<int64_t> back(order.size());
      for (size_t dim = 0; dim < order.size(); ++dim) back[size_t(order[dim])] = int64_t(dim);
      return graph.call("aten.permute", {ValueRef{part}, constants(graph, back)});
    }
    case Family::kSlice:
      return graph.call("aten.slice_scatter", {ValueRef{base}, ValueRef{part}, view.arguments[1], view.arguments[2],
                                               view.arguments[3], view.arguments[4]});
    case Family::kSelect:
      return graph.call("aten.select_scatter", {ValueRef{base}, ValueRef{part}, view.arguments[1], view.arguments[2]});
    case Family::kNarrow: {
      const size_t dim = size_t(dim_argument(graph, view, 1, dims.size()));
      const Expr given = std::get<Expr>(view.arguments[2]);
      const Expr start = ops::resolve_index(graph.facts(), view.op->schema.name, dims[dim], given);
      return graph.call("aten.slice_scatter", {ValueRef{base}, ValueRef{part}, view.arguments[1], start,
                                               pool.add(start, std::get<Expr>(view.arguments[3])), one});
    }
    case Family::kParts: {
      const int64_t dim = dim_argument(graph, view, 2, dims.size());
      Expr start = pool.constant(0);
      for (size_t before = 0; before < index; ++before) {
        start = pool.add(start, graph.type(view.results[before]).dims[size_t(dim)]);
      }
      return graph.call("aten.slice_scatter", {ValueRef{base}, ValueRef{part}, dim_literal(dim), start,
                                               pool.add(start, part_dims[size_t(dim)]), one});
    }
    case Family::kUnbind:
      return graph.call("aten.select_scatter",
                        {ValueRef{base}, ValueRef{part}, view.arguments[1], dim_literal(int64_t(index))});
    case Family::kExpand: {
      const size_t added = part_dims.size() - dims.size();
      if (!same_dims(graph, dims, Dims(part_dims.begin() + long(added), part_dims.end()))) break;
      if (std::any_of(part_dims.begin(), part_dims.begin() + long(added), [&](Expr e) { return e != one; })) break;
      return graph.call("aten.reshape", {ValueRef{part}, dims});
    }
    case Family::kNone: break;
  }
  return refused(view, "several of its elements share one place in memory");
}

}  // namespace tenon::passes
