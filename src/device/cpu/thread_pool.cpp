#include "device/cpu/thread_pool.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace tenon::device::cpu {

namespace {

// Callers that share the workers at one time; further ones run alone.
constexpr size_t kRegions = 4;
// More tasks than this go in several rounds: the claim word holds 32 bits of them.
constexpr size_t kMaxTasks = size_t(1) << 30;
// How many times longer than an idle worker a caller spins for its last tasks before it sleeps.
constexpr int64_t kCallerPatience = 20;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

int64_t now_ns() {  // answered by the vDSO: no system call
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Waits until `done()` or for about `spin_ns`; true when done.
template <typename Done>
bool spin(int64_t spin_ns, Done done) {
  if (done()) return true;
  if (spin_ns <= 0) return false;
  const int64_t until = now_ns() + spin_ns;
  do {
    for (int step = 0; step < 64; ++step) {
      if (done()) return true;
      pause_cpu();
    }
  } while (now_ns() < until);
  return false;
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// One parallel_for under way. `claim` is generation << 32 | tasks that nobody has claimed yet. A successful exchange
// of it proves that `task`, `data` and `count`, read before, are of that generation: they change only while no task
// is left, and then no exchange succeeds.
struct alignas(64) Region {
  std::atomic<uint64_t> claim{0};
  std::atomic<Executor::Task> task{nullptr};
  std::atomic<void*> data{nullptr};
  std::atomic<uint32_t> count{0};
  std::atomic<size_t> first{0};
  std::atomic<bool> taken{false};
  alignas(64) std::atomic<uint32_t> finished{0};  // by workers; a futex
  std::atomic<uint32_t> caller_sleeps{0};
};

thread_local bool t_inside = false;

void run_inline(size_t count, Executor::Task task, void* data) {
  for (size_t index = 0; index < count; ++index) task(data, index, 0);
}

// Claims and runs tasks of `region` until none is left. Returns how many.
uint32_t work_on(Region& region, uint32_t worker) {
  uint32_t ran = 0;
  uint64_t claim = region.claim.load(std::memory_order_acquire);
  while (uint32_t(claim) != 0) {
    const Executor::Task task = region.task.load(std::memory_order_relaxed);
    void* const data = region.data.load(std::memory_order_relaxed);
    const size_t end = region.first.load(std::memory_order_relaxed) + region.count.load(std::memory_order_relaxed);
    // acq_rel: the loads above may not sink below.
    if (!region.claim.compare_exchange_weak(claim, claim - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      continue;
    }
    task(data, end - uint32_t(claim), worker);
    ++ran;
    claim = region.claim.load(std::memory_order_acquire);
  }
  return ran;
}

// True in the process that made it, false in a child after fork.
class ForkMark {
 public:
  ForkMark() {
    page_ = static_cast<volatile uint32_t*>(
        mmap(nullptr, size_t(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (page_ == MAP_FAILED) page_ = nullptr;
    if (page_ == nullptr) return;
#ifdef MADV_WIPEONFORK
    wiped_ = madvise(const_cast<uint32_t*>(page_), size_t(sysconf(_SC_PAGESIZE)), MADV_WIPEONFORK) == 0;
#endif
    *page_ = 1;
  }
  ~ForkMark() {
    if (page_ != nullptr) munmap(const_cast<uint32_t*>(page_), size_t(sysconf(_SC_PAGESIZE)));
  }
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;
  bool same_process() const { return wiped_ ? *page_ == 1 : getpid() == process_; }

 private:
  volatile uint32_t* page_ = nullptr;
  bool wiped_ = false;  // kernels before 4.14 cannot: then it costs a getpid
  pid_t process_ = getpid();
};

uint32_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return uint32_t(std::max(1, CPU_COUNT(&set)));
  return uint32_t(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// A thread that takes none of the host's signals but those that it causes itself.
bool start_thread(pthread_t& thread, void* (*body)(void*), void* argument, const char* name) {
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool made = pthread_create(&thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (made) pthread_setname_np(thread, name);
  return made;
}

}  // namespace

struct ThreadPool::Shared {
  std::array<Region, kRegions> regions;
  alignas(64) std::atomic<uint32_t> epoch{0};  // a futex: changes whenever there is new work
  std::atomic<uint32_t> parked{0};
  std::atomic<bool> stopping{false};
  int64_t spin_ns = 0;
  ForkMark mark;

  struct Worker {
    Shared* shared = nullptr;
    uint32_t number = 0;
    pthread_t thread{};
  };
  std::vector<Worker> workers;

  std::mutex jobs_mutex;
  std::condition_variable jobs_changed;
  std::deque<std::pair<Job, void*>> jobs;
  bool background_started = false;
  bool background_stopping = false;
  pthread_t background{};

  static void* worker_body(void* argument) {
    const Worker& worker = *static_cast<const Worker*>(argument);
    worker.shared->work(worker.number);
    return nullptr;
  }

  void work(uint32_t number) {
    t_inside = true;
    while (!stopping.load(std::memory_order_acquire)) {
      const uint32_t seen = epoch.load(std::memory_order_seq_cst);
      bool found = false;
      for (size_t step = 0; step < kRegions; ++step) found |= help(regions[(number + step) % kRegions], number);
      if (found) continue;
      if (spin(spin_ns, [&] { return epoch.load(std::memory_order_relaxed) != seen; })) continue;
      // Either the caller sees us parked and wakes us, or we see its new epoch.
      parked.fetch_add(1, std::memory_order_seq_cst);
      if (epoch.load(std::memory_order_seq_cst) == seen) futex_wait(epoch, seen);
      parked.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  static bool help(Region& region, uint32_t number) {
    const uint32_t ran = work_on(region, number);
    if (ran == 0) return false;
    region.finished.fetch_add(ran, std::memory_order_seq_cst);
    if (region.caller_sleeps.load(std::memory_order_seq_cst) != 0) futex_wake(region.finished, 1);
    return true;
  }

  void announce(int most) {
    epoch.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t sleeping = parked.load(std::memory_order_seq_cst);
    if (sleeping != 0) futex_wake(epoch, std::min(most, int(sleeping)));
  }

  void run(Region& region, size_t first, uint32_t count, Task task, void* data) {
    region.finished.store(0, std::memory_order_relaxed);
    region.task.store(task, std::memory_order_relaxed);
    region.data.store(data, std::memory_order_relaxed);
    region.first.store(first, std::memory_order_relaxed);
    region.count.store(count, std::memory_order_relaxed);
    const uint64_t generation = (region.claim.load(std::memory_order_relaxed) >> 32) + 1;
    region.claim.store(generation << 32 | count, std::memory_order_release);
    announce(int(count - 1));

    const uint32_t others = count - work_on(region, 0);
    const auto done = [&] { return region.finished.load(std::memory_order_acquire) == others; };
    if (spin(spin_ns * kCallerPatience, done)) return;
    region.caller_sleeps.store(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t finished = region.finished.load(std::memory_order_seq_cst);
      if (finished == others) break;
      futex_wait(region.finished, finished);
    }
    region.caller_sleeps.store(0, std::memory_order_relaxed);
  }

  static void* background_body(void* argument) {
    static_cast<Shared*>(argument)->run_jobs();
    return nullptr;
  }

  void run_jobs() {
    std::unique_lock lock(jobs_mutex);
    for (;;) {
      jobs_changed.wait(lock, [&] { return background_stopping || !jobs.empty(); });
      if (jobs.empty()) return;
      const auto [job, data] = jobs.front();
      jobs.pop_front();
      lock.unlock();
      job(data);
      lock.lock();
    }
  }
};

ThreadPool::ThreadPool(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(uint32_t width, int64_t spin_ns) {
  if (width == 0) width = usable_cpus();
  if (width > 4096) return invalid_argument("a thread pool takes at most 4096 threads");
  auto shared = std::make_unique<Shared>();
  shared->spin_ns = spin_ns;
  shared->workers.resize(width - 1);
  uint32_t made = 0;
  for (Shared::Worker& worker : shared->workers) {
    worker.shared = shared.get();
    worker.number = made + 1;
    if (!start_thread(worker.thread, Shared::worker_body, &worker, "tenon-worker")) break;
    ++made;
  }
  shared->workers.resize(made);
  return std::unique_ptr<ThreadPool>(new ThreadPool(std::move(shared)));
}

ThreadPool::~ThreadPool() {
  if (!shared_->mark.same_process()) {
    // The threads are not in this process, and their locks may be held for ever: leave everything as it is.
    (void)shared_.release();
    return;
  }
  if (shared_->background_started) {
    {
      std::lock_guard lock(shared_->jobs_mutex);
      shared_->background_stopping = true;
    }
    shared_->jobs_changed.notify_one();
    pthread_join(shared_->background, nullptr);
  }
  shared_->stopping.store(true, std::memory_order_seq_cst);
  shared_->announce(INT_MAX);
  for (const Shared::Worker& worker : shared_->workers) pthread_join(worker.thread, nullptr);
}

uint32_t ThreadPool::width() const {
  return shared_->mark.same_process() ? uint32_t(shared_->workers.size()) + 1 : 1;
}

void ThreadPool::parallel_for(size_t count, Task task, void* data) {
  if (count <= 1 || shared_->workers.empty() || t_inside || !shared_->mark.same_process()) {
    return run_inline(count, task, data);
  }
  for (Region& region : shared_->regions) {
    if (region.taken.load(std::memory_order_relaxed) || region.taken.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    t_inside = true;
    for (size_t first = 0; first < count; first += kMaxTasks) {
      shared_->run(region, first, uint32_t(std::min(kMaxTasks, count - first)), task, data);
    }
    t_inside = false;
    region.taken.store(false, std::memory_order_release);
    return;
  }
  run_inline(count, task, data);
}

bool ThreadPool::submit(Job job, void* data) {
  if (!shared_->mark.same_process()) return false;
  std::lock_guard lock(shared_->jobs_mutex);
  if (!shared_->background_started) {
    if (!start_thread(shared_->background, Shared::background_body, shared_.get(), "tenon-background")) return false;
    shared_->background_started = true;
  }
  shared_->jobs.emplace_back(job, data);
  shared_->jobs_changed.notify_one();
  return true;
}

}  // namespace tenon::device::cpu
