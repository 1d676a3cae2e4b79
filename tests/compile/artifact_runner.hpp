// Runs an artifact on plain memory, one thread, no placement: the simplest executor there can be. Tests use it to run
// the same program on the vm and as compiled code and to compare every buffer.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "artifact/artifact.hpp"
#include "device/cpu/image_loader.hpp"
#include "runtime/vm/vm.hpp"
#include "support/blob.hpp"
#include "reference/npy.hpp"

namespace tenon::testing {

// Compiled kernels of an artifact, by program.
class NativeKernels {
 public:
  // Prints, compiles with the system compiler and loads every program.
  static Result<std::unique_ptr<NativeKernels>> compile(const artifact::Artifact& artifact, const target::TargetInfo& target);
  tenon_kernel_fn operator[](size_t program) const { return kernels_[program]; }

 private:
  std::vector<std::unique_ptr<device::cpu::KernelImage>> images_;
  std::vector<tenon_kernel_fn> kernels_;
};

struct RunResult {
  std::vector<Array> outputs;
  std::vector<std::vector<uint8_t>> buffers;  // of every artifact buffer after the run; empty for inputs and constants
};

// `native` null: the vm. States start from their initial values.
Result<RunResult> run_artifact(const artifact::Artifact& artifact, const std::vector<Blob>& sources,
                               const std::vector<Array>& inputs, const target::TargetInfo& target, const NativeKernels* native);

}  // namespace tenon::testing
