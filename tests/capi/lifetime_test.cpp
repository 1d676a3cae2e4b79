// Handles, owners and host services over the C API; and the shared library as a host loads it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "handles.hpp"
#include "runtime/hand_made.hpp"
#include "tenon_api.h"

namespace tenon::tests {
namespace {

tenon_str_t str(std::string_view text) { return {text.data(), text.size()}; }

struct Host {
  std::atomic<int> allocated{0}, freed{0}, released{0}, parallel{0}, logged{0};
  std::atomic<int64_t> clock{0};
};

tenon_function_t* wrap(tenon_context_t* context, FakeCompiler& fake, artifact::Artifact artifact) {
  auto* handle = new tenon_function;
  handle->function = make_function(context->context, std::move(artifact), fake);
  handle->inputs.resize(handle->function->interface().inputs.size());
  handle->outputs.resize(handle->function->interface().outputs.size());
  return handle;
}

TEST(Services, AreUsedAndReleasedAfterTheLastObject) {
  Host host;
  tenon_allocator_t allocator = TENON_ALLOCATOR_INIT;
  allocator.user = &host;
  allocator.release = [](void* user) { static_cast<Host*>(user)->released.fetch_add(1); };
  allocator.allocate = [](void* user, tenon_device_t* device, size_t bytes, size_t alignment, void*) {
    EXPECT_NE(device, nullptr);
    static_cast<Host*>(user)->allocated.fetch_add(1);
    return std::aligned_alloc(alignment, bytes);
  };
  allocator.deallocate = [](void* user, tenon_device_t*, void* data, size_t, void*) {
    static_cast<Host*>(user)->freed.fetch_add(1);
    std::free(data);
  };
  tenon_executor_t executor = TENON_EXECUTOR_INIT;
  executor.user = &host;
  executor.width = [](void*) -> uint32_t { return 3; };
  executor.parallel_for = [](void* user, size_t count, void (*task)(void*, size_t, uint32_t), void* data) {
    static_cast<Host*>(user)->parallel.fetch_add(1);
    for (size_t i = count; i-- > 0;) task(data, i, uint32_t(i % 3));
  };
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.allocator = &allocator;
  options.executor = &executor;
  tenon_context_t* context = nullptr;
  ASSERT_EQ(tenon_context_create(&options, &context), nullptr);
  std::memset(&allocator, 0, sizeof allocator);  // it was copied
  FakeCompiler fake;
  tenon_function_t* function = wrap(context, fake, pointwise_artifact());
  tenon_context_release(context);

  HostTensor x = HostTensor::floats({400, 900}, [](size_t i) { return float(i % 5); });
  const tenon_tensor_t in = x.tensor();
  tenon_tensor_t out{};
  ASSERT_EQ(tenon_function_run(function, nullptr, &in, 1, &out, 1), nullptr);
  EXPECT_EQ(static_cast<float*>(out.data)[4], 9);
  EXPECT_GT(host.parallel.load(), 0);
  EXPECT_GT(host.allocated.load(), 0);
  tenon_function_release(function);
  EXPECT_EQ(host.released.load(), 0);  // the output still lives
  tenon_buffer_retain(out.owner);
  tenon_buffer_release(out.owner);
  EXPECT_EQ(tenon_buffer_data(out.owner), out.data);
  EXPECT_EQ(tenon_buffer_bytes(out.owner), size_t(400 * 900 * 4));
  tenon_buffer_release(out.owner);
  EXPECT_EQ(host.released.load(), 1);
  EXPECT_EQ(host.allocated.load(), host.freed.load());
}

TEST(Services, AnAllocatorThatFailsGivesAStatusAtEveryCall) {
  static std::atomic<int> left;
  tenon_allocator_t allocator = TENON_ALLOCATOR_INIT;
  allocator.allocate = [](void*, tenon_device_t*, size_t bytes, size_t alignment, void*) -> void* {
    return left.fetch_sub(1) > 0 ? std::aligned_alloc(alignment, bytes) : nullptr;
  };
  allocator.deallocate = [](void*, tenon_device_t*, void* data, size_t, void*) { std::free(data); };
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.allocator = &allocator;
  options.threads = 1;
  int successes = 0, failures = 0;
  for (int budget = 0; budget < 6 && successes == 0; ++budget) {
    left = budget;
    tenon_context_t* context = nullptr;
    ASSERT_EQ(tenon_context_create(&options, &context), nullptr);
    FakeCompiler fake;
    tenon_function_t* function = wrap(context, fake, pointwise_artifact());
    HostTensor x(DType::kF32, {2, 3});
    const tenon_tensor_t in = x.tensor();
    tenon_tensor_t out{};
    tenon_status_t* status = tenon_function_run(function, nullptr, &in, 1, &out, 1);
    if (status == nullptr) {
      ++successes;
      tenon_buffer_release(out.owner);
    } else {
      ++failures;
      EXPECT_EQ(tenon_status_code(status), TENON_RESOURCE_EXHAUSTED);
      EXPECT_EQ(out.owner, nullptr);
      tenon_status_release(status);
    }
    tenon_function_release(function);
    tenon_context_release(context);
  }
  EXPECT_EQ(successes, 1);
  EXPECT_GE(failures, 2);
}

TEST(Calls, RunStepAndHandOutOverTheCApi) {
  tenon_context_t* context = nullptr;
  ASSERT_EQ(tenon_context_create(nullptr, &context), nullptr);
  FakeCompiler fake;
  tenon_function_t* function = wrap(context, fake, pointwise_artifact());
  tenon_call_t* call = nullptr;
  ASSERT_EQ(tenon_call_create(function, &call), nullptr);
  HostTensor x = HostTensor::floats({300, 300}, [](size_t i) { return float(i % 9); });
  const tenon_tensor_t in = x.tensor();
  ASSERT_EQ(tenon_call_bind_input(call, 0, &in), nullptr);
  size_t bytes = 0;
  ASSERT_EQ(tenon_call_required_bytes(call, &bytes), nullptr);
  EXPECT_GT(bytes, 0u);
  int32_t done = 0;
  int steps = 0;
  while (done == 0 && ++steps < 100000) ASSERT_EQ(tenon_call_step(call, 1, &done), nullptr);
  EXPECT_EQ(done, 1);
  tenon_tensor_t out;
  ASSERT_EQ(tenon_call_output(call, 0, &out), nullptr);
  EXPECT_EQ(static_cast<float*>(out.data)[8], 17);
  EXPECT_EQ(out.owner, nullptr);  // lent
  tenon_type_t type;
  ASSERT_EQ(tenon_function_output_shapes(function, &in, 1, &type, 1), nullptr);
  EXPECT_EQ(type.dims[0], 300);
  int64_t value = 0;
  ASSERT_EQ(tenon_context_counter(context, str("arena_bytes"), &value), nullptr);
  EXPECT_GE(value, int64_t(bytes));
  tenon_call_release(call);
  tenon_function_release(function);
  tenon_context_release(context);
}

TEST(DLPack, GoesOutAndComesBackWithoutACopy) {
  tenon_context_t* context = nullptr;
  ASSERT_EQ(tenon_context_create(nullptr, &context), nullptr);
  tenon_device_t* device = nullptr;
  ASSERT_EQ(tenon_context_device(context, TENON_DEVICE_CPU, 0, &device), nullptr);
  tenon_tensor_t tensor{};
  ASSERT_EQ(tenon_buffer_create(device, 24, &tensor.owner), nullptr);
  const int64_t dims[] = {2, 3};
  tensor.data = tenon_buffer_data(tensor.owner);
  tensor.dtype = TENON_DTYPE_BF16;
  tensor.rank = 2;
  tensor.dims = dims;
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(tenon_tensor_to_dlpack(&tensor, &managed), nullptr);
  tenon_buffer_release(tensor.owner);
  tenon_tensor_t back;
  ASSERT_EQ(tenon_tensor_from_dlpack(context, managed, &back), nullptr);
  EXPECT_EQ(back.data, tensor.data);
  EXPECT_EQ(back.dtype, TENON_DTYPE_BF16);
  ASSERT_EQ(back.rank, 2);
  EXPECT_EQ(back.dims[1], 3);
  EXPECT_EQ(back.strides[0], 3);
  tenon_context_release(context);
  tenon_buffer_release(back.owner);  // frees the export, the buffer and the context
}

TEST(Statuses, CarryCodeMessageAndFields) {
  tenon_status_t* status = tenon_status_create(TENON_NOT_FOUND, str("no such file"));
  EXPECT_EQ(tenon_status_code(status), TENON_NOT_FOUND);
  const tenon_str_t message = tenon_status_message(status);
  EXPECT_EQ(std::string(message.data, message.size), "no such file");
  EXPECT_EQ(tenon_status_field(status, str("input")).size, 0u);
  tenon_status_release(status);
  EXPECT_EQ(tenon_status_create(TENON_OK, str("")), nullptr);
  status = tenon_status_create(1234, str("x"));
  EXPECT_EQ(tenon_status_code(status), TENON_UNKNOWN);
  tenon_status_release(status);
}

bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

TEST(SharedLibrary, LoadsRunsAndLeavesNoMappingBehind) {
  ASSERT_FALSE(is_mapped("libtenon.so"));
  void* library = dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
#define TENON_FUNCTION(since, type, name, parameters) EXPECT_NE(dlsym(library, #name), nullptr) << #name;
#include "functions.inc"
#undef TENON_FUNCTION
  const auto get_api = reinterpret_cast<const tenon_api_t* (*)(uint32_t)>(dlsym(library, "tenon_get_api"));
  ASSERT_NE(get_api, nullptr);
  const tenon_api_t* api = get_api(TENON_API_VERSION);
  ASSERT_NE(api, nullptr);
  tenon_context_t* context = nullptr;
  ASSERT_EQ(api->tenon_context_create(nullptr, &context), nullptr);
  // Without the compiler beside it graphs cannot be made, and the status says where it was looked for.
  tenon_graph_t* graph = nullptr;
  tenon_status_t* status = api->tenon_graph_create(context, str("g"), &graph);
  if (status != nullptr) {
    EXPECT_EQ(api->tenon_status_code(status), TENON_UNIMPLEMENTED);
    const tenon_str_t message = api->tenon_status_message(status);
    EXPECT_NE(std::string(message.data, message.size).find("libtenon_compiler.so"), std::string::npos);
  }
  api->tenon_status_release(status);
  api->tenon_graph_release(graph);
  api->tenon_context_release(context);
  dlclose(library);
  EXPECT_FALSE(is_mapped("libtenon.so"));
  EXPECT_FALSE(is_mapped("libtenon_compiler.so"));
}

}  // namespace
}  // namespace tenon::tests
