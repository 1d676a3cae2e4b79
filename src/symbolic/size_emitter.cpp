#include "symbolic/size_emitter.hpp"

namespace tenon::symbolic {
namespace {

using artifact::GuardRelation;
using artifact::SizeGuard;
using artifact::SizeOp;
using artifact::SizeOpKind;
using artifact::SizeRegister;

SizeOpKind op_kind(Kind kind) {
  switch (kind) {
    case Kind::kAdd: return SizeOpKind::kAdd;
    case Kind::kMul: return SizeOpKind::kMul;
    case Kind::kFloorDiv: return SizeOpKind::kFloorDiv;
    case Kind::kMod: return SizeOpKind::kMod;
    case Kind::kMin: return SizeOpKind::kMin;
    case Kind::kMax: return SizeOpKind::kMax;
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
  }
  return SizeOpKind::kConstant;
}

GuardRelation guard_relation(Relation relation) {
  switch (relation) {
    case Relation::kEq: return GuardRelation::kEq;
    case Relation::kNe: return GuardRelation::kNe;
    case Relation::kLt: return GuardRelation::kLt;
    case Relation::kLe: return GuardRelation::kLe;
  }
  return GuardRelation::kEq;
}

}  // namespace

size_t SizeEmitter::OpHash::operator()(const SizeOp& op) const {
  uint64_t hash = static_cast<uint64_t>(op.kind);
  for (uint64_t part : {static_cast<uint64_t>(op.a), static_cast<uint64_t>(op.b), static_cast<uint64_t>(op.value)}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

bool SizeEmitter::OpEqual::operator()(const SizeOp& x, const SizeOp& y) const {
  return x.kind == y.kind && x.a == y.a && x.b == y.b && x.value == y.value;
}

void SizeEmitter::bind(SymbolId symbol, SizeOp source) { bound_[symbol] = operation(source); }

SizeRegister SizeEmitter::operation(const SizeOp& op) {
  auto [at, created] = operations_.try_emplace(op, static_cast<SizeRegister>(ops_.size()));
  if (created) ops_.push_back(op);
  return at->second;
}

SizeRegister SizeEmitter::constant(int64_t value) { return operation({SizeOpKind::kConstant, 0, 0, value}); }

Result<SizeRegister> SizeEmitter::emit(Expr e) {
  if (auto known = emitted_.find(e.id); known != emitted_.end()) return known->second;
  if (std::optional<int64_t> value = pool_.as_constant(e)) return constant(*value);
  SizeRegister result = 0;
  if (pool_.kind(e) == Kind::kSymbol) {
    auto at = bound_.find(pool_.symbol_of(e));
    if (at == bound_.end()) {
      std::string message = "size symbol ";
      message += pool_.symbol_name(pool_.symbol_of(e));
      return internal_error(message + " is not bound to a source");
    }
    result = at->second;
  } else {
    // The order of Pool::evaluate, so that both overflow alike.
    std::span<const Expr> operands = pool_.operands(e);
    TENON_ASSIGN_OR_RETURN(result, emit(operands[0]));
    for (Expr operand : operands.subspan(1)) {
      TENON_ASSIGN_OR_RETURN(SizeRegister right, emit(operand));
      result = operation({op_kind(pool_.kind(e)), result, right, 0});
    }
  }
  emitted_[e.id] = result;
  return result;
}

Result<SizeGuard> SizeEmitter::emit(const Facts& facts, const Guard& guard) {
  SizeGuard out;
  out.relation = guard_relation(guard.predicate.relation);
  TENON_ASSIGN_OR_RETURN(out.a, emit(guard.predicate.a));
  TENON_ASSIGN_OR_RETURN(out.b, emit(guard.predicate.b));
  out.text = facts.print(guard.predicate);
  out.origin = guard.origin;
  return out;
}

}  // namespace tenon::symbolic
