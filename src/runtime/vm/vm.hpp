// The interpreter of kernel programs: tier 0 of every kernel, and the oracle of the generated ones (same numeric
// order, same bits). Prepared once, then run by any number of threads.
#pragma once

#include <cstddef>
#include <memory>

#include "artifact/kernel_abi.h"
#include "artifact/kernel_program.hpp"
#include "support/status.hpp"
#include "target/target_info.hpp"

namespace tenon::runtime::vm {

struct Code;

// Immutable and thread-safe; copies share the code.
class Program {
 public:
  // `target` chooses the level of the block loops (which the machine must run) and, for templates, the geometry that
  // sizes were made for. The program is not kept. DATA_LOSS: it is malformed; UNIMPLEMENTED: this build has no such
  // level.
  static Result<Program> prepare(const artifact::KernelProgram& program, const target::TargetInfo& target);

  // Bytes of scratch (64-byte aligned) that run() needs with these sizes, locals and template parts included.
  size_t scratch_bytes(const long* sizes) const;

  // Tiles [first, last) with the meaning of tenon_kernel_fn. Stops early once an index check of this call has failed.
  void run(const tenon_kernel_args* args, long first, long last, void* scratch) const;

 private:
  explicit Program(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace tenon::runtime::vm
