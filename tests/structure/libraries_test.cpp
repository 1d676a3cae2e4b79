// The libraries as files: what they export, what they need, how large they are, and that they can be taken out again.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tenon_api.h"

namespace tenon::tests {
namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  char chunk[4096];
  for (size_t got; (got = fread(chunk, 1, sizeof chunk, pipe)) > 0;) out.append(chunk, got);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return out;
}

std::string temporary_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenon_libraries_XXXXXX").string();
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return pattern;
}

std::set<std::string> exported(const std::string& library) {
  std::istringstream lines(output_of("nm -D --defined-only '" + library + "'"));
  std::set<std::string> names;
  for (std::string address, kind, name; lines >> address >> kind >> name;) names.insert(name.substr(0, name.find('@')));
  return names;
}

bool sanitized() { return std::strlen(TENON_SANITIZED) > 0; }

TEST(Libraries, ExportTheCApiAndNothingElse) {
  std::set<std::string> expected;
#define TENON_FUNCTION(since, type, name, parameters) expected.insert(#name);
#include "functions.inc"
#undef TENON_FUNCTION
  EXPECT_EQ(exported(TENON_LIBRARY), expected);
  EXPECT_EQ(exported(TENON_COMPILER_LIBRARY), std::set<std::string>{"tenon_compiler_open"});
}

TEST(Libraries, NeedLittle) {
  if (sanitized()) GTEST_SKIP() << "sanitizers bring libraries of their own";
  const std::set<std::string> system = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
  for (const std::string library : {TENON_LIBRARY, TENON_COMPILER_LIBRARY}) {
    std::istringstream lines(output_of("objdump -p '" + library + "'"));
    for (std::string word, name; lines >> word;) {
      if (word != "NEEDED") continue;
      lines >> name;
      const bool zlib = library == TENON_COMPILER_LIBRARY && name == "libz.so.1";
      EXPECT_TRUE(system.count(name) != 0 || zlib) << library << " needs " << name;
    }
  }
}

TEST(Libraries, AreSmall) {
  if (sanitized()) GTEST_SKIP() << "sanitized code is larger";
  const std::string folder = temporary_folder(), stripped = folder + "/libtenon.so";
  output_of("strip -o '" + stripped + "' '" + TENON_LIBRARY + "'");
  const auto size = std::filesystem::file_size(stripped);
  EXPECT_GT(size, 100u << 10);
  EXPECT_LT(size, 2u << 20);
  std::filesystem::remove_all(folder);
}

bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      long kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

size_t thread_count() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

tenon_str_t str(const char* text) { return {text, std::strlen(text)}; }

// Loads the library, compiles and runs a program with native code, takes the library out again.
void whole_life(const std::string& cache, tenon_miss_policy policy) {
  void* library = dlopen(TENON_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto get_api = reinterpret_cast<const tenon_api_t* (*)(uint32_t)>(dlsym(library, "tenon_get_api"));
  ASSERT_NE(get_api, nullptr);
  const tenon_api_t* api = get_api(TENON_API_VERSION);
  ASSERT_NE(api, nullptr);
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.cache_directory = str(cache.c_str());
  options.threads = 2;
  tenon_context_t* context = nullptr;
  ASSERT_EQ(api->tenon_context_create(&options, &context), nullptr);
  tenon_graph_t* graph = nullptr;
  ASSERT_EQ(api->tenon_graph_parse(context, str("graph @g(%x: f32[s0, 4]) -> (y: f32[s0, 4]) on cpu where s0 in [1, 999] {\n"
                                                "  %0 = aten.mul.Scalar(%x, 2.5) : f32[s0, 4]\n"
                                                "  %1 = aten.exp(%0) : f32[s0, 4]\n"
                                                "  return %1\n}\n"), &graph), nullptr);
  tenon_compile_options_t how = TENON_COMPILE_OPTIONS_INIT;
  how.miss_policy = policy;
  tenon_function_t* function = nullptr;
  ASSERT_EQ(api->tenon_compile(context, graph, &how, &function), nullptr);
  api->tenon_graph_release(graph);
  float data[8] = {0, 1, 0, 0, 0, 0, 0, 0};
  const int64_t dims[] = {2, 4};
  tenon_tensor_t in = {}, out = {};
  in.data = data;
  in.dtype = TENON_DTYPE_F32;
  in.device_kind = TENON_DEVICE_CPU;
  in.rank = 2;
  in.dims = dims;
  ASSERT_EQ(api->tenon_function_run(function, nullptr, &in, 1, &out, 1), nullptr);
  EXPECT_FLOAT_EQ(static_cast<float*>(out.data)[0], 1.0f);
  EXPECT_FLOAT_EQ(static_cast<float*>(out.data)[1], 12.182494f);
  // A failure as well: its status is the library's memory.
  tenon_status_t* status = api->tenon_graph_parse(context, str("graph @g(\n"), &graph);
  EXPECT_NE(status, nullptr);
  api->tenon_status_release(status);
  api->tenon_buffer_release(out.owner);
  api->tenon_function_release(function);
  api->tenon_context_release(context);
  ASSERT_EQ(dlclose(library), 0);
  ASSERT_FALSE(is_mapped("libtenon.so"));
  ASSERT_FALSE(is_mapped("libtenon_compiler.so"));
}

TEST(Libraries, ComeAndGoFiftyTimes) {
  const std::string folder = temporary_folder();
  long before = 0;
  for (int round = 0; round < 50; ++round) {
    // Now and then with kernels still in the making.
    whole_life(folder, round % 5 == 4 ? TENON_MISS_COMPILE_BEHIND : TENON_MISS_COMPILE_NOW);
    if (HasFatalFailure()) break;
    EXPECT_EQ(thread_count(), 1u) << "round " << round;
    if (round == 9) before = resident_kib();
  }
  if (!sanitized()) {
    EXPECT_LT(resident_kib() - before, 2048) << "KiB more than after ten rounds";
  }
  std::filesystem::remove_all(folder);
}

TEST(Libraries, ComeAndGoWithKernelsBeingCompiled) {
  for (int round = 0; round < 5; ++round) {
    const std::string folder = temporary_folder();
    whole_life(folder, TENON_MISS_COMPILE_BEHIND);  // a fresh cache: the compiler runs when everything is released
    EXPECT_EQ(thread_count(), 1u);
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace tenon::tests
