// simplify, prove, decide: tables with what is known, what goes in, what comes out.

#include <gtest/gtest.h>

#include "symbolic/facts.hpp"

namespace tenon::symbolic {
namespace {

// Sizes s0, s1, s2 >= 1; t >= 0; u of any sign; heads in [1, 16]; e a multiple of 8, >= 8.
// Loop variables: b < s0, i < s1, j < s2, h < 12, d < 32, c < 384, w < s1*s2.
class FactsTest : public testing::Test {
 protected:
  FactsTest() : facts(pool) {
    for (const char* name : {"s0", "s1", "s2"}) facts.set_range(pool.symbol(name, SymbolKind::kSize), {1, kUnbounded});
    facts.set_range(pool.symbol("t", SymbolKind::kSize), {0, kUnbounded});
    pool.symbol("u", SymbolKind::kUnbacked);
    facts.set_range(pool.symbol("heads", SymbolKind::kSize), {1, 16});
    facts.set_range(pool.symbol("e", SymbolKind::kSize), {8, kUnbounded});
    facts.set_divisor(pool.symbol("e", SymbolKind::kSize), 8);
    for (auto [name, extent] : {std::pair("b", "s0"), {"i", "s1"}, {"j", "s2"}, {"h", "12"}, {"d", "32"}, {"c", "384"},
                                {"w", "s1*s2"}, {"q", "1 + s0"}}) {
      facts.set_index_bound(pool.symbol(name, SymbolKind::kIndex), parse(extent));
    }
  }
  Expr parse(std::string_view text) {
    Result<Expr> e = pool.parse(text);
    EXPECT_TRUE(e.ok()) << text << ": " << e.status().message();
    return e.ok() ? *e : Expr{};
  }
  SymbolId symbol(std::string_view name) { return *pool.find_symbol(name); }
  std::string simplified(std::string_view text) { return pool.print(facts.simplify(parse(text))); }
  Truth prove(std::string_view a, Relation relation, std::string_view b) {
    return facts.prove({relation, parse(a), parse(b)});
  }

