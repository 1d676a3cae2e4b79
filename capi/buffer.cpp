#include "handles.hpp"

using namespace tenon;
using namespace tenon::capi;

extern "C" {

TENON_API tenon_status_t* tenon_buffer_create(tenon_device_t* device, size_t bytes, tenon_buffer_t** out_buffer) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(out_buffer);
    *out_buffer = nullptr;
    TENON_REQUIRE(device);
    *out_buffer = tenon_buffer::create(device->context->shared_from_this(), bytes);
    if (*out_buffer != nullptr) return {};
    return Status(Code::kResourceExhausted, concat("no memory for a buffer of ", bytes, " bytes"));
  });
}

TENON_API void* tenon_buffer_data(const tenon_buffer_t* buffer) { return buffer == nullptr ? nullptr : buffer->data(); }
TENON_API size_t tenon_buffer_bytes(const tenon_buffer_t* buffer) {
  return buffer == nullptr ? 0 : buffer->size_bytes();
}
TENON_API void tenon_buffer_retain(tenon_buffer_t* buffer) {
  if (buffer != nullptr) buffer->retain();
}
TENON_API void tenon_buffer_release(tenon_buffer_t* buffer) {
  if (buffer != nullptr) buffer->release();
}

}  // extern "C"
