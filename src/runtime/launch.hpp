// Runs tiles of one kernel: on the caller's thread when there is little to do, else in chunks that a crew claims.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "artifact/kernel_abi.h"
#include "device/executor.hpp"
#include "runtime/executable.hpp"

namespace tenon::runtime {

// The failure word of one worker and, of those it met during a launch, the one with the lowest tiles.
struct alignas(64) FailureWord {
  long word[3] = {0, 0, 0};
  long first[3] = {0, 0, 0};
  long first_tile = 0;
};

// Who works on a call. Scratch and failure words: one a thread of the crew.
struct Crew {
  device::Executor* executor = nullptr;
  uint32_t threads = 1;  // at most this many of the executor's
  const std::atomic<bool>* cancelled = nullptr;
  char* scratch = nullptr;
  size_t scratch_stride = 0;
  FailureWord* failures = nullptr;
};

struct Launch {
  const KernelSlot* slot = nullptr;
  void* const* buffers = nullptr;
  const long* sizes = nullptr;
  long tiles = 0;
  bool is_template = false;
  // Estimates of the whole launch on one thread; they choose chunks and never change results.
  double native_ns = 0, interpreted_ns = 0;

  bool is_native() const { return slot->native.load(std::memory_order_acquire) != nullptr; }
  double work_ns() const { return is_native() ? native_ns : interpreted_ns; }
};

// Tiles [first, last). Returns after all of them ran (or, once cancelled, after those that had begun). False: a check
// failed, and failure[0..2] is the failure word of the lowest such tiles.
bool run_tiles(const Launch& launch, long first, long last, const Crew& crew, long* failure);

}  // namespace tenon::runtime
