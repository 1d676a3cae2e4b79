// What functions, graphs, calls and buffers of one host share. Thread-safe ("free"); everything made from it keeps it
// alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "device/executor.hpp"
#include "runtime/compiler_interface.hpp"
#include "runtime/compiler_library.hpp"
#include "runtime/host_services.hpp"
#include "runtime/kernel_job.hpp"
#include "runtime/memory.hpp"
#include "runtime/weight_store.hpp"
#include "target/target_info.hpp"

namespace tenon::runtime {
class Context;
}

// What allocator callbacks see and tenon_context_device lends.
struct tenon_device {
  int32_t kind = TENON_DEVICE_CPU;
  int32_t index = 0;
  tenon::runtime::Context* context = nullptr;
};

namespace tenon::runtime {

class Context : public std::enable_shared_from_this<Context> {
 public:
  // `options` has been through copy_options. Errors: malformed services, unknown isa.
  static Result<std::shared_ptr<Context>> create(const tenon_context_options_t& options);
  // With a compiler of the caller's.
  static Result<std::shared_ptr<Context>> create(const tenon_context_options_t& options, Compiler* compiler);
  ~Context();

  device::Executor& executor() { return *executor_; }
  uint32_t threads() const { return threads_; }
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  Memory& arena_memory() { return *arena_memory_; }
  WeightStore& weights() { return *weights_; }
  BackgroundJobs& background() { return *background_; }
  const Logger& logger() const { return logger_; }
  const target::TargetInfo& target() const { return target_; }
  int64_t now_ns() const { return services_.now_ns(); }
  tenon_device_t* device() { return &device_; }
  bool may_compile() const { return (flags_ & TENON_CONTEXT_NO_COMPILER) == 0; }

  // Loads the compiler when it is first needed.
  Result<Compiler*> compiler();
  // A span of the host's tracer.
  class Span {
   public:
    Span(Context& context, std::string_view name);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    const tenon_tracer_t* tracer_;
    std::string_view name_;
    uint64_t id_ = 0;
  };

  int64_t poll(int64_t budget_ns);
  bool counter(std::string_view name, int64_t* out);

 private:
  Context() = default;

  HostServices services_;  // first: its release callbacks run last
  tenon_device device_;
  uint32_t flags_ = 0, threads_ = 1;
  Logger logger_;
  target::TargetInfo target_;
  std::shared_ptr<Memory> memory_, arena_memory_;
  std::unique_ptr<device::Executor> executor_;
  std::shared_ptr<WeightStore> weights_;
  std::shared_ptr<BackgroundJobs> background_;
  std::atomic<uint64_t> next_span_{1};

  std::mutex compiler_mutex_;
  CompilerHost compiler_host_;
  std::unique_ptr<CompilerLibrary> compiler_;
};

}  // namespace tenon::runtime
