#include "graph/verify.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "graph/parse.hpp"
#include "test_operators.hpp"

namespace tenon::graph {
namespace {

constexpr const char* kText = R"(graph @g(%p: bool[], %x: f32[s0], %y: f32[s0]) -> (o: f32[s0]) on cpu where s0 in [1, 8] {
  %w = constant "w" = [1.0, 2.0] : f32[2]
  %n = state "n" : f32[s0]
  %0 = aten.relu(%x) : f32[s0]
  %1 = aten.add.Tensor(%0, %y) : f32[s0]
  %2 = higher_order.cond(%p, [%1]) then (%a: f32[s0]) {
    %3 = aten.relu(%a) : f32[s0]
    yield %3
  } else (%a: f32[s0]) {
    yield %a
  } : f32[s0]
  write %n = %2
  return %2
})";

struct Case {
  const char* message;
  std::function<void(Graph&)> damage;
};

TEST(Verify, NamesTheFirstProblem) {
  const auto relu = [](Graph& graph) -> Node& { return graph.node(graph.order()[0]); };
  const auto add = [](Graph& graph) -> Node& { return graph.node(graph.order()[1]); };
  const auto cond = [](Graph& graph) -> Node& { return graph.node(graph.order()[2]); };
  const auto x = [](Graph& graph) { return graph.inputs()[1].value; };
  const Case cases[] = {
      {"aten.relu: value 999 does not exist", [&](Graph& g) { relu(g).arguments[0] = ValueRef{999}; }},
      {"is used before it is defined", [&](Graph& g) { relu(g).arguments[0] = ValueRef{add(g).results[0]}; }},
      {"is used before it is defined", [&](Graph& g) { relu(g).arguments[0] = ValueRef{relu(g).results[0]}; }},
      {"is used before it is defined", [&](Graph& g) { g.set_order({g.order()[1], g.order()[0], g.order()[2]}); }},
      {"is used before it is defined", [&](Graph& g) { g.set_order({g.order()[0], g.order()[2]}); }},
      {"is the result of an erased node", [&](Graph& g) { g.erase(g.order()[0]); }},
      {"an erased node is in the order", [&](Graph& g) { relu(g).erased = true; }},
      {"a node is in the order twice",
       [&](Graph& g) { g.set_order({g.order()[0], g.order()[0], g.order()[1], g.order()[2]}); }},
      {"node 77 does not exist", [&](Graph& g) { g.set_order({77}); }},
      {"expected 1 arguments, found 0", [&](Graph& g) { relu(g).arguments.clear(); }},
      {"argument self: expected a tensor, found none", [&](Graph& g) { relu(g).arguments[0] = std::monostate{}; }},
      {"argument self: expected a tensor, found a string",
       [&](Graph& g) { relu(g).arguments[0] = std::string("x"); }},
      {"argument alpha: expected a number", [&](Graph& g) { add(g).arguments[2] = ValueRef{x(g)}; }},
      {"expected 1 results, found 0", [&](Graph& g) { relu(g).results.clear(); }},
      {"is defined twice",
       [&](Graph& g) {
         cond(g).regions[1]->inputs[0] = cond(g).regions[0]->inputs[0];
         cond(g).regions[1]->yields[0] = cond(g).regions[0]->inputs[0];
       }},
      {"does not know which node makes it", [&](Graph& g) { g.value(relu(g).results[0]).node = 1234; }},
      {"does not know which node makes it", [&](Graph& g) { g.value(relu(g).results[0]).index = 1; }},
      {"has a name that another value has", [&](Graph& g) { g.value(relu(g).results[0]).name = "x"; }},
      {"has 1 dims and 2 strides",
       [&](Graph& g) { g.value(relu(g).results[0]).type.strides.assign(2, g.pool().constant(1)); }},
      {"has a size of -1", [&](Graph& g) { g.value(relu(g).results[0]).type.dims[0] = g.pool().constant(-1); }},
      {"has no element type", [&](Graph& g) { g.value(relu(g).results[0]).type.dtype = DType(0); }},
      {"is a scalar with dims", [&](Graph& g) { g.value(relu(g).results[0]).type.kind = ValueKind::kScalar; }},
      {"the symbol q, which is not declared",
       [&](Graph& g) {
         g.value(x(g)).type.dims[0] = g.pool().of(g.pool().symbol("q", symbolic::SymbolKind::kSize));
       }},
      {"has a size with v, which only operators give",
       [&](Graph& g) {
         g.value(x(g)).type.dims[0] = g.pool().of(g.pool().symbol("v", symbolic::SymbolKind::kUnbacked));
       }},
      {"has another shape than its bytes", [&](Graph& g) { g.constants()[0].dims[0] = 3; }},
      {"does not know that it is the leaf", [&](Graph& g) { g.value(x(g)).index = 5; }},
      {"shares the name \"x\" with another leaf", [&](Graph& g) { g.constants()[0].name = "x"; }},
      {"output o: value 999 does not exist", [&](Graph& g) { g.outputs()[0].argument = ValueRef{999}; }},
      {"output o: expected a value, none or a number", [&](Graph& g) { g.outputs()[0].argument = DType::kF32; }},
      {"belongs to a region", [&](Graph& g) { g.outputs()[0].argument = ValueRef{cond(g).regions[0]->inputs[0]}; }},
      {"is used in another region than its own",
       [&](Graph& g) { g.node(cond(g).regions[0]->nodes[0]).arguments[0] = ValueRef{x(g)}; }},
      {"is used in another region than its own", [&](Graph& g) { cond(g).regions[1]->yields[0] = x(g); }},
      {"is used before it is defined",
       [&](Graph& g) { relu(g).arguments[0] = ValueRef{cond(g).regions[0]->inputs[0]}; }},
      {"is no region input", [&](Graph& g) { cond(g).regions[0]->inputs[0] = x(g); }},
      {"then input: expected 1, found 0",
       [&](Graph& g) {
         cond(g).regions[0]->inputs.clear();
         cond(g).regions[0]->nodes.clear();
         cond(g).regions[0]->yields.clear();
       }},
      {"else yield: expected 1, found 0", [&](Graph& g) { cond(g).regions[1]->yields.clear(); }},
      {"else input 0: expected f32[s0], found i64[s0]",
       [&](Graph& g) { g.value(cond(g).regions[1]->inputs[0]).type.dtype = DType::kI64; }},
      {"expected 2 regions, found 1", [&](Graph& g) { cond(g).regions.pop_back(); }},
      {"predicate: expected one bool", [&](Graph& g) { cond(g).arguments[0] = ValueRef{x(g)}; }},
      {"write: value", [&](Graph& g) { g.write_backs()[0].target = relu(g).results[0]; }},
      {"write: %w is neither an input nor a state",
       [&](Graph& g) { g.write_backs()[0].target = g.constants()[0].value; }},
      {"write: %n has type f32[s0], the value written to it f32[2]",
       [&](Graph& g) { g.write_backs()[0].value = g.constants()[0].value; }},
      {"write: %n is written twice", [&](Graph& g) { g.write_backs().push_back(g.write_backs()[0]); }},
      {"write: value 999 does not exist", [&](Graph& g) { g.write_backs()[0].value = 999; }},
  };
  for (const Case& damaged : cases) {
    auto graph = parse(kText, test_registry());
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ASSERT_TRUE(verify(**graph).ok()) << verify(**graph).message();
    damaged.damage(**graph);
    const Status status = verify(**graph);
    ASSERT_FALSE(status.ok()) << damaged.message;
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << damaged.message;
    EXPECT_NE(status.message().find(damaged.message), std::string_view::npos)
        << damaged.message << "\n  " << status.message();
  }
}

