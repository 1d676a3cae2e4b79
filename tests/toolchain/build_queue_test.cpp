#include "toolchain/build_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "support/format.hpp"

namespace tenon::toolchain {
namespace {

// A compiler of no process: each job ends after its time, the source says how long and how ("30 ok").
class TimedCompiler final : public SystemCompiler {
 public:
  const std::string& path() const override { return name_; }
  const std::string& identity() const override { return name_; }
  Fingerprint key(target::Isa) const override { return {}; }
  Result<std::unique_ptr<CompileJob>> start(const CompileRequest& request) override {
    if (request.source == "refuse") return unavailable("refused to start");
    ++started;
    most_running = std::max(most_running.load(), ++running);
    const size_t space = request.source.find(' ');
    const int64_t duration_ms = *parse_int64(request.source.substr(0, space));
    return std::unique_ptr<CompileJob>(
        std::make_unique<TimedJob>(*this, request.source, posix_env().now_ns() + duration_ms * 1'000'000));
  }

  std::atomic<int> started{0}, running{0}, most_running{0};

 private:
  struct TimedJob final : CompileJob {
    TimedJob(TimedCompiler& compiler, std::string source, int64_t end_ns)
        : compiler_(compiler), source_(std::move(source)), end_ns_(end_ns) {}
    ~TimedJob() override { --compiler_.running; }
    bool poll(int64_t wait_ns) override {
      const int64_t left = end_ns_ - posix_env().now_ns();
      posix_env().sleep_ns(wait_ns < 0 ? left : std::min(left, wait_ns));
      return posix_env().now_ns() >= end_ns_;
    }
    Result<Blob> take() override {
      if (source_.ends_with("fail")) return failed_precondition("failed");
      return Blob::copy_of(source_);
    }
    TimedCompiler& compiler_;
    std::string source_;
    int64_t end_ns_;
  };
  std::string name_ = "timed";
};

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
  BuildQueue::Done done(std::string name) {
    return [this, name](Result<Blob> image) {
      std::lock_guard lock(mutex);
      lines.push_back(concat(name, "=", image.ok() ? image->text() : code_name(image.status().code())));
    };
  }
};

TEST(BuildQueue, RunsAFewAtATimeAndReportsEachOnce) {
  TimedCompiler compiler;
  Log log;
  BuildQueue queue(posix_env(), compiler, 2);
  for (int number = 0; number < 6; ++number) queue.enqueue({.source = concat(10, " ", number)}, log.done(concat(number)));
  queue.enqueue({.source = "1 fail"}, log.done("f"));
  queue.enqueue({.source = "refuse"}, log.done("r"));
  EXPECT_EQ(queue.pending(), 8u);
  EXPECT_EQ(compiler.started, 0);  // nothing runs by itself
  queue.wait_all();
  EXPECT_EQ(queue.pending(), 0u);
  EXPECT_EQ(compiler.most_running, 2);
  std::sort(log.lines.begin(), log.lines.end());
  EXPECT_EQ(log.lines, (std::vector<std::string>{"0=10 0", "1=10 1", "2=10 2", "3=10 3", "4=10 4", "5=10 5",
                                                 "f=FAILED_PRECONDITION", "r=UNAVAILABLE"}));
}

TEST(BuildQueue, PollKeepsToItsBudget) {
  TimedCompiler compiler;
  Log log;
  BuildQueue queue(posix_env(), compiler, 1);
  queue.enqueue({.source = "60 a"}, log.done("a"));
  int64_t start = posix_env().now_ns();
  EXPECT_EQ(queue.poll(0), 1u);
  EXPECT_EQ(compiler.started, 1);
  EXPECT_LT(posix_env().now_ns() - start, 20'000'000);
  EXPECT_EQ(queue.poll(5'000'000), 1u);
  while (queue.poll(1'000'000) != 0) {
  }
  EXPECT_EQ(log.lines, std::vector<std::string>{"a=60 a"});
  EXPECT_EQ(queue.poll(1'000'000'000), 0u);
}

TEST(BuildQueue, UrgentBuildsGoFirstAndWaitIsForOne) {
  TimedCompiler compiler;
  Log log;
  BuildQueue queue(posix_env(), compiler, 1);
  queue.enqueue({.source = "5 a"}, log.done("a"));
  queue.enqueue({.source = "5 b"}, log.done("b"));
  const BuildId urgent = queue.enqueue({.source = "5 u"}, log.done("u"), true);
  queue.wait(urgent);
  EXPECT_EQ(log.lines, std::vector<std::string>{"u=5 u"});
  EXPECT_EQ(queue.pending(), 2u);
  queue.wait(urgent);   // ended long ago
  queue.wait(999'999);  // never was
}

TEST(BuildQueue, CancelEndsWaitingAndRunningBuilds) {
  TimedCompiler compiler;
  Log log;
  BuildQueue queue(posix_env(), compiler, 1);
  const BuildId running = queue.enqueue({.source = "10000 a"}, log.done("a"));
  const BuildId waiting = queue.enqueue({.source = "10000 b"}, log.done("b"));
  queue.poll(0);
  EXPECT_TRUE(queue.cancel(waiting));
  EXPECT_TRUE(queue.cancel(running));
  EXPECT_FALSE(queue.cancel(running));
  EXPECT_EQ(log.lines, (std::vector<std::string>{"b=CANCELLED", "a=CANCELLED"}));
  EXPECT_EQ(compiler.running, 0);
}

TEST(BuildQueue, DestructionCancelsTheRest) {
  TimedCompiler compiler;
  Log log;
  {
    BuildQueue queue(posix_env(), compiler, 2);
    for (int number = 0; number < 4; ++number) queue.enqueue({.source = "10000 x"}, log.done("x"));
    queue.poll(0);
  }
  EXPECT_EQ(log.lines, std::vector<std::string>(4, "x=CANCELLED"));
  EXPECT_EQ(compiler.running, 0);
}

TEST(BuildQueue, DoneMayEnqueueAndPoll) {
  TimedCompiler compiler;
  Log log;
  BuildQueue queue(posix_env(), compiler, 2);
  queue.enqueue({.source = "1 a"}, [&](Result<Blob> image) {
    log.done("a")(std::move(image));
    queue.enqueue({.source = "1 b"}, log.done("b"));
    queue.poll(0);
  });
  queue.wait_all();
  EXPECT_EQ(log.lines, (std::vector<std::string>{"a=1 a", "b=1 b"}));
}

TEST(BuildQueue, ManyThreadsWaitForTheirOwn) {
  TimedCompiler compiler;
  BuildQueue queue(posix_env(), compiler, 3);
  std::vector<std::thread> threads;
  std::atomic<int> ended{0};
  for (int number = 0; number < 6; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < 10; ++round) {
        std::atomic<bool> mine{false};
        const BuildId id = queue.enqueue({.source = concat(1 + number % 3, " x")}, [&](Result<Blob>) {
          mine = true;
          ++ended;
        });
        if (round % 4 == 3) queue.cancel(id);
        if (round % 2 == 0) queue.poll(500'000);
        queue.wait(id);
        EXPECT_TRUE(mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, 60);
  EXPECT_LE(compiler.most_running, 3);
}

}  // namespace
}  // namespace tenon::toolchain
