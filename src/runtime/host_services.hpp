// What the host gives a context: copies of its callback structs, checked, and adapters to our own interfaces.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "device/executor.hpp"
#include "support/log.hpp"
#include "support/status.hpp"
#include "tenon.h"

namespace tenon::runtime {

// Copies the fields that `struct_size` covers into a zeroed struct of this build. Fields that this build does not know
// must be zero. Then walks `next`: kinds that are not flagged optional are errors, since none is known.
// INVALID_ARGUMENT names `what`.
Status copy_options(const void* from, void* to, size_t known_size, std::string_view what);
template <typename T>
Status copy_options(const T* from, T* to, std::string_view what) {
  return copy_options(from, to, sizeof(T), what);
}

// The copied structs; null pointers where the host gave none. release() callbacks run when this dies.
class HostServices {
 public:
  HostServices() = default;
  ~HostServices();
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // On failure nothing of the host's is released: the structs stay its own.
  Status copy_from(const tenon_context_options_t& options);

  const tenon_allocator_t* allocator() const { return has(allocator_); }
  const tenon_executor_t* executor() const { return has(executor_); }
  const tenon_tracer_t* tracer() const { return has(tracer_); }
  const tenon_cache_store_t* cache_store() const { return has(cache_store_); }
  Logger logger() const;
  int64_t now_ns() const;
  bool owns() const { return owned_; }

 private:
  template <typename T>
  static const T* has(const T& service) {
    return service.struct_size != 0 ? &service : nullptr;
  }
  tenon_allocator_t allocator_{};
  tenon_executor_t executor_{};
  tenon_logger_t logger_{};
  tenon_tracer_t tracer_{};
  tenon_clock_t clock_{};
  tenon_cache_store_t cache_store_{};
  bool owned_ = false;
};

class HostExecutor final : public device::Executor {
 public:
  explicit HostExecutor(const tenon_executor_t& host) : host_(host) {}
  uint32_t width() const override;
  void parallel_for(size_t count, Task task, void* data) override { host_.parallel_for(host_.user, count, task, data); }
  bool submit(Job job, void* data) override;

 private:
  const tenon_executor_t& host_;
};

}  // namespace tenon::runtime
