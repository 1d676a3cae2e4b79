#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "templates/generated_image.hpp"

namespace tenon::templates_test {
namespace {

using target::Isa;

constexpr const char* kText = R"(
#define EXPORT extern "C" __attribute__((visibility("default")))
#define COPY(NAME, T) EXPORT void NAME(const T* x, T* y, long n) { tenon_store(y, tenon_load(x, n), n); }
COPY(copy_float, float)
COPY(copy_double, double)
COPY(copy_long, long)
COPY(copy_int, int)
COPY(copy_short, short)
COPY(copy_byte, unsigned char)
#define MAP(NAME, EXPRESSION) EXPORT void NAME(const float* a, const float* b, float* y, long n) { \
  for (long i = 0; i < n; i += TENON_VL) {                                                          \
    VF x = tenon_load(a + i, n - i), z = tenon_load(b + i, n - i);                                  \
    (void)z;                                                                                        \
    tenon_store(y + i, EXPRESSION, n - i);                                                          \
  }                                                                                                 \
}
MAP(max_of, tenon_max(x, z))
MAP(min_of, tenon_min(x, z))
MAP(round_of, tenon_round(x))
MAP(floor_of, tenon_floor(x))
MAP(ceil_of, tenon_ceil(x))
MAP(trunc_of, tenon_trunc(x))
MAP(sqrt_of, tenon_sqrt(x))
MAP(select_of, tenon_select(tenon_mask(x < z), x, z))
MAP(through_f16, tenon_from_f16(tenon_to_f16(x)))
MAP(through_bf16, tenon_from_bf16(tenon_to_bf16(x)))
EXPORT void widen_f16(const unsigned short* x, float* y, long n) {
  for (long i = 0; i < n; i += TENON_VL) tenon_store(y + i, tenon_from_f16(tenon_load(x + i)));
}
EXPORT void narrow_f16(const float* x, unsigned short* y, long n) {
  for (long i = 0; i < n; i += TENON_VL) tenon_store(y + i, tenon_to_f16(tenon_load(x + i)));
}
template <class T> static TenonLanesOf<typename TenonVector<T>::type> lanes(const T* x) {
  TenonLanesOf<typename TenonVector<T>::type> l;
  for (int i = 0; i < 32 / TENON_VL; ++i) l.v[i] = tenon_load(x + i * TENON_VL);
  return l;
}
EXPORT void reduce_float(const float* x, float* y) {
  y[0] = tenon_sum_lanes(lanes(x)), y[1] = tenon_product_lanes(lanes(x)), y[2] = tenon_max_lanes(lanes(x)), y[3] = tenon_min_lanes(lanes(x));
}
EXPORT void reduce_double(const double* x, double* y) {
  y[0] = tenon_sum_lanes(lanes(x)), y[1] = tenon_product_lanes(lanes(x)), y[2] = tenon_max_lanes(lanes(x)), y[3] = tenon_min_lanes(lanes(x));
}
EXPORT void reduce_long(const long* x, long* y) {
  y[0] = tenon_sum_lanes(lanes(x)), y[1] = tenon_product_lanes(lanes(x)), y[2] = tenon_max_lanes(lanes(x)), y[3] = tenon_min_lanes(lanes(x));
}
EXPORT void mixed(const double* d, const unsigned char* flags, const int* at, const float* table, float* f, long* w, unsigned char* b) {
  VD x = tenon_load(d);
  VI32 mask = tenon_mask(x < 2.0) & tenon_bool_to_mask(tenon_load(flags));
  tenon_store(f, tenon_select(mask, tenon_gather(table, tenon_load(at)), tenon_convert<VF>(x)));
  tenon_store(w, tenon_convert<VI64>(x) * 3 + tenon_iota(10L));
  tenon_store(b, tenon_mask_to_bool(mask));
}
)";

const GeneratedImage& prelude_image(Isa isa) {
  static std::map<Isa, std::unique_ptr<GeneratedImage>> images;
  auto& image = images[isa];
  if (!image) image = std::make_unique<GeneratedImage>(read_template("prelude.inc") + kText, isa);
  return *image;
}

