#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "codegen/templates/template_abi.h"
#include "target/gemm_geometry.hpp"
#include "target/pack.hpp"
#include "templates/generated_image.hpp"

namespace tenon::templates_test {
namespace {

using target::GemmGeometry;
using target::GemmShape;
using target::Isa;
using target::TargetInfo;

// buffers: A, B, bias [n], result [batch][m][n]; hook sizes: none. Prologue and residual variants below.
constexpr const char* kHooks = R"(
#define BIAS(args, n, count) tenon_load((const float*)args->buffers[2] + (n), count)
#define RESULT(args, b, m, n) \
  ((float*)args->buffers[3] + ((b) * args->sizes[TENON_GEMM_M] + (m)) * args->sizes[TENON_GEMM_N] + (n))
)";
constexpr const char* kPlain = R"(
#define TENON_GEMM_INIT(args, b, m, n, count) BIAS(args, n, count)
#define TENON_GEMM_STORE(args, b, m, n, count, acc) tenon_store(RESULT(args, b, m, n), acc, count)
)";
constexpr const char* kGelu = R"(
#define TENON_GEMM_INIT(args, b, m, n, count) BIAS(args, n, count)
#define TENON_GEMM_STORE(args, b, m, n, count, acc) \
  tenon_store(RESULT(args, b, m, n), acc * 0.5f * (1.0f + tenon_erf(acc * 0.70710678f)), count)
)";
// The result's own memory holds the residual.
constexpr const char* kResidual = R"(
#define TENON_GEMM_INIT(args, b, m, n, count) BIAS(args, n, count) + tenon_load(RESULT(args, b, m, n), count)
#define TENON_GEMM_STORE(args, b, m, n, count, acc) tenon_store(RESULT(args, b, m, n), acc, count)
)";
constexpr const char* kPrologue = R"(
#define TENON_GEMM_LOAD_A(args, b, m, k, count) \
  tenon_load((const float*)args->buffers[0] + (m) * args->sizes[TENON_GEMM_K] + (k), count) * 2.0f
)";
constexpr const char* kLoadB = R"(
#define TENON_GEMM_LOAD_B(args, b, k, n, count) \
  -tenon_load((const float*)args->buffers[1] + (k) * args->sizes[TENON_GEMM_N] + (n), count)
)";

std::string kernel_text(const char* name, bool panels, const std::string& hooks) {
  return std::string("#define TENON_GEMM_NAME ") + name + "\n#define TENON_GEMM_B_PANELS " + (panels ? "1" : "0") + "\n" +
         hooks + read_template("gemm.inc");
}

const GeneratedImage& gemm_image(Isa isa) {
  static std::map<Isa, std::unique_ptr<GeneratedImage>> images;
  auto& image = images[isa];
  if (!image) {
    std::string text = paste({"prelude.inc", "math_sequences.inc", "kernel_abi.h", "template_abi.h", "gemm_tile.inc"}) + kHooks;
    text += kernel_text("gemm_plain", true, kPlain);
    text += kernel_text("gemm_strided", false, kPlain);
    text += kernel_text("gemm_gelu", true, kGelu);
    text += kernel_text("gemm_residual", true, kResidual);
    text += kernel_text("gemm_prologue", true, std::string(kPlain) + kPrologue);
    text += kernel_text("gemm_load_b", false, std::string(kPlain) + kLoadB);
    image = std::make_unique<GeneratedImage>(text, isa);
  }
  return *image;
}

// The stated order of one element.
float ordered_dot(bool fma, float init, const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t k) {
  float c = init;
  int64_t at = 0;
  do {
    float s = 0;
    const int64_t end = std::min(k, at + target::kGemmKBlock);
    for (; at < end; ++at) {
      const float x = a[at * a_stride], y = b[at * b_stride];
      s = fma ? std::fma(x, y, s) : x * y + s;
    }
    c = c + s;
  } while (at < k);
  return c;
}

struct Problem {
  int64_t m, n, k;
  std::vector<float> a, b, bias;
  std::vector<float> panels;
  Problem(const TargetInfo& target, int64_t rows, int64_t columns, int64_t depth)
      : m(rows), n(columns), k(depth), a(random_floats(rows * depth, 1)), b(random_floats(columns * depth, 2)),
        bias(random_floats(columns, 3)),
        panels(target::packed_gemm_b_floats(depth, columns, target.gemm_columns())) {
    target::pack_gemm_b(b.data(), k, n, n, 1, target.gemm_columns(), panels.data());
  }
  std::vector<float> expected(bool fma) const {
    std::vector<float> c(m * n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) c[i * n + j] = ordered_dot(fma, bias[j], &a[i * k], 1, &b[j], n, k);
    }
    return c;
  }
};

