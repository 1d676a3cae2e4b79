// The guards by themselves: the C ABI looks an entry up only as a part of a run, so this links the library's inside.
//
//   tenon_guard_check [Google Benchmark's options]
//
// guard_check   finds the entry for a call of a function with 4 rank-4 inputs of automatic dims and 4 entries. All 4
// are
//               looked at: calls alternate between the last two entries, and the most recent one is tried first.
// guard_recent  the same when the most recently used entry is the one that holds.
#include <benchmark/benchmark.h>
#include <tenon.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "handles.hpp"

namespace {

constexpr size_t kInputs = 4, kEntries = 4;

tenon_str_t str(std::string_view text) { return {text.data(), text.size()}; }

void check(tenon_status_t* status, std::string_view what) {
  if (status == nullptr) return;
  const tenon_str_t message = tenon_status_message(status);
  std::fprintf(stderr, "%.*s: %.*s\n", int(what.size()), what.data(), int(message.size), message.data);
  std::exit(1);
}

// The sizes of one call; entries differ in the last dim of the last input only, where a scan finds it last.
struct Shapes {
  int64_t dims[kInputs][4], strides[kInputs][4];
  const int64_t* dim_rows[kInputs];
  const int64_t* stride_rows[kInputs];
  int64_t scalars[kInputs] = {};
  tenon_tensor_t tensors[kInputs];

  explicit Shapes(int64_t last) {
    for (size_t input = 0; input < kInputs; ++input) {
      const int64_t sizes[4] = {2, 3 + int64_t(input), 14, input + 1 == kInputs ? last : 20};
      int64_t stride = 1;
      for (int axis = 4; axis-- > 0;) {
        dims[input][axis] = sizes[axis];
        strides[input][axis] = stride;
        stride *= sizes[axis];
      }
      dim_rows[input] = dims[input];
      stride_rows[input] = strides[input];
      tensors[input] = {nullptr, TENON_DTYPE_F32, TENON_DEVICE_CPU, 0, 4, 0, 0, dims[input], strides[input], nullptr};
    }
  }
  Shapes(const Shapes&) = delete;
  Shapes& operator=(const Shapes&) = delete;

  tenon::runtime::CallShape shape() const { return {tensors, dim_rows, stride_rows, scalars, {}}; }
};

struct Guarded {
  tenon_context_t* context = nullptr;
  tenon_function_t* function = nullptr;

  Guarded() {
    tenon_context_options_t context_options = TENON_CONTEXT_OPTIONS_INIT;
    context_options.flags = TENON_CONTEXT_NO_CACHE | TENON_CONTEXT_NO_COMPILER;
    check(tenon_context_create(&context_options, &context), "context");
    tenon_graph_t* graph = nullptr;
    check(tenon_graph_create(context, str("guarded"), &graph), "graph");
    const tenon_dim_t any[4] = {TENON_DIM_AUTO, TENON_DIM_AUTO, TENON_DIM_AUTO, TENON_DIM_AUTO};
    for (size_t input = 0; input < kInputs; ++input) {
      const char name[2] = {char('a' + input), '\0'};
      const tenon_type_t type{TENON_DTYPE_F32, TENON_DEVICE_CPU, 0, 4, 0, 0, any, nullptr};
      tenon_value_t in, out;
      check(tenon_graph_input(graph, str(name), &type, &in), "input");
      check(tenon_graph_node(graph, str("aten.relu"), &in, 1, nullptr, 0, &out, 1), "node");
      check(tenon_graph_output(graph, str(name), out), "output");
    }
    // One entry a size: in the automatic mode the second size would make the dim dynamic.
    tenon_compile_options_t options = TENON_COMPILE_OPTIONS_INIT;
    options.auto_dims = TENON_AUTO_DIMS_STATIC;
    options.miss_policy = TENON_MISS_VM;
    check(tenon_compile(context, graph, &options, &function), "compile");
    tenon_graph_release(graph);
    for (size_t entry = 0; entry < kEntries; ++entry) {
      const Shapes sizes(20 + int64_t(entry));
      tenon_type_t types[kInputs];
      check(tenon_function_output_shapes(function, sizes.tensors, kInputs, types, kInputs), "shapes");
    }
    int64_t entries = 0;
    check(tenon_function_counter(function, str("entries"), &entries), "entries");
    if (entries != int64_t(kEntries))
      std::fprintf(stderr, "expected %zu entries, found %lld\n", kEntries, (long long)entries), std::exit(1);
  }
  ~Guarded() {
    tenon_function_release(function);
    tenon_context_release(context);
  }
};

void find(benchmark::State& state, bool alternate) {
  const Guarded guarded;
  const Shapes last(20 + kEntries - 1), before(20 + kEntries - 2);
  const tenon::runtime::CallShape calls[2] = {last.shape(), alternate ? before.shape() : last.shape()};
  tenon::runtime::Function& function = *guarded.function->function;
  std::vector<int64_t> registers;
  tenon::Status error;
  size_t turn = 0;
  for (auto _ : state) {
    const auto entry = function.find(calls[turn], registers, &error);
    if (entry == nullptr) {
      state.SkipWithError("no entry was found");
      break;
    }
    benchmark::DoNotOptimize(entry.get());
    turn ^= 1;
  }
}

BENCHMARK_CAPTURE(find, guard_check, true)->Name("guard_check");
BENCHMARK_CAPTURE(find, guard_recent, false)->Name("guard_recent");

}  // namespace

BENCHMARK_MAIN();
