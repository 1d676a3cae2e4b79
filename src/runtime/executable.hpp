// An artifact made ready to run: guards compiled, constants bound, one slot a kernel. Shared by calls; everything but
// the slots' native kernels is immutable. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "artifact/artifact.hpp"
#include "device/executor.hpp"
#include "artifact/kernel_abi.h"
#include "device/cpu/image_loader.hpp"
#include "runtime/guard_check.hpp"
#include "runtime/placer.hpp"
#include "runtime/vm/vm.hpp"
#include "runtime/weight_store.hpp"
#include "support/blob.hpp"
#include "target/target_info.hpp"

namespace tenon::runtime {

// Tier 1 is the native kernel once it is there, tier 0 the vm. Both give the same bits, so a swap between two chunks
// of one launch does no harm.
struct KernelSlot {
  std::atomic<tenon_kernel_fn> native{nullptr};
  std::optional<vm::Program> interpreted;
};

class Executable {
 public:
  // Loads the artifact's images too. FAILED_PRECONDITION: it is made for an instruction set that `host` does not run.
  // `executor`, when given, packs weights in parallel.
  static Result<std::shared_ptr<Executable>> load(artifact::Artifact artifact, std::span<const Blob> sources,
                                                  WeightStore& weights, const target::TargetInfo& host,
                                                  device::Executor* executor = nullptr);

  const artifact::Artifact& artifact() const { return artifact_; }
  const target::TargetInfo& target() const { return target_; }
  const GuardCheck& guards() const { return guards_; }
  const KernelSlot& slot(uint32_t program) const { return slots_[program]; }
  const void* constant(uint32_t index) const { return constants_[index]->data(); }
  const Weight& weight(uint32_t index) const { return *constants_[index]; }
  // Initial bytes of a state, row-major; an empty blob: zeros.
  const Blob& initial_state(uint32_t index) const { return initial_states_[index]; }
  // Of the arena buffers, in the order of arena_index.
  PlacementMemo& placements() const { return placements_; }
  // Index among the arena buffers, or -1.
  int32_t arena_index(uint32_t buffer) const { return arena_index_[buffer]; }
  bool reads_scalars() const { return reads_scalars_; }
  bool mutates_inputs() const { return mutates_inputs_; }

  // Puts the kernels of an image into their slots: symbols[i] is the kernel of programs[i]. All or none.
  Status install(std::span<const uint8_t> image, std::span<const uint32_t> programs,
                 std::span<const std::string> symbols);
  size_t kernels() const { return slots_.size(); }
  size_t native_kernels() const;
  // Images that were installed, for packages.
  std::vector<artifact::Image> images() const;

 private:
  Executable(artifact::Artifact artifact, std::vector<PlacedBuffer> arena);

  artifact::Artifact artifact_;  // without images
  target::TargetInfo target_;
  GuardCheck guards_;
  std::vector<Blob> initial_states_;
  std::vector<std::shared_ptr<const Weight>> constants_;
  std::vector<int32_t> arena_index_;
  mutable PlacementMemo placements_;
  std::vector<KernelSlot> slots_;
  bool reads_scalars_ = false, mutates_inputs_ = false;

  mutable std::mutex images_mutex_;
  std::vector<std::unique_ptr<device::cpu::KernelImage>> loaded_;
  std::vector<artifact::Image> image_bytes_;
};

}  // namespace tenon::runtime
