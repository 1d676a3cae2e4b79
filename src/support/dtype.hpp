// Element types. The numbers are those of the C ABI (tenon.h) and of the artifact format: never reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

enum class DType : int32_t {
  kBool = 1,
  kU8 = 2,
  kI8 = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kF16 = 7,
  kBF16 = 8,
  kF32 = 9,
  kF64 = 10,
  kU16 = 11,
  kU32 = 12,
  kU64 = 13,
};

constexpr size_t size_bytes(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8: return 1;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32: return 4;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64: return 8;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
}
constexpr bool is_integral(DType dtype) { return !is_floating(dtype) && dtype != DType::kBool; }
constexpr bool is_signed(DType dtype) {
  return is_floating(dtype) || dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32 ||
         dtype == DType::kI64;
}

// "f32", "i64", "bool": the names of the text formats.
constexpr std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "bool";
    case DType::kU8: return "u8";
    case DType::kI8: return "i8";
    case DType::kI16: return "i16";
    case DType::kI32: return "i32";
    case DType::kI64: return "i64";
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kF32: return "f32";
    case DType::kF64: return "f64";
    case DType::kU16: return "u16";
    case DType::kU32: return "u32";
    case DType::kU64: return "u64";
  }
  return "?";
}

constexpr std::optional<DType> parse_dtype(std::string_view text) {
  for (int32_t number = 1; number <= 13; ++number) {
    if (name(DType(number)) == text) return DType(number);
  }
  return std::nullopt;
}

enum class DeviceKind : int32_t { kCpu = 1, kCuda = 2 };

}  // namespace tenon
