// Facts::simplify: rules that need ranges, divisors and equalities. The Pool's own normal form has done the rest.

#include <algorithm>
#include <numeric>

#include "artifact/checked_arithmetic.hpp"
#include "symbolic/interval.hpp"
#include "symbolic/prover.hpp"

namespace tenon::symbolic {

constexpr int kMaxRewrites = 24;  // nested rewrites of one expression; each makes it smaller, so this is a seat belt
constexpr size_t kMaxCandidates = 6;

class Simplifier {
 public:
  explicit Simplifier(Facts& facts) : facts_(facts), pool_(facts.pool_), prover_(facts) {}

  Expr run(Expr e) {
    if (pool_.kind(e) == Kind::kConstant) return e;
    if (Facts::Cached& known = facts_.cached(e); known.simplified_version == facts_.version_) return known.simplified;
    Expr result = once(e);
    if (Range range = facts_.range(result); is_point(range)) result = pool_.constant(range.min);
    remember(e, result);
    remember(result, result);
    return result;
  }

 private:
  void remember(Expr e, Expr result) {
    Facts::Cached& entry = facts_.cached(e);
    entry.simplified = result;
    entry.simplified_version = facts_.version_;
  }

  Expr again(Expr rewritten, Expr original) {
    if (rewritten == original || depth_ >= kMaxRewrites) return rewritten;
    ++depth_;
    Expr result = run(rewritten);
    --depth_;
    return result;
  }

  Expr once(Expr e) {
    if (pool_.kind(e) == Kind::kSymbol) {
      const Facts::SymbolFacts* known = facts_.find(pool_.symbol_of(e));
      return known && known->equal ? again(*known->equal, e) : e;
    }
    InlineVector<Expr, 12> operands;
    for (Expr operand : pool_.operands(e)) operands.push_back(run(operand));
    Expr rebuilt = pool_.rebuild(e, operands);
    if (rebuilt != e) return again(rebuilt, e);
    if (auto equal = facts_.atom_equal_.find(e.id); equal != facts_.atom_equal_.end()) return again(equal->second, e);
    switch (pool_.kind(e)) {
      case Kind::kConstant:
      case Kind::kSymbol:
        break;
      case Kind::kAdd:
      case Kind::kMul:
        return again(joined(e), e);
      case Kind::kFloorDiv:
        return again(quotient(e, operands[0], operands[1]), e);
      case Kind::kMod:
        return again(remainder(e, operands[0], operands[1]), e);
      case Kind::kMin:
      case Kind::kMax: {
        bool is_min = pool_.kind(e) == Kind::kMin;
        if (prover_.nonnegative(pool_.sub(operands[1], operands[0]))) return operands[is_min ? 0 : 1];
        if (prover_.nonnegative(pool_.sub(operands[0], operands[1]))) return operands[is_min ? 1 : 0];
        break;
      }
    }
    return e;
  }

  // For a divisor and its factors, which are not 0 where the expression has a value.
  bool is_positive(Expr k) { return facts_.range(k).min >= 0 || prover_.nonnegative(k); }

  // g divides the term, whatever the values of the symbols.
  bool divides(Expr g, Expr term) {
    if (std::optional<int64_t> constant = pool_.as_constant(g)) return facts_.known_divisor(term) % *constant == 0;
    return pool_.common_factor(g, term) == g;
  }

  // x == multiple + low with g | multiple and 0 <= low < g.
  struct Parts {
    Expr multiple, low;
  };
  std::optional<Parts> separate(Expr x, Expr g) {
    std::optional<int64_t> step = pool_.as_constant(g);
    Parts parts{pool_.constant(0), pool_.constant(0)};
    for (Expr term : pool_.terms(x)) {
      Expr& side = !pool_.factors(term).empty() && divides(g, term) ? parts.multiple : parts.low;
      side = pool_.add(side, term);
    }
    if (step) {  // whole steps in the low part's smallest value belong to the multiple
      Range range = facts_.range(parts.low);
      int64_t whole = 0;
      if (!unbounded_below(range)) artifact::checked_floor_div(range.min, *step, &whole);
      if (whole != 0) {
        Expr moved = pool_.mul(pool_.constant(whole), g);
        parts.multiple = pool_.add(parts.multiple, moved);
        parts.low = pool_.sub(parts.low, moved);
      }
    }
    if (!prover_.within(parts.low, g)) return std::nullopt;
    return parts;
  }

  // Factors that k shares with terms of x, each a candidate for `separate`.
  void collect_candidates(Expr x, Expr k, InlineVector<Expr, 8>& out) {
    if (pool_.terms(k).size() != 1) return;
    std::optional<int64_t> constant = pool_.as_constant(k);
    out.push_back(k);
    for (Expr term : pool_.terms(x)) {
      if (out.size() >= kMaxCandidates || pool_.factors(term).empty()) continue;
      Expr shared = constant ? pool_.constant(std::gcd(facts_.known_divisor(term), *constant))
                             : pool_.common_factor(term, k);
      if (!pool_.is_constant(shared, 1) && std::ranges::find(out, shared) == out.end()) out.push_back(shared);
    }
  }

