#include "passes/match_attention.hpp"

#include <cmath>

#include "passes/inspect.hpp"
#include "passes/rewrite.hpp"

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Type;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;

namespace {

struct Found {
  ValueId q = graph::kNoValue, k_transposed = graph::kNoValue, v = graph::kNoValue, mask = graph::kNoValue;
  bool invert_mask = false;  // the mask is true where not to attend
  double scale = 1;
  bool safe = false;
};

class Matcher {
 public:
  explicit Matcher(Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  Result<std::optional<ValueId>> visit(NodeId id) {
    const auto found = match(graph_.node(id));
    if (!found) return kKeep;
    TENON_ASSIGN_OR_RETURN(const ValueId made, build(*found));
    return std::optional<ValueId>(made);
  }

 private:
  // Readers of a value; those that the pass made have one.
  uint32_t uses(ValueId value) const { return value < uses_.size() ? uses_[value] : 1; }
  const Type& type(ValueId value) const { return graph_.type(value); }
  bool is_f32(ValueId value) const {
    const Type& known = type(value);
    return !known.pending && !known.is_scalar() && known.dtype == DType::kF32;
  }

  std::optional<Found> match(const Node& product) {
    if (!is_call(product, "prim.matmul")) return std::nullopt;
    Found found;
    found.v = tensor_argument(product, 1);
    const ValueId probabilities = tensor_argument(product, 0);
    const size_t rank = type(probabilities).rank();
    if (!is_f32(probabilities) || !is_f32(found.v) || (rank != 3 && rank != 4)) return std::nullopt;
    if (uses(probabilities) != 1) return std::nullopt;

    const Node* softmax = made_by(graph_, probabilities, "prim.softmax");
    ValueId checked = graph::kNoValue;  // the scores that a safe softmax looks at again
    if (softmax == nullptr) {
      const auto safe = match_safe(probabilities);
      if (!safe) return std::nullopt;
      softmax = safe->softmax;
      checked = safe->scores;
      found.safe = true;
    }
    if (constant_integer(graph_, softmax->arguments[1]) != int64_t(rank) - 1 || std::get<bool>(softmax->arguments[2])) {
      return std::nullopt;
    }
    const ValueId scores = tensor_argument(*softmax, 0);
    if (found.safe ? checked != scores || uses(scores) != 2 : uses(scores) != 1) return std::nullopt;
    if (!match_scores(scores, found)) return std::nullopt;
    if (!depth_fits(found.q) || !depth_fits(found.v)) return std::nullopt;
    return found;
  }

  bool depth_fits(ValueId value) const {
    const auto depth = graph_.pool().as_constant(type(value).dims.back());
    return depth && *depth >= 1 && *depth <= kMaxAttentionDepth;
  }

  struct Safe {
    const Node* softmax;
    ValueId scores;
  };

  // where(row is -inf throughout, 0, softmax) or where(row is not, softmax, 0).
  std::optional<Safe> match_safe(ValueId value) {
    const Node* where = made_by(graph_, value, "prim.where");
    if (where == nullptr) return std::nullopt;
    for (const bool zero_first : {true, false}) {
      const auto zero = uniform_value(graph_, where->arguments[zero_first ? 1 : 2], DType::kF32);
      const Node* softmax = made_by(graph_, where->arguments[zero_first ? 2 : 1], "prim.softmax");
      if (!zero || *zero != 0 || softmax == nullptr || uses(softmax->results[0]) != 1) continue;
      if (!same_dims(graph_, type(softmax->results[0]).dims, type(value).dims)) continue;
      const auto scores = match_row_test(where->arguments[0], zero_first, type(value).rank());
      if (scores) return Safe{softmax, *scores};
    }
    return std::nullopt;
  }

  // all(scores == -inf) when `all`; any(scores != -inf) otherwise; over the last dim, kept.
  std::optional<ValueId> match_row_test(const Argument& condition, bool all, size_t rank) {
    if (const Node* negated = made_by(graph_, condition, "prim.logical_not")) {
      return match_row_test(negated->arguments[0], !all, rank);
    }
    const Node* reduce = made_by(graph_, condition, all ? "prim.all" : "prim.any");
    if (reduce == nullptr || uses(reduce->results[0]) != 1) return std::nullopt;
    if (const bool keeps_dim = std::get<bool>(reduce->arguments[2]); !keeps_dim) return std::nullopt;
    if (constant_integers(graph_, reduce->arguments[1]) != std::vector<int64_t>{int64_t(rank) - 1}) return std::nullopt;
    return match_element_test(reduce->arguments[0], all);
  }

  std::optional<ValueId> match_element_test(const Argument& test, bool equal) {
    if (const Node* negated = made_by(graph_, test, "prim.logical_not")) {
      return match_element_test(negated->arguments[0], !equal);
    }
    const Node* compare = made_by(graph_, test, equal ? "prim.eq" : "prim.ne");
    if (compare == nullptr || uses(compare->results[0]) != 1) return std::nullopt;
    for (size_t side : {1u, 0u}) {
      const auto number = uniform_value(graph_, compare->arguments[side], DType::kF32);
      if (!number || *number != -HUGE_VAL) continue;
      const ValueId scores = tensor_argument(*compare, 1 - side);
      if (scores == graph::kNoValue || !same_dims(graph_, type(scores).dims, type(compare->results[0]).dims)) continue;
      return scores;
    }
    return std::nullopt;
  }

  bool match_scores(ValueId scores, Found& found) {
    const std::vector<Expr> dims = type(scores).dims;
    if (const Node* add = made_by(graph_, scores, "prim.add")) {
      for (size_t side : {0u, 1u}) {
        const ValueId product = tensor_argument(*add, side), mask = tensor_argument(*add, 1 - side);
        if (product == graph::kNoValue || mask == graph::kNoValue || !is_f32(mask)) continue;
        Found with_mask = found;
        with_mask.mask = mask;
        if (!match_product(product, dims, 1, with_mask)) continue;
        found = with_mask;
        return true;
      }
      return false;
    }
    if (const Node* where = made_by(graph_, scores, "prim.where")) {
      for (size_t side : {1u, 2u}) {
        const auto hidden = uniform_value(graph_, where->arguments[3 - side], DType::kF32);
        const ValueId product = tensor_argument(*where, side), mask = tensor_argument(*where, 0);
        if (!hidden || *hidden != -HUGE_VAL || product == graph::kNoValue || mask == graph::kNoValue) continue;
        found.mask = mask;
        found.invert_mask = side == 2;
        return match_product(product, dims, 1, found);
      }
      return false;
    }
    return match_product(scores, dims, found.safe ? 2 : 1, found);
  }

  // The scaled product of q and transposed k, with these dims, read at most `readers` times.
  bool match_product(ValueId value, const std::vector<Expr>& dims, uint32_t readers, Found& found) {
    while (const auto inner = unscaled(value, readers, found.scale)) {
      value = *inner;
      readers = 1;
    }
    const Node* product = made_by(graph_, value, "prim.matmul");
    if (product == nullptr || uses(value) > readers || !is_f32(value)) return false;
    if (!same_dims(graph_, type(value).dims, dims)) return false;
    found.q = tensor_argument(*product, 0);
    found.k_transposed = tensor_argument(*product, 1);
    for (ValueId* operand : {&found.q, &found.k_transposed}) {
      while (const auto inner = unscaled(*operand, 1, found.scale)) *operand = *inner;
    }
    return std::isfinite(found.scale);
  }

  // x of x * number or x / number, when at most so many read the result.
  std::optional<ValueId> unscaled(ValueId value, uint32_t readers, double& scale) {
    const Node* node = maker(graph_, value);
    if (node == nullptr || uses(value) > readers) return std::nullopt;
    const bool divides = is_call(*node, "prim.div");
    if (!divides && !is_call(*node, "prim.mul")) return std::nullopt;
    for (size_t side : {1u, 0u}) {
      const auto number = uniform_value(graph_, node->arguments[side], DType::kF32);
      const ValueId other = tensor_argument(*node, 1 - side);
      if (!number || *number == 0 || other == graph::kNoValue || (divides && side == 0)) continue;
      if (!same_dims(graph_, type(other).dims, type(value).dims)) continue;
      scale = divides ? scale / *number : scale * *number;
      return other;
    }
    return std::nullopt;
  }

  Result<ValueId> with_heads(ValueId value) {
    const std::vector<Expr> dims = type(value).dims;
    if (dims.size() == 4) return value;
    return graph_.call("prim.reshape",
                       {ValueRef{value}, std::vector<Expr>{dims[0], graph_.pool().constant(1), dims[1], dims[2]}});
  }

  Result<ValueId> build(const Found& found) {
    const size_t rank = type(found.q).rank();
    TENON_ASSIGN_OR_RETURN(const ValueId q, with_heads(found.q));
    TENON_ASSIGN_OR_RETURN(const ValueId v, with_heads(found.v));
    TENON_ASSIGN_OR_RETURN(ValueId k, with_heads(found.k_transposed));
    TENON_ASSIGN_OR_RETURN(k, graph_.call("prim.permute", {ValueRef{k}, constants(graph_, {0, 1, 3, 2})}));
    Argument mask;
    if (found.mask != graph::kNoValue) {
      ValueId value = found.mask;
      if (found.invert_mask) {
        TENON_ASSIGN_OR_RETURN(value, graph_.call("prim.logical_not", {ValueRef{value}}));
      }
      if (rank == 3 && type(value).rank() == 3) {
        TENON_ASSIGN_OR_RETURN(value, with_heads(value));
      }
      mask = ValueRef{value};
    }
    std::vector<Argument> arguments{ValueRef{q}, ValueRef{k}, ValueRef{v}, mask, found.scale, false, found.safe};
    TENON_ASSIGN_OR_RETURN(const ValueId made, graph_.call("prim.attention", std::move(arguments)));
    if (rank == 4) return made;
    const std::vector<Expr> dims = type(made).dims;
    return graph_.call("prim.reshape", {ValueRef{made}, std::vector<Expr>{dims[0], dims[2], dims[3]}});
  }

  Graph& graph_;
  const std::vector<uint32_t> uses_;
};

}  // namespace

Result<bool> match_attention(Graph& graph) {
  Matcher matcher(graph);
  return rewrite_nodes(graph, [&](NodeId node, bool&) { return matcher.visit(node); });
}

}  // namespace tenon::passes
