#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "codegen/templates/template_abi.h"
#include "target/attention_geometry.hpp"
#include "templates/generated_image.hpp"

namespace tenon::templates_test {
namespace {

using target::AttentionGeometry;
using target::AttentionShape;
using target::Isa;

// buffers: Q, K, V, mask [queries][keys], result [batch][queries][heads][v_depth].
constexpr const char* kStore = R"(
#define TENON_ATTENTION_STORE_ROW(args, row, b, h, q, count)                                          \
  for (long d = 0; d < count; d += TENON_VL) {                                                        \
    const long* z = args->sizes;                                                                      \
    float* to = (float*)args->buffers[4] +                                                            \
                ((b * z[TENON_ATTENTION_QUERIES] + q) * z[TENON_ATTENTION_HEADS] + h) * count + d;    \
    tenon_store(to, tenon_load(row + d), count - d);                                                  \
  }
)";
constexpr const char* kMask = R"(
#define TENON_ATTENTION_SCORE_ROW(args, row, b, h, q, k0, count)                                      \
  for (long j = 0; j < count; j += TENON_VL) {                                                        \
    const float* mask = (const float*)args->buffers[3] + q * args->sizes[TENON_ATTENTION_KEYS] + k0;  \
    tenon_store(row + j, tenon_load(row + j) + tenon_load(mask + j, count - j));                      \
  }
)";

const GeneratedImage& attention_image(Isa isa) {
  static std::map<Isa, std::unique_ptr<GeneratedImage>> images;
  auto& image = images[isa];
  if (!image) {
    std::string text = paste({"prelude.inc", "math_sequences.inc", "kernel_abi.h", "template_abi.h", "gemm_tile.inc"});
    text += std::string("#define TENON_ATTENTION_NAME attention_plain\n"
                        "#define TENON_ATTENTION_SCORE_ROW(args, row, b, h, q, k0, count)\n") +
            kStore + read_template("attention.inc");
    text += std::string("#define TENON_ATTENTION_NAME attention_masked\n") + kMask + kStore + read_template("attention.inc");
    image = std::make_unique<GeneratedImage>(text, isa);
  }
  return *image;
}

struct Case {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, depth = 1, v_depth = 1;
  bool masked = false, causal = false, safe = false;
  int64_t offset = 0;
  float scale = 0.5f;
  std::string text() const {
    return "b" + std::to_string(batch) + " h" + std::to_string(heads) + "/" + std::to_string(kv_heads) + " q" +
           std::to_string(queries) + " k" + std::to_string(keys) + " d" + std::to_string(depth) + "/" +
           std::to_string(v_depth) + (masked ? " masked" : "") + (causal ? " causal" : "");
  }
};

struct Inputs {
  std::vector<float> q, k, v, mask;
  explicit Inputs(const Case& c)
      : q(random_floats(c.batch * c.queries * c.heads * c.depth, 1)),
        k(random_floats(c.batch * c.keys * c.kv_heads * c.depth, 2)),
        v(random_floats(c.batch * c.keys * c.kv_heads * c.v_depth, 3)), mask(random_floats(c.queries * c.keys, 4)) {
    for (float& x : q) x *= 4;  // scores that matter
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] > 0.6f) mask[i] = -std::numeric_limits<float>::infinity();
    }
  }
};

std::vector<long> sizes_of(const Case& c, int64_t rows_per_block) {
  std::vector<long> z(TENON_ATTENTION_FIRST_HOOK_SIZE, 0);
  z[TENON_ATTENTION_BATCH] = c.batch, z[TENON_ATTENTION_HEADS] = c.heads, z[TENON_ATTENTION_KV_HEADS] = c.kv_heads;
  z[TENON_ATTENTION_QUERIES] = c.queries, z[TENON_ATTENTION_KEYS] = c.keys;
  z[TENON_ATTENTION_DEPTH] = c.depth, z[TENON_ATTENTION_V_DEPTH] = c.v_depth;
  z[TENON_ATTENTION_Q_BATCH_STRIDE] = c.queries * c.heads * c.depth;
  z[TENON_ATTENTION_Q_HEAD_STRIDE] = c.depth, z[TENON_ATTENTION_Q_ROW_STRIDE] = c.heads * c.depth;
  z[TENON_ATTENTION_K_BATCH_STRIDE] = c.keys * c.kv_heads * c.depth;
  z[TENON_ATTENTION_K_HEAD_STRIDE] = c.depth, z[TENON_ATTENTION_K_ROW_STRIDE] = c.kv_heads * c.depth;
  z[TENON_ATTENTION_V_BATCH_STRIDE] = c.keys * c.kv_heads * c.v_depth;
  z[TENON_ATTENTION_V_HEAD_STRIDE] = c.v_depth, z[TENON_ATTENTION_V_ROW_STRIDE] = c.kv_heads * c.v_depth;
  z[TENON_ATTENTION_ROWS_PER_BLOCK] = rows_per_block;
  z[TENON_ATTENTION_CAUSAL] = c.causal, z[TENON_ATTENTION_CAUSAL_OFFSET] = c.offset, z[TENON_ATTENTION_SAFE] = c.safe;
  int32_t bits;
  std::memcpy(&bits, &c.scale, 4);
  z[TENON_ATTENTION_SCALE_BITS] = bits;
  return z;
}

