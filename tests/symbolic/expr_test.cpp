// The Pool's canonical form, printing, parsing, evaluation.

#include <gtest/gtest.h>

#include "symbolic/expr.hpp"

namespace tenon::symbolic {
namespace {

class ExprTest : public testing::Test {
 protected:
  ExprTest() {
    for (const char* name : {"s0", "s1", "s2"}) pool.symbol(name, SymbolKind::kSize);
    for (const char* name : {"i", "j", "k"}) pool.symbol(name, SymbolKind::kIndex);
  }
  Expr parse(std::string_view text) {
    Result<Expr> e = pool.parse(text);
    EXPECT_TRUE(e.ok()) << text << ": " << e.status().message();
    return e.ok() ? *e : Expr{};
  }
  std::string canonical(std::string_view text) { return pool.print(parse(text)); }

  Pool pool;
};

struct Case {
  const char* in;
  const char* out;
};

TEST_F(ExprTest, CanonicalForm) {
  const Case cases[] = {
      {"0", "0"},
      {"-3", "-3"},
      {"2 + 3*4 - 1", "13"},
      {"s1 + s0", "s0 + s1"},
      {"s0 + 1", "1 + s0"},
      {"s1*2*s0 + 1", "1 + 2*s0*s1"},
      {"s0 - s0", "0"},
      {"s0*0", "0"},
      {"-(s0 - s1)", "-s0 + s1"},
      {"(s0 + 1)*(s0 - 1)", "-1 + s0*s0"},
      {"(s0 + s1)*(s0 + s1)", "s0*s0 + 2*s0*s1 + s1*s1"},
      {"12*s2*s2", "12*s2*s2"},
      {"s0*(s1 + 2) - 2*s0", "s0*s1"},
      // floor division by constants
      {"7 // 2", "3"},
      {"-7 // 2", "-4"},
      {"7 // -2", "-4"},
      {"-7 % 3", "2"},
      {"7 % -3", "-2"},
      {"s0 // 1", "s0"},
      {"s0 % 1", "0"},
      {"(4*s0 + s1) // 4", "s0 + floordiv(s1, 4)"},
      {"(s0 + 5) // 4", "1 + floordiv(1 + s0, 4)"},
      {"(s0 - 1) // 4", "-1 + floordiv(3 + s0, 4)"},
      {"(4*s0 + 3) // 6", "floordiv(1 + 2*s0, 3)"},
      {"(4*s0 + 1) // 6", "floordiv(2*s0, 3)"},
      {"s0 // -4", "-floordiv(3 + s0, 4)"},
      {"ceildiv(s0, 4)", "floordiv(3 + s0, 4)"},
      {"(s0 // 4) // 8", "floordiv(s0, 32)"},
      {"((s0 + 1) // 2 + 1) // 2", "floordiv(3 + s0, 4)"},
      {"(s0 % 64) // 16", "mod(floordiv(s0, 16), 4)"},
      {"(32*i + j) // 32", "i + floordiv(j, 32)"},
      // mod by constants
      {"(384*i + j) % 384", "mod(j, 384)"},
      {"(s0 + 9) % 4", "mod(1 + s0, 4)"},
      {"(2*s0 + 1) % 4", "1 + 2*mod(s0, 2)"},
      {"(s0 % 32) % 8", "mod(s0, 8)"},
      {"(3*(s0 % 4) + s1) % 6", "mod(3*s0 + s1, 6)"},
      {"(3 - i) % 4", "3 - mod(i, 4)"},
      {"s0 % -4", "-3 + mod(3 + s0, 4)"},
      // symbolic divisors
      {"s0*s1 // s1", "s0"},
      {"s0*s1 % s1", "0"},
      {"(s1*i + j) // s1", "i + floordiv(j, s1)"},
      {"(s1*i + j) % s1", "mod(j, s1)"},
      {"s0*s2 // (s1*s2)", "floordiv(s0, s1)"},
      {"s0*s2 % (s1*s2)", "s2*mod(s0, s1)"},
      {"(s0*s1 + s0) // (s1 + 1)", "s0"},
      {"(s0*s0 - 1) // (s0 + 1)", "-1 + s0"},
      {"(s0*s1 + s0) % (s1 + 1)", "0"},
      {"6*s0 // (4*s1)", "floordiv(3*s0, 2*s1)"},
      {"s0 // s0", "1"},
      {"s0 // (-s1)", "floordiv(-s0, s1)"},
      // min and max
      {"min(3, 5)", "3"},
      {"max(s0, s0)", "s0"},
      {"min(s1, s0)", "min(s0, s1)"},
      {"min(s0, s0 + 2)", "s0"},
      {"max(s0, s0 + 2)", "2 + s0"},
      {"min(min(s2, s0), min(s1, s0))", "min(min(s0, s1), s2)"},
      {"min(min(s0, 4), 7)", "min(s0, 4)"},
      // must not change
      {"floordiv(s0, 4)", "floordiv(s0, 4)"},
      {"4*floordiv(s0, 4)", "4*floordiv(s0, 4)"},
      {"mod(s0, s1)", "mod(s0, s1)"},
      {"floordiv(s0, s1)", "floordiv(s0, s1)"},
      {"floordiv(s0 + s1, 4)", "floordiv(s0 + s1, 4)"},
      {"floordiv(s0 + 1, s1)", "floordiv(1 + s0, s1)"},
      {"floordiv(s0, s1 + 1)", "floordiv(s0, 1 + s1)"},
      {"floordiv(floordiv(s0, s1), s2)", "floordiv(floordiv(s0, s1), s2)"},
      {"mod(s0, 4) + 4*floordiv(s0, 8)", "4*floordiv(s0, 8) + mod(s0, 4)"},
      {"min(s0, 1)", "min(s0, 1)"},
      {"max(s0*s1, s0)", "max(s0, s0*s1)"},
      {"floordiv(s0, 0)", "floordiv(s0, 0)"},
      {"mod(5, 0)", "mod(5, 0)"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(canonical(c.in), c.out) << c.in;
    EXPECT_EQ(parse(c.out), parse(c.in)) << c.in;
  }
}

TEST_F(ExprTest, DifferentExpressionsStayDifferent) {
  const char* distinct[] = {"s0 // 4", "s0 // 5", "s0 % 4", "s0 % s1", "s1 % s0", "min(s0, s1)", "max(s0, s1)",
                            "s0*s1", "s0 + s1", "s0*s0", "2*s0", "s0", "0", "1", "-s0", "s0 // s1"};
  for (const char* a : distinct) {
    for (const char* b : distinct) EXPECT_EQ(parse(a) == parse(b), a == b) << a << " and " << b;
  }
}

TEST_F(ExprTest, FoldingNeverLeavesInt64) {
  const Case cases[] = {
      {"9223372036854775807 + 1", "1 + 9223372036854775807"},
      {"9223372036854775807 + 1 - 1", "9223372036854775807"},
      {"9223372036854775807*s0 + s0 - s0", "9223372036854775807*s0"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"0 - 9223372036854775807 - 1", "-9223372036854775808"},
  };
  for (const Case& c : cases) EXPECT_EQ(parse(canonical(c.in)), parse(c.out)) << c.in;
  for (const char* text : {"9223372036854775807 + 1", "4294967296*4294967296", "-(-9223372036854775808)",
                           "(-9223372036854775808) // -1", "4294967296*s0*(4294967296*s1)"}) {
    Expr e = parse(text);
    EXPECT_EQ(parse(pool.print(e)), e) << text;
    std::vector<int64_t> values(pool.symbol_count(), 1);
    EXPECT_EQ(pool.evaluate(e, values).status().code(), Code::kOutOfRange) << text;
  }
}

TEST_F(ExprTest, EvaluateNamesWhatFailed) {
  std::vector<int64_t> values(pool.symbol_count(), 0);
  Result<int64_t> by_zero = pool.evaluate(parse("1 + floordiv(s0 + 3, s1)"), values);
  EXPECT_EQ(by_zero.status().code(), Code::kInvalidArgument);
  EXPECT_NE(by_zero.status().message().find("floordiv(3 + s0, s1)"), std::string_view::npos);
  EXPECT_EQ(pool.evaluate(parse("mod(s0 + 3, s1)"), values).status().code(), Code::kInvalidArgument);
  values[0] = values[1] = int64_t{1} << 40;
  Result<int64_t> overflow = pool.evaluate(parse("5 + s0*s1"), values);
  EXPECT_EQ(overflow.status().code(), Code::kOutOfRange);
  EXPECT_NE(overflow.status().message().find("s0*s1"), std::string_view::npos);
}

TEST_F(ExprTest, ParserRefuses) {
  for (const char* text : {"", " ", "s9", "1 +", "(s0", "s0)", "floordiv(s0)", "floordiv(s0, 1, 2)", "foo(s0, 1)",
                           "9223372036854775808", "-9223372036854775809", "2s0", "s0 s1", "*s0", "s0 / 2", "min(,)"}) {
    Result<Expr> e = pool.parse(text);
    EXPECT_EQ(e.status().code(), Code::kInvalidArgument) << text;
    EXPECT_FALSE(e.status().message().empty());
  }
  std::string deep(100000, '(');
  EXPECT_EQ(pool.parse(deep).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(pool.parse(std::string(100000, '-') + "1").status().code(), Code::kInvalidArgument);
}

TEST_F(ExprTest, ParserCreatesSymbolsOnlyWhenAsked) {
  size_t before = pool.symbol_count();
  EXPECT_FALSE(pool.parse("batch*2").ok());
  EXPECT_EQ(pool.symbol_count(), before);
  ASSERT_TRUE(pool.parse("batch*2", SymbolKind::kUnbacked).ok());
  ASSERT_TRUE(pool.find_symbol("batch").has_value());
  EXPECT_EQ(pool.symbol_kind(*pool.find_symbol("batch")), SymbolKind::kUnbacked);
}

TEST_F(ExprTest, FreshSymbolsAvoidTakenNames) {
  SymbolId fresh = pool.fresh_symbol("s", SymbolKind::kSize);  // s0 to s2 are taken
  EXPECT_EQ(pool.symbol_name(fresh), "s3");
  EXPECT_EQ(pool.symbol("s3", SymbolKind::kSize), fresh);
}

TEST_F(ExprTest, SymbolNamesStayValidWhileSymbolsAreAdded) {
  std::string_view name = pool.symbol_name(0);
  for (int i = 0; i < 1000; ++i) pool.fresh_symbol("t", SymbolKind::kSize);
  EXPECT_EQ(name, "s0");
}

TEST_F(ExprTest, AffineRefusesWhatIsNotAffine) {
  SymbolId symbols[] = {*pool.find_symbol("i"), *pool.find_symbol("j")};
  for (const char* text : {"i*j", "i*i", "floordiv(i, 2)", "mod(i + j, 4)", "min(i, 3)", "s0*mod(j, 4)", "i*mod(j, 2)"}) {
    EXPECT_FALSE(pool.affine(parse(text), symbols).has_value()) << text;
  }
  std::optional<Pool::Affine> form = pool.affine(parse("s0*s1*i + 4*i + s1*j + floordiv(s0, 2) + 7"), symbols);
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->coefficients[0], parse("s0*s1 + 4"));
  EXPECT_EQ(form->coefficients[1], parse("s1"));
  EXPECT_EQ(form->rest, parse("floordiv(s0, 2) + 7"));
}

TEST_F(ExprTest, SubstituteIsSimultaneous) {
  SymbolId symbols[] = {0, 1};
  Expr replacements[] = {parse("s1"), parse("s0 + 1")};
  EXPECT_EQ(pool.substitute(parse("s0 + 2*s1 + floordiv(s0, s1)"), symbols, replacements),
            parse("s1 + 2*s0 + 2 + floordiv(s1, s0 + 1)"));
}

TEST_F(ExprTest, SharedSubexpressionsAreWalkedOnce) {
  Expr e = parse("floordiv(s0, s1)");
  for (int i = 0; i < 60; ++i) e = pool.max(pool.floor_div(e, parse("s1")), pool.mod(e, parse("s2")));
  std::vector<int64_t> values(pool.symbol_count(), 3);
  EXPECT_TRUE(pool.evaluate(e, values).ok());
  EXPECT_EQ(pool.symbols(e).size(), 3u);
  SymbolId symbols[] = {0};
  Expr replacements[] = {parse("s2 + 5")};
  EXPECT_FALSE(pool.depends_on(pool.substitute(e, symbols, replacements), 0));
}

TEST_F(ExprTest, HugeExpansionsStayProducts) {
  Expr sum = pool.constant(0);
  for (int i = 0; i < 40; ++i) sum = pool.add(sum, pool.of(pool.fresh_symbol("t", SymbolKind::kSize)));
  Expr square = pool.mul(sum, sum);
  EXPECT_EQ(pool.kind(square), Kind::kMul);
  EXPECT_EQ(parse(pool.print(square)), square);
  std::vector<int64_t> values(pool.symbol_count(), 2);
  EXPECT_EQ(*pool.evaluate(square, values), 6400);
}

}  // namespace
}  // namespace tenon::symbolic
