// Mistakes that other compilers of tensor programs shipped: one test a mistake, on the vm and as compiled code. The numbers
// are those of docs/testing.md.
#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

#include "system/host_program.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tenon::tests {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

HostArray array(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  HostArray out(dtype, std::move(dims));
  EXPECT_EQ(out.elements(), int64_t(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (dtype) {
      case DType::kF32: out.as<float>()[i] = float(values[i]); break;
      case DType::kF64: out.as<double>()[i] = values[i]; break;
      case DType::kI64: out.as<int64_t>()[i] = int64_t(values[i]); break;
      case DType::kI32: out.as<int32_t>()[i] = int32_t(values[i]); break;
      case DType::kI16: out.as<int16_t>()[i] = int16_t(values[i]); break;
      case DType::kI8: out.as<int8_t>()[i] = int8_t(values[i]); break;
      case DType::kU8: out.as<uint8_t>()[i] = uint8_t(values[i]); break;
      case DType::kBool: out.bytes[i] = uint8_t(values[i] != 0); break;
      case DType::kBF16: {
        const float f = float(values[i]);
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        out.as<uint16_t>()[i] = uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
        break;
      }
      default: std::abort();
    }
  }
  return out;
}

double element(const HostArray& a, int64_t i) {
  switch (a.dtype) {
    case DType::kF32: return a.as<float>()[i];
    case DType::kF64: return a.as<double>()[i];
    case DType::kI64: return double(a.as<int64_t>()[i]);
    case DType::kI32: return a.as<int32_t>()[i];
    case DType::kI16: return a.as<int16_t>()[i];
    case DType::kI8: return a.as<int8_t>()[i];
    case DType::kU8:
    case DType::kBool: return a.bytes[size_t(i)];
    default: return kNan;
  }
}

struct Case {
  const char* name;
  const char* graph;
  std::vector<HostArray> inputs;
  std::vector<HostArray> outputs;
};

// Equal values, NaN where NaN is expected, and the same sign of zero.
void expect_values(const HostArray& expected, const Tensor& found, const std::string& what) {
  const HostArray f = copy_of(found);
  ASSERT_EQ(f.dtype, expected.dtype) << what;
  ASSERT_EQ(f.dims, expected.dims) << what;
  for (int64_t i = 0; i < f.elements(); ++i) {
    const double a = element(expected, i), b = element(f, i);
    if (std::isnan(a)) {
      EXPECT_TRUE(std::isnan(b)) << what << " element " << i << " is " << b;
    } else {
      EXPECT_EQ(a, b) << what << " element " << i;
      EXPECT_EQ(std::signbit(a), std::signbit(b)) << what << " element " << i;
    }
  }
}

void check(const Case& c) {
  for (const bool compiled : {false, true}) {
    auto context = Context::create({.threads = 2, .no_cache = true}).or_die();
    auto function = function_of(context, c.graph, compiled ? MissPolicy::kCompileNow : MissPolicy::kVm);
    ASSERT_TRUE(function.ok()) << c.name << ": " << text(function.status());
    std::vector<Tensor> in;
    for (const HostArray& input : c.inputs) in.push_back(input.tensor());
    auto out = function->run(in);
    ASSERT_TRUE(out.ok()) << c.name << ": " << text(out.status());
    EXPECT_EQ(function->counter("tier").or_die(), compiled ? 1 : 0);
    ASSERT_EQ(out->size(), c.outputs.size());
    for (size_t i = 0; i < out->size(); ++i) {
      expect_values(c.outputs[i], (*out)[i], std::string(c.name) + (compiled ? ", compiled" : ", vm") + ", output " + std::to_string(i));
    }
  }
}

TEST(KnownBugs, Row14SignedOverflowWraps) {
  check({"add and convert", "graph @g(%a: i32[1]) -> (y: i64[1]) on cpu {\n  %0 = aten.add.Tensor(%a, %a) : i32[1]\n"
         "  %1 = aten.to.dtype(%0, i64) : i64[1]\n  return %1\n}\n", {array(DType::kI32, {1}, {-2147483647})}, {array(DType::kI64, {1}, {2})}});
  check({"abs of the least", "graph @g(%a: i8[1]) -> (y: bool[1], z: bool[1]) on cpu {\n  %0 = aten.abs(%a) : i8[1]\n  %1 = aten.lt.Scalar(%0, 0) : bool[1]\n"
         "  %2 = aten.mul.Tensor(%a, %a) : i8[1]\n  %3 = aten.lt.Scalar(%2, 0) : bool[1]\n  return %1, %3\n}\n",
         {array(DType::kI8, {1}, {-128})}, {array(DType::kBool, {1}, {1}), array(DType::kBool, {1}, {0})}});
  check({"square", "graph @g(%a: i8[1]) -> (y: bool[1]) on cpu {\n  %0 = aten.mul.Tensor(%a, %a) : i8[1]\n  %1 = aten.lt.Scalar(%0, 0) : bool[1]\n  return %1\n}\n",
         {array(DType::kI8, {1}, {12})}, {array(DType::kBool, {1}, {1})}});
}

TEST(KnownBugs, Row15And17IntegerDivision) {
  check({"signs", "graph @g(%a: i32[5], %b: i32[5]) -> (f: i32[5], r: i32[5], t: i32[5], m: i32[5]) on cpu {\n"
         "  %0 = aten.floor_divide(%a, %b) : i32[5]\n  %1 = aten.remainder.Tensor(%a, %b) : i32[5]\n"
         "  %2 = aten.div.Tensor_mode(%a, %b, rounding_mode=\"trunc\") : i32[5]\n  %3 = aten.fmod.Tensor(%a, %b) : i32[5]\n  return %0, %1, %2, %3\n}\n",
         {array(DType::kI32, {5}, {-7, 7, -7, 7, -2147483648.0}), array(DType::kI32, {5}, {2, -2, -2, 2, -1})},
         {array(DType::kI32, {5}, {-4, -4, 3, 3, -2147483648.0}), array(DType::kI32, {5}, {1, -1, -1, 1, 0}),
          array(DType::kI32, {5}, {-3, -3, 3, 3, -2147483648.0}), array(DType::kI32, {5}, {-1, 1, -1, 1, 0})}});
}

TEST(KnownBugs, Row16FloorDivisionOfFloats) {
  check({"floor", "graph @g(%a: f32[4], %b: f32[4]) -> (y: f32[4]) on cpu {\n  %0 = aten.floor_divide(%a, %b) : f32[4]\n  return %0\n}\n",
         {array(DType::kF32, {4}, {1, .5, 6, 1}), array(DType::kF32, {4}, {.1, .1, .2, 1.0 / 3})}, {array(DType::kF32, {4}, {9, 4, 29, 2})}});
  check({"infinities", "graph @g(%a: f32[3]) -> (y: f32[3]) on cpu {\n  %0 = aten.floor_divide.Scalar(%a, 1.0) : f32[3]\n  return %0\n}\n",
         {array(DType::kF32, {3}, {kNan, kInf, -kInf})}, {array(DType::kF32, {3}, {kNan, kNan, kNan})}});
}

TEST(KnownBugs, Row18NoNarrowingOf64Bits) {
  check({"add", "graph @g(%a: i64[2], %b: i64[2], %c: i64[2], %d: i64[2]) -> (y: i64[2], z: bool[2]) on cpu {\n"
         "  %0 = aten.add.Tensor(%a, %b) : i64[2]\n  %1 = aten.gt.Tensor(%c, %d) : bool[2]\n  return %0, %1\n}\n",
         {array(DType::kI64, {2}, {5e9, 7e9}), array(DType::kI64, {2}, {3e9, 2e9}), array(DType::kI64, {2}, {0x1p34, 0x1p35}), array(DType::kI64, {2}, {0x1p33, 0x1p36})},
         {array(DType::kI64, {2}, {8e9, 9e9}), array(DType::kBool, {2}, {1, 0})}});
}

TEST(KnownBugs, Row20ANumberBesideBf16IsRoundedLikeIt) {
  check({"eq", "graph @g(%a: bf16[1]) -> (y: bool[1]) on cpu {\n  %0 = aten.eq.Scalar(%a, 3.14) : bool[1]\n  return %0\n}\n",
         {array(DType::kBF16, {1}, {3.14})}, {array(DType::kBool, {1}, {1})}});
}

TEST(KnownBugs, Row22And23NanGoesThroughMaxAndMin) {
  const auto x = array(DType::kF32, {3}, {kNan, 1, 2}), y = array(DType::kF32, {3}, {0, kNan, 3});
  check({"extrema", "graph @g(%x: f32[3], %y: f32[3]) -> (a: f32[3], b: f32[3], c: f32[3], d: f32[3], e: f32[3], f: f32[], g: i64[], h: f32[3], i: f32[]) on cpu {\n"
         "  %0 = aten.maximum(%x, %y) : f32[3]\n  %1 = aten.minimum(%x, %y) : f32[3]\n  %2 = aten.clamp_min(%x, 0.5) : f32[3]\n"
         "  %3 = aten.clamp(%x, 0, 1) : f32[3]\n  %4 = aten.relu(%x) : f32[3]\n  %5 = aten.max(%x) : f32[]\n  %6 = aten.argmax(%x) : i64[]\n"
         "  %7 = aten.fmax(%x, %y) : f32[3]\n  %8 = aten.amin(%y) : f32[]\n  return %0, %1, %2, %3, %4, %5, %6, %7, %8\n}\n", {x, y},
         {array(DType::kF32, {3}, {kNan, kNan, 3}), array(DType::kF32, {3}, {kNan, kNan, 2}), array(DType::kF32, {3}, {kNan, 1, 2}),
          array(DType::kF32, {3}, {kNan, 1, 1}), array(DType::kF32, {3}, {kNan, 1, 2}), array(DType::kF32, {}, {kNan}), array(DType::kI64, {}, {0}),
          array(DType::kF32, {3}, {0, 1, 3}), array(DType::kF32, {}, {kNan})}});
  // Wherever it stands: in vector lanes, tails, chunks.
  for (const int64_t size : {1, 7, 8, 31, 33, 300, 5000}) {
    for (const int64_t place : {int64_t(0), size / 2, size - 1}) {
      std::vector<double> values;
      for (int64_t i = 0; i < size; ++i) values.push_back(i == place ? kNan : double(i % 13));
      const std::string n = std::to_string(size);
      const std::string graph = "graph @g(%x: f32[" + n + "]) -> (a: f32[], b: f32[], c: i64[], d: i64[]) on cpu {\n  %0 = aten.amax(%x) : f32[]\n"
          "  %1 = aten.amin(%x) : f32[]\n  %2 = aten.argmax(%x) : i64[]\n  %3 = aten.argmin(%x) : i64[]\n  return %0, %1, %2, %3\n}\n";
      auto context = Context::create({.threads = 2, .no_cache = true}).or_die();
      auto function = function_of(context, graph, MissPolicy::kVm).or_die();
      const HostArray in = array(DType::kF32, {size}, values);
      auto out = function.run({in.tensor()}).or_die();
      EXPECT_TRUE(std::isnan(element(copy_of(out[0]), 0)) && std::isnan(element(copy_of(out[1]), 0))) << size << " " << place;
      EXPECT_EQ(element(copy_of(out[2]), 0), double(place)) << size;
      EXPECT_EQ(element(copy_of(out[3]), 0), double(place)) << size;
    }
  }
}

TEST(KnownBugs, Row24SignOfNanIsZero) {
  check({"sign", "graph @g(%x: f32[5]) -> (y: f32[5]) on cpu {\n  %0 = aten.sign(%x) : f32[5]\n  return %0\n}\n",
         {array(DType::kF32, {5}, {kNan, 1, -2, 0, 0})}, {array(DType::kF32, {5}, {0, 1, -1, 0, 0})}});
}

TEST(KnownBugs, Row25NoFastMath) {
  check({"sin of atan", "graph @g(%x: f32[5]) -> (a: f32[1], b: f32[5], c: bool[5]) on cpu {\n  %0 = aten.slice.Tensor(%x, 0, 4, 5) : f32[1]\n"
         "  %1 = aten.sub.Tensor(%0, %0) : f32[1]\n  %2 = aten.div.Tensor(%1, %1) : f32[1]\n  %3 = aten.atan(%2) : f32[1]\n  %4 = aten.sin(%3) : f32[1]\n"
         "  %5 = aten.round(%x) : f32[5]\n  %6 = aten.mul.Scalar(%x, 0.0) : f32[5]\n  %7 = aten.div.Tensor(%6, %6) : f32[5]\n  %8 = aten.isnan(%7) : bool[5]\n  return %4, %5, %8\n}\n",
         {array(DType::kF32, {5}, {.5, 1.5, 2.5, -.5, -8.5})},
         {array(DType::kF32, {1}, {kNan}), array(DType::kF32, {5}, {0, 2, 2, -0.0, -8}), array(DType::kBool, {5}, {1, 1, 1, 1, 1})}});
}

TEST(KnownBugs, Row26TheHostsFloatingPointModeStays) {
  volatile float small = 1e-38f;
  const float before = small * .5f;
#if defined(__x86_64__)
  const unsigned mode = _mm_getcsr() & ~0x3fu;  // without the sticky exception bits
#endif
  const int rounding = std::fegetround();
  check({"denormals", "graph @g(%x: f32[2]) -> (y: f32[2]) on cpu {\n  %0 = aten.mul.Scalar(%x, 0.5) : f32[2]\n  return %0\n}\n",
         {array(DType::kF32, {2}, {1e-38, 5.6e-45})}, {array(DType::kF32, {2}, {0x1.b38fb8p-128, 2.8e-45})}});
  EXPECT_EQ(small * .5f, before);
  EXPECT_NE(before, 0);
#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & ~0x3fu, mode);
#endif
  EXPECT_EQ(std::fegetround(), rounding);
}

TEST(KnownBugs, Row28AnyNumberIsALiteral) {
  const std::pair<const char*, double> literals[] = {{"nan", kNan}, {"inf", kInf}, {"-inf", -kInf}, {"-0.0", -0.0},
                                                     {"1e-45", 1e-45}, {"3.4028234663852886e+38", 3.4028234663852886e+38}};
  for (const auto& [literal, value] : literals) {
    const std::string graph = "graph @g(%x: f32[1, 1]) -> (y: f32[1, 3]) on cpu {\n  %0 = aten.constant_pad_nd(%x, [1, 1], " + std::string(literal) +
                              ") : f32[1, 3]\n  return %0\n}\n";
    const double narrow = double(float(value));
    check({literal, graph.c_str(), {array(DType::kF32, {1, 1}, {1})}, {array(DType::kF32, {1, 3}, {narrow, 1, narrow})}});
  }
  check({"the least i64", "graph @g(%x: i64[1]) -> (y: i64[3]) on cpu {\n  %0 = aten.constant_pad_nd(%x, [1, 1], -9223372036854775808) : i64[3]\n  return %0\n}\n",
         {array(DType::kI64, {1}, {1})}, {array(DType::kI64, {3}, {-0x1p63, 1, -0x1p63})}});
}

TEST(KnownBugs, Row32ABadIndexInALargeTensorIsAStatus) {
  constexpr const char* kGraph = "graph @g(%x: f32[1, 8, 66, 66], %i: i64[1, 1]) -> (y: f32[1, 1, 8, 66, 66]) on cpu {\n"
      "  %0 = aten.sub.Scalar(%x, 0.5) : f32[1, 8, 66, 66]\n  %1 = aten.index.Tensor(%0, [%i]) : f32[1, 1, 8, 66, 66]\n  return %1\n}\n";
  for (const bool compiled : {false, true}) {
    auto context = Context::create({.threads = 2, .no_cache = true}).or_die();
    auto function = function_of(context, kGraph, compiled ? MissPolicy::kCompileNow : MissPolicy::kVm).or_die();
    const HostArray x(DType::kF32, {1, 8, 66, 66});
    HostArray index = array(DType::kI64, {1, 1}, {1});
    auto y = function.run({x.tensor(), index.tensor()});
    ASSERT_FALSE(y.ok());
    EXPECT_EQ(code_name(y.status().code()), "OUT_OF_RANGE") << y.status().message();
    index.as<int64_t>()[0] = -1;  // legal in index: counts from the end
    y = function.run({x.tensor(), index.tensor()});
    ASSERT_TRUE(y.ok()) << text(y.status());
    EXPECT_EQ((*y)[0].values<float>()[0], -.5f);
  }
}

TEST(KnownBugs, Row38ReductionsOverNothing) {
  check({"empty rows", "graph @g(%x: f32[2, 0]) -> (a: f32[2], b: f32[2], c: bool[2], d: bool[2], e: f32[2]) on cpu {\n"
         "  %s = aten.sum.dim_IntList(%x, [1]) : f32[2]\n  %0 = aten.abs(%s) : f32[2]\n  %1 = aten.prod.dim_int(%x, 1) : f32[2]\n  %2 = aten.any.dim(%x, 1) : bool[2]\n"
         "  %3 = aten.all.dim(%x, 1) : bool[2]\n  %4 = aten.mean.dim(%x, [1]) : f32[2]\n  return %0, %1, %2, %3, %4\n}\n",
         {array(DType::kF32, {2, 0}, {})}, {array(DType::kF32, {2}, {0, 0}), array(DType::kF32, {2}, {1, 1}), array(DType::kBool, {2}, {0, 0}),
         array(DType::kBool, {2}, {1, 1}), array(DType::kF32, {2}, {kNan, kNan})}});
  // An empty tensor has no memory; its strides mean nothing.
  auto context = Context::create({.threads = 1, .no_cache = true, .no_compiler = true}).or_die();
  auto function = function_of(context, "graph @g(%x: f32[2, 0]) -> (y: f32[2]) on cpu {\n  %0 = aten.sum.dim_IntList(%x, [1]) : f32[2]\n  return %0\n}\n", MissPolicy::kVm).or_die();
  const int64_t dims[] = {2, 0}, strides[] = {77, -5};
  auto y = function.run({Tensor::lend(nullptr, DType::kF32, dims, strides)});
  ASSERT_TRUE(y.ok()) << text(y.status());
  EXPECT_EQ((*y)[0].values<float>()[1], 0);
  auto extreme = function_of(context, "graph @g(%x: f32[2, 0]) -> (y: f32[2]) on cpu {\n  %0 = aten.amax(%x, [1]) : f32[2]\n  return %0\n}\n", MissPolicy::kVm);
  EXPECT_FALSE(extreme.ok()) << "the maximum of nothing";
}

TEST(KnownBugs, Row41FloatsAreNoGuards) {
  constexpr const char* kGraph = "graph @g(%x: f32[2], %c: f64) -> (y: f32[2]) on cpu {\n  %0 = aten.mul.Scalar(%x, %c) : f32[2]\n"
                                 "  %1 = aten.reciprocal(%0) : f32[2]\n  return %1\n}\n";
  auto context = Context::create({.threads = 1, .no_cache = true}).or_die();
  auto function = function_of(context, kGraph).or_die();
  const HostArray x = array(DType::kF32, {2}, {1, 1});
  for (const double c : {0.0, -0.0, kNan, kNan, 2.0}) {
    auto y = function.run({x.tensor(), Tensor::number(c)});
    ASSERT_TRUE(y.ok()) << text(y.status());
    const double expected = 1 / c;
    const float found = (*y)[0].values<float>()[0];
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == float(expected)) << c << " gives " << found;
  }
  EXPECT_EQ(function.counter("entries").or_die(), 1);
  EXPECT_EQ(function.counter("misses").or_die(), 1);
}

