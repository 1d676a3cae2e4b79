#include "ops/shapes.hpp"

#include <algorithm>

namespace tenon::ops {
namespace {

using symbolic::Kind;
using symbolic::Truth;

// coefficient * product of atoms
struct Term {
  int64_t coefficient = 1;
  Dims atoms;
};

Term split_term(const Pool& pool, Expr e) {
  Term term;
  if (pool.kind(e) == Kind::kConstant) {
    term.coefficient = pool.value(e);
  } else if (pool.kind(e) == Kind::kMul) {
    for (Expr factor : pool.operands(e)) {
      if (pool.kind(factor) == Kind::kConstant) term.coefficient = pool.value(factor);
      else term.atoms.push_back(factor);
    }
  } else {
    term.atoms.push_back(e);
  }
  return term;
}

std::optional<Expr> divide_term(Pool& pool, Expr a, Expr b) {
  Term numerator = split_term(pool, a);
  const Term denominator = split_term(pool, b);
  if (denominator.coefficient == 0 || numerator.coefficient % denominator.coefficient != 0) return std::nullopt;
  for (Expr atom : denominator.atoms) {
    auto found = std::find(numerator.atoms.begin(), numerator.atoms.end(), atom);
    if (found == numerator.atoms.end()) return std::nullopt;
    numerator.atoms.erase(found);
  }
  return pool.mul(pool.constant(numerator.coefficient / denominator.coefficient), pool.product(numerator.atoms));
}

// Drops sizes that both lists have, but 0: without it the others would have to agree.
void cancel_equal(const Pool& pool, Dims& a, Dims& b) {
  for (size_t i = 0; i < a.size();) {
    auto found = std::find(b.begin(), b.end(), a[i]);
    if (found == b.end() || pool.is_constant(a[i], 0)) {
      ++i;
      continue;
    }
    b.erase(found);
    a.erase(a.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace

std::optional<Expr> exact_divide(Pool& pool, Expr a, Expr b) {
  if (pool.is_constant(b, 1)) return a;
  if (pool.is_constant(a, 0)) return a;
  if (pool.kind(b) == Kind::kAdd) {
    // A quotient of one term: found from the first terms, checked by multiplication.
    const Expr first = pool.kind(a) == Kind::kAdd ? pool.operands(a)[0] : a;
    const std::optional<Expr> quotient = divide_term(pool, first, pool.operands(b)[0]);
    if (quotient && pool.mul(*quotient, b) == a) return quotient;
    return std::nullopt;
  }
  if (pool.kind(a) != Kind::kAdd) return divide_term(pool, a, b);
  const std::span<const Expr> view = pool.operands(a);
  const Dims terms(view.begin(), view.end());  // building below may move the pool's storage
  Expr sum = pool.constant(0);
  for (Expr term : terms) {
    const std::optional<Expr> quotient = divide_term(pool, term, b);
    if (!quotient) return std::nullopt;
    sum = pool.add(sum, *quotient);
  }
  return sum;
}

Result<Dims> resolve_reshape(InferContext& context, std::string_view argument, std::span<const Expr> from, Dims to) {
  Pool& pool = context.pool();
  std::optional<size_t> unknown;
  for (size_t i = 0; i < to.size(); ++i) {
    const std::optional<int64_t> constant = pool.as_constant(to[i]);
    if (constant == -1) {
      if (unknown) return context.error(argument, "at most one -1", describe(pool, to));
      unknown = i;
    } else if (constant && *constant < 0) {
      return context.error(argument, "sizes of 0 or more, or -1", describe(pool, to));
    }
  }
  Dims have(from.begin(), from.end()), want;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i != unknown) want.push_back(to[i]);
  }
  const Dims known = want;
  cancel_equal(pool, have, want);
  const Expr have_count = context.facts().simplify(pool.product(have));
  const Expr want_count = context.facts().simplify(pool.product(want));
  const auto mismatch = [&] {
    return context.error(argument, "sizes with as many elements as " + describe(pool, from), describe(pool, to));
  };
  if (!unknown) {
    if (have_count == want_count) return to;
    TENON_ASSIGN_OR_RETURN(const bool equal, context.decide(Relation::kEq, have_count, want_count));
    if (!equal) return mismatch();
    return to;
  }
  // With a size of 0 among the others, -1 could be anything.
  TENON_ASSIGN_OR_RETURN(const bool nonzero, context.decide(Relation::kNe, pool.product(known), pool.constant(0)));
  if (!nonzero) return context.error(argument, "no size of 0 beside -1", describe(pool, to));
  if (const std::optional<Expr> quotient = exact_divide(pool, have_count, want_count)) {
    to[*unknown] = *quotient;
    return to;
  }
  TENON_ASSIGN_OR_RETURN(const bool divisible,
                         context.decide(Relation::kEq, pool.mod(have_count, want_count), pool.constant(0)));
  if (!divisible) return mismatch();
  to[*unknown] = context.facts().simplify(pool.floor_div(have_count, want_count));
  return to;
}

Result<Dims> resolve_expand(InferContext& context, std::string_view argument, std::span<const Expr> from, Dims to) {
  Pool& pool = context.pool();
  if (to.size() < from.size()) {
    return context.error(argument, std::to_string(from.size()) + " sizes or more", std::to_string(to.size()));
  }
  const size_t added = to.size() - from.size();
  for (size_t i = 0; i < to.size(); ++i) {
    const bool keep = pool.is_constant(to[i], -1);
    if (i < added) {
      if (keep) return context.error(argument, "no -1 for a new dim", describe(pool, to));
      continue;
    }
    const Expr have = from[i - added];
    if (keep) {
      to[i] = have;
      continue;
    }
    if (have == to[i] || pool.is_constant(have, 1) || context.facts().provably_equal(have, to[i])) continue;
    TENON_ASSIGN_OR_RETURN(const bool equal, context.decide(Relation::kEq, have, to[i]));
    if (equal) continue;
    TENON_ASSIGN_OR_RETURN(const bool single, context.decide(Relation::kEq, have, pool.constant(1)));
    if (!single) {
      return context.error(argument, "size " + pool.print(have) + " or -1 in dim " + std::to_string(i),
                           pool.print(to[i]));
    }
  }
  return to;
}

bool decide_or(Facts& facts, std::string_view origin, Relation relation, Expr a, Expr b, bool fallback) {
  return facts.decide({relation, a, b}, origin).value_or(fallback);
}

namespace {

// A bound within [0, extent].
Expr clamp_bound(Facts& facts, std::string_view origin, Expr extent, Expr bound) {
  Pool& pool = facts.pool();
  const Expr zero = pool.constant(0);
  const std::optional<int64_t> constant = pool.as_constant(bound);
  if (constant == INT64_MAX) return extent;
  bool negative = false;
  if (constant) {
    negative = *constant < 0;
  } else {
    const std::optional<bool> decided = facts.decide({Relation::kLt, bound, zero}, origin);
    // Unbacked sizes are not negative in practice, and PyTorch assumes so too.
    negative = decided.value_or(false);
  }
  if (negative) {
    bound = facts.simplify(pool.add(bound, extent));
    const std::optional<bool> below = facts.decide({Relation::kLt, bound, zero}, origin);
    if (!below) return pool.max(bound, zero);
    return *below ? zero : bound;
  }
  if (bound == extent) return bound;
  const std::optional<bool> inside = facts.decide({Relation::kLe, bound, extent}, origin);
  if (!inside) return pool.min(bound, extent);
  return *inside ? bound : extent;
}

}  // namespace

SliceBounds resolve_slice(Facts& facts, std::string_view origin, Expr extent, std::optional<Expr> start,
                          std::optional<Expr> end, Expr step) {
  Pool& pool = facts.pool();
  SliceBounds bounds;
  bounds.start = start ? clamp_bound(facts, origin, extent, *start) : pool.constant(0);
  bounds.end = end ? clamp_bound(facts, origin, extent, *end) : extent;
  if (!pool.is_constant(bounds.start, 0)) {
    const std::optional<bool> ordered = facts.decide({Relation::kLe, bounds.start, bounds.end}, origin);
    if (!ordered) bounds.end = pool.max(bounds.start, bounds.end);
    else if (!*ordered) bounds.end = bounds.start;
  }
  bounds.length = pool.sub(bounds.end, bounds.start);
  if (!pool.is_constant(step, 1)) bounds.length = pool.ceil_div(bounds.length, step);
  bounds.length = facts.simplify(bounds.length);
  return bounds;
}

Expr resolve_index(Facts& facts, std::string_view origin, Expr extent, Expr index) {
  const bool negative = decide_or(facts, origin, Relation::kLt, index, facts.pool().constant(0), false);
  return negative ? facts.simplify(facts.pool().add(index, extent)) : index;
}

}  // namespace tenon::ops
