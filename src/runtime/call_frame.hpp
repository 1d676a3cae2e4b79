// The working memory of one call: for an executable and a set of sizes, every launch with its arguments, tiles and
// scratch. One owner. Preparing allocates when the executable changes or the arena must grow; running never does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executable.hpp"
#include "runtime/launch.hpp"
#include "runtime/memory.hpp"

namespace tenon::runtime {

class CallFrame {
 public:
  explicit CallFrame(Memory& memory) : arena_(memory) {}

  // Works out launches for these registers (all of the size program's) and `threads` workers, without memory.
  // Errors: OUT_OF_RANGE for sizes that no memory holds.
  Status prepare(const std::shared_ptr<const Executable>& executable, std::span<const int64_t> registers,
                 uint32_t threads);
  // Bytes of arena that running needs: buffers and the workers' scratch.
  size_t required_bytes() const { return arena_bytes_ + scratch_stride_ * threads_; }
  // Makes the arena big enough. RESOURCE_EXHAUSTED: it could not.
  Status reserve();
  // Fills the launches' pointers; arrays have one element an input, output, state. To be called after reserve(), and
  // whenever one of them changed.
  void point(void* const* inputs, void* const* outputs, void* const* states);

  const Executable* executable() const { return executable_.get(); }
  const std::shared_ptr<const Executable>& shared_executable() const { return executable_; }
  std::span<const int64_t> registers() const { return registers_; }
  void* buffer(uint32_t index) const { return places_[index]; }
  uint32_t threads() const { return threads_; }

  // Where a call that is run in parts stands.
  struct Cursor {
    size_t instruction = 0;
    long tile = 0;
  };
  // Runs from the cursor to the end, or until `deadline_ns` of `now` has passed (no clock: no deadline). True:
  // finished. Errors: what a failed check means; CANCELLED.
  struct Clock {
    int64_t (*now_ns)(void* user) = nullptr;
    void* user = nullptr;
  };
  Result<bool> run(device::Executor& executor, const std::atomic<bool>& cancelled, Cursor& cursor, const Clock* clock,
                   int64_t deadline_ns);
  // As run without a deadline from the beginning.
  Status run_all(device::Executor& executor, const std::atomic<bool>& cancelled);

 private:
  struct Step {
    artifact::Opcode opcode = artifact::Opcode::kLaunch;
    Launch launch;
    uint32_t first_buffer = 0, buffer_count = 0, first_size = 0;
    size_t copy_bytes = 0;
  };
  void lay_out();  // after the executable changed
  // `scratch`: what a native template kernel needs.
  Status size_launch(const artifact::Instruction& instruction, Step& step, size_t& scratch);
  Status failure_status(const artifact::Instruction& instruction, const long* failure) const;
  Crew crew(device::Executor& executor, const std::atomic<bool>& cancelled);

  std::shared_ptr<const Executable> executable_;
  std::vector<int64_t> registers_;
  uint32_t threads_ = 1;
  std::vector<Step> steps_;
  std::vector<long> sizes_;
  std::vector<void*> places_;           // of each of the artifact's buffers
  std::vector<uint32_t> buffer_index_;  // steps' buffers, one after the other
  std::vector<void*> buffer_places_;
  std::vector<int64_t> arena_sizes_;
  std::shared_ptr<const Placement> placement_;
  size_t arena_bytes_ = 0, scratch_stride_ = 0;
  std::vector<FailureWord> failures_;
  Arena arena_;
};

}  // namespace tenon::runtime
