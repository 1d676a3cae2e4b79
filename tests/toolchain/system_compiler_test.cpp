#include "toolchain/system_compiler.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>

#include "device/cpu/image_loader.hpp"
#include "support/faulty_env.hpp"
#include "support/format.hpp"

namespace tenon::toolchain {
namespace {

using tests::FaultyEnv;
using tests::TempDirectory;

#if defined(__aarch64__)
constexpr target::Isa kIsa = target::Isa::kNeon;
#else
constexpr target::Isa kIsa = target::Isa::kX86V2;
#endif

constexpr const char* kSource =
    "extern \"C\" __attribute__((visibility(\"default\"))) int answer(int x) { return x + 42; }\n";

CompileRequest request(const char* source = kSource) { return {.source = source, .isa = kIsa}; }

void expect_answer(const Result<Blob>& bytes) {
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto image = device::cpu::KernelImage::load(bytes->bytes());
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(*(*image)->find("answer"))(1), 43);
}

std::unique_ptr<SystemCompiler> find(Env& env, const SystemCompilerOptions& options = {}) {
  auto compiler = SystemCompiler::find(env, options);
  EXPECT_TRUE(compiler.ok()) << compiler.status().message();
  return *std::move(compiler);
}

size_t count_files(const std::string& directory) { return posix_env().list_directory(directory)->size(); }

// A program that says it is a compiler and then does what `body` says.
std::string write_script(const std::string& path, std::string_view body) {
  const std::string text = concat("#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'fake 1.0'; exit 0; fi\n", body, "\n");
  EXPECT_TRUE(posix_env().write_file(path, text, false).ok());
  chmod(path.c_str(), 0755);
  return path;
}

TEST(SystemCompiler, CompilesAndLeavesNoFile) {
  TempDirectory temp;
  const auto compiler = find(posix_env(), {.path = "", .work_directories = {temp.path()}});
  expect_answer(compiler->compile(request()));
  EXPECT_EQ(count_files(temp.path()), 0u);
}

TEST(SystemCompiler, EveryLevelOfThisArchitectureCompiles) {
  const auto compiler = find(posix_env());
#if defined(__aarch64__)
  const target::Isa levels[] = {target::Isa::kNeon};
#else
  const target::Isa levels[] = {target::Isa::kX86V2, target::Isa::kX86V3, target::Isa::kX86V4};
#endif
  for (const target::Isa isa : levels) {
    expect_answer(compiler->compile({.source = kSource, .isa = isa}));
    EXPECT_NE(compiler->key(isa), Fingerprint());
  }
}

TEST(SystemCompiler, SquareRootsAndRoundingNeedNoLibrary) {
  const auto compiler = find(posix_env());
  const Result<Blob> image = compiler->compile(request(
      "extern \"C\" __attribute__((visibility(\"default\"))) float f(float x) {"
      "  return __builtin_sqrtf(x) + __builtin_floorf(x) + __builtin_copysignf(1.0f, x) + __builtin_fabsf(x); }"));
  EXPECT_TRUE(image.ok()) << image.status().message();
}

TEST(SystemCompiler, PathsMayHaveSpacesAndQuotes) {
  TempDirectory temp;
  const std::string folder = temp / "a b'c$d\"`e";
  ASSERT_TRUE(posix_env().make_directories(folder).ok());
  const std::string real = find(posix_env())->path();
  const std::string link = join_path(folder, "my g++");
  ASSERT_EQ(symlink(real.c_str(), link.c_str()), 0);
  const auto compiler = find(posix_env(), {.path = link, .work_directories = {folder}});
  EXPECT_EQ(compiler->path(), link);
  expect_answer(compiler->compile(request()));
  EXPECT_EQ(count_files(folder), 1u);
}

TEST(SystemCompiler, WorksFromMemoryWhenNoDirectoryIsWritable) {
  FaultyEnv env(posix_env());
  env.fails = [](std::string_view operation, const std::string&) { return operation == "make_temp_directory"; };
  const auto compiler = find(env);
  expect_answer(compiler->compile(request()));
  EXPECT_EQ(compiler->compile(request("int x = ;")).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(compiler->compile(request("extern int y; extern \"C\" __attribute__((visibility(\"default\"))) int f() { return y; }"))
                .status()
                .code(),
            Code::kFailedPrecondition);
}

TEST(SystemCompiler, ErrorsSayWhatTheCompilerSaid) {
  TempDirectory temp;
  const auto compiler = find(posix_env(), {.path = "", .work_directories = {temp.path()}});
  const Status syntax = compiler->compile(request("int f() { return 1 +; }")).status();
  EXPECT_EQ(syntax.code(), Code::kFailedPrecondition);
  EXPECT_NE(syntax.field("errors").find("error: expected primary-expression"), std::string_view::npos) << syntax.message();
  const Status undefined = compiler->compile(request("extern \"C\" float expf(float); extern \"C\" __attribute__((visibility(\"default\"))) float f(float x) { return expf(x); }")).status();
  EXPECT_EQ(undefined.code(), Code::kFailedPrecondition);
  EXPECT_NE(undefined.field("errors").find("expf"), std::string_view::npos) << undefined.message();
  EXPECT_EQ(count_files(temp.path()), 0u);
}

TEST(SystemCompiler, ErrorTextHasAnEnd) {
  std::string source;
  for (int line = 0; line < 2000; ++line) append(source, concat("undeclared_type_", line, " x", line, ";\n"));
  const Status status = find(posix_env())->compile(request(source.c_str())).status();
  EXPECT_LT(status.message().size(), 3000u);
}

TEST(SystemCompiler, MissingCompilerSaysWhereItLooked) {
  FaultyEnv env(posix_env());
  env.variables = {{"PATH", "/nonexistent:/also nonexistent"}, {"CXX", std::nullopt}, {"TENON_CXX", std::nullopt}};
  const Status none = SystemCompiler::find(env).status();
  EXPECT_EQ(none.code(), Code::kUnavailable);
  EXPECT_EQ(none.message(), "no C++ compiler found; tried g++, clang++, c++ along PATH");
  const Status named = SystemCompiler::find(posix_env(), {.path = "/nonexistent/g++", .work_directories = {}}).status();
  EXPECT_EQ(named.code(), Code::kUnavailable);
  EXPECT_EQ(named.field("path"), "/nonexistent/g++");
}

TEST(SystemCompiler, VariablesChooseAndPathIsTheFallback) {
  TempDirectory temp;
  FaultyEnv env(posix_env());
  const std::string mine = write_script(temp / "mine", "exit 1");
  env.variables = {{"TENON_CXX", std::nullopt}, {"CXX", mine}};
  EXPECT_EQ(find(env)->path(), mine);
  env.variables["CXX"] = "/nonexistent/compiler";
  EXPECT_EQ(find(env)->path().substr(find(env)->path().size() - 3), "g++");
  // One that cannot even say its version is passed over.
  write_script(temp / "broken", "");
  ASSERT_TRUE(posix_env().write_file(temp / "broken", "#!/bin/sh\nexit 9\n", false).ok());
  env.variables["CXX"] = temp / "broken";
  EXPECT_NE(find(env)->path(), temp / "broken");
}

TEST(SystemCompiler, IdentityFollowsTheProgram) {
  TempDirectory temp;
  const std::string path = write_script(temp / "cc", "exit 1");
  const auto before = find(posix_env(), {.path = path, .work_directories = {}});
  EXPECT_NE(before->identity().find("fake 1.0"), std::string::npos);
  write_script(path, "exit 2; # another");
  const auto after = find(posix_env(), {.path = path, .work_directories = {}});
  EXPECT_NE(before->identity(), after->identity());
  EXPECT_NE(before->key(kIsa), after->key(kIsa));
  EXPECT_EQ(before->key(kIsa), before->key(kIsa));
}

TEST(SystemCompiler, LocaleChangesNeitherKeyNorErrors) {
  FaultyEnv env(posix_env());
  const auto plain = find(env);
  env.variables = {{"LC_ALL", "de_DE.UTF-8"}, {"LANG", "de_DE.UTF-8"}, {"LD_LIBRARY_PATH", "/tmp/a b:/c"}};
  const auto other = find(env);
  EXPECT_EQ(plain->key(kIsa), other->key(kIsa));
  expect_answer(other->compile(request()));
}

TEST(SystemCompiler, AHangingCompilerIsStoppedInTime) {
  TempDirectory temp, work;
  const std::string path = write_script(temp / "cc", "sleep 60 & sleep 60");
  const auto compiler = find(posix_env(), {.path = path, .work_directories = {work.path()}});
  CompileRequest slow = request();
  slow.timeout_ns = 200'000'000;
  const int64_t start = posix_env().now_ns();
  EXPECT_EQ(compiler->compile(slow).status().code(), Code::kDeadlineExceeded);
  EXPECT_LT(posix_env().now_ns() - start, 5'000'000'000);
  EXPECT_EQ(count_files(work.path()), 0u);
}

TEST(SystemCompiler, OtherFailuresOfTheCompilerAreStatuses) {
  TempDirectory temp, work;
  const auto code = [&](const char* name, std::string_view body) {
    const auto compiler = find(posix_env(), {.path = write_script(temp / name, body), .work_directories = {work.path()}});
    const Status status = compiler->compile(request()).status();
    EXPECT_EQ(count_files(work.path()), 0u);
    return status.code();
  };
  EXPECT_EQ(code("exits", "echo 'x: error: bad' >&2; exit 4"), Code::kFailedPrecondition);
  EXPECT_EQ(code("killed", "kill -9 $$"), Code::kResourceExhausted);
  EXPECT_EQ(code("crashes", "kill -11 $$"), Code::kFailedPrecondition);
  EXPECT_EQ(code("memory", "echo 'cc1plus: out of memory allocating 5 bytes' >&2; exit 1"), Code::kResourceExhausted);
  EXPECT_EQ(code("silent", "exit 0"), Code::kUnavailable);
  EXPECT_EQ(code("nonsense", "echo text > image; exit 0"), Code::kUnavailable);
}

TEST(SystemCompiler, MemoryLimitHoldsForTheProgramsThatTheCompilerStarts) {
  CompileRequest small = request();
  small.memory_limit_bytes = uint64_t(24) << 20;
  EXPECT_FALSE(find(posix_env())->compile(small).ok());
}

TEST(SystemCompiler, AFullDirectoryMakesItTryTheNext) {
  TempDirectory temp, full, roomy;
  const std::string real = find(posix_env())->path();
  const std::string path = write_script(
      temp / "cc", concat("case $TMPDIR in ", full.path(), "*) echo 'fatal error: write: No space left on device' >&2; exit 1;; esac\nexec ",
                          real, " \"$@\""));
  const auto compiler = find(posix_env(), {.path = path, .work_directories = {full.path(), roomy.path()}});
  expect_answer(compiler->compile(request()));
  EXPECT_EQ(count_files(full.path()) + count_files(roomy.path()), 0u);
}

TEST(SystemCompiler, AReadOnlyDirectoryMakesItTryTheNext) {
  const auto compiler = find(posix_env(), {.path = "", .work_directories = {"/proc", "/nonexistent"}});
  expect_answer(compiler->compile(request()));
}

TEST(SystemCompiler, EveryFailingCallIsAStatusAndLeavesNothing) {
  TempDirectory work;
  FaultyEnv env(posix_env());
  const auto compiler = find(env, {.path = "", .work_directories = {work.path()}});
  for (const bool for_ever : {false, true}) {
    uint64_t k = 1;
    for (;; ++k) {
      ASSERT_LT(k, 100u);
      if (for_ever) env.fail_from(k);
      else env.fail_call(k);
      const Result<Blob> image = compiler->compile(request());
      const bool untouched = env.calls() < k;
      env.fail_call(0);
      if (image.ok()) expect_answer(image);
      if (untouched) break;
    }
    EXPECT_GT(k, 4u);
    // Only a removal that failed itself may leave its files.
    remove_tree(posix_env(), work.path());
    ASSERT_TRUE(posix_env().make_directories(work.path()).ok());
  }
  for (uint64_t k = 1;; ++k) {
    env.fail_call(k);
    const bool found = SystemCompiler::find(env).ok();
    const bool untouched = env.calls() < k;
    env.fail_call(0);
    if (untouched) {
      EXPECT_TRUE(found);
      break;
    }
  }
}

TEST(SystemCompiler, TwoJobsRunAtOnceAndDestructionStopsOne) {
  TempDirectory temp, work;
  const std::string real = find(posix_env())->path();
  const std::string path = write_script(temp / "cc", concat("sleep 0.3\nexec ", real, " \"$@\""));
  const auto compiler = find(posix_env(), {.path = path, .work_directories = {work.path()}});
  const int64_t start = posix_env().now_ns();
  auto first = *compiler->start(request());
  auto second = *compiler->start(request());
  auto third = *compiler->start(request());
  EXPECT_FALSE(first->poll(0));
  third.reset();
  expect_answer(first->take());
  expect_answer(second->take());
  EXPECT_EQ(first->take().status().code(), Code::kFailedPrecondition);
  EXPECT_LT(posix_env().now_ns() - start, 590'000'000);
  first.reset();
  second.reset();
  EXPECT_EQ(count_files(work.path()), 0u);
}

}  // namespace
}  // namespace tenon::toolchain
