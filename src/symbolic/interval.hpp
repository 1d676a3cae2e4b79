// Arithmetic on Range. Results are sound: they hold every value; what leaves int64 becomes "no bound".
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "symbolic/facts.hpp"

namespace tenon::symbolic {

inline Range point(int64_t value) {
  // The end of int64 means "no bound", so the two extreme values keep only their other side.
  if (value == INT64_MIN) return {-kUnbounded, -kUnbounded + 1};
  return {value, value};
}

inline Range intersect(Range a, Range b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }
inline bool unbounded_below(Range a) { return a.min <= -kUnbounded; }
inline bool unbounded_above(Range a) { return a.max == kUnbounded; }
inline bool is_point(Range a) { return a.min == a.max && !unbounded_below(a) && !unbounded_above(a); }

inline int64_t clamp_bound(__int128 value) {
  if (value >= kUnbounded) return kUnbounded;
  if (value <= -kUnbounded) return -kUnbounded;
  return static_cast<int64_t>(value);
}

inline Range add(Range a, Range b) {
  Range sum;
  if (!unbounded_below(a) && !unbounded_below(b)) sum.min = clamp_bound(static_cast<__int128>(a.min) + b.min);
  if (!unbounded_above(a) && !unbounded_above(b)) sum.max = clamp_bound(static_cast<__int128>(a.max) + b.max);
  if (sum.min == kUnbounded) sum.min = kUnbounded - 1;    // beyond int64: a smaller lower bound is sound
  if (sum.max == -kUnbounded) sum.max = -kUnbounded + 1;
  return sum;
}

// Bounds as products: no bound times 0 is 0, times anything else is no bound.
inline __int128 bound_product(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  bool infinite = a >= kUnbounded || a <= -kUnbounded || b >= kUnbounded || b <= -kUnbounded;
  if (infinite) return (a < 0) == (b < 0) ? static_cast<__int128>(kUnbounded) : -static_cast<__int128>(kUnbounded);
  return static_cast<__int128>(a) * b;
}

inline Range multiply(Range a, Range b) {
  __int128 corners[] = {bound_product(a.min, b.min), bound_product(a.min, b.max), bound_product(a.max, b.min),
                        bound_product(a.max, b.max)};
  Range product{clamp_bound(*std::min_element(corners, corners + 4)),
                clamp_bound(*std::max_element(corners, corners + 4))};
  if (product.min == kUnbounded) product.min = kUnbounded - 1;
  if (product.max == -kUnbounded) product.max = -kUnbounded + 1;
  return product;
}

inline int64_t floor_quotient_bound(int64_t a, int64_t positive) {
  if (a >= kUnbounded) return positive >= kUnbounded ? 0 : kUnbounded;  // the caller joins the other corners
  if (a <= -kUnbounded) return positive >= kUnbounded ? -1 : -kUnbounded;
  if (positive >= kUnbounded) return a < 0 ? -1 : 0;
  return a / positive - (a % positive < 0 ? 1 : 0);
}

// The divisor is never 0.
inline Range floor_divide(Range a, Range b) {
  if (b.min == 0) b.min = 1;
  if (b.max == 0) b.max = -1;
  if (b.min > b.max) return {};
  if (b.max < 0) {
    if (unbounded_below(b)) b.min = -kUnbounded;
    return floor_divide({-a.max, a.min <= -kUnbounded ? kUnbounded : -a.min},
                        {-b.max, unbounded_below(b) ? kUnbounded : -b.min});
  }
  if (b.min > 0) {
    int64_t corners[] = {floor_quotient_bound(a.min, b.min), floor_quotient_bound(a.min, b.max),
                         floor_quotient_bound(a.max, b.min), floor_quotient_bound(a.max, b.max)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  if (unbounded_below(a) || unbounded_above(a)) return {};
  int64_t magnitude = std::max(std::abs(a.min), std::abs(a.max));
  return {-magnitude, magnitude};
}

inline Range modulo(Range a, Range b) {
  if (b.min == 0) b.min = 1;
  if (b.max == 0) b.max = -1;
  if (b.min > b.max) return {};
  if (b.min > 0) {
    if (a.min >= 0 && a.max < b.min) return a;
    Range result{0, unbounded_above(b) ? kUnbounded : b.max - 1};
    if (a.min >= 0) result.max = std::min(result.max, a.max);
    return result;
  }
  if (b.max < 0) return {unbounded_below(b) ? -kUnbounded : b.min + 1, 0};
  return {unbounded_below(b) ? -kUnbounded : b.min + 1, unbounded_above(b) ? kUnbounded : b.max - 1};
}

// Both positive; on overflow the larger one, which divides whatever both divide.
inline int64_t common_multiple(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a / std::gcd(a, b), b, &product) ? std::max(a, b) : product;
}

}  // namespace tenon::symbolic
