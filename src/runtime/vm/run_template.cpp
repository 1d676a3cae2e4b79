// Templates: the matrix work is done by the level's built-in kernels, hooks by the interpreter on rows of the tile.
#include <algorithm>
#include <cstring>

#include "codegen/templates/template_abi.h"
#include "runtime/vm/execute.hpp"
#include "target/attention_geometry.hpp"
#include "target/gemm_geometry.hpp"

namespace tenon::runtime::vm {

static_assert(TENON_GEMM_FIRST_HOOK_SIZE == artifact::kGemmSizes);
static_assert(TENON_ATTENTION_FIRST_HOOK_SIZE == artifact::kAttentionSizes);

namespace {

size_t whole_lines(long floats) { return (size_t(std::max(floats, 0L)) * sizeof(float) + 63) / 64 * 64; }

// The product is made in groups of columns, so that init, sums and epilogue find them in the cache.
struct GemmPlan {
  long rows;        // of the tallest tile
  long group;       // columns
  long a_stride;    // of rows made by the prologue
  size_t c_bytes, a_bytes, call_bytes;
};

GemmPlan plan_gemm(const Code& code, const long* z) {
  GemmPlan plan;
  const long columns = code.target.gemm_columns();
  const long panels = (std::max(z[TENON_GEMM_N], 0L) + columns - 1) / columns;
  plan.rows = std::max(1L, std::min(z[TENON_GEMM_ROWS_PER_BLOCK], z[TENON_GEMM_M]));
  plan.group = columns * std::max(1L, std::min({z[TENON_GEMM_PANELS_PER_BLOCK], panels, (plan.rows > 64 ? 256 : 512) / columns}));
  plan.a_stride = (std::max(z[TENON_GEMM_K], 0L) + 15) / 16 * 16 + 16;
  // Blocks of a row are read in whole granules.
  plan.c_bytes = whole_lines(plan.rows * plan.group + kGranule);
  plan.a_bytes = code.has_prologue ? whole_lines(plan.rows * plan.a_stride + kGranule) : 0;
  target::GemmShape shape;
  shape.m = plan.rows;
  shape.n = plan.group;
  shape.k = z[TENON_GEMM_K];
  shape.b_is_panels = code.packed_b;
  shape.packs_a = !code.has_prologue && z[TENON_GEMM_A_K_STRIDE] != 1;
  plan.call_bytes = size_t(target::gemm_call_scratch_bytes(code.target, shape));
  return plan;
}

size_t attention_bytes(const Code& code, const long* z) {
  target::AttentionShape shape;
  shape.batch = z[TENON_ATTENTION_BATCH];
  shape.heads = z[TENON_ATTENTION_HEADS];
  shape.queries = z[TENON_ATTENTION_QUERIES];
  shape.keys = z[TENON_ATTENTION_KEYS];
  shape.depth = z[TENON_ATTENTION_DEPTH];
  shape.v_depth = z[TENON_ATTENTION_V_DEPTH];
  const long rows = std::max(1L, std::min(z[TENON_ATTENTION_ROWS_PER_BLOCK], std::max(1L, shape.queries)));
  return size_t(target::attention_scratch_bytes(code.target, shape, rows));
}

}  // namespace

size_t template_scratch_bytes(const Code& code, const long* sizes) {
  if (code.kind == artifact::ProgramKind::kAttention) return attention_bytes(code, sizes);
  const GemmPlan plan = plan_gemm(code, sizes);
  return plan.c_bytes + plan.a_bytes + plan.call_bytes;
}

bool Execution::run_hook_row(const Body& body, long position, long count, float* accumulator, float* result) {
  frame_.position = position;
  if (!begin_row(body)) return false;
  for (long at = 0; at < count; at += kBlock) {
    const long n = std::min(kBlock, count - at);
    frame_.position = position + at;
    for (const uint32_t value : body.accumulators) frame_.at[value] = reinterpret_cast<char*>(accumulator + at);
    if (!run_block(body, n)) return false;
    for (const Op& store : body.stores) store.run(frame_, store, n);
    if (result != nullptr) std::memmove(result + at, frame_.at[body.yield], size_t(n) * sizeof(float));
  }
  return true;
}

void Execution::run_gemm(long first, long last) {
  const long* z = args_->sizes;
  const long m = z[TENON_GEMM_M], n = z[TENON_GEMM_N], k = z[TENON_GEMM_K];
  if (m <= 0 || n <= 0 || first >= last) return;
  const GemmPlan plan = plan_gemm(code_, z);
  float* c = reinterpret_cast<float*>(rest_);
  float* a_rows = reinterpret_cast<float*>(rest_ + plan.c_bytes);
  void* call_scratch = rest_ + plan.c_bytes + plan.a_bytes;
  const long columns = code_.target.gemm_columns();
  const long panels = (n + columns - 1) / columns;
  const long rows_per_block = z[TENON_GEMM_ROWS_PER_BLOCK], panels_per_block = z[TENON_GEMM_PANELS_PER_BLOCK];
  const long m_blocks = (m + rows_per_block - 1) / rows_per_block;
  const long n_blocks = (panels + panels_per_block - 1) / panels_per_block;
  const long height = m / m_blocks, taller = m % m_blocks;
  for (const Body* body : {&code_.init, &code_.prologue, &code_.epilogue}) {
    begin_body(*body);
    if (!begin_point(*body)) return;
  }
  for (long t = first; t < last; ++t) {
    const long m_block = t % m_blocks, n_block = t / m_blocks % n_blocks, batch = t / m_blocks / n_blocks;
    const long outer = batch / z[TENON_GEMM_BATCH_INNER], inner = batch % z[TENON_GEMM_BATCH_INNER];
    const long m0 = m_block * height + std::min(m_block, taller), rows = height + (m_block < taller);
    const long n_end = std::min(n, (n_block + 1) * panels_per_block * columns);
    axis_[0] = batch;

    codegen::GemmCall call;
    if (code_.has_prologue) {
      for (long r = 0; r < rows; ++r) {
        axis_[1] = m0 + r;
        if (!run_hook_row(code_.prologue, 0, k, nullptr, a_rows + r * plan.a_stride)) return;
      }
      call.a = a_rows;
      call.a_row_stride = plan.a_stride;
      call.a_k_stride = 1;
    } else {
      call.a = reinterpret_cast<const float*>(parameters_[0]) + z[TENON_GEMM_A_OFFSET] +
               outer * z[TENON_GEMM_A_OUTER_STRIDE] + inner * z[TENON_GEMM_A_INNER_STRIDE] +
               m0 * z[TENON_GEMM_A_ROW_STRIDE];
      call.a_row_stride = z[TENON_GEMM_A_ROW_STRIDE];
      call.a_k_stride = z[TENON_GEMM_A_K_STRIDE];
    }
    const float* b = reinterpret_cast<const float*>(parameters_[1]) + z[TENON_GEMM_B_OFFSET] +
                     outer * z[TENON_GEMM_B_OUTER_STRIDE] + inner * z[TENON_GEMM_B_INNER_STRIDE];
    call.b_is_panels = code_.packed_b;
    call.b_k_stride = z[TENON_GEMM_B_K_STRIDE];
    call.b_n_stride = z[TENON_GEMM_B_N_STRIDE];
    call.c = c;
    call.c_row_stride = plan.group;
    call.m = rows;
    call.k = k;
    for (long n0 = n_block * panels_per_block * columns; n0 < n_end; n0 += plan.group) {
      const long width = std::min(plan.group, n_end - n0);
      for (long r = 0; r < rows; ++r) {
        if (code_.has_init) {
          axis_[1] = m0 + r;
          if (!run_hook_row(code_.init, n0, width, nullptr, c + r * plan.group)) return;
        } else {
          std::memset(c + r * plan.group, 0, size_t(width) * sizeof(float));
        }
      }
      call.b = b + (code_.packed_b ? n0 * k : n0 * call.b_n_stride);
      call.n = width;
      code_.level->kernels->gemm_accumulate(call, call_scratch);
      for (long r = 0; r < rows; ++r) {
        axis_[1] = m0 + r;
        if (!run_hook_row(code_.epilogue, n0, width, c + r * plan.group, nullptr)) return;
      }
    }
  }
}

void Execution::attention_score(void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t k0, int64_t count) {
  Execution& self = *static_cast<Execution*>(user);
  if (self.frame_.failed) return;
  self.axis_[0] = b;
  self.axis_[1] = h;
  self.axis_[2] = q;
  self.run_hook_row(self.code_.score, k0, count, row, row);
}

void Execution::attention_store(void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t count) {
  Execution& self = *static_cast<Execution*>(user);
  if (self.frame_.failed) return;
  self.axis_[0] = b;
  self.axis_[1] = h;
  self.axis_[2] = q;
  self.run_hook_row(self.code_.store, 0, count, row, nullptr);
}

void Execution::run_attention(long first, long last) {
  if (first >= last) return;
  for (const Body* body : {&code_.score, &code_.store}) {
    begin_body(*body);
    if (!begin_point(*body)) return;
  }
  code_.level->kernels->attention(args_, first, last, rest_, code_.has_score ? attention_score : nullptr, attention_store,
                                  this);
}

}  // namespace tenon::runtime::vm