  bool usable(Expr g, Expr k) { return g == k || is_positive(g); }

  Expr quotient(Expr e, Expr x, Expr k) {
    if (pool_.is_constant(k, 0) || !is_positive(k)) return e;
    if (prover_.within(x, k)) return pool_.constant(0);
    if (facts_.range(x).min < 0 && prover_.within(pool_.add(x, k), k)) return pool_.constant(-1);
    if (pool_.kind(x) == Kind::kFloorDiv) {
      return pool_.floor_div(pool_.operands(x)[0], pool_.mul(pool_.operands(x)[1], k));
    }
    if (pool_.kind(x) == Kind::kMod) {
      Expr y = pool_.operands(x)[0], m = pool_.operands(x)[1];
      if (pool_.is_constant(pool_.mod(m, k), 0)) return pool_.mod(pool_.floor_div(y, k), pool_.floor_div(m, k));
    }
    InlineVector<Expr, 8> candidates;
    collect_candidates(x, k, candidates);
    for (Expr g : candidates) {
      if (!usable(g, k)) continue;
      std::optional<Parts> parts = separate(x, g);
      if (parts && !pool_.is_constant(parts->low, 0)) return pool_.floor_div(parts->multiple, k);
    }
    if (pool_.terms(k).size() > 1) {
      std::optional<Pool::Division> division = pool_.divide(x, k);
      if (division && prover_.within(division->rest, k)) return division->quotient;
    }
    return e;
  }

  Expr remainder(Expr e, Expr x, Expr k) {
    if (pool_.is_constant(k, 0) || !is_positive(k)) return e;
    if (prover_.within(x, k)) return x;
    if (facts_.range(x).min < 0 && prover_.within(pool_.add(x, k), k)) return pool_.add(x, k);
    if (pool_.kind(x) == Kind::kMod && pool_.is_constant(pool_.mod(pool_.operands(x)[1], k), 0)) {
      return pool_.mod(pool_.operands(x)[0], k);
    }
    if (pool_.as_constant(k)) {
      Expr rest = pool_.constant(0);
      for (Expr term : pool_.terms(x)) {
        if (!divides(k, term)) rest = pool_.add(rest, term);
      }
      if (rest != x) return pool_.mod(rest, k);
    }
    InlineVector<Expr, 8> candidates;
    collect_candidates(x, k, candidates);
    for (Expr g : candidates) {
      if (!usable(g, k)) continue;
      std::optional<Parts> parts = separate(x, g);
      if (!parts) continue;
      if (g == k) return parts->low;
      if (!pool_.is_constant(parts->low, 0)) return pool_.add(pool_.mod(parts->multiple, k), parts->low);
    }
    if (pool_.terms(k).size() > 1) {
      std::optional<Pool::Division> division = pool_.divide(x, k);
      if (division && prover_.within(division->rest, k)) return division->rest;
    }
    return e;
  }

  bool is_multiple(Expr x, Expr k) {
    if (std::optional<int64_t> constant = pool_.as_constant(k)) {
      if (*constant != 0 && facts_.known_divisor(x) % *constant == 0) return true;
    }
    return pool_.is_constant(run(pool_.mod(x, k)), 0);
  }

  // k*floordiv(x, k) + mod(x, k) -> x; k*floordiv(x, k) -> x where k divides x.
  Expr joined(Expr e) {
    for (Expr term : pool_.terms(e)) {
      std::span<const Expr> factors = pool_.factors(term);
      for (Expr atom : factors) {
        Kind kind = pool_.kind(atom);
        if (kind != Kind::kFloorDiv && kind != Kind::kMod) continue;
        Expr x = pool_.operands(atom)[0], k = pool_.operands(atom)[1];
        Expr others = pool_.constant(pool_.coefficient(term));
        bool skipped = false;
        for (Expr factor : factors) {
          if (factor == atom && !skipped) {
            skipped = true;
          } else {
            others = pool_.mul(others, factor);
          }
        }
        if (kind == Kind::kFloorDiv) {
          if (pool_.terms(k).size() != 1 || pool_.common_factor(k, others) != k || !is_multiple(x, k)) continue;
          Expr times = pool_.floor_div(others, k);
          return pool_.add(pool_.sub(e, term), pool_.mul(times, x));
        }
        Expr quotient = pool_.floor_div(x, k);
        if (pool_.kind(quotient) != Kind::kFloorDiv) quotient = run(quotient);
        Expr pair = pool_.mul(others, pool_.mul(k, quotient));
        Expr without = pool_.sub(pool_.sub(e, term), pair);
        if (pool_.terms(without).size() + 1 + pool_.terms(pair).size() == pool_.terms(e).size()) {
          return pool_.add(without, pool_.mul(others, x));
        }
      }
    }
    return e;
  }

  Facts& facts_;
  Pool& pool_;
  Prover prover_;
  int depth_ = 0;
};

Expr Facts::simplify(Expr e) { return Simplifier(*this).run(e); }

}  // namespace tenon::symbolic
