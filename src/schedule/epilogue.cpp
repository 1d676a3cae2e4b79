#include "schedule/epilogue.hpp"

#include <algorithm>

namespace tenon::schedule {

using artifact::ScalarOp;
using loop::BufferId;
using loop::Expr;
using loop::ScalarId;
using loop::Statement;
using symbolic::SymbolId;

namespace {

void add_once(std::vector<BufferId>& list, BufferId buffer) {
  if (std::find(list.begin(), list.end(), buffer) == list.end()) list.push_back(buffer);
}

void add_loads(const loop::Module& module, ScalarId root, std::vector<BufferId>& list) {
  if (!root.valid()) return;
  for (ScalarId id : module.scalars.postorder(std::span(&root, 1))) {
    const loop::Scalar& s = module.scalars[id];
    if (s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) add_once(list, s.buffer);
  }
}

}  // namespace

std::vector<BufferId> reads(const loop::Module& module, const Statement& statement) {
  std::vector<BufferId> list;
  if (statement.nest) add_loads(module, statement.nest->value, list);
  if (statement.tmpl) {
    const loop::Template& t = *statement.tmpl;
    if (t.matmul) {
      add_once(list, t.matmul->a.buffer);
      add_once(list, t.matmul->b.buffer);
    }
    if (t.attention) {
      for (const loop::Operand* operand : {&t.attention->q, &t.attention->k, &t.attention->v}) add_once(list, operand->buffer);
      add_loads(module, t.attention->score, list);
    }
    for (const loop::StoreTo& store : t.stores) add_loads(module, store.value, list);
  }
  return list;
}

std::vector<BufferId> writes(const Statement& statement) {
  std::vector<BufferId> list;
  if (statement.nest) list.push_back(statement.nest->output);
  if (statement.tmpl) {
    for (const loop::StoreTo& store : statement.tmpl->stores) list.push_back(store.buffer);
  }
  return list;
}

void drop_dead_statements(loop::Module& module) {
  std::vector<bool> needed(module.buffers.size(), false);
  for (BufferId buffer : module.outputs) needed[buffer] = true;
  for (const auto& [target, buffer] : module.write_backs) needed[buffer] = true;
  std::vector<Statement> kept;
  for (size_t i = module.statements.size(); i-- > 0;) {
    Statement& statement = module.statements[i];
    bool used = false;
    for (BufferId buffer : writes(statement)) used = used || needed[buffer];
    if (!used) continue;
    for (BufferId buffer : reads(module, statement)) needed[buffer] = true;
    kept.push_back(std::move(statement));
  }
  std::reverse(kept.begin(), kept.end());
  module.statements = std::move(kept);
}

namespace {

std::vector<SymbolId> output_axes(const loop::Template& t) {
  if (t.matmul) return {t.matmul->axis_batch, t.matmul->axis_m, t.matmul->axis_n};
  return {t.attention->axis_b, t.attention->axis_h, t.attention->axis_q, t.attention->axis_d};
}

// The row-major position of a nest's point.
Expr position(loop::Module& module, const loop::Nest& nest) {
  auto& pool = module.scalars.pool();
  Expr linear = pool.constant(0);
  for (const loop::Axis& axis : nest.mapped) linear = pool.add(pool.mul(linear, axis.extent), pool.of(axis.symbol));
  return module.scalars.facts().simplify(linear);
}

// The nest's value and store in the template's axes, or nothing when it does not fit.
bool absorb(loop::Module& module, loop::Template& t, const loop::Nest& nest) {
  auto& scalars = module.scalars;
  auto& pool = scalars.pool();
  auto& facts = scalars.facts();
  const loop::StoreTo& old = t.stores[0];
  if (nest.combiner) return false;
  const Expr own = position(module, nest);
  for (ScalarId id : scalars.postorder(std::span(&nest.value, 1))) {
    const loop::Scalar& s = scalars[id];
    if ((s.op == ScalarOp::kMaskedLoad) && s.buffer == old.buffer) return false;
    if (s.op == ScalarOp::kLoad && s.buffer == old.buffer && !facts.provably_equal(s.index, own)) return false;
  }
  // Same number of elements: otherwise the nest reads a part.
  if (!facts.provably_equal(pool.product(module.buffers[nest.output].dims), pool.product(module.buffers[old.buffer].dims))) return false;

  // Each nest axis from the position of the template's element.
  std::vector<SymbolId> from;
  std::vector<Expr> to;
  Expr stride = pool.constant(1);
  for (size_t d = nest.mapped.size(); d-- > 0;) {
    Expr value = pool.floor_div(old.offset, stride);
    if (d > 0) value = pool.mod(value, nest.mapped[d].extent);
    from.push_back(nest.mapped[d].symbol);
    to.push_back(facts.simplify(value));
    stride = pool.mul(stride, nest.mapped[d].extent);
  }
  ScalarId value = scalars.replace_loads(nest.value, old.buffer, old.value);
  value = scalars.substitute(value, from, to);
  // The vector axis must stay affine everywhere, or the epilogue would gather element by element.
  const SymbolId vector_axis = output_axes(t).back();
  for (ScalarId id : scalars.postorder(std::span(&value, 1))) {
    const loop::Scalar& s = scalars[id];
    if (s.op != ScalarOp::kIndex && s.op != ScalarOp::kLoad && s.op != ScalarOp::kMaskedLoad) continue;
    if (!pool.affine(s.index, std::span(&vector_axis, 1))) return false;
  }
  t.stores[0] = {nest.output, old.offset, value};
  return true;
}

}  // namespace

int absorb_epilogues(loop::Module& module) {
  int absorbed = 0;
  std::vector<Statement>& statements = module.statements;
  std::vector<std::vector<uint32_t>> readers(module.buffers.size());
  std::vector<bool> escapes(module.buffers.size(), false);
  for (uint32_t i = 0; i < statements.size(); ++i) {
    for (BufferId buffer : reads(module, statements[i])) readers[buffer].push_back(i);
  }
  for (BufferId buffer : module.outputs) escapes[buffer] = true;
  for (const auto& [target, buffer] : module.write_backs) escapes[buffer] = true;
  std::vector<bool> gone(statements.size(), false);
  for (uint32_t start = 0; start < statements.size(); ++start) {
    uint32_t at = start;
    while (statements[at].tmpl && !gone[at] && statements[at].tmpl->stores.size() == 1) {
      const BufferId buffer = statements[at].tmpl->stores[0].buffer;
      if (escapes[buffer] || readers[buffer].size() != 1) break;
      const uint32_t reader = readers[buffer][0];
      if (reader <= at || !statements[reader].nest) break;
      if (!absorb(module, *statements[at].tmpl, *statements[reader].nest)) break;
      // The template takes the nest's place: everything the nest reads is ready there, and nobody else reads the template.
      statements[reader].nest.reset();
      statements[reader].tmpl = std::move(statements[at].tmpl);
      statements[at].tmpl.reset();
      gone[at] = true;
      ++absorbed;
      for (BufferId read : reads(module, statements[reader])) {
        std::replace(readers[read].begin(), readers[read].end(), at, reader);
        std::sort(readers[read].begin(), readers[read].end());
        readers[read].erase(std::unique(readers[read].begin(), readers[read].end()), readers[read].end());
      }
      at = reader;
    }
  }
  std::erase_if(statements, [](const Statement& s) { return !s.nest && !s.tmpl; });
  return absorbed;
}

}  // namespace tenon::schedule
