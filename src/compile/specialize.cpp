#include "compile/specialize.hpp"

#include <algorithm>

#include "support/format.hpp"

namespace tenon::compile {

using graph::Graph;
using graph::Type;
using symbolic::Expr;
using symbolic::Relation;
using symbolic::SymbolId;

namespace {

std::string shape_text(const tenon_tensor_t& tensor) {
  std::string text = "[";
  for (int32_t d = 0; d < tensor.rank; ++d) append(text, concat(d ? ", " : "", tensor.dims[d]));
  return text + "]";
}

class Specializer {
 public:
  Specializer(const Graph& source, const runtime::CallSignature& signature, int32_t auto_dims, DimHistory& history)
      : signature_(signature), auto_dims_(auto_dims), history_(history), graph_(source.clone()) {}

  Result<Specialized> run() {
    if (signature_.inputs.size() != graph_->inputs().size()) {
      return invalid_argument(concat("graph ", graph_->name(), " has ", graph_->inputs().size(), " inputs, the call gives ",
                                     signature_.inputs.size()))
          .with("expected", concat(graph_->inputs().size()))
          .with("found", concat(signature_.inputs.size()));
    }
    for (size_t i = 0; i < graph_->inputs().size(); ++i) TENON_RETURN_IF_ERROR(check_kind(i));
    TENON_RETURN_IF_ERROR(bind_symbols());
    TENON_RETURN_IF_ERROR(check_ranges());
    for (uint32_t i = 0; i < graph_->inputs().size(); ++i) TENON_RETURN_IF_ERROR(add_conditions(i));
    decide_auto_dims();
    for (const graph::GraphSymbol& symbol : graph_->symbols()) add_declared_conditions(symbol);
    simplify_leaves();
    for (uint32_t i = 0; i < graph_->inputs().size(); ++i) set_strides(i);
    TENON_RETURN_IF_ERROR(infer_types());
    out_.graph = std::move(graph_);
    return std::move(out_);
  }

 private:
  symbolic::Pool& pool() { return graph_->pool(); }
  symbolic::Facts& facts() { return graph_->facts(); }
  Type& type(size_t input) { return graph_->value(graph_->inputs()[input].value).type; }
  const std::string& name(size_t input) const { return graph_->inputs()[input].name; }

  Status mismatch(size_t input, std::string_view what, std::string_view expected, std::string_view found) {
    return invalid_argument(concat("input `", name(input), "`: ", what, ": expected ", expected, ", found ", found))
        .with("input", name(input))
        .with("expected", expected)
        .with("found", found);
  }

  Status check_kind(size_t i) {
    const tenon_tensor_t& tensor = signature_.inputs[i];
    Type& t = type(i);
    if (t.pending) {
      // Type and rank are the call's.
      t.pending = false;
      t.dtype = DType(tensor.dtype);
      t.dims.clear();
      for (int32_t d = 0; d < tensor.rank; ++d) t.dims.push_back(graph_->auto_symbol());
    }
    if (DType(tensor.dtype) != t.dtype) return mismatch(i, "element type", tenon::name(t.dtype), tenon::name(DType(tensor.dtype)));
    if (size_t(tensor.rank) != t.dims.size()) return mismatch(i, "rank", concat(t.dims.size()), concat(tensor.rank, " ", shape_text(tensor)));
    return {};
  }

  // Every symbol's value from the dims it occurs in.
  Status bind_symbols() {
    bool progress = true;
    std::vector<bool> done(graph_->symbols().size(), false);
    while (progress) {
      progress = false;
      for (uint32_t i = 0; i < graph_->inputs().size(); ++i) {
        const Type& t = type(i);
        for (uint32_t d = 0; d < t.dims.size(); ++d) {
          std::vector<SymbolId> unknown;
          for (SymbolId symbol : pool().symbols(t.dims[d])) {
            if (!facts().hint(symbol)) unknown.push_back(symbol);
          }
          if (unknown.size() != 1) continue;
          auto affine = pool().affine(t.dims[d], unknown);
          if (!affine) continue;
          const auto factor = pool().as_constant(affine->coefficients[0]);
          const auto offset = facts().hinted(affine->rest);
          const auto fixed_offset = pool().as_constant(affine->rest);
          if (!factor || !offset || !fixed_offset || *factor == 0) continue;
          const int64_t size = signature_.inputs[i].dims[d];
          if ((size - *offset) % *factor != 0) {
            return mismatch(i, concat("size of dim ", d), pool().print(t.dims[d]), concat(size));
          }
          facts().set_hint(unknown[0], (size - *offset) / *factor);
          out_.sources.push_back({unknown[0], i, d, *factor, *fixed_offset});
          progress = true;
        }
      }
    }
    return {};
  }

