// What guards and size programs see of a call's inputs, and the shape arithmetic around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "artifact/size_program.hpp"
#include "support/dtype.hpp"
#include "support/status.hpp"
#include "tenon.h"

namespace tenon::runtime {

// Arrays have one element an input; lent.
struct CallShape {
  std::span<const tenon_tensor_t> inputs;  // strides are never null
  const int64_t* const* dims = nullptr;
  const int64_t* const* strides = nullptr;
  const int64_t* scalars = nullptr;  // of integer and bool 0-d inputs, else 0
  std::span<const int64_t> facts;

  artifact::SizeInputs sizes() const { return {dims, strides, scalars, facts.data()}; }
};

// A tensor of a call with dims and strides of its own.
struct BoundTensor {
  tenon_tensor_t tensor{};  // dims and strides point below
  int64_t dims[TENON_MAX_RANK];
  int64_t strides[TENON_MAX_RANK];
  bool bound = false;

  BoundTensor() { point(); }
  BoundTensor(const BoundTensor&) = delete;
  BoundTensor& operator=(const BoundTensor&) = delete;

  // Takes the struct over. `changed`: dtype, rank, dims or strides differ from before. Errors (INVALID_ARGUMENT with
  // input, expected, found) leave it as it was. `what` and `name` say which tensor it is ("input", "x").
  Status bind(const tenon_tensor_t& from, std::string_view what, std::string_view name, bool* changed);
  int64_t elements() const;

 private:
  void point() {
    tensor.dims = dims;
    tensor.strides = strides;
  }
};

// Strides of dims of size 1, and all strides of an empty tensor, are made row-major, so that "row-major" has one
// meaning.
void normalize_strides(std::span<const int64_t> dims, std::span<int64_t> strides);
bool is_row_major(std::span<const int64_t> dims, std::span<const int64_t> strides);  // of normalized ones

// The bytes that a tensor may touch; empty ones have begin == end.
struct ByteRange {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange byte_range(const tenon_tensor_t& tensor);

// "f32[2, 3]", with strides in braces when they are not row-major.
std::string describe(const tenon_tensor_t& tensor);
std::string describe_dims(std::span<const int64_t> dims);

bool known_dtype(int32_t dtype);
// The value of a 0-d integer or bool tensor in host memory; 0 for other types.
int64_t read_integer(const tenon_tensor_t& tensor);

}  // namespace tenon::runtime
