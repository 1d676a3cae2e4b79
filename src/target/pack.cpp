#include "target/pack.hpp"

#include <algorithm>
#include <cstring>

namespace tenon::target {
namespace {

typedef float V4 __attribute__((vector_size(16)));

V4 load(const float* p) {
  V4 x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

// to[i][0..4) = 4 columns whose k is contiguous.
void transpose_columns(const float* from, int64_t stride_n, int64_t k, float* to, int64_t columns) {
  int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const V4 r0 = load(from + i), r1 = load(from + stride_n + i);
    const V4 r2 = load(from + 2 * stride_n + i), r3 = load(from + 3 * stride_n + i);
    const V4 a = __builtin_shufflevector(r0, r1, 0, 4, 1, 5), b = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    const V4 c = __builtin_shufflevector(r0, r1, 2, 6, 3, 7), d = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
    const V4 rows[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                        __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
    for (int64_t r = 0; r < 4; ++r) std::memcpy(to + (i + r) * columns, &rows[r], sizeof rows[r]);
  }
  for (; i < k; ++i) {
    for (int64_t j = 0; j < 4; ++j) to[i * columns + j] = from[j * stride_n + i];
  }
}

void pack_panel(const float* from, int64_t k, int64_t width, int64_t stride_k, int64_t stride_n, int64_t columns,
                float* to) {
  if (width < columns) std::memset(to, 0, static_cast<size_t>(k * columns) * sizeof(float));
  if (stride_n == 1) {
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(to + i * columns, from + i * stride_k, static_cast<size_t>(width) * sizeof(float));
    }
    return;
  }
  // In steps of k that keep the panel's part in the first-level cache while its columns are filled in.
  constexpr int64_t kSteps = 64;
  for (int64_t i0 = 0; i0 < k; i0 += kSteps) {
    const int64_t steps = std::min(kSteps, k - i0);
    const float* source = from + i0 * stride_k;
    float* part = to + i0 * columns;
    int64_t j = 0;
    if (stride_k == 1) {
      for (; j + 4 <= width; j += 4) transpose_columns(source + j * stride_n, stride_n, steps, part + j, columns);
    }
    for (; j < width; ++j) {
      for (int64_t i = 0; i < steps; ++i) part[i * columns + j] = source[i * stride_k + j * stride_n];
    }
  }
}

}  // namespace

int64_t packed_gemm_b_floats(int64_t k, int64_t n, int64_t columns) { return (n + columns - 1) / columns * k * columns; }

void pack_gemm_b(const float* source, int64_t k, int64_t n, int64_t stride_k, int64_t stride_n, int64_t columns,
                 float* panels) {
  for (int64_t first = 0; first < n; first += columns) {
    pack_panel(source + first * stride_n, k, std::min(columns, n - first), stride_k, stride_n, columns,
               panels + first * k);
  }
}

}  // namespace tenon::target
