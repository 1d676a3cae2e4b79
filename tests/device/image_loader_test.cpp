#include "device/cpu/image_loader.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "device/cpu/elf_image.hpp"
#include "support/env.hpp"
#include "support/format.hpp"
#include "toolchain/system_compiler.hpp"

namespace tenon::device::cpu {
namespace {

#if defined(__aarch64__)
constexpr target::Isa kIsa = target::Isa::kNeon;
#else
constexpr target::Isa kIsa = target::Isa::kX86V2;
#endif

#define EXPORT "extern \"C\" __attribute__((visibility(\"default\"))) "

// A jump table, tables of data, a large alignment, zeroed memory, 128-bit division out of libgcc.
constexpr const char* kSource = R"(
typedef float v4 __attribute__((vector_size(16)));
static const double table[4] = {1.5, 2.5, 3.5, 4.5};
static int counter[5000];
#define EXPORT extern "C" __attribute__((visibility("default")))
EXPORT int exported_data = 7;
EXPORT float add(float a, float b) { return a + b; }
EXPORT double look_up(int i) { return table[i & 3]; }
EXPORT int count(int i) { return ++counter[i]; }
EXPORT int choose(int i) {
  switch (i) { case 0: return 12; case 1: return 7; case 2: return 99; case 3: return -4; case 4: return 1000; case 5: return 8; case 6: return 55; default: return 0; }
}
EXPORT long divide(long high, long low, long by) { return (long)((((__int128)high << 64) | (unsigned long)low) / by); }
EXPORT int call_other(int i) { return choose(i) + 1; }
EXPORT void scale(const float* in, float* out) { v4 x; __builtin_memcpy(&x, in, 16); x = x * 2.0f; __builtin_memcpy(out, &x, 16); }
)";

toolchain::SystemCompiler& compiler() {
  static const auto found = *toolchain::SystemCompiler::find(posix_env());
  return *found;
}

Blob compile(const char* source) {
  const Result<Blob> image = compiler().compile({.source = source, .isa = kIsa});
  EXPECT_TRUE(image.ok()) << image.status().message();
  return *image;
}

const Blob& sample() {
  static const Blob image = compile(kSource);
  return image;
}

// Links what our own flags would refuse.
std::string link_freely(const char* source, const std::vector<std::string>& flags) {
  const std::string folder = *posix_env().make_temp_directory("/tmp");
  ProcessSpec spec;
  spec.arguments = {compiler().path(), "-shared", "-fPIC", "-O1", "-x", "c++", "-", "-o", join_path(folder, "image")};
  spec.arguments.insert(spec.arguments.end(), flags.begin(), flags.end());
  spec.environment = {"PATH=/usr/bin:/bin"};
  spec.input = source;
  const ProcessResult result = *run_process(posix_env(), spec);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  std::string bytes = *posix_env().read_file(join_path(folder, "image"));
  remove_tree(posix_env(), folder);
  return bytes;
}

std::span<const uint8_t> span_of(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

Status load_status(std::string_view bytes) { return KernelImage::load(span_of(bytes)).status(); }

template <typename F>
F* function(const KernelImage& image, std::string_view name) {
  const Result<void*> found = image.find(name);
  EXPECT_TRUE(found.ok()) << name;
  return reinterpret_cast<F*>(*found);
}

void expect_works(const KernelImage& image) {
  EXPECT_EQ(function<float(float, float)>(image, "add")(1.5f, 2.0f), 3.5f);
  EXPECT_EQ(function<double(int)>(image, "look_up")(2), 3.5);
  EXPECT_EQ(function<int(int)>(image, "count")(4999), 1);
  EXPECT_EQ(function<int(int)>(image, "count")(4999), 2);
  EXPECT_EQ(function<int(int)>(image, "choose")(2), 99);
  EXPECT_EQ(function<int(int)>(image, "call_other")(3), -3);
  EXPECT_EQ(function<long(long, long, long)>(image, "divide")(1, 0, 4), 1l << 62);
  const float in[4] = {1, 2, 3, 4};
  float out[4];
  function<void(const float*, float*)>(image, "scale")(in, out);
  EXPECT_EQ(out[3], 8.0f);
}

TEST(ImageLoader, RunsWhatTheCompilerMade) {
  const auto image = KernelImage::load(sample().bytes());
  ASSERT_TRUE(image.ok()) << image.status().message();
  expect_works(**image);
  EXPECT_EQ((*image)->find("missing").status().code(), Code::kNotFound);
  EXPECT_EQ((*image)->find("missing").status().field("symbol"), "missing");
  EXPECT_EQ((*image)->find("exported_data").status().code(), Code::kInvalidArgument);
  EXPECT_EQ((*image)->find("").status().code(), Code::kNotFound);
}

TEST(ImageLoader, OurFlagsLeaveNoRelocations) {
  const auto parsed = parse_elf(sample().bytes(), 4096);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->relocations.size(), 0u);
}

TEST(ImageLoader, TwoLoadsAreIndependent) {
  const auto first = *KernelImage::load(sample().bytes());
  const auto second = *KernelImage::load(sample().bytes());
  EXPECT_EQ(function<int(int)>(*first, "count")(1), 1);
  EXPECT_EQ(function<int(int)>(*second, "count")(1), 1);
}

size_t count_mappings() {
  const std::string text = *posix_env().read_file("/proc/self/maps");
  return size_t(std::count(text.begin(), text.end(), '\n'));
}

TEST(ImageLoader, MapsNothingWritableAndExecutableAndLeavesNothing) {
  (void)KernelImage::load(sample().bytes());
  const size_t before = count_mappings();
  for (int round = 0; round < 50; ++round) {
    const auto image = *KernelImage::load(sample().bytes());
    const std::string maps = *posix_env().read_file("/proc/self/maps");
    ASSERT_EQ(maps.find("rwx"), std::string::npos);
    ASSERT_GT(image->mapped_bytes(), 0u);
  }
  EXPECT_LE(count_mappings(), before + 10);  // the heap may grow, 50 images may not stay
}

TEST(ImageLoader, AppliesRelativeRelocations) {
  // No vague constant folding: the table of addresses must be in memory.
  const std::string bytes = link_freely(
      EXPORT "int first() { return 1; }\n" EXPORT "int second() { return 2; }\n"
      "static int (*const volatile table[2])() = {first, second};\n"
      EXPORT "int call(int i) { return table[i](); }\n",
      {"-nostdlib", "-Wl,-Bsymbolic", "-Wl,-z,norelro"});
  ASSERT_EQ(parse_elf(span_of(bytes), 4096)->relocations.size(), 2u);
  const auto image = KernelImage::load(span_of(bytes));
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(function<int(int)>(**image, "call")(0), 1);
  EXPECT_EQ(function<int(int)>(**image, "call")(1), 2);
}

TEST(ImageLoader, RefusesWhatNeedsSomethingFromOutside) {
  const Status missing = load_status(link_freely(
      "extern \"C\" float expf(float);\n" EXPORT "float f(float x) { return expf(x); }\n", {"-nostdlib"}));
  EXPECT_EQ(missing.code(), Code::kFailedPrecondition);
  EXPECT_EQ(missing.field("symbol"), "expf");
  const Status weak = load_status(link_freely(
      "extern \"C\" __attribute__((weak)) int w();\n" EXPORT "int f() { return w ? w() : 3; }\n", {"-nostdlib"}));
  EXPECT_EQ(weak.code(), Code::kFailedPrecondition);
  EXPECT_EQ(weak.field("symbol"), "w");
}

TEST(ImageLoader, RefusesFeaturesThatImagesNeverHave) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {EXPORT "int f() { return 1; }", {}},  // the C library and its start-up code
      {EXPORT "__thread int t; " EXPORT "int f() { return ++t; }", {"-nostdlib", "-ftls-model=local-dynamic"}},
      {"static int x; __attribute__((constructor)) static void init() { x = 1; } " EXPORT "int f() { return x; }", {"-nostdlib"}},
      {EXPORT "int f() { return 1; }", {"-nostdlib", "-Wl,-z,execstack"}},
      {EXPORT "int g() { return 1; } " EXPORT "int f() { return g(); }", {"-nostdlib", "-O0"}},  // linkage table
  };
  for (const auto& [source, flags] : cases) EXPECT_FALSE(load_status(link_freely(source, flags)).ok()) << source;
}

