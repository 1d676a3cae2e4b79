// Host memory of the runtime: through the host's allocator when there is one, else the C library. Counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

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
  bool is_hosts() const { return allocator_ != nullptr; }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  const tenon_allocator_t* allocator_ = nullptr;
  tenon_device_t* device_ = nullptr;
  std::atomic<int64_t> bytes_{0};
};

// Memory for weights: many blocks that live long and are read all the time. They are cut from large slabs of huge pages, which
// cost a five-hundredth of the page faults. With a host allocator every block is the host's. Thread-safe.
class WeightMemory {
 public:
  explicit WeightMemory(Memory& memory) : memory_(memory) {}
  WeightMemory(const WeightMemory&) = delete;
  WeightMemory& operator=(const WeightMemory&) = delete;

  // As Memory's. The block is given back when the pointer and its copies are gone.
  std::shared_ptr<void> allocate(size_t bytes);

 private:
  struct Slab;
  Memory& memory_;
  std::mutex mutex_;
  std::shared_ptr<Slab> slab_;  // the one that is being cut
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