constexpr float kCanary = 12345.5f;

// Runs all tiles in `calls` pieces and checks that nothing past the result is written.
std::vector<float> run(tenon_kernel_fn kernel, const GemmGeometry& geometry, std::vector<int64_t> sizes, const float* a,
                       const float* b, const float* bias, int64_t results, int calls = 1,
                       const std::vector<float>* start = nullptr) {
  std::vector<float> c(results + 64, kCanary);
  if (start) std::copy(start->begin(), start->end(), c.begin());
  Scratch scratch(geometry.scratch_bytes);
  const void* buffers[] = {a, b, bias, c.data()};
  const std::vector<long> longs(sizes.begin(), sizes.end());
  const tenon_kernel_args args = {const_cast<void* const*>(buffers), longs.data(), nullptr};
  for (int i = 0; i < calls; ++i) {
    kernel(&args, geometry.tiles * i / calls, geometry.tiles * (i + 1) / calls, scratch.memory);
  }
  for (int i = 0; i < 64; ++i) EXPECT_EQ(c[results + i], kCanary);
  c.resize(results);
  return c;
}

std::vector<int64_t> panel_sizes(int64_t m, int64_t n, int64_t k, const GemmGeometry& g) {
  std::vector<int64_t> z(TENON_GEMM_FIRST_HOOK_SIZE, 0);
  z[TENON_GEMM_M] = m, z[TENON_GEMM_N] = n, z[TENON_GEMM_K] = k;
  z[TENON_GEMM_BATCH] = z[TENON_GEMM_BATCH_INNER] = 1;
  z[TENON_GEMM_A_ROW_STRIDE] = k, z[TENON_GEMM_A_K_STRIDE] = 1;
  z[TENON_GEMM_ROWS_PER_BLOCK] = g.rows_per_block, z[TENON_GEMM_PANELS_PER_BLOCK] = g.panels_per_block;
  return z;
}

class GemmTemplate : public testing::TestWithParam<Isa> {
 protected:
  TargetInfo target_ = target::make_target(GetParam());
  const GeneratedImage& image_ = gemm_image(GetParam());
};

TEST_P(GemmTemplate, ImageNeedsNothing) { EXPECT_EQ(image_.faults(), ""); }

TEST_P(GemmTemplate, KeepsTheStatedOrderForEveryShape) {
  std::vector<std::array<int64_t, 3>> shapes;
  for (int64_t m = 1; m <= 40; ++m) shapes.push_back({m, 1 + (m * 13) % 70, 1 + (m * 37) % 300});
  for (int64_t n = 1; n <= 70; ++n) shapes.push_back({1 + n % 9, n, 1 + (n * 11) % 90});
  for (int64_t k : {0, 1, 2, 255, 256, 257, 511, 512, 513, 600}) {
    for (int64_t m : {1, 2, 3, 4, 5, 7, 17}) shapes.push_back({m, 67, k});
  }
  shapes.push_back({150, 33, 700});
  for (const auto& [m, n, k] : shapes) {
    const Problem p(target_, m, n, k);
    const std::vector<float> want = p.expected(target_.has_fma);
    for (int threads : {1, 8}) {
      const GemmGeometry g = choose_gemm_geometry(target_, {m, n, k}, threads);
      const auto got = run(image_.kernel("gemm_plain"), g, panel_sizes(m, n, k, g), p.a.data(), p.panels.data(),
                           p.bias.data(), m * n, threads);
      expect_same(got, want, "panels " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmTemplate, StridedOperandsGiveTheSameBits) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {1, 70, 300}, {2, 64, 40}, {5, 31, 257}, {13, 70, 90}, {20, 64, 300}, {40, 17, 600}}) {
    const Problem p(target_, m, n, k);
    const std::vector<float> want = p.expected(target_.has_fma);
    const GemmShape shape{m, n, k, 1, false, true};
    const GemmGeometry g = choose_gemm_geometry(target_, shape, 4);
    const std::string what = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    std::vector<float> transposed_b(k * n), spread_b(k * n * 3), transposed_a(k * m);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) transposed_b[j * k + i] = spread_b[(i * n + j) * 3] = p.b[i * n + j];
      for (int64_t r = 0; r < m; ++r) transposed_a[i * m + r] = p.a[r * k + i];
    }
    auto z = panel_sizes(m, n, k, g);
    auto with = [&](const float* a, int64_t a_row, int64_t a_k, const float* b, int64_t b_k, int64_t b_n) {
      z[TENON_GEMM_A_ROW_STRIDE] = a_row, z[TENON_GEMM_A_K_STRIDE] = a_k;
      z[TENON_GEMM_B_K_STRIDE] = b_k, z[TENON_GEMM_B_N_STRIDE] = b_n;
      return run(image_.kernel("gemm_strided"), g, z, a, b, p.bias.data(), m * n, 3);
    };
    expect_same(with(p.a.data(), k, 1, p.b.data(), n, 1), want, "rows of B " + what);
    expect_same(with(p.a.data(), k, 1, transposed_b.data(), 1, k), want, "columns of B " + what);
    expect_same(with(p.a.data(), k, 1, spread_b.data(), 3 * n, 3), want, "spread B " + what);
    expect_same(with(transposed_a.data(), 1, m, p.b.data(), n, 1), want, "transposed A " + what);
  }
}

