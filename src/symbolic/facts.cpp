#include "symbolic/facts.hpp"

#include <algorithm>
#include <numeric>

#include "symbolic/interval.hpp"

namespace tenon::symbolic {

Facts::SymbolFacts& Facts::facts_of(SymbolId symbol) {
  if (symbol >= symbols_.size()) symbols_.resize(symbol + 1);
  if (symbol >= given_symbols_.size()) given_symbols_.resize(symbol + 1);
  return symbols_[symbol];
}

const Facts::SymbolFacts* Facts::find(SymbolId symbol) const {
  if (symbol >= looked_.size()) looked_.resize(symbol + 1);
  looked_[symbol] = true;
  return symbol < symbols_.size() ? &symbols_[symbol] : nullptr;
}

// Facts about a symbol that no answer rests on (a loop variable just made) leave the caches alone.
void Facts::changed(SymbolId symbol) {
  if (symbol < looked_.size() && looked_[symbol]) ++version_;
}

Facts::Cached& Facts::cached(Expr e) const {
  if (e.id >= cache_.size()) cache_.resize(std::max<size_t>(e.id + 1, cache_.size() * 2));
  return cache_[e.id];
}

void Facts::narrow(SymbolId symbol, Range range) {
  SymbolFacts& facts = facts_of(symbol);
  Range both = intersect(facts.range, range);
  if (both == facts.range) return;
  facts.range = both;
  changed(symbol);
}

void Facts::set_range(SymbolId symbol, Range range) {
  narrow(symbol, range);
  given_symbols_[symbol].range = intersect(given_symbols_[symbol].range, range);
}

void Facts::set_divisor(SymbolId symbol, int64_t divisor) {
  TENON_CHECK(divisor > 0);
  SymbolFacts& facts = facts_of(symbol);
  facts.divisor = common_multiple(facts.divisor, divisor);
  given_symbols_[symbol].divisor = common_multiple(given_symbols_[symbol].divisor, divisor);
  changed(symbol);
}

void Facts::set_hint(SymbolId symbol, int64_t value) {
  facts_of(symbol).hint = value;
  given_symbols_[symbol].hint = value;
}

void Facts::set_equal(SymbolId symbol, Expr replacement) {
  assume({Relation::kEq, pool_.of(symbol), replacement});
  facts_of(symbol);
  // The caller names the direction where both are possible.
  Expr simplified = simplify(replacement);
  if (!symbols_[symbol].equal && !pool_.depends_on(simplified, symbol) &&
      pool_.kind(simplify(pool_.of(symbol))) == Kind::kSymbol) {
    symbols_[symbol].equal = simplified;
    ++version_;
  }
}

void Facts::set_index_bound(SymbolId index, Expr extent) {
  auto reaches = [&](auto& self, Expr e) -> bool {
    for (SymbolId symbol : pool_.symbols(e)) {
      if (symbol == index) return true;
      if (std::optional<Expr> inner = index_extent(symbol); inner && self(self, *inner)) return true;
    }
    return false;
  };
  TENON_CHECK(!reaches(reaches, extent));
  facts_of(index).extent = extent;
  given_symbols_[index].extent = extent;
  changed(index);
}

void Facts::assume(const Predicate& predicate) {
  given_.push_back(predicate);
  learn(predicate);
}

Range Facts::symbol_range(SymbolId symbol) const {
  const SymbolFacts* facts = find(symbol);
  if (facts == nullptr) return {};
  if (!facts->extent) return facts->range;
  Range own = facts->range;
  Range extent = range(*facts->extent);
  return intersect(own, {0, extent.max == kUnbounded ? kUnbounded : std::max<int64_t>(extent.max - 1, 0)});
}

int64_t Facts::divisor(SymbolId symbol) const {
  const SymbolFacts* facts = find(symbol);
  return facts ? facts->divisor : 1;
}

std::optional<int64_t> Facts::hint(SymbolId symbol) const {
  return symbol < symbols_.size() ? symbols_[symbol].hint : std::nullopt;
}

std::optional<Expr> Facts::index_extent(SymbolId symbol) const {
  const SymbolFacts* facts = find(symbol);
  return facts ? facts->extent : std::nullopt;
}

Range Facts::range(Expr e) const {
  if (std::optional<int64_t> value = pool_.as_constant(e)) return point(*value);
  if (cached(e).range_version == version_) return cached(e).range;
  Range result = compute_range(e);
  Cached& entry = cached(e);
  entry.range = result;
  entry.range_version = version_;
  return result;
}

Range Facts::compute_range(Expr e) const {
  if (pool_.kind(e) == Kind::kSymbol) return symbol_range(pool_.symbol_of(e));
  std::span<const Expr> operands = pool_.operands(e);
  Range a = range(operands[0]);
  switch (pool_.kind(e)) {
    case Kind::kConstant:
    case Kind::kSymbol:
      break;
    case Kind::kAdd:
      for (Expr operand : operands.subspan(1)) a = add(a, range(operand));
      return a;
    case Kind::kMul:
      a = point(1);
      for (size_t i = 0; i < operands.size();) {
        size_t power = 0;
        Expr base = operands[i];
        for (; i < operands.size() && operands[i] == base; ++i) ++power;
        Range factor = range(base);
        for (; power >= 2; power -= 2) a = multiply(a, intersect(multiply(factor, factor), {0, kUnbounded}));
        if (power == 1) a = multiply(a, factor);
      }
      return a;
    case Kind::kFloorDiv:
      return floor_divide(a, range(operands[1]));
    case Kind::kMod: {
      Range divisor = range(operands[1]);
      Range result = modulo(a, divisor);
      // Steps of a common divisor end early: mod(8*x, 12) is at most 8.
      if (std::optional<int64_t> k = pool_.as_constant(operands[1]); k && *k > 0) {
        int64_t step = std::gcd(known_divisor(operands[0]), *k);
        result = intersect(result, {0, *k - step});
      }
      return result;
    }
    case Kind::kMin: {
      Range b = range(operands[1]);
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    }
    case Kind::kMax: {
      Range b = range(operands[1]);
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    }
  }
  return {};
}

int64_t Facts::known_divisor(Expr e) const {
  switch (pool_.kind(e)) {
    case Kind::kConstant: {
      int64_t value = pool_.value(e);
      return value == INT64_MIN ? int64_t{1} << 62 : std::abs(value);
    }
    case Kind::kSymbol:
      return divisor(pool_.symbol_of(e));
    case Kind::kAdd:
    case Kind::kMin:
    case Kind::kMax: {
      int64_t result = 0;
      for (Expr operand : pool_.operands(e)) {
        result = std::gcd(result, known_divisor(operand));
        if (result == 1) break;
      }
      return result;
    }
    case Kind::kMul: {
      int64_t result = 1;
      for (Expr operand : pool_.operands(e)) {
        int64_t factor = known_divisor(operand), product = 0;
        result = __builtin_mul_overflow(result, factor, &product) ? std::max(result, factor) : product;
      }
      return result;
    }
    case Kind::kFloorDiv: {
      std::optional<int64_t> k = pool_.as_constant(pool_.operands(e)[1]);
      int64_t dividend = known_divisor(pool_.operands(e)[0]);
      return k && *k > 0 && dividend % *k == 0 ? dividend / *k : 1;
    }
    case Kind::kMod:
      return std::gcd(known_divisor(pool_.operands(e)[0]), known_divisor(pool_.operands(e)[1]));
  }
  return 1;
}

std::optional<int64_t> Facts::hinted(Expr e) const {
  if (std::optional<int64_t> value = pool_.as_constant(e)) return value;
  std::vector<SymbolId> symbols = pool_.symbols(e);
  if (hint_values_.size() < pool_.symbol_count()) hint_values_.resize(pool_.symbol_count());
  for (SymbolId symbol : symbols) {
    std::optional<int64_t> value = hint(symbol);
    if (!value && symbol < symbols_.size() && symbols_[symbol].equal) value = hinted(*symbols_[symbol].equal);
    if (!value) return std::nullopt;
    hint_values_[symbol] = *value;
  }
  Result<int64_t> value = pool_.evaluate(e, hint_values_);
  if (!value.ok()) return std::nullopt;
  return *value;
}

}  // namespace tenon::symbolic