std::vector<float> run(const GeneratedImage& image, const target::TargetInfo& target, const Case& c, const Inputs& in,
                       int64_t rows) {
  const AttentionShape shape{c.batch, c.heads, c.queries, c.keys, c.depth, c.v_depth};
  const auto z = sizes_of(c, rows);
  const int64_t tiles = c.batch * c.heads * ((c.queries + rows - 1) / rows);
  std::vector<float> result(c.batch * c.queries * c.heads * c.v_depth, -77);
  Scratch scratch(attention_scratch_bytes(target, shape, rows));
  const void* buffers[] = {in.q.data(), in.k.data(), in.v.data(), in.mask.data(), result.data()};
  const tenon_kernel_args args = {const_cast<void* const*>(buffers), z.data(), nullptr};
  const tenon_kernel_fn kernel = image.kernel(c.masked ? "attention_masked" : "attention_plain");
  kernel(&args, 0, tiles / 2, scratch.memory);
  kernel(&args, tiles / 2, tiles, scratch.memory);
  return result;
}

std::vector<double> expected(const Case& c, const Inputs& in) {
  std::vector<double> result(c.batch * c.queries * c.heads * c.v_depth);
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t g = h / (c.heads / c.kv_heads);
      for (int64_t q = 0; q < c.queries; ++q) {
        std::vector<double> p(c.keys);
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          for (int64_t d = 0; d < c.depth; ++d) {
            p[j] += double(in.q[((b * c.queries + q) * c.heads + h) * c.depth + d]) *
                    in.k[((b * c.keys + j) * c.kv_heads + g) * c.depth + d];
          }
          p[j] *= c.scale;
          if (c.masked) p[j] += in.mask[q * c.keys + j];
          if (c.causal && j > q + c.offset) p[j] = -std::numeric_limits<double>::infinity();
          top = std::max(top, p[j]);
        }
        for (double& x : p) sum += x = std::exp(x - top);
        for (int64_t d = 0; d < c.v_depth; ++d) {
          double out = 0;
          for (int64_t j = 0; j < c.keys; ++j) out += p[j] * in.v[((b * c.keys + j) * c.kv_heads + g) * c.v_depth + d];
          const bool none = std::isinf(top);
          result[((b * c.queries + q) * c.heads + h) * c.v_depth + d] = none ? (c.safe ? 0 : NAN) : out / sum;
        }
      }
    }
  }
  return result;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int64_t queries : {1, 2, 3, 5, 7, 16, 33, 65, 100}) {
    for (int64_t keys : {1, 31, 64, 65, 130, 200}) {
      all.push_back({.batch = 1, .heads = 2, .kv_heads = 2, .queries = queries, .keys = keys,
                     .depth = 1 + (queries * 7 + keys) % 40, .v_depth = 1 + (queries + keys * 5) % 70,
                     .masked = keys % 2 == 1 && keys > 1});
    }
  }
  all.push_back({.batch = 2, .heads = 6, .kv_heads = 2, .queries = 20, .keys = 70, .depth = 32, .v_depth = 64});
  all.push_back({.heads = 1, .queries = 9, .keys = 129, .depth = 256, .v_depth = 256, .scale = 0.0625f});
  for (int64_t offset : {0, 70, -5, -200}) {
    for (bool safe : {false, true}) {
      all.push_back({.batch = 1, .heads = 2, .kv_heads = 1, .queries = 130, .keys = 150, .depth = 16, .v_depth = 24,
                     .masked = safe, .causal = true, .safe = safe, .offset = offset});
    }
  }
  return all;
}

