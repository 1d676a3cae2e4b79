#include <algorithm>
#include <numeric>

#include "artifact/checked_arithmetic.hpp"
#include "symbolic/interval.hpp"
#include "symbolic/prover.hpp"

namespace tenon::symbolic {
namespace {

constexpr int kBudget = 64;  // polynomials looked at for one question
constexpr int kMaxDepth = 10;
constexpr int kMaxShiftedTerms = 64;
constexpr int64_t kMaxShift = int64_t{1} << 31;

}  // namespace

bool Prover::nonnegative(Expr p) {
  Range range = facts_.range(p);
  if (range.min >= 0) return true;
  if (range.max < 0) return false;
  if (facts_.proofs_version_ != facts_.version_) {
    facts_.proofs_.clear();
    facts_.proofs_version_ = facts_.version_;
  }
  if (auto known = facts_.proofs_.find(p.id); known != facts_.proofs_.end()) return known->second;
  budget_ = kBudget;
  running_.clear();
  bool proven = search(p, 0);
  facts_.proofs_[p.id] = proven;
  return proven;
}

bool Prover::within(Expr x, Expr k) {
  Range range_x = facts_.range(x), range_k = facts_.range(k);
  if (range_x.max < 0) return false;
  if (range_x.min >= 0 && range_x.max < range_k.min) return true;
  if (!unbounded_above(range_k) && range_x.min >= range_k.max) return false;
  return nonnegative(x) && nonnegative(pool_.sub(pool_.sub(k, x), pool_.constant(1)));
}

int Prover::sign(Expr p, int depth) {
  Range range = facts_.range(p);
  if (range.min >= 0) return 1;
  if (range.max <= 0) return -1;
  if (search(p, depth + 2)) return 1;
  if (search(pool_.neg(p), depth + 2)) return -1;
  return 0;
}

std::optional<Prover::Split> Prover::split(Expr p, Expr atom) {
  InlineVector<Expr, 12> with, without;
  for (Expr term : pool_.terms(p)) {
    std::span<const Expr> factors = pool_.factors(term);
    auto count = std::ranges::count(factors, atom);
    if (count > 1) return std::nullopt;
    if (count == 0) {
      without.push_back(term);
      continue;
    }
    Expr part = pool_.constant(pool_.coefficient(term));
    for (Expr factor : factors) {
      if (factor != atom) part = pool_.mul(part, factor);
    }
    with.push_back(part);
  }
  auto sum = [&](const InlineVector<Expr, 12>& terms) {
    if (terms.empty()) return pool_.constant(0);
    return terms.size() == 1 ? terms[0] : pool_.rebuild(p, terms);  // p has several terms too: a sum
  };
  return Split{sum(with), sum(without)};
}

// A cheap look before the expansion: a negative term without a least value has to be cancelled by what a positive
// multiple of it leaves when shifted.
bool Prover::may_be_nonnegative_when_shifted(Expr p) {
  for (Expr bad : pool_.terms(p)) {
    std::span<const Expr> factors = pool_.factors(bad);
    if (pool_.coefficient(bad) >= 0 || factors.empty()) continue;
    Range magnitude = point(1);
    for (Expr factor : factors) magnitude = multiply(magnitude, facts_.range(factor));
    if (!unbounded_above(magnitude) && !unbounded_below(magnitude)) continue;
    bool curable = magnitude.min < 0;
    for (Expr cure : pool_.terms(p)) {
      std::span<const Expr> larger = pool_.factors(cure);
      if (larger.size() <= factors.size() && magnitude.min >= 0) continue;
      // Both in order: one pass finds the factors in the larger product.
      size_t found = 0;
      for (Expr factor : larger) found += found < factors.size() && factor == factors[found];
      curable |= found == factors.size();
    }
    if (!curable) return false;
  }
  return true;
}

void Prover::collect_atoms(Expr p, AtomList& atoms) {
  for (Expr term : pool_.terms(p)) {
    for (Expr factor : pool_.factors(term)) {
      if (std::ranges::find(atoms, factor) == atoms.end()) atoms.push_back(factor);
    }
  }
}

// g*A + c >= 0 exactly when A + floor(c/g) >= 0.
Expr Prover::divided_by_content(Expr p) {
  int64_t gcd = 0, constant = 0;
  for (Expr term : pool_.terms(p)) {
    int64_t coefficient = pool_.coefficient(term);
    if (coefficient == INT64_MIN) return p;
    if (pool_.factors(term).empty()) {
      constant += coefficient;
    } else {
      gcd = std::gcd(gcd, coefficient);
    }
    if (gcd == 1) return p;
  }
  if (gcd <= 1) return p;
  Expr rest = pool_.sub(p, pool_.constant(constant));
  int64_t quotient = 0;
  artifact::checked_floor_div(constant, gcd, &quotient);
  return pool_.add(pool_.floor_div(rest, pool_.constant(gcd)), pool_.constant(quotient));
}

bool Prover::nonnegative_when_shifted(Expr p) {
  if (!may_be_nonnegative_when_shifted(p)) return false;
  AtomList atoms;
  collect_atoms(p, atoms);
  if (atoms.size() > 8) return false;
  InlineVector<Range, 8> ranges;
  bool shifts = false;
  for (Expr atom : atoms) {
    Range range = facts_.range(atom);
    if (pool_.kind(atom) == Kind::kMul) return false;
    if (unbounded_below(range) && unbounded_above(range)) return false;
    int64_t origin = unbounded_below(range) ? range.max : range.min;
    if (origin > kMaxShift || origin < -kMaxShift) return false;
    shifts |= origin != 0 || unbounded_below(range);
    ranges.push_back(range);
  }
  // From here an atom stands for its distance from its lower bound (its upper bound, where there is no lower one).
  Expr shifted = p;
  if (shifts) {
    shifted = pool_.constant(0);
    for (Expr term : pool_.terms(p)) {
      Expr product = pool_.constant(pool_.coefficient(term));
      for (Expr factor : pool_.factors(term)) {
        Range range = ranges[std::ranges::find(atoms, factor) - atoms.begin()];
        Expr moved = unbounded_below(range) ? pool_.sub(pool_.constant(range.max), factor)
                                            : pool_.add(factor, pool_.constant(range.min));
        product = pool_.mul(product, moved);
        if (pool_.terms(product).size() > kMaxShiftedTerms) return false;
      }
      shifted = pool_.add(shifted, product);
    }
  }
  __int128 least = 0;
  for (Expr term : pool_.terms(shifted)) {
    int64_t coefficient = pool_.coefficient(term);
    std::span<const Expr> factors = pool_.factors(term);
    for (Expr factor : factors) {
      if (std::ranges::find(atoms, factor) == atoms.end()) return false;  // an expansion that did not fit
    }
    if (factors.empty()) {
      least += coefficient;
      continue;
    }
    if (coefficient >= 0) continue;
    __int128 greatest = 1;
    for (Expr factor : factors) {
      Range range = ranges[std::ranges::find(atoms, factor) - atoms.begin()];
      if (unbounded_below(range) || unbounded_above(range)) return false;
      greatest *= static_cast<__int128>(range.max) - range.min;
      if (greatest > kUnbounded) return false;
    }
    least += greatest * coefficient;
  }
  return least >= 0;
}

bool Prover::through_floor_div(Expr p, Expr atom, int depth) {
  Expr x = pool_.operands(atom)[0], k = pool_.operands(atom)[1];
  std::optional<Split> parts = split(p, atom);
  if (!parts) return false;
  if (facts_.range(k).min < 0 && !search(k, depth + 2)) return false;  // a divisor is not 0
  int direction = sign(parts->coefficient, depth);
  if (direction == 0) return false;
  // p >= 0 exactly when k*p + k - 1 >= 0, and k*atom is at least x - k + 1 and at most x.
  Expr slack = pool_.sub(k, pool_.constant(1));
  Expr scaled = direction > 0 ? pool_.sub(x, slack) : x;
  Expr bound = pool_.add(pool_.mul(parts->coefficient, scaled), pool_.mul(k, parts->rest));
  return search(pool_.add(bound, slack), depth + 1);
}

bool Prover::through_extremum(Expr p, Expr atom, int depth) {
  std::optional<Split> parts = split(p, atom);
  if (!parts) return false;
  Expr a = pool_.operands(atom)[0], b = pool_.operands(atom)[1];
  // With a coefficient of the right sign the atom is the better of the two for p, so either is enough.
  int direction = sign(parts->coefficient, depth);
  bool either = direction != 0 && (direction > 0) == (pool_.kind(atom) == Kind::kMax);
  bool first = search(at(*parts, a), depth + 1);
  if (either ? first : !first) return first;
  return search(at(*parts, b), depth + 1);
}

std::optional<Expr> Prover::upper_bound(Expr atom) {
  if (pool_.kind(atom) == Kind::kSymbol) {
    std::optional<Expr> extent = facts_.index_extent(pool_.symbol_of(atom));
    if (extent) return pool_.sub(*extent, pool_.constant(1));
  }
  if (pool_.kind(atom) == Kind::kMod && facts_.range(pool_.operands(atom)[1]).min >= 0) {
    return pool_.sub(pool_.operands(atom)[1], pool_.constant(1));
  }
  return std::nullopt;
}

bool Prover::through_known(Expr p, int depth) {
  uint64_t mask = pool_.symbol_mask(p);
  auto try_subtracting = [&](Expr known) {  // known >= 0
    if ((pool_.symbol_mask(known) & mask) == 0) return false;
    for (Expr bad : pool_.terms(p)) {
      if (pool_.coefficient(bad) >= 0 || pool_.factors(bad).empty()) continue;
      for (Expr cure : pool_.terms(known)) {
        if (pool_.coefficient(cure) >= 0 || pool_.factors(cure).empty()) continue;
        // A negative term of p goes when the fact is taken `times` times.
        Expr times = pool_.floor_div(bad, cure);
        if (pool_.kind(times) == Kind::kFloorDiv || pool_.mul(times, cure) != bad) continue;
        if (facts_.range(times).min < 0) continue;
        if (search(pool_.sub(p, pool_.mul(times, known)), depth + 3)) return true;
      }
    }
    return false;
  };
  for (Expr known : facts_.nonnegative_) {
    if (try_subtracting(known)) return true;
  }
  for (size_t i = 0; i < running_.size(); ++i) {
    if (try_subtracting(running_[i])) return true;
  }
  for (Expr zero : facts_.zero_) {
    if (try_subtracting(zero) || try_subtracting(pool_.neg(zero))) return true;
  }
  return false;
}

bool Prover::search(Expr p, int depth) {
  if (--budget_ < 0 || depth > kMaxDepth) return false;
  Range range = facts_.range(p);
  if (range.min >= 0) return true;
  if (range.max < 0) return false;
  p = divided_by_content(p);
  if (nonnegative_when_shifted(p)) return true;

  AtomList atoms;
  collect_atoms(p, atoms);
  for (Expr atom : atoms) {
    if (pool_.kind(atom) == Kind::kFloorDiv && through_floor_div(p, atom, depth)) return true;
  }
  for (Expr atom : atoms) {
    if (pool_.kind(atom) != Kind::kMin && pool_.kind(atom) != Kind::kMax) continue;
    if (through_extremum(p, atom, depth)) return true;
  }
  // Inner loop variables first: extents may hold outer ones.
  for (size_t i = atoms.size(); i-- > 0;) {
    std::optional<Expr> upper = upper_bound(atoms[i]);
    if (!upper) continue;
    std::optional<Split> parts = split(p, atoms[i]);
    if (!parts) continue;
    if (!pool_.as_constant(*upper) && std::ranges::find(running_, *upper) == running_.end()) {
      running_.push_back(*upper);
    }
    int direction = sign(parts->coefficient, depth);
    bool low = direction < 0 || search(parts->rest, depth + 1);
    if (low && (direction > 0 || search(at(*parts, *upper), depth + 1))) return true;
    // mod(x, k) <= x where x >= 0
    if (pool_.kind(atoms[i]) == Kind::kMod && direction < 0 && facts_.range(pool_.operands(atoms[i])[0]).min >= 0) {
      return search(at(*parts, pool_.operands(atoms[i])[0]), depth + 1);
    }
    if (pool_.kind(atoms[i]) == Kind::kSymbol) return through_known(p, depth);
  }
  for (Expr atom : atoms) {
    Range bounds = facts_.range(atom);
    if (unbounded_below(bounds) || unbounded_above(bounds) || pool_.kind(atom) != Kind::kSymbol) continue;
    std::optional<Split> parts = split(p, atom);
    if (!parts || pool_.as_constant(parts->coefficient)) continue;  // those the shift has settled
    if (search(at(*parts, pool_.constant(bounds.min)), depth + 1) &&
        search(at(*parts, pool_.constant(bounds.max)), depth + 1)) {
      return true;
    }
    break;
  }
  return through_known(p, depth);
}

Truth Facts::prove(Predicate predicate) {
  Expr difference = simplify(pool_.sub(predicate.b, predicate.a));
  auto decided = [](bool yes, bool no) { return yes ? Truth::kTrue : no ? Truth::kFalse : Truth::kUnknown; };
  Prover prover(*this);
  if (std::optional<int64_t> value = pool_.as_constant(difference)) {
    switch (predicate.relation) {
      case Relation::kEq: return decided(*value == 0, *value != 0);
      case Relation::kNe: return decided(*value != 0, *value == 0);
      case Relation::kLt: return decided(*value > 0, *value <= 0);
      case Relation::kLe: return decided(*value >= 0, *value < 0);
    }
  }
  Expr opposite = pool_.neg(difference);
  switch (predicate.relation) {
    case Relation::kLe:
      if (prover.nonnegative(difference)) return Truth::kTrue;
      return decided(false, prover.positive(opposite));
    case Relation::kLt:
      if (prover.positive(difference)) return Truth::kTrue;
      return decided(false, prover.nonnegative(opposite));
    case Relation::kEq:
    case Relation::kNe:
      break;
  }
  bool equal = std::ranges::any_of(zero_, [&](Expr zero) { return zero == difference || zero == opposite; });
  bool unequal = !equal && std::ranges::any_of(nonzero_, [&](Expr e) { return e == difference || e == opposite; });
  if (!equal && !unequal) {
    int64_t constant = 0, step = 0;
    for (Expr term : pool_.terms(difference)) {
      if (pool_.factors(term).empty()) {
        constant = pool_.coefficient(term);
      } else {
        step = std::gcd(step, known_divisor(term));
      }
    }
    unequal = step > 1 && constant % step != 0;
  }
  if (!equal && !unequal) unequal = prover.positive(difference) || prover.positive(opposite);
  if (!equal && !unequal) equal = prover.nonnegative(difference) && prover.nonnegative(opposite);
  if (predicate.relation == Relation::kEq) return decided(equal, unequal);
  return decided(unequal, equal);
}

}  // namespace tenon::symbolic
