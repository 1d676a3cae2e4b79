// Building, inference context, changes and clones.
#include "graph/graph.hpp"

#include <gtest/gtest.h>

#include <random>

#include "graph/element.hpp"
#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "test_operators.hpp"
#include "graph/verify.hpp"

namespace tenon::graph {
namespace {

class GraphTest : public testing::Test {
 protected:
  Expr number(int64_t value) { return graph.pool().constant(value); }
  ValueId input(const char* name, std::vector<Expr> dims) {
    auto value = graph.add_input(name, tensor_type(DType::kF32, std::move(dims)));
    EXPECT_TRUE(value.ok());
    return *value;
  }
  Graph graph{"g", test_registry()};
};

TEST_F(GraphTest, LeavesHaveNamesOfTheirOwn) {
  input("x", {});
  EXPECT_EQ(graph.add_input("x", scalar_type(DType::kI64)).status().code(), Code::kAlreadyExists);
  EXPECT_EQ(graph.add_state("x", tensor_type(DType::kF32, {}), {}).status().code(), Code::kAlreadyExists);
  Constant constant;
  constant.name = "x";
  EXPECT_EQ(graph.add_constant(constant, DType::kF32).status().code(), Code::kAlreadyExists);
  constant.name = "fc weight";
  const auto value = graph.add_constant(constant, DType::kF32);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(graph.value(*value).name, "fc_weight");
  EXPECT_TRUE(verify(graph).ok());
}

TEST_F(GraphTest, ConstantsMustReachNoFurtherThanTheirBytes) {
  Constant constant;
  constant.name = "c";
  constant.dims = {2, 3};
  constant.strides = {1, 2};
  constant.bytes = Blob::copy_of(std::string(23, 'x'));
  EXPECT_EQ(graph.add_constant(constant, DType::kF32).status().code(), Code::kInvalidArgument);
  constant.bytes = Blob::copy_of(std::string(24, 'x'));
  constant.offset_bytes = 1;
  EXPECT_FALSE(graph.add_constant(constant, DType::kF32).ok());
  constant.offset_bytes = -1;
  EXPECT_FALSE(graph.add_constant(constant, DType::kF32).ok());
  constant.offset_bytes = 0;
  constant.strides = {1};
  EXPECT_FALSE(graph.add_constant(constant, DType::kF32).ok());
  constant.strides = {1, INT64_MAX};
  EXPECT_FALSE(graph.add_constant(constant, DType::kF32).ok());
  constant.strides = {1, 2};
  EXPECT_TRUE(graph.add_constant(constant, DType::kF32).ok());
}

TEST_F(GraphTest, SymbolsAreRefusedWithReason) {
  ASSERT_TRUE(graph.declare_symbol("s0", 1, 8, 2).ok());
  EXPECT_EQ(graph.declare_symbol("s0", 1, 8, 1).status().code(), Code::kAlreadyExists);
  for (const char* name : {"", "0a", "a b", "f32", "none", "min"})
    EXPECT_EQ(graph.declare_symbol(name, 1, 8, 1).status().code(), Code::kInvalidArgument) << name;
  EXPECT_FALSE(graph.declare_symbol("s1", 8, 1, 1).ok());
  EXPECT_FALSE(graph.declare_symbol("s1", 1, 8, 0).ok());
  EXPECT_EQ(graph.facts().symbol_range(*graph.pool().find_symbol("s0")).max, 8);
}

TEST_F(GraphTest, StridesHaveOneForm) {
  const auto type_of = [&](std::vector<Expr> dims, std::vector<Expr> strides) {
    Type type = tensor_type(DType::kF32, std::move(dims));
    type.strides = std::move(strides);
    normalize_strides(graph.pool(), type);
    return print(graph.pool(), type);
  };
  EXPECT_EQ(type_of({number(2), number(3)}, {number(3), number(1)}), "f32[2, 3]");
  EXPECT_EQ(type_of({number(2), number(3)}, {number(1), number(2)}), "f32[2, 3]{1, 2}");
  EXPECT_EQ(type_of({number(1), number(3)}, {number(77), number(1)}), "f32[1, 3]");
  EXPECT_EQ(type_of({number(3), number(1)}, {number(2), number(77)}), "f32[3, 1]{2, 1}");
  EXPECT_EQ(type_of({number(0), number(3)}, {number(5), number(7)}), "f32[0, 3]");
}

TEST_F(GraphTest, ArgumentsTakeTheSlotsForm) {
  const ValueId x = input("x", {number(4)});
  const auto node = graph.add_node("aten::pool", {ValueRef{x}, number(3), number(2)});
  ASSERT_TRUE(node.ok()) << node.status().message();
  const auto& arguments = graph.node(*node).arguments;
  EXPECT_EQ(std::get<std::vector<Expr>>(arguments[1]), (std::vector<Expr>{number(3), number(3)}));
  EXPECT_EQ(std::get<std::vector<Expr>>(arguments[3]), (std::vector<Expr>{number(0), number(0)}));
  EXPECT_EQ(std::get<std::vector<bool>>(arguments[5]).size(), 3u);
  const auto dropout = graph.add_node("aten.dropout.default", {ValueRef{x}, number(1)});
  ASSERT_TRUE(dropout.ok());
  EXPECT_EQ(std::get<double>(graph.node(*dropout).arguments[1]), 1.0);
  EXPECT_EQ(graph.add_node("aten.unknown", {}).status().code(), Code::kNotFound);
  EXPECT_EQ(graph.add_node("aten.relu", {ValueRef{99}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(graph.add_node("aten.cat", {std::vector<ValueId>{x, kNoValue}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(graph.add_node("aten.dropout", {ValueRef{x}, 0.5, std::string("g")}).status().field("input"), "generator");
}

TEST_F(GraphTest, ErrorsHaveFields) {
  const ValueId a = input("a", {number(2), number(4)});
  const ValueId b = input("b", {number(5), number(2)});
  const auto made = graph.call("aten.mm", {ValueRef{a}, ValueRef{b}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().message(), "aten.mm: argument mat2: expected 4 rows, found 5");
  EXPECT_EQ(made.status().field("operator"), "aten.mm");
  EXPECT_EQ(made.status().field("input"), "mat2");
  EXPECT_EQ(made.status().field("expected"), "4 rows");
  EXPECT_EQ(made.status().field("found"), "5");
  EXPECT_EQ(graph.add_node("test.wrong_count", {ValueRef{a}}).status().code(), Code::kInternal);
  EXPECT_EQ(graph.add_node("higher_order.cond", {true, std::vector<ValueId>{a}}).status().code(), Code::kInternal);
  EXPECT_EQ(graph.node_count(), 0u);
}

TEST_F(GraphTest, PendingTypesSpread) {
  const Expr n = graph.auto_symbol();
  const ValueId x = input("x", {n, number(4)});
  const ValueId y = input("y", {number(3), number(4)});
  const auto sum = graph.call("aten.add.Tensor", {ValueRef{x}, ValueRef{y}});  // n is 1 or 3: nobody knows
  ASSERT_TRUE(sum.ok()) << sum.status().message();
  EXPECT_TRUE(graph.type(*sum).pending);
  const auto next = graph.call("aten.relu", {ValueRef{*sum}});
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(graph.type(*next).pending);
  const auto pair = graph.add_node("aten.max.dim", {ValueRef{*next}, number(0)});
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(graph.node(*pair).results.size(), 2u);
  const auto item = graph.call("aten.item", {ValueRef{*next}});
  ASSERT_TRUE(item.ok());
  EXPECT_TRUE(graph.type(*item).is_scalar());
  const std::vector<Expr> sizes = {number(1), number(2)};
  EXPECT_EQ(graph.add_node("aten.split_with_sizes", {ValueRef{*next}, sizes}).status().code(),
            Code::kFailedPrecondition);
  const auto split = graph.add_node_named("aten.split_with_sizes", {ValueRef{*next}}, {{"split_sizes", sizes}}, 2);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(graph.node(*split).results.size(), 2u);
  EXPECT_TRUE(verify(graph).ok());
}

struct BroadcastCase {
  std::vector<int64_t> a, b;  // -1: a symbol that is never proven, -2: another one
  std::optional<int64_t> hint_a, hint_b;
  const char* expected;
  size_t guards;
};

TEST(Broadcast, ProvesFirstAndDecidesOtherwise) {
  const BroadcastCase cases[] = {
      {{2, 3}, {2, 3}, {}, {}, "f32[2, 3]", 0},
      {{3}, {2, 1}, {}, {}, "f32[2, 3]", 0},
      {{}, {2}, {}, {}, "f32[2]", 0},
      {{0}, {1}, {}, {}, "f32[0]", 0},
      {{2, 3}, {2, 4}, {}, {}, "error other", 0},
      {{0}, {2}, {}, {}, "error other", 0},
      {{-1}, {-1}, {}, {}, "f32[a]", 0},
      {{-1}, {1}, {}, {}, "f32[a]", 0},
      {{-1}, {-2}, {}, {}, "??", 0},
      {{-1}, {4}, {}, {}, "??", 0},
      {{-1}, {4}, 4, {}, "f32[4]", 1},
      {{-1}, {4}, 1, {}, "f32[4]", 1},
      {{-1}, {4}, 5, {}, "error other", 0},
      {{-1}, {-2}, 7, 7, "f32[a]", 1},
      {{-1}, {-2}, 7, 1, "f32[a]", 1},
      {{-1}, {-2}, 1, 7, "f32[b]", 1},
      {{-1}, {-2}, 6, 7, "error other", 0},
      {{-1}, {-2}, 1, {}, "f32[b]", 1},
      {{-1}, {-2}, 6, {}, "??", 0},
  };
  for (const BroadcastCase& c : cases) {
    Graph graph("g", test_registry());
    const Expr a = *graph.declare_symbol("a", 0, 64, 1);
    const Expr b = *graph.declare_symbol("b", 0, 64, 1);
    if (c.hint_a) graph.facts().set_hint(graph.pool().symbol_of(a), *c.hint_a);
    if (c.hint_b) graph.facts().set_hint(graph.pool().symbol_of(b), *c.hint_b);
    const auto type = [&](const std::vector<int64_t>& sizes) {
      Type type = tensor_type(DType::kF32, {});
      for (int64_t size : sizes) type.dims.push_back(size == -1 ? a : size == -2 ? b : graph.pool().constant(size));
      return type;
    };
    const ValueId x = *graph.add_input("x", type(c.a));
    const ValueId y = *graph.add_input("y", type(c.b));
    const auto made = graph.call("aten.add.Tensor", {ValueRef{x}, ValueRef{y}});
    const std::string found =
        made.ok() ? print(graph.pool(), graph.type(*made)) : "error " + std::string(made.status().field("input"));
    EXPECT_EQ(found, c.expected) << print(graph);
    if (made.ok()) {
      EXPECT_EQ(graph.facts().guards().size(), c.guards) << print(graph);
    }
  }
}

TEST_F(GraphTest, ChangesKeepUsesRight) {
  const ValueId x = input("x", {number(4)});
  const ValueId y = input("y", {number(4)});
  const ValueId a = *graph.call("aten.relu", {ValueRef{x}});
  const ValueId b = *graph.call("aten.cat", {std::vector<ValueId>{a, x, a}});
  graph.add_output("o", ValueRef{a});
  graph.add_write_back(x, a);
  EXPECT_EQ(graph.use_counts(), (std::vector<uint32_t>{2, 0, 4, 0}));
  graph.replace_uses(a, y);
  EXPECT_EQ(graph.use_counts(), (std::vector<uint32_t>{2, 4, 0, 0}));
  graph.erase(graph.value(a).node);
  EXPECT_EQ(graph.order().size(), 1u);
  EXPECT_EQ(graph.use_counts()[x], 1u);
  EXPECT_EQ(Graph::uses(graph.node(graph.value(b).node)), (std::vector<ValueId>{y, x, y}));
  EXPECT_TRUE(verify(graph).ok()) << verify(graph).message();
}

TEST_F(GraphTest, ClonesShareNothingThatChanges) {
  const Expr s = *graph.declare_symbol("s", 1, 64, 2);
  graph.facts().set_hint(graph.pool().symbol_of(s), 6);
  const ValueId x = input("x", {s, number(4)});
  ASSERT_TRUE(graph.facts().decide({symbolic::Relation::kLe, s, number(10)}, "test"));
  graph.add_output("o", ValueRef{*graph.call("aten.relu", {ValueRef{x}})});
  const auto copy = graph.clone();
  const std::string before = print(graph);
  EXPECT_EQ(print(*copy), before);
  ASSERT_EQ(copy->facts().guards().size(), 1u);
  EXPECT_EQ(copy->facts().guards()[0].origin, "test");
  EXPECT_EQ(copy->facts().symbol_range(0), graph.facts().symbol_range(0));
  EXPECT_EQ(copy->facts().divisor(0), 2);
  EXPECT_EQ(copy->facts().hint(0), 6);
  copy->add_output("p", ValueRef{x});
  ASSERT_TRUE(copy->add_input("z", scalar_type(DType::kI64)).ok());
  EXPECT_EQ(print(graph), before);
  EXPECT_FALSE(copy->add_input("x", scalar_type(DType::kI64)).ok());
}

TEST(Element, HalvesRoundTripAndRoundToNearestEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float half = float_of_f16(uint16_t(bits));
    if (half == half) {
      EXPECT_EQ(f16_of_float(half), bits);
    }
    const float brain = float_of_bf16(uint16_t(bits));
    if (brain == brain) {
      EXPECT_EQ(bf16_of_float(brain), bits);
    }
  }
  EXPECT_EQ(f16_of_float(2049.0f), f16_of_float(2048.0f));
  EXPECT_EQ(f16_of_float(2051.0f), f16_of_float(2052.0f));
  EXPECT_EQ(f16_of_float(65519.0f), 0x7bff);
  EXPECT_EQ(f16_of_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_of_float(0x1p-25f), 0);
  EXPECT_EQ(f16_of_float(0x1.8p-25f), 1);
}

// Random graphs of many operators print to a fixed point, and so do their clones.
TEST(RandomGraphs, PrintToAFixedPoint) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Graph graph("random", test_registry());
    symbolic::Pool& pool = graph.pool();
    const auto below = [&](size_t bound) { return size_t(random() % bound); };
    // In an order unlike that of the text.
    std::vector<Expr> sizes = {pool.constant(1), graph.auto_symbol(), *graph.declare_symbol("n", 2, 64, 1)};
    sizes.push_back(*graph.declare_symbol("m", 2, 64, 4));
    sizes.push_back(pool.mul(sizes[2], sizes[3]));
    sizes.push_back(pool.floor_div(pool.add(sizes[3], sizes[2]), pool.constant(3)));
    sizes.push_back(pool.add(pool.mul(sizes[1], sizes[2]), pool.constant(1)));
    std::vector<ValueId> values;
    for (size_t index = 0; index < 3; ++index) {
      const std::vector<Expr> dims = {sizes[below(sizes.size())], sizes[below(sizes.size())]};
      values.push_back(*graph.add_input("x" + std::to_string(index), tensor_type(DType::kF32, dims)));
    }
    for (int step = 0; step < 12; ++step) {
      const ValueRef a{values[below(values.size())]}, b{values[below(values.size())]};
      Result<NodeId> node = NodeId(0);
      switch (below(9)) {
        case 0: node = graph.add_node("aten.relu", {a}); break;
        case 1: node = graph.add_node("aten.add.Tensor", {a, b, below(2) == 0 ? Argument(0.5) : pool.constant(1)}); break;
        case 2: node = graph.add_node("aten.mm", {a, b}); break;
        case 3: node = graph.add_node("aten.t", {a}); break;
        case 4: node = graph.add_node("aten.nonzero", {a}); break;
        case 5: node = graph.add_node("aten.sum.dim_IntList", {a, pool.constant(0), below(2) == 0}); break;
        case 6: node = graph.add_node("aten.cat", {std::vector<ValueId>{a.id, b.id}, pool.constant(-1)}); break;
        case 7: node = graph.add_node("aten.view", {a, std::vector<Expr>{sizes[below(7)], sizes[below(7)]}}); break;
        default: node = graph.add_node("aten.max.dim", {a, pool.constant(0)}); break;
      }
      if (!node.ok()) {
        EXPECT_EQ(node.status().code(), Code::kInvalidArgument) << node.status().message();
        continue;
      }
      for (ValueId value : graph.node(*node).results) values.push_back(value);
    }
    for (int index = 0; index < 3; ++index)
      graph.add_output("y" + std::to_string(index), ValueRef{values[below(values.size())]});
    ASSERT_TRUE(verify(graph).ok()) << verify(graph).message() << print(graph);
    const std::string printed = print(graph);
    const auto again = parse(printed, test_registry());
    ASSERT_TRUE(again.ok()) << printed << again.status().message();
    EXPECT_EQ(print(**again), printed);
    EXPECT_EQ(print(*graph.clone()), printed);
  }
}

}  // namespace
}  // namespace tenon::graph
