#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tenon/tenon.hpp"

namespace {

using namespace tenon;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Wrapper : public ::testing::Test {
 protected:
  Context context_ = Context::create({.threads = 1, .no_cache = true}).or_die();

  // y = 2 x + 1, s = sum of y's rows
  Graph make_graph() {
    Graph graph = context_.graph("f").or_die();
    const Value x = graph.input("x", {DType::kF32, {graph.symbol("n", 1, 64), 2}});
    const Value y = graph.op("aten.add.Scalar", {graph.op("aten.mul.Scalar", {x}, attr("other", 2.0))}, attr("other", 1.0));
    graph.output("y", y);
    graph.output("s", graph.op("aten.sum.dim_IntList", {y}, attr("dim", {1}), attr("keepdim", true)));
    return graph;
  }
  Function make_function(MissPolicy policy = MissPolicy::kVm) { return context_.compile(make_graph(), {.miss_policy = policy}).or_die(); }
};

TEST_F(Wrapper, RunsAndAllocatesOutputs) {
  float x[] = {1, 2, 3, 4};
  for (const MissPolicy policy : {MissPolicy::kVm, MissPolicy::kCompileNow, MissPolicy::kCompileBehind}) {
    Function function = make_function(policy);
    const std::vector<Tensor> out = function.run({Tensor::of(x, {2, 2})}).or_die();
    ASSERT_EQ(out.size(), 2u);
    EXPECT_THAT(out[0].values<float>(), ElementsAre(3, 5, 7, 9));
    EXPECT_THAT(out[1].dims(), ElementsAre(2, 1));
    EXPECT_THAT(out[1].values<float>(), ElementsAre(8, 16));
  }
}

TEST_F(Wrapper, OutputsOutliveEverythingElse) {
  std::vector<Tensor> out;
  {
    const Context other = Context::create({.threads = 1, .no_cache = true}).or_die();
    Graph graph = other.graph("g").or_die();
    const Value x = graph.input("x", {DType::kF32, {3}});
    graph.output("y", graph.op("aten.neg", {x}));
    float data[] = {1, 2, 3};
    out = other.compile(graph, {.miss_policy = MissPolicy::kVm}).or_die().run({Tensor::of(data, {3})}).or_die();
  }
  EXPECT_THAT(out[0].values<float>(), ElementsAre(-1, -2, -3));
}

TEST_F(Wrapper, FillsTheCallersOutputs) {
  float x[] = {1, 2}, y[2] = {}, s[1] = {};
  Function function = make_function();
  const Tensor in[] = {Tensor::of(x, {1, 2})};
  Tensor out[] = {Tensor::of(y, {1, 2}), Tensor::of(s, {1, 1})};
  ASSERT_TRUE(function.run_into(in, out).ok());
  EXPECT_THAT(y, ElementsAre(3, 5));
  EXPECT_THAT(s, ElementsAre(8));
}

TEST_F(Wrapper, ACallReadsItsBindingsAnew) {
  Function function = make_function();
  Call call = function.call().or_die();
  float x[] = {1, 2};
  ASSERT_TRUE(call.bind_input(0, Tensor::of(x, {1, 2})).ok());
  ASSERT_TRUE(call.run().ok());
  EXPECT_THAT(call.output(0).or_die().values<float>(), ElementsAre(3, 5));
  x[0] = 10;
  ASSERT_TRUE(call.run().ok());
  EXPECT_THAT(call.output(0).or_die().values<float>(), ElementsAre(21, 5));
  x[1] = 0;
  bool done = false;
  while (!done) done = call.step(1'000'000).or_die();
  EXPECT_THAT(call.output(0).or_die().values<float>(), ElementsAre(21, 1));
}

TEST_F(Wrapper, DescribesItsArguments) {
  const Function function = make_function();
  ASSERT_EQ(function.inputs(), 1u);
  ASSERT_EQ(function.outputs(), 2u);
  const Function::Argument x = function.input(0).or_die();
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.type.dtype, DType::kF32);
  EXPECT_THAT(x.type.dims, ElementsAre(Function::kFirstSymbolDim, 2));
  const Function::Symbol n = function.symbol(0).or_die();
  EXPECT_EQ(n.name, "n");
  EXPECT_EQ(n.min, 1);
  EXPECT_EQ(n.max, 64);
  EXPECT_EQ(function.input(1).status().code(), Code::kInvalidArgument);
}

TEST_F(Wrapper, TellsOutputTypesWithoutRunning) {
  Function function = make_function();
  const int64_t dims[] = {5, 2};
  const Tensor in[] = {Tensor::shape_only(DType::kF32, dims)};
  const std::vector<Type> types = function.output_types(in).or_die();
  EXPECT_THAT(types[0].dims, ElementsAre(5, 2));
  EXPECT_THAT(types[1].dims, ElementsAre(5, 1));
}