TEST_P(GemmTemplate, BatchStridesOfTwoDims) {
  // A is [rows][heads][k] for 2 outer x 3 inner batches: heads lie between rows and k. B is shared by the inner dim.
  const int64_t m = 9, n = 35, k = 20, outer = 2, inner = 3;
  const auto a = random_floats(outer * m * inner * k, 5), b = random_floats(outer * k * n, 6), bias = random_floats(n, 7);
  const GemmGeometry g = choose_gemm_geometry(target_, {m, n, k, outer * inner, false}, 3);
  auto z = panel_sizes(m, n, k, g);
  z[TENON_GEMM_BATCH] = outer * inner, z[TENON_GEMM_BATCH_INNER] = inner;
  z[TENON_GEMM_A_ROW_STRIDE] = inner * k, z[TENON_GEMM_A_OUTER_STRIDE] = m * inner * k, z[TENON_GEMM_A_INNER_STRIDE] = k;
  z[TENON_GEMM_B_K_STRIDE] = n, z[TENON_GEMM_B_N_STRIDE] = 1, z[TENON_GEMM_B_OUTER_STRIDE] = k * n;
  const auto got = run(image_.kernel("gemm_strided"), g, z, a.data(), b.data(), bias.data(), outer * inner * m * n, 4);
  std::vector<float> want;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t h = 0; h < inner; ++h) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          want.push_back(ordered_dot(target_.has_fma, bias[j], &a[((o * m + i) * inner + h) * k], 1, &b[o * k * n + j], n, k));
        }
      }
    }
  }
  expect_same(got, want, "batches");
}

TEST_P(GemmTemplate, PrologueAndComputedB) {
  const int64_t m = 21, n = 45, k = 290;
  Problem p(target_, m, n, k);
  const GemmGeometry g = choose_gemm_geometry(target_, {m, n, k, 1, false, true}, 2);
  Problem doubled = p, negative = p;
  for (float& x : doubled.a) x *= 2;
  for (float& x : negative.b) x = -x;
  const auto z = panel_sizes(m, n, k, g);
  expect_same(run(image_.kernel("gemm_prologue"), g, z, p.a.data(), p.panels.data(), p.bias.data(), m * n),
              doubled.expected(target_.has_fma), "prologue");
  expect_same(run(image_.kernel("gemm_load_b"), g, z, p.a.data(), p.b.data(), p.bias.data(), m * n),
              negative.expected(target_.has_fma), "computed B");
}

TEST_P(GemmTemplate, ResidualInPlace) {
  for (int64_t k : {30, 520}) {
    const int64_t m = 19, n = 43;
    const Problem p(target_, m, n, k);
    const auto residual = random_floats(m * n, 9);
    const GemmGeometry g = choose_gemm_geometry(target_, {m, n, k}, 1);
    const auto got = run(image_.kernel("gemm_residual"), g, panel_sizes(m, n, k, g), p.a.data(), p.panels.data(),
                         p.bias.data(), m * n, 1, &residual);
    std::vector<float> want(m * n);
    for (int64_t i = 0; i < m * n; ++i) {
      want[i] = ordered_dot(target_.has_fma, p.bias[i % n] + residual[i], &p.a[i / n * k], 1, &p.b[i % n], n, k);
    }
    expect_same(got, want, "residual");
  }
}

TEST_P(GemmTemplate, GeluEpilogueIsNearDouble) {
  const int64_t m = 33, n = 70, k = 600;
  const Problem p(target_, m, n, k);
  const GemmGeometry g = choose_gemm_geometry(target_, {m, n, k}, 1);
  const auto got = run(image_.kernel("gemm_gelu"), g, panel_sizes(m, n, k, g), p.a.data(), p.panels.data(), p.bias.data(), m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double c = p.bias[j], size = std::fabs(c);
      for (int64_t t = 0; t < k; ++t) {
        const double product = double(p.a[i * k + t]) * p.b[t * n + j];
        c += product, size += std::fabs(product);
      }
      const double want = c * 0.5 * (1 + std::erf(c * 0.7071067811865476));
      EXPECT_NEAR(got[i * n + j], want, size * 2e-6) << i << "," << j;
    }
  }
}