  Status check_ranges() {
    for (const graph::GraphSymbol& symbol : graph_->symbols()) {
      const auto hint = facts().hint(symbol.symbol);
      if (symbol.kind != graph::DimKind::kDeclared || !hint) continue;
      const SymbolSource* from = source(symbol.symbol);
      const std::string what = concat("size ", pool().symbol_name(symbol.symbol), from != nullptr ? concat(" (dim ", from->dim, ")") : "");
      const size_t input = from != nullptr ? from->input : 0;
      if (*hint < symbol.min || *hint > symbol.max) {
        return mismatch(input, what, concat("[", symbol.min, ", ", symbol.max == symbolic::kUnbounded ? std::string("inf") : concat(symbol.max), "]"), concat(*hint));
      }
      if (*hint % symbol.divisor != 0) return mismatch(input, what, concat("a multiple of ", symbol.divisor), concat(*hint));
    }
    return {};
  }

  Status add_conditions(uint32_t i) {
    const Type& t = type(i);
    for (uint32_t d = 0; d < t.dims.size(); ++d) {
      const int64_t size = signature_.inputs[i].dims[d];
      const auto expected = facts().hinted(t.dims[d]);
      if (!expected) {
        return failed_precondition(concat("the size ", pool().print(t.dims[d]), " of input `", name(i), "` does not follow from the inputs"))
            .with("input", name(i));
      }
      if (*expected != size) {
        return mismatch(i, concat("size of dim ", d), concat(pool().print(t.dims[d]), pool().as_constant(t.dims[d]) ? "" : concat(" = ", *expected)), concat(size));
      }
      // The dim that defines a symbol needs no check beyond divisibility.
      const bool defines = std::any_of(out_.sources.begin(), out_.sources.end(), [&](const SymbolSource& s) {
        return s.input == i && s.dim == d && s.factor == 1;
      });
      if (defines) continue;
      Condition condition;
      condition.predicate = {Relation::kEq, t.dims[d], t.dims[d]};
      condition.text = concat("dim ", d, " of `", name(i), "` == ", pool().print(t.dims[d]));
      condition.origin = "declaration";
      condition.required = true;
      condition.input = int32_t(i);
      condition.dim = int32_t(d);
      out_.conditions.push_back(std::move(condition));
    }
    return {};
  }

  const SymbolSource* source(SymbolId symbol) const {
    for (const SymbolSource& s : out_.sources) {
      if (s.symbol == symbol) return &s;
    }
    return nullptr;
  }

  std::string where(SymbolId symbol) {
    const SymbolSource* s = source(symbol);
    return s == nullptr ? std::string(pool().symbol_name(symbol)) : concat("dim ", s->dim, " of `", name(s->input), "`");
  }

  void decide_auto_dims() {
    std::vector<std::pair<int64_t, SymbolId>> dynamic;
    for (const graph::GraphSymbol& symbol : std::vector<graph::GraphSymbol>(graph_->symbols())) {
      if (symbol.kind != graph::DimKind::kAuto) continue;
      const auto hint = facts().hint(symbol.symbol);
      if (!hint) continue;
      std::set<int64_t>& seen = history_.seen[symbol.symbol];
      const bool differs = !seen.empty() && !(seen.size() == 1 && *seen.begin() == *hint);
      seen.insert(*hint);
      bool is_dynamic = auto_dims_ == TENON_AUTO_DIMS_DYNAMIC || (auto_dims_ == TENON_AUTO_DIMS_AUTOMATIC && (differs || signature_.dynamic_now));
      if (*hint < 2) is_dynamic = false;
      Condition condition;
      condition.origin = "automatic dim";
      if (!is_dynamic) {
        const Expr value = pool().constant(*hint);
        condition.predicate = {Relation::kEq, pool().of(symbol.symbol), value};
        condition.text = concat(where(symbol.symbol), " == ", *hint);
        out_.conditions.push_back(std::move(condition));
        facts().set_equal(symbol.symbol, value);
        continue;
      }
      condition.predicate = {Relation::kLe, pool().constant(2), pool().of(symbol.symbol)};
      condition.text = concat("2 <= ", where(symbol.symbol));
      out_.conditions.push_back(std::move(condition));
      facts().set_range(symbol.symbol, {2, symbolic::kUnbounded});
      const auto same = std::find_if(dynamic.begin(), dynamic.end(), [&](const auto& other) { return other.first == *hint; });
      if (same == dynamic.end()) {
        dynamic.emplace_back(*hint, symbol.symbol);
        continue;
      }
      Condition equal;
      equal.predicate = {Relation::kEq, pool().of(symbol.symbol), pool().of(same->second)};
      equal.text = concat(where(symbol.symbol), " == ", where(same->second));
      equal.origin = "equal sizes share a symbol";
      out_.conditions.push_back(std::move(equal));
      facts().set_equal(symbol.symbol, pool().of(same->second));
    }
  }

