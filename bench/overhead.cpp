// What Tenon itself costs around the kernels, through the C ABI as a host sees it.
//
//   tenon_overhead [--symbols=BERT.pt2] [--static=BERT_STATIC.pt2] [--threads=N] [Google Benchmark's options]
//
// call_run         tenon_call_run of relu(x*2+1), f32[1, 16], compiled, into the caller's memory
// function_run     the same by tenon_function_run, which takes the tensors at each call
// pipeline_bert_*  the compile pipeline of BERT-base at 1x128 without the system compiler (manual time: "compile_ns");
//                  the counter `with_weights_ns` is the whole call, which also packs the weights
#include <benchmark/benchmark.h>
#include <tenon.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

tenon_str_t str(std::string_view text) { return {text.data(), text.size()}; }

void check(tenon_status_t* status, std::string_view what) {
  if (status == nullptr) return;
  const tenon_str_t message = tenon_status_message(status);
  std::fprintf(stderr, "%.*s: %.*s\n", int(what.size()), what.data(), int(message.size), message.data);
  std::exit(1);
}

struct ContextCloser {
  tenon_context_t* context = nullptr;
  explicit ContextCloser(uint32_t threads) {
    tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    options.flags = TENON_CONTEXT_NO_CACHE;
    check(tenon_context_create(&options, &context), "context");
  }
  ContextCloser(const ContextCloser&) = delete;
  ContextCloser& operator=(const ContextCloser&) = delete;
  ~ContextCloser() { tenon_context_release(context); }
};

// relu(x*2+1) on f32[1, 16], compiled, with its tensors.
struct SmallFunction {
  ContextCloser host;
  tenon_function_t* function = nullptr;
  alignas(64) float x[16], y[16];
  int64_t dims[2] = {1, 16};
  tenon_tensor_t in{x, TENON_DTYPE_F32, TENON_DEVICE_CPU, 0, 2, 0, 0, dims, nullptr, nullptr};
  tenon_tensor_t out{y, TENON_DTYPE_F32, TENON_DEVICE_CPU, 0, 2, 0, 0, dims, nullptr, nullptr};

  explicit SmallFunction(uint32_t threads) : host(threads) {
    for (int i = 0; i < 16; ++i) x[i] = float(i) - 8;
    tenon_graph_t* graph = nullptr;
    check(tenon_graph_parse(host.context,
                            str("graph @small(%x: f32[1, 16]) -> (y: f32[1, 16]) on cpu {\n"
                                "  %0 = aten.mul.Scalar(%x, 2.0) : f32[1, 16]\n"
                                "  %1 = aten.add.Scalar(%0, 1.0) : f32[1, 16]\n"
                                "  %2 = aten.relu(%1) : f32[1, 16]\n"
                                "  return %2\n}\n"),
                            &graph),
          "parse");
    tenon_compile_options_t options = TENON_COMPILE_OPTIONS_INIT;
    options.miss_policy = TENON_MISS_COMPILE_NOW;
    options.flags = TENON_COMPILE_FALLBACK_IS_ERROR;
    check(tenon_compile(host.context, graph, &options, &function), "compile");
    tenon_graph_release(graph);
    check(tenon_function_prepare(function, &in, 1), "prepare");
  }
  ~SmallFunction() { tenon_function_release(function); }

  bool right() const {
    for (int i = 0; i < 16; ++i) {
      const float expected = x[i] * 2 + 1 > 0 ? x[i] * 2 + 1 : 0;
      if (y[i] != expected) return false;
    }
    return true;
  }
};

void call_run(benchmark::State& state, uint32_t threads) {
  SmallFunction small(threads);
  tenon_call_t* call = nullptr;
  check(tenon_call_create(small.function, &call), "call");
  check(tenon_call_bind_input(call, 0, &small.in), "bind");
  check(tenon_call_bind_output(call, 0, &small.out), "bind");
  for (auto _ : state) {
    if (tenon_status_t* status = tenon_call_run(call)) check(status, "run");
  }
  if (!small.right()) state.SkipWithError("a wrong result");
  tenon_call_release(call);
}

void function_run(benchmark::State& state, uint32_t threads) {
  SmallFunction small(threads);
  for (auto _ : state) {
    if (tenon_status_t* status = tenon_function_run(small.function, nullptr, &small.in, 1, &small.out, 1))
      check(status, "run");
  }
  if (!small.right()) state.SkipWithError("a wrong result");
}

// Each iteration compiles the imported graph anew, without cache and without starting the system compiler.
void pipeline(benchmark::State& state, uint32_t threads, const std::string& path) {
  const ContextCloser host(threads);
  tenon_graph_t* graph = nullptr;
  check(tenon_graph_import(host.context, str("pt2"), str(path), &graph), path);
  tenon_compile_options_t options = TENON_COMPILE_OPTIONS_INIT;
  options.miss_policy = TENON_MISS_VM;
  const int64_t dims[2] = {1, 128};
  const tenon_tensor_t tokens{nullptr, TENON_DTYPE_I64, TENON_DEVICE_CPU, 0, 2, 0, 0, dims, nullptr, nullptr};
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    tenon_function_t* function = nullptr;
    check(tenon_compile(host.context, graph, &options, &function), "compile");
    const std::vector<tenon_tensor_t> inputs(tenon_function_inputs(function), tokens);
    std::vector<tenon_type_t> outputs(tenon_function_outputs(function));
    check(tenon_function_output_shapes(function, inputs.data(), inputs.size(), outputs.data(), outputs.size()),
          "shapes");
    const std::chrono::nanoseconds whole = std::chrono::steady_clock::now() - start;
    state.counters["with_weights_ns"] = double(whole.count());
    int64_t nanoseconds = 0, misses = 0;
    check(tenon_function_counter(function, str("compile_ns"), &nanoseconds), "compile_ns");
    check(tenon_function_counter(function, str("misses"), &misses), "misses");
    if (misses != 1) state.SkipWithError("expected one miss");
    state.SetIterationTime(double(nanoseconds) / 1e9);
    tenon_function_release(function);
  }
  tenon_graph_release(graph);
}

}  // namespace

int main(int argc, char** argv) {
  std::string symbols, fixed;
  uint32_t threads = 2;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--symbols="))
      symbols = argument.substr(10);
    else if (argument.starts_with("--static="))
      fixed = argument.substr(9);
    else if (argument.starts_with("--threads="))
      threads = uint32_t(std::atoi(argv[i] + 10));
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  benchmark::RegisterBenchmark("call_run", call_run, threads);
  benchmark::RegisterBenchmark("function_run", function_run, threads);
  const auto add_pipeline = [&](const char* name, const std::string& path) {
    if (path.empty()) return;
    benchmark::RegisterBenchmark(name, pipeline, threads, path)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  };
  add_pipeline("pipeline_bert_static", fixed);
  add_pipeline("pipeline_bert_symbols", symbols);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
