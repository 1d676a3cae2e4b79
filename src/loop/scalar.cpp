#include "loop/scalar.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

namespace tenon::loop {
namespace {

int64_t float_bits(double value, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<int64_t>(value);
  // f16 and bf16 constants are kept as f32: bodies compute in f32.
  return int64_t(std::bit_cast<uint32_t>(float(value)));
}

bool gives_bool(ScalarOp op) {
  switch (op) {
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
    case ScalarOp::kLogicalNot:
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe: return true;
    default: return false;
  }
}

}  // namespace

namespace {

// Orders of magnitude fewer allocations than node-based tables, which is what compiling a graph spends its time on.
struct Key {
  Scalar scalar;
  friend bool operator==(const Key&, const Key&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Key& k) {
    const Scalar& s = k.scalar;
    return H::combine(std::move(h), s.op, s.dtype, s.a.id, s.b.id, s.c.id, s.bits, s.index.id, s.buffer);
  }
};

}  // namespace

struct Scalars::Tables {
  absl::flat_hash_map<Key, uint32_t> ids;
  absl::flat_hash_map<uint32_t, SymbolId> symbol_of_scalar;
  absl::flat_hash_map<SymbolId, ScalarId> definitions;
};

Scalars::Scalars(symbolic::Pool& pool, symbolic::Facts& facts) : pool_(pool), facts_(facts), tables_(std::make_unique<Tables>()) {}
Scalars::~Scalars() = default;

ScalarId Scalars::intern(const Scalar& scalar) {
  auto [it, added] = tables_->ids.try_emplace(Key{scalar}, uint32_t(scalars_.size()));
  if (added) scalars_.push_back(scalar);
  return {it->second};
}

ScalarId Scalars::constant(double value, DType dtype) {
  Scalar s;
  s.dtype = dtype;
  if (is_floating(dtype)) {
    s.bits = float_bits(value, dtype);
  } else if (dtype == DType::kBool) {
    s.bits = value != 0;
  } else {
    return constant_int(int64_t(value), dtype);
  }
  return intern(s);
}

ScalarId Scalars::constant_int(int64_t value, DType dtype) {
  if (is_floating(dtype)) return constant(double(value), dtype);
  Scalar s;
  s.dtype = dtype;
  switch (dtype) {
    case DType::kBool: value = value != 0; break;
    case DType::kU8: value = uint8_t(value); break;
    case DType::kI8: value = int8_t(value); break;
    case DType::kI16: value = int16_t(value); break;
    case DType::kU16: value = uint16_t(value); break;
    case DType::kI32: value = int32_t(value); break;
    case DType::kU32: value = uint32_t(value); break;
    default: break;
  }
  s.bits = value;
  return intern(s);
}

ScalarId Scalars::index(Expr value) {
  if (auto constant_value = pool_.as_constant(value)) return constant_int(*constant_value, DType::kI64);
  if (pool_.kind(value) == symbolic::Kind::kSymbol) {
    if (auto defined = definition(pool_.symbol_of(value))) return *defined;
  }
  Scalar s;
  s.op = ScalarOp::kIndex;
  s.dtype = DType::kI64;
  s.index = value;
  return intern(s);
}

ScalarId Scalars::load(BufferId buffer, DType dtype, Expr offset) {
  Scalar s;
  s.op = ScalarOp::kLoad;
  s.dtype = dtype;
  s.index = offset;
  s.buffer = buffer;
  return intern(s);
}

ScalarId Scalars::masked_load(BufferId buffer, DType dtype, Expr offset, ScalarId predicate, ScalarId otherwise) {
  Scalar s;
  s.op = ScalarOp::kMaskedLoad;
  s.dtype = dtype;
  s.index = offset;
  s.buffer = buffer;
  s.a = predicate;
  s.b = otherwise;
  return intern(s);
}

ScalarId Scalars::accumulator(DType dtype) {
  Scalar s;
  s.op = ScalarOp::kAccumulator;
  s.dtype = dtype;
  return intern(s);
}

ScalarId Scalars::unary(ScalarOp op, ScalarId a) {
  Scalar s;
  s.op = op;
  s.dtype = gives_bool(op) ? DType::kBool : (*this)[a].dtype;
  s.a = a;
  return intern(s);
}

std::optional<Expr> Scalars::index_value(ScalarId id) const {
  const Scalar& s = (*this)[id];
  if (s.dtype != DType::kI64) return std::nullopt;
  if (s.op == ScalarOp::kIndex) return s.index;
  if (s.op == ScalarOp::kConstant && std::abs(s.bits) < (int64_t(1) << 31)) return pool_.constant(s.bits);
  return std::nullopt;
}

// Arithmetic on positions stays an index expression; comparisons that the sizes decide are constants; so are truth values
// with a constant operand.
std::optional<ScalarId> Scalars::fold(ScalarOp op, ScalarId a, ScalarId b) {
  const Scalar x = (*this)[a], y = (*this)[b];
  if (x.dtype == DType::kBool && (op == ScalarOp::kAnd || op == ScalarOp::kOr)) {
    for (auto [constant, other] : {std::pair(x, b), std::pair(y, a)}) {
      if (constant.op != ScalarOp::kConstant) continue;
      if (op == ScalarOp::kAnd) return constant.bits != 0 ? other : constant_int(0, DType::kBool);
      return constant.bits != 0 ? constant_int(1, DType::kBool) : other;
    }
  }
  if (x.op != ScalarOp::kIndex && y.op != ScalarOp::kIndex) return std::nullopt;
  const auto left = index_value(a), right = index_value(b);
  if (!left || !right) return std::nullopt;
  using symbolic::Relation;
  using symbolic::Truth;
  const auto decided = [&](Relation relation, Expr p, Expr q, bool negate) -> std::optional<ScalarId> {
    const Truth truth = facts_.prove({relation, p, q});
    if (truth == Truth::kUnknown) return std::nullopt;
    return constant_int((truth == Truth::kTrue) != negate, DType::kBool);
  };
  switch (op) {
    case ScalarOp::kAdd: return index(facts_.simplify(pool_.add(*left, *right)));
    case ScalarOp::kSub: return index(facts_.simplify(pool_.sub(*left, *right)));
    case ScalarOp::kMul: return index(facts_.simplify(pool_.mul(*left, *right)));
    case ScalarOp::kEq: return decided(Relation::kEq, *left, *right, false);
    case ScalarOp::kNe: return decided(Relation::kEq, *left, *right, true);
    case ScalarOp::kLt: return decided(Relation::kLt, *left, *right, false);
    case ScalarOp::kLe: return decided(Relation::kLe, *left, *right, false);
    case ScalarOp::kGt: return decided(Relation::kLt, *right, *left, false);
    case ScalarOp::kGe: return decided(Relation::kLe, *right, *left, false);
    default: return std::nullopt;
  }
}

ScalarId Scalars::binary(ScalarOp op, ScalarId a, ScalarId b) {
  if (auto folded = fold(op, a, b)) return *folded;
  Scalar s;
  s.op = op;
  s.dtype = gives_bool(op) ? DType::kBool : (*this)[a].dtype;
  s.a = a;
  s.b = b;
  return intern(s);
}

ScalarId Scalars::select(ScalarId predicate, ScalarId a, ScalarId b) {
  if (a == b) return a;
  const Scalar& p = (*this)[predicate];
  if (p.op == ScalarOp::kConstant) return p.bits != 0 ? a : b;
  Scalar s;
  s.op = ScalarOp::kSelect;
  s.dtype = (*this)[a].dtype;
  s.a = predicate;
  s.b = a;
  s.c = b;
  return intern(s);
}

ScalarId Scalars::fma(ScalarId a, ScalarId b, ScalarId c) {
  Scalar s;
  s.op = ScalarOp::kFma;
  s.dtype = (*this)[a].dtype;
  s.a = a;
  s.b = b;
  s.c = c;
  return intern(s);
}

ScalarId Scalars::convert(ScalarId a, DType dtype) {
  const Scalar& from = (*this)[a];
  if (from.dtype == dtype) return a;
  if (from.op == ScalarOp::kConstant && (!is_floating(from.dtype) || is_floating(dtype) || dtype == DType::kBool)) {
    if (from.dtype == DType::kF64) return constant(std::bit_cast<double>(from.bits), dtype);
    if (is_floating(from.dtype)) return constant(double(std::bit_cast<float>(uint32_t(from.bits))), dtype);
    // Integers up to 2^53 convert exactly; others are left to the executors.
    if (!is_floating(dtype)) return constant_int(from.bits, dtype);
    if (std::abs(from.bits) <= (int64_t(1) << 53)) return constant(double(from.bits), dtype);
  }
  Scalar s;
  s.op = ScalarOp::kConvert;
  s.dtype = dtype;
  s.a = a;
  return intern(s);
}

Expr Scalars::as_index(ScalarId value) {
  const Scalar& s = (*this)[value];
  if (s.op == ScalarOp::kConstant) return pool_.constant(s.bits);
  if (s.op == ScalarOp::kIndex) return s.index;
  auto it = tables_->symbol_of_scalar.find(value.id);
  if (it == tables_->symbol_of_scalar.end()) {
    const SymbolId symbol = pool_.fresh_symbol("t", symbolic::SymbolKind::kIndex);
    it = tables_->symbol_of_scalar.emplace(value.id, symbol).first;
    tables_->definitions.emplace(symbol, value);
    // A checked index is inside its bound wherever the call goes on.
    if (s.op == ScalarOp::kCheckIndex || s.op == ScalarOp::kWrapIndex) {
      const Scalar& bound = (*this)[s.b];
      if (bound.op == ScalarOp::kIndex) facts_.set_index_bound(symbol, bound.index);
      if (bound.op == ScalarOp::kConstant) facts_.set_index_bound(symbol, pool_.constant(bound.bits));
    }
  }
  return pool_.of(it->second);
}

std::optional<ScalarId> Scalars::definition(SymbolId symbol) const {
  auto it = tables_->definitions.find(symbol);
  if (it == tables_->definitions.end()) return std::nullopt;
  return it->second;
}

ScalarId Scalars::substitute(ScalarId root, std::span<const SymbolId> symbols, std::span<const Expr> replacements) {
  std::unordered_map<uint32_t, ScalarId> memo;
  return rebuild(root, symbols, replacements, nullptr, {}, memo);
}

ScalarId Scalars::replace_loads(ScalarId root, BufferId buffer, ScalarId value) {
  std::unordered_map<uint32_t, ScalarId> memo;
  return rebuild(root, {}, {}, &buffer, value, memo);
}

ScalarId Scalars::rebuild(ScalarId root, std::span<const SymbolId> symbols, std::span<const Expr> replacements,
                          const BufferId* buffer, ScalarId value, std::unordered_map<uint32_t, ScalarId>& memo) {
  if (!root.valid()) return root;
  if (auto it = memo.find(root.id); it != memo.end()) return it->second;
  Scalar s = (*this)[root];
  ScalarId result;
  if (buffer != nullptr && s.op == ScalarOp::kLoad && s.buffer == *buffer) {
    result = value;
  } else {
    s.a = rebuild(s.a, symbols, replacements, buffer, value, memo);
    s.b = rebuild(s.b, symbols, replacements, buffer, value, memo);
    s.c = rebuild(s.c, symbols, replacements, buffer, value, memo);
    if (s.op == ScalarOp::kIndex) {
      result = index(rebuild_index(s.index, symbols, replacements, buffer, value, memo));
    } else {
      if (s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) {
        s.index = rebuild_index(s.index, symbols, replacements, buffer, value, memo);
      }
      result = intern(s);
    }
  }
  memo.emplace(root.id, result);
  return result;
}

Expr Scalars::rebuild_index(Expr e, std::span<const SymbolId> symbols, std::span<const Expr> replacements,
                            const BufferId* buffer, ScalarId value, std::unordered_map<uint32_t, ScalarId>& memo) {
  std::vector<SymbolId> from(symbols.begin(), symbols.end());
  std::vector<Expr> to(replacements.begin(), replacements.end());
  for (SymbolId symbol : pool_.symbols(e)) {
    if (auto defined = definition(symbol)) {
      const Expr replaced = as_index(rebuild(*defined, symbols, replacements, buffer, value, memo));
      from.push_back(symbol);
      to.push_back(replaced);
    }
  }
  return facts_.simplify(pool_.substitute(e, from, to));
}

std::vector<ScalarId> Scalars::postorder(std::span<const ScalarId> roots) const {
  std::vector<ScalarId> order;
  absl::flat_hash_set<uint32_t> done;
  struct Frame {
    ScalarId id;
    bool expanded;
  };
  std::vector<Frame> stack;
  for (size_t i = roots.size(); i-- > 0;) stack.push_back({roots[i], false});
  while (!stack.empty()) {
    Frame frame = stack.back();
    stack.pop_back();
    if (!frame.id.valid() || done.contains(frame.id.id)) continue;
    if (frame.expanded) {
      done.insert(frame.id.id);
      order.push_back(frame.id);
      continue;
    }
    stack.push_back({frame.id, true});
    const Scalar& s = (*this)[frame.id];
    for (ScalarId operand : {s.c, s.b, s.a}) {
      if (operand.valid()) stack.push_back({operand, false});
    }
    if (s.op == ScalarOp::kIndex || s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) {
      for (SymbolId symbol : pool_.symbols(s.index)) {
        if (auto defined = definition(symbol)) stack.push_back({*defined, false});
      }
    }
  }
  return order;
}

int Scalars::cost(ScalarId root) const {
  int total = 0;
  for (ScalarId id : postorder(std::span(&root, 1))) {
    switch ((*this)[id].op) {
      case ScalarOp::kConstant:
      case ScalarOp::kSize:
      case ScalarOp::kIndex: break;
      case ScalarOp::kExp:
      case ScalarOp::kExp2:
      case ScalarOp::kExpm1:
      case ScalarOp::kLog:
      case ScalarOp::kLog1p:
      case ScalarOp::kLog2:
      case ScalarOp::kLog10:
      case ScalarOp::kSin:
      case ScalarOp::kCos:
      case ScalarOp::kTan:
      case ScalarOp::kAsin:
      case ScalarOp::kAcos:
      case ScalarOp::kAtan:
      case ScalarOp::kSinh:
      case ScalarOp::kCosh:
      case ScalarOp::kTanh:
      case ScalarOp::kAsinh:
      case ScalarOp::kAcosh:
      case ScalarOp::kAtanh:
      case ScalarOp::kErf:
      case ScalarOp::kErfc:
      case ScalarOp::kSigmoid:
      case ScalarOp::kPow:
      case ScalarOp::kAtan2: total += 15; break;
      case ScalarOp::kDiv:
      case ScalarOp::kFloorDiv:
      case ScalarOp::kFmod:
      case ScalarOp::kRemainder:
      case ScalarOp::kSqrt:
      case ScalarOp::kRsqrt:
      case ScalarOp::kReciprocal: total += 5; break;
      default: total += 1; break;
    }
  }
  return total;
}

}  // namespace tenon::loop