class Prelude : public testing::TestWithParam<Isa> {
 protected:
  const GeneratedImage& image_ = prelude_image(GetParam());
  int lanes_ = target::make_target(GetParam()).f32_lanes();
  std::vector<float> map(const char* name, const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> y(a.size());
    reinterpret_cast<void (*)(const float*, const float*, float*, long)>(image_.symbol(name))(
        a.data(), b.data(), y.data(), static_cast<long>(a.size()));
    return y;
  }
  // Copies n elements that end at the end of a page, whose neighbour may not be touched.
  template <class T> void check_copy(const char* name) {
    const size_t page = sysconf(_SC_PAGESIZE);
    char* memory = static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
    ASSERT_EQ(mprotect(memory + 3 * page, page, PROT_NONE), 0);
    const auto copy = reinterpret_cast<void (*)(const T*, T*, long)>(image_.symbol(name));
    for (int n = 0; n <= lanes_; ++n) {
      T* from = reinterpret_cast<T*>(memory + page) - n;
      T* to = reinterpret_cast<T*>(memory + 3 * page) - n;
      for (int i = 0; i < n; ++i) from[i] = static_cast<T>(i + 1), to[i] = 0;
      to[-1] = 77;
      copy(from, to, n);
      for (int i = 0; i < n; ++i) EXPECT_EQ(to[i], static_cast<T>(i + 1)) << name << " " << n;
      EXPECT_EQ(to[-1], static_cast<T>(77));
    }
    munmap(memory, 4 * page);
  }
};

TEST_P(Prelude, ImageNeedsNothing) { EXPECT_EQ(image_.faults(), ""); }

TEST_P(Prelude, PartialVectorsTouchOnlyTheirElements) {
  check_copy<float>("copy_float");
  check_copy<double>("copy_double");
  check_copy<long>("copy_long");
  check_copy<int>("copy_int");
  check_copy<short>("copy_short");
  check_copy<unsigned char>("copy_byte");
}

TEST_P(Prelude, MinAndMaxKeepNan) {
  const std::vector<float> a = {1, NAN, 2, NAN, -INFINITY, 5, 3}, b = {2, 1, NAN, NAN, 4, INFINITY, 3};
  const auto top = map("max_of", a, b), bottom = map("min_of", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) {
      EXPECT_TRUE(std::isnan(top[i]) && std::isnan(bottom[i])) << i;
    } else {
      EXPECT_EQ(top[i], std::max(a[i], b[i]));
      EXPECT_EQ(bottom[i], std::min(a[i], b[i]));
    }
  }
}

TEST_P(Prelude, Rounding) {
  const std::vector<float> x = {0.5f, 1.5f, 2.5f, -0.5f, -8.5f, 2.4f, -2.6f, 1e9f, -0.0f, 8388609.0f, INFINITY};
  const struct { const char* name; float (*exact)(float); } functions[] = {
      {"round_of", [](float v) { return std::nearbyint(v); }}, {"floor_of", [](float v) { return std::floor(v); }},
      {"ceil_of", [](float v) { return std::ceil(v); }},       {"trunc_of", [](float v) { return std::trunc(v); }},
      {"sqrt_of", [](float v) { return std::sqrt(std::fabs(v)); }}};
  for (const auto& f : functions) {
    std::vector<float> input = x, want;
    if (std::string(f.name) == "sqrt_of") {
      for (float& v : input) v = std::fabs(v);
    }
    for (float v : input) want.push_back(f.exact(v));
    expect_same(map(f.name, input, input), want, f.name);
  }
}

