#include "support/env.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fcntl.h>
#include <sys/wait.h>

#include "support/faulty_env.hpp"
#include "support/format.hpp"

namespace tenon {
namespace {

using tests::FaultyEnv;
using tests::TempDirectory;

size_t count_files(const std::string& directory) { return posix_env().list_directory(directory)->size(); }

ProcessSpec shell(std::string script) {
  ProcessSpec spec;
  spec.arguments = {"/bin/sh", "-c", std::move(script)};
  spec.environment = {"PATH=/usr/bin:/bin"};
  return spec;
}

TEST(Env, FilesRoundTripInDirectoriesWithOddNames) {
  Env& env = posix_env();
  TempDirectory temp;
  const std::string folder = temp / "a b'c$d\"e/\xc3\xa4";
  ASSERT_TRUE(env.make_directories(folder).ok());
  ASSERT_TRUE(env.make_directories(folder).ok());
  const std::string path = join_path(folder, "x y");
  const std::string bytes = std::string("a\0b\n", 4) + std::string(100000, 'z');
  ASSERT_TRUE(write_file_atomically(env, path, bytes).ok());
  EXPECT_EQ(*env.read_file(path), bytes);
  EXPECT_EQ(env.identify(path)->size_bytes, bytes.size());
  EXPECT_EQ(count_files(folder), 1u);
  ASSERT_TRUE(write_file_atomically(env, path, "").ok());
  EXPECT_EQ(*env.read_file(path), "");
  EXPECT_TRUE(env.map_file(path)->empty());
}

TEST(Env, ErrorsSayWhatAndWhere) {
  Env& env = posix_env();
  const Status status = env.read_file("/nonexistent/file").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "open '/nonexistent/file': No such file or directory");
  EXPECT_EQ(status.field("path"), "/nonexistent/file");
  EXPECT_EQ(env.make_directories("/dev/null/x").code(), Code::kNotFound);
  EXPECT_EQ(env.make_directories("/dev/null").code(), Code::kNotFound);
  EXPECT_FALSE(env.make_temp_directory("/nonexistent").ok());
  EXPECT_EQ(env.map_file("/").status().code(), Code::kInvalidArgument);
}

TEST(Env, IdentityChangesWithTheFile) {
  Env& env = posix_env();
  TempDirectory temp;
  ASSERT_TRUE(env.write_file(temp / "f", "one", false).ok());
  const FileIdentity before = *env.identify(temp / "f");
  EXPECT_EQ(*env.identify(temp / "f"), before);
  ASSERT_TRUE(write_file_atomically(env, temp / "f", "two").ok());
  EXPECT_NE(*env.identify(temp / "f"), before);
}

TEST(Env, MappingsAreCountedUntilTheLastBlobGoes) {
  Env& env = posix_env();
  TempDirectory temp;
  ASSERT_TRUE(env.write_file(temp / "f", std::string(10000, 'm'), false).ok());
  const MappingCounters before = env.mapping_counters();
  Blob part;
  {
    const Blob whole = *env.map_file(temp / "f");
    EXPECT_EQ(whole.size(), 10000u);
    part = whole.slice(9000, 5000);
  }
  EXPECT_EQ(part.text(), std::string(1000, 'm'));
  EXPECT_EQ(env.mapping_counters().mappings, before.mappings + 1);
  EXPECT_EQ(env.mapping_counters().bytes, before.bytes + 10000);
  ASSERT_TRUE(env.remove_file(temp / "f").ok());
  EXPECT_EQ(part.data()[0], 'm');
  part = Blob();
  EXPECT_EQ(env.mapping_counters().mappings, before.mappings);
  EXPECT_EQ(env.mapping_counters().bytes, before.bytes);
}

TEST(Env, AtomicWriteLeavesTheOldFileAndNothingElseWhenAnyStepFails) {
  TempDirectory temp;
  FaultyEnv env(posix_env());
  const std::string path = temp / "f";
  ASSERT_TRUE(write_file_atomically(env, path, "old").ok());
  uint64_t k = 1;
  for (;; ++k) {
    env.fail_call(k);
    const Status status = write_file_atomically(env, path, "new");
    env.fail_call(0);
    if (status.ok()) break;
    EXPECT_EQ(*env.read_file(path), "old");
    EXPECT_EQ(count_files(temp.path()), 1u);
  }
  EXPECT_EQ(k, 3u);  // write, rename, then success
  EXPECT_EQ(*env.read_file(path), "new");
}

TEST(Env, RemovesTreesWithoutFollowingLinks) {
  TempDirectory temp, outside;
  Env& env = posix_env();
  ASSERT_TRUE(env.write_file(outside / "keep", "x", false).ok());
  ASSERT_TRUE(env.make_directories(temp / "t/u").ok());
  ASSERT_TRUE(env.write_file(temp / "t/u/f", "x", false).ok());
  ASSERT_EQ(symlink(outside.path().c_str(), (temp / "t/link").c_str()), 0);
  remove_tree(env, temp / "t");
  EXPECT_EQ(count_files(temp.path()), 0u);
  EXPECT_EQ(count_files(outside.path()), 1u);
}

TEST(Process, PassesInputArgumentsEnvironmentAndDirectory) {
  TempDirectory temp;
  ProcessSpec spec = shell("cat; echo \"$1|$NAME|$(pwd)\"; echo oops >&2; exit 3");
  spec.arguments.insert(spec.arguments.end(), {"sh", "a 'b' \"c\" $d"});
  spec.environment.push_back("NAME=v w");
  spec.directory = temp.path();
  spec.input = std::string(200000, 'i') + "\n";
  spec.output_limit_bytes = 1 << 20;
  const ProcessResult result = *run_process(posix_env(), spec);
  EXPECT_TRUE(result.exited);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.output, concat(spec.input, "a 'b' \"c\" $d|v w|", temp.path(), "\n"));
  EXPECT_EQ(result.errors, "oops\n");
}

