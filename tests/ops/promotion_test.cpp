#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "ops/one_call.hpp"
#include "ops/promotion.hpp"

namespace tenon::ops {
namespace {

PromotionOperand operand(const std::string& dtype, const std::string& kind) {
  const DType parsed = *parse_dtype(dtype);
  if (kind == "number") return {is_floating(parsed) ? DType::kF32 : parsed, true, true};
  return {parsed, kind == "zero", false};
}

TEST(Promotion, AgreesWithAten) {
  std::ifstream file(TENON_SOURCE_DIR "/tests/ops/promotion.txt");
  ASSERT_TRUE(file.good());
  std::string line;
  size_t results = 0, calls = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "result_type") {
      std::string a, a_kind, b, b_kind, expected;
      words >> a >> a_kind >> b >> b_kind >> expected;
      const PromotionOperand operands[] = {operand(a, a_kind), operand(b, b_kind)};
      const std::optional<DType> found = promote(operands);
      EXPECT_EQ(found ? std::string(name(*found)) : "error", expected) << line;
      ++results;
    } else if (kind == "call") {
      std::string dtype, expected, call;
      words >> dtype >> expected;
      std::getline(words, call);
      const Outcome outcome = infer({"x: " + dtype + "[2], m: bool[2]", "%y =" + call});
      const size_t end = outcome.types.find('[');
      const std::string found = outcome.types.find(' ') < end ? "error" : outcome.types.substr(0, end);
      EXPECT_EQ(found, expected) << line << ": " << outcome.types;
      ++calls;
    }
  }
  EXPECT_GT(results, 700u);
  EXPECT_GT(calls, 300u);
}

}  // namespace
}  // namespace tenon::ops
