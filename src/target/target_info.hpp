// What a kernel is made for: instruction set level, vector geometry, caches. Passed in everywhere; no pass asks the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon::target {

// Levels of one architecture are ordered: code for a level runs on every higher one of the same architecture.
enum class Isa : int32_t {
  kX86V2 = 1,  // SSE4.2, no fma: multiply then add
  kX86V3 = 2,  // AVX2 + FMA
  kX86V4 = 3,  // AVX-512 F/BW/CD/DQ/VL
  kNeon = 4,   // AArch64 base
};

struct TargetInfo {
  Isa isa = Isa::kX86V2;
  int32_t vector_bytes = 16;
  bool has_fma = false;
  int32_t l1_bytes = 32 << 10;
  int32_t l2_bytes = 512 << 10;

  int32_t f32_lanes() const { return vector_bytes / 4; }
  // Register tile of the f32 matrix product (design 3.4): rows x columns; columns are the width of a packed panel.
  int32_t gemm_rows() const;
  int32_t gemm_columns() const;
};

TargetInfo make_target(Isa isa);
// The best level that this machine runs. Asks CPUID; called once by the context, never by a pass.
TargetInfo detect_host();
bool host_runs(Isa isa);

// "x86-64-v2", "x86-64-v3", "x86-64-v4", "neon".
std::string_view name(Isa isa);
std::optional<Isa> parse_isa(std::string_view text);

// Constants of numeric order (design 3.14). Never tuned, the same on every target: results depend on them.
inline constexpr int64_t kGemmKBlock = 256;         // k steps summed from zero before they join the total
inline constexpr int64_t kReduceLanes = 32;         // partial results of a vectorized reduction; element i joins lane i % 32
inline constexpr int64_t kReduceChunk = 4096;       // elements summed from zero in the lanes before they join the lanes' totals
inline constexpr int64_t kSerialReduceChunk = 128;  // the same for a reduction whose vector axis is not reduced
inline constexpr int64_t kAttentionKeyBlock = 64;   // keys an online-softmax step takes

}  // namespace tenon::target