TEST(KnownBugs, Row56StridesAndAlignmentOfTheCaller) {
  constexpr const char* kGraph = "graph @g(%x: f32[3, 8]) -> (y: f32[3, 8], s: f32[3]) on cpu {\n  %0 = aten.mul.Scalar(%x, 2.0) : f32[3, 8]\n"
                                 "  %1 = aten.sum.dim_IntList(%x, [1]) : f32[3]\n  return %0, %1\n}\n";
  for (const bool compiled : {false, true}) {
    auto context = Context::create({.threads = 1, .no_cache = true}).or_die();
    auto function = function_of(context, kGraph, compiled ? MissPolicy::kCompileNow : MissPolicy::kVm).or_die();
    std::vector<float> memory(100);
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = float(i);
    const int64_t dims[] = {3, 8};
    struct Layout {
      size_t first;
      int64_t row, column;
    };
    for (const Layout& layout : {Layout{0, 8, 1}, Layout{1, 8, 1}, Layout{3, 8, 1}, Layout{0, 1, 8}, Layout{5, 0, 1}, Layout{9, 8, 0}, Layout{0, 20, 2}, Layout{50, -8, 1}, Layout{50, 8, -1}}) {
      const int64_t strides[] = {layout.row, layout.column};
      auto y = function.run({Tensor::lend(&memory[layout.first], DType::kF32, dims, strides)});
      if (!y.ok()) {  // may refuse, with a reason
        EXPECT_NE(y.status().field("input"), "") << y.status().message();
        EXPECT_TRUE(layout.row < 0 || layout.column < 0) << text(y.status());
        continue;
      }
      for (int64_t row = 0; row < 3; ++row) {
        float sum = 0;
        for (int64_t column = 0; column < 8; ++column) {
          const float x = memory[size_t(int64_t(layout.first) + row * layout.row + column * layout.column)];
          sum += x;
          EXPECT_EQ((*y)[0].values<float>()[row * 8 + column], 2 * x) << layout.first << " " << layout.row << " " << layout.column;
        }
        EXPECT_EQ((*y)[1].values<float>()[row], sum);
      }
    }
  }
}

}  // namespace
}  // namespace tenon::tests
