// Native code on its way: one job an entry, advanced by the background runner, by tenon_context_poll, or by a call that
// waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/executor.hpp"
#include "runtime/compiler_interface.hpp"
#include "runtime/executable.hpp"
#include "support/log.hpp"

namespace tenon::runtime {

// What became of a job's kernels. Thread-safe.
class KernelJob {
 public:
  KernelJob(std::unique_ptr<KernelBuild> build, std::shared_ptr<Executable> executable, std::string function,
            Logger logger);

  // Collects what is ready and swaps it in, waiting at most wait_ns (negative: until something is ready). True when
  // done.
  bool advance(int64_t wait_ns);
  // The same unless another thread is at it.
  bool try_advance(int64_t wait_ns);
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Stops the children; kernels that have not come stay on the vm.
  void cancel();

  int64_t pending_kernels() const { return pending_.load(std::memory_order_relaxed); }
  int64_t fallbacks() const { return fallbacks_.load(std::memory_order_acquire); }
  Status first_failure() const;  // of a fallback

 private:
  bool advance_locked(int64_t wait_ns);
  void fail(std::span<const uint32_t> programs, const Status& status);

  std::mutex mutex_;
  std::unique_ptr<KernelBuild> build_;
  std::shared_ptr<Executable> executable_;
  const std::string function_;
  const Logger logger_;
  const int process_;
  std::vector<KernelBuild::Ready> ready_;
  std::atomic<bool> done_{false};
  std::atomic<int64_t> pending_{0}, fallbacks_{0};
  mutable std::mutex failure_mutex_;
  Status failure_;
};

// The jobs of a context. Shared with the runner that works on them, which may outlive the context's interest in it.
class BackgroundJobs : public std::enable_shared_from_this<BackgroundJobs> {
 public:
  // `executor` outlives stop().
  explicit BackgroundJobs(device::Executor& executor);

  void add(std::shared_ptr<KernelJob> job);
  void remove(const std::shared_ptr<KernelJob>& job);
  // Works on this thread until the clock passes `deadline_ns` or nothing is left. Gives the kernels still to come.
  template <typename Clock>
  int64_t poll(Clock now_ns, int64_t deadline_ns) {
    while (std::shared_ptr<KernelJob> job = next()) {
      const int64_t left = deadline_ns - now_ns();
      job->try_advance(left > kStepNs ? kStepNs : left > 0 ? left : 0);
      if (job->done()) remove(job);
      if (now_ns() >= deadline_ns) break;
    }
    return pending_kernels();
  }
  int64_t pending_kernels();
  // No job is worked on, and none will be, when this returns.
  void stop();

 private:
  static constexpr int64_t kStepNs = 10'000'000;
  static void run(void* data);
  bool forked() const;  // a child of the process that made this: its locks may be held for ever
  std::shared_ptr<KernelJob> next();  // in turn

  device::Executor& executor_;
  const int process_;
  std::mutex mutex_;
  std::mutex running_;  // held while the runner advances a job
  std::vector<std::shared_ptr<KernelJob>> jobs_;
  size_t turn_ = 0;
  bool has_runner_ = false;
  bool stopped_ = false;
};

}  // namespace tenon::runtime
