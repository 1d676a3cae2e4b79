// What the interpreter (built once) and the block loops (built once for each level) agree on. The level files include
// this and nothing heavier, and instantiate no inline function of it, so that no code for a high level can be linked
// into others.
//
// A value of a body is a block of up to kBlock elements along the vector axis, in a register of the scratch or, for a
// whole block that lies contiguous in memory, in place. A value that does not depend on the vector axis is a slot of
// kSlotBytes filled with copies, so that loops read it as they read a block, with step 0. Loops work on whole
// vectors: a register is read and written up to the next multiple of kGranule elements; what lies past the count is
// of no meaning, and operations that can fail look at the count alone. bool is a byte, 0 or 1; f16 and bf16 are their
// bits.
#pragma once

#include <cstdint>

#include "artifact/kernel_abi.h"
#include "artifact/kernel_program.hpp"
#include "codegen/templates/builtin_kernels.hpp"
#include "target/target_info.hpp"

namespace tenon::runtime::vm {

inline constexpr long kBlock = 512;
inline constexpr long kGranule = 64;
inline constexpr long kSlotBytes = 128;
inline constexpr int kMaxAxes = 64;

// A load's or store's place, sizes filled in: element `offset + stride * position` of `origin`.
struct Place {
  char* origin;
  long base;
  long outer;   // base + terms of outer axes
  long offset;  // + terms of the stage's axes but the vector axis
  long stride;  // along the vector axis
};

struct Frame {
  char** at;      // where each value lies
  Place* places;
  char* storage;  // `home` of an Op counts from here
  long position;  // value of the vector axis at the block's first element
  long* failure;
  bool failed;
};

struct Op;
using OpFn = void (*)(Frame& frame, const Op& op, long count);

struct Op {
  OpFn run = nullptr;
  uint32_t value = 0;          // index in Frame::at of the result; stores: of the value
  uint32_t operand[3] = {};    // the same of the operands; operand[2] of loads and stores: the computed address
  uint32_t varies = 0;         // bit i: operand i is a block, not a slot
  uint32_t home = 0;           // where the result's register or slot is
  int32_t place = -1;
  uint8_t bytes = 0;           // of one element
  bool computed = false;       // operand[2] is added to the address
  bool aimed = false;          // the result may lie in memory already chosen
  bool in_place = false;       // a load may leave the block where it is
  bool can_fail = false;
  int64_t bits = 0;            // failure site
};

// State of one reduction. Row reductions: 32 lanes each in `total` and `part`. Column reductions: kBlock elements each.
// Arg reductions: the extremes in `total`, their positions in `index` (one or kBlock), -1 before the first.
struct Accumulator {
  char* total;
  char* part;
  long* index;
};

struct Reducer {
  void (*begin)(Accumulator& to, long count) = nullptr;
  // Joins `count` elements. Rows: pads x to whole lanes with the identity (x is writable unless count is a multiple
  // of kGranule); position: of the first element. Columns: position of the reduced point, the same for all.
  void (*add)(Accumulator& to, void* x, long count, long position) = nullptr;
  void (*chunk)(Accumulator& to, long count) = nullptr;  // sums only: part joins total and starts anew
  void (*finish)(Accumulator& to, void* result) = nullptr;  // rows only
};

struct VmLevel {
  target::Isa isa;
  OpFn (*find)(artifact::ScalarOp op, DType result, DType operand);  // null: not an operation of these types
  OpFn (*find_load)(int bytes);
  OpFn (*find_masked_load)(int bytes);  // operand 0: predicate, 1: value otherwise
  OpFn (*find_store)(int bytes);
  OpFn (*find_fill)(int bytes);         // a slot to a block
  OpFn aim;                             // lets `value` lie at `place` in memory if a whole block is contiguous there
  void (*splat)(char* slot, int bytes); // element 0 to the whole slot
  Reducer (*find_row_reducer)(artifact::Combiner combiner, DType dtype);
  Reducer (*find_column_reducer)(artifact::Combiner combiner, DType dtype);
  const codegen::BuiltinKernels* kernels;
};

extern const VmLevel kVmX86V2, kVmX86V3, kVmX86V4, kVmNeon;  // those of this architecture are defined

}  // namespace tenon::runtime::vm
