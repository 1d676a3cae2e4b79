// Walks over the expression DAG: each distinct node once.

#include <algorithm>

#include "artifact/checked_arithmetic.hpp"
#include "symbolic/expr_rep.hpp"

namespace tenon::symbolic {

void Pool::Rep::begin_walk() {
  stamps.resize(nodes.size());
  walk_results.resize(nodes.size());
  walk_values.resize(nodes.size());
  if (++stamp == 0) {
    std::ranges::fill(stamps, 0u);
    stamp = 1;
  }
}

bool Pool::depends_on(Expr e, SymbolId symbol) const {
  uint64_t bit = uint64_t{1} << (symbol & 63);
  if ((rep_->node(e).symbol_mask & bit) == 0) return false;
  rep_->begin_walk();
  auto walk = [&](auto& self, Expr at) -> bool {
    const Node& node = rep_->node(at);
    if ((node.symbol_mask & bit) == 0 || rep_->visited(at)) return false;
    rep_->visit(at);
    if (node.kind == Kind::kSymbol) return static_cast<SymbolId>(node.value) == symbol;
    return std::ranges::any_of(rep_->operands(at), [&](Expr operand) { return self(self, operand); });
  };
  return walk(walk, e);
}

std::vector<SymbolId> Pool::symbols(Expr e) const {
  std::vector<SymbolId> found;
  rep_->begin_walk();
  auto walk = [&](auto& self, Expr at) -> void {
    const Node& node = rep_->node(at);
    if (node.symbol_mask == 0 || rep_->visited(at)) return;
    rep_->visit(at);
    if (node.kind == Kind::kSymbol) found.push_back(static_cast<SymbolId>(node.value));
    for (Expr operand : rep_->operands(at)) self(self, operand);
  };
  walk(walk, e);
  std::ranges::sort(found);
  return found;
}

Expr Pool::rebuild(Expr e, std::span<const Expr> operands) {
  switch (kind(e)) {
    case Kind::kConstant:
    case Kind::kSymbol:
      return e;
    case Kind::kAdd: {
      Terms terms;
      for (Expr operand : operands) rep_->append_terms(operand, terms);
      return rep_->sum(terms);
    }
    case Kind::kMul:
      return product(operands);
    case Kind::kFloorDiv:
      return floor_div(operands[0], operands[1]);
    case Kind::kMod:
      return mod(operands[0], operands[1]);
    case Kind::kMin:
      return min(operands[0], operands[1]);
    case Kind::kMax:
      return max(operands[0], operands[1]);
  }
  return e;
}

Expr Pool::substitute(Expr e, std::span<const SymbolId> symbols, std::span<const Expr> replacements) {
  TENON_CHECK(symbols.size() == replacements.size());
  uint64_t mask = 0;
  for (SymbolId symbol : symbols) mask |= uint64_t{1} << (symbol & 63);
  if ((rep_->node(e).symbol_mask & mask) == 0) return e;
  rep_->begin_walk();
  // Only nodes that exist now are visited, those made on the way are results.
  auto walk = [&](auto& self, Expr at) -> Expr {
    const Node node = rep_->node(at);  // a copy: building moves the nodes
    if ((node.symbol_mask & mask) == 0) return at;
    if (node.kind == Kind::kSymbol) {
      for (size_t i = 0; i < symbols.size(); ++i) {
        if (symbols[i] == static_cast<SymbolId>(node.value)) return replacements[i];
      }
      return at;
    }
    if (rep_->visited(at)) return rep_->walk_results[at.id];
    Atoms operands;
    bool changed = false;
    for (uint32_t i = 0; i < node.count; ++i) {
      operands.push_back(self(self, node.operands[i]));
      changed |= operands.back() != node.operands[i];
    }
    Expr result = changed ? rebuild(at, operands) : at;
    rep_->visit(at);
    rep_->walk_results[at.id] = result;
    return result;
  };
  return walk(walk, e);
}

std::optional<Pool::Affine> Pool::affine(Expr e, std::span<const SymbolId> symbols) {
  Affine result;
  result.coefficients.assign(symbols.size(), rep_->zero);
  uint64_t mask = 0;
  for (SymbolId symbol : symbols) mask |= uint64_t{1} << (symbol & 63);
  auto touches = [&](Expr part) {
    if ((rep_->node(part).symbol_mask & mask) == 0) return false;
    return std::ranges::any_of(symbols, [&](SymbolId symbol) { return depends_on(part, symbol); });
  };
  Terms terms, rest;
  rep_->append_terms(e, terms);
  for (const Term& term : terms) {
    if ((rep_->node(term.monomial).symbol_mask & mask) == 0) {
      rest.push_back(term);
      continue;
    }
    std::optional<size_t> found;
    Atoms others;
    for (Expr atom : rep_->atoms(term.monomial)) {
      if (!touches(atom)) {
        others.push_back(atom);
        continue;
      }
      if (kind(atom) != Kind::kSymbol || found) return std::nullopt;
      found = std::ranges::find(symbols, symbol_of(atom)) - symbols.begin();
    }
    if (!found) {
      rest.push_back(term);
      continue;
    }
    Expr part = rep_->scaled({term.coefficient, rep_->monomial_of(others)});
    result.coefficients[*found] = add(result.coefficients[*found], part);
  }
  result.rest = rep_->sum(rest);
  return result;
}

Result<int64_t> Pool::evaluate(Expr e, std::span<const int64_t> values) const {
  rep_->begin_walk();
  Expr failed{};
  bool by_zero = false;
  auto walk = [&](auto& self, Expr at, int64_t* out) -> bool {
    const Node& node = rep_->node(at);
    if (node.kind == Kind::kConstant) {
      *out = node.value;
      return true;
    }
    if (node.kind == Kind::kSymbol) {
      TENON_CHECK(static_cast<size_t>(node.value) < values.size());
      *out = values[node.value];
      return true;
    }
    if (rep_->visited(at)) {
      *out = rep_->walk_values[at.id];
      return true;
    }
    int64_t result = 0;
    if (!self(self, node.operands[0], &result)) return false;
    for (uint32_t i = 1; i < node.count; ++i) {
      int64_t operand = 0;
      if (!self(self, node.operands[i], &operand)) return false;
      bool fits = true;
      switch (node.kind) {
        case Kind::kAdd:
          fits = artifact::checked_add(result, operand, &result);
          break;
        case Kind::kMul:
          fits = artifact::checked_mul(result, operand, &result);
          break;
        case Kind::kFloorDiv:
          by_zero = operand == 0;
          fits = !by_zero && artifact::checked_floor_div(result, operand, &result);
          break;
        case Kind::kMod:
          by_zero = operand == 0;
          fits = !by_zero;
          if (fits) result = artifact::floor_mod(result, operand);
          break;
        case Kind::kMin:
          result = std::min(result, operand);
          break;
        case Kind::kMax:
          result = std::max(result, operand);
          break;
        case Kind::kConstant:
        case Kind::kSymbol:
          break;
      }
      if (!fits) {
        failed = at;
        return false;
      }
    }
    rep_->visit(at);
    rep_->walk_values[at.id] = result;
    *out = result;
    return true;
  };
  int64_t result = 0;
  if (walk(walk, e, &result)) return result;
  if (by_zero) return invalid_argument("division by zero in " + print(failed));
  return out_of_range(print(failed) + " leaves the range of 64-bit integers");
}

}  // namespace tenon::symbolic