TEST_P(GemmTemplate, BuiltinKernelGivesTheFusedBits) {
  const codegen::BuiltinKernels& kernels = builtin_kernels(GetParam());
  EXPECT_EQ(kernels.isa, GetParam());
  EXPECT_EQ(kernels.lanes, target_.f32_lanes());
  EXPECT_EQ(kernels.rows, target_.gemm_rows());
  EXPECT_EQ(kernels.columns, target_.gemm_columns());
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 70, 600}, {3, 33, 257}, {8, 64, 256}, {40, 45, 520}, {131, 20, 300}, {6, 7, 0}}) {
    const Problem p(target_, m, n, k);
    const GemmGeometry g = choose_gemm_geometry(target_, {m, n, k}, 1);
    const auto fused = run(image_.kernel("gemm_plain"), g, panel_sizes(m, n, k, g), p.a.data(), p.panels.data(),
                           p.bias.data(), m * n);
    for (bool panels : {true, false}) {
      std::vector<float> c(m * n);
      for (int64_t i = 0; i < m * n; ++i) c[i] = p.bias[i % n];
      codegen::GemmCall call;
      call.a = p.a.data(), call.a_row_stride = k, call.a_k_stride = 1;
      call.b = panels ? p.panels.data() : p.b.data(), call.b_is_panels = panels, call.b_k_stride = n, call.b_n_stride = 1;
      call.c = c.data(), call.c_row_stride = n, call.m = m, call.n = n, call.k = k;
      Scratch scratch(gemm_call_scratch_bytes(target_, {m, n, k, 1, panels, false}));
      kernels.gemm_accumulate(call, scratch.memory);
      expect_same(c, fused, panels ? "builtin panels" : "builtin strided");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, GemmTemplate, testing::ValuesIn(host_levels()),
                         [](const auto& info) { return "v" + std::to_string(static_cast<int>(info.param) + 1); });

TEST(GemmGeometry, CoversTheProductAndBalancesTasks) {
  for (Isa isa : {Isa::kX86V2, Isa::kX86V3, Isa::kX86V4, Isa::kNeon}) {
    const TargetInfo target = target::make_target(isa);
    for (int64_t m : {0, 1, 4, 5, 49, 128, 1000, 50000}) {
      for (int64_t n : {0, 1, 33, 768, 3072}) {
        for (int64_t k : {0, 1, 64, 3072, 100000}) {
          for (int threads : {1, 2, 16}) {
            const GemmGeometry g = choose_gemm_geometry(target, {m, n, k, 2}, threads);
            if (m == 0 || n == 0) {
              EXPECT_EQ(g.tiles, 0);
              continue;
            }
            const int64_t panels = (n + target.gemm_columns() - 1) / target.gemm_columns();
            EXPECT_EQ(g.m_blocks, (m + g.rows_per_block - 1) / g.rows_per_block);
            EXPECT_EQ(g.n_blocks, (panels + g.panels_per_block - 1) / g.panels_per_block);
            EXPECT_EQ(g.tiles, 2 * g.m_blocks * g.n_blocks);
            EXPECT_GE(g.scratch_bytes, 4 * g.rows_per_block * target.gemm_columns());
          }
        }
      }
    }
    const GemmGeometry big = choose_gemm_geometry(target, {1024, 3072, 768}, 8);
    EXPECT_GE(big.tiles, 4 * 8);
    EXPECT_LE(big.tiles, 16 * 8);
    EXPECT_EQ(choose_gemm_geometry(target, {4, 32, 32}, 16).tiles, 1);
  }
}

TEST(PackGemmB, AnyStridesGiveZeroPaddedPanels) {
  for (int64_t columns : {8, 16, 32}) {
    for (const auto& [k, n] : std::vector<std::array<int64_t, 2>>{{1, 1}, {3, 5}, {70, 33}, {130, 64}, {65, 100}}) {
      const auto source = random_floats(k * n * 2, 4);
      for (const auto& [stride_k, stride_n] : std::vector<std::array<int64_t, 2>>{{n, 1}, {1, k}, {2 * n, 2}}) {
        std::vector<float> panels(target::packed_gemm_b_floats(k, n, columns), -7);
        target::pack_gemm_b(source.data(), k, n, stride_k, stride_n, columns, panels.data());
        for (int64_t p = 0; p * columns < n; ++p) {
          for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = 0; j < columns; ++j) {
              const int64_t column = p * columns + j;
              const float want = column < n ? source[i * stride_k + column * stride_n] : 0;
              ASSERT_EQ(panels[(p * k + i) * columns + j], want) << k << "x" << n << " at " << i << "," << column;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::templates_test
