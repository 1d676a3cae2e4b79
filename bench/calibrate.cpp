// What one core of this machine can do: peak of independent fused multiply-adds, and of the library's own matrix
// product, both in f32. Prints one JSON object.
//
//   tenon_calibrate [ISA]
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "codegen/templates/builtin_kernels.hpp"
#include "target/gemm_geometry.hpp"
#include "target/pack.hpp"
#include "target/target_info.hpp"

namespace {

using namespace tenon;

constexpr int kChains = 12;  // latency 4 x 2 units needs 8; 12 leave registers for the operands on AVX2
constexpr int64_t kSteps = 1 << 20;

double now_s() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Runs kSteps x kChains vector fmas and returns the flops done. Every chain's result goes to `sink`, else the compiler
// drops the chain.
#define CHAINS(VECTOR, SET, FMA, STORE, LANES)                                                                 \
  VECTOR sum[kChains];                                                                                         \
  const VECTOR a = SET(0.999f), b = SET(1e-3f);                                                                \
  for (int chain = 0; chain < kChains; ++chain) sum[chain] = SET(float(chain));                                \
  for (int64_t step = 0; step < kSteps; ++step) {                                                              \
    _Pragma("GCC unroll 12") for (int chain = 0; chain < kChains; ++chain) sum[chain] = FMA(sum[chain], a, b); \
  }                                                                                                            \
  for (int chain = 0; chain < kChains; ++chain) STORE(sink + chain * LANES, sum[chain]);                       \
  return 2.0 * LANES * kChains * double(kSteps)

#if defined(__x86_64__)
#define MUL_ADD(x, y, z) _mm_add_ps(_mm_mul_ps(x, y), z)
__attribute__((target("avx512f"))) double chains_v4(float* sink) {
  CHAINS(__m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps, 16);
}
__attribute__((target("avx2,fma"))) double chains_v3(float* sink) {
  CHAINS(__m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps, 8);
}
double chains_v2(float* sink) { CHAINS(__m128, _mm_set1_ps, MUL_ADD, _mm_storeu_ps, 4); }
#elif defined(__aarch64__)
#define NEON_FMA(x, y, z) vfmaq_f32(z, x, y)
double chains_neon(float* sink) { CHAINS(float32x4_t, vdupq_n_f32, NEON_FMA, vst1q_f32, 4); }
#endif

double run_chains(target::Isa isa, float* sink) {
  switch (isa) {
#if defined(__x86_64__)
    case target::Isa::kX86V2:
      return chains_v2(sink);
    case target::Isa::kX86V3:
      return chains_v3(sink);
    case target::Isa::kX86V4:
      return chains_v4(sink);
    case target::Isa::kNeon:
      break;
#elif defined(__aarch64__)
    case target::Isa::kNeon:
      return chains_neon(sink);
    default:
      break;
#endif
  }
  return 0;
}

const codegen::BuiltinKernels* kernels_of(target::Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case target::Isa::kX86V2:
      return &codegen::kBuiltinKernelsX86V2;
    case target::Isa::kX86V3:
      return &codegen::kBuiltinKernelsX86V3;
    case target::Isa::kX86V4:
      return &codegen::kBuiltinKernelsX86V4;
    case target::Isa::kNeon:
      break;
#elif defined(__aarch64__)
    case target::Isa::kNeon:
      return &codegen::kBuiltinKernelsNeon;
    default:
      break;
#endif
  }
  return nullptr;
}

// The best rate over `rounds` calls of `work`, which returns its flops.
template <typename Work>
double best_gflops(int rounds, Work&& work) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const double start = now_s();
    const double flops = work();
    best = std::max(best, flops / (now_s() - start) / 1e9);
  }
  return best;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

int main(int argc, char** argv) {
  target::TargetInfo target = target::detect_host();
  if (argc > 1) {
    const auto isa = target::parse_isa(argv[1]);
    if (!isa || !target::host_runs(*isa)) return std::fprintf(stderr, "this machine does not run %s\n", argv[1]), 1;
    target = target::make_target(*isa);
  }
  float sink[16 * kChains] = {};
  const double fma_peak = best_gflops(60, [&] { return run_chains(target.isa, sink); });
  volatile float alive = 0;
  for (const float value : sink) alive = alive + value;

  constexpr int64_t kSize = 512;
  const codegen::BuiltinKernels& kernels = *kernels_of(target.isa);
  const auto memory = [](int64_t bytes) {
    return std::unique_ptr<void, Free>(std::aligned_alloc(64, size_t((bytes + 63) / 64 * 64 + 64)));
  };
  std::vector<float> a(kSize * kSize, 0.5f), b(kSize * kSize, 0.25f), c(kSize * kSize);
  const auto panels = memory(target::packed_gemm_b_floats(kSize, kSize, target.gemm_columns()) * 4);
  const auto scratch = memory(target::gemm_call_scratch_bytes(target, {kSize, kSize, kSize}));
  target::pack_gemm_b(b.data(), kSize, kSize, kSize, 1, target.gemm_columns(), static_cast<float*>(panels.get()));
  codegen::GemmCall call;
  call.a = a.data(), call.a_row_stride = kSize;
  call.b = static_cast<const float*>(panels.get()), call.b_is_panels = true;
  call.c = c.data(), call.c_row_stride = kSize;
  call.m = call.n = call.k = kSize;
  const double gemm_peak = best_gflops(60, [&] {
    kernels.gemm_accumulate(call, scratch.get());
    return 2.0 * kSize * kSize * kSize;
  });
  if (c[0] != 60 * kSize * 0.125f) return std::fprintf(stderr, "the matrix product is wrong: %g\n", double(c[0])), 1;
  std::printf("{\"isa\": \"%s\", \"fma_gflops\": %.1f, \"gemm_gflops\": %.1f}\n",
              std::string(target::name(target.isa)).c_str(), fma_peak, gemm_peak);
  return 0;
}
