// Random expressions with fixed seeds: whatever the rules do, values stay.

#include <gtest/gtest.h>

#include "symbolic/size_emitter.hpp"
#include "random_expr.hpp"

namespace tenon::symbolic {
namespace {

struct World {
  explicit World(uint64_t seed) : facts(pool), random(pool, seed) {
    for (int i = 0; i < 3; ++i) sizes.push_back(pool.fresh_symbol("s", SymbolKind::kSize));
    for (int i = 0; i < 3; ++i) indices.push_back(pool.fresh_symbol("i", SymbolKind::kIndex));
    all = sizes;
    all.insert(all.end(), indices.begin(), indices.end());
  }

  void random_facts() {
    for (SymbolId size : sizes) {
      low.push_back(random.pick(-3, 3));
      high.push_back(low.back() + random.pick(1, 20));
      step.push_back(random.chance(30) ? random.pick(2, 4) : 1);
      facts.set_range(size, {low.back(), random.chance(25) ? kUnbounded : high.back()});
      if (step.back() > 1) facts.set_divisor(size, step.back());
    }
    extents = {pool.of(sizes[0]), pool.constant(random.pick(1, 12)),
               pool.mul(pool.of(sizes[1]), pool.constant(random.pick(1, 3)))};
    for (size_t i = 0; i < indices.size(); ++i) facts.set_index_bound(indices[i], extents[i]);
  }

  // False when a loop would not run.
  bool random_values() {
    values.assign(pool.symbol_count(), 0);
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t first = low[i] + artifact_mod(-low[i], step[i]);
      if (first > high[i]) return false;
      values[sizes[i]] = first + step[i] * random.pick(0, (high[i] - first) / step[i]);
    }
    for (size_t i = 0; i < indices.size(); ++i) {
      int64_t extent = *pool.evaluate(extents[i], values);
      if (extent < 1) return false;
      values[indices[i]] = random.pick(0, extent - 1);
    }
    return true;
  }

  static int64_t artifact_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

