/* Where a template kernel (gemm.inc, attention.inc) finds its sizes in tenon_kernel_args. Plain C, includes nothing:
 * the runtime includes it and generated code pastes it. Strides and offsets are in elements. */
#pragma once

/* gemm.inc: C[b,m,n] = epilogue(init(b,m,n) + sum over k of A[b,m,k] * B[b,k,n]).
 * buffers[0] = A, buffers[1] = B, then the hooks' own. Batch index b = outer * BATCH_INNER + inner, so that a pair of
 * batch dims (batch, heads) needs no copy; one batch dim: BATCH_INNER = 1 and only the outer strides count.
 * Tiles: t = (b * n_blocks + n_block) * m_blocks + m_block, with m_blocks = ceil(M / ROWS_PER_BLOCK) and
 * n_blocks = ceil(ceil(N / NR) / PANELS_PER_BLOCK); NR = TargetInfo::gemm_columns(). */
enum tenon_gemm_size {
  TENON_GEMM_M = 0,
  TENON_GEMM_N,
  TENON_GEMM_K,
  TENON_GEMM_BATCH,            /* outer * inner */
  TENON_GEMM_BATCH_INNER,
  TENON_GEMM_A_OFFSET,
  TENON_GEMM_A_ROW_STRIDE,
  TENON_GEMM_A_K_STRIDE,       /* 1: read in place; otherwise packed by rows into scratch */
  TENON_GEMM_A_OUTER_STRIDE,
  TENON_GEMM_A_INNER_STRIDE,
  TENON_GEMM_B_OFFSET,
  TENON_GEMM_B_K_STRIDE,       /* unused when B is panels */
  TENON_GEMM_B_N_STRIDE,       /* unused when B is panels */
  TENON_GEMM_B_OUTER_STRIDE,   /* panels: ceil(N / NR) * K * NR, or 0 when all batches share B */
  TENON_GEMM_B_INNER_STRIDE,
  TENON_GEMM_ROWS_PER_BLOCK,
  TENON_GEMM_PANELS_PER_BLOCK,
  TENON_GEMM_FIRST_HOOK_SIZE
};

/* attention.inc: out[b,h,q,:] = softmax over k of score(scale * dot(Q[b,h,q,:], K[b,g,k,:])) times V[b,g,k,:], with
 * g = h / (HEADS / KV_HEADS). buffers[0..2] = Q, K, V, then the hooks' own. Each of Q, K, V has its last dim contiguous.
 * Tiles: t = (b * HEADS + h) * q_blocks + q_block, q_blocks = ceil(QUERIES / ROWS_PER_BLOCK). */
enum tenon_attention_size {
  TENON_ATTENTION_BATCH = 0,
  TENON_ATTENTION_HEADS,
  TENON_ATTENTION_KV_HEADS,
  TENON_ATTENTION_QUERIES,
  TENON_ATTENTION_KEYS,
  TENON_ATTENTION_DEPTH,       /* of Q and K, 1..256 */
  TENON_ATTENTION_V_DEPTH,     /* of V and the result, 1..256 */
  TENON_ATTENTION_Q_OFFSET,
  TENON_ATTENTION_Q_BATCH_STRIDE,
  TENON_ATTENTION_Q_HEAD_STRIDE,
  TENON_ATTENTION_Q_ROW_STRIDE,
  TENON_ATTENTION_K_OFFSET,
  TENON_ATTENTION_K_BATCH_STRIDE,
  TENON_ATTENTION_K_HEAD_STRIDE,
  TENON_ATTENTION_K_ROW_STRIDE,
  TENON_ATTENTION_V_OFFSET,
  TENON_ATTENTION_V_BATCH_STRIDE,
  TENON_ATTENTION_V_HEAD_STRIDE,
  TENON_ATTENTION_V_ROW_STRIDE,
  TENON_ATTENTION_ROWS_PER_BLOCK,
  TENON_ATTENTION_CAUSAL,         /* 1: key k counts for query q only if k <= q + CAUSAL_OFFSET */
  TENON_ATTENTION_CAUSAL_OFFSET,  /* may be negative */
  TENON_ATTENTION_SCALE_BITS,     /* the bits of the float scale, in the low 32 bits */
  TENON_ATTENTION_SAFE,           /* 1: a row with no key left gives 0; 0: it gives NaN, as plain softmax does */
  TENON_ATTENTION_FIRST_HOOK_SIZE
};
