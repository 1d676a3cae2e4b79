// y = relu(2 x + 1), compiled and run. explained.cpp is the same program with words.
#include <cstdio>
#include <tenon/tenon.hpp>

int main() {
  tenon::Context context = tenon::Context::create().or_die();
  tenon::Graph graph = context.graph("f").or_die();
  tenon::Value x = graph.input("x", {tenon::DType::kF32, {graph.symbol("n", 1, 64), 2}});
  tenon::Value doubled = graph.op("aten.mul.Scalar", {x}, tenon::attr("other", 2.0));
  tenon::Value shifted = graph.op("aten.add.Scalar", {doubled}, tenon::attr("other", 1.0));
  graph.output("y", graph.op("aten.relu", {shifted}));
  tenon::Function function = context.compile(graph).or_die();

  const float data[] = {-3, -1, 0, 1, 2, 3};
  std::vector<tenon::Tensor> y = function.run({tenon::Tensor::of(data, {3, 2})}).or_die();
  for (float value : y[0].values<float>()) std::printf("%g ", value);
  std::printf("\n");
}
