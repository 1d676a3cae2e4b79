// What is known of the symbols of a Pool, and what had to be assumed.
//
// Facts are given (ranges, divisors, hints, equalities) or assumed: a predicate that cannot be proven but is decided by
// this call's hints becomes a guard. Heuristics may look at hints, correctness looks at proofs and guards.
// Single owner, like the Pool it refers to (which must outlive it).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "symbolic/expr.hpp"

namespace tenon::symbolic {

inline constexpr int64_t kUnbounded = INT64_MAX;

struct Range {
  int64_t min = -kUnbounded;  // -kUnbounded and kUnbounded mean "no bound"
  int64_t max = kUnbounded;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class Relation : uint8_t { kEq, kNe, kLt, kLe };  // a > b is written b < a

struct Predicate {
  Relation relation = Relation::kEq;
  Expr a, b;
  friend bool operator==(const Predicate&, const Predicate&) = default;
};

enum class Truth : uint8_t { kFalse, kTrue, kUnknown };

// A predicate that the compiled program depends on. `origin` names the operator (or the front end) that asked.
struct Guard {
  Predicate predicate;
  std::string origin;
};

class Facts {
 public:
  explicit Facts(Pool& pool) : pool_(pool) {}

  Pool& pool() const { return pool_; }

  // Given facts. set_range intersects with what is known.
  void set_range(SymbolId symbol, Range range);
  void set_divisor(SymbolId symbol, int64_t divisor);  // symbol is a multiple of divisor
  void set_hint(SymbolId symbol, int64_t value);       // this call's value
  // `symbol` equals `replacement` from now on; simplify() replaces it.
  void set_equal(SymbolId symbol, Expr replacement);

  // 0 <= index < extent, for a loop variable: the extent may hold sizes and outer loop variables. Proofs assume that
  // the loop runs (extent >= 1); inside an empty loop every statement is true.
  void set_index_bound(SymbolId index, Expr extent);
  // A predicate that holds without a guard (the client declared it, or a run-time check stands before).
  void assume(const Predicate& predicate);

  Range symbol_range(SymbolId symbol) const;
  int64_t divisor(SymbolId symbol) const;
  std::optional<int64_t> hint(SymbolId symbol) const;
  std::optional<Expr> index_extent(SymbolId symbol) const;

  // Interval of e by interval arithmetic over the symbols' ranges (sound, may be wide).
  Range range(Expr e) const;
  // Largest d known with d | e; 0 for the constant 0.
  int64_t known_divisor(Expr e) const;
  // The value of e under the hints; nullopt when a symbol has none.
  std::optional<int64_t> hinted(Expr e) const;

  // Applies equalities and rules that need ranges or divisors: floordiv(a*k + r, k) -> a + floordiv(r, k) for 0 <= r < k,
  // mod(a*k + r, k) -> mod(r, k), mod(x, k) -> x for 0 <= x < k, k*floordiv(x, k) + mod(x, k) -> x, floordiv of a
  // product by one of its factors when that factor is known to be positive, nested floordiv, min/max decided by ranges.
  Expr simplify(Expr e);

  // Never guards.
  Truth prove(Predicate predicate);
  bool is_nonnegative(Expr e) { return prove({Relation::kLe, pool_.constant(0), e}) == Truth::kTrue; }
  bool is_positive(Expr e) { return prove({Relation::kLt, pool_.constant(0), e}) == Truth::kTrue; }
  bool provably_equal(Expr a, Expr b) { return prove({Relation::kEq, a, b}) == Truth::kTrue; }

  // Decides a predicate: by proof, else by the hints, and then the decided form (the predicate or its negation) is
  // recorded as a guard and learnt from (an equality that isolates a symbol replaces it, an inequality narrows its
  // range). nullopt when there is neither proof nor hint (the value is "pending", or unbacked).
  std::optional<bool> decide(Predicate predicate, std::string_view origin);
  // Decides for use as a constant: records e == value as a guard. nullopt without proof and hint.
  std::optional<int64_t> specialize(Expr e, std::string_view origin);

  const std::vector<Guard>& guards() const { return guards_; }
  // Drops guards that follow from the given facts and the other guards; keeps order. Called once, at the end.
  void minimize_guards();

  std::string print(const Predicate& predicate) const;  // "s0 <= 512", "s0 == s1"

 private:
  friend class Prover;      // prove.cpp
  friend class Simplifier;  // simplify.cpp

  struct SymbolFacts {
    Range range;
    int64_t divisor = 1;
    std::optional<int64_t> hint;
    std::optional<Expr> equal;
    std::optional<Expr> extent;
  };
  SymbolFacts& facts_of(SymbolId symbol);
  const SymbolFacts* find(SymbolId symbol) const;
  void changed(SymbolId symbol);
  void narrow(SymbolId symbol, Range range);
  void learn(const Predicate& predicate);
  void learn_zero(Expr e);
  void learn_nonnegative(Expr e, bool keep);
  void learn_divisible(Expr e, int64_t divisor);
  Range compute_range(Expr e) const;
  bool follows(size_t guard, const std::vector<bool>& dropped) const;

  Pool& pool_;
  std::vector<SymbolFacts> symbols_;
  std::vector<SymbolFacts> given_symbols_;  // without what guards taught
  std::vector<Predicate> given_;
  std::vector<Guard> guards_;
  // Learnt relations that no symbol's facts can hold.
  std::unordered_map<uint32_t, Expr> atom_equal_;  // floor_div, mod, min or max -> what it equals
  std::vector<Expr> nonnegative_, zero_, nonzero_;

  // Caches by expression id, valid where the stamp equals version_.
  struct Cached {
    uint32_t range_version = 0, simplified_version = 0;
    Range range;
    Expr simplified;
  };
  Cached& cached(Expr e) const;
  mutable uint32_t version_ = 1;
  mutable std::vector<Cached> cache_;
  mutable std::unordered_map<uint32_t, bool> proofs_;  // expression id -> proven to be >= 0
  mutable uint32_t proofs_version_ = 0;
  mutable std::vector<bool> looked_;  // symbols that a cached answer may rest on
  mutable std::vector<int64_t> hint_values_;
};

}  // namespace tenon::symbolic
