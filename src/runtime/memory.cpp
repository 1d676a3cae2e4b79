#include "runtime/memory.hpp"

#include <algorithm>
#include <cstdlib>

namespace tenon::runtime {

void* Memory::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  bytes = whole_lines(std::max<size_t>(bytes, 1));
  void* data = allocator_ != nullptr ? allocator_->allocate(allocator_->user, device_, bytes, kAlignment, nullptr)
                                     : std::aligned_alloc(kAlignment, bytes);
  if (data != nullptr) bytes_.fetch_add(int64_t(bytes), std::memory_order_relaxed);
  return data;
}

void Memory::deallocate(void* data, size_t bytes) {
  if (data == nullptr) return;
  bytes = whole_lines(std::max<size_t>(bytes, 1));
  bytes_.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
  if (allocator_ != nullptr) {
    allocator_->deallocate(allocator_->user, device_, data, bytes, nullptr);
  } else {
    std::free(data);
  }
}

bool Arena::reserve(size_t bytes) {
  if (bytes <= capacity_) return true;
  clear();
  data_ = static_cast<char*>(memory_.allocate(bytes));
  if (data_ == nullptr) return false;
  capacity_ = bytes;
  return true;
}

void Arena::clear() {
  memory_.deallocate(data_, capacity_);
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace tenon::runtime
