#include "passes/canonicalize_views.hpp"

#include <algorithm>

#include "passes/inspect.hpp"
#include "passes/rewrite.hpp"

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;

namespace {

using Dims = std::vector<Expr>;
using Replacement = Result<std::optional<ValueId>>;

class Views {
 public:
  explicit Views(Graph& graph) : graph_(graph) {}

  Replacement visit(NodeId id) {
    // A copy: the rules add nodes, which may move the others in memory.
    const Node node = copy_of(graph_.node(id));
    if (node.results.size() != 1 || node.arguments.empty()) return kKeep;
    if (graph_.type(node.results[0]).pending) return kKeep;
    const std::string_view op = node.op->schema.name;
    if (op == "prim.cat") return cat(node);
    const ValueId x = tensor_argument(node, 0);
    if (x == graph::kNoValue || graph_.type(x).pending) return kKeep;
    if (op == "prim.reshape") return reshape(node, x);
    if (op == "prim.permute") return permute(node, x);
    if (op == "prim.expand") return expand(node, x);
    if (op == "prim.slice") return slice(node, x);
    if (op == "prim.flip") return flip(node, x);
    if (op == "prim.pad") return pad(node, x);
    if (op == "prim.matmul") return fold_rows(node, x);
    return kKeep;
  }

 private:
  static Node copy_of(const Node& node) {
    Node copy;
    copy.op = node.op;
    copy.arguments = node.arguments;
    copy.results = node.results;
    return copy;
  }

  Dims dims(ValueId value) const { return graph_.type(value).dims; }
  bool one(Expr size) const { return graph_.pool().is_constant(size, 1); }

  Replacement call(std::string_view op, std::vector<Argument> arguments) {
    TENON_ASSIGN_OR_RETURN(const ValueId made, graph_.call(op, std::move(arguments)));
    return std::optional<ValueId>(made);
  }
  Replacement make_reshape(ValueId x, const Dims& size) {
    if (same_dims(graph_, dims(x), size)) return std::optional<ValueId>(x);
    return call("prim.reshape", {ValueRef{x}, size});
  }

  // A view of a value that is the same everywhere.
  Replacement of_full(const Node& node, ValueId x, bool& applies) {
    const Node* full = made_by(graph_, x, "prim.full");
    applies = full != nullptr;
    if (!applies) return kKeep;
    const Argument value = full->arguments[1], dtype = full->arguments[2];
    return call("prim.full", {dims(node.results[0]), value, dtype});
  }

  Replacement reshape(const Node& node, ValueId x) {
    const Dims size = dims(node.results[0]);
    if (same_dims(graph_, dims(x), size)) return std::optional<ValueId>(x);
    bool applies = false;
    Replacement full = of_full(node, x, applies);
    if (applies) return full;
    if (const Node* inner = made_by(graph_, x, "prim.reshape")) return make_reshape(tensor_argument(*inner, 0), size);
    return kKeep;
  }

  Replacement permute(const Node& node, ValueId x) {
    auto order = constant_integers(graph_, node.arguments[1]);
    if (!order) return kKeep;
    bool applies = false;
    Replacement full = of_full(node, x, applies);
    if (applies) return full;
    bool composed = false;
    if (const Node* inner = made_by(graph_, x, "prim.permute")) {
      const auto before = constant_integers(graph_, inner->arguments[1]);
      if (!before) return kKeep;
      for (int64_t& axis : *order) axis = (*before)[size_t(axis)];
      x = tensor_argument(*inner, 0);
      composed = true;
    }
    const Dims from = dims(x);
    int64_t last = -1;
    bool sorted = true;  // the dims that are not of size 1 keep their order
    bool identity = true;
    for (size_t index = 0; index < order->size(); ++index) {
      const int64_t axis = (*order)[index];
      identity = identity && axis == int64_t(index);
      if (one(from[size_t(axis)])) continue;
      sorted = sorted && axis > last;
      last = axis;
    }
    if (identity) return std::optional<ValueId>(x);
    if (sorted) return make_reshape(x, dims(node.results[0]));
    if (!composed) return kKeep;
    return call("prim.permute", {ValueRef{x}, constants(graph_, *order)});
  }

