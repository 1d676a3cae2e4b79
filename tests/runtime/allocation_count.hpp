// How often this program has asked the C library for memory, by whatever way.
#pragma once

#include <cstdint>

namespace tenon::tests {

// Under a sanitizer, which has an allocator of its own, only operator new counts.
uint64_t allocation_count();

}  // namespace tenon::tests