TEST_F(Wrapper, AGraphKeepsItsFirstError) {
  Graph graph = context_.graph("f").or_die();
  const Value x = graph.input("x", {DType::kF32, {2}});
  const Value bad = graph.op("aten.no_such_operator", {x});
  EXPECT_FALSE(bad.valid());
  graph.output("y", graph.op("aten.relu", {bad}));
  EXPECT_FALSE(graph.status().ok());
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("no_such_operator"));
  EXPECT_THAT(std::string(context_.compile(graph).status().message()), HasSubstr("no_such_operator"));
  EXPECT_FALSE(graph.verify().ok());
}

TEST_F(Wrapper, ErrorsHaveCodesAndFields) {
  Function function = make_function();
  std::vector<float> x(130);
  const Result<std::vector<Tensor>> result = function.run({Tensor::of(x, {65, 2})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(result.status().field("input"), "x");
  EXPECT_EQ(result.status().field("found"), "65");
  EXPECT_EQ(result.status().field("no such field"), "");
}

TEST_F(Wrapper, GraphsPrintAndParse) {
  const std::string text = make_graph().print().or_die();
  EXPECT_THAT(text, HasSubstr("aten.sum.dim_IntList"));
  const Graph again = context_.parse(text).or_die();
  EXPECT_EQ(again.print().or_die(), text);
  EXPECT_FALSE(context_.parse("graph @broken(").ok());
}

TEST_F(Wrapper, ConstantsTakePartInTheProgram) {
  const float weights[] = {1, 10, 100};
  Graph graph = context_.graph("f").or_die();
  const Value x = graph.input("x", {DType::kF32, {3}});
  const Value w = graph.constant("w", Tensor::of(weights, {3}));
  graph.output("y", graph.op("aten.add.Tensor", {x, w}, attr("alpha", 2)));
  ASSERT_TRUE(graph.verify().ok()) << graph.status().message();
  EXPECT_THAT(graph.type_of(w).or_die().dims, ElementsAre(3));
  float data[] = {1, 1, 1};
  const std::vector<Tensor> out = context_.compile(graph, {.miss_policy = MissPolicy::kVm}).or_die().run({Tensor::of(data, {3})}).or_die();
  EXPECT_THAT(out[0].values<float>(), ElementsAre(3, 21, 201));
}

TEST_F(Wrapper, ExplainsAndCounts) {
  Function function = make_function();
  float x[] = {1, 2};
  ASSERT_TRUE(function.run({Tensor::of(x, {1, 2})}).ok());
  EXPECT_THAT(function.explain("guards").or_die(), HasSubstr("64"));
  EXPECT_EQ(function.counter("entries").or_die(), 1);
  EXPECT_EQ(function.counter("misses").or_die(), 1);
  EXPECT_FALSE(function.counter("no such counter").ok());
  EXPECT_FALSE(function.explain("no such thing").ok());
  EXPECT_EQ(context_.counter("threads").or_die(), 1);
}

TEST_F(Wrapper, APackageRunsInAnotherContext) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "wrapper_test.tenon").string();
  Function function = make_function(MissPolicy::kCompileNow);
  float x[] = {1, 2};
  const Tensor in[] = {Tensor::of(x, {1, 2})};
  ASSERT_TRUE(function.prepare(in).ok());
  ASSERT_TRUE(function.save(path).ok());
  const Context other = Context::create({.threads = 1, .no_cache = true, .no_compiler = true}).or_die();
  Function loaded = other.load(path).or_die();
  std::filesystem::remove(path);
  EXPECT_THAT((*loaded.run(in))[0].values<float>(), ElementsAre(3, 5));
  EXPECT_EQ(other.load(path).status().code(), Code::kNotFound);
}

TEST_F(Wrapper, AFunctionIsSharedByItsCopies) {
  std::optional<Function> first = make_function();
  Function second = *first;
  first.reset();
  float x[] = {0, 0};
  EXPECT_THAT((*second.run({Tensor::of(x, {1, 2})}))[0].values<float>(), Each(1.0f));
}

TEST(Status, MovesItsRecord) {
  Status first(Code::kNotFound, "no such thing");
  EXPECT_FALSE(first.ok());
  Status second = std::move(first);
  EXPECT_EQ(second.code(), Code::kNotFound);
  EXPECT_EQ(second.message(), "no such thing");
  second = Status();
  EXPECT_TRUE(second.ok());
  EXPECT_EQ(second.code(), Code::kOk);
  EXPECT_EQ(code_name(Code::kDataLoss), "DATA_LOSS");
}

}  // namespace
