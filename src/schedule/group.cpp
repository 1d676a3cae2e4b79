#include "schedule/group.hpp"

#include <algorithm>

#include "schedule/epilogue.hpp"

namespace tenon::schedule {

using artifact::ScalarOp;
using loop::Nest;
using loop::ScalarId;
using symbolic::Relation;
using symbolic::SymbolId;
using symbolic::Truth;

namespace {

std::optional<int64_t> constant_coefficient(const Module& module, Expr index, SymbolId symbol) {
  auto& pool = module.scalars.pool();
  auto affine = pool.affine(index, std::span(&symbol, 1));
  if (!affine) return std::nullopt;
  return pool.as_constant(affine->coefficients[0]);
}

bool equal_extents(Module& module, std::span<const loop::Axis> axes, std::span<const Expr> extents) {
  if (axes.size() != extents.size()) return false;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (!module.scalars.facts().provably_equal(axes[d].extent, extents[d])) return false;
  }
  return true;
}

std::vector<Expr> extents_of(std::span<const loop::Axis> axes) {
  std::vector<Expr> extents;
  for (const loop::Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

class Grouper {
 public:
  explicit Grouper(Module& module) : module_(module), writer_(module.buffers.size(), -1) {}

  std::vector<Group> run() {
    for (uint32_t i = 0; i < module_.statements.size(); ++i) {
      const loop::Statement& statement = module_.statements[i];
      const int group = statement.nest ? place(i, *statement.nest) : add_template(i);
      for (BufferId buffer : writes(statement)) writer_[buffer] = group;
    }
    return std::move(groups_);
  }

 private:
  int add_template(uint32_t statement) {
    Group group;
    group.statements = {statement};
    group.is_template = true;
    groups_.push_back(std::move(group));
    return int(groups_.size()) - 1;
  }

  int place(uint32_t statement, const Nest& nest) {
    int latest = -1;
    for (BufferId buffer : reads(module_, module_.statements[statement])) latest = std::max(latest, writer_[buffer]);
    if (latest >= 0 && try_join(groups_[size_t(latest)], nest)) {
      groups_[size_t(latest)].statements.push_back(statement);
      return latest;
    }
    Group group;
    group.statements = {statement};
    if (nest.combiner) {
      group.outer = extents_of(std::span(nest.mapped).first(outer_count(module_, nest)));
      group.outer_is_fixed = true;
    } else {
      group.outer = extents_of(nest.mapped);
    }
    groups_.push_back(std::move(group));
    return int(groups_.size()) - 1;
  }

  bool try_join(Group& group, const Nest& nest) {
    if (group.is_template || group.statements.size() >= 32) return false;
    std::vector<Expr> outer = group.outer;
    bool fixed = group.outer_is_fixed;
    if (nest.combiner) {
      const size_t own = outer_count(module_, nest);
      const auto mapped = std::span(nest.mapped);
      if (fixed) {
        if (!equal_extents(module_, mapped.first(own), outer)) return false;
      } else {
        // The producers are elementwise over the same space: they become stages over what is reduced.
        std::vector<loop::Axis> all(nest.mapped.begin(), nest.mapped.begin() + long(own));
        if (is_column_reduction(module_, nest)) {
          // The order of a column's axes differs from its producer's row-major order only between reduced and last.
          all.insert(all.end(), nest.reduced.begin(), nest.reduced.end());
          all.push_back(nest.mapped.back());
        } else {
          all.insert(all.end(), nest.reduced.begin(), nest.reduced.end());
        }
        if (!equal_extents(module_, all, outer)) return false;
        outer = extents_of(mapped.first(own));
        fixed = true;
      }
      if (outer.empty() && !group.outer_is_fixed) return false;  // would run all on one thread
    } else if (fixed) {
      if (nest.mapped.size() < outer.size()) return false;
      if (outer.empty() && !nest.mapped.empty()) return false;
      if (!equal_extents(module_, std::span(nest.mapped).first(outer.size()), outer)) return false;
    } else if (!equal_extents(module_, nest.mapped, outer)) {
      return false;
    }
    for (uint32_t member : group.statements) {
      if (!same_point(*module_.statements[member].nest, nest, outer.size(), fixed)) return false;
    }
    group.outer = outer;
    group.outer_is_fixed = fixed;
    return true;
  }

  // Whatever `reader` loads of what `writer` stores lies in the same outer point.
  bool same_point(const Nest& writer, const Nest& reader, size_t outer, bool fixed) {
    auto& scalars = module_.scalars;
    auto& pool = scalars.pool();
    auto& facts = scalars.facts();
    const size_t shared = fixed ? outer : writer.mapped.size();
    Expr width = pool.constant(1);
    for (size_t d = shared; d < writer.mapped.size(); ++d) width = pool.mul(width, writer.mapped[d].extent);
    Expr base = pool.constant(0);
    std::vector<SymbolId> outer_symbols;
    for (size_t d = 0; d < shared; ++d) {
      base = pool.add(pool.mul(base, writer.mapped[d].extent), pool.of(reader.mapped[d].symbol));
      outer_symbols.push_back(reader.mapped[d].symbol);
    }
    base = pool.mul(base, width);
    for (ScalarId id : scalars.postorder(std::span(&reader.value, 1))) {
      const loop::Scalar& s = scalars[id];
      if ((s.op != ScalarOp::kLoad && s.op != ScalarOp::kMaskedLoad) || s.buffer != writer.output) continue;
      if (s.op == ScalarOp::kMaskedLoad) return false;
      const Expr rest = facts.simplify(pool.sub(s.index, base));
      for (SymbolId symbol : outer_symbols) {
        if (pool.depends_on(rest, symbol)) return false;
      }
      if (facts.prove({Relation::kLe, pool.constant(0), rest}) != Truth::kTrue) return false;
      if (facts.prove({Relation::kLt, rest, width}) != Truth::kTrue) return false;
    }
    return true;
  }

  Module& module_;
  std::vector<int> writer_;
  std::vector<Group> groups_;
};

}  // namespace

bool is_column_reduction(const Module& module, const Nest& nest) {
  if (!nest.combiner || nest.mapped.empty()) return false;
  if (*nest.combiner == artifact::Combiner::kArgMax || *nest.combiner == artifact::Combiner::kArgMin) return false;
  const SymbolId last_mapped = nest.mapped.back().symbol, last_reduced = nest.reduced.back().symbol;
  int columns = 0, rows = 0;
  for (ScalarId id : module.scalars.postorder(std::span(&nest.value, 1))) {
    const loop::Scalar& s = module.scalars[id];
    if (s.op != ScalarOp::kLoad && s.op != ScalarOp::kMaskedLoad) continue;
    const auto mapped = constant_coefficient(module, s.index, last_mapped);
    const auto reduced = constant_coefficient(module, s.index, last_reduced);
    if (mapped == 1 && reduced != 1) ++columns;
    if (reduced == 1) ++rows;
  }
  return columns > 0 && rows == 0;
}

size_t outer_count(const Module& module, const Nest& nest) {
  return nest.mapped.size() - (is_column_reduction(module, nest) ? 1 : 0);
}

std::vector<Group> group_statements(Module& module) { return Grouper(module).run(); }

}  // namespace tenon::schedule
