#include "ops/promotion.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tenon::ops {
namespace {

int category(DType dtype) { return is_floating(dtype) ? 2 : dtype == DType::kBool ? 0 : 1; }

// Unsigned types wider than a byte take no part in integer promotion.
bool is_wide_unsigned(DType dtype) {
  return dtype == DType::kU16 || dtype == DType::kU32 || dtype == DType::kU64;
}

// `lower` matters only when its category is above that of `higher`.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower) return higher;
  if (is_floating(*higher)) return higher;
  if (*higher == DType::kBool || is_floating(*lower)) return promote_types(*higher, *lower);
  return higher;
}

// Rounds to a float with `mantissa` explicit bits and the given smallest normal exponent, ties to even.
double round_mantissa(double value, int mantissa, int min_exponent, double max) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int quantum = std::max(exponent - 1, min_exponent) - mantissa;
  const double scaled = std::nearbyint(std::ldexp(value, -quantum));
  const double rounded = std::ldexp(scaled, quantum);
  return std::fabs(rounded) > max ? std::copysign(HUGE_VAL, value) : rounded;
}

}  // namespace

PromotionOperand promotion_operand(const graph::Type& type) {
  if (!type.is_scalar()) return {type.dtype, type.dims.empty(), false};
  return {is_floating(type.dtype) ? DType::kF32 : type.dtype, true, true};
}

std::optional<DType> promote_types(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) {
    const DType higher = category(a) > category(b) ? a : b;
    // bool with a wide unsigned type is refused like any other integer.
    if (!is_floating(higher) && is_wide_unsigned(higher)) return std::nullopt;
    return higher;
  }
  if (is_floating(a)) {
    if (size_bytes(a) == 2 && size_bytes(b) == 2) return DType::kF32;
    return size_bytes(a) > size_bytes(b) ? a : b;
  }
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) return std::nullopt;
  if (size_bytes(a) == 1 && size_bytes(b) == 1) return DType::kI16;  // u8 with i8
  return size_bytes(a) > size_bytes(b) ? a : b;
}

std::optional<DType> promote(std::span<const PromotionOperand> operands) {
  std::optional<DType> dimensioned, zero_dim, wrapped;
  for (const PromotionOperand& operand : operands) {
    std::optional<DType>& group = operand.wrapped ? wrapped : operand.zero_dim ? zero_dim : dimensioned;
    if (!group) {
      group = operand.dtype;
      continue;
    }
    group = promote_types(*group, operand.dtype);
    if (!group) return std::nullopt;
  }
  const std::optional<DType> low = combine(zero_dim, wrapped);
  if (!low && (zero_dim || wrapped)) return std::nullopt;
  return combine(dimensioned, low);
}

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32: return static_cast<double>(static_cast<float>(value));
    case DType::kF16: return round_mantissa(value, 10, -14, 65504.0);
    case DType::kBF16: return round_mantissa(value, 7, -126, std::ldexp(255.0, 120));
    default: return value;
  }
}

}  // namespace tenon::ops
