// The built-in executor: width - 1 workers that spin briefly after a call and then park on a futex, and one background
// thread that submit makes when it is first needed. parallel_for allocates nothing and makes no system call but to
// wake parked workers. A second caller that comes while the workers are busy runs its tasks alone. In a child process
// after fork everything runs inline, submit refuses and the destructor returns at once.
#pragma once

#include <cstdint>
#include <memory>

#include "device/executor.hpp"
#include "support/status.hpp"

namespace tenon::device::cpu {

class ThreadPool final : public Executor {
 public:
  // `width` counts the caller: 1 makes no thread at all, 0 means one for each CPU that this process may use. Threads
  // that the system refuses to make are done without. `spin_ns`: how long an idle worker looks for work before it parks.
  static Result<std::unique_ptr<ThreadPool>> create(uint32_t width, int64_t spin_ns = 50'000);
  // Waits for jobs that have started; jobs that have not are run before it returns. No parallel_for may be running.
  ~ThreadPool() override;

  uint32_t width() const override;
  void parallel_for(size_t count, Task task, void* data) override;
  bool submit(Job job, void* data) override;

 private:
  struct Shared;
  explicit ThreadPool(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace tenon::device::cpu
