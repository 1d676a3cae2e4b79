// floor_div and mod in canonical form: rules that hold for every value of the symbols but a zero divisor.

#include <algorithm>
#include <numeric>

#include "artifact/checked_arithmetic.hpp"
#include "symbolic/expr_rep.hpp"

namespace tenon::symbolic {
namespace {

using artifact::floor_mod;

int64_t floor_quotient(int64_t a, int64_t positive) {
  int64_t quotient = 0;
  artifact::checked_floor_div(a, positive, &quotient);
  return quotient;
}

// gcd of magnitudes; INT64_MIN has none in int64, and 1 is always sound.
int64_t safe_gcd(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return 1;
  return std::gcd(a, b);
}

bool negatable(const Terms& terms) {
  return std::ranges::none_of(terms, [](const Term& term) { return term.coefficient == INT64_MIN; });
}

}  // namespace

bool Pool::Rep::divide(Term dividend, Term divisor, Term* quotient) {
  if (divisor.coefficient == 0 || (dividend.coefficient == INT64_MIN && divisor.coefficient == -1)) return false;
  if (dividend.coefficient % divisor.coefficient != 0) return false;
  if (divisor.monomial == one) {
    *quotient = {dividend.coefficient / divisor.coefficient, dividend.monomial};
    return true;
  }
  std::span<const Expr> have = atoms(dividend.monomial), want = atoms(divisor.monomial);
  if (want.size() > have.size()) return false;
  Atoms left;
  size_t next = 0;
  for (Expr atom : have) {
    if (next < want.size() && want[next] == atom) {
      ++next;
    } else {
      left.push_back(atom);
    }
  }
  if (next < want.size()) return false;
  *quotient = {dividend.coefficient / divisor.coefficient, monomial_of(left)};
  return true;
}

Term Pool::Rep::common_factor(const Terms& a, const Terms& b) {
  int64_t coefficient = 0;
  Atoms shared;
  bool first = true;
  for (const Terms* terms : {&a, &b}) {
    for (const Term& term : *terms) {
      coefficient = safe_gcd(coefficient, term.coefficient);
      std::span<const Expr> have = atoms(term.monomial);
      if (first) {
        shared.append(have);
        first = false;
        continue;
      }
      // Both lists are in order, so one pass keeps the common multiset.
      size_t out = 0, at = 0;
      for (size_t i = 0; i < shared.size(); ++i) {
        size_t found = at;
        while (found < have.size() && have[found] != shared[i]) ++found;
        if (found == have.size()) continue;
        at = found + 1;
        shared[out++] = shared[i];
      }
      shared.resize_down(out);
    }
  }
  return {coefficient == 0 ? 1 : coefficient, monomial_of(shared)};
}

Term Pool::Rep::leading(Expr polynomial) const {
  Terms terms;
  append_terms(polynomial, terms);
  Term best = terms[0];
  for (const Term& term : terms) {
    if (atoms(term.monomial).size() > atoms(best.monomial).size()) best = term;
  }
  return best;  // of equal degree the first: the order of terms is then lexicographic
}

std::optional<Pool::Division> Pool::divide(Expr dividend, Expr divisor) {
  if (divisor == rep_->zero) return std::nullopt;
  Term lead = rep_->leading(divisor);
  Expr quotient = rep_->zero;
  // Each step removes the highest term that the lead divides and adds only lower ones.
  for (int step = 0; step < 64; ++step) {
    Terms terms;
    rep_->append_terms(dividend, terms);
    std::optional<Term> found;
    size_t found_degree = 0;
    for (const Term& term : terms) {
      Term candidate;
      size_t degree = rep_->atoms(term.monomial).size();
      if ((found && degree <= found_degree) || !rep_->divide(term, lead, &candidate)) continue;
      found = candidate;
      found_degree = degree;
    }
    if (!found) return Division{quotient, dividend};
    Expr piece = rep_->scaled(*found);
    quotient = add(quotient, piece);
    dividend = sub(dividend, mul(piece, divisor));
  }
  return std::nullopt;
}

Expr Pool::common_factor(Expr term_a, Expr term_b) {
  Terms a, b;
  rep_->append_terms(term_a, a);
  rep_->append_terms(term_b, b);
  return rep_->scaled(rep_->common_factor(a, b));
}

Expr Pool::floor_div(Expr a, Expr b) {
  Rep& rep = *rep_;
  Expr raw[] = {a, b};
  if (std::optional<int64_t> divisor = as_constant(b)) {
    if (*divisor == 0 || *divisor == INT64_MIN) return rep.intern(Kind::kFloorDiv, 1, raw);
    if (*divisor < 0) return floor_div(neg(a), constant(-*divisor));
    return floor_div_constant(a, *divisor);
  }
  if (a == rep.zero) return rep.zero;
  if (a == b) return rep.one;

  Terms divisor;
  rep.append_terms(b, divisor);
  if (divisor.size() > 1) {
    std::optional<Division> division = divide(a, b);
    if (division && division->rest == rep.zero) return division->quotient;
  } else if (divisor[0].coefficient < 0 && divisor[0].coefficient != INT64_MIN) {
    return floor_div(neg(a), neg(b));
  }
  Terms terms, quotient, rest;
  rep.append_terms(a, terms);
  for (const Term& term : terms) {
    Term piece;
    if (divisor.size() == 1 && rep.divide(term, divisor[0], &piece)) {
      quotient.push_back(piece);
    } else {
      rest.push_back(term);
    }
  }
  Expr whole = rep.sum(quotient);
  if (rest.empty()) return whole;
  Term factor = rep.common_factor(rest, divisor);
  if (factor.coefficient != 1 || factor.monomial != rep.one) {
    for (Terms* list : {&rest, &divisor}) {
      for (Term& term : *list) TENON_CHECK(rep.divide(term, factor, &term));
    }
    return add(whole, floor_div(rep.sum(rest), rep.sum(divisor)));
  }
  Expr operands[] = {rep.sum_sorted(rest), b};
  return add(whole, rep.intern(Kind::kFloorDiv, 1, operands));
}

Expr Pool::ceil_div(Expr a, Expr b) { return neg(floor_div(neg(a), b)); }

Expr Pool::floor_div_constant(Expr a, int64_t divisor) {
  Rep& rep = *rep_;
  if (divisor == 1) return a;
  Terms terms, quotient, rest;
  rep.append_terms(a, terms);
  int64_t offset = 0, gcd = divisor;
  for (const Term& term : terms) {
    int64_t whole = floor_quotient(term.coefficient, divisor);
    if (term.monomial == rep.one) {
      quotient.push_back({whole, rep.one});
      // Unfolded constants (a sum beyond int64) may come in pieces; their rests add up below the number of pieces times
      // the divisor, which could overflow only for divisors near 2^63.
      if (__builtin_add_overflow(offset, floor_mod(term.coefficient, divisor), &offset)) {
        Expr operands[] = {a, constant(divisor)};
        return rep.intern(Kind::kFloorDiv, 1, operands);
      }
    } else if (term.coefficient % divisor == 0) {
      quotient.push_back({whole, term.monomial});
    } else {
      gcd = safe_gcd(gcd, term.coefficient);
      rest.push_back(term);
    }
  }
  if (offset >= divisor) {
    quotient.push_back({offset / divisor, rep.one});
    offset %= divisor;
  }
  if (rest.empty()) return rep.sum(quotient);
  if (gcd > 1) {
    for (Term& term : rest) term.coefficient /= gcd;
    offset /= gcd;
    divisor /= gcd;
  }
  bool negative = rest[0].coefficient < 0 && negatable(rest);
  if (negative) {  // floordiv(-x, k) == -floordiv(x + k - 1, k)
    for (Term& term : rest) term.coefficient = -term.coefficient;
    offset = divisor - 1 - offset;
  }
  Expr whole = rep.sum(quotient);
  Expr inner = rep.sum_sorted(rest);
  Expr result;
  std::optional<int64_t> inner_divisor;
  if (rest.size() == 1 && rest[0].coefficient == 1 && rep.node(inner).count == 2) {
    inner_divisor = as_constant(operands(inner)[1]);
  }
  int64_t product = 0, shifted = 0;
  if (inner_divisor && kind(inner) == Kind::kFloorDiv && *inner_divisor > 0 &&
      artifact::checked_mul(*inner_divisor, divisor, &product) &&
      artifact::checked_mul(*inner_divisor, offset, &shifted)) {
    // floordiv(floordiv(x, m) + c, k) == floordiv(x + c*m, m*k)
    result = floor_div_constant(add(operands(inner)[0], constant(shifted)), product);
  } else if (inner_divisor && kind(inner) == Kind::kMod && offset == 0 && *inner_divisor > 0 &&
             *inner_divisor % divisor == 0) {
    // floordiv(mod(x, m*k), k) == mod(floordiv(x, k), m)
    result = mod(floor_div_constant(operands(inner)[0], divisor), constant(*inner_divisor / divisor));
  } else {
    Expr pair[] = {add(constant(offset), inner), constant(divisor)};
    result = rep.intern(Kind::kFloorDiv, 1, pair);
  }
  return negative ? sub(whole, result) : add(whole, result);
}

Expr Pool::mod(Expr a, Expr b) {
  Rep& rep = *rep_;
  Expr raw[] = {a, b};
  if (std::optional<int64_t> divisor = as_constant(b)) {
    if (*divisor == 0 || *divisor == INT64_MIN) return rep.intern(Kind::kMod, 1, raw);
    if (*divisor < 0) return neg(mod(neg(a), constant(-*divisor)));
    return mod_constant(a, *divisor);
  }
  if (a == rep.zero || a == b) return rep.zero;

  Terms divisor;
  rep.append_terms(b, divisor);
  if (divisor.size() > 1) {
    std::optional<Division> division = divide(a, b);
    if (division && division->rest == rep.zero) return rep.zero;
  } else if (divisor[0].coefficient < 0 && divisor[0].coefficient != INT64_MIN) {
    return neg(mod(neg(a), neg(b)));
  }
  Terms terms, rest;
  rep.append_terms(a, terms);
  for (const Term& term : terms) {
    Term piece;
    if (divisor.size() > 1 || !rep.divide(term, divisor[0], &piece)) rest.push_back(term);
  }
  if (rest.empty()) return rep.zero;
  Term factor = rep.common_factor(rest, divisor);
  if (factor.coefficient != 1 || factor.monomial != rep.one) {
    for (Terms* list : {&rest, &divisor}) {
      for (Term& term : *list) TENON_CHECK(rep.divide(term, factor, &term));
    }
    return mul(rep.scaled(factor), mod(rep.sum(rest), rep.sum(divisor)));
  }
  Expr operands[] = {rep.sum_sorted(rest), b};
  return rep.intern(Kind::kMod, 1, operands);
}

Expr Pool::mod_constant(Expr a, int64_t divisor) {
  Rep& rep = *rep_;
  if (divisor == 1) return rep.zero;
  Terms terms, rest;
  rep.append_terms(a, terms);
  int64_t offset = 0, gcd = divisor;
  for (const Term& term : terms) {
    if (term.monomial == rep.one) {
      __int128 total = static_cast<__int128>(offset) + floor_mod(term.coefficient, divisor);
      offset = static_cast<int64_t>(total % divisor);
      continue;
    }
    int64_t coefficient = term.coefficient % divisor;
    if (coefficient == 0) continue;
    const Node& node = rep.node(term.monomial);
    if (node.kind == Kind::kMod) {
      // mod(c*mod(x, m), k) == mod(c*x, k) when k divides c*m
      std::optional<int64_t> inner = as_constant(node.operands[1]);
      int64_t period = 0;
      if (inner && *inner > 0 && artifact::checked_mul(coefficient, *inner, &period) && period % divisor == 0) {
        Expr argument = node.operands[0];  // building moves the nodes
        Expr unwrapped = mul(constant(coefficient), argument);
        return mod_constant(add(sub(a, rep.scaled(term)), unwrapped), divisor);
      }
    }
    gcd = safe_gcd(gcd, coefficient);
    rest.push_back({coefficient, term.monomial});
  }
  if (rest.empty()) return constant(offset);
  int64_t low = offset % gcd;
  for (Term& term : rest) term.coefficient /= gcd;
  offset /= gcd;
  divisor /= gcd;
  bool negative = rest[0].coefficient < 0;
  if (negative) {  // mod(-x, k) == k - 1 - mod(x - 1, k); coefficients are smaller than the divisor, so they negate
    for (Term& term : rest) term.coefficient = -term.coefficient;
    offset = divisor - 1 - offset;
  }
  rep.sort_and_merge(rest);  // pieces of a coefficient beyond int64 meet again here
  Expr pair[] = {add(constant(offset), rep.sum_sorted(rest)), constant(divisor)};
  Expr result = rep.intern(Kind::kMod, 1, pair);
  if (negative) result = sub(constant(divisor - 1), result);
  return add(constant(low), mul(constant(gcd), result));
}

}  // namespace tenon::symbolic
