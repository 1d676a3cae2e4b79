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

  Range symbol_range(SymbolId symbol) const;
  int64_t divisor(SymbolId symbol) const;
  std::optional<int64_t> hint(SymbolId symbol) const;

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
  struct SymbolFacts {
    Range range;
    int64_t divisor = 1;
    std::optional<int64_t> hint;
    std::optional<Expr> equal;
  };
  SymbolFacts& facts_of(SymbolId symbol);
  const SymbolFacts* find(SymbolId symbol) const;
  void learn(const Predicate& predicate);

  Pool& pool_;
  std::vector<SymbolFacts> symbols_;
  std::vector<Guard> guards_;
};

}  // namespace tenon::symbolic
