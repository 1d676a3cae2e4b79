// Values computed by hand (or known ones of PyTorch), so that the oracle itself is held to something.
#include "reference/interpreter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/parse.hpp"
#include "ops/registry.hpp"

namespace tenon::testing {
namespace {

using ::testing::ElementsAre;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Dense tensor(DType dtype, std::vector<int64_t> dims, std::vector<double> values) {
  Dense made = zeros(dtype, std::move(dims));
  EXPECT_EQ(made.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (made.is_real()) made.reals[i] = values[i];
    else made.integers[i] = int64_t(values[i]);
  }
  return made;
}
Dense f32(std::vector<int64_t> dims, std::vector<double> values) { return tensor(DType::kF32, dims, values); }
Dense i64(std::vector<int64_t> dims, std::vector<double> values) { return tensor(DType::kI64, dims, values); }
Dense i8(std::vector<double> values) { return tensor(DType::kI8, {int64_t(values.size())}, values); }
Dense boolean(std::vector<double> values) { return tensor(DType::kBool, {int64_t(values.size())}, values); }

// One call on %a, %b, %c, which are the inputs.
Result<Dense> run(const std::string& call, const std::vector<Dense>& inputs, Precision precision = Precision::kStorage) {
  std::string text = "graph @test(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += std::string(i ? ", %" : "%") + char('a' + i) + ": " + std::string(name(inputs[i].dtype)) + "[";
    for (size_t d = 0; d < inputs[i].dims.size(); ++d) text += (d ? ", " : "") + std::to_string(inputs[i].dims[d]);
    text += "]";
  }
  text += ") -> (y: ?" "?) on cpu {\n  %0 = " + call + " : ?" "?\n  return %0\n}\n";
  auto graph = graph::parse(text, ops::registry());
  if (!graph.ok()) return std::move(graph).status();
  auto answers = interpret(**graph, inputs, {}, {}, precision);
  if (!answers.ok()) return std::move(answers).status();
  return answers->outputs[0];
}

std::vector<double> values(const std::string& call, const std::vector<Dense>& inputs) {
  const Result<Dense> result = run(call, inputs);
  EXPECT_TRUE(result.ok()) << call << ": " << result.status().message();
  std::vector<double> all;
  for (size_t i = 0; result.ok() && i < result->size(); ++i) all.push_back(result->number(i));
  return all;
}

TEST(Interpreter, IntegersWrapAndDivideAsPyTorch) {
  const std::vector<Dense> ab = {i8({-7, 7, -7, 7}), i8({2, -2, -2, 2})};
  EXPECT_THAT(values("prim.floor_div(%a, %b)", ab), ElementsAre(-4, -4, 3, 3));
  EXPECT_THAT(values("prim.remainder(%a, %b)", ab), ElementsAre(1, -1, -1, 1));
  EXPECT_THAT(values("prim.div(%a, %b)", ab), ElementsAre(-3, -3, 3, 3));
  EXPECT_THAT(values("prim.fmod(%a, %b)", ab), ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(values("prim.abs(%a)", {i8({-128, -1})}), ElementsAre(-128, 1));
  EXPECT_THAT(values("prim.mul(%a, %a)", {i8({12})}), ElementsAre(-112));
  EXPECT_THAT(values("prim.neg(%a)", {tensor(DType::kU8, {1}, {200})}), ElementsAre(56));
  EXPECT_THAT(values("prim.pow(%a, %b)", {i8({2, 1, -1, 3}), i8({-1, -5, -3, 5})}), ElementsAre(0, 1, -1, -13));
  EXPECT_THAT(values("prim.shl(%a, %b)", {i8({1, 1, 3}), i8({7, 8, 1})}), ElementsAre(-128, 0, 6));
  EXPECT_THAT(values("prim.shr(%a, %b)", {i8({-128, -1, 8}), i8({7, 9, 2})}), ElementsAre(-1, -1, 2));
  EXPECT_EQ(run("prim.div(%a, %b)", {i8({1}), i8({0})}).status().code(), Code::kInvalidArgument);
  EXPECT_THAT(values("prim.floor_div(%a, -1)", {tensor(DType::kI32, {1}, {-2147483648.0})}), ElementsAre(-2147483648.0));
}

TEST(Interpreter, RealsDivideAndRoundAsPyTorch) {
  EXPECT_THAT(values("prim.floor_div(%a, %b)", {f32({3}, {1, 0.5, 6}), f32({3}, {0.1f, 0.1f, 0.2f})}), ElementsAre(9, 4, 29));
  EXPECT_THAT(values("prim.remainder(%a, %b)", {f32({2}, {-7, 7}), f32({2}, {2, -2})}), ElementsAre(1, -1));
  EXPECT_THAT(values("prim.round(%a)", {f32({4}, {0.5, 1.5, 2.5, -0.5})}), ElementsAre(0, 2, 2, 0));
  EXPECT_THAT(values("prim.sign(%a)", {f32({3}, {kNaN, -2, 0})}), ElementsAre(0, -1, 0));
  EXPECT_TRUE(std::isnan(values("prim.max(%a, 3.0)", {f32({1}, {kNaN})})[0]));
  EXPECT_THAT(values("prim.convert(%a, i64)", {f32({4}, {-1.9, 1.9, kInf, kNaN})}),
              ElementsAre(-1, 1, double(INT64_MIN), double(INT64_MIN)));
  EXPECT_THAT(values("prim.convert(%a, bool)", {f32({3}, {0, 0.25, kNaN})}), ElementsAre(0, 1, 1));
}

TEST(Interpreter, PrecisionTellsWhereValuesAreRounded) {
  EXPECT_EQ(run("prim.add(%a, 1e-10)", {f32({1}, {1})})->reals[0], 1.0);
  EXPECT_EQ(run("prim.add(%a, 1e-10)", {f32({1}, {1})}, Precision::kDouble)->reals[0], 1.0 + 1e-10);
  EXPECT_EQ(run("prim.convert(%a, bf16)", {f32({1}, {3.14})})->reals[0], 3.140625);
  EXPECT_EQ(run("prim.convert(%a, f16)", {f32({1}, {70000})})->reals[0], kInf);
}

TEST(Interpreter, ComparesAndChooses) {
  EXPECT_THAT(values("prim.lt(%a, %b)", {f32({3}, {1, kNaN, 2}), f32({3}, {2, 2, 2})}), ElementsAre(1, 0, 0));
  EXPECT_THAT(values("prim.ne(%a, %b)", {f32({1}, {kNaN}), f32({1}, {kNaN})}), ElementsAre(1));
  EXPECT_THAT(values("prim.where(%a, %b, -1.0)", {boolean({1, 0}), f32({2, 1}, {3, 4})}), ElementsAre(3, -1, 4, -1));
}

TEST(Interpreter, MovesElements) {
  const Dense x = i64({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(values("prim.permute(%a, [1, 0])", {x}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values("prim.reshape(%a, [3, 2])", {x}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values("prim.expand(%a, [2, 2])", {i64({2, 1}, {7, 8})}), ElementsAre(7, 7, 8, 8));
  EXPECT_THAT(values("prim.slice(%a, 1, 0, 3, 2)", {x}), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(values("prim.flip(%a, [1])", {x}), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(values("prim.pad(%a, [0, 1], [1, 0], 9)", {x}), ElementsAre(9, 0, 1, 2, 9, 3, 4, 5, 9, 9, 9, 9));
  EXPECT_THAT(values("prim.cat([%a, %b], 1)", {x, i64({2, 1}, {8, 9})}), ElementsAre(0, 1, 2, 8, 3, 4, 5, 9));
  EXPECT_THAT(values("prim.iota(4, i32)", {}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(values("prim.full([2], 3, f32)", {}), ElementsAre(3, 3));
}

TEST(Interpreter, PicksElements) {
  const Dense x = i64({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(values("prim.take(%a, %b, 1, true)", {x, i64({2}, {-1, 0})}), ElementsAre(2, 0, 5, 3));
  EXPECT_EQ(run("prim.take(%a, %b, 1, false)", {x, i64({1}, {-1})}).status().code(), Code::kOutOfRange);
  EXPECT_THAT(values("prim.gather(%a, 1, %b)", {x, i64({2, 2}, {2, 2, 0, 1})}), ElementsAre(2, 2, 3, 4));
  EXPECT_THAT(values("prim.index(%a, [%b, %c])", {x, i64({2}, {0, -1}), i64({2}, {1, 2})}), ElementsAre(1, 5));
  // Indices that stand apart: their dims come first. x[i, :, j] of 2 x 2 x 3 elements 0 to 11.
  const Dense cube = i64({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THAT(values("prim.index(%a, [%b, none, %c])", {cube, i64({3}, {0, 1, 1}), i64({3}, {0, 1, 2})}),
              ElementsAre(0, 3, 7, 10, 8, 11));
  EXPECT_THAT(values("prim.index(%a, [none, %b])", {x, i64({2, 1}, {2, 0})}), ElementsAre(2, 0, 5, 3));
}

TEST(Interpreter, Reduces) {
  const Dense x = f32({2, 3}, {1, 5, 5, -2, kNaN, 0});
  EXPECT_THAT(values("prim.sum(%a, [0, 1], false)", {f32({2, 2}, {1, 2, 3, 4})}), ElementsAre(10));
  EXPECT_THAT(values("prim.prod(%a, [0], true)", {f32({2, 2}, {1, 2, 3, 4})}), ElementsAre(3, 8));
  EXPECT_THAT(values("prim.argmax(%a, 1, false)", {x}), ElementsAre(1, 1));
  EXPECT_THAT(values("prim.argmin(%a, 1, false)", {x}), ElementsAre(0, 1));
  const std::vector<double> largest = values("prim.amax(%a, [1], false)", {x});
  EXPECT_EQ(largest[0], 5);
  EXPECT_TRUE(std::isnan(largest[1]));
  EXPECT_THAT(values("prim.any(%a, [0], false)", {boolean({0, 1})}), ElementsAre(1));
  EXPECT_THAT(values("prim.all(%a, [0], false)", {boolean({0, 1})}), ElementsAre(0));
  EXPECT_THAT(values("prim.all(%a, [0], false)", {boolean({})}), ElementsAre(1));
  EXPECT_THAT(values("prim.cumsum(%a, 0)", {f32({2, 2}, {1, 2, 3, 4})}), ElementsAre(1, 2, 4, 6));
}

TEST(Interpreter, HeavyOnes) {
  EXPECT_THAT(values("prim.matmul(%a, %b)", {f32({2, 2}, {1, 2, 3, 4}), f32({2, 1}, {5, 6})}), ElementsAre(17, 39));
  EXPECT_THAT(values("prim.softmax(%a, 0)", {f32({2, 2}, {1, 0, 1, -kInf})}), ElementsAre(0.5, 1, 0.5, 0));
  EXPECT_NEAR(values("prim.softmax(%a, 0, true)", {f32({2}, {0, 0})})[1], -std::log(2), 1e-7);
  EXPECT_THAT(values("prim.layer_norm(%a, 1, %b, none, 0.0)", {f32({1, 2}, {3, 5}), f32({2}, {1, 10})}), ElementsAre(-1, 10));
  // Two equal keys: the mean of the values; the masked one is not seen, and a row that sees nothing is 0 or NaN.
  const Dense q = f32({1, 1, 1, 1}, {1}), k = f32({1, 1, 2, 1}, {2, 2}), v = f32({1, 1, 2, 1}, {10, 20});
  EXPECT_THAT(values("prim.attention(%a, %b, %c, none, 1.0, false, true)", {q, k, v}), ElementsAre(15));
  EXPECT_THAT(values("prim.attention(%a, %b, %c, none, 1.0, true, true)", {q, k, v}), ElementsAre(10));
  EXPECT_THAT(values("prim.attention(%a, %b, %c, %d, 1.0, false, true)", {q, k, v, boolean({0, 1})}), ElementsAre(20));
  EXPECT_THAT(values("prim.attention(%a, %b, %c, %d, 1.0, false, true)", {q, k, v, boolean({0, 0})}), ElementsAre(0));
  EXPECT_TRUE(std::isnan(values("prim.attention(%a, %b, %c, %d, 1.0, false, false)", {q, k, v, boolean({0, 0})})[0]));
  // log(3) added to a score triples its weight.
  EXPECT_NEAR(values("prim.attention(%a, %b, %c, %d, 1.0, false, true)", {q, k, v, f32({2}, {0, std::log(3)})})[0], 17.5, 1e-5);
}

TEST(Interpreter, StatesConstantsAndWriteBacks) {
  auto graph = graph::parse(
      "graph @test(%x: f32[s0]) -> (y: f32[s0], n: i64) on cpu where s0 in [1, 8] {\n"
      "  %t = state \"t\" = [1.0] : f32[1]\n"
      "  %c = constant \"c\" = [2.0] : f32[1]\n"
      "  %0 = prim.add(%t, %c) : f32[1]\n"
      "  %1 = prim.mul(%x, %0) : f32[s0]\n"
      "  write %t = %0\n"
      "  return %1, s0\n}\n",
      ops::registry());
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const std::vector<int64_t> sizes = {2};
  const std::vector<Dense> inputs = {f32({2}, {1, 10})};
  auto first = interpret(**graph, inputs, {}, sizes, Precision::kStorage);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_THAT(first->outputs[0].reals, ElementsAre(3, 30));
  EXPECT_THAT(first->outputs[1].integers, ElementsAre(2));
  auto second = interpret(**graph, inputs, first->write_backs, sizes, Precision::kStorage);
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(second->outputs[0].reals, ElementsAre(5, 50));
}

TEST(Interpreter, KnowsEveryPrimitive) {
  size_t primitives = 0;
  for (const graph::Operator* op : ops::registry()->all()) {
    if (!op->primitive) continue;
    ++primitives;
    EXPECT_TRUE(is_interpreted(op->schema.name)) << op->schema.name;
  }
  EXPECT_GT(primitives, 70u);
}

TEST(Npy, ReadsWhatItWroteAndFortranOrder) {
  const std::string path = ::testing::TempDir() + "/tenon_npy_test.npy";
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kU16, DType::kI32, DType::kU32,
                            DType::kI64, DType::kU64, DType::kF16, DType::kF32, DType::kF64}) {
    const Array array = array_of(tensor(dtype, {2, 1, 3}, {0, 1, 1, 0, 0, 1}));
    ASSERT_TRUE(write_npy(path, array).ok());
    const Result<Array> read = read_npy(path);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->dtype, dtype);
    EXPECT_EQ(read->dims, array.dims);
    EXPECT_EQ(read->bytes, array.bytes);
  }
  std::string header = "{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }";
  std::string file = std::string("\x93NUMPY\x01\0", 8) + char(header.size()) + '\0' + header + std::string("\1\4\2\5\3\6", 6);
  FILE* out = fopen(path.c_str(), "wb");
  fwrite(file.data(), 1, file.size(), out);
  fclose(out);
  EXPECT_THAT(dense_of(*read_npy(path)).integers, ElementsAre(1, 2, 3, 4, 5, 6));
  out = fopen(path.c_str(), "wb");
  fwrite(file.data(), 1, file.size() - 1, out);
  fclose(out);
  EXPECT_EQ(read_npy(path).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace tenon::testing