  Replacement expand(const Node& node, ValueId x) {
    const Dims size = dims(node.results[0]);
    const Dims from = dims(x);
    if (same_dims(graph_, from, size)) return std::optional<ValueId>(x);
    bool applies = false;
    Replacement full = of_full(node, x, applies);
    if (applies) return full;
    const size_t added = size.size() - from.size();
    const bool only_ones = std::all_of(size.begin(), size.begin() + long(added), [&](Expr e) { return one(e); });
    const Dims kept(size.begin() + long(added), size.end());
    if (only_ones && same_dims(graph_, from, kept)) return make_reshape(x, size);
    if (const Node* inner = made_by(graph_, x, "prim.expand")) {
      return call("prim.expand", {inner->arguments[0], size});
    }
    return kKeep;
  }

  Replacement slice(const Node& node, ValueId x) {
    if (same_dims(graph_, dims(x), dims(node.results[0]))) return std::optional<ValueId>(x);
    bool applies = false;
    Replacement full = of_full(node, x, applies);
    if (applies) return full;
    // A slice of a slice of the same dim with step 1: one slice that starts later.
    const Node* inner = made_by(graph_, x, "prim.slice");
    if (inner == nullptr || !same_argument(inner->arguments[1], node.arguments[1])) return kKeep;
    if (constant_integer(graph_, inner->arguments[4]) != 1) return kKeep;
    symbolic::Pool& pool = graph_.pool();
    const Expr shift = std::get<Expr>(inner->arguments[2]);
    const Expr start = graph_.facts().simplify(pool.add(shift, std::get<Expr>(node.arguments[2])));
    const Expr end = graph_.facts().simplify(pool.add(shift, std::get<Expr>(node.arguments[3])));
    return call("prim.slice", {inner->arguments[0], node.arguments[1], start, end, node.arguments[4]});
  }

  Replacement flip(const Node& node, ValueId x) {
    auto axes = constant_integers(graph_, node.arguments[1]);
    if (!axes) return kKeep;
    bool applies = false;
    Replacement full = of_full(node, x, applies);
    if (applies) return full;
    const size_t before = axes->size();
    std::erase_if(*axes, [&](int64_t axis) { return one(dims(x)[size_t(axis)]); });
    bool composed = axes->size() != before;
    if (const Node* inner = made_by(graph_, x, "prim.flip")) {
      const auto others = constant_integers(graph_, inner->arguments[1]);
      if (!others) return kKeep;
      for (int64_t axis : *others) {
        const auto found = std::find(axes->begin(), axes->end(), axis);
        if (found == axes->end()) axes->push_back(axis);
        else axes->erase(found);
      }
      std::sort(axes->begin(), axes->end());
      x = tensor_argument(*inner, 0);
      composed = true;
    }
    if (axes->empty()) return std::optional<ValueId>(x);
    if (!composed) return kKeep;
    return call("prim.flip", {ValueRef{x}, constants(graph_, *axes)});
  }

  Replacement pad(const Node& node, ValueId x) {
    for (size_t index : {1u, 2u}) {
      const auto widths = constant_integers(graph_, node.arguments[index]);
      if (!widths || std::any_of(widths->begin(), widths->end(), [](int64_t width) { return width != 0; })) {
        return kKeep;
      }
    }
    return std::optional<ValueId>(x);
  }

  // One matrix of weights for every batch: a product over all rows.
  Replacement fold_rows(const Node& node, ValueId x) {
    const Node* spread = made_by(graph_, node.arguments[1], "prim.expand");
    if (spread == nullptr) return kKeep;
    const ValueId weights = tensor_argument(*spread, 0);
    const Dims matrix = dims(weights), size = dims(node.results[0]), rows = dims(x);
    if (!is_weight(weights) || matrix.size() < 2) return kKeep;
    if (!std::all_of(matrix.begin(), matrix.end() - 2, [&](Expr e) { return one(e); })) return kKeep;
    const Expr count = graph_.pool().product(std::span(rows).first(rows.size() - 1));
    const Dims flat{graph_.facts().simplify(count), rows.back()};
    TENON_ASSIGN_OR_RETURN(const auto a, make_reshape(x, flat));
    TENON_ASSIGN_OR_RETURN(const auto b, make_reshape(weights, Dims(matrix.end() - 2, matrix.end())));
    TENON_ASSIGN_OR_RETURN(const auto product, call("prim.matmul", {ValueRef{*a}, ValueRef{*b}}));
    return make_reshape(*product, size);
  }

