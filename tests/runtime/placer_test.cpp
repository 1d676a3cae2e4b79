#include "runtime/placer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenon::runtime {
namespace {

TEST(Place, DisjointLivesShareAPlace) {
  const std::vector<PlacedBuffer> buffers = {{0, 1}, {2, 3}, {1, 2}};
  const std::vector<int64_t> sizes = {100, 100, 60};
  const Placement p = place(buffers, sizes);
  EXPECT_EQ(p.offsets[0], 0);
  EXPECT_EQ(p.offsets[1], 0);
  EXPECT_EQ(p.offsets[2], 128);
  EXPECT_EQ(p.total_bytes, 192);
}

TEST(Place, ATakenOverPlaceIsTheSame) {
  const std::vector<PlacedBuffer> buffers = {{0, 2}, {1, 5}, {2, 4, 0}};
  const Placement p = place(buffers, std::vector<int64_t>{640, 64, 640});
  EXPECT_EQ(p.offsets[0], p.offsets[2]);
  EXPECT_EQ(p.total_bytes, 704);
}

TEST(Place, RandomProgramsNeverOverlapAndAreAligned) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<PlacedBuffer> buffers;
    std::vector<int64_t> sizes;
    const size_t count = 1 + random() % 30;
    int64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t first = random() % 40;
      buffers.push_back({first, first + uint32_t(random() % 10)});
      sizes.push_back(int64_t(random() % 5 == 0 ? 0 : random() % 2000));
      sum += (sizes.back() + 63) / 64 * 64;
    }
    const Placement p = place(buffers, sizes);
    EXPECT_LE(p.total_bytes, sum);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(p.offsets[i] % 64, 0);
      EXPECT_LE(p.offsets[i] + sizes[i], p.total_bytes);
      for (size_t k = 0; k < i; ++k) {
        const bool live = buffers[i].first <= buffers[k].last && buffers[k].first <= buffers[i].last;
        const bool overlap = p.offsets[i] < p.offsets[k] + sizes[k] && p.offsets[k] < p.offsets[i] + sizes[i];
        ASSERT_FALSE(live && overlap && sizes[i] > 0 && sizes[k] > 0) << round << ": " << i << " " << k;
      }
    }
    EXPECT_EQ(place(buffers, sizes).offsets, p.offsets);
  }
}

TEST(PlacementMemo, RemembersBoundedlyMany) {
  PlacementMemo memo({{0, 1}});
  const std::vector<int64_t> first = {64};
  const auto kept = memo.get(first);
  EXPECT_EQ(memo.get(first), kept);
  for (int64_t size = 100; size < 100 + int64_t(PlacementMemo::kCapacity); ++size) memo.get(std::vector<int64_t>{size});
  EXPECT_NE(memo.get(first), kept);  // it was the oldest
}

}  // namespace
}  // namespace tenon::runtime
