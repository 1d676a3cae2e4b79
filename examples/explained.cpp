// y = relu(2 x + 1) with Tenon's C++ API, step by step. terse.cpp is the same program without words.
#include <cstdio>

#include <tenon/tenon.hpp>

namespace {

// Errors are values: a function gives a Status, or a Result<T> that is a T or a Status. TENON_TRY and TENON_TRY_ASSIGN end
// the function with the first error; nothing throws.
tenon::Status run() {
  // Everything hangs on a context: threads, cache, memory, the system's compiler.
  TENON_TRY_ASSIGN(tenon::Context context, tenon::Context::create({.threads = 2}));

  // A graph of PyTorch's operators under PyTorch's names. A failing step is remembered and the following ones do nothing,
  // so building is plain lines; verify (and compile) report it.
  TENON_TRY_ASSIGN(tenon::Graph graph, context.graph("f"));
  const tenon::Dim n = graph.symbol("n", 1, 64);  // one compiled program serves every n from 1 to 64
  const tenon::Value x = graph.input("x", {tenon::DType::kF32, {n, 2}});
  const tenon::Value doubled = graph.op("aten.mul.Scalar", {x}, tenon::attr("other", 2.0));
  const tenon::Value shifted = graph.op("aten.add.Scalar", {doubled}, tenon::attr("other", 1.0));
  graph.output("y", graph.op("aten.relu", {shifted}));
  TENON_TRY(graph.verify());
  TENON_TRY_ASSIGN(const std::string text, graph.print());
  std::printf("%s", text.c_str());

  // A function is the cache of compiled programs of this graph. The first run is answered at once by the vm and the
  // compiled kernels arrive behind; kCompileNow waits for them.
  TENON_TRY_ASSIGN(tenon::Function function, context.compile(graph, {.miss_policy = tenon::MissPolicy::kCompileNow}));

  // Tensors lend the caller's memory, or hold the library's. A call keeps one caller's bindings: its second and later runs
  // allocate nothing.
  float data[] = {-3, -1, 0, 1, 2, 3};
  float result[6];
  TENON_TRY_ASSIGN(tenon::Call call, function.call());
  TENON_TRY(call.bind_input(0, tenon::Tensor::of(data, {3, 2})));
  TENON_TRY(call.bind_output(0, tenon::Tensor::of(result, {3, 2})));
  TENON_TRY(call.run());
  for (float value : result) std::printf("%g ", value);
  std::printf("\n");

  // What was compiled, in words and numbers.
  TENON_TRY_ASSIGN(const std::string guards, function.explain("guards"));
  TENON_TRY_ASSIGN(const int64_t kernels, function.counter("kernels"));
  std::printf("%s%lld kernel(s)\n", guards.c_str(), static_cast<long long>(kernels));
  return {};
}

}  // namespace

int main() {
  const tenon::Status status = run();
  if (status.ok()) return 0;
  const std::string_view code = tenon::code_name(status.code()), message = status.message(), found = status.field("found");
  std::fprintf(stderr, "%.*s: %.*s (found: %.*s)\n", int(code.size()), code.data(), int(message.size()), message.data(),
               int(found.size()), found.data());
  return 1;
}