  // A constant, looked at through views.
  bool is_weight(ValueId value) const {
    while (const Node* node = maker(graph_, value)) {
      if (!is_call(*node, "prim.permute") && !is_call(*node, "prim.reshape")) return false;
      value = tensor_argument(*node, 0);
    }
    return graph_.value(value).source == graph::ValueSource::kConstant;
  }

  // Operands without elements along the dim add nothing.
  Replacement cat(const Node& node) {
    const auto& xs = std::get<std::vector<ValueId>>(node.arguments[0]);
    const auto dim = constant_integer(graph_, node.arguments[1]);
    if (!dim) return kKeep;
    std::vector<ValueId> kept;
    for (ValueId x : xs) {
      if (!graph_.pool().is_constant(dims(x)[size_t(*dim)], 0)) kept.push_back(x);
    }
    if (kept.empty()) kept.push_back(xs.front());
    if (kept.size() == 1) {
      if (!same_dims(graph_, dims(kept[0]), dims(node.results[0]))) return kKeep;
      return std::optional<ValueId>(kept[0]);
    }
    if (kept.size() == xs.size()) return kKeep;
    return call("prim.cat", {std::move(kept), node.arguments[1]});
  }

  Graph& graph_;
};

// A product over one folded batch dim that is unfolded again: the product over the dims before folding.
class Unfolding {
 public:
  explicit Unfolding(Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  Replacement visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (!is_call(node, "prim.reshape") || graph_.type(node.results[0]).pending) return kKeep;
    const ValueId x = tensor_argument(node, 0);
    const Node* product = made_by(graph_, x, "prim.matmul");
    // Another reader would need the folded product too.
    if (product == nullptr || x >= uses_.size() || uses_[x] != 1) return kKeep;
    const Dims size = graph_.type(node.results[0]).dims, folded = graph_.type(x).dims;
    if (size.size() != 4 || folded.size() != 3) return kKeep;
    if (!same_dims(graph_, {size[2], size[3]}, {folded[1], folded[2]})) return kKeep;
    const ValueId a = tensor_argument(*product, 0), b = tensor_argument(*product, 1);
    const Expr inner = graph_.type(a).dims[2];
    const Dims a_size{size[0], size[1], size[2], inner}, b_size{size[0], size[1], inner, size[3]};
    // At least one operand was folded from just these dims.
    if (!was(a, a_size) && !was(b, b_size)) return kKeep;
    TENON_ASSIGN_OR_RETURN(const ValueId left, unfolded(a, a_size));
    TENON_ASSIGN_OR_RETURN(const ValueId right, unfolded(b, b_size));
    TENON_ASSIGN_OR_RETURN(const ValueId made, graph_.call("prim.matmul", {ValueRef{left}, ValueRef{right}}));
    return std::optional<ValueId>(made);
  }

 private:
  ValueId before_fold(ValueId value) const {
    const Node* fold = made_by(graph_, value, "prim.reshape");
    return fold == nullptr ? value : tensor_argument(*fold, 0);
  }
  bool was(ValueId value, const Dims& size) { return same_dims(graph_, graph_.type(before_fold(value)).dims, size); }
  Result<ValueId> unfolded(ValueId value, const Dims& size) {
    const ValueId source = before_fold(value);
    if (same_dims(graph_, graph_.type(source).dims, size)) return source;
    return graph_.call("prim.reshape", {ValueRef{source}, size});
  }

  Graph& graph_;
  const std::vector<uint32_t> uses_;
};

}  // namespace

Result<bool> canonicalize_views(Graph& graph) {
  Views views(graph);
  TENON_ASSIGN_OR_RETURN(const bool changed,
                         rewrite_nodes(graph, [&](NodeId node, bool&) { return views.visit(node); }));
  Unfolding unfolding(graph);
  TENON_ASSIGN_OR_RETURN(const bool unfolded,
                         rewrite_nodes(graph, [&](NodeId node, bool&) { return unfolding.visit(node); }));
  return changed || unfolded;
}

}  // namespace tenon::passes
