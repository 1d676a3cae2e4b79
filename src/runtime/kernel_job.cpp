#include "runtime/kernel_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

namespace tenon::runtime {

KernelJob::KernelJob(std::unique_ptr<KernelBuild> build, std::shared_ptr<Executable> executable, std::string function,
                     Logger logger)
    : build_(std::move(build)),
      executable_(std::move(executable)),
      function_(std::move(function)),
      logger_(logger),
      process_(getpid()) {
  pending_.store(int64_t(executable_->kernels() - executable_->native_kernels()), std::memory_order_relaxed);
}

bool KernelJob::advance(int64_t wait_ns) {
  if (done()) return true;
  std::lock_guard lock(mutex_);
  return advance_locked(wait_ns);
}

bool KernelJob::try_advance(int64_t wait_ns) {
  if (done()) return true;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) return advance_locked(wait_ns);
  if (wait_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<int64_t>(wait_ns, 1'000'000)));
  return false;
}

bool KernelJob::advance_locked(int64_t wait_ns) {
  if (build_ == nullptr) return true;
  ready_.clear();
  const bool done = build_->poll(wait_ns, ready_);
  for (KernelBuild::Ready& part : ready_) {
    Status status = part.status;
    if (status.ok()) status = executable_->install(part.image, part.programs, part.symbols);
    if (!status.ok()) fail(part.programs, status);
    pending_.fetch_sub(int64_t(part.programs.size()), std::memory_order_relaxed);
  }
  ready_.clear();
  if (done) {
    build_.reset();
    pending_.store(0, std::memory_order_relaxed);
    done_.store(true, std::memory_order_release);
  }
  return done;
}

void KernelJob::fail(std::span<const uint32_t> programs, const Status& status) {
  {
    std::lock_guard lock(failure_mutex_);
    if (failure_.ok()) failure_ = status;
  }
  fallbacks_.fetch_add(int64_t(std::max<size_t>(programs.size(), 1)), std::memory_order_release);
  logger_.write(Severity::kWarning, "function `", function_, "`: ", programs.size(),
                " kernels stay on the vm: ", status.message());
}

void KernelJob::cancel() {
  if (getpid() != process_) {
    // After a fork the children are the parent's, and the thread that worked here, perhaps with the lock, is gone.
    (void)build_.release();
    done_.store(true, std::memory_order_release);
    return;
  }
  std::lock_guard lock(mutex_);
  build_.reset();
  pending_.store(0, std::memory_order_relaxed);
  done_.store(true, std::memory_order_release);
}

Status KernelJob::first_failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

BackgroundJobs::BackgroundJobs(device::Executor& executor) : executor_(executor), process_(getpid()) {}

bool BackgroundJobs::forked() const { return getpid() != process_; }

void BackgroundJobs::add(std::shared_ptr<KernelJob> job) {
  if (forked()) return;
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    jobs_.push_back(std::move(job));
    if (has_runner_) return;
    has_runner_ = true;
  }
  auto* self = new std::shared_ptr<BackgroundJobs>(shared_from_this());
  if (executor_.submit(run, self)) return;
  // Nobody runs jobs in the background: they wait for polls.
  delete self;
  std::lock_guard lock(mutex_);
  has_runner_ = false;
}

void BackgroundJobs::remove(const std::shared_ptr<KernelJob>& job) {
  if (forked()) return;
  std::lock_guard lock(mutex_);
  std::erase(jobs_, job);
}

std::shared_ptr<KernelJob> BackgroundJobs::next() {
  if (forked()) return nullptr;
  std::lock_guard lock(mutex_);
  if (stopped_ || jobs_.empty()) return nullptr;
  turn_ = (turn_ + 1) % jobs_.size();
  return jobs_[turn_];
}

int64_t BackgroundJobs::pending_kernels() {
  if (forked()) return 0;
  std::lock_guard lock(mutex_);
  int64_t pending = 0;
  for (const auto& job : jobs_) pending += job->pending_kernels();
  return pending;
}

void BackgroundJobs::run(void* data) {
  const std::unique_ptr<std::shared_ptr<BackgroundJobs>> self(static_cast<std::shared_ptr<BackgroundJobs>*>(data));
  BackgroundJobs& jobs = **self;
  while (true) {
    std::lock_guard running(jobs.running_);
    std::shared_ptr<KernelJob> job;
    {
      std::lock_guard lock(jobs.mutex_);
      if (jobs.stopped_ || jobs.jobs_.empty()) {
        jobs.has_runner_ = false;
        return;
      }
      jobs.turn_ = (jobs.turn_ + 1) % jobs.jobs_.size();
      job = jobs.jobs_[jobs.turn_];
    }
    try {
      job->try_advance(kStepNs);
    } catch (const std::bad_alloc&) {
      job->cancel();  // its kernels stay on the vm
    }
    if (job->done()) jobs.remove(job);
  }
}

void BackgroundJobs::stop() {
  if (forked()) {
    // Nobody works on the jobs here, and what they hold is the parent's: never touched again.
    (void)new std::shared_ptr<BackgroundJobs>(shared_from_this());
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    jobs_.clear();
  }
  std::lock_guard running(running_);
}

}  // namespace tenon::runtime
