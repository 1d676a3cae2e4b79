// Sizes as PyTorch writes them: constructor text of sympy, "Mul(Integer(3), Symbol('s77', positive=True))".
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "symbolic/facts.hpp"

namespace tenon::import {

// The expression that a symbol's name stands for.
using ResolveSymbol = std::function<Result<symbolic::Expr>(std::string_view name)>;

// Integers: Symbol, Integer (or its classes One, Zero, NegativeOne), Add, Mul, Pow with a constant exponent >= 0,
// FloorDiv, CleanDiv, CeilDiv, Mod, PythonMod, ModularIndexing, Max, Min, Abs of what is not negative under `facts`,
// ToFloat and IntTrueDiv where rounding follows (CeilToInt, FloorToInt). Assumptions of symbols ("positive=True") are
// read over: ranges come from elsewhere. Errors: UNIMPLEMENTED (another function, by name), INVALID_ARGUMENT
// (malformed text), and what `resolve` gives.
Result<symbolic::Expr> parse_sympy_integer(std::string_view text, symbolic::Facts& facts, const ResolveSymbol& resolve);

// Conditions: Equality, Unequality, GreaterThan, StrictGreaterThan, LessThan, StrictLessThan, Not of one of them, And,
// true and false. The result holds when all predicates do. Errors as above.
Result<std::vector<symbolic::Predicate>> parse_sympy_condition(std::string_view text, symbolic::Facts& facts,
                                                               const ResolveSymbol& resolve);

}  // namespace tenon::import