  Pool pool;
  Facts facts;
};

struct Case {
  const char* in;
  const char* out;
};

TEST_F(FactsTest, Simplify) {
  const Case cases[] = {
      // splits and merges of fixed sizes
      {"floordiv(32*h + d, 32)", "h"},
      {"mod(32*h + d, 32)", "d"},
      {"mod(384*i + c, 384)", "c"},
      {"floordiv(384*i + c, 384)", "i"},
      {"floordiv(384*i + 32*h + d, 384)", "i"},
      {"mod(384*i + 32*h + d, 384)", "32*h + d"},
      {"floordiv(mod(384*i + 32*h + d, 384), 32)", "h"},
      {"mod(floordiv(384*i + 32*h + d, 32), 12)", "h"},
      {"floordiv(32*h + d, 64)", "floordiv(h, 2)"},
      {"mod(32*h + d, 64)", "d + 32*mod(h, 2)"},
      {"mod(32*i + d, 64)", "d + 32*mod(i, 2)"},
      {"mod(31 - d, 32)", "31 - d"},
      {"floordiv(31 - d, 32)", "0"},
      {"floordiv(32*h - 1 - d, 32)", "-1 + h"},
      {"32*floordiv(c, 32) + mod(c, 32)", "c"},
      {"s0*32*floordiv(c, 32) + s0*mod(c, 32) + 5", "5 + s0*c"},
      {"64*floordiv(32*i + d, 64) + mod(32*i + d, 64)", "32*i + d"},
      // symbolic sizes
      {"floordiv(s1*b + i, s1)", "b"},
      {"mod(s1*b + i, s1)", "i"},
      {"floordiv(s1*s2*b + s2*i + j, s1*s2)", "b"},
      {"mod(s1*s2*b + s2*i + j, s1*s2)", "s2*i + j"},
      {"mod(floordiv(s1*s2*b + s2*i + j, s2), s1)", "i"},
      {"floordiv(mod(s1*s2*b + s2*i + j, s1*s2), s2)", "i"},
      {"mod(s1*s2*b + s2*i + j, s2)", "j"},
      {"floordiv(s2*i + j, s1*s2)", "0"},
      {"floordiv(32*s1*b + 32*i + d, 32*s1)", "b"},
      {"mod(32*s1*b + 32*i + d, 32*s1)", "32*i + d"},
      {"floordiv(12*32*s1*b + 32*s1*h + 32*i + d, 32*s1)", "12*b + h"},
      {"mod(floordiv(12*32*s1*b + 32*s1*h + 32*i + d, 32*s1), 12)", "h"},
      {"mod(floordiv(384*s1*b + 384*i + 32*h + d, 384), s1)", "i"},
      {"s2*floordiv(w, s2) + mod(w, s2)", "w"},
      {"floordiv(w, s1*s2)", "0"},
      {"mod(w, s1*s2)", "w"},
      {"floordiv(floordiv(w, s2), s1)", "0"},
      {"mod(floordiv(w, s2), s1)", "floordiv(w, s2)"},
      {"floordiv((1 + s0)*i + q, 1 + s0)", "i"},
      {"mod((1 + s0)*i + q, 1 + s0)", "q"},
      {"floordiv(i, s1)", "0"},
      {"floordiv(s0 - 1, s0)", "0"},
      {"floordiv(-1, s0)", "-1"},
      // divisors
      {"mod(e, 8)", "0"},
      {"mod(e, 4)", "0"},
      {"8*floordiv(e, 8)", "e"},
      {"4*floordiv(e, 4)", "e"},
      {"16*s0*floordiv(e, 8)", "2*s0*e"},
      {"mod(e + d, 2)", "mod(d, 2)"},
      {"floordiv(8*s0 + mod(d, 8), 8)", "s0"},
      {"floordiv(e + mod(d, 8), 8)", "floordiv(e, 8)"},
      // min and max
      {"min(h, 12)", "h"},
      {"max(s0, 1)", "s0"},
      {"max(s0*s1, s0)", "s0*s1"},
      {"min(i, s1)", "i"},
      {"min(i, s1 - 1)", "i"},
      {"max(t, 0)", "t"},
      // must not change
      {"floordiv(c, 32)", "floordiv(c, 32)"},
      {"mod(c, 32)", "mod(c, 32)"},
      {"floordiv(s0, 2)", "floordiv(s0, 2)"},
      {"floordiv(32*h + c, 32)", "h + floordiv(c, 32)"},
      {"mod(32*h + c, 64)", "mod(32*h + c, 64)"},
      {"floordiv(i, s2)", "floordiv(i, s2)"},
      {"mod(i, s2)", "mod(i, s2)"},
      {"floordiv(s2*b + i, s2)", "b + floordiv(i, s2)"},
      {"mod(u, 8)", "mod(u, 8)"},
      {"floordiv(q, s0)", "floordiv(q, s0)"},
      {"8*floordiv(s0, 8)", "8*floordiv(s0, 8)"},
      {"max(t, 1)", "max(t, 1)"},
      {"max(u, 0)", "max(u, 0)"},
      {"min(s0, s1)", "min(s0, s1)"},
      {"max(s0*t, s0)", "max(s0, s0*t)"},
      {"32*floordiv(c, 32) + mod(c, 16)", "32*floordiv(c, 32) + mod(c, 16)"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(simplified(c.in), c.out) << c.in;
    EXPECT_EQ(simplified(c.out), c.out) << "not stable: " << c.in;
  }
}

struct Claim {
  const char* a;
  Relation relation;
  const char* b;
  Truth truth;
};

TEST_F(FactsTest, Prove) {
  using enum Relation;
  using enum Truth;
  const Claim claims[] = {
      {"s0", kEq, "s0", kTrue},
      {"s0", kEq, "s0 + 1", kFalse},
      {"s0", kLt, "s0 + 1", kTrue},
      {"s0*s1", kEq, "s1*s0", kTrue},
      {"s0", kEq, "0", kFalse},
      {"s0", kNe, "0", kTrue},
      {"s0*s1", kNe, "0", kTrue},
      {"0", kLt, "s0*s1*s2", kTrue},
      {"s0", kLe, "s0*s1", kTrue},
      {"s0", kLe, "s0*s0", kTrue},
      {"s0 + s1", kLe, "s0*s1 + 1", kTrue},
      {"t", kLe, "t*s0", kTrue},
      {"2*s0", kNe, "2*s1 + 1", kTrue},
      {"4*s0 + 2", kEq, "6*s1 + 1", kFalse},
      {"e", kNe, "12", kTrue},
      {"e", kNe, "e*s0 + 4", kTrue},
      {"heads", kLe, "16", kTrue},
      {"heads", kEq, "17", kFalse},
      {"heads*heads", kLe, "256", kTrue},
      {"heads*s0", kLe, "16*s0", kTrue},
      // accesses stay in their buffers
      {"s1*b + i", kLt, "s0*s1", kTrue},
      {"s1*s2*b + s2*i + j", kLt, "s0*s1*s2", kTrue},
      {"0", kLe, "s1*b + i", kTrue},
      {"384*s1*b + 384*i + 32*h + d", kLt, "384*s0*s1", kTrue},
      {"s1*b + s1 - 1 - i", kLt, "s0*s1", kTrue},
      {"floordiv(w, s2)", kLt, "s1", kTrue},
      {"mod(w, s2)", kLt, "s2", kTrue},
      {"s2*floordiv(w, s2)", kLe, "w", kTrue},
      {"w", kLt, "s2*floordiv(w, s2) + s2", kTrue},
      // floor division
      {"floordiv(s0, 2)", kLe, "s0", kTrue},
      {"2*floordiv(s0, 2)", kLe, "s0", kTrue},
      {"s0", kLe, "2*floordiv(s0 + 1, 2)", kTrue},
      {"floordiv(s0 + 3, 4)", kLe, "s0", kTrue},
      {"0", kLt, "floordiv(s0 + 3, 4)", kTrue},
      {"floordiv(s0, s1)", kLe, "s0", kTrue},
      {"mod(s0, 4)", kLe, "s0", kTrue},
      // min and max
      {"min(s0, s1)", kLe, "s0", kTrue},
      {"min(s0, s1)", kLe, "s1 + s2", kTrue},
      {"s0", kLe, "max(s0, s1)", kTrue},
      {"max(s0, s1)", kLe, "s0 + s1", kTrue},
      {"min(s0, s1)", kLe, "max(s0, s1)", kTrue},
      {"s0 + s1", kLt, "max(s0, s1)", kFalse},
      // not known
      {"s0", kEq, "s1", kUnknown},
      {"s0", kLe, "s1", kUnknown},
      {"s0", kEq, "1", kUnknown},
      {"s0", kNe, "1", kUnknown},
      {"t", kEq, "0", kUnknown},
      {"s0*t", kEq, "0", kUnknown},
      {"s0", kLe, "s0*t", kUnknown},
      {"u", kLe, "u*s0", kUnknown},
      {"u", kLe, "u*u", kUnknown},
      {"0", kLe, "u", kUnknown},
      {"e", kEq, "16", kUnknown},
      {"mod(s0, 8)", kEq, "0", kUnknown},
      {"8*floordiv(s0, 8)", kEq, "s0", kUnknown},
      {"s2*b + i", kLt, "s0*s2", kUnknown},
      {"s1*b + i + 1", kLt, "s0*s1", kUnknown},
      {"min(s0, s1)", kLt, "s0", kUnknown},
      {"floordiv(s0, 2)", kLt, "floordiv(s1, 2)", kUnknown},
      {"heads", kLe, "15", kUnknown},
  };
  for (const Claim& c : claims) {
    EXPECT_EQ(prove(c.a, c.relation, c.b), c.truth)
        << facts.print({c.relation, parse(c.a), parse(c.b)}) << "   difference "
        << pool.print(facts.simplify(pool.sub(parse(c.b), parse(c.a))));
  }
  EXPECT_TRUE(facts.guards().empty());
}

TEST_F(FactsTest, RangeAndDivisor) {
  EXPECT_EQ(facts.range(parse("heads*32 + d")), (Range{32, 16 * 32 + 31}));
  EXPECT_EQ(facts.range(parse("mod(u, 7)")), (Range{0, 6}));
  EXPECT_EQ(facts.range(parse("u*u")), (Range{0, kUnbounded}));
  EXPECT_EQ(facts.range(parse("u")), (Range{-kUnbounded, kUnbounded}));
  EXPECT_EQ(facts.range(parse("floordiv(heads, 3)")), (Range{0, 5}));
  EXPECT_EQ(facts.range(parse("-2*heads")), (Range{-32, -2}));
  EXPECT_EQ(facts.range(parse("min(heads, u)")), (Range{-kUnbounded, 16}));
  EXPECT_EQ(facts.known_divisor(parse("e*12 + 16*s0")), 16);
  EXPECT_EQ(facts.known_divisor(parse("e + 3")), 1);
  EXPECT_EQ(facts.known_divisor(parse("0")), 0);
  EXPECT_EQ(facts.known_divisor(parse("floordiv(e, 2)")), 4);
}

TEST_F(FactsTest, NewFactsReachCachedAnswers) {
  EXPECT_EQ(simplified("max(t, 1)"), "max(t, 1)");
  EXPECT_EQ(prove("t*s0", Relation::kEq, "0"), Truth::kUnknown);
  facts.set_range(symbol("t"), {2, 9});
  EXPECT_EQ(simplified("max(t, 1)"), "t");
  EXPECT_EQ(prove("t*s0", Relation::kEq, "0"), Truth::kFalse);
  facts.set_range(symbol("t"), {-5, 2});
  EXPECT_EQ(simplified("t + s0"), "2 + s0");
  EXPECT_EQ(facts.symbol_range(symbol("t")), (Range{2, 2}));
}

TEST_F(FactsTest, EqualityReplaces) {
  facts.set_equal(symbol("s2"), parse("s0*s1"));
  EXPECT_EQ(simplified("floordiv(s2, s1)"), "s0");
  EXPECT_EQ(prove("s2", Relation::kEq, "s1*s0"), Truth::kTrue);
  EXPECT_EQ(prove("s0", Relation::kLe, "s2"), Truth::kTrue);
}

TEST_F(FactsTest, AssumedInequalityIsUsed) {
  facts.assume({Relation::kLe, parse("s0"), parse("s1")});
  EXPECT_EQ(prove("s0", Relation::kLe, "s1"), Truth::kTrue);
  EXPECT_EQ(prove("s0*s2", Relation::kLe, "s1*s2 + 3"), Truth::kTrue);
  EXPECT_EQ(prove("b", Relation::kLt, "s1"), Truth::kTrue);
  EXPECT_EQ(prove("s1", Relation::kLt, "s0"), Truth::kFalse);
  EXPECT_EQ(prove("s1", Relation::kLe, "s0"), Truth::kUnknown);
  EXPECT_EQ(simplified("mod(b, s1)"), "b");
  EXPECT_TRUE(facts.guards().empty());
}

TEST_F(FactsTest, DecideGuardsOnlyWhatIsNotKnown) {
  for (auto [name, value] : {std::pair("s0", 4), {"s1", 4}, {"s2", 7}, {"e", 16}}) facts.set_hint(symbol(name), value);
  EXPECT_EQ(facts.decide({Relation::kLe, parse("1"), parse("s0")}, "test"), true);
  EXPECT_TRUE(facts.guards().empty());

  EXPECT_EQ(facts.decide({Relation::kEq, parse("s0"), parse("s1")}, "aten.add.Tensor"), true);
  EXPECT_EQ(facts.decide({Relation::kEq, parse("s1"), parse("s0")}, "aten.mul.Tensor"), true);
  EXPECT_EQ(facts.decide({Relation::kEq, parse("s0*s2"), parse("s1*s2")}, "aten.sub.Tensor"), true);
  ASSERT_EQ(facts.guards().size(), 1u);
  EXPECT_EQ(facts.guards()[0].origin, "aten.add.Tensor");
  EXPECT_EQ(simplified("s1 + 1"), "1 + s0");

  EXPECT_EQ(facts.decide({Relation::kEq, parse("s2"), parse("1")}, "broadcast"), false);
  ASSERT_EQ(facts.guards().size(), 2u);
  EXPECT_EQ(facts.print(facts.guards()[1].predicate), "s2 != 1");
  EXPECT_EQ(facts.symbol_range(symbol("s2")).min, 2);  // from != at the end of the range
  EXPECT_EQ(facts.decide({Relation::kLt, parse("s2"), parse("2")}, "again"), false);

  EXPECT_EQ(facts.decide({Relation::kLe, parse("s2"), parse("512")}, "bound"), true);
  EXPECT_EQ(facts.symbol_range(symbol("s2")), (Range{2, 512}));
  ASSERT_EQ(facts.guards().size(), 3u);
}

TEST_F(FactsTest, DivisibilityGuardMakesReshapesExact) {
  facts.set_hint(symbol("s0"), 12);
  facts.set_hint(symbol("s1"), 5);
  EXPECT_EQ(facts.decide({Relation::kEq, parse("mod(s0, 4)"), parse("0")}, "view"), true);
  EXPECT_EQ(facts.divisor(symbol("s0")), 4);
  EXPECT_EQ(simplified("4*floordiv(s0, 4)"), "s0");
  EXPECT_EQ(facts.decide({Relation::kEq, parse("mod(s0*s1, 6)"), parse("0")}, "view"), true);
  EXPECT_EQ(simplified("6*floordiv(s0*s1, 6)"), "s0*s1");
  EXPECT_EQ(facts.guards().size(), 2u);
}

TEST_F(FactsTest, SymbolicDivisibilityGuard) {
  facts.set_hint(symbol("s0"), 12);
  facts.set_hint(symbol("s1"), 4);
  EXPECT_EQ(facts.decide({Relation::kEq, parse("mod(s0, s1)"), parse("0")}, "view"), true);
  EXPECT_EQ(simplified("s1*floordiv(s0, s1)"), "s0");
  EXPECT_EQ(simplified("s2*s1*floordiv(s0, s1)"), "s0*s2");
}

TEST_F(FactsTest, WithoutHintsNothingIsDecided) {
  EXPECT_EQ(facts.decide({Relation::kEq, parse("u"), parse("s0")}, "test"), std::nullopt);
  EXPECT_EQ(facts.specialize(parse("u + 1"), "test"), std::nullopt);
  EXPECT_TRUE(facts.guards().empty());
}

TEST_F(FactsTest, SpecializeFixesTheValue) {
  facts.set_hint(symbol("s0"), 6);
  EXPECT_EQ(facts.specialize(parse("7"), "test"), 7);
  EXPECT_TRUE(facts.guards().empty());
  EXPECT_EQ(facts.specialize(parse("2*s0 + 1"), "aten.pad"), 13);
  ASSERT_EQ(facts.guards().size(), 1u);
  EXPECT_EQ(simplified("s0"), "6");
  EXPECT_EQ(facts.specialize(parse("s0"), "again"), 6);
  EXPECT_EQ(facts.guards().size(), 1u);
}

TEST_F(FactsTest, UnbackedIsReplacedByBacked) {
  facts.assume({Relation::kEq, parse("s0 + 1"), parse("u")});
  EXPECT_EQ(simplified("u"), "1 + s0");
  EXPECT_EQ(simplified("s0"), "s0");
}

TEST_F(FactsTest, MinimizeDropsWhatFollowsAndKeepsTheRest) {
  for (auto [name, value] : {std::pair("s0", 4), {"s1", 9}, {"s2", 7}}) facts.set_hint(symbol(name), value);
  facts.decide({Relation::kLe, parse("s0"), parse("512")}, "first");
  facts.decide({Relation::kNe, parse("s1"), parse("5")}, "kept");
  facts.decide({Relation::kLe, parse("s0"), parse("64")}, "second");
  facts.decide({Relation::kNe, parse("s0"), parse("9")}, "third");
  facts.decide({Relation::kEq, parse("s0"), parse("4")}, "fourth");
  ASSERT_EQ(facts.guards().size(), 5u);
  facts.minimize_guards();
  ASSERT_EQ(facts.guards().size(), 2u);
  EXPECT_EQ(facts.guards()[0].origin, "kept");
  EXPECT_EQ(facts.guards()[1].origin, "fourth");
}

TEST_F(FactsTest, MinimizeKeepsIndependentGuards) {
  for (auto [name, value] : {std::pair("s0", 4), {"s1", 9}, {"s2", 7}}) facts.set_hint(symbol(name), value);
  facts.decide({Relation::kLe, parse("s0"), parse("s1")}, "a");
  facts.decide({Relation::kLe, parse("s2"), parse("s1")}, "b");
  facts.decide({Relation::kNe, parse("s0"), parse("s2")}, "c");
  facts.minimize_guards();
  EXPECT_EQ(facts.guards().size(), 3u);
}

}  // namespace
}  // namespace tenon::symbolic
