#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace tenon::tests {

// Calls of malloc and its kin by every thread and library of this process so far.
extern std::atomic<uint64_t> g_allocations;

}  // namespace tenon::tests
