// Carries expressions, types and arguments from one Pool to another.
#pragma once

#include <unordered_map>

#include "graph/argument.hpp"

namespace tenon::graph {

// Single owner; both pools must outlive it.
class ExprMap {
 public:
  ExprMap(const symbolic::Pool& from, symbolic::Pool& to) : from_(from), to_(to) {}

  // What a symbol becomes. One that is not bound when it is met becomes the symbol of the same name and kind.
  void bind(symbolic::SymbolId symbol, Expr replacement) { symbols_[symbol] = replacement; }
  bool bound(symbolic::SymbolId symbol) const { return symbols_.contains(symbol); }

  Expr operator()(Expr expr);
  std::vector<Expr> operator()(const std::vector<Expr>& exprs);
  Type operator()(const Type& type);
  // Values in it stay as they are.
  Argument operator()(const Argument& argument);

 private:
  const symbolic::Pool& from_;
  symbolic::Pool& to_;
  std::unordered_map<symbolic::SymbolId, Expr> symbols_;
  std::unordered_map<uint32_t, Expr> done_;
};

}  // namespace tenon::graph
