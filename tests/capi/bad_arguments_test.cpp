// Every function of the C API with missing pointers and malformed structs: an error that names the argument, never a
// crash.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "handles.hpp"
#include "runtime/hand_made.hpp"
#include "tenon_api.h"

namespace tenon::tests {
namespace {

tenon_str_t str(std::string_view text) { return {text.data(), text.size()}; }
std::string take_field(tenon_status_t* status, std::string_view key) {
  const tenon_str_t value = tenon_status_field(status, str(key));
  return std::string(value.data, value.size);
}

// Live objects to leave out one at a time.
struct World {
  tenon_context_t* context = nullptr;
  tenon_function_t* function = nullptr;
  tenon_call_t* call = nullptr;
  tenon_state_t* state = nullptr;
  tenon_device_t* device = nullptr;
  FakeCompiler fake;
  HostTensor x{DType::kF32, {2, 3}}, y{DType::kF32, {2, 3}};
  tenon_tensor_t in, out;
  // A graph without a compiler behind it: calls that get as far would crash, so a test that passes never got there.
  tenon_graph_t graph;

  World() {
    EXPECT_EQ(tenon_context_create(nullptr, &context), nullptr);
    auto made = make_function(context->context, pointwise_artifact(), fake);
    function = new tenon_function;
    function->function = made;
    function->inputs.resize(1);
    function->outputs.resize(1);
    EXPECT_EQ(tenon_call_create(function, &call), nullptr);
    EXPECT_EQ(tenon_state_create(function, &state), nullptr);
    EXPECT_EQ(tenon_context_device(context, TENON_DEVICE_CPU, 0, &device), nullptr);
    in = x.tensor();
    out = y.tensor();
    graph.context = context->context;
  }
  ~World() {
    tenon_call_release(call);
    tenon_state_release(state);
    tenon_function_release(function);
    graph.context.reset();
    tenon_context_release(context);
  }
};

void ignore(void*, tenon_str_t) {}

struct Case {
  const char* function;
  const char* argument;  // that the error names
  std::function<tenon_status_t*(World&)> call;
};

int64_t i64;
int32_t i32;
size_t size;
tenon_dim_t dim;
tenon_value_t value;
tenon_type_t type;
tenon_tensor_t tensor;
tenon_str_t text;
tenon_graph_t* graph_out;
tenon_function_t* function_out;
tenon_call_t* call_out;
tenon_state_t* state_out;
tenon_device_t* device_out;
tenon_buffer_t* buffer_out;
DLManagedTensorVersioned* managed_out;

#define CASE(function, argument, ...)   \
  {                                     \
    #function, argument, [](World& w) { \
      (void)w;                          \
      return function(__VA_ARGS__);     \
    }                                   \
  }
const Case kCases[] = {
    CASE(tenon_context_create, "out_context", nullptr, nullptr),
    CASE(tenon_context_poll, "context", nullptr, 0, &i32),
    CASE(tenon_context_poll, "out_pending", w.context, 0, nullptr),
    CASE(tenon_context_counter, "context", nullptr, str("threads"), &i64),
    CASE(tenon_context_counter, "out_value", w.context, str("threads"), nullptr),
    CASE(tenon_context_counter, "name", w.context, str("no such counter"), &i64),
    CASE(tenon_context_counter, "name.data", w.context, (tenon_str_t{nullptr, 3}), &i64),
    CASE(tenon_context_device, "context", nullptr, 1, 0, &device_out),
    CASE(tenon_context_device, "out_device", w.context, 1, 0, nullptr),
    CASE(tenon_context_device, "kind", w.context, 9, 0, &device_out),
    CASE(tenon_context_device, "index", w.context, 1, 1, &device_out),
    CASE(tenon_device_synchronize, "device", nullptr),
    CASE(tenon_buffer_create, "device", nullptr, 10, &buffer_out),
    CASE(tenon_buffer_create, "out_buffer", w.device, 10, nullptr),
    CASE(tenon_tensor_from_dlpack, "context", nullptr, nullptr, &tensor),
    CASE(tenon_tensor_from_dlpack, "managed", w.context, nullptr, &tensor),
    CASE(tenon_tensor_to_dlpack, "tensor", nullptr, &managed_out),
    CASE(tenon_tensor_to_dlpack, "out_managed", &w.in, nullptr),
    CASE(tenon_tensor_to_dlpack, "tensor->owner", &w.in, &managed_out),
    CASE(tenon_graph_create, "context", nullptr, str("g"), &graph_out),
    CASE(tenon_graph_create, "out_graph", w.context, str("g"), nullptr),
    CASE(tenon_graph_parse, "context", nullptr, str("g"), &graph_out),
    CASE(tenon_graph_parse, "text.data", w.context, (tenon_str_t{nullptr, 1}), &graph_out),
    CASE(tenon_graph_import, "context", nullptr, str("pt2"), str("x"), &graph_out),
    CASE(tenon_graph_import, "path.data", w.context, str("pt2"), (tenon_str_t{nullptr, 1}), &graph_out),
    CASE(tenon_graph_symbol, "graph", nullptr, str("s0"), 0, 1, 1, &dim),
    CASE(tenon_graph_symbol, "out_dim", &w.graph, str("s0"), 0, 1, 1, nullptr),
    CASE(tenon_graph_symbol, "max", &w.graph, str("s0"), 5, 1, 1, &dim),
    CASE(tenon_graph_symbol, "divisor", &w.graph, str("s0"), 0, 1, 0, &dim),
    CASE(tenon_graph_dim, "graph", nullptr, str("s0"), &dim),
    CASE(tenon_graph_dim, "out_dim", &w.graph, str("s0"), nullptr),
    CASE(tenon_graph_input, "graph", nullptr, str("x"), &type, &value),
    CASE(tenon_graph_input, "type", &w.graph, str("x"), nullptr, &value),
    CASE(tenon_graph_input, "out_value", &w.graph, str("x"), &type, nullptr),
    CASE(tenon_graph_state, "graph", nullptr, str("x"), &type, nullptr, &value),
    CASE(tenon_graph_state, "type", &w.graph, str("x"), nullptr, nullptr, &value),
    CASE(tenon_graph_constant, "graph", nullptr, str("x"), &w.in, 0, &value),
    CASE(tenon_graph_constant, "data", &w.graph, str("x"), nullptr, 0, &value),
    CASE(tenon_graph_constant, "flags", &w.graph, str("x"), &w.in, 8, &value),
    CASE(tenon_graph_node, "graph", nullptr, str("aten.add"), nullptr, 0, nullptr, 0, nullptr, 0),
    CASE(tenon_graph_node, "inputs", &w.graph, str("aten.add"), nullptr, 2, nullptr, 0, &value, 1),
    CASE(tenon_graph_node, "attrs", &w.graph, str("aten.add"), nullptr, 0, nullptr, 1, &value, 1),
    CASE(tenon_graph_node, "outputs", &w.graph, str("aten.add"), nullptr, 0, nullptr, 0, nullptr, 1),
    CASE(tenon_graph_output, "graph", nullptr, str("y"), 0),
    CASE(tenon_graph_type, "graph", nullptr, 0, &type),
    CASE(tenon_graph_type, "out_type", &w.graph, 0, nullptr),
    CASE(tenon_graph_verify, "graph", nullptr),
    CASE(tenon_graph_print, "graph", nullptr, ignore, nullptr),
    CASE(tenon_graph_print, "write", &w.graph, nullptr, nullptr),
    CASE(tenon_compile, "context", nullptr, &w.graph, nullptr, &function_out),
    CASE(tenon_compile, "graph", w.context, nullptr, nullptr, &function_out),
    CASE(tenon_compile, "out_function", w.context, &w.graph, nullptr, nullptr),
    CASE(tenon_function_input, "function", nullptr, 0, &text, &type),
    CASE(tenon_function_input, "out_name", w.function, 0, nullptr, &type),
    CASE(tenon_function_input, "out_type", w.function, 0, &text, nullptr),
    CASE(tenon_function_input, "index", w.function, 1, &text, &type),
    CASE(tenon_function_output, "function", nullptr, 0, &text, &type),
    CASE(tenon_function_output, "index", w.function, 7, &text, &type),
    CASE(tenon_function_symbol, "function", nullptr, 0, &text, &i64, &i64, &i64),
    CASE(tenon_function_symbol, "out_min", w.function, 0, &text, nullptr, &i64, &i64),
    CASE(tenon_function_symbol, "index", w.function, 0, &text, &i64, &i64, &i64),
    CASE(tenon_function_output_shapes, "function", nullptr, &w.in, 1, &type, 1),
    CASE(tenon_function_output_shapes, "out_types", w.function, &w.in, 1, nullptr, 1),
    CASE(tenon_function_output_shapes, "n_inputs", w.function, &w.in, 2, &type, 1),
    CASE(tenon_function_output_shapes, "n_outputs", w.function, &w.in, 1, &type, 0),
    CASE(tenon_function_prepare, "function", nullptr, &w.in, 1),
    CASE(tenon_function_prepare, "inputs", w.function, nullptr, 1),
    CASE(tenon_function_run, "function", nullptr, nullptr, &w.in, 1, &w.out, 1),
    CASE(tenon_function_run, "inputs", w.function, nullptr, nullptr, 1, &w.out, 1),
    CASE(tenon_function_run, "outputs", w.function, nullptr, &w.in, 1, nullptr, 1),
    CASE(tenon_function_run, "n_outputs", w.function, nullptr, &w.in, 1, &w.out, 2),
    CASE(tenon_call_create, "function", nullptr, &call_out),
    CASE(tenon_call_create, "out_call", w.function, nullptr),
    CASE(tenon_call_bind_input, "call", nullptr, 0, &w.in),
    CASE(tenon_call_bind_input, "tensor", w.call, 0, nullptr),
    CASE(tenon_call_bind_input, "index", w.call, 1, &w.in),
    CASE(tenon_call_bind_output, "call", nullptr, 0, &w.out),
    CASE(tenon_call_bind_output, "index", w.call, 1, &w.out),
    CASE(tenon_call_bind_state, "call", nullptr, w.state),
    CASE(tenon_call_bind_state, "state", w.call, nullptr),
    CASE(tenon_call_bind_facts, "call", nullptr, nullptr, 0),
    CASE(tenon_call_bind_facts, "facts", w.call, nullptr, 2),
    CASE(tenon_call_set_parallelism, "call", nullptr, 1),
    CASE(tenon_call_required_bytes, "call", nullptr, &size),
    CASE(tenon_call_required_bytes, "out_bytes", w.call, nullptr),
    CASE(tenon_call_run, "call", nullptr),
    CASE(tenon_call_run, "x", w.call),  // an input that is not bound
    CASE(tenon_call_step, "call", nullptr, 0, &i32),
    CASE(tenon_call_step, "out_done", w.call, 0, nullptr),
    CASE(tenon_call_output, "call", nullptr, 0, &tensor),
    CASE(tenon_call_output, "out_tensor", w.call, 0, nullptr),
    CASE(tenon_call_output, "index", w.call, 3, &tensor),
    CASE(tenon_state_create, "function", nullptr, &state_out),
    CASE(tenon_state_create, "out_state", w.function, nullptr),
    CASE(tenon_state_get, "state", nullptr, str("n"), &tensor),
    CASE(tenon_state_get, "out_tensor", w.state, str("n"), nullptr),
    CASE(tenon_state_set, "state", nullptr, str("n"), &w.in),
    CASE(tenon_state_set, "tensor", w.state, str("n"), nullptr),
    CASE(tenon_function_explain, "function", nullptr, str("plan"), ignore, nullptr),
    CASE(tenon_function_explain, "write", w.function, str("plan"), nullptr, nullptr),
    CASE(tenon_function_explain, "what", w.function, str("the world"), ignore, nullptr),
    CASE(tenon_function_counter, "function", nullptr, str("entries"), &i64),
    CASE(tenon_function_counter, "out_value", w.function, str("entries"), nullptr),
    CASE(tenon_function_counter, "name", w.function, str("moon phase"), &i64),
    CASE(tenon_function_save, "function", nullptr, str("x")),
    CASE(tenon_function_save, "path.data", w.function, (tenon_str_t{nullptr, 1})),
    CASE(tenon_function_load, "context", nullptr, str("x"), &function_out),
    CASE(tenon_function_load, "out_function", w.context, str("x"), nullptr),
    CASE(tenon_status_create, "message.data", 3, (tenon_str_t{nullptr, 1})),
};

TEST(BadArguments, AreNamedByEveryFunction) {
  World world;
  for (const Case& c : kCases) {
    tenon_status_t* status = c.call(world);
    ASSERT_NE(status, nullptr) << c.function << " " << c.argument;
    EXPECT_EQ(tenon_status_code(status), TENON_INVALID_ARGUMENT) << c.function << " " << c.argument;
    EXPECT_EQ(take_field(status, "input"), c.argument) << c.function;
    tenon_status_release(status);
  }
}

TEST(BadArguments, EveryFallibleFunctionHasACase) {
  std::set<std::string> covered;
  for (const Case& c : kCases) covered.insert(c.function);
  size_t fallible = 0;
#define TENON_FUNCTION(since, type, name, parameters)                              \
  if (std::string_view(#type) == "tenon_status_t*") {                              \
    ++fallible;                                                                    \
    EXPECT_TRUE(covered.count(#name)) << #name " has no case with a bad argument"; \
  }
#include "functions.inc"
#undef TENON_FUNCTION
  EXPECT_EQ(fallible, covered.size());
}

TEST(BadArguments, VoidFunctionsAndGettersTakeNull) {
  tenon_status_release(nullptr);
  tenon_context_release(nullptr);
  tenon_buffer_release(nullptr);
  tenon_buffer_retain(nullptr);
  tenon_graph_release(nullptr);
  tenon_function_retain(nullptr);
  tenon_function_release(nullptr);
  tenon_call_release(nullptr);
  tenon_call_cancel(nullptr);
  tenon_state_release(nullptr);
  EXPECT_EQ(tenon_status_code(nullptr), TENON_OK);
  EXPECT_EQ(tenon_status_message(nullptr).size, 0u);
  EXPECT_EQ(tenon_status_field(nullptr, str("input")).size, 0u);
  EXPECT_EQ(tenon_buffer_data(nullptr), nullptr);
  EXPECT_EQ(tenon_buffer_bytes(nullptr), 0u);
  EXPECT_EQ(tenon_function_inputs(nullptr) + tenon_function_outputs(nullptr) + tenon_function_symbols(nullptr) +
                tenon_function_states(nullptr),
            0u);
  EXPECT_EQ(tenon_has_feature({nullptr, 0}), 0);
  EXPECT_EQ(tenon_has_feature(str("cpu")), 1);
  EXPECT_EQ(tenon_has_feature(str("flying")), 0);
  EXPECT_EQ(tenon_find_experimental(str("x")), nullptr);
}

std::string field_of_context(tenon_context_options_t options, std::string_view key = "input") {
  tenon_context_t* context = nullptr;
  tenon_status_t* status = tenon_context_create(&options, &context);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(tenon_status_code(status), TENON_INVALID_ARGUMENT);
  const std::string field = take_field(status, key);
  tenon_status_release(status);
  return field;
}

TEST(BadStructs, SizesChainsAndFlagsAreChecked) {
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.struct_size = 0;
  EXPECT_EQ(field_of_context(options), "options");
  options.struct_size = SIZE_MAX;
  EXPECT_EQ(field_of_context(options), "options");
  options = TENON_CONTEXT_OPTIONS_INIT;
  tenon_chain_t link = {sizeof(tenon_chain_t), 77, 0, nullptr};
  options.next = &link;
  EXPECT_EQ(field_of_context(options), "options.next");
  EXPECT_EQ(field_of_context(options, "found"), "77");
  link.flags = TENON_CHAIN_OPTIONAL;
  link.next = &link;  // a ring ends
  EXPECT_EQ(field_of_context(options), "options.next");
  link.next = nullptr;
  tenon_context_t* context = nullptr;
  EXPECT_EQ(tenon_context_create(&options, &context), nullptr);
  tenon_context_release(context);
  link.struct_size = 3;
  EXPECT_EQ(field_of_context(options), "options.next");
  options = TENON_CONTEXT_OPTIONS_INIT;
  options.flags = 1u << 30;
  EXPECT_EQ(field_of_context(options), "flags");
  options = TENON_CONTEXT_OPTIONS_INIT;
  options.isa = str("z80");
  EXPECT_EQ(field_of_context(options), "isa");
  options = TENON_CONTEXT_OPTIONS_INIT;
  tenon_executor_t executor = TENON_EXECUTOR_INIT;
  options.executor = &executor;
  EXPECT_EQ(field_of_context(options, "expected"), "width");
}

TEST(BadStructs, NewerStructsAreTakenWhenTheirNewFieldsAreZero) {
  struct {
    tenon_run_options_t known = TENON_RUN_OPTIONS_INIT;
    uint64_t added = 0;
  } newer;
  newer.known.struct_size = sizeof newer;
  World world;
  EXPECT_EQ(tenon_function_run(world.function, &newer.known, &world.in, 1, &world.out, 1), nullptr);
  newer.added = 1;
  tenon_status_t* status = tenon_function_run(world.function, &newer.known, &world.in, 1, &world.out, 1);
  EXPECT_EQ(tenon_status_code(status), TENON_INVALID_ARGUMENT);
  tenon_status_release(status);
  // An older, shorter one: what it lacks is zero.
  tenon_context_options_t older;
  std::memset(&older, 0xff, sizeof older);
  older.struct_size = 16;
  older.next = nullptr;
  tenon_context_t* context = nullptr;
  EXPECT_EQ(tenon_context_create(&older, &context), nullptr);
  tenon_context_release(context);
}

TEST(BadStructs, MalformedTensorsAreRefused) {
  World world;
  const auto field = [&](tenon_tensor_t t, std::string_view key) {
    tenon_status_t* status = tenon_call_bind_input(world.call, 0, &t);
    EXPECT_EQ(tenon_status_code(status), TENON_INVALID_ARGUMENT);
    const std::string out = take_field(status, key);
    tenon_status_release(status);
    return out;
  };
  tenon_tensor_t t = world.in;
  t.dtype = 99;
  EXPECT_EQ(field(t, "found"), "99");
  t = world.in;
  t.rank = 17;
  EXPECT_EQ(field(t, "found"), "17");
  t.rank = -1;
  EXPECT_EQ(field(t, "found"), "-1");
  t = world.in;
  t.dims = nullptr;
  EXPECT_EQ(field(t, "input"), "x");
  t = world.in;
  const int64_t negative[] = {2, -3}, huge[] = {INT64_MAX, INT64_MAX};
  t.dims = negative;
  EXPECT_EQ(field(t, "found"), "-3");
  t.dims = huge;
  EXPECT_EQ(field(t, "input"), "x");
  t = world.in;
  t.device_kind = TENON_DEVICE_CUDA;
  EXPECT_EQ(field(t, "found"), "cuda");
  t = world.in;
  const int64_t far[] = {INT64_MIN, INT64_MAX};
  t.strides = far;
  EXPECT_EQ(field(t, "input"), "x");
}

}  // namespace
}  // namespace tenon::tests
