// Matrix products and attention with hooks: against sums in double, and bit for bit where hooks leave the product
// alone.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "codegen/templates/template_abi.h"
#include "runtime/vm/vm.hpp"
#include "target/attention_geometry.hpp"
#include "target/gemm_geometry.hpp"
#include "target/pack.hpp"
#include "vm/program_case.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;
using runtime::vm::Program;

Parameter buffer(DType dtype, bool written = false) { return {ParameterKind::kBuffer, dtype, written, {}}; }
std::vector<float> random_floats(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> out(n);
  for (float& x : out) x = float(int64_t(random() % 2001) - 1000) / 500;
  return out;
}

struct GemmCase {
  long m, n, k, batch;
  bool packed, prologue, transposed_a;
};

// C[b, m, n] = relu(bias[n] + A B) + D[b, m, n]; with a prologue A is 2 * A'.
void check_gemm(const GemmCase& g, const target::TargetInfo& target, int threads) {
  KernelProgram p;
  p.kind = ProgramKind::kGemm;
  p.name = "gemm";
  p.parameters = {buffer(DType::kF32), buffer(DType::kF32), buffer(DType::kF32), buffer(DType::kF32), buffer(DType::kF32, true)};
  p.size_count = TENON_GEMM_FIRST_HOOK_SIZE;
  p.packed_b = g.packed;
  p.init.body = {load_op(DType::kF32, 2, {{}, {{2, {1, -1}}}, -1})};
  p.init.yield = 0;
  const Address whole{{}, {{0, {g.m * g.n, -1}}, {1, {g.n, -1}}, {2, {1, -1}}}, -1};
  p.epilogue.body = {value_op(ScalarOp::kAccumulator, DType::kF32), constant_op(DType::kF32, 0),
                     value_op(ScalarOp::kMax, DType::kF32, 0, 1), load_op(DType::kF32, 3, whole),
                     value_op(ScalarOp::kAdd, DType::kF32, 2, 3)};
  p.epilogue.stores = {{4, whole, 4}};
  if (g.prologue) {
    p.prologue_a.body = {load_op(DType::kF32, 0, {{}, {{0, {g.m * g.k, -1}}, {1, {g.k, -1}}, {2, {1, -1}}}, -1}),
                         value_op(ScalarOp::kAdd, DType::kF32, 0, 0)};
    p.prologue_a.yield = 1;
  }
  const std::vector<float> a = random_floats(size_t(g.batch * g.m * g.k), 1), b = random_floats(size_t(g.batch * g.k * g.n), 2);
  std::vector<float> bias = random_floats(size_t(g.n), 3), d = random_floats(size_t(g.batch * g.m * g.n), 4);
  const long columns = target.gemm_columns(), panel_floats = target::packed_gemm_b_floats(g.k, g.n, columns);
  std::vector<float> panels(size_t(panel_floats * g.batch) + 16);
  if (g.packed) {
    for (long i = 0; i < g.batch; ++i) {
      target::pack_gemm_b(b.data() + i * g.k * g.n, g.k, g.n, g.n, 1, columns, panels.data() + i * panel_floats);
    }
  }
  target::GemmShape shape;
  shape.m = g.m, shape.n = g.n, shape.k = g.k, shape.batch = g.batch, shape.b_is_panels = g.packed;
  shape.packs_a = g.prologue || g.transposed_a;
  const target::GemmGeometry geometry = target::choose_gemm_geometry(target, shape, threads);
  std::vector<long> z(TENON_GEMM_FIRST_HOOK_SIZE);
  z[TENON_GEMM_M] = g.m, z[TENON_GEMM_N] = g.n, z[TENON_GEMM_K] = g.k, z[TENON_GEMM_BATCH] = g.batch;
  z[TENON_GEMM_BATCH_INNER] = 1;
  z[TENON_GEMM_A_ROW_STRIDE] = g.transposed_a ? 1 : g.k;
  z[TENON_GEMM_A_K_STRIDE] = g.transposed_a ? g.m : 1;
  z[TENON_GEMM_A_OUTER_STRIDE] = g.m * g.k;
  z[TENON_GEMM_B_K_STRIDE] = g.n, z[TENON_GEMM_B_N_STRIDE] = 1;
  z[TENON_GEMM_B_OUTER_STRIDE] = g.packed ? panel_floats : g.k * g.n;
  z[TENON_GEMM_ROWS_PER_BLOCK] = geometry.rows_per_block, z[TENON_GEMM_PANELS_PER_BLOCK] = geometry.panels_per_block;

  auto made = Program::prepare(p, target);
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<float> c(size_t(g.batch * g.m * g.n), 99.0f);
  void* buffers[] = {const_cast<float*>(a.data()), g.packed ? panels.data() : const_cast<float*>(b.data()), bias.data(), d.data(), c.data()};
  long failure[3] = {};
  const tenon_kernel_args args{buffers, z.data(), failure};
  std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, (made->scratch_bytes(z.data()) + 63) / 64 * 64), &std::free);
  for (long t = 0; t < geometry.tiles; ++t) made->run(&args, t, t + 1, scratch.get());

  for (long i = 0; i < g.batch; ++i) {
    for (long m = 0; m < g.m; ++m) {
      for (long n = 0; n < g.n; ++n) {
        // The stated order: bias, then blocks of 256 steps, each summed from zero by fma.
        float sum = bias[size_t(n)];
        for (long k0 = 0; k0 < g.k; k0 += target::kGemmKBlock) {
          float part = 0;
          for (long k = k0; k < std::min(g.k, k0 + target::kGemmKBlock); ++k) {
            float x = a[size_t(i * g.m * g.k + (g.transposed_a ? k * g.m + m : m * g.k + k))];
            if (g.prologue) x = 2 * x;
            const float y = b[size_t(i * g.k * g.n + k * g.n + n)];
            volatile float product = x * y;
            part = target.has_fma ? std::fma(x, y, part) : product + part;
          }
          sum += part;
        }
        const size_t at = size_t((i * g.m + m) * g.n + n);
        ASSERT_EQ(c[at], std::max(sum, 0.0f) + d[at]) << m << " " << n << " of " << g.m << "x" << g.n << "x" << g.k;
      }
    }
  }
}