TEST(Process, ReadsEmptyInputAsEndOfFile) {
  EXPECT_EQ(run_process(posix_env(), shell("cat; echo end"))->output, "end\n");
}

TEST(Process, KeepsOnlyTheFirstBytesOfOutput) {
  ProcessSpec spec = shell("yes | head -c 3000000; yes no | head -c 300000 >&2");
  spec.output_limit_bytes = 10;
  const ProcessResult result = *run_process(posix_env(), spec);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "y\ny\ny\ny\ny\n");
  EXPECT_EQ(result.errors.size(), 10u);
}

TEST(Process, TimeLimitKillsTheWholeGroup) {
  TempDirectory temp;
  ProcessSpec spec = shell("trap '' TERM; sh -c 'sleep 1; touch late' & wait; sleep 60");
  spec.directory = temp.path();
  spec.timeout_ns = 100'000'000;
  const int64_t start = posix_env().now_ns();
  const ProcessResult result = *run_process(posix_env(), spec);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_LT(posix_env().now_ns() - start, 3'000'000'000);
  posix_env().sleep_ns(1'300'000'000);
  EXPECT_EQ(count_files(temp.path()), 0u);
}

TEST(Process, TimeLimitHoldsForAChildThatNeverStopsWriting) {
  ProcessSpec spec = shell("yes");
  spec.timeout_ns = 100'000'000;
  EXPECT_TRUE(run_process(posix_env(), spec)->timed_out);
}

TEST(Process, DestructionKillsAndReaps) {
  TempDirectory temp;
  ProcessSpec spec = shell("echo $$ > id; exec sleep 60");
  spec.directory = temp.path();
  auto process = *posix_env().start_process(spec);
  std::optional<int64_t> id;
  for (int round = 0; round < 500 && !id; ++round) {
    EXPECT_FALSE(process->poll(10'000'000));
    const auto text = posix_env().read_file(temp / "id");
    if (text.ok() && !text->empty()) id = parse_int64(std::string_view(*text).substr(0, text->size() - 1));
  }
  ASSERT_TRUE(id.has_value());
  process.reset();
  EXPECT_EQ(kill(pid_t(*id), 0), -1);
}

TEST(Process, MemoryLimitStopsAGreedyChild) {
  ProcessSpec spec = shell("sleep 0.05; exec dd if=/dev/zero of=/dev/null bs=512M count=1");
  spec.memory_limit_bytes = uint64_t(64) << 20;
  const ProcessResult result = *run_process(posix_env(), spec);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.errors.find("memory"), std::string::npos) << result.errors;
}

TEST(Process, MissingProgramIsAStatus) {
  ProcessSpec spec;
  spec.arguments = {"/nonexistent/program"};
  EXPECT_EQ(posix_env().start_process(spec).status().code(), Code::kNotFound);
  spec.arguments = {"/etc/passwd"};
  EXPECT_EQ(posix_env().start_process(spec).status().code(), Code::kPermissionDenied);
}

TEST(Process, ChildSeesNoDescriptorOfOursAndItsOwnMemoryFiles) {
  const int leaked = open("/dev/null", O_RDONLY);  // not close-on-exec, as a careless host does
  const auto first = *posix_env().make_memory_file();
  const auto second = *posix_env().make_memory_file();
  ProcessSpec spec = shell("printf one > /proc/self/fd/3; printf two > /proc/self/fd/4; exec ls /proc/self/fd");
  spec.files = {first.get(), second.get()};
  const ProcessResult result = *run_process(posix_env(), spec);
  EXPECT_EQ(result.output, "0\n1\n2\n3\n4\n5\n") << "(5 is ls's own)";
  EXPECT_EQ(*posix_env().read_memory_file(*first), "one");
  EXPECT_EQ(*posix_env().read_memory_file(*second), "two");
  close(leaked);
}

TEST(Process, WorksForAHostWithClosedStandardStreams) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int stream : {0, 1, 2}) close(stream);
    const auto result = run_process(posix_env(), [] {
      ProcessSpec spec = shell("cat; echo err >&2");
      spec.input = "in";
      return spec;
    }());
    _exit(result.ok() && result->output == "in" && result->errors == "err\n" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Process, WorksForAHostThatIgnoresItsChildren) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGCHLD, SIG_IGN);
    const auto result = run_process(posix_env(), shell("echo fine"));
    _exit(result.ok() && result->output == "fine\n" && !result->exited && result->signal == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Process, LeaksNoDescriptor) {
  const auto count = [] { return count_files("/proc/self/fd"); };
  (void)run_process(posix_env(), shell("true"));
  const size_t before = count();
  for (int round = 0; round < 10; ++round) (void)run_process(posix_env(), shell("true"));
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace tenon
