// A vector of trivially copyable elements whose first N live in the object: term lists are short and short-lived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace tenon::symbolic {

template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() = default;
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) grow();
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  void resize_down(size_t size) { size_ = size; }
  void erase(size_t i) {
    for (; i + 1 < size_; ++i) data_[i] = data_[i + 1];
    --size_;
  }
  void clear() { size_ = 0; }
  void append(std::span<const T> values) {
    for (const T& value : values) push_back(value);
  }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  void grow() {
    auto larger = std::make_unique<T[]>(capacity_ * 2);
    std::memcpy(static_cast<void*>(larger.get()), data_, size_ * sizeof(T));
    heap_ = std::move(larger);
    data_ = heap_.get();
    capacity_ *= 2;
  }

  T inline_[N];
  std::unique_ptr<T[]> heap_;
  T* data_ = inline_;
  size_t size_ = 0, capacity_ = N;
};

}  // namespace tenon::symbolic
