// Straight-line integer programs that a run-time evaluates once for each set of sizes: symbols from the inputs' dims,
// then every expression that the plan needs. Register i is the result of operation i. Arithmetic is checked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/status.hpp"

namespace tenon::artifact {

enum class SizeOpKind : uint8_t {
  kConstant,     // value
  kInputDim,     // dims[b] of input a
  kInputStride,  // strides[b] of input a, in elements
  kInputScalar,  // the integer held by scalar input a (a host 0-d integer tensor)
  kFact,         // integer fact a, given by the client with the call
  kAdd, kMul, kFloorDiv, kMod, kMin, kMax,  // of registers a, b
};

struct SizeOp {
  SizeOpKind kind = SizeOpKind::kConstant;
  uint32_t a = 0, b = 0;
  int64_t value = 0;
};

using SizeRegister = uint32_t;

enum class GuardRelation : uint8_t { kEq, kNe, kLt, kLe };

// registers[a] relation registers[b]. `text` is what a miss report says ("dim 1 of `ids` == 8"), `origin` who asked.
struct SizeGuard {
  GuardRelation relation = GuardRelation::kEq;
  SizeRegister a = 0, b = 0;
  std::string text, origin;
};

// What a call brings. Arrays are lent for the duration of evaluate_sizes; an array that no operation reads may be null.
struct SizeInputs {
  const int64_t* const* dims = nullptr;     // dims[input][axis]
  const int64_t* const* strides = nullptr;  // strides[input][axis], in elements
  const int64_t* scalars = nullptr;         // scalars[scalar input]
  const int64_t* facts = nullptr;           // facts[fact]
};

// The counts that a program's operations may index.
struct SizeInputCounts {
  std::span<const uint32_t> ranks;  // of each input
  uint32_t scalars = 0;
  uint32_t facts = 0;
};

// Checks a program that came from a file: known kinds, operands from earlier registers, sources within `counts`.
// Errors: DATA_LOSS naming the operation.
Status verify_sizes(std::span<const SizeOp> program, const SizeInputCounts& counts);

// Fills registers[0 .. program.size()). The program must be a verified one. Allocates nothing unless it fails.
// Thread-safe. Errors: OUT_OF_RANGE when a result leaves int64, INVALID_ARGUMENT on a division by zero; both name the
// operation and its operands, and registers behind the failed operation are unspecified.
Status evaluate_sizes(std::span<const SizeOp> program, const SizeInputs& inputs, std::span<int64_t> registers);

bool holds(const SizeGuard& guard, std::span<const int64_t> registers);

}  // namespace tenon::artifact
