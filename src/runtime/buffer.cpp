#include "runtime/buffer.hpp"

#include <new>

#include "runtime/context.hpp"

tenon_buffer* tenon_buffer::create(std::shared_ptr<tenon::runtime::Context> context, size_t bytes) {
  auto* buffer = new (std::nothrow) tenon_buffer;
  if (buffer == nullptr) return nullptr;
  buffer->memory_ = context->memory().get();
  buffer->context_ = std::move(context);
  buffer->data_ = buffer->memory_->allocate(bytes);
  buffer->bytes_ = bytes;
  if (buffer->data_ == nullptr) {
    delete buffer;
    return nullptr;
  }
  return buffer;
}

tenon_buffer* tenon_buffer::wrap(std::shared_ptr<tenon::runtime::Context> context, void* data, size_t bytes,
                                 void (*done)(void*), void* user) {
  auto* buffer = new (std::nothrow) tenon_buffer;
  if (buffer == nullptr) return nullptr;
  buffer->context_ = std::move(context);
  buffer->data_ = data;
  buffer->bytes_ = bytes;
  buffer->done_ = done;
  buffer->user_ = user;
  return buffer;
}

tenon_buffer* tenon_buffer::view(std::shared_ptr<tenon::runtime::Context> context, void* data, size_t bytes,
                                 tenon_buffer* parent) {
  tenon_buffer* buffer = wrap(std::move(context), data, bytes, nullptr, nullptr);
  if (buffer != nullptr && parent != nullptr) {
    parent->retain();
    buffer->parent_ = parent;
  }
  return buffer;
}

void tenon_buffer::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (memory_ != nullptr) memory_->deallocate(data_, bytes_);
  if (done_ != nullptr) done_(user_);
  if (parent_ != nullptr) parent_->release();
  // The context may die with this; it must not die while its memory is in use above.
  delete this;
}
