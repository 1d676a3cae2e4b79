// What is known of a value: element type, device and sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "support/dtype.hpp"
#include "symbolic/expr.hpp"

namespace tenon::graph {

using symbolic::Expr;

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int32_t index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

enum class ValueKind : uint8_t {
  kTensor,
  kScalar,  // a Python number: Scalar, SymInt, float or bool; at a call a 0-d host tensor
};

// Sizes are expressions of the graph's Pool, counted in elements. `strides` is empty for row-major, the usual case.
// A pending type is one that inference cannot know before specialization: then `dims` and `dtype` mean nothing.
struct Type {
  DType dtype = DType::kF32;
  ValueKind kind = ValueKind::kTensor;
  bool pending = false;
  Device device;
  std::vector<Expr> dims;
  std::vector<Expr> strides;

  size_t rank() const { return dims.size(); }
  bool is_scalar() const { return kind == ValueKind::kScalar; }
  friend bool operator==(const Type&, const Type&) = default;
};

inline Type tensor_type(DType dtype, std::vector<Expr> dims, Device device = {}) {
  Type type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  type.device = device;
  return type;
}

inline Type scalar_type(DType dtype) {
  Type type;
  type.dtype = dtype;
  type.kind = ValueKind::kScalar;
  return type;
}

inline Type pending_type(ValueKind kind = ValueKind::kTensor) {
  Type type;
  type.kind = kind;
  type.pending = true;
  return type;
}

// Strides of a row-major tensor, in elements.
std::vector<Expr> row_major_strides(symbolic::Pool& pool, const std::vector<Expr>& dims);
// One form for each layout: strides of dims of size 1 become row-major ones, row-major strides become empty, and so do
// those of a tensor that has a dim of size 0.
void normalize_strides(symbolic::Pool& pool, Type& type);

}  // namespace tenon::graph