TEST_P(Prelude, HalfPrecision) {
  std::vector<uint16_t> halves(65536), back(65536);
  std::vector<float> wide(65536);
  for (int i = 0; i < 65536; ++i) halves[i] = static_cast<uint16_t>(i);
  reinterpret_cast<void (*)(const uint16_t*, float*, long)>(image_.symbol("widen_f16"))(halves.data(), wide.data(), 65536);
  reinterpret_cast<void (*)(const float*, uint16_t*, long)>(image_.symbol("narrow_f16"))(wide.data(), back.data(), 65536);
  for (int i = 0; i < 65536; ++i) {
    const int exponent = i >> 10 & 31, fraction = i & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    if (std::isnan(size)) {
      EXPECT_TRUE(std::isnan(wide[i])) << i;
      EXPECT_EQ(back[i] & 0x7c00, 0x7c00);
      EXPECT_NE(back[i] & 0x3ff, 0);
      continue;
    }
    ASSERT_EQ(wide[i], i >> 15 ? -size : size) << i;
    ASSERT_EQ(back[i], i);
  }
  // Ties to even, the border of infinity, the smallest denormal's half.
  expect_same(map("through_f16", {1 + 0x1p-11f, 1 + 0x3p-11f, 65519.996f, 65520, 0x1p-25f, 0x1.8p-25f, -0x1p-26f, 0x1.ff8p-15f}, std::vector<float>(8)),
              {1, 1 + 0x1p-9f, 65504, INFINITY, 0, 0x1p-24f, -0.0f, 0x1.ff8p-15f}, "f16");
  expect_same(map("through_bf16", {1 + 0x1p-8f, 1 + 0x3p-8f, 3.4e38f, -INFINITY, 0x1p-133f, 1e-45f}, std::vector<float>(6)),
              {1, 1 + 0x1p-6f, INFINITY, -INFINITY, 0x1p-133f, 0}, "bf16");
  EXPECT_TRUE(std::isnan(map("through_bf16", {NAN}, {0})[0]));
}

template <class T> std::vector<T> folded(std::vector<T> x, T (*op)(T, T)) {
  for (int w = 16; w >= 1; w /= 2) {
    for (int i = 0; i < w; ++i) x[i] = op(x[i], x[i + w]);
  }
  return {x[0]};
}
template <class T> void check_reduce(const GeneratedImage& image, const char* name, T start, T step) {
  std::vector<T> x(32), y(4);
  for (int i = 0; i < 32; ++i) x[i] = start + static_cast<T>(i * 37 % 32 - 15) * step;
  reinterpret_cast<void (*)(const T*, T*)>(image.symbol(name))(x.data(), y.data());
  EXPECT_EQ(y[0], folded<T>(x, [](T a, T b) { return a + b; })[0]);
  EXPECT_EQ(y[1], folded<T>(x, [](T a, T b) { return a * b; })[0]);
  EXPECT_EQ(y[2], folded<T>(x, [](T a, T b) { return std::max(a, b); })[0]);
  EXPECT_EQ(y[3], folded<T>(x, [](T a, T b) { return std::min(a, b); })[0]);
}

TEST_P(Prelude, LanesFoldInOneOrder) {
  check_reduce<float>(image_, "reduce_float", 1, 0.0371f);
  check_reduce<double>(image_, "reduce_double", 1, 0.0371);
  check_reduce<long>(image_, "reduce_long", 17, 2);
}

TEST_P(Prelude, MasksMeetEveryWidth) {
  std::vector<double> d(16);
  std::vector<unsigned char> flags(16), b(16);
  std::vector<int> at(16);
  std::vector<float> table(16), f(16);
  std::vector<long> w(16);
  for (int i = 0; i < 16; ++i) d[i] = i - 1.75, flags[i] = i % 3 ? 5 : 0, at[i] = 15 - i, table[i] = 100.0f + i;
  reinterpret_cast<void (*)(const double*, const unsigned char*, const int*, const float*, float*, long*, unsigned char*)>(
      image_.symbol("mixed"))(d.data(), flags.data(), at.data(), table.data(), f.data(), w.data(), b.data());
  for (int i = 0; i < lanes_; ++i) {
    const bool on = d[i] < 2 && flags[i];
    EXPECT_EQ(b[i], on ? 1 : 0);
    EXPECT_EQ(f[i], on ? table[at[i]] : static_cast<float>(d[i]));
    EXPECT_EQ(w[i], static_cast<long>(d[i]) * 3 + 10 + i);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Prelude, testing::ValuesIn(host_levels()),
                         [](const auto& info) { return "v" + std::to_string(static_cast<int>(info.param) + 1); });

}  // namespace
}  // namespace tenon::templates_test
