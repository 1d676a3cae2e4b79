#include "graph/expr_map.hpp"

namespace tenon::graph {

Expr ExprMap::operator()(Expr expr) {
  if (const auto found = done_.find(expr.id); found != done_.end()) return found->second;
  const auto fold = [&](auto combine) {
    // A copy: the pools may be one, and the span lives no longer than the next construction.
    const auto span = from_.operands(expr);
    const std::vector<Expr> operands(span.begin(), span.end());
    Expr result = (*this)(operands[0]);
    for (size_t index = 1; index < operands.size(); ++index) result = combine(result, (*this)(operands[index]));
    return result;
  };
  Expr mapped;
  switch (from_.kind(expr)) {
    case symbolic::Kind::kConstant: mapped = to_.constant(from_.value(expr)); break;
    case symbolic::Kind::kSymbol: {
      const symbolic::SymbolId symbol = from_.symbol_of(expr);
      auto [entry, is_new] = symbols_.try_emplace(symbol);
      if (is_new) entry->second = to_.of(to_.symbol(from_.symbol_name(symbol), from_.symbol_kind(symbol)));
      mapped = entry->second;
      break;
    }
    case symbolic::Kind::kAdd: mapped = fold([&](Expr a, Expr b) { return to_.add(a, b); }); break;
    case symbolic::Kind::kMul: mapped = fold([&](Expr a, Expr b) { return to_.mul(a, b); }); break;
    case symbolic::Kind::kFloorDiv: mapped = fold([&](Expr a, Expr b) { return to_.floor_div(a, b); }); break;
    case symbolic::Kind::kMod: mapped = fold([&](Expr a, Expr b) { return to_.mod(a, b); }); break;
    case symbolic::Kind::kMin: mapped = fold([&](Expr a, Expr b) { return to_.min(a, b); }); break;
    case symbolic::Kind::kMax: mapped = fold([&](Expr a, Expr b) { return to_.max(a, b); }); break;
  }
  done_.emplace(expr.id, mapped);
  return mapped;
}

std::vector<Expr> ExprMap::operator()(const std::vector<Expr>& exprs) {
  std::vector<Expr> mapped;
  mapped.reserve(exprs.size());
  for (Expr expr : exprs) mapped.push_back((*this)(expr));
  return mapped;
}

Type ExprMap::operator()(const Type& type) {
  Type mapped = type;
  if (type.pending) {
    mapped.dims.clear();
    mapped.strides.clear();
    return mapped;
  }
  mapped.dims = (*this)(type.dims);
  mapped.strides = (*this)(type.strides);
  return mapped;
}

Argument ExprMap::operator()(const Argument& argument) {
  if (const auto* expr = std::get_if<Expr>(&argument)) return (*this)(*expr);
  if (const auto* exprs = std::get_if<std::vector<Expr>>(&argument)) return (*this)(*exprs);
  return argument;
}

}  // namespace tenon::graph
