// Random expressions and values for the fuzz tests; the same seed gives the same sequence.
#pragma once

#include <random>
#include <vector>

#include "symbolic/facts.hpp"

namespace tenon::symbolic {

class RandomExpr {
 public:
  RandomExpr(Pool& pool, uint64_t seed) : pool_(pool), random_(seed) {}

  int64_t pick(int64_t low, int64_t high) { return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1)); }
  bool chance(int percent) { return pick(1, 100) <= percent; }

  // Sums and products with few terms, divisions by constants and by symbols.
  Expr make(int depth, const std::vector<SymbolId>& symbols) {
    if (depth == 0 || chance(15)) {
      if (chance(30)) return pool_.constant(pick(-9, 9));
      return pool_.of(symbols[static_cast<size_t>(pick(0, static_cast<int64_t>(symbols.size()) - 1))]);
    }
    Expr a = make(depth - 1, symbols);
    switch (pick(0, 9)) {
      case 0:
      case 1:
      case 2:
        return pool_.add(a, make(depth - 1, symbols));
      case 3:
        return pool_.sub(a, make(depth - 1, symbols));
      case 4:
        return pool_.mul(a, pool_.constant(pick(-6, 12)));
      case 5:
        return pool_.mul(a, make(depth - 1, symbols));
      case 6:
        return pool_.floor_div(a, divisor(depth, symbols));
      case 7:
        return pool_.mod(a, divisor(depth, symbols));
      case 8:
        return pool_.min(a, make(depth - 1, symbols));
      default:
        return pool_.max(a, make(depth - 1, symbols));
    }
  }

 private:
  Expr divisor(int depth, const std::vector<SymbolId>& symbols) {
    if (chance(60)) return pool_.constant(chance(85) ? pick(1, 24) : pick(-8, -1));
    return make(std::min(depth - 1, 1), symbols);
  }

  Pool& pool_;
  std::mt19937_64 random_;
};

}  // namespace tenon::symbolic
