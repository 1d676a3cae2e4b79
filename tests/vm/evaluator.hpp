// A slow, obvious evaluator of nest programs: one element at a time, in the numeric order that kernel_program.hpp
// states. It shares no code with the vm. Functions that std has are taken from std in double, so they are compared
// with a tolerance.
#pragma once

#include <cstdint>
#include <vector>

#include "artifact/kernel_abi.h"
#include "artifact/kernel_program.hpp"

namespace tenon::tests {

// A scalar of any type: floats in `real`, everything else in `integer` (wrapped to its type).
struct Scalar {
  DType dtype = DType::kF32;
  double real = 0;
  int64_t integer = 0;
};

Scalar read_element(DType dtype, const void* at);
void write_element(void* at, const Scalar& value);

// Runs all outer points. `has_fma`: whether fma rounds once.
void evaluate(const artifact::KernelProgram& program, const tenon_kernel_args& args, bool has_fma);
// One operation on given operands; the failure word as in the vm.
Scalar evaluate_op(artifact::ScalarOp op, DType dtype, const Scalar& a, const Scalar& b, const Scalar& c, bool has_fma);

}  // namespace tenon::tests
