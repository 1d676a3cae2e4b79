// Where a kernel's local parameters lie in the worker's scratch: one rule for the vm, the printers and the runtime.
#pragma once

#include <cstddef>

#include "artifact/kernel_program.hpp"

namespace tenon::artifact {

inline constexpr size_t kLocalAlignment = 64;

inline long resolve(const SizeValue& value, const long* sizes) {
  return value.is_constant() ? long(value.constant) : sizes[value.slot];
}

// Bytes that one parameter takes in the scratch: nothing for a buffer, whole lines for a local one.
size_t local_bytes(const Parameter& parameter, const long* sizes);

// Locals follow each other in parameter order, each 64-byte aligned; this is the total. A printed nest needs no other
// scratch.
size_t local_scratch(const KernelProgram& program, const long* sizes);

}  // namespace tenon::artifact
