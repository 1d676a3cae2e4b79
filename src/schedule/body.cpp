#include "schedule/body.hpp"

#include <algorithm>

namespace tenon::schedule {

using artifact::Address;
using artifact::BodyOp;
using artifact::ScalarOp;
using artifact::SizeValue;
using loop::Scalar;
using loop::ScalarId;
using symbolic::Kind;
using symbolic::SymbolId;

SizeValue KernelFrame::size(Expr e) {
  if (auto constant = pool().as_constant(e)) return {*constant, -1};
  auto [it, added] = slots_.try_emplace(e.id, int32_t(sizes_.size()));
  if (added) sizes_.push_back(e);
  return {0, it->second};
}

int32_t KernelFrame::buffer_parameter(BufferId buffer) {
  auto [it, added] = parameters_.try_emplace(buffer, int32_t(buffers_.size()));
  if (added) {
    buffers_.push_back(buffer);
    written_.push_back(false);
  }
  return it->second;
}

void KernelFrame::mark_written(BufferId buffer) { written_[size_t(buffer_parameter(buffer))] = true; }

void KernelFrame::reserve_sizes(std::vector<Expr> sizes) { sizes_ = std::move(sizes); }

void KernelFrame::reserve_buffers(std::vector<BufferId> buffers) {
  // Not entered in parameters_: a hook that reads an operand gets a parameter of its own.
  buffers_ = std::move(buffers);
  written_.assign(buffers_.size(), false);
}

int32_t BodyEmitter::push(BodyOp op) {
  body_.push_back(std::move(op));
  return int32_t(body_.size()) - 1;
}

int32_t BodyEmitter::constant_index(int64_t value) {
  return emit(frame_.module().scalars.constant_int(value, DType::kI64));
}

bool BodyEmitter::mentions_axis_or_dynamic(Expr e) {
  for (SymbolId symbol : frame_.pool().symbols(e)) {
    if (frame_.pool().symbol_kind(symbol) == symbolic::SymbolKind::kIndex) return true;
  }
  return false;
}

int32_t BodyEmitter::emit_index(Expr e) {
  if (auto it = indices_.find(e.id); it != indices_.end()) return it->second;
  auto& pool = frame_.pool();
  BodyOp op;
  op.dtype = DType::kI64;
  int32_t made = -1;
  if (!mentions_axis_or_dynamic(e)) {
    if (auto constant = pool.as_constant(e)) {
      made = constant_index(*constant);
    } else {
      op.op = ScalarOp::kSize;
      op.size = frame_.size(e);
      made = push(op);
    }
  } else if (pool.kind(e) == Kind::kSymbol) {
    const SymbolId symbol = pool.symbol_of(e);
    if (auto defined = frame_.module().scalars.definition(symbol)) {
      made = emit(*defined);
    } else {
      const auto at = std::find(axes_.begin(), axes_.end(), symbol);
      TENON_CHECK(at != axes_.end());
      op.op = ScalarOp::kIndex;
      op.bits = at - axes_.begin();
      made = push(op);
    }
  } else {
    switch (pool.kind(e)) {
      case Kind::kAdd: op.op = ScalarOp::kAdd; break;
      case Kind::kMul: op.op = ScalarOp::kMul; break;
      case Kind::kFloorDiv: op.op = ScalarOp::kFloorDiv; break;
      case Kind::kMod: op.op = ScalarOp::kRemainder; break;
      case Kind::kMin: op.op = ScalarOp::kMin; break;
      case Kind::kMax: op.op = ScalarOp::kMax; break;
      default: TENON_CHECK(false);
    }
    const std::vector<Expr> operands(pool.operands(e).begin(), pool.operands(e).end());
    // The size part of a sum or product is one operand.
    const bool joins = pool.kind(e) == Kind::kAdd || pool.kind(e) == Kind::kMul;
    std::vector<int32_t> parts;
    if (joins) {
      Expr sizes = pool.constant(pool.kind(e) == Kind::kAdd ? 0 : 1);
      bool any = false;
      for (Expr operand : operands) {
        if (mentions_axis_or_dynamic(operand)) {
          parts.push_back(emit_index(operand));
        } else {
          sizes = pool.kind(e) == Kind::kAdd ? pool.add(sizes, operand) : pool.mul(sizes, operand);
          any = true;
        }
      }
      if (any) parts.push_back(emit_index(sizes));
    } else {
      for (Expr operand : operands) parts.push_back(emit_index(operand));
    }
    made = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      BodyOp step = op;
      step.a = made;
      step.b = parts[i];
      made = push(step);
    }
  }
  indices_.emplace(e.id, made);
  return made;
}

Address BodyEmitter::address(Expr offset) {
  auto& pool = frame_.pool();
  Address out;
  // Term by term: a step of an axis, a size, or something to compute.
  std::vector<Expr> terms;
  if (pool.kind(offset) == Kind::kAdd) {
    terms.assign(pool.operands(offset).begin(), pool.operands(offset).end());
  } else {
    terms.push_back(offset);
  }
  Expr base = pool.constant(0), dynamic = pool.constant(0);
  bool any_dynamic = false;
  std::vector<Expr> steps(axes_.size(), pool.constant(0));
  for (Expr term : terms) {
    if (!mentions_axis_or_dynamic(term)) {
      base = pool.add(base, term);
      continue;
    }
    auto affine = pool.affine(term, axes_);
    bool is_step = affine.has_value() && !mentions_axis_or_dynamic(affine->rest);
    if (is_step) {
      for (Expr coefficient : affine->coefficients) is_step = is_step && !mentions_axis_or_dynamic(coefficient);
    }
    if (is_step) {
      base = pool.add(base, affine->rest);
      for (size_t a = 0; a < axes_.size(); ++a) steps[a] = pool.add(steps[a], affine->coefficients[a]);
    } else {
      dynamic = pool.add(dynamic, term);
      any_dynamic = true;
    }
  }
  out.base = frame_.size(base);
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (!pool.is_constant(steps[a], 0)) out.terms.push_back({int32_t(a), frame_.size(steps[a])});
  }
  if (any_dynamic) out.dynamic = emit_index(dynamic);
  return out;
}

int32_t BodyEmitter::emit(ScalarId root) {
  auto& scalars = frame_.module().scalars;
  for (ScalarId id : scalars.postorder(std::span(&root, 1))) {
    if (emitted_.contains(id.id)) continue;
    const Scalar s = scalars[id];
    if (s.op == ScalarOp::kIndex) {
      emitted_.emplace(id.id, emit_index(s.index));
      continue;
    }
    BodyOp op;
    op.op = s.op;
    op.dtype = s.dtype;
    op.bits = s.bits;
    auto operand = [&](ScalarId from) { return from.valid() ? emitted_.at(from.id) : -1; };
    op.a = operand(s.a);
    op.b = operand(s.b);
    op.c = operand(s.c);
    if (s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) {
      const LocalBuffer* local = nullptr;
      if (locals_ != nullptr) {
        if (auto it = locals_->find(s.buffer); it != locals_->end()) local = &it->second;
      }
      if (local != nullptr && local->row >= 0) {
        op.op = ScalarOp::kRow;
        op.bits = local->row;
      } else if (local != nullptr) {
        op.parameter = kLocalParameterBase + local->parameter;
        op.address = address(scalars.facts().simplify(frame_.pool().sub(s.index, local->base)));
      } else {
        op.parameter = frame_.buffer_parameter(s.buffer);
        op.address = address(s.index);
      }
    }
    emitted_.emplace(id.id, push(op));
  }
  return emitted_.at(root.id);
}

}  // namespace tenon::schedule
