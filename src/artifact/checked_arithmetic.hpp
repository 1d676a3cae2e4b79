// int64 arithmetic that reports overflow instead of wrapping; floor division and modulo with Python's rules.
// Every function stores the result and returns true, or returns false and leaves *out unspecified.
#pragma once

#include <cstdint>

namespace tenon::artifact {

inline bool checked_add(int64_t a, int64_t b, int64_t* out) { return !__builtin_add_overflow(a, b, out); }
inline bool checked_mul(int64_t a, int64_t b, int64_t* out) { return !__builtin_mul_overflow(a, b, out); }

// b != 0. Rounds down.
inline bool checked_floor_div(int64_t a, int64_t b, int64_t* out) {
  if (b == -1) return !__builtin_sub_overflow(int64_t{0}, a, out);
  int64_t quotient = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --quotient;
  *out = quotient;
  return true;
}

// b != 0. The result has the sign of b.
inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace tenon::artifact
