// Memory that the library hands out, and memory that the library was lent: tenon_buffer_t. Counted references;
// thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/memory.hpp"
#include "support/status.hpp"
#include "tenon.h"

namespace tenon::runtime {
class Context;
}

struct tenon_buffer {
  // 64-byte aligned; contents undefined. Null when there is no memory.
  static tenon_buffer* create(std::shared_ptr<tenon::runtime::Context> context, size_t bytes);
  // Somebody else's memory: `done(user)` runs when the last reference goes.
  static tenon_buffer* wrap(std::shared_ptr<tenon::runtime::Context> context, void* data, size_t bytes,
                            void (*done)(void*), void* user);
  // A place inside of another buffer, which it retains (`parent` may be null: memory that the caller keeps alive).
  static tenon_buffer* view(std::shared_ptr<tenon::runtime::Context> context, void* data, size_t bytes,
                            tenon_buffer* parent);

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();
  bool is_shared() const { return references_.load(std::memory_order_acquire) > 1; }
  void* data() const { return data_; }
  size_t size_bytes() const { return bytes_; }
  const std::shared_ptr<tenon::runtime::Context>& context() const { return context_; }

  // Room for the dims and strides of the tensor that this buffer is handed out with.
  int64_t dims[TENON_MAX_RANK];
  int64_t strides[TENON_MAX_RANK];

 private:
  tenon_buffer() = default;
  ~tenon_buffer() = default;

  std::atomic<int32_t> references_{1};
  std::shared_ptr<tenon::runtime::Context> context_;
  tenon::runtime::Memory* memory_ = nullptr;  // of the context, when the bytes are ours
  void* data_ = nullptr;
  size_t bytes_ = 0;
  tenon_buffer* parent_ = nullptr;
  void (*done_)(void*) = nullptr;
  void* user_ = nullptr;
};
