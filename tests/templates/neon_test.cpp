// The NEON level: the image is checked here, the program runs in an emulator where there is one.
#include <gtest/gtest.h>

#include <fstream>

#include "templates/generated_image.hpp"

namespace tenon::templates_test {
namespace {

// Prints what is wrong; exits 0 if nothing is.
constexpr const char* kProgram = R"(
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int failures = 0;
static float number(unsigned i) { return (float)(i * 2654435761u >> 9) / 4194304.0f - 1.0f; }

static void check_gemm(tenon_kernel_fn kernel, bool panels, long m, long n, long k) {
  const long nr = 8, count = (n + nr - 1) / nr;
  std::vector<float> a(m * k), b(k * n), packed(count * k * nr), bias(n), c(m * n + 8, 7);
  for (size_t i = 0; i < a.size(); ++i) a[i] = number(i + 1);
  for (size_t i = 0; i < b.size(); ++i) b[i] = number(i * 3 + 2);
  for (long j = 0; j < n; ++j) bias[j] = number(j * 7);
  for (long i = 0; i < k; ++i)
    for (long j = 0; j < n; ++j) packed[(j / nr * k + i) * nr + j % nr] = b[i * n + j];
  long z[TENON_GEMM_FIRST_HOOK_SIZE] = {m, n, k, 1, 1, 0, k, 1, 0, 0, 0, n, 1, 0, 0, 24, 3};
  const void* buffers[] = {a.data(), panels ? packed.data() : b.data(), bias.data(), c.data()};
  tenon_kernel_args args = {(void* const*)buffers, z, nullptr};
  void* scratch = aligned_alloc(64, 1 << 20);
  kernel(&args, 0, (m + 23) / 24 * ((count + 2) / 3), scratch);
  free(scratch);
  for (long i = 0; i < m; ++i) {
    for (long j = 0; j < n; ++j) {
      float want = bias[j];
      for (long at = 0; at < k;) {
        float s = 0;
        for (long end = at + 256 < k ? at + 256 : k; at < end; ++at) s = fmaf(a[i * k + at], b[at * n + j], s);
        want += s;
      }
      if (c[i * n + j] != want && failures++ < 5) {
        printf("gemm %ldx%ldx%ld at %ld,%ld: %g, wanted %g\n", m, n, k, i, j, c[i * n + j], want);
      }
    }
  }
  for (int i = 0; i < 8; ++i) failures += c[m * n + i] != 7;
}

static void check_attention(long queries, long keys, long depth) {
  std::vector<float> q(queries * depth), k(keys * depth), v(keys * depth), out(queries * depth);
  for (size_t i = 0; i < q.size(); ++i) q[i] = number(i + 5) * 3;
  for (size_t i = 0; i < k.size(); ++i) k[i] = number(i + 9), v[i] = number(i + 77);
  long z[TENON_ATTENTION_FIRST_HOOK_SIZE] = {1, 1, 1, queries, keys, depth, depth, 0, 0, 0, depth, 0, 0, 0, depth,
                                             0, 0, 0, depth, 16, 1, 3, 0x3f000000, 0};
  const void* buffers[] = {q.data(), k.data(), v.data(), out.data()};
  tenon_kernel_args args = {(void* const*)buffers, z, nullptr};
  void* scratch = aligned_alloc(64, 1 << 20);
  attention(&args, 0, (queries + 15) / 16, scratch);
  free(scratch);
  for (long i = 0; i < queries; ++i) {
    double sum = 0;
    std::vector<double> want(depth);
    for (long j = 0; j < keys && j <= i + 3; ++j) {
      double s = 0;
      for (long d = 0; d < depth; ++d) s += (double)q[i * depth + d] * k[j * depth + d];
      sum += s = exp(s * 0.5);
      for (long d = 0; d < depth; ++d) want[d] += s * v[j * depth + d];
    }
    for (long d = 0; d < depth; ++d) {
      if (!(fabs(out[i * depth + d] - want[d] / sum) < 4e-6) && failures++ < 5) {
        printf("attention at %ld,%ld: %g, wanted %g\n", i, d, out[i * depth + d], want[d] / sum);
      }
    }
  }
}

static void check_math(const char* name, float (*f)(float), double (*exact)(double), double limit) {
  double worst = 0;
  float at = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    const float x = number(i) * (i % 3 == 0 ? 1 : i % 3 == 1 ? 20 : 90), y = f(x);
    const double want = exact(x);
    if (std::isnan(want) || std::isinf((float)want)) continue;
    int exponent;
    frexp(fmax(fabs(want), 0x1p-126), &exponent);
    const double error = fabs(y - want) / ldexp(1, exponent - 24);
    if (!(error <= worst)) worst = error, at = x;
  }
  if (!(worst <= limit)) printf("%s(%g) is off by %g units\n", name, at, worst), ++failures;
}
#define MATH(f, limit) check_math(#f, [](float x) { return tenon_##f(x); }, [](double x) { return std::f(x); }, limit)

int main() {
  for (long m = 1; m < 30; m += m < 12 ? 1 : 7)
    for (long k : {1, 40, 257, 600}) check_gemm(gemm_panels, true, m, 1 + m * 5 % 40, k), check_gemm(gemm_strided, false, m, 33, k);
  check_attention(1, 1, 4);
  check_attention(40, 150, 20);
  check_attention(5, 64, 64);
  MATH(exp, 1.1), MATH(tanh, 2.2), MATH(erf, 1.3), MATH(sin, 1.7), MATH(cos, 1.7), MATH(log, 1.1), MATH(expm1, 2), MATH(tan, 1);
  float from[9] = {0.5f, 1.5f, -2.5f, -8.5f, 3.7f, 0, 0, 0, 9}, to[9] = {0, 0, 0, 0, 5};
  tenon_store(to, tenon_round(tenon_load(from, 4)), 4);
  failures += to[0] != 0 || to[1] != 2 || to[2] != -2 || to[3] != -8 || to[4] != 5;
  return failures != 0;
}
)";

