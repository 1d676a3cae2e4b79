// Sums, products, min and max in canonical form.

#include <algorithm>

#include "symbolic/expr_rep.hpp"

namespace tenon::symbolic {
namespace {

// Products of polynomials with more terms than this stay unexpanded.
constexpr size_t kMaxExpandedTerms = 1024;

int rank(Kind kind) {
  switch (kind) {
    case Kind::kSymbol: return 0;
    case Kind::kFloorDiv: return 1;
    case Kind::kMod: return 2;
    case Kind::kMin: return 3;
    case Kind::kMax: return 4;
    case Kind::kMul: return 5;
    case Kind::kAdd: return 6;
    case Kind::kConstant: return 7;
  }
  return 8;
}

template <typename T>
int three_way(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

int Pool::Rep::compare(Expr a, Expr b) const {
  if (a == b) return 0;
  const Node& node_a = node(a);
  const Node& node_b = node(b);
  if (node_a.kind != node_b.kind) return three_way(rank(node_a.kind), rank(node_b.kind));
  if (node_a.count == 0) return three_way(node_a.value, node_b.value);
  size_t count = std::min(node_a.count, node_b.count);
  for (size_t i = 0; i < count; ++i) {
    if (int order = compare(node_a.operands[i], node_b.operands[i])) return order;
  }
  if (node_a.count != node_b.count) return three_way(node_a.count, node_b.count);
  return three_way(node_a.opaque, node_b.opaque);
}

int Pool::Rep::compare_monomials(Expr a, Expr b) const {
  if (a == b) return 0;
  std::span<const Expr> atoms_a = atoms(a), atoms_b = atoms(b);
  size_t count = std::min(atoms_a.size(), atoms_b.size());
  for (size_t i = 0; i < count; ++i) {
    if (int order = compare(atoms_a[i], atoms_b[i])) return order;
  }
  return three_way(atoms_a.size(), atoms_b.size());
}

Term Pool::Rep::term(Expr e) const {
  const Node& n = node(e);
  bool has_coefficient = n.kind == Kind::kConstant || (n.kind == Kind::kMul && !n.opaque);
  return {has_coefficient ? n.value : 1, Expr{n.monomial}};
}

void Pool::Rep::append_terms(Expr e, Terms& out) const {
  const Node& n = node(e);
  if (n.kind == Kind::kAdd) {
    for (Expr operand : operands(e)) out.push_back(term(operand));
  } else if (e != zero) {
    out.push_back(term(e));
  }
}

std::span<const Expr> Pool::Rep::atoms(const Expr& monomial) const {
  const Node& n = node(monomial);
  if (n.kind == Kind::kConstant) return {};
  if (n.kind == Kind::kMul && !n.opaque) return operands(monomial);
  return {&monomial, 1};
}

Expr Pool::Rep::monomial_of(std::span<const Expr> sorted_atoms) {
  if (sorted_atoms.empty()) return one;
  if (sorted_atoms.size() == 1) return sorted_atoms[0];
  return intern(Kind::kMul, 1, sorted_atoms);
}

Expr Pool::Rep::multiply_monomials(Expr a, Expr b) {
  if (a == one) return b;
  if (b == one) return a;
  Atoms product;
  std::span<const Expr> atoms_a = atoms(a), atoms_b = atoms(b);
  size_t i = 0, j = 0;
  while (i < atoms_a.size() || j < atoms_b.size()) {
    bool take_a = j == atoms_b.size() || (i < atoms_a.size() && compare(atoms_a[i], atoms_b[j]) <= 0);
    product.push_back(take_a ? atoms_a[i++] : atoms_b[j++]);
  }
  return monomial_of(product);
}

Expr Pool::Rep::scaled(Term term) {
  if (term.monomial == one) return constant(term.coefficient);
  if (term.coefficient == 0) return zero;
  if (term.coefficient == 1) return term.monomial;
  Atoms factors;
  factors.push_back(constant(term.coefficient));
  factors.append(atoms(term.monomial));
  Expr e = intern(Kind::kMul, term.coefficient, factors);
  nodes[e.id].monomial = term.monomial.id;
  return e;
}

// A sum of like terms that leaves int64 is kept as several terms of the largest coefficients: the total is what counts,
// so the form stays canonical.
void Pool::Rep::sort_and_merge(Terms& terms) const {
  auto less = [&](const Term& a, const Term& b) { return compare_monomials(a.monomial, b.monomial) < 0; };
  if (!std::is_sorted(terms.begin(), terms.end(), less)) std::sort(terms.begin(), terms.end(), less);
  size_t out = 0;
  for (size_t i = 0; i < terms.size();) {
    Expr monomial = terms[i].monomial;
    __int128 total = 0;
    for (; i < terms.size() && terms[i].monomial == monomial; ++i) total += terms[i].coefficient;
    while (total != 0) {  // never more pieces than there were terms
      int64_t piece = total > INT64_MAX   ? INT64_MAX
                      : total < INT64_MIN ? INT64_MIN
                                          : static_cast<int64_t>(total);
      terms[out++] = {piece, monomial};
      total -= piece;
    }
  }
  terms.resize_down(out);
}

Expr Pool::Rep::sum_sorted(const Terms& terms) {
  if (terms.empty()) return zero;
  if (terms.size() == 1) return scaled(terms[0]);
  Atoms operands;
  for (const Term& term : terms) operands.push_back(scaled(term));
  return intern(Kind::kAdd, 1, operands);
}

Expr Pool::Rep::sum(Terms& terms) {
  sort_and_merge(terms);
  return sum_sorted(terms);
}

Expr Pool::add(Expr a, Expr b) {
  if (a == rep_->zero) return b;
  if (b == rep_->zero) return a;
  Terms left, right, merged;
  rep_->append_terms(a, left);
  rep_->append_terms(b, right);
  size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    bool take_left = rep_->compare_monomials(left[i].monomial, right[j].monomial) <= 0;
    merged.push_back(take_left ? left[i++] : right[j++]);
  }
  while (i < left.size()) merged.push_back(left[i++]);
  while (j < right.size()) merged.push_back(right[j++]);
  return rep_->sum(merged);
}

Expr Pool::neg(Expr a) { return mul(rep_->minus_one, a); }
Expr Pool::sub(Expr a, Expr b) { return a == b ? rep_->zero : add(a, neg(b)); }

Expr Pool::mul(Expr a, Expr b) {
  if (a == rep_->zero || b == rep_->zero) return rep_->zero;
  if (a == rep_->one) return b;
  if (b == rep_->one) return a;
  Terms left, right, product;
  rep_->append_terms(a, left);
  rep_->append_terms(b, right);
  bool expandable = left.size() * right.size() <= kMaxExpandedTerms;
  for (size_t i = 0; expandable && i < left.size(); ++i) {
    for (size_t j = 0; expandable && j < right.size(); ++j) {
      Term term;
      expandable = !__builtin_mul_overflow(left[i].coefficient, right[j].coefficient, &term.coefficient);
      if (!expandable) break;
      term.monomial = rep_->multiply_monomials(left[i].monomial, right[j].monomial);
      product.push_back(term);
    }
  }
  if (expandable) return rep_->sum(product);
  Expr operands[] = {a, b};
  if (rep_->compare(a, b) > 0) std::swap(operands[0], operands[1]);
  return rep_->intern(Kind::kMul, 1, operands, /*opaque=*/true);
}

Expr Pool::product(std::span<const Expr> factors) {
  Expr result = rep_->one;
  for (Expr factor : factors) result = mul(result, factor);
  return result;
}

Expr Pool::extremum(Kind kind, Expr a, Expr b) {
  if (a == b) return a;
  Atoms leaves;
  std::optional<int64_t> folded;
  auto collect = [&](auto& self, Expr e) -> void {
    if (this->kind(e) == kind) {
      for (Expr operand : operands(e)) self(self, operand);
    } else if (std::optional<int64_t> c = as_constant(e)) {
      folded = !folded ? *c : kind == Kind::kMin ? std::min(*folded, *c) : std::max(*folded, *c);
    } else {
      leaves.push_back(e);
    }
  };
  collect(collect, a);
  collect(collect, b);
  if (folded) leaves.push_back(constant(*folded));
  // Of two leaves that differ by a constant one is never chosen.
  for (size_t i = 0; i < leaves.size(); ++i) {
    for (size_t j = i + 1; j < leaves.size();) {
      std::optional<int64_t> difference = as_constant(sub(leaves[j], leaves[i]));
      if (!difference) {
        ++j;
        continue;
      }
      if ((kind == Kind::kMin) == (*difference < 0)) leaves[i] = leaves[j];
      leaves.erase(j);
    }
  }
  std::sort(leaves.begin(), leaves.end(), [&](Expr x, Expr y) { return rep_->compare(x, y) < 0; });
  Expr result = leaves[0];
  for (size_t i = 1; i < leaves.size(); ++i) {
    Expr pair[] = {result, leaves[i]};
    result = rep_->intern(kind, 1, pair);
  }
  return result;
}

Expr Pool::min(Expr a, Expr b) { return extremum(Kind::kMin, a, b); }
Expr Pool::max(Expr a, Expr b) { return extremum(Kind::kMax, a, b); }

}  // namespace tenon::symbolic
