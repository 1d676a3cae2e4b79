// How a matrix product of the gemm template is cut into tiles. Changes speed and balance, never a bit of the result.
#pragma once

#include <cstdint>

#include "target/target_info.hpp"

namespace tenon::target {

struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  bool b_is_panels = true;  // B comes packed; otherwise the kernel packs it, a panel at a time
  bool packs_a = false;     // A has a prologue, or its k is not contiguous
};

struct GemmGeometry {
  int64_t rows_per_block = 1;
  int64_t panels_per_block = 1;
  int64_t m_blocks = 0;
  int64_t n_blocks = 0;
  int64_t tiles = 0;          // batch * m_blocks * n_blocks: the range of the kernel's tile index
  int64_t scratch_bytes = 0;  // for each worker
};

// `threads`: workers that may run at once, at least 1. Any shape with extents >= 0 is allowed.
GemmGeometry choose_gemm_geometry(const TargetInfo& target, const GemmShape& shape, int32_t threads);

// Scratch of a kernel with blocks of `rows_per_block` rows; the shape's m, n and batch do not matter.
int64_t gemm_scratch_bytes(const TargetInfo& target, const GemmShape& shape, int64_t rows_per_block);
// Scratch of BuiltinKernels::gemm_accumulate, whose blocks have at most 128 rows.
int64_t gemm_call_scratch_bytes(const TargetInfo& target, const GemmShape& shape);

}  // namespace tenon::target