std::string hooks(const char* name, int panels) {
  return "\n#define TENON_GEMM_NAME " + std::string(name) + "\n#define TENON_GEMM_B_PANELS " + std::to_string(panels) + R"(
#define TENON_GEMM_INIT(args, b, m, n, count) tenon_load((const float*)args->buffers[2] + (n), count)
#define TENON_GEMM_STORE(args, b, m, n, count, acc) \
  tenon_store((float*)args->buffers[3] + (m) * args->sizes[TENON_GEMM_N] + (n), acc, count)
)" + read_template("gemm.inc");
}

TEST(Neon, KernelsAreRight) {
  std::string output;
  if (run_command("aarch64-linux-gnu-g++ --version", &output) != 0) GTEST_SKIP() << "no compiler for aarch64";
  std::string text = paste({"prelude.inc", "math_sequences.inc", "kernel_abi.h", "template_abi.h", "gemm_tile.inc"});
  text += hooks("gemm_panels", 1) + hooks("gemm_strided", 0) + R"(
#define TENON_ATTENTION_NAME attention
#define TENON_ATTENTION_SCORE_ROW(args, row, b, h, q, k0, count)
#define TENON_ATTENTION_STORE_ROW(args, row, b, h, q, count) \
  for (long d = 0; d < count; ++d) ((float*)args->buffers[3])[q * count + d] = row[d]
)" + read_template("attention.inc");
  const std::string stem = temporary_folder() + "/neon";
  std::ofstream(stem + ".cpp") << text;
  std::ofstream(stem + "_program.cpp") << text << kProgram;
  const std::string compiler = "aarch64-linux-gnu-g++" + compile_flags(target::Isa::kNeon);
  ASSERT_EQ(run_command(compiler + "-shared -nostdlib " + stem + ".cpp -o " + stem + ".so -lgcc", &output), 0) << output;
  EXPECT_EQ(image_faults(stem + ".so"), "");

  if (run_command("qemu-aarch64 --version", &output) != 0) GTEST_SKIP() << "no emulator";
  ASSERT_EQ(run_command(compiler + "-static " + stem + "_program.cpp -o " + stem, &output), 0) << output;
  EXPECT_EQ(run_command("qemu-aarch64 " + stem, &output), 0) << output;
}

}  // namespace
}  // namespace tenon::templates_test
