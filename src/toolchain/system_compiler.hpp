// The C++ compiler of the system as a function from text to a kernel image. It is found once; each compilation is one
// or two child processes without a shell. Sources include nothing and import nothing, so no headers are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.hpp"
#include "support/env.hpp"
#include "support/fingerprint.hpp"
#include "support/status.hpp"
#include "target/target_info.hpp"

namespace tenon::toolchain {

struct SystemCompilerOptions {
  std::string path;                          // "" asks $TENON_CXX, $CXX, then searches $PATH for g++, clang++, c++
  std::vector<std::string> work_directories;  // for temporary files, tried before $TMPDIR, /tmp, /var/tmp, /dev/shm
};

struct CompileRequest {
  std::string source;
  target::Isa isa = target::Isa::kX86V2;
  int64_t timeout_ns = 120'000'000'000;
  uint64_t memory_limit_bytes = uint64_t(4) << 30;
};

// A compilation under way. One thread at a time. Destroying it kills the compiler and removes its temporary files.
class CompileJob {
 public:
  virtual ~CompileJob() = default;
  // Waits at most `wait_ns` (0: just looks, negative: until the end). True when `take` may be called.
  virtual bool poll(int64_t wait_ns) = 0;
  // The image, once. Errors: FAILED_PRECONDITION (the compiler refused; field "errors" has its first lines),
  // DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED (killed by the memory limit or the system), UNAVAILABLE (could not be run).
  virtual Result<Blob> take() = 0;
};

// Thread-safe.
class SystemCompiler {
 public:
  virtual ~SystemCompiler() = default;
  // UNAVAILABLE when there is none, saying where it looked. `env` must outlive it.
  static Result<std::unique_ptr<SystemCompiler>> find(Env& env, const SystemCompilerOptions& options = {});

  virtual const std::string& path() const = 0;
  // Path, size, time and the first line of --version: changes whenever the compiler does. Asked once.
  virtual const std::string& identity() const = 0;
  // Everything besides the source that the image depends on, for cache keys: identity and flags.
  virtual Fingerprint key(target::Isa isa) const = 0;
  virtual Result<std::unique_ptr<CompileJob>> start(const CompileRequest& request) = 0;

  // start and wait
  Result<Blob> compile(const CompileRequest& request);
};

enum class CompilerKind { kGcc, kClang };
// Flags in the order in which they are given to the compiler, without input and output.
std::vector<std::string> compile_flags(target::Isa isa, CompilerKind kind);
std::vector<std::string> link_flags(target::Isa isa);

}  // namespace tenon::toolchain
