// How the attention template is cut into tiles (blocks of queries of one head). Never changes a bit of the result.
#pragma once

#include <cstdint>

#include "target/target_info.hpp"

namespace tenon::target {

struct AttentionShape {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t depth = 0;    // of Q and K
  int64_t v_depth = 0;  // of V and the result
};

struct AttentionGeometry {
  int64_t rows_per_block = 1;
  int64_t tiles = 0;          // batch * heads * ceil(queries / rows_per_block)
  int64_t scratch_bytes = 0;  // for each worker
};

inline constexpr int64_t kMaxAttentionDepth = kGemmKBlock;  // one block of k: deeper heads do not fit the template

// `threads`: workers that may run at once, at least 1.
AttentionGeometry choose_attention_geometry(const TargetInfo& target, const AttentionShape& shape, int32_t threads);
int64_t attention_scratch_bytes(const TargetInfo& target, const AttentionShape& shape, int64_t rows_per_block);

}  // namespace tenon::target