TEST(Templates, GemmWithHooksHasTheStatedOrder) {
  for (const target::TargetInfo& target : host_targets()) {
    for (const GemmCase& g : {GemmCase{1, 1, 1, 1, true, false, false}, {7, 33, 300, 1, true, false, false},
                              {70, 600, 70, 1, true, false, false}, {130, 40, 513, 2, false, false, false},
                              {33, 65, 17, 3, false, true, false}, {20, 300, 260, 1, true, true, false},
                              {18, 50, 40, 2, false, false, true}, {5, 20, 0, 1, true, false, false}}) {
      for (int threads : {1, 4}) check_gemm(g, target, threads);
    }
  }
}

TEST(Templates, AttentionScoresAndStoresGoThroughHooks) {
  for (const target::TargetInfo& target : host_targets()) {
    for (bool scored : {false, true}) {
      const long batch = 2, heads = 3, queries = 21, keys = 130, depth = 16, v_depth = 20;
      KernelProgram p;
      p.kind = ProgramKind::kAttention;
      p.name = "attention";
      p.parameters = {buffer(DType::kF32), buffer(DType::kF32), buffer(DType::kF32), buffer(DType::kF32), buffer(DType::kF32, true)};
      p.size_count = TENON_ATTENTION_FIRST_HOOK_SIZE;
      const Address out{{}, {{0, {heads * queries * v_depth, -1}}, {1, {v_depth, -1}}, {2, {heads * v_depth, -1}}, {3, {1, -1}}}, -1};
      if (scored) {  // score + bias[q, k]
        p.score.body = {value_op(ScalarOp::kAccumulator, DType::kF32), load_op(DType::kF32, 3, {{}, {{2, {keys, -1}}, {3, {1, -1}}}, -1}),
                        value_op(ScalarOp::kAdd, DType::kF32, 0, 1)};
        p.score.yield = 2;
      }
      p.store.body = {value_op(ScalarOp::kAccumulator, DType::kF32), value_op(ScalarOp::kAdd, DType::kF32, 0, 0)};
      p.store.stores = {{4, out, 1}};
      const std::vector<float> q = random_floats(size_t(batch * heads * queries * depth), 1);
      const std::vector<float> k = random_floats(size_t(batch * heads * keys * depth), 2);
      const std::vector<float> v = random_floats(size_t(batch * heads * keys * v_depth), 3);
      const std::vector<float> bias = random_floats(size_t(queries * keys), 4);
      std::vector<float> y(size_t(batch * queries * heads * v_depth), 9.0f);
      target::AttentionShape shape;
      shape.batch = batch, shape.heads = heads, shape.queries = queries, shape.keys = keys, shape.depth = depth, shape.v_depth = v_depth;
      const target::AttentionGeometry geometry = target::choose_attention_geometry(target, shape, 4);
      std::vector<long> z(TENON_ATTENTION_FIRST_HOOK_SIZE);
      z[TENON_ATTENTION_BATCH] = batch, z[TENON_ATTENTION_HEADS] = heads, z[TENON_ATTENTION_KV_HEADS] = heads;
      z[TENON_ATTENTION_QUERIES] = queries, z[TENON_ATTENTION_KEYS] = keys, z[TENON_ATTENTION_DEPTH] = depth;
      z[TENON_ATTENTION_V_DEPTH] = v_depth;
      z[TENON_ATTENTION_Q_BATCH_STRIDE] = heads * queries * depth, z[TENON_ATTENTION_Q_HEAD_STRIDE] = queries * depth, z[TENON_ATTENTION_Q_ROW_STRIDE] = depth;
      z[TENON_ATTENTION_K_BATCH_STRIDE] = heads * keys * depth, z[TENON_ATTENTION_K_HEAD_STRIDE] = keys * depth, z[TENON_ATTENTION_K_ROW_STRIDE] = depth;
      z[TENON_ATTENTION_V_BATCH_STRIDE] = heads * keys * v_depth, z[TENON_ATTENTION_V_HEAD_STRIDE] = keys * v_depth, z[TENON_ATTENTION_V_ROW_STRIDE] = v_depth;
      z[TENON_ATTENTION_ROWS_PER_BLOCK] = geometry.rows_per_block;
      z[TENON_ATTENTION_SCALE_BITS] = std::bit_cast<int32_t>(0.25f);
      auto made = Program::prepare(p, target);
      ASSERT_TRUE(made.ok()) << made.status().message();
      void* buffers[] = {const_cast<float*>(q.data()), const_cast<float*>(k.data()), const_cast<float*>(v.data()), const_cast<float*>(bias.data()), y.data()};
      long failure[3] = {};
      const tenon_kernel_args args{buffers, z.data(), failure};
      std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, (made->scratch_bytes(z.data()) + 63) / 64 * 64), &std::free);
      for (long t = 0; t < geometry.tiles; ++t) made->run(&args, t, t + 1, scratch.get());
      for (long b = 0; b < batch * heads; ++b) {
        for (long i = 0; i < queries; ++i) {
          std::vector<double> weight(size_t(keys), 0.0);
          double total = 0;
          for (long j = 0; j < keys; ++j) {
            double s = 0;
            for (long d = 0; d < depth; ++d) s += double(q[size_t((b * queries + i) * depth + d)]) * k[size_t((b * keys + j) * depth + d)];
            weight[size_t(j)] = std::exp(0.25 * s + (scored ? bias[size_t(i * keys + j)] : 0));
            total += weight[size_t(j)];
          }
          for (long d = 0; d < v_depth; ++d) {
            double sum = 0;
            for (long j = 0; j < keys; ++j) sum += weight[size_t(j)] * v[size_t((b * keys + j) * v_depth + d)];
            const size_t at = size_t((((b / heads) * queries + i) * heads + b % heads) * v_depth + d);
            ASSERT_NEAR(y[at], 2 * sum / total, 2e-5) << b << " " << i << " " << d;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::tests
