// Packs the right-hand side of a matrix product into the panels that the gemm template streams.
#pragma once

#include <cstdint>

namespace tenon::target {

// Floats that the panels take: ceil(n / columns) * k * columns.
int64_t packed_gemm_b_floats(int64_t k, int64_t n, int64_t columns);

// panels[p][i][j] = source[i * stride_k + (p * columns + j) * stride_n], zero where p * columns + j >= n.
// `columns` is TargetInfo::gemm_columns() (a multiple of 4). `panels` should be 64-byte aligned. Thread-safe; to split the
// work, call it for column ranges that start at multiples of `columns`.
void pack_gemm_b(const float* source, int64_t k, int64_t n, int64_t stride_k, int64_t stride_n, int64_t columns,
                 float* panels);

}  // namespace tenon::target