  void add_declared_conditions(const graph::GraphSymbol& symbol) {
    if (symbol.kind != graph::DimKind::kDeclared || !facts().hint(symbol.symbol)) return;
    const Expr self = pool().of(symbol.symbol);
    const std::string text(pool().symbol_name(symbol.symbol));
    auto add = [&](symbolic::Predicate predicate, std::string what) {
      Condition condition;
      condition.predicate = predicate;
      condition.text = std::move(what);
      condition.origin = concat("range of ", text);
      condition.required = true;
      out_.conditions.push_back(std::move(condition));
    };
    if (symbol.min > 0) add({Relation::kLe, pool().constant(symbol.min), self}, concat(symbol.min, " <= ", text));
    if (symbol.max != symbolic::kUnbounded) add({Relation::kLe, self, pool().constant(symbol.max)}, concat(text, " <= ", symbol.max));
    if (symbol.divisor > 1) {
      add({Relation::kEq, pool().mod(self, pool().constant(symbol.divisor)), pool().constant(0)}, concat(text, " is a multiple of ", symbol.divisor));
    }
  }

  void simplify(Type& t) {
    for (Expr& dim : t.dims) dim = facts().simplify(dim);
    for (Expr& stride : t.strides) stride = facts().simplify(stride);
  }

  void simplify_leaves() {
    for (const graph::Input& input : graph_->inputs()) simplify(graph_->value(input.value).type);
    for (const graph::State& state : graph_->states()) simplify(graph_->value(state.value).type);
    for (const graph::Constant& constant : graph_->constants()) simplify(graph_->value(constant.value).type);
  }

  // Row-major inputs stay so as sizes change; other strides are taken as they are. Strides of dims of size 1 mean nothing.
  void set_strides(uint32_t i) {
    const tenon_tensor_t& tensor = signature_.inputs[i];
    Type& t = type(i);
    t.strides.clear();
    bool row_major = true;
    int64_t run = 1;
    for (int32_t d = tensor.rank; d-- > 0;) {
      if (tensor.dims[d] != 1 && tensor.strides != nullptr && tensor.strides[d] != run) row_major = false;
      run *= tensor.dims[d];
    }
    if (run == 0) row_major = true;
    std::vector<Expr> strides(t.dims.size(), pool().constant(1));
    for (size_t d = t.dims.size(); d-- > 0;) {
      if (row_major) {
        if (d + 1 < t.dims.size()) {
          // The runtime's row-major strides step over a dim of size 0 as over one of size 1.
          const Expr one = pool().constant(1);
          const bool empty = facts().prove({Relation::kLe, one, t.dims[d + 1]}) != symbolic::Truth::kTrue;
          strides[d] = pool().mul(strides[d + 1], empty ? pool().max(t.dims[d + 1], one) : t.dims[d + 1]);
        }
      } else {
        strides[d] = pool().constant(tensor.strides[d]);
      }
      if (pool().is_constant(t.dims[d], 1)) continue;
      Condition condition;
      condition.predicate = {Relation::kEq, strides[d], strides[d]};
      condition.text = concat("stride ", d, " of `", name(i), "` == ", pool().print(strides[d]));
      condition.origin = "layout";
      condition.input = int32_t(i);
      condition.dim = int32_t(d);
      condition.stride = true;
      out_.conditions.push_back(std::move(condition));
    }
    if (!row_major) t.strides = strides;
  }

  Status infer_types() {
    for (graph::NodeId id : graph_->order()) {
      graph::Node& node = graph_->node(id);
      if (!node.regions.empty()) {
        return unimplemented(concat(node.op->schema.name, ": nested regions are not compiled yet")).with("operator", node.op->schema.name);
      }
      for (graph::Argument& argument : node.arguments) {
        if (auto* e = std::get_if<Expr>(&argument)) *e = facts().simplify(*e);
        if (auto* list = std::get_if<std::vector<Expr>>(&argument)) {
          for (Expr& e : *list) e = facts().simplify(e);
        }
      }
      graph::InferContext context(*graph_, *node.op, node.arguments, facts());
      auto types = node.op->infer(context);
      if (!types.ok()) {
        if (types.status().code() == Code::kUnavailable) {
          return unimplemented(concat(node.op->schema.name, ": a size depends on data")).with("operator", node.op->schema.name);
        }
        Status status = std::move(types).status();
        if (!node.origin.empty()) status.with("where", node.origin);
        return status;
      }
      for (size_t r = 0; r < node.results.size(); ++r) {
        Type& t = graph_->value(node.results[r]).type;
        t = (*types)[r];
        simplify(t);
      }
    }
    return {};
  }

  const runtime::CallSignature& signature_;
  const int32_t auto_dims_;
  DimHistory& history_;
  std::unique_ptr<Graph> graph_;
  Specialized out_;
};

}  // namespace

Result<Specialized> specialize(const Graph& graph, const runtime::CallSignature& signature, int32_t auto_dims, DimHistory& history) {
  return Specializer(graph, signature, auto_dims, history).run();
}

}  // namespace tenon::compile
