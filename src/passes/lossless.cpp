#include "passes/lossless.hpp"

namespace tenon::passes {
namespace {

// Bits of magnitude that the dtype holds exactly, as integers.
int integer_bits(DType dtype) {
  switch (dtype) {
    case DType::kBool: return 1;
    case DType::kF16: return 11;
    case DType::kBF16: return 8;
    case DType::kF32: return 24;
    case DType::kF64: return 53;
    default: return int(size_bytes(dtype)) * 8 - (is_signed(dtype) ? 1 : 0);
  }
}

}  // namespace

bool is_lossless(DType from, DType to) {
  if (from == to) return true;
  if (to == DType::kBool) return false;
  if (is_floating(from)) {
    if (!is_floating(to)) return false;
    return to == DType::kF64 || (to == DType::kF32 && from != DType::kF64);
  }
  // The lowest value of a signed type is a power of two, which floats hold.
  if (is_integral(to) && is_signed(from) && !is_signed(to)) return false;
  return integer_bits(from) <= integer_bits(to);
}

bool may_skip(DType from, DType through, DType to) {
  if (!is_lossless(from, through)) return false;
  if (to == DType::kBool || is_lossless(from, to)) return true;
  // Wrap-around of one integer, rounding of one float. Between the two families the executors' ways differ.
  if (is_integral(from) && is_integral(through) && is_integral(to)) return true;
  return is_floating(from) && is_floating(to);
}

}  // namespace tenon::passes
