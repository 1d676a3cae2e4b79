#include "target/gemm_geometry.hpp"

#include <algorithm>

namespace tenon::target {
namespace {

constexpr int64_t kMaxBlockRows = 128;          // the sums of a block stay in the first-level cache
constexpr int64_t kTasksPerThread = 6;          // late workers and unequal cores even out
constexpr int64_t kMinTaskFlops = 400'000;      // some microseconds: below this, handing out a task costs more than it gains
constexpr int64_t kManyRows = 512;
constexpr int64_t kGroupPanels = 4;             // most panels in flight (tenon_gemm_panels)

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The fewest rows of a block that hold `blocks` blocks, in whole register tiles where there is more than one block.
int64_t rows_for(int64_t m, int64_t blocks, int64_t tile_rows) {
  int64_t rows = divide_up(m, blocks);
  return blocks > 1 ? std::min(m, divide_up(rows, tile_rows) * tile_rows) : m;
}

}  // namespace

int64_t gemm_scratch_bytes(const TargetInfo& target, const GemmShape& shape, int64_t rows_per_block) {
  const int64_t columns = target.gemm_columns(), lanes = target.f32_lanes();
  int64_t floats = std::max<int64_t>(rows_per_block, 8) * columns;
  if (!shape.b_is_panels) floats += kGroupPanels * kGemmKBlock * columns;
  if (shape.packs_a) floats += rows_per_block * (divide_up(shape.k, lanes) * lanes + 16);
  return divide_up(floats * 4, 64) * 64;
}

int64_t gemm_call_scratch_bytes(const TargetInfo& target, const GemmShape& shape) {
  return gemm_scratch_bytes(target, shape, std::min(shape.m, kMaxBlockRows));
}

GemmGeometry choose_gemm_geometry(const TargetInfo& target, const GemmShape& shape, int32_t threads) {
  GemmGeometry geometry;
  const int64_t m = shape.m, n = shape.n, batch = std::max<int64_t>(shape.batch, 0);
  const int64_t k = std::max<int64_t>(shape.k, 1);
  if (m <= 0 || n <= 0) {
    geometry.scratch_bytes = gemm_scratch_bytes(target, shape, 1);
    return geometry;
  }
  const int64_t tile_rows = target.gemm_rows();
  const int64_t panels = divide_up(n, target.gemm_columns());

  // A block of A stays in the second-level cache while the panels of B pass by.
  int64_t max_rows = std::clamp(target.l2_bytes * 5 / 8 / (k * 4), 2 * tile_rows, kMaxBlockRows);
  max_rows = max_rows / tile_rows * tile_rows;
  int64_t m_blocks = divide_up(m, max_rows);
  int64_t n_blocks = 1;

  if (threads > 1 && batch > 0) {
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                         static_cast<double>(batch);
    const int64_t affordable = static_cast<int64_t>(std::min(flops / kMinTaskFlops, 1e9));
    const int64_t wanted = std::max<int64_t>(1, std::min(kTasksPerThread * threads, affordable));
    const int64_t smallest = (shape.packs_a ? 2 : 4) * tile_rows;
    const int64_t most_m_blocks = std::max(m_blocks, m / smallest);
    // A prologue is computed anew for each block of columns, a strided B packed anew for each block of rows.
    // Many rows are cut by rows alone: then a core keeps its rows from one product to the next.
    const bool rows_first = shape.packs_a || m >= kManyRows;
    for (int step = 0; step < 2; ++step) {
      const int64_t have = batch * m_blocks * n_blocks;
      if (have >= wanted) break;
      const int64_t factor = divide_up(wanted, have);
      if ((step == 0) == rows_first) {
        m_blocks = std::min(most_m_blocks, m_blocks * factor);
      } else {
        n_blocks = std::min(panels, factor);
      }
    }
  }

  geometry.rows_per_block = rows_for(m, m_blocks, tile_rows);
  geometry.m_blocks = divide_up(m, geometry.rows_per_block);
  geometry.panels_per_block = divide_up(panels, n_blocks);
  if (m <= 4 && n_blocks > 1) {
    geometry.panels_per_block = divide_up(geometry.panels_per_block, kGroupPanels) * kGroupPanels;
  }
  geometry.panels_per_block = std::min(geometry.panels_per_block, panels);
  geometry.n_blocks = divide_up(panels, geometry.panels_per_block);
  geometry.tiles = batch * geometry.m_blocks * geometry.n_blocks;
  geometry.scratch_bytes = gemm_scratch_bytes(target, shape, geometry.rows_per_block);
  return geometry;
}

}  // namespace tenon::target
