// Who runs the parallel parts. A host may give its own; ours are in device/cpu. Thread-safe: several callers may be
// in parallel_for at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::device {

class Executor {
 public:
  using Task = void (*)(void* data, size_t index, uint32_t worker);
  using Job = void (*)(void* data);

  virtual ~Executor() = default;

  // How many tasks can run at once, the caller included; at least 1. `worker` below is less than this.
  virtual uint32_t width() const = 0;
  // Runs task(data, i, worker) once for every i < count, in any order, and returns after all ran. Two tasks that run
  // at the same time within one call never see the same `worker`. Tasks are claimed one by one: the caller can do all
  // of them and waits only for workers that claimed one. A nested call runs inline, with worker 0.
  virtual void parallel_for(size_t count, Task task, void* data) = 0;
  // Runs job(data) some time later on another thread. False when there is none: the caller keeps the job
  // (tenon_context_poll runs it).
  virtual bool submit(Job job, void* data) = 0;
};

}  // namespace tenon::device
