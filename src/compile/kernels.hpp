// Native code for an artifact's programs: prints them, asks the cache, starts compilers for the rest. Each matrix product and
// each attention kernel is a unit of its own; nests share units.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "artifact/artifact.hpp"
#include "runtime/compiler_interface.hpp"
#include "toolchain/disk_cache.hpp"
#include "toolchain/system_compiler.hpp"

namespace tenon::compile {

struct KernelBuildOptions {
  Env* env = nullptr;
  toolchain::SystemCompiler* compiler = nullptr;  // null: only what the cache has; the rest fails
  Status compiler_status;                          // why there is none
  toolchain::Cache* cache = nullptr;
  target::TargetInfo target;
  uint32_t jobs = 2;
  std::atomic<int64_t>* compiles = nullptr;
  std::atomic<int64_t>* failures = nullptr;
};

std::unique_ptr<runtime::KernelBuild> build_kernels(const artifact::Artifact& artifact, const KernelBuildOptions& options);

// The C++ of all programs, for `explain`.
std::string print_sources(const artifact::Artifact& artifact, const target::TargetInfo& target);

}  // namespace tenon::compile
