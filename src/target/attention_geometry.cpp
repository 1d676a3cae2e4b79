#include "target/attention_geometry.hpp"

#include <algorithm>

namespace tenon::target {
namespace {

constexpr int64_t kMaxBlockRows = 64;
constexpr int64_t kMinBlockRows = 16;  // below this, packing keys and values outweighs the products
constexpr int64_t kTasksPerThread = 4;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t attention_scratch_bytes(const TargetInfo& target, const AttentionShape& shape, int64_t rows_per_block) {
  const int64_t columns = target.gemm_columns();
  const int64_t width = divide_up(shape.v_depth, columns) * columns;
  const int64_t slots = divide_up(rows_per_block, 16) * 16;
  const int64_t floats = rows_per_block * kAttentionKeyBlock + rows_per_block * width + kAttentionKeyBlock * shape.depth +
                         kAttentionKeyBlock * width + 4 * slots;
  return divide_up(floats * 4, 64) * 64;
}

AttentionGeometry choose_attention_geometry(const TargetInfo& target, const AttentionShape& shape, int32_t threads) {
  AttentionGeometry geometry;
  const int64_t heads = shape.batch * shape.heads;
  if (shape.queries > 0) {
    int64_t blocks = divide_up(shape.queries, kMaxBlockRows);
    if (threads > 1 && heads > 0) {
      const int64_t wanted = divide_up(kTasksPerThread * threads, heads);
      blocks = std::max(blocks, std::min(wanted, divide_up(shape.queries, kMinBlockRows)));
    }
    const int64_t tile_rows = target.gemm_rows();
    const int64_t rows = divide_up(divide_up(shape.queries, blocks), tile_rows) * tile_rows;
    geometry.rows_per_block = std::min(rows, shape.queries);
    geometry.tiles = heads * divide_up(shape.queries, geometry.rows_per_block);
  }
  geometry.scratch_bytes = attention_scratch_bytes(target, shape, geometry.rows_per_block);
  return geometry;
}

}  // namespace tenon::target
