// Element types, sizes and the types of values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon.h"

namespace tenon {
inline namespace api_v0 {

enum class DType : int32_t {
  kAuto = TENON_DTYPE_AUTO,  // of an input: taken from the call
  kBool = TENON_DTYPE_BOOL,
  kU8 = TENON_DTYPE_U8,
  kI8 = TENON_DTYPE_I8,
  kI16 = TENON_DTYPE_I16,
  kI32 = TENON_DTYPE_I32,
  kI64 = TENON_DTYPE_I64,
  kF16 = TENON_DTYPE_F16,
  kBF16 = TENON_DTYPE_BF16,
  kF32 = TENON_DTYPE_F32,
  kF64 = TENON_DTYPE_F64,
  kU16 = TENON_DTYPE_U16,
  kU32 = TENON_DTYPE_U32,
  kU64 = TENON_DTYPE_U64,
};

// As the text formats write it: "f32".
constexpr std::string_view name_of(DType dtype) {
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
    default: return "?";
  }
}

constexpr int64_t size_bytes(DType dtype) {
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
    default: return 0;
  }
}

// The element type of a C++ arithmetic type.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::kBool;
  else if constexpr (std::is_same_v<T, float>) return DType::kF32;
  else if constexpr (std::is_same_v<T, double>) return DType::kF64;
  else {
    static_assert(std::is_integral_v<T>, "no element type of Tenon has this C++ type");
    if constexpr (std::is_signed_v<T>) {
      return sizeof(T) == 1 ? DType::kI8 : sizeof(T) == 2 ? DType::kI16 : sizeof(T) == 4 ? DType::kI32 : DType::kI64;
    }
    return sizeof(T) == 1 ? DType::kU8 : sizeof(T) == 2 ? DType::kU16 : sizeof(T) == 4 ? DType::kU32 : DType::kU64;
  }
}

// A size: a number, kAutoDim, or a symbol or expression of one graph.
using Dim = tenon_dim_t;
inline constexpr Dim kAutoDim = TENON_DIM_AUTO;
inline constexpr Dim kPendingDim = TENON_DIM_PENDING;

// The type of a value: {DType::kF32, {batch, 64}}. Owns its sizes.
struct Type {
  DType dtype = DType::kAuto;
  std::vector<Dim> dims;
  std::vector<Dim> strides;  // in elements; empty is row-major
  bool scalar = false;       // a number of Python's; at a call a tensor of rank 0
  bool auto_rank = false;

  Type() = default;
  Type(DType type, std::vector<Dim> sizes) : dtype(type), dims(std::move(sizes)) {}
  explicit Type(const tenon_type_t& lent)
      : dtype(DType(lent.dtype)), scalar((lent.flags & TENON_TYPE_SCALAR) != 0), auto_rank((lent.flags & TENON_TYPE_AUTO_RANK) != 0) {
    if (lent.dims != nullptr) dims.assign(lent.dims, lent.dims + lent.rank);
    if (lent.strides != nullptr) strides.assign(lent.strides, lent.strides + lent.rank);
  }
  static Type scalar_of(DType dtype) {
    Type type(dtype, {});
    type.scalar = true;
    return type;
  }

  // Points into this.
  tenon_type_t to_c() const {
    tenon_type_t out = {};
    out.dtype = int32_t(dtype);
    out.device_kind = TENON_DEVICE_CPU;
    out.rank = int32_t(dims.size());
    out.flags = (scalar ? TENON_TYPE_SCALAR : 0) | (auto_rank ? TENON_TYPE_AUTO_RANK : 0);
    out.dims = dims.data();
    out.strides = strides.empty() ? nullptr : strides.data();
    return out;
  }
};

}  // namespace api_v0
}  // namespace tenon
