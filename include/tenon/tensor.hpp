// Tensors at the edge: memory with an element type, sizes and strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>
#include <span>

#include "status.hpp"
#include "types.hpp"

namespace tenon {
inline namespace api_v0 {

// Memory of the library: counted references, 64-byte aligned. Copies share it; any thread may hold one.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(tenon_buffer_t* taken) : buffer_(taken) {}
  Buffer(const Buffer& other) : buffer_(other.buffer_) {
    if (buffer_ != nullptr) tenon_buffer_retain(buffer_);
  }
  Buffer(Buffer&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~Buffer() { tenon_buffer_release(buffer_); }

  void* data() const { return tenon_buffer_data(buffer_); }
  size_t bytes() const { return tenon_buffer_bytes(buffer_); }
  tenon_buffer_t* get() const { return buffer_; }

 private:
  tenon_buffer_t* buffer_ = nullptr;
};

// Lends the caller's memory, or holds a buffer, or is one number. A copy of a lending tensor lends too; copies of a holding
// tensor share. An empty one (data() null) as an output of a run means: allocate it.
class Tensor {
 public:
  Tensor() = default;

  // The caller's memory: it must stay valid while the tensor, or a call it is bound to, is used. Strides in elements;
  // empty is row-major. More than TENON_MAX_RANK dims give an empty tensor.
  static Tensor lend(void* data, DType dtype, std::span<const int64_t> dims, std::span<const int64_t> strides = {}) {
    Tensor out;
    if (dims.size() > TENON_MAX_RANK || (!strides.empty() && strides.size() != dims.size())) return out;
    out.data_ = data;
    out.dtype_ = dtype;
    out.rank_ = int32_t(dims.size());
    std::copy(dims.begin(), dims.end(), out.dims_.begin());
    std::copy(strides.begin(), strides.end(), out.strides_.begin());
    out.strided_ = !strides.empty();
    return out;
  }
  // The elements of a vector, array or span, row-major; empty when there are not as many as the dims say. Inputs are never
  // written, but those that a graph changes in place.
  template <std::ranges::contiguous_range Range>
    requires std::ranges::borrowed_range<Range>
  static Tensor of(Range&& values, std::span<const int64_t> dims) {
    using Element = std::remove_cv_t<std::ranges::range_value_t<Range>>;
    Tensor out = lend(const_cast<Element*>(std::ranges::data(values)), dtype_of<Element>(), dims);
    return out.elements() == int64_t(std::ranges::size(values)) ? out : Tensor();
  }
  template <typename Range>
  static Tensor of(Range&& values, std::initializer_list<int64_t> dims) {
    return of(std::forward<Range>(values), std::span(dims.begin(), dims.size()));
  }
  // One number, kept inside the tensor.
  template <typename T>
  static Tensor number(T value) {
    Tensor out;
    out.dtype_ = dtype_of<T>();
    out.inside_ = true;
    std::memcpy(out.number_.data(), &value, sizeof(value));
    return out;
  }
  // Takes over the reference in `taken.owner` (none: it lends).
  static Tensor take(const tenon_tensor_t& taken) {
    Tensor out = lend(taken.data, DType(taken.dtype), {taken.dims, size_t(taken.rank)},
                      {taken.strides, size_t(taken.strides == nullptr ? 0 : taken.rank)});
    out.buffer_ = Buffer(taken.owner);
    return out;
  }
  // Only the type: for prepare and output_types, which do not look at the bytes.
  static Tensor shape_only(DType dtype, std::span<const int64_t> dims) { return lend(nullptr, dtype, dims); }

  void* data() const { return inside_ ? const_cast<std::byte*>(number_.data()) : data_; }
  DType dtype() const { return dtype_; }
  std::span<const int64_t> dims() const { return {dims_.data(), size_t(rank_)}; }
  // In elements; empty is row-major.
  std::span<const int64_t> strides() const { return {strides_.data(), strided_ ? size_t(rank_) : 0}; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : dims()) count *= dim;
    return count;
  }
  bool row_major() const {
    int64_t expected = 1;
    for (int32_t axis = rank_ - 1; axis >= 0 && strided_; --axis) {
      if (dims_[axis] != 1 && strides_[axis] != expected) return elements() == 0;
      expected *= dims_[axis];
    }
    return true;
  }
  // The elements in memory order; empty unless T is the element type and the tensor is row-major.
  template <typename T>
  std::span<T> values() const {
    if (dtype_of<std::remove_const_t<T>>() != dtype_ || !row_major() || data() == nullptr) return {};
    return {static_cast<T*>(data()), size_t(elements())};
  }
  // Points into this: for one call of the C API.
  tenon_tensor_t to_c() const {
    tenon_tensor_t out = {};
    out.data = data();
    out.dtype = int32_t(dtype_);
    out.device_kind = TENON_DEVICE_CPU;
    out.rank = rank_;
    out.dims = dims_.data();
    out.strides = strided_ ? strides_.data() : nullptr;
    out.owner = buffer_.get();
    return out;
  }

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::kAuto;
  int32_t rank_ = 0;
  bool strided_ = false;
  bool inside_ = false;  // the element is in number_
  std::array<int64_t, TENON_MAX_RANK> dims_ = {};
  std::array<int64_t, TENON_MAX_RANK> strides_ = {};
  alignas(8) std::array<std::byte, 8> number_ = {};
  Buffer buffer_;
};

}  // namespace api_v0
}  // namespace tenon
