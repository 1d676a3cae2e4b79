#include "runtime/placer.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::runtime {

namespace {

constexpr int64_t kPlaceAlignment = 64;

// Buffers that take over each other's place form one block that lives from the first's begin to the last's end.
struct Block {
  uint32_t first, last;
  int64_t bytes;
  int64_t offset;
};

}  // namespace

Placement place(std::span<const PlacedBuffer> buffers, std::span<const int64_t> sizes) {
  const size_t count = buffers.size();
  Placement placement;
  placement.sizes.assign(sizes.begin(), sizes.end());
  placement.offsets.assign(count, 0);

  std::vector<uint32_t> root(count);
  for (size_t i = 0; i < count; ++i) {
    size_t at = i;
    while (buffers[at].reuses >= 0) at = size_t(buffers[at].reuses);
    root[i] = uint32_t(at);
  }
  std::vector<Block> blocks(count);
  for (size_t i = 0; i < count; ++i) blocks[i] = {buffers[i].first, buffers[i].last, 0, 0};
  for (size_t i = 0; i < count; ++i) {
    Block& block = blocks[root[i]];
    block.first = std::min(block.first, buffers[i].first);
    block.last = std::max(block.last, buffers[i].last);
    const int64_t bytes = (sizes[i] + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
    block.bytes = std::max(block.bytes, bytes);
  }

  std::vector<uint32_t> order;
  for (size_t i = 0; i < count; ++i) {
    if (root[i] == i && blocks[i].bytes > 0) order.push_back(uint32_t(i));
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (blocks[a].bytes != blocks[b].bytes) return blocks[a].bytes > blocks[b].bytes;
    if (blocks[a].first != blocks[b].first) return blocks[a].first < blocks[b].first;
    return a < b;
  });

  std::vector<uint32_t> placed;  // by offset
  for (uint32_t index : order) {
    Block& block = blocks[index];
    int64_t gap_begin = 0, best = -1, best_size = 0;
    for (uint32_t other_index : placed) {
      const Block& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      const int64_t gap = other.offset - gap_begin;
      if (gap >= block.bytes && (best < 0 || gap < best_size)) {
        best = gap_begin;
        best_size = gap;
      }
      gap_begin = std::max(gap_begin, other.offset + other.bytes);
    }
    block.offset = best >= 0 ? best : gap_begin;
    placement.total_bytes = std::max(placement.total_bytes, block.offset + block.bytes);
    const auto where = std::upper_bound(placed.begin(), placed.end(), block.offset,
                                        [&](int64_t offset, uint32_t other) { return offset < blocks[other].offset; });
    placed.insert(where, index);
  }
  for (size_t i = 0; i < count; ++i) placement.offsets[i] = blocks[root[i]].offset;
  return placement;
}

std::shared_ptr<const Placement> PlacementMemo::get(std::span<const int64_t> sizes) {
  {
    std::lock_guard lock(mutex_);
    for (const auto& known : known_) {
      if (std::equal(sizes.begin(), sizes.end(), known->sizes.begin(), known->sizes.end())) return known;
    }
  }
  auto made = std::make_shared<const Placement>(place(buffers_, sizes));
  std::lock_guard lock(mutex_);
  if (known_.size() == kCapacity) known_.erase(known_.begin());
  known_.push_back(made);
  return made;
}

}  // namespace tenon::runtime
