// Stands in for the C library's allocator in the whole process, the shared libraries included, and counts.
#include "models/counting_allocator.hpp"

#include <cerrno>
#include <cstring>

namespace tenon::tests {
std::atomic<uint64_t> g_allocations{0};
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers bring their own.
#else
extern "C" {

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t bytes) {
  ++tenon::tests::g_allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++tenon::tests::g_allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  ++tenon::tests::g_allocations;
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  ++tenon::tests::g_allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++tenon::tests::g_allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  ++tenon::tests::g_allocations;
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif
