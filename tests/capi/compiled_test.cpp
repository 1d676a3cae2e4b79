// The two shared libraries together, as a host without a linker's help uses them: parse, compile, run, prepare, save,
// load.
#ifdef TENON_HAS_COMPILER  // the compiler library is part of this build

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tenon_api.h"

namespace {

tenon_str_t str(std::string_view text) { return {text.data(), text.size()}; }

constexpr std::string_view kGraph =
    "graph @square(%x: f32[s0, 8]) -> (y: f32[s0, 8]) on cpu where s0 in [1, 512] {\n"
    "  %0 = aten.relu(%x) : f32[s0, 8]\n"
    "  %1 = aten.mul.Tensor(%0, %0) : f32[s0, 8]\n"
    "  return %1\n"
    "}\n";

struct Compiled : testing::Test {
  void* library = dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  const tenon_api_t* api = nullptr;
  tenon_context_t* context = nullptr;
  tenon_function_t* function = nullptr;
  std::vector<float> x = std::vector<float>(512 * 8), y = std::vector<float>(512 * 8);

  void SetUp() override {
    ASSERT_NE(library, nullptr) << dlerror();
    api = reinterpret_cast<const tenon_api_t* (*)(uint32_t)>(dlsym(library, "tenon_get_api"))(TENON_API_VERSION);
    ASSERT_NE(api, nullptr);
    EXPECT_EQ(api->tenon_has_feature(str("compiler")), 1);
    tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
    options.flags = TENON_CONTEXT_NO_CACHE;
    options.threads = 2;
    ok(api->tenon_context_create(&options, &context));
    tenon_graph_t* graph = nullptr;
    ok(api->tenon_graph_parse(context, str(kGraph), &graph));
    ok(api->tenon_compile(context, graph, nullptr, &function));
    api->tenon_graph_release(graph);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 9) - 4;
  }
  void TearDown() override {
    api->tenon_function_release(function);
    api->tenon_context_release(context);
    dlclose(library);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find("libtenon"), std::string::npos) << line;
  }
  void ok(tenon_status_t* status) {
    if (status == nullptr) return;
    const tenon_str_t message = api->tenon_status_message(status);
    ADD_FAILURE() << std::string(message.data, message.size);
    api->tenon_status_release(status);
  }
  tenon_tensor_t tensor(float* data, const int64_t* dims) {
    return {data, TENON_DTYPE_F32, TENON_DEVICE_CPU, 0, 2, 0, 0, dims, nullptr, nullptr};
  }
  void expect_right(int64_t rows) {
    const int64_t dims[] = {rows, 8};
    const tenon_tensor_t in = tensor(x.data(), dims);
    tenon_tensor_t out = tensor(y.data(), dims);
    ok(api->tenon_function_run(function, nullptr, &in, 1, &out, 1));
    for (size_t i = 0; i < size_t(rows) * 8; ++i) ASSERT_EQ(y[i], x[i] > 0 ? x[i] * x[i] : 0) << i;
  }
  int64_t counter(std::string_view name) {
    int64_t value = -1;
    ok(api->tenon_function_counter(function, str(name), &value));
    return value;
  }
};

TEST_F(Compiled, OneEntryServesARangeAndKernelsBecomeNative) {
  for (int64_t rows : {1, 3, 512}) expect_right(rows);
  EXPECT_EQ(counter("entries"), 1);
  const int64_t dims[] = {7, 8};
  const tenon_tensor_t in = tensor(nullptr, dims);
  ok(api->tenon_function_prepare(function, &in, 1));
  EXPECT_EQ(counter("tier"), 1);
  EXPECT_EQ(counter("fallbacks"), 0);
  expect_right(100);
  const int64_t many[] = {513, 8};
  const tenon_tensor_t large = tensor(x.data(), many);
  tenon_tensor_t out{};
  tenon_status_t* status = api->tenon_function_run(function, nullptr, &large, 1, &out, 1);
  EXPECT_EQ(api->tenon_status_code(status), TENON_INVALID_ARGUMENT);
  const tenon_str_t input = api->tenon_status_field(status, str("input"));
  EXPECT_EQ(std::string(input.data, input.size), "x");
  api->tenon_status_release(status);
}

TEST_F(Compiled, APackageRunsWithItsNativeKernels) {
  expect_right(4);
  const int64_t dims[] = {4, 8};
  const tenon_tensor_t in = tensor(nullptr, dims);
  ok(api->tenon_function_prepare(function, &in, 1));
  const std::string path = "/tmp/tenon_package_test." + std::to_string(getpid());
  ok(api->tenon_function_save(function, str(path)));
  api->tenon_function_release(function);
  function = nullptr;
  ok(api->tenon_function_load(context, str(path), &function));
  std::remove(path.c_str());
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(counter("tier"), 1);
  expect_right(300);
}

TEST_F(Compiled, AFunctionMayGoBeforeItsKernelsAreDone) { expect_right(2); }

}  // namespace

#endif  // TENON_HAS_COMPILER
