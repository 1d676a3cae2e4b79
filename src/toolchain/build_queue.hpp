// Runs compilations, a few at a time. It has no thread: whoever waits or polls moves it on, from a background job, from
// tenon_context_poll or from a caller that needs the image now.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "support/blob.hpp"
#include "support/status.hpp"
#include "toolchain/system_compiler.hpp"

namespace tenon::toolchain {

using BuildId = uint64_t;

// Thread-safe.
class BuildQueue {
 public:
  // Called once for each build, on the thread that moved the queue on, with no lock held.
  using Done = std::function<void(Result<Blob> image)>;

  // `parallel`: compilers at once, at least 1. Both must outlive the queue.
  BuildQueue(Env& env, SystemCompiler& compiler, uint32_t parallel);
  // Kills what runs. Builds that have not ended are reported as CANCELLED.
  ~BuildQueue();

  // Starts as soon as a place is free. `urgent` ones go first.
  BuildId enqueue(CompileRequest request, Done done, bool urgent = false);
  // Moves builds on for at most about `budget_ns` (0: looks once). Returns how many have not ended.
  size_t poll(int64_t budget_ns);
  // Until this one has ended (its Done has returned), moving the others on too.
  void wait(BuildId id);
  void wait_all();
  // Forgets a build that has not ended; its Done gets CANCELLED. False when it had ended already.
  bool cancel(BuildId id);
  size_t pending() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::toolchain
