// What the parts of one compiler share: system compiler, cache, counters. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "compile/kernels.hpp"
#include "runtime/compiler_interface.hpp"
#include "toolchain/disk_cache.hpp"
#include "toolchain/system_compiler.hpp"

namespace tenon::compile {

class Services {
 public:
  explicit Services(const runtime::CompilerHost& host);

  const runtime::CompilerHost& host() const { return host_; }
  Env& env() const { return *host_.env; }
  toolchain::Cache* cache() const { return cache_.get(); }  // null: none wanted
  void log(Severity severity, std::string_view message) const;
  // For start_kernels: finds the system compiler on first use.
  KernelBuildOptions kernel_options();
  bool counter(std::string_view name, int64_t* out) const;

 private:
  const runtime::CompilerHost host_;
  std::unique_ptr<toolchain::Cache> cache_;
  std::mutex mutex_;
  bool searched_ = false;
  std::unique_ptr<toolchain::SystemCompiler> compiler_;
  Status compiler_status_;
  std::atomic<int64_t> compiles_{0}, failures_{0};
};

}  // namespace tenon::compile
