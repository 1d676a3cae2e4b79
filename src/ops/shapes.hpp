// Arithmetic on symbolic sizes: reshape, slice bounds, exact division.
#pragma once

#include <optional>
#include <span>

#include "ops/infer.hpp"

namespace tenon::ops {

// The target sizes of a reshape with -1 resolved. Proves that the numbers of elements agree, else decides (a guard).
// `argument` is the size argument, for messages.
Result<Dims> resolve_reshape(InferContext& context, std::string_view argument, std::span<const Expr> from, Dims to);

// The sizes of an expand of `from`: -1 keeps a dim, new dims come on the left.
Result<Dims> resolve_expand(InferContext& context, std::string_view argument, std::span<const Expr> from, Dims to);

// a / b when the division is exact as a polynomial; nullopt otherwise.
std::optional<Expr> exact_divide(Pool& pool, Expr a, Expr b);

// 0 <= start <= end <= extent; length is ceil((end - start) / step).
struct SliceBounds {
  Expr start, end, length;
};
// Python's rules: negative bounds count from the end, then both are clamped. What neither proof nor hint decides stays
// as a min or max. `origin` names the operator, for guards. `step` is at least 1.
SliceBounds resolve_slice(Facts& facts, std::string_view origin, Expr extent, std::optional<Expr> start,
                          std::optional<Expr> end, Expr step);

// An index that may be negative, as one from the front. No range check.
Expr resolve_index(Facts& facts, std::string_view origin, Expr extent, Expr index);

// A proof or a decision; `fallback` when there is neither.
bool decide_or(Facts& facts, std::string_view origin, Relation relation, Expr a, Expr b, bool fallback);

}  // namespace tenon::ops
