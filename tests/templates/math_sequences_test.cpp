#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>

#include "templates/generated_image.hpp"

namespace tenon::templates_test {
namespace {

using target::Isa;

struct Function {
  const char* name;
  double f32_ulp, f64_ulp;  // the greatest error allowed, in units of the last place of the true result
  long double (*exact)(long double);
};

long double reciprocal_root(long double x) { return 1 / std::sqrt(x); }
long double logistic(long double x) { return 1 / (1 + std::exp(-x)); }
#define EXACT(f) [](long double x) -> long double { return std::f(x); }
const Function kFunctions[] = {
    {"exp", 1.1, 1.1, EXACT(exp)},       {"exp2", 1.1, 1.1, EXACT(exp2)},     {"expm1", 2, 2, EXACT(expm1)},
    {"log", 1.1, 1.1, EXACT(log)},       {"log1p", 1, 1.2, EXACT(log1p)},     {"log2", 1, 2, EXACT(log2)},
    {"log10", 1, 2, EXACT(log10)},       {"rsqrt", 1.6, 1.6, reciprocal_root}, {"sigmoid", 2.6, 2.6, logistic},
    {"sin", 1.7, 1.1, EXACT(sin)},       {"cos", 1.7, 1.1, EXACT(cos)},       {"tan", 1, 3, EXACT(tan)},
    {"asin", 1, 3, EXACT(asin)},         {"acos", 1, 3, EXACT(acos)},         {"atan", 1, 2.2, EXACT(atan)},
    {"sinh", 1, 3, EXACT(sinh)},         {"cosh", 1, 3, EXACT(cosh)},         {"tanh", 2.2, 3, EXACT(tanh)},
    {"asinh", 1, 2.5, EXACT(asinh)},     {"acosh", 1, 2.5, EXACT(acosh)},     {"atanh", 1, 2.5, EXACT(atanh)},
    {"erf", 1.3, 2, EXACT(erf)},         {"erfc", 1, 4, EXACT(erfc)},
};
#undef EXACT

std::string array_function(const std::string& type, const std::string& name, int operands) {
  const std::string two = operands == 2 ? ", tenon_load(z + i, n - i)" : "", one = operands == 2 ? ", z[i]" : "";
  const std::string head = "extern \"C\" __attribute__((visibility(\"default\"))) void " + type + "_" + name;
  const std::string arguments = "(const " + type + "* x, const " + type + "* z, " + type + "* y, long n) { (void)z;\n";
  return head + arguments + "  for (long i = 0; i < n; i += TENON_VL) tenon_store(y + i, tenon_" + name +
         "(tenon_load(x + i, n - i)" + two + "), n - i);\n}\n" + head + "_one" + arguments +
         "  for (long i = 0; i < n; ++i) y[i] = tenon_" + name + "(x[i]" + one + ");\n}\n";
}

const GeneratedImage& math_image(Isa isa) {
  static std::map<Isa, std::unique_ptr<GeneratedImage>> images;
  auto& image = images[isa];
  if (!image) {
    std::string text = paste({"prelude.inc", "math_sequences.inc"});
    for (const char* type : {"float", "double"}) {
      for (const Function& f : kFunctions) text += array_function(type, f.name, 1);
      text += array_function(type, "sign", 1);
      for (const char* name : {"pow", "atan2", "fmod", "remainder", "floor_divide"}) text += array_function(type, name, 2);
    }
    image = std::make_unique<GeneratedImage>(text, isa);
  }
  return *image;
}

template <class T> constexpr const char* kType = sizeof(T) == 4 ? "float" : "double";

template <class T>
std::vector<T> apply(const GeneratedImage& image, const std::string& name, const std::vector<T>& x, const std::vector<T>& z) {
  std::vector<T> y(x.size());
  const auto f = reinterpret_cast<void (*)(const T*, const T*, T*, long)>(
      image.symbol((std::string(kType<T>) + "_" + name).c_str()));
  f(x.data(), z.data(), y.data(), static_cast<long>(x.size()));
  return y;
}

template <class T> double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got)) {
    // At the border of overflow the neighbour is good enough.
    return rounded == got || std::nextafter(rounded, got) == got ? 0 : INFINITY;
  }
  if (rounded == 0 && got == 0) return 0;
  int exponent;
  std::frexp(std::max(std::fabs(want), static_cast<long double>(std::numeric_limits<T>::min())), &exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

template <class T> std::vector<T> samples() {
  std::mt19937_64 engine(11);
  std::vector<T> x;
  for (int i = 0; i < 12000; ++i) {  // any bits
    const uint64_t bits = engine();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    x.push_back(value);
  }
  for (T width : {T(1), T(6), T(110), T(760)}) {
    std::uniform_real_distribution<T> uniform(-width, width);
    for (int i = 0; i < 7000; ++i) x.push_back(uniform(engine));
  }
  for (int i = 1; i < 3000; ++i) x.push_back(static_cast<T>(i * 1.5707963267948966));
  using Limits = std::numeric_limits<T>;
  for (T v : {T(0), T(1), T(0.5), T(2), T(88.72284), T(88.73), T(103.97), T(104), T(709.782712893384), T(709.79),
              T(745.13), T(745.2), T(126), T(127.9999), T(128), T(149), T(150), T(1022), T(1024), T(1074), T(1075),
              Limits::min(), Limits::denorm_min(), Limits::max(), Limits::infinity(), Limits::quiet_NaN(), Limits::epsilon()}) {
    x.push_back(v), x.push_back(-v);
  }
  return x;
}

class MathSequences : public testing::TestWithParam<Isa> {
 protected:
  template <class T> void check_all() {
    const GeneratedImage& image = math_image(GetParam());
    const std::vector<T> x = samples<T>();
    for (const Function& f : kFunctions) {
      const std::vector<T> y = apply(image, f.name, x, x);
      // Without fma every step of a polynomial is rounded once more.
      const double limit = (sizeof(T) == 4 ? f.f32_ulp : f.f64_ulp) + (target::make_target(GetParam()).has_fma ? 0 : 1);
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        // 1 / (1 + exp(-x)) is 0 once exp overflows, as in ATen.
        if (f.exact == logistic && x[i] < (sizeof(T) == 4 ? -87 : -708)) continue;
        const double error = ulps(y[i], f.exact(x[i]));
        if (error > worst) worst = error, at = i;
      }
      EXPECT_LE(worst, limit) << f.name << "(" << x[at] << ") = " << y[at] << ", wanted " << f.exact(x[at]);
      const std::vector<T> one = apply(image, std::string(f.name) + "_one", x, x);
      EXPECT_EQ(std::memcmp(one.data(), y.data(), y.size() * sizeof(T)), 0) << f.name << ": a scalar differs from a lane";
    }
  }

  template <class T> void check_pairs() {
    const GeneratedImage& image = math_image(GetParam());
    std::mt19937_64 engine(12);
    std::vector<T> x, z;
    using Limits = std::numeric_limits<T>;
    const T edges[] = {T(0),  T(-0.0), T(1),  T(-1), T(0.5), T(-0.5), T(2), T(-2), T(3), T(-3), T(1e30), T(-1e30),
                       T(1000), T(-1001), Limits::min(), Limits::denorm_min(), Limits::max(), -Limits::max(),
                       Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()};
    for (T a : edges) {
      for (T b : edges) x.push_back(a), z.push_back(b);
    }
    std::normal_distribution<T> normal(0, 4);
    for (int i = 0; i < 20000; ++i) {
      x.push_back(std::exp(normal(engine)) * (i % 3 ? 1 : -1));
      z.push_back(i % 2 ? normal(engine) * 5 : std::round(normal(engine) * 3));
    }
    const double slack = target::make_target(GetParam()).has_fma ? 0 : 1;
    const struct { const char* name; double limit; long double (*exact)(long double, long double); } functions[] = {
        {"pow", (sizeof(T) == 4 ? 1 : 2) + slack, [](long double a, long double b) { return std::pow(a, b); }},
        {"atan2", (sizeof(T) == 4 ? 1 : 2.5) + slack, [](long double a, long double b) { return std::atan2(a, b); }},
        {"fmod", 0, [](long double a, long double b) { return std::fmod(a, b); }},
    };
    for (const auto& f : functions) {
      const std::vector<T> y = apply(image, f.name, x, z);
      for (size_t i = 0; i < x.size(); ++i) {
        const long double want = f.exact(x[i], z[i]);
        ASSERT_LE(ulps(y[i], want), f.limit) << f.name << "(" << x[i] << ", " << z[i] << ") = " << y[i] << ", wanted " << want;
        if (want == 0) {
          ASSERT_EQ(std::signbit(y[i]), std::signbit(want)) << f.name << "(" << x[i] << ", " << z[i] << ")";
        }
      }
      const std::vector<T> one = apply(image, std::string(f.name) + "_one", x, z);
      EXPECT_EQ(std::memcmp(one.data(), y.data(), y.size() * sizeof(T)), 0) << f.name;
    }
    const std::vector<T> remainder = apply(image, "remainder", x, z), quotient = apply(image, "floor_divide", x, z);
    for (size_t i = 441; i < x.size(); ++i) {
      if (z[i] == 0) continue;
      const T m = std::fmod(x[i], z[i]);
      ASSERT_EQ(remainder[i], m != 0 && (m < 0) != (z[i] < 0) ? m + z[i] : m) << x[i] << ", " << z[i];
      const T floored = std::floor(static_cast<T>((static_cast<long double>(x[i]) - remainder[i]) / z[i]) + T(0.25));
      ASSERT_NEAR(quotient[i], floored, std::fabs(floored) * 4 * Limits::epsilon()) << x[i] << ", " << z[i];
    }
  }
};

TEST_P(MathSequences, ImageNeedsNothing) { EXPECT_EQ(math_image(GetParam()).faults(), ""); }
TEST_P(MathSequences, FloatsAreNearTheTruth) { check_all<float>(); }
TEST_P(MathSequences, DoublesAreNearTheTruth) { check_all<double>(); }
TEST_P(MathSequences, FunctionsOfTwoFloats) { check_pairs<float>(); }
TEST_P(MathSequences, FunctionsOfTwoDoubles) { check_pairs<double>(); }

TEST_P(MathSequences, SignOfNanIsZero) {
  const std::vector<float> x = {-3, -0.0f, 0, 1e-45f, NAN, INFINITY};
  const std::vector<float> y = apply(math_image(GetParam()), "sign", x, x);
  EXPECT_EQ(y, (std::vector<float>{-1, 0, 0, 1, 0, 1}));
}

INSTANTIATE_TEST_SUITE_P(Levels, MathSequences, testing::ValuesIn(host_levels()),
                         [](const auto& info) { return "v" + std::to_string(static_cast<int>(info.param) + 1); });

}  // namespace
}  // namespace tenon::templates_test
