// Offsets of arena buffers for given sizes: deterministic, greedy by size, lifetimes overlap-free. A program's
// placements are remembered by their sizes, so that a steady state (also one that alternates between sizes) computes
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "artifact/artifact.hpp"

namespace tenon::runtime {

// Lives are instruction numbers, both ends included.
struct PlacedBuffer {
  uint32_t first = 0, last = 0;
  int32_t reuses = -1;  // index of an earlier buffer of the same list whose place it takes over
};

struct Placement {
  std::vector<int64_t> sizes;    // bytes, the key
  std::vector<int64_t> offsets;  // multiples of 64
  int64_t total_bytes = 0;
};

// Two buffers whose lives overlap never share a byte, but for `reuses`. Sizes are >= 0.
Placement place(std::span<const PlacedBuffer> buffers, std::span<const int64_t> sizes);

// Thread-safe. Keeps the placements of the last kCapacity size sets.
class PlacementMemo {
 public:
  static constexpr size_t kCapacity = 16;

  explicit PlacementMemo(std::vector<PlacedBuffer> buffers) : buffers_(std::move(buffers)) {}
  // Allocates nothing when the sizes are remembered.
  std::shared_ptr<const Placement> get(std::span<const int64_t> sizes);
  size_t size() const { return buffers_.size(); }

 private:
  std::vector<PlacedBuffer> buffers_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Placement>> known_;  // oldest first
};

}  // namespace tenon::runtime
