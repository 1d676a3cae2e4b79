#include <gtest/gtest.h>

#include <cmath>

#include "import/json_view.hpp"
#include "import/pt2_outputs.hpp"
#include "import/sympy_text.hpp"

namespace tenon::import {
namespace {

TEST(JsonView, TellsThePathOfWhatIsWrong) {
  const auto document = JsonDocument::parse(R"({"a": {"b": [1, "x", {"c": true}]}})", "file.json");
  ASSERT_TRUE(document.ok());
  const JsonView list = *document->root().member("a")->member("b");
  const auto elements = list.elements();
  ASSERT_EQ(elements->size(), 3u);
  EXPECT_EQ((*elements)[1].integer().status().message(), "file.json: $.a.b[1]: expected an integer, found text");
  EXPECT_EQ((*elements)[2].member("d").status().message(),
            "file.json: $.a.b[2]: expected the member 'd', found none");
  EXPECT_EQ((*elements)[0].member("d").status().code(), Code::kInvalidArgument);
}

TEST(JsonView, ReadsNumbersExactlyAndNonFiniteOnes) {
  const auto document = JsonDocument::parse(R"([0.1767766952966369, "-Infinity", "NaN", "x", 9223372036854775807])", "f");
  const auto elements = document->root().elements();
  EXPECT_EQ(*(*elements)[0].number(), 0.1767766952966369);
  EXPECT_EQ(*(*elements)[1].number(), -INFINITY);
  EXPECT_TRUE(std::isnan(*(*elements)[2].number()));
  EXPECT_FALSE((*elements)[3].number().ok());
  EXPECT_EQ(*(*elements)[4].integer(), INT64_MAX);
}

TEST(JsonDocument, DeepNestingNeedsNoStack) {
  const std::string deep = std::string(1000000, '[');
  EXPECT_EQ(JsonDocument::parse(deep, "f").status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(JsonDocument::parse(deep + std::string(1000000, ']'), "f").ok());
}

class Sympy : public testing::Test {
 protected:
  Result<symbolic::Expr> parse(std::string_view text) {
    return parse_sympy_integer(text, facts_, [this](std::string_view name) -> Result<symbolic::Expr> {
      return pool_.of(pool_.symbol(name, symbolic::SymbolKind::kSize));
    });
  }
  std::string shown(std::string_view text) {
    const auto parsed = parse(text);
    return parsed.ok() ? pool_.print(*parsed) : std::string(parsed.status().message());
  }
  symbolic::Expr infix(std::string_view text) { return *pool_.parse(text, symbolic::SymbolKind::kSize); }

  symbolic::Pool pool_;
  symbolic::Facts facts_{pool_};
};

TEST_F(Sympy, ReadsWhatTorchWrites) {
  const struct {
    std::string_view sympy, infix;
  } kCases[] = {
      {"Symbol('s77', positive=True, integer=True)", "s77"},
      {"Mul(Integer(3), Symbol('s77', positive=True, integer=True))", "3*s77"},
      {"Add(Mul(Integer(2), Symbol('a')), Symbol('b'), Integer(-1))", "2*a + b - 1"},
      {"Pow(Symbol('s27', positive=True, integer=True), Integer(2))", "s27*s27"},
      {"FloorDiv(Add(Symbol('a'), Integer(1)), Integer(2))", "(a + 1)//2"},
      {"CleanDiv(Symbol('a'), Integer(4))", "a//4"},
      {"Mod(Mul(Integer(2), Symbol('a')), Integer(3))", "(2*a) % 3"},
      {"PythonMod(Symbol('a'), Symbol('b'))", "a % b"},
      {"ModularIndexing(Symbol('a'), Integer(4), Integer(3))", "(a//4) % 3"},
      {"Max(Integer(1), Symbol('a'))", "max(1, a)"},
      {"Min(Symbol('b'), Symbol('a'), Integer(7))", "min(min(a, b), 7)"},
      {"CeilToInt(IntTrueDiv(Symbol('a'), Integer(3)))", "-((-a)//3)"},
      {"Integer(5)", "5"},
  };
  for (const auto& one : kCases) {
    const auto parsed = parse(one.sympy);
    ASSERT_TRUE(parsed.ok()) << one.sympy << ": " << parsed.status().message();
    EXPECT_EQ(pool_.print(*parsed), pool_.print(infix(one.infix))) << one.sympy;
  }
}

TEST_F(Sympy, RefusesTheRest) {
  EXPECT_EQ(parse("Piecewise(Symbol('a'), Integer(1))").status().code(), Code::kUnimplemented);
  EXPECT_EQ(parse("IntTrueDiv(Symbol('a'), Integer(2))").status().code(), Code::kUnimplemented);
  for (const std::string_view bad :
       {"", "Integer(", "Integer(1))", "Integer(99999999999999999999)", "Symbol()", "Symbol('a", "Add()", "7",
        "Pow(Symbol('a'), Integer(-1))", "FloorDiv(Symbol('a'), Integer(0))", "Add(Symbol('a'),)", "(1)"}) {
    EXPECT_EQ(parse(bad).status().code(), Code::kInvalidArgument) << bad << " " << shown(bad);
  }
  std::string deep = "Integer(1)";
  for (int i = 0; i < 5000; ++i) deep = "Add(" + deep + ")";
  EXPECT_EQ(parse(deep).status().code(), Code::kInvalidArgument);
}

TEST_F(Sympy, ReadsConditions) {
  const auto resolve = [this](std::string_view name) -> Result<symbolic::Expr> {
    return pool_.of(pool_.symbol(name, symbolic::SymbolKind::kSize));
  };
  const auto parsed = parse_sympy_condition(
      "And(GreaterThan(Symbol('a'), Integer(2)), Not(Equality(Symbol('a'), Symbol('b'))))", facts_, resolve);
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0], (symbolic::Predicate{symbolic::Relation::kLe, infix("2"), infix("a")}));
  EXPECT_EQ((*parsed)[1].relation, symbolic::Relation::kNe);
}

TEST(OutputNames, FollowDictsAndFallBackToPositions) {
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  const std::string pair = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" + leaf + "," + leaf + "]}";
  EXPECT_EQ(*output_names("[1, " + pair + "]", 2), (std::vector<std::string>{"output_0", "output_1"}));
  EXPECT_EQ(*output_names("", 1), (std::vector<std::string>{"output_0"}));
  const std::string dict = R"({"type": "builtins.dict", "context": "[\"sum\", \"parts\"]", "children_spec": [)" + leaf +
                           "," + pair + "]}";
  EXPECT_EQ(*output_names("[1, " + dict + "]", 3), (std::vector<std::string>{"sum", "parts_0", "parts_1"}));
  EXPECT_EQ(output_names("[1, " + dict + "]", 4).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(output_names("[1", 1).ok());
}

}  // namespace
}  // namespace tenon::import
