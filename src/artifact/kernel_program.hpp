// A scheduled kernel as plain data: what the vm interprets and what the printers print, so that they cannot differ in
// meaning or in numeric order.
//
// A nest kernel runs, for each point of its outer axes (flattened, row-major; one point is one tile of the kernel ABI), its stages in
// order. A stage has axes of its own, a body of scalar operations in SSA form, and stores, reductions or row values:
//   map     no axis is reduced: the body is evaluated at each point and stored
//   reduce  every axis is reduced: results are row values, one for each outer point; the stage may also store at each point
//   column  axes are reduced but the last (the vector axis): one result for each point of the last axis, stored
//   scalar  no axes: runs once for each outer point, may define row values and store
// The last axis of a stage is its vector axis. Axis numbers count the outer axes first, then the stage's own.
//
// Numeric order of reductions (constants in target/target_info.hpp), the same in every executor:
//   reduce  the element with the flattened position p along the stage's axes joins lane p % kReduceLanes... counted within
//           the vector axis: position v of the vector axis joins lane v % kReduceLanes. The lanes start from the combiner's
//           identity and are carried over the outer reduced axes. For sums each run of kReduceChunk elements of the vector axis starts
//           from zero (-0.0) and is then added to the lanes' totals. At the end the lanes are combined pairwise: lane l with l + 16,
//           then l + 8, 4, 2, 1.
//   column  each element is a chain over the reduced points in row-major order; for sums, runs of kSerialReduceChunk
//           points of the innermost reduced axis start from -0.0 and are then added to the total.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/dtype.hpp"

namespace tenon::artifact {

enum class ScalarOp : uint8_t {
#define TENON_SCALAR_OP(enumerator, text, operands) enumerator,
#include "artifact/scalar_ops.inc"
#undef TENON_SCALAR_OP
};
const char* name(ScalarOp op);
int operand_count(ScalarOp op);

// An integer that is constant or a size parameter of the kernel.
struct SizeValue {
  int64_t constant = 0;
  int32_t slot = -1;  // >= 0: args->sizes[slot]
  bool is_constant() const { return slot < 0; }
  bool is(int64_t value) const { return slot < 0 && constant == value; }
  friend bool operator==(const SizeValue&, const SizeValue&) = default;
};

struct AddressTerm {
  int32_t axis = 0;
  SizeValue coefficient;  // elements
  friend bool operator==(const AddressTerm&, const AddressTerm&) = default;
};

// Element offset = base + sum(coefficient * axis) + value of body operation `dynamic` (i64; -1: none).
struct Address {
  SizeValue base;
  std::vector<AddressTerm> terms;  // ascending axis, no zero coefficients
  int32_t dynamic = -1;
  friend bool operator==(const Address&, const Address&) = default;
};

struct BodyOp {
  ScalarOp op = ScalarOp::kConstant;
  DType dtype = DType::kF32;  // of the result
  int32_t a = -1, b = -1, c = -1;  // operands: earlier operations of this body
  int64_t bits = 0;           // kConstant: the value's bits (f32 in the low 32); kIndex: axis; kRow: row slot;
                              // kCheckIndex, kWrapIndex, kDiv...: site number for the failure word
  SizeValue size;             // kSize
  int32_t parameter = -1;     // kLoad, kMaskedLoad
  Address address;            // kLoad, kMaskedLoad
  friend bool operator==(const BodyOp&, const BodyOp&) = default;
};

struct Store {
  int32_t parameter = 0;
  Address address;
  int32_t value = 0;
  friend bool operator==(const Store&, const Store&) = default;
};

enum class Combiner : uint8_t { kSum, kProd, kMax, kMin, kAny, kAll, kArgMax, kArgMin };
const char* name(Combiner combiner);

// kMax and kMin keep NaN. kArgMax and kArgMin give the i64 position along the reduced axes (row-major) of the first
// extreme or NaN.
struct Reduction {
  Combiner combiner = Combiner::kSum;
  DType dtype = DType::kF32;  // of the value that is combined (accumulated in this type)
  int32_t value = 0;          // body operation
  int32_t row = -1;           // reduce stage: row slot of the result
  int32_t parameter = -1;     // column stage: where the result of each vector-axis point goes
  Address address;
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

struct StageAxis {
  SizeValue extent;
  bool reduced = false;
  // > 0: the axis is split; this stage runs [o * block, min(extent, (o + 1) * block)) where o is the value of
  // `outer_axis`.
  int64_t block = 0;
  int32_t outer_axis = -1;
  friend bool operator==(const StageAxis&, const StageAxis&) = default;
};

struct RowValue {
  int32_t row = 0;    // slot
  int32_t value = 0;  // body operation
  friend bool operator==(const RowValue&, const RowValue&) = default;
};

struct Stage {
  std::vector<StageAxis> axes;
  std::vector<BodyOp> body;
  std::vector<Store> stores;
  std::vector<Reduction> reductions;
  std::vector<RowValue> rows;  // scalar stage
  friend bool operator==(const Stage&, const Stage&) = default;
};

enum class ParameterKind : uint8_t {
  kBuffer,  // args->buffers, in order
  kLocal,   // in the worker's scratch: lives from stage to stage of one outer point
};

struct Parameter {
  ParameterKind kind = ParameterKind::kBuffer;
  DType dtype = DType::kF32;
  bool written = false;
  SizeValue local_extent;  // kLocal: elements
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

enum class ProgramKind : uint8_t { kNest, kGemm, kAttention };

// A hook of a template: a body over the template's axes, vectorized along the last. kAccumulator is the template's
// value. `yield` is the result (init, prologue, score) or -1; stores are the epilogue's.
struct Hook {
  std::vector<BodyOp> body;
  std::vector<Store> stores;
  int32_t yield = -1;
  bool present() const { return yield >= 0 || !stores.empty(); }
  friend bool operator==(const Hook&, const Hook&) = default;
};

struct KernelProgram {
  ProgramKind kind = ProgramKind::kNest;
  std::string name;                   // of the kernel's symbol; not part of its identity
  std::vector<Parameter> parameters;  // kBuffer ones first
  uint32_t size_count = 0;            // slots of args->sizes
  uint32_t row_count = 0;             // row slots
  std::vector<DType> row_types;
  // kNest
  std::vector<SizeValue> outer;       // extents
  std::vector<Stage> stages;
  // kGemm: axes (batch, m, n); prologue_a (batch, m, k). The first sizes and buffers are the template's own, see
  // codegen/templates/template_abi.h. init yields, epilogue stores.
  Hook init, epilogue, prologue_a;
  bool packed_b = false;              // B is a packed constant
  // kAttention: score over (b, h, q, k) yields; store over (b, h, q, d) stores
  Hook score, store;
  friend bool operator==(const KernelProgram&, const KernelProgram&) = default;
};

// Buffers and sizes that a template takes before the hooks' own, as codegen/templates/template_abi.h lists them.
inline constexpr size_t kGemmBuffers = 2, kGemmSizes = 17;
inline constexpr size_t kAttentionBuffers = 3, kAttentionSizes = 24;

// Does an operation take a failure site (its `bits`) on these operand types?
bool can_fail(ScalarOp op, DType operand);

}  // namespace tenon::artifact