class AttentionTemplate : public testing::TestWithParam<Isa> {
 protected:
  target::TargetInfo target_ = target::make_target(GetParam());
  const GeneratedImage& image_ = attention_image(GetParam());
};

TEST_P(AttentionTemplate, ImageNeedsNothing) { EXPECT_EQ(image_.faults(), ""); }

TEST_P(AttentionTemplate, IsNearDouble) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    const AttentionGeometry g =
        choose_attention_geometry(target_, {c.batch, c.heads, c.queries, c.keys, c.depth, c.v_depth}, 1);
    const auto got = run(image_, target_, c, in, g.rows_per_block);
    const auto want = expected(c, in);
    for (size_t i = 0; i < want.size(); ++i) {
      if (std::isnan(want[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << c.text() << " at " << i;
      } else {
        ASSERT_NEAR(got[i], want[i], 4e-6) << c.text() << " at " << i;
      }
    }
  }
}

TEST_P(AttentionTemplate, BlockOfQueriesDoesNotChangeBits) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    const auto whole = run(image_, target_, c, in, c.queries);
    for (int64_t rows : {1, 6, 16, 47}) {
      auto part = run(image_, target_, c, in, std::min(rows, c.queries));
      for (size_t i = 0; i < whole.size(); ++i) {
        if (std::isnan(whole[i]) && std::isnan(part[i])) part[i] = whole[i];
      }
      expect_same(part, whole, c.text() + " rows " + std::to_string(rows));
      if (HasFatalFailure()) return;
    }
  }
}

// Values behind the causal border are not looked at where whole blocks lie behind it, and NaN there must not leak.
TEST_P(AttentionTemplate, SkipsBlocksBehindTheCausalBorder) {
  const Case c{.queries = 40, .keys = 128, .depth = 8, .v_depth = 8, .causal = true};
  Inputs in(c);
  for (int64_t j = 64; j < 128; ++j) in.v[j * 8] = in.k[j * 8] = NAN;
  for (float x : run(image_, target_, c, in, 16)) ASSERT_FALSE(std::isnan(x));
}

TEST_P(AttentionTemplate, NanScoreGivesNanRowOnly) {
  Case c{.queries = 5, .keys = 70, .depth = 8, .v_depth = 8};
  Inputs in(c);
  in.q[2 * 8] = NAN;
  const auto got = run(image_, target_, c, in, 5);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(got[i]), i / 8 == 2) << i;
}

struct VmSide {
  const Case* c;
  const Inputs* in;
  std::vector<float> result;
};

TEST_P(AttentionTemplate, BuiltinKernelGivesTheFusedBits) {
  const codegen::BuiltinKernels& kernels = builtin_kernels(GetParam());
  for (const Case& c : cases()) {
    const Inputs in(c);
    auto fused = run(image_, target_, c, in, c.queries);
    VmSide vm{&c, &in, std::vector<float>(fused.size())};
    const int64_t rows = std::min<int64_t>(24, c.queries);
    const auto z = sizes_of(c, rows);
    Scratch scratch(attention_scratch_bytes(target_, {c.batch, c.heads, c.queries, c.keys, c.depth, c.v_depth}, rows));
    const void* buffers[] = {in.q.data(), in.k.data(), in.v.data()};
    const tenon_kernel_args args = {const_cast<void* const*>(buffers), z.data(), nullptr};
    auto score = [](void* user, float* row, int64_t, int64_t, int64_t q, int64_t k0, int64_t count) {
      const VmSide& side = *static_cast<VmSide*>(user);
      for (int64_t j = 0; j < count; ++j) row[j] += side.in->mask[q * side.c->keys + k0 + j];
    };
    auto store = [](void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t count) {
      VmSide& side = *static_cast<VmSide*>(user);
      std::memcpy(&side.result[((b * side.c->queries + q) * side.c->heads + h) * count], row, count * 4);
    };
    kernels.attention(&args, 0, c.batch * c.heads * ((c.queries + rows - 1) / rows), scratch.memory,
                      c.masked ? +score : nullptr, store, &vm);
    for (size_t i = 0; i < fused.size(); ++i) {
      if (std::isnan(fused[i]) && std::isnan(vm.result[i])) vm.result[i] = fused[i];
    }
    expect_same(vm.result, fused, c.text());
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, AttentionTemplate, testing::ValuesIn(host_levels()),
                         [](const auto& info) { return "v" + std::to_string(static_cast<int>(info.param) + 1); });

}  // namespace
}  // namespace tenon::templates_test
