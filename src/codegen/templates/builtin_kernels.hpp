// The matrix kernels that are compiled into the runtime, one table per instruction set level. Their bits equal those of
// the generated kernels of the same level, since both are one text (gemm.inc, attention.inc) with different hooks.
#pragma once

#include <cstdint>

#include "artifact/kernel_abi.h"
#include "target/target_info.hpp"

namespace tenon::codegen {

// C[m,n] += sum over k of A[m,k] * B[k,n], f32, in the fixed order: for each block of kGemmKBlock steps of k a sum from
// zero in k order by fma, which is then added to C. C holds the init values on entry.
struct GemmCall {
  const float* a = nullptr;
  int64_t a_row_stride = 0;
  int64_t a_k_stride = 1;
  // panels: [ceil(n / columns)][k][columns], zero padded, as pack_gemm_b writes them. Else strided, element (k, n) at
  // b + k * b_k_stride + n * b_n_stride.
  const float* b = nullptr;
  bool b_is_panels = false;
  int64_t b_k_stride = 0;
  int64_t b_n_stride = 1;
  float* c = nullptr;  // must not overlap a or b; columns contiguous
  int64_t c_row_stride = 0;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// Callbacks of the vm's attention. `row` points at `count` floats.
// score: changes scores k0 .. k0+count-1 of query q in place (they are scaled already, causal masking comes after).
// store: takes the finished row of query q, `count` = depth of V. May change it.
using AttentionScoreFn = void (*)(void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t k0, int64_t count);
using AttentionStoreFn = void (*)(void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t count);

// Thread-safe: no state but the scratch, which is 64-byte aligned and private to the call.
struct BuiltinKernels {
  target::Isa isa;
  int32_t lanes;    // floats in a vector
  int32_t rows;     // register tile of the matrix product
  int32_t columns;  // the same, and the width of a packed panel

  // Any m, n, k >= 0. Scratch: target::gemm_call_scratch_bytes.
  void (*gemm_accumulate)(const GemmCall& call, void* scratch);
  // Tiles [first, last) as a generated attention kernel does them; `args` as template_abi.h says (three buffers and the
  // sizes up to TENON_ATTENTION_FIRST_HOOK_SIZE are read). A null `score` leaves the scores alone.
  // Scratch: target::choose_attention_geometry(...).scratch_bytes.
  void (*attention)(const tenon_kernel_args* args, int64_t first, int64_t last, void* scratch, AttentionScoreFn score,
                    AttentionStoreFn store, void* user);
};

// Defined per level by builtin.cpp.inc (which level: the flags that the file including it is compiled with). A level that
// this architecture does not have is not defined.
extern const BuiltinKernels kBuiltinKernelsX86V2;
extern const BuiltinKernels kBuiltinKernelsX86V3;
extern const BuiltinKernels kBuiltinKernelsX86V4;
extern const BuiltinKernels kBuiltinKernelsNeon;

}  // namespace tenon::codegen