  Pool pool;
  Facts facts;
  RandomExpr random;
  std::vector<SymbolId> sizes, indices, all;
  std::vector<int64_t> low, high, step, values;
  std::vector<Expr> extents;
};

TEST(Fuzz, SimplifyKeepsValuesAndRangesHoldThem) {
  int compared = 0, changed = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    World world(seed);
    world.random_facts();
    for (int k = 0; k < 12; ++k) {
      Expr e = world.random.make(4, world.all);
      Expr simple = world.facts.simplify(e);
      changed += simple != e;
      Range range = world.facts.range(e), simple_range = world.facts.range(simple);
      int64_t divisor = world.facts.known_divisor(e);
      for (int trial = 0; trial < 12; ++trial) {
        if (!world.random_values()) continue;
        Result<int64_t> expected = world.pool.evaluate(e, world.values);
        if (!expected.ok()) continue;
        Result<int64_t> actual = world.pool.evaluate(simple, world.values);
        ASSERT_TRUE(actual.ok()) << seed << ": " << world.pool.print(e) << " -> " << world.pool.print(simple);
        ASSERT_EQ(*actual, *expected) << seed << ": " << world.pool.print(e) << " -> " << world.pool.print(simple);
        ++compared;
        ASSERT_LE(range.min, *expected) << seed << ": " << world.pool.print(e);
        ASSERT_GE(range.max, *expected) << seed << ": " << world.pool.print(e);
        ASSERT_LE(simple_range.min, *expected) << seed << ": " << world.pool.print(simple);
        ASSERT_GE(simple_range.max, *expected) << seed << ": " << world.pool.print(simple);
        if (divisor == 0) {
          ASSERT_EQ(*expected, 0) << world.pool.print(e);
        } else {
          ASSERT_EQ(*expected % divisor, 0) << seed << ": " << divisor << " | " << world.pool.print(e);
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
  EXPECT_GT(changed, 500);
}

TEST(Fuzz, ProofsAgreeWithValues) {
  int proven = 0, refuted = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    World world(seed + 10000);
    world.random_facts();
    if (world.random.chance(50)) {
      world.facts.assume({Relation::kLe, world.pool.of(world.sizes[1]), world.pool.of(world.sizes[0])});
    }
    std::vector<Predicate> predicates;
    for (int k = 0; k < 12; ++k) {
      predicates.push_back({static_cast<Relation>(world.random.pick(0, 3)), world.random.make(3, world.all),
                            world.random.make(3, world.all)});
    }
    std::vector<Truth> truths;
    for (const Predicate& predicate : predicates) truths.push_back(world.facts.prove(predicate));
    for (int trial = 0; trial < 40; ++trial) {
      if (!world.random_values()) continue;
      bool in_world = true;
      if (world.facts.prove({Relation::kLe, world.pool.of(world.sizes[1]), world.pool.of(world.sizes[0])}) ==
          Truth::kTrue) {
        in_world = world.values[world.sizes[1]] <= world.values[world.sizes[0]];
      }
      if (!in_world) continue;
      for (size_t k = 0; k < predicates.size(); ++k) {
        if (truths[k] == Truth::kUnknown) continue;
        Result<int64_t> a = world.pool.evaluate(predicates[k].a, world.values);
        Result<int64_t> b = world.pool.evaluate(predicates[k].b, world.values);
        if (!a.ok() || !b.ok()) continue;
        bool holds = false;
        switch (predicates[k].relation) {
          case Relation::kEq: holds = *a == *b; break;
          case Relation::kNe: holds = *a != *b; break;
          case Relation::kLt: holds = *a < *b; break;
          case Relation::kLe: holds = *a <= *b; break;
        }
        ASSERT_EQ(holds, truths[k] == Truth::kTrue) << seed << ": " << world.facts.print(predicates[k]);
        ++(holds ? proven : refuted);
      }
    }
  }
  EXPECT_GT(proven, 1000);
  EXPECT_GT(refuted, 1000);
}

// Whatever is decided under hints, the guards hold for the hints, and for any values that satisfy the guards the
// simplified forms and the later proofs are right.
TEST(Fuzz, LearningIsSoundUnderTheGuards) {
  int decided = 0, checked = 0, dropped = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    World world(seed + 20000);
    world.random_facts();
    if (!world.random_values()) continue;
    for (SymbolId size : world.sizes) world.facts.set_hint(size, world.values[size]);
    std::vector<int64_t> hints = world.values;
    for (int k = 0; k < 5; ++k) {
      Predicate predicate{static_cast<Relation>(world.random.pick(0, 3)), world.random.make(2, world.sizes),
                          world.random.make(2, world.sizes)};
      if (world.random.chance(30)) {
        predicate.relation = Relation::kEq;
        predicate.b = world.pool.constant(world.facts.hinted(predicate.a).value_or(0));
      }
      std::optional<bool> outcome = world.facts.decide(predicate, "fuzz");
      if (!outcome) continue;
      ++decided;
      Result<int64_t> a = world.pool.evaluate(predicate.a, hints), b = world.pool.evaluate(predicate.b, hints);
      if (!a.ok() || !b.ok()) continue;
      bool holds = false;
      switch (predicate.relation) {
        case Relation::kEq: holds = *a == *b; break;
        case Relation::kNe: holds = *a != *b; break;
        case Relation::kLt: holds = *a < *b; break;
        case Relation::kLe: holds = *a <= *b; break;
      }
      ASSERT_EQ(holds, *outcome) << seed << ": " << world.facts.print(predicate);
    }
    auto satisfied = [&](const std::vector<Guard>& guards, const std::vector<int64_t>& values) {
      for (const Guard& guard : guards) {
        Result<int64_t> a = world.pool.evaluate(guard.predicate.a, values);
        Result<int64_t> b = world.pool.evaluate(guard.predicate.b, values);
        if (!a.ok() || !b.ok()) return false;
        bool holds = false;
        switch (guard.predicate.relation) {
          case Relation::kEq: holds = *a == *b; break;
          case Relation::kNe: holds = *a != *b; break;
          case Relation::kLt: holds = *a < *b; break;
          case Relation::kLe: holds = *a <= *b; break;
        }
        if (!holds) return false;
      }
      return true;
    };
    ASSERT_TRUE(satisfied(world.facts.guards(), hints)) << seed;
    std::vector<Guard> before = world.facts.guards();
    std::vector<Expr> exprs, simple;
    for (int k = 0; k < 8; ++k) {
      exprs.push_back(world.random.make(3, world.sizes));
      simple.push_back(world.facts.simplify(exprs.back()));
    }
    world.facts.minimize_guards();
    dropped += static_cast<int>(before.size() - world.facts.guards().size());
    for (int trial = 0; trial < 60; ++trial) {
      if (!world.random_values()) continue;
      bool all = satisfied(before, world.values);
      bool minimal = satisfied(world.facts.guards(), world.values);
      bool evaluable = true;
      for (const Guard& guard : before) {
        evaluable &= world.pool.evaluate(guard.predicate.a, world.values).ok() &&
                     world.pool.evaluate(guard.predicate.b, world.values).ok();
      }
      if (evaluable) {
        ASSERT_EQ(all, minimal) << seed;
      }
      if (!all) continue;
      for (size_t k = 0; k < exprs.size(); ++k) {
        Result<int64_t> expected = world.pool.evaluate(exprs[k], world.values);
        if (!expected.ok()) continue;
        Result<int64_t> actual = world.pool.evaluate(simple[k], world.values);
        ASSERT_TRUE(actual.ok()) << seed << ": " << world.pool.print(exprs[k]) << " -> " << world.pool.print(simple[k]);
        ASSERT_EQ(*actual, *expected) << seed << ": " << world.pool.print(exprs[k]) << " -> "
                                      << world.pool.print(simple[k]);
        ++checked;
      }
    }
  }
  EXPECT_GT(decided, 500);
  EXPECT_GT(checked, 1000);
  EXPECT_GT(dropped, 0);
}

TEST(Fuzz, PrintedFormParsesToTheSameExpression) {
  World world(7);
  for (int k = 0; k < 4000; ++k) {
    Expr e = world.random.make(5, world.all);
    Result<Expr> parsed = world.pool.parse(world.pool.print(e));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    ASSERT_EQ(*parsed, e) << world.pool.print(e) << " became " << world.pool.print(*parsed);
  }
}

// Another pool, where the symbols were made in the same order but the expressions in another one.
TEST(Fuzz, CanonicalFormDoesNotDependOnHistory) {
  World world(8), other(9);
  for (int k = 0; k < 300; ++k) other.random.make(4, other.all);
  for (int k = 0; k < 1500; ++k) {
    std::string text = world.pool.print(world.random.make(4, world.all));
    Result<Expr> parsed = other.pool.parse(text);
    ASSERT_TRUE(parsed.ok());
    ASSERT_EQ(other.pool.print(*parsed), text);
  }
}

TEST(Fuzz, RingLaws) {
  World world(11);
  Pool& pool = world.pool;
  for (int k = 0; k < 1500; ++k) {
    Expr a = world.random.make(2, world.all), b = world.random.make(2, world.all), c = world.random.make(2, world.all);
    ASSERT_EQ(pool.add(a, b), pool.add(b, a));
    ASSERT_EQ(pool.add(pool.add(a, b), c), pool.add(a, pool.add(b, c)));
    ASSERT_EQ(pool.mul(a, b), pool.mul(b, a));
    ASSERT_EQ(pool.mul(pool.mul(a, b), c), pool.mul(a, pool.mul(b, c)));
    ASSERT_EQ(pool.mul(a, pool.add(b, c)), pool.add(pool.mul(a, b), pool.mul(a, c)));
    ASSERT_EQ(pool.sub(pool.add(a, b), b), a);
    ASSERT_EQ(pool.min(pool.min(a, b), c), pool.min(a, pool.min(c, b)));
    ASSERT_EQ(pool.max(pool.max(a, b), c), pool.max(a, pool.max(c, b)));
  }
}

TEST(Fuzz, SubstituteThenEvaluateEqualsEvaluateOfTheValues) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    World world(seed + 30000);
    world.random_facts();
    for (int k = 0; k < 10; ++k) {
      Expr e = world.random.make(3, world.all);
      SymbolId from[] = {world.sizes[0], world.indices[1]};
      Expr to[] = {world.random.make(2, world.all), world.random.make(2, world.all)};
      Expr replaced = world.pool.substitute(e, from, to);
      if (!world.random_values()) continue;
      Result<int64_t> first = world.pool.evaluate(to[0], world.values), second = world.pool.evaluate(to[1], world.values);
      if (!first.ok() || !second.ok()) continue;
      std::vector<int64_t> inner = world.values;
      inner[from[0]] = *first;
      inner[from[1]] = *second;
      Result<int64_t> expected = world.pool.evaluate(e, inner), actual = world.pool.evaluate(replaced, world.values);
      if (!expected.ok()) continue;
      ASSERT_TRUE(actual.ok()) << world.pool.print(e);
      ASSERT_EQ(*actual, *expected) << world.pool.print(e) << " -> " << world.pool.print(replaced);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

TEST(Fuzz, AffineRecombines) {
  int affine = 0;
  World world(13);
  Pool& pool = world.pool;
  for (int k = 0; k < 3000; ++k) {
    Expr e = world.random.make(3, world.all);
    std::optional<Pool::Affine> form = pool.affine(e, world.indices);
    if (!form) continue;
    ++affine;
    Expr sum = form->rest;
    for (size_t i = 0; i < world.indices.size(); ++i) {
      sum = pool.add(sum, pool.mul(form->coefficients[i], pool.of(world.indices[i])));
      for (SymbolId index : world.indices) ASSERT_FALSE(pool.depends_on(form->coefficients[i], index));
    }
    for (SymbolId index : world.indices) ASSERT_FALSE(pool.depends_on(form->rest, index));
    ASSERT_EQ(sum, e) << pool.print(e);
  }
  EXPECT_GT(affine, 500);
}

TEST(Fuzz, SizeProgramsComputeWhatEvaluateComputes) {
  int compared = 0, failed = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    World world(seed + 40000);
    world.random_facts();
    SizeEmitter emitter(world.pool);
    for (uint32_t i = 0; i < world.all.size(); ++i) {
      emitter.bind(world.all[i], {artifact::SizeOpKind::kInputDim, i / 2, i % 2, 0});
    }
    Expr e = world.random.make(5, world.all);
    Result<artifact::SizeRegister> at = emitter.emit(e);
    ASSERT_TRUE(at.ok());
    std::vector<artifact::SizeOp> program = emitter.take();
    uint32_t ranks[] = {2, 2, 2};
    ASSERT_TRUE(artifact::verify_sizes(program, {.ranks = ranks}).ok());
    std::vector<int64_t> registers(program.size());
    for (int trial = 0; trial < 20; ++trial) {
      if (!world.random_values()) continue;
      std::vector<int64_t> dims;
      for (SymbolId symbol : world.all) dims.push_back(world.values[symbol]);
      const int64_t* arrays[] = {&dims[0], &dims[2], &dims[4]};
      Status status = artifact::evaluate_sizes(program, {.dims = arrays}, registers);
      Result<int64_t> expected = world.pool.evaluate(e, world.values);
      ASSERT_EQ(status.code(), expected.status().code()) << world.pool.print(e);
      if (!expected.ok()) {
        ++failed;
        continue;
      }
      ASSERT_EQ(registers[*at], *expected) << world.pool.print(e);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(failed, 10);
}

TEST(Fuzz, TextThatIsNoExpressionIsRefusedOrParsedNeverWorse) {
  World world(17);
  const std::string alphabet = "s0i1 +-*/%(),mod9floordivminx.";
  for (int k = 0; k < 20000; ++k) {
    std::string text;
    for (int64_t n = world.random.pick(0, 14); n > 0; --n) {
      text += alphabet[static_cast<size_t>(world.random.pick(0, static_cast<int64_t>(alphabet.size()) - 1))];
    }
    Result<Expr> parsed = world.pool.parse(text);
    if (!parsed.ok()) {
      ASSERT_EQ(parsed.status().code(), Code::kInvalidArgument);
      continue;
    }
    Result<Expr> again = world.pool.parse(world.pool.print(*parsed));
    ASSERT_TRUE(again.ok() && *again == *parsed) << text;
  }
}

}  // namespace
}  // namespace tenon::symbolic
