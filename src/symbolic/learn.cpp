// Guards: decided by proof or by hints, recorded, and learnt from.

#include <algorithm>
#include <numeric>

#include "artifact/checked_arithmetic.hpp"
#include "symbolic/interval.hpp"
#include "symbolic/prover.hpp"

namespace tenon::symbolic {
namespace {

constexpr size_t kMaxSymbolsToLearn = 5;
constexpr size_t kMaxGuardsToMinimize = 256;

Predicate negation(const Predicate& predicate) {
  switch (predicate.relation) {
    case Relation::kEq: return {Relation::kNe, predicate.a, predicate.b};
    case Relation::kNe: return {Relation::kEq, predicate.a, predicate.b};
    case Relation::kLt: return {Relation::kLe, predicate.b, predicate.a};
    case Relation::kLe: return {Relation::kLt, predicate.b, predicate.a};
  }
  return predicate;
}

bool is_compound(Kind kind) {
  return kind == Kind::kFloorDiv || kind == Kind::kMod || kind == Kind::kMin || kind == Kind::kMax;
}

}  // namespace

// e == 0
void Facts::learn_zero(Expr e) {
  learn_nonnegative(e, /*keep=*/false);
  learn_nonnegative(pool_.neg(e), /*keep=*/false);
  e = simplify(e);
  if (pool_.as_constant(e)) return;
  int64_t content = 0;
  for (Expr term : pool_.terms(e)) {
    int64_t coefficient = pool_.coefficient(term);
    content = std::gcd(content, coefficient == INT64_MIN ? 1 : coefficient);
  }
  if (content > 1) e = pool_.floor_div(e, pool_.constant(content));

  // Prefer to replace an unbacked symbol, then the youngest.
  std::optional<SymbolId> best;
  Expr best_term{};
  Expr best_atom{};
  bool atom_found = false;
  std::span<const Expr> terms = pool_.terms(e);
  size_t compound_atoms = 0;
  for (Expr term : terms) {
    for (Expr factor : pool_.factors(term)) compound_atoms += pool_.kind(factor) != Kind::kSymbol;
  }
  for (Expr term : terms) {
    std::span<const Expr> factors = pool_.factors(term);
    int64_t coefficient = pool_.coefficient(term);
    if (factors.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    if (is_compound(pool_.kind(factors[0])) && compound_atoms == 1) {
      best_atom = term;
      atom_found = true;
    }
    if (pool_.kind(factors[0]) != Kind::kSymbol) continue;
    SymbolId symbol = pool_.symbol_of(factors[0]);
    if (pool_.symbol_kind(symbol) == SymbolKind::kIndex) continue;
    if (pool_.depends_on(pool_.sub(e, term), symbol)) continue;
    auto preference = [&](SymbolId id) {
      return std::pair(pool_.symbol_kind(id) == SymbolKind::kUnbacked, id);
    };
    if (!best || preference(*best) < preference(symbol)) {
      best = symbol;
      best_term = term;
    }
  }
  auto solved_for = [&](Expr term) {
    Expr rest = pool_.sub(e, term);
    return pool_.coefficient(term) == 1 ? pool_.neg(rest) : rest;
  };
  if (best) {
    Expr replacement = solved_for(best_term);
    SymbolFacts facts = facts_of(*best);
    symbols_[*best].equal = replacement;
    ++version_;
    if (!unbounded_below(facts.range)) {
      learn_nonnegative(pool_.sub(replacement, pool_.constant(facts.range.min)), /*keep=*/true);
    }
    if (!unbounded_above(facts.range)) {
      learn_nonnegative(pool_.sub(pool_.constant(facts.range.max), replacement), /*keep=*/true);
    }
    if (facts.divisor > 1) learn_divisible(replacement, facts.divisor);
    return;
  }
  if (atom_found) {
    Expr atom = pool_.factors(best_atom)[0];
    Expr value = solved_for(best_atom);
    atom_equal_[atom.id] = value;
    if (pool_.kind(atom) == Kind::kMod && pool_.is_constant(value, 0)) {
      std::optional<int64_t> k = pool_.as_constant(pool_.operands(atom)[1]);
      if (k && *k > 0) learn_divisible(pool_.operands(atom)[0], *k);
    }
  }
  zero_.push_back(e);
  ++version_;
}

// divisor | e
void Facts::learn_divisible(Expr e, int64_t divisor) {
  std::span<const Expr> terms = pool_.terms(e);
  if (terms.size() != 1) return;
  std::span<const Expr> factors = pool_.factors(terms[0]);
  int64_t coefficient = pool_.coefficient(terms[0]);
  if (factors.size() != 1 || pool_.kind(factors[0]) != Kind::kSymbol || coefficient == INT64_MIN) return;
  SymbolFacts& facts = facts_of(pool_.symbol_of(factors[0]));
  facts.divisor = common_multiple(facts.divisor, divisor / std::gcd(divisor, coefficient));
  ++version_;
}

// e >= 0. keep: also remembered as a whole when it relates several symbols.
void Facts::learn_nonnegative(Expr e, bool keep) {
  e = simplify(e);
  if (pool_.as_constant(e)) return;
  bool whole_fact = pool_.terms(e).size() > 2;
  // The fact bounds each of its linear symbols by the ranges of the others.
  if (pool_.symbols(e).size() <= kMaxSymbolsToLearn) {
    for (Expr term : pool_.terms(e)) {
      std::span<const Expr> factors = pool_.factors(term);
      if (factors.empty()) continue;
      if (factors.size() != 1 || pool_.kind(factors[0]) != Kind::kSymbol) {
        whole_fact = true;
        continue;
      }
      Expr others = pool_.sub(e, term);
      if (!pool_.as_constant(others)) whole_fact = true;
      Range rest = range(others);
      int64_t coefficient = pool_.coefficient(term), bound = 0;
      if (unbounded_above(rest) || rest.max <= -kUnbounded || coefficient == INT64_MIN) continue;
      SymbolId symbol = pool_.symbol_of(factors[0]);
      if (coefficient > 0) {  // symbol >= ceil(-rest / coefficient)
        artifact::checked_floor_div(rest.max, coefficient, &bound);
        narrow(symbol, {-bound, kUnbounded});
      } else {
        artifact::checked_floor_div(rest.max, -coefficient, &bound);
        narrow(symbol, {-kUnbounded, bound});
      }
    }
  } else {
    whole_fact = true;
  }
  if (keep && whole_fact && std::ranges::find(nonnegative_, e) == nonnegative_.end()) {
    nonnegative_.push_back(e);
    ++version_;
  }
}

void Facts::learn(const Predicate& predicate) {
  Expr difference = simplify(pool_.sub(predicate.b, predicate.a));
  switch (predicate.relation) {
    case Relation::kEq:
      learn_zero(difference);
      return;
    case Relation::kLe:
      learn_nonnegative(difference, /*keep=*/true);
      return;
    case Relation::kLt:
      learn_nonnegative(pool_.sub(difference, pool_.constant(1)), /*keep=*/true);
      return;
    case Relation::kNe:
      break;
  }
  nonzero_.push_back(difference);
  ++version_;
  // At an end of the range an inequality moves the end.
  Prover prover(*this);
  if (prover.nonnegative(difference)) {
    learn_nonnegative(pool_.sub(difference, pool_.constant(1)), /*keep=*/true);
  } else if (Expr opposite = pool_.neg(difference); prover.nonnegative(opposite)) {
    learn_nonnegative(pool_.sub(opposite, pool_.constant(1)), /*keep=*/true);
  }
}

std::optional<bool> Facts::decide(Predicate predicate, std::string_view origin) {
  Truth truth = prove(predicate);
  if (truth != Truth::kUnknown) return truth == Truth::kTrue;
  std::optional<int64_t> a = hinted(predicate.a), b = hinted(predicate.b);
  if (!a || !b) return std::nullopt;
  predicate.a = simplify(predicate.a);
  predicate.b = simplify(predicate.b);
  bool holds = false;
  switch (predicate.relation) {
    case Relation::kEq: holds = *a == *b; break;
    case Relation::kNe: holds = *a != *b; break;
    case Relation::kLt: holds = *a < *b; break;
    case Relation::kLe: holds = *a <= *b; break;
  }
  if (!holds) predicate = negation(predicate);
  guards_.push_back({predicate, std::string(origin)});
  learn(predicate);
  return holds;
}

std::optional<int64_t> Facts::specialize(Expr e, std::string_view origin) {
  e = simplify(e);
  if (std::optional<int64_t> value = pool_.as_constant(e)) return value;
  std::optional<int64_t> value = hinted(e);
  if (!value) return std::nullopt;
  std::optional<bool> equal = decide({Relation::kEq, e, pool_.constant(*value)}, origin);
  if (!equal || !*equal) return std::nullopt;
  return value;
}

// Only guards that share a symbol can matter, and equalities carry facts between symbols.
bool Facts::follows(size_t guard, const std::vector<bool>& dropped) const {
  auto mask = [&](const Predicate& p) { return pool_.symbol_mask(p.a) | pool_.symbol_mask(p.b); };
  const Predicate& predicate = guards_[guard].predicate;
  bool related = false;
  for (size_t i = guard + 1; i < guards_.size(); ++i) related |= (mask(guards_[i].predicate) & mask(predicate)) != 0;
  if (!related) return false;  // when it was recorded, it did not follow from what stood before
  Facts others(pool_);
  others.symbols_ = given_symbols_;
  others.given_symbols_ = given_symbols_;
  for (const Predicate& given : given_) others.learn(given);
  for (size_t i = 0; i < guards_.size(); ++i) {
    const Predicate& other = guards_[i].predicate;
    if (i == guard || dropped[i]) continue;
    if (other.relation == Relation::kEq || (mask(other) & mask(predicate)) != 0) others.learn(other);
  }
  return others.prove(predicate) == Truth::kTrue;
}

void Facts::minimize_guards() {
  if (guards_.size() > kMaxGuardsToMinimize) return;
  std::vector<bool> dropped(guards_.size());
  for (size_t i = 0; i < guards_.size(); ++i) dropped[i] = follows(i, dropped);
  size_t kept = 0;
  for (size_t i = 0; i < guards_.size(); ++i) {
    if (!dropped[i]) {
      if (kept != i) guards_[kept] = std::move(guards_[i]);
      ++kept;
    }
  }
  guards_.resize(kept);
}

std::string Facts::print(const Predicate& predicate) const {
  const char* relation = "";
  switch (predicate.relation) {
    case Relation::kEq: relation = " == "; break;
    case Relation::kNe: relation = " != "; break;
    case Relation::kLt: relation = " < "; break;
    case Relation::kLe: relation = " <= "; break;
  }
  std::string text = pool_.print(predicate.a);
  text += relation;
  text += pool_.print(predicate.b);
  return text;
}

}  // namespace tenon::symbolic
