// How many times this program has asked operator new so far.
#pragma once

#include <cstdint>

namespace tenon::tests {

uint64_t allocation_count();

}  // namespace tenon::tests
