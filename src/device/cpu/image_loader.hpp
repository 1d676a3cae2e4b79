// Kernels from memory into memory: maps a self-contained ELF shared image (no imports, no thread-local storage, no
// relocations but relative ones) without a file and without the dynamic linker. Bytes are not trusted: anything
// malformed is a status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "support/status.hpp"

namespace tenon::device::cpu {

struct LoadOptions {
  bool tell_debugger = false;   // register with gdb's JIT interface
  bool tell_profiler = false;   // append a line for each function to /tmp/perf-<pid>.map
};

// A loaded image; unmapped on destruction. Immutable, so thread-safe.
class KernelImage {
 public:
  // Copies what it needs; `bytes` may go afterwards.
  static Result<std::unique_ptr<KernelImage>> load(std::span<const uint8_t> bytes, const LoadOptions& options = {});
  ~KernelImage();
  KernelImage(const KernelImage&) = delete;
  KernelImage& operator=(const KernelImage&) = delete;

  // The address of an exported function, or NOT_FOUND. Anything but code is INVALID_ARGUMENT.
  Result<void*> find(std::string_view name) const;
  size_t mapped_bytes() const;

 private:
  struct Mapped;
  explicit KernelImage(std::unique_ptr<Mapped> mapped);
  std::unique_ptr<Mapped> mapped_;
};

}  // namespace tenon::device::cpu
