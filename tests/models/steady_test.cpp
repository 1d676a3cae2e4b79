// The steady state: a bound call run again and again allocates nothing, and with one thread asks the kernel for nothing.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "models/counting_allocator.hpp"
#include "models/model_files.hpp"

namespace tenon::tests {
namespace {

// A call of the model on the first sentence, run a few times.
struct Bound {
  TemporaryFolder cache;
  Context context;
  Function function;
  HostArray ids{DType::kI64, {1, 8}}, mask{DType::kI64, {1, 8}}, out{DType::kF32, {1, 384}};
  Call call;

  explicit Bound(uint32_t threads)
      : context(Context::create({.threads = threads, .cache_directory = cache.path()}).or_die()), function(model(context, "sdpa").or_die()), call(function.call().or_die()) {
    const HostArray sentences = data_i64("ids");
    for (int64_t i = 0; i < 8; ++i) {
      ids.as<int64_t>()[i] = sentences.as<int64_t>()[i];
      mask.as<int64_t>()[i] = 1;
    }
    EXPECT_TRUE(call.bind_input(0, ids.tensor()).ok());
    EXPECT_TRUE(call.bind_input(1, mask.tensor()).ok());
    EXPECT_TRUE(call.bind_output(0, out.tensor()).ok());
    for (int i = 0; i < 5; ++i) {
      const Status status = call.run();
      EXPECT_TRUE(status.ok()) << text(status);
    }
  }
};

class Steady : public ::testing::Test {
  void SetUp() override {
    if (!models_are_there()) GTEST_SKIP();  // already a failure
    if (std::strlen(TENON_SANITIZED) > 0) GTEST_SKIP() << "sanitizers allocate and call";
  }
};

TEST_F(Steady, RunsAllocateNothing) {
  for (uint32_t threads : {1u, 2u}) {
    Bound bound(threads);
    const HostArray first = bound.out;
    const uint64_t before = g_allocations;
    int failures = 0;
    for (int i = 0; i < 300; ++i) failures += bound.call.run().ok() ? 0 : 1;
    const uint64_t after = g_allocations;
    EXPECT_EQ(after - before, 0u) << threads << " threads";
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(bound.out.bytes, first.bytes);
  }
  // The counter counts: an output that the library allocates is one.
  Bound bound(1);
  const uint64_t before = g_allocations;
  EXPECT_TRUE(bound.function.run({bound.ids.tensor(), bound.mask.tensor()}).ok());
  EXPECT_GT(g_allocations - before, 0u);
}

// After this the kernel kills the process at any call but read, write and exit.
bool forbid_system_calls() { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0; }

TEST_F(Steady, AThousandRunsOfOneThreadAllocateNothingAndMakeNoSystemCall) {
  Bound bound(1);
  const HostArray expected = bound.out;
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_system_calls()) _exit(77);
    int failures = 0;
    const uint64_t before = g_allocations;
    for (int i = 0; i < 1000; ++i) failures += bound.call.run().ok() ? 0 : 1;
    if (g_allocations != before) failures = 1;
    if (std::memcmp(bound.out.bytes.data(), expected.bytes.data(), expected.bytes.size()) != 0) failures = 1;
    syscall(SYS_exit, failures == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel does not offer seccomp";
  EXPECT_FALSE(WIFSIGNALED(status)) << "killed at a system call";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;

  // The trap works: the same with a system call in between ends by a signal.
  const pid_t caught = fork();
  if (caught == 0) {
    if (!forbid_system_calls()) _exit(77);
    syscall(SYS_getpid);
    syscall(SYS_exit, 0);
  }
  ASSERT_EQ(waitpid(caught, &status, 0), caught);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace tenon::tests
