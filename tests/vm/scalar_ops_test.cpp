// Every operation on every type it has, at lengths around the block's, with operands as blocks and as single values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "artifact/artifact.hpp"
#include "runtime/vm/vm.hpp"
#include "vm/evaluator.hpp"
#include "vm/program_case.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;

constexpr DType kTypes[] = {DType::kBool, DType::kU8,  DType::kI8,  DType::kI16, DType::kI32, DType::kI64, DType::kF16,
                            DType::kBF16, DType::kF32, DType::kF64, DType::kU16, DType::kU32, DType::kU64};

bool is_function(ScalarOp op) {
  switch (op) {
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
    case ScalarOp::kReciprocal: return false;
    case ScalarOp::kPow:
    case ScalarOp::kAtan2: return true;
    default: return op >= ScalarOp::kExp && op <= ScalarOp::kSigmoid;
  }
}

Address along(int axis, int64_t stride = 1) { return {{}, {{axis, {stride, -1}}}, -1}; }

// y[i] = op(a[i], b[i], c[i]); bit k of `single`: operand k is one element.
ProgramCase make_case(ScalarOp op, DType result, const std::vector<DType>& operands, long n, int single, std::mt19937_64& random) {
  ProgramCase test;
  Stage stage;
  stage.axes.push_back({test.size(n, random), false, 0, -1});
  int value[3] = {-1, -1, -1};
  for (size_t k = 0; k < operands.size(); ++k) {
    const int parameter = test.add_buffer(operands[k], size_t(n), false, random);
    stage.body.push_back(load_op(operands[k], parameter, single >> k & 1 ? Address{} : along(0)));
    value[k] = int(stage.body.size()) - 1;
  }
  stage.body.push_back(value_op(op, result, value[0], value[1], value[2]));
  const int out = test.add_buffer(result, size_t(n), true, random);
  stage.stores.push_back({out, along(0), int(stage.body.size()) - 1});
  test.program.stages.push_back(stage);
  test.program.name = name(op);
  return test;
}

void set_real(ProgramCase& test, int parameter, size_t at, double value) {
  const DType dtype = test.program.parameters[parameter].dtype;
  write_element(&test.memory[parameter][at * size_bytes(dtype)], {dtype, value, 0});
}

TEST(ScalarOps, EveryOperationOfEveryTypeAgreesWithTheEvaluator) {
  std::mt19937_64 random(1);
  int cases = 0;
  for (const target::TargetInfo& target : host_targets()) {
    for (int number = int(ScalarOp::kNeg); number <= int(ScalarOp::kFma); ++number) {
      const ScalarOp op = ScalarOp(number);
      for (DType operand : kTypes) {
        const bool boolean = op == ScalarOp::kIsNan || op == ScalarOp::kIsInf || op == ScalarOp::kLogicalNot ||
                             (op >= ScalarOp::kEq && op <= ScalarOp::kGe);
        std::vector<DType> operands(size_t(operand_count(op)), operand);
        if (op == ScalarOp::kSelect) operands[0] = DType::kBool;
        const DType result = boolean ? DType::kBool : operand;
        for (long n : {1L, 3L, 31L, 64L, 200L, 512L, 515L, 1100L}) {
          const int single = int(random() % 8);
          ProgramCase test = make_case(op, result, operands, n, single, random);
          if (!verify(test.program, 100).ok()) continue;  // not an operation of this type
          const bool real = operand == DType::kF32 || operand == DType::kF64;
          if (real && !is_function(op) && op != ScalarOp::kSelect && n > 40) {
            const double limit = operand == DType::kF32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
            const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, limit, -limit, 0.5, -0.5, 2.5, 1e-40, 1e30};
            for (size_t k = 0; k < operands.size(); ++k) {
              for (int i = 0; i < 36; ++i) set_real(test, int(k), size_t(i), special[random() % 12]);
            }
          }
          if (!real && operands.size() == 2 && operand != DType::kBool && n > 40) {  // extremes and powers
            for (int i = 0; i < 20; ++i) {
              const int64_t minimum = is_signed(operand) ? int64_t(~uint64_t(0) << (size_bytes(operand) * 8 - 1)) : -1;
              write_element(&test.memory[0][size_t(i) * size_bytes(operand)], {operand, 0, random() % 2 ? minimum : int64_t(uint64_t(minimum) - 1)});
              write_element(&test.memory[1][size_t(i) * size_bytes(operand)], {operand, 0, int64_t(random() % 3) - 1});
            }
          }
          if (can_fail(op, operand) && random() % 4) {
            for (size_t i = 0; i < size_t(n); ++i) {
              char* at = &test.memory[1][i * size_bytes(operand)];
              if (read_element(operand, at).integer == 0) write_element(at, {operand, 0, 7});
            }
          }
          if (is_function(op)) {
            for (size_t k = 0; k < operands.size(); ++k) {
              const bool inside = op == ScalarOp::kAsin || op == ScalarOp::kAcos || op == ScalarOp::kAtanh || op == ScalarOp::kErf;
              for (size_t i = 0; i < size_t(n); ++i) {
                double x = double(random() % 20001) / 1000 - 10;
                if (inside) x /= 10.01;
                if (op == ScalarOp::kPow) x = k == 0 ? std::fabs(x) + 0.01 : x / 3;
                set_real(test, int(k), i, x);
              }
            }
          }
          const double tolerance = !is_function(op) ? 0 : operand == DType::kF32 ? 1e-6 : 1e-14;
          ASSERT_EQ(compare_with_evaluator(test, target, tolerance), "") << name(op) << " " << name(operand) << " n " << n;
          ++cases;
        }
      }
    }
  }
  EXPECT_GT(cases, 3000 * int(host_targets().size()) / 2);
}

TEST(ScalarOps, ConversionsBetweenAllTypes) {
  std::mt19937_64 random(2);
  for (const target::TargetInfo& target : host_targets()) {
    for (DType from : kTypes) {
      for (DType to : kTypes) {
        for (long n : {1L, 37L, 512L, 700L}) {
          ProgramCase test = make_case(ScalarOp::kConvert, to, {from}, n, n == 37, random);
          // A negative or too great float to an integer is outside of what C defines.
          if (is_floating(from) && !is_floating(to) && to != DType::kBool) {
            for (size_t i = 0; i < size_t(n); ++i) {
              const double x = double(random() % 1000) / 8;
              const int64_t half = int64_t(random() % (from == DType::kF16 ? 0x5700 : 0x42f0));
              write_element(&test.memory[0][i * size_bytes(from)], {from, x, half});
            }
          }
          if (from == DType::kF32 && (to == DType::kF16 || to == DType::kBF16)) {
            for (size_t i = 0; i < size_t(n); ++i) {
              const float x = std::ldexp(float(random() % (1 << 24)) / (1 << 23), int(random() % 60) - 40);
              set_real(test, 0, i, random() % 2 ? x : -x);
            }
            const double special[] = {INFINITY, -INFINITY, NAN, 65519.9, 65520, 6e-8, 2.98e-8, 0.0, -0.0, 1e38};
            for (size_t i = 0; i < std::min<size_t>(10, size_t(n)); ++i) set_real(test, 0, i, special[i]);
          }
          ASSERT_EQ(compare_with_evaluator(test, target), "") << name(from) << " to " << name(to) << " n " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::tests
