// Zero threads: everything runs on the caller's.
#pragma once

#include "device/executor.hpp"

namespace tenon::device::cpu {

class InlineExecutor final : public Executor {
 public:
  uint32_t width() const override { return 1; }
  void parallel_for(size_t count, Task task, void* data) override {
    for (size_t index = 0; index < count; ++index) task(data, index, 0);
  }
  bool submit(Job, void*) override { return false; }
};

}  // namespace tenon::device::cpu
