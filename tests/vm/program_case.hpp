// A kernel program with its memory: run by the vm and by the evaluator, and compared.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "artifact/kernel_program.hpp"
#include "target/target_info.hpp"

namespace tenon::tests {

struct ProgramCase {
  artifact::KernelProgram program;
  std::vector<long> sizes;
  std::vector<std::vector<char>> memory;  // of the buffer parameters

  // A new buffer parameter, its elements small random numbers (bool: 0 or 1); gives its number.
  int add_buffer(DType dtype, size_t elements, bool written, std::mt19937_64& random);
  // The value as a constant or, half the time, as a new size slot.
  artifact::SizeValue size(int64_t value, std::mt19937_64& random);
};

artifact::BodyOp load_op(DType dtype, int parameter, artifact::Address address);
artifact::BodyOp value_op(artifact::ScalarOp op, DType dtype, int a = -1, int b = -1, int c = -1);
artifact::BodyOp constant_op(DType dtype, double value);

// The levels that this machine runs.
std::vector<target::TargetInfo> host_targets();

// Runs the case with the vm as `target` (tiles split at random) and with the evaluator; says how the written buffers
// differ, "" when they do not. Floats may differ by `tolerance` relative to the greater of 1 and the expected.
std::string compare_with_evaluator(const ProgramCase& test, const target::TargetInfo& target, double tolerance = 0);

}  // namespace tenon::tests
