// Native kernels for tests: compiled by the system compiler while the test runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::tests {

// The image of a C++ text, which finds the kernel ABI declared. Compiled once for each text.
std::vector<uint8_t> compile_image(const std::string& text);

}  // namespace tenon::tests
