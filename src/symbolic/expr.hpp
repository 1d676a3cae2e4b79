// Interned integer expressions over symbols: sizes of tensors and indices of loops.
//
// Semantics: mathematical integers. floor_div rounds down and mod has the divisor's sign (Python's rules); a divisor
// that may be zero is the caller's concern (a guard or a run-time check stands before it). Constant folding that would
// leave int64 is not done: the expression stays unfolded, and evaluation reports the overflow.
//
// Canonical form: a sum of `coefficient * product of atoms`, constant first, terms and factors in one fixed order (by
// symbol number, then by structure), so that equal polynomials are the same Expr. Atoms are symbols, floor_div, mod, min
// and max over canonical operands.
//
// Pool is single owner (one thread at a time). An Expr is valid for its Pool's life.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.hpp"

namespace tenon::symbolic {

struct Expr {
  uint32_t id = 0;
  friend bool operator==(Expr, Expr) = default;
};

using SymbolId = uint32_t;

enum class SymbolKind : uint8_t {
  kSize,      // a size known from the inputs of a call: s0, batch
  kUnbacked,  // a size known only while a call runs: u0
  kIndex,     // a loop variable
};

enum class Kind : uint8_t { kConstant, kSymbol, kAdd, kMul, kFloorDiv, kMod, kMin, kMax };

class Pool {
 public:
  Pool();
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Symbols. Names are unique in a pool: asking for a name that exists gives the existing symbol (kinds must agree).
  SymbolId symbol(std::string_view name, SymbolKind kind);
  // A new symbol with a name of the form prefix + number that no other symbol has.
  SymbolId fresh_symbol(std::string_view prefix, SymbolKind kind);
  std::optional<SymbolId> find_symbol(std::string_view name) const;
  std::string_view symbol_name(SymbolId symbol) const;
  SymbolKind symbol_kind(SymbolId symbol) const;
  size_t symbol_count() const;

  // Construction; operands are canonical already, the result is.
  Expr constant(int64_t value);
  Expr of(SymbolId symbol);
  Expr add(Expr a, Expr b);
  Expr sub(Expr a, Expr b);
  Expr neg(Expr a);
  Expr mul(Expr a, Expr b);
  Expr floor_div(Expr a, Expr b);
  Expr mod(Expr a, Expr b);
  Expr ceil_div(Expr a, Expr b);  // -floor_div(-a, b)
  Expr min(Expr a, Expr b);
  Expr max(Expr a, Expr b);
  Expr product(std::span<const Expr> factors);
  // dividend == quotient * divisor + rest, where no term of rest is a multiple of the divisor's leading term (the one
  // of the highest degree). nullopt when the divisor is 0 or the division takes too many steps.
  struct Division {
    Expr quotient, rest;
  };
  std::optional<Division> divide(Expr dividend, Expr divisor);
  // The term (coefficient and atoms) that both terms are multiples of, as large as possible; its coefficient is >= 1.
  Expr common_factor(Expr term_a, Expr term_b);

  // Look. Operands of kAdd: terms (a constant term, if any, is the first); of kMul: an optional constant first, then
  // atoms (repeated for powers); of the others: two.
  Kind kind(Expr e) const;
  std::span<const Expr> operands(Expr e) const;
  int64_t value(Expr e) const;          // of a kConstant
  SymbolId symbol_of(Expr e) const;     // of a kSymbol
  std::optional<int64_t> as_constant(Expr e) const;
  bool is_constant(Expr e, int64_t value) const;
  // e as a sum: its terms (none for 0); of a term: its coefficient and its atoms (repeated for powers; none for a
  // constant). The spans may refer to the argument, which must outlive them.
  std::span<const Expr> terms(const Expr& e) const;
  int64_t coefficient(Expr term) const;
  std::span<const Expr> factors(const Expr& term) const;
  // Bit (symbol mod 64) is set for each symbol in e: disjoint masks mean disjoint symbols.
  uint64_t symbol_mask(Expr e) const;
  bool depends_on(Expr e, SymbolId symbol) const;
  // Every symbol in e, ascending, each once.
  std::vector<SymbolId> symbols(Expr e) const;

  // Replaces symbols by expressions, all at once, and renormalizes.
  Expr substitute(Expr e, std::span<const SymbolId> symbols, std::span<const Expr> replacements);

  // The same operation on other operands, as many as operands(e) (e itself when it is a constant or a symbol).
  Expr rebuild(Expr e, std::span<const Expr> operands);

  // e = sum(coefficients[i] * symbols[i]) + rest with no coefficient and no rest that depends on any of `symbols`;
  // nullopt when e is not of that form (a symbol inside floor_div, mod, min, max or in a product with another).
  struct Affine {
    std::vector<Expr> coefficients;
    Expr rest;
  };
  std::optional<Affine> affine(Expr e, std::span<const SymbolId> symbols);

  // values[symbol] for each symbol that occurs (others may be anything). Errors: OUT_OF_RANGE on int64 overflow,
  // INVALID_ARGUMENT on a division by zero.
  Result<int64_t> evaluate(Expr e, std::span<const int64_t> values) const;

  // "1 + 2*s0*s1 + floor(s0, 4) ..." with: floordiv as `floordiv(a, b)`, mod as `mod(a, b)`, `min(a, b)`, `max(a, b)`.
  std::string print(Expr e) const;
  // The inverse of print, also accepting any order, parentheses, `-`, `//` and `%`. Unknown names are an error unless
  // `create` is given, with which they become symbols of that kind.
  Result<Expr> parse(std::string_view text, std::optional<SymbolKind> create = std::nullopt);

 private:
  Expr extremum(Kind kind, Expr a, Expr b);
  Expr floor_div_constant(Expr a, int64_t divisor);
  Expr mod_constant(Expr a, int64_t divisor);

  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace tenon::symbolic