TEST(Verify, LoopsAndScansMustAgreeWithTheirOperands) {
  const struct {
    const char* call;
    const char* message;  // null: fine
  } cases[] = {
      {"%0 = higher_order.while_loop([%i]) cond (%a: i64[]) { yield %a } body (%a: i64[]) { yield %a } : i64[]",
       "cond yield: expected one bool"},
      {"%0 = higher_order.while_loop([%p]) cond (%a: bool[]) { yield %a } body (%a: bool[]) { yield %a } : bool[]",
       nullptr},
      {"%0 = higher_order.while_loop([%p]) cond (%a: bool[]) { yield %a } body (%a: bool[]) { yield %a } : i64[]",
       "result 0: expected bool[], found i64[]"},
      {"%0 = higher_order.while_loop([%p], [%i]) cond (%a: bool[]) { yield %a } body (%a: bool[], %b: i64[]) { yield "
       "%a } : bool[]",
       "cond input: expected 2, found 1"},
      {"%0, %1 = higher_order.scan([%i], [%x]) body (%a: i64[], %b: f32[3]) { yield %a, %b } : i64[], f32[5, 3]",
       nullptr},
      {"%0, %1 = higher_order.scan([%i], [%x]) body (%a: i64[], %b: f32[5]) { yield %a, %b } : i64[], f32[5, 5]",
       "body input 1: expected f32[3], found f32[5]"},
      {"%0, %1 = higher_order.scan([%i], [%x]) body (%a: i64[], %b: f32[3]) { yield %a, %b } : i64[], f32[3]",
       "result 1: expected f32[5, 3], found f32[3]"},
      {"%0 = higher_order.scan([%i], [%i]) body (%a: i64[], %b: i64[]) { yield %a } : i64[]",
       "expected a dim 0 to scan along"},
  };
  for (const auto& c : cases) {
    const std::string text =
        std::string("graph @g(%p: bool[], %i: i64[], %x: f32[5, 3]) -> () {\n") + c.call + "\nreturn }";
    const auto graph = parse(text, test_registry());
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const Status status = verify(**graph);
    EXPECT_EQ(status.ok(), c.message == nullptr) << c.call << status.message();
    if (c.message != nullptr) {
      EXPECT_NE(status.message().find(c.message), std::string_view::npos) << status.message();
      EXPECT_EQ(status.field("operator").substr(0, 12), "higher_order");
    }
  }
}

}  // namespace
}  // namespace tenon::graph
