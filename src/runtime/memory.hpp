// Host memory of the runtime: through the host's allocator when there is one, else the C library. Counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tenon.h"

namespace tenon::runtime {

inline constexpr size_t kAlignment = 64;

constexpr size_t whole_lines(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Thread-safe. Outlives everything allocated from it.
class Memory {
 public:
  Memory() = default;
  // `allocator` is the context's copy and outlives this; `device` is what its callbacks see.
  Memory(const tenon_allocator_t* allocator, tenon_device_t* device) : allocator_(allocator), device_(device) {}

  // 64-byte aligned, contents undefined; null when there is no memory left. Zero bytes give a place of one line.
  void* allocate(size_t bytes);
  void deallocate(void* data, size_t bytes);
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  const tenon_allocator_t* allocator_ = nullptr;
  tenon_device_t* device_ = nullptr;
  std::atomic<int64_t> bytes_{0};
};

// A block that grows and never shrinks; contents are lost when it grows. One owner.
class Arena {
 public:
  explicit Arena(Memory& memory) : memory_(memory) {}
  ~Arena() { clear(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // False when there is no memory left.
  bool reserve(size_t bytes);
  char* data() const { return data_; }
  size_t capacity() const { return capacity_; }
  void clear();

 private:
  Memory& memory_;
  char* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace tenon::runtime