TEST(ImageLoader, RefusesOtherMachinesAndOtherFiles) {
  std::string bytes(sample().text());
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  header->e_machine = EM_RISCV;
  EXPECT_EQ(load_status(bytes).code(), Code::kInvalidArgument);
  EXPECT_EQ(load_status(bytes).field("found"), concat(EM_RISCV));
  EXPECT_EQ(load_status("").code(), Code::kInvalidArgument);
  EXPECT_EQ(load_status("#!/bin/sh\n").code(), Code::kInvalidArgument);
  EXPECT_FALSE(load_status(*posix_env().read_file("/proc/self/exe")).ok());
}

TEST(ImageLoader, EveryTruncationIsRefusedOrHarmless) {
  const std::string_view whole = sample().text();
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 37) {
    // An exact copy on the heap, so that a checker sees a read past the end.
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + ptrdiff_t(size));
    refused += KernelImage::load(cut).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_FALSE(load_status(whole.substr(0, whole.size() / 2)).ok());
}

TEST(ImageLoader, BitFlipsNeverCrashTheLoader) {
  const std::string whole(sample().text());
  size_t refused = 0;
  // All of the headers and the dynamic tables, then a sample of the rest.
  std::mt19937 random(3);
  for (size_t bit = 0; bit < whole.size() * 8; bit += bit < 8 * 1024 ? 1 : 1 + random() % 61) {
    std::vector<uint8_t> bytes(whole.begin(), whole.end());
    bytes[bit / 8] ^= uint8_t(1u << bit % 8);
    refused += KernelImage::load(bytes).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 300u);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes(whole.begin(), whole.end());
    for (int flips = 0; flips < 4; ++flips) {
      const size_t at = random() % 2 == 0 ? random() % 1024 : random() % bytes.size();
      bytes[at] = random() % 3 == 0 ? 0xff : uint8_t(random());
    }
    (void)KernelImage::load(bytes);
  }
}

TEST(ImageLoader, TellsDebuggerAndProfiler) {
  const std::string path = concat("/tmp/perf-", getpid(), ".map");
  {
    const auto image = *KernelImage::load(sample().bytes(), {.tell_debugger = true, .tell_profiler = true});
    const auto second = *KernelImage::load(sample().bytes(), {.tell_debugger = true});
    expect_works(*image);
    char address[32];
    std::snprintf(address, sizeof address, "%lx ", reinterpret_cast<unsigned long>(*image->find("choose")));
    const std::string map = *posix_env().read_file(path);
    const size_t line = map.find(address);
    ASSERT_NE(line, std::string::npos) << map;
    EXPECT_EQ(map.substr(0, map.find('\n', line)).substr(map.substr(0, map.find('\n', line)).size() - 7), " choose");
  }
  (void)posix_env().remove_file(path);
}

}  // namespace
}  // namespace tenon::device::cpu
