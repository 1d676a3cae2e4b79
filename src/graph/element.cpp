#include "graph/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/format.hpp"

namespace tenon::graph {
namespace {

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
bool store(T value, uint8_t* bytes) {
  std::memcpy(bytes, &value, sizeof value);
  return true;
}

template <typename T>
bool store_integer(std::string_view text, uint8_t* bytes) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    const auto value = parse_uint64(text);
    return value && store(*value, bytes);
  } else {
    const auto value = parse_int64(text);
    if (!value || *value < int64_t(std::numeric_limits<T>::min()) || *value > int64_t(std::numeric_limits<T>::max()))
      return false;
    return store(T(*value), bytes);
  }
}

}  // namespace

float float_of_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(float(mantissa), -24);
  } else {
    magnitude = std::ldexp(float(mantissa + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t f16_of_float(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return uint16_t(sign | 0x7e00);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) return uint16_t(sign | 0x7c00);  // halfway past the largest rounds to infinity
  if (magnitude == 0.0f) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Spacing of f16 numbers there: 2^(exponent - 11), and 2^-24 among subnormals.
  const int shift = exponent - 11 < -24 ? -24 : exponent - 11;
  const float steps = std::nearbyint(std::ldexp(magnitude, -shift));
  const int whole = int(steps);
  if (shift == -24) return uint16_t(sign | whole);  // 1024 steps are the smallest normal number, with the same bits
  const int biased = shift + 25;
  // 2048 steps carry into the exponent by themselves.
  return uint16_t(sign | ((biased << 10) + (whole - 1024)));
}

float float_of_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint16_t bf16_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void append_element(std::string& out, DType dtype, const uint8_t* bytes) {
  switch (dtype) {
    case DType::kBool: return append(out, load<uint8_t>(bytes) != 0);
    case DType::kU8: return append(out, load<uint8_t>(bytes));
    case DType::kI8: return append(out, load<int8_t>(bytes));
    case DType::kI16: return append(out, load<int16_t>(bytes));
    case DType::kI32: return append(out, load<int32_t>(bytes));
    case DType::kI64: return append(out, load<int64_t>(bytes));
    case DType::kF16: return append(out, float_of_f16(load<uint16_t>(bytes)));
    case DType::kBF16: return append(out, float_of_bf16(load<uint16_t>(bytes)));
    case DType::kF32: return append(out, load<float>(bytes));
    case DType::kF64: return append(out, load<double>(bytes));
    case DType::kU16: return append(out, load<uint16_t>(bytes));
    case DType::kU32: return append(out, load<uint32_t>(bytes));
    case DType::kU64: return append(out, load<uint64_t>(bytes));
  }
}

bool write_element(DType dtype, std::string_view text, uint8_t* bytes) {
  switch (dtype) {
    case DType::kBool:
      if (text != "true" && text != "false") return false;
      return store(uint8_t(text == "true"), bytes);
    case DType::kU8: return store_integer<uint8_t>(text, bytes);
    case DType::kI8: return store_integer<int8_t>(text, bytes);
    case DType::kI16: return store_integer<int16_t>(text, bytes);
    case DType::kI32: return store_integer<int32_t>(text, bytes);
    case DType::kI64: return store_integer<int64_t>(text, bytes);
    case DType::kU16: return store_integer<uint16_t>(text, bytes);
    case DType::kU32: return store_integer<uint32_t>(text, bytes);
    case DType::kU64: return store_integer<uint64_t>(text, bytes);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32: {
      // Straight to float: by way of double it would be rounded twice.
      float value = 0;
      if (const auto exact = parse_double(text); !exact) {
        return false;
      } else if (!std::isfinite(*exact)) {
        value = float(*exact);
      } else {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::result_out_of_range) {
          value = float(*exact);  // overflow to infinity, underflow to zero
        } else if (error != std::errc() || end != text.data() + text.size()) {
          return false;
        }
      }
      if (dtype == DType::kF32) return store(value, bytes);
      return store(dtype == DType::kF16 ? f16_of_float(value) : bf16_of_float(value), bytes);
    }
    case DType::kF64: {
      const auto value = parse_double(text);
      return value && store(*value, bytes);
    }
  }
  return false;
}

}  // namespace tenon::graph
