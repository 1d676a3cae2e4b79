// A kernel program made ready for interpretation: operations resolved to block loops, values to registers and slots,
// sorted by how often they must run.
#pragma once

#include <vector>

#include "runtime/vm/frame.hpp"
#include "support/status.hpp"

namespace tenon::runtime::vm {

using artifact::SizeValue;

// An operation runs once a call, once an outer point, once a row (a point of all axes but the vector axis), or once a
// block.
enum Level : int { kCall = 0, kOuter = 1, kRow = 2, kEach = 3 };

struct PlaceTerm {
  int axis;
  SizeValue coefficient;
};

struct PlaceCode {
  int parameter = 0;
  SizeValue base;
  SizeValue stride;
  uint32_t first_term = 0, outer_end = 0, inner_end = 0;  // in Code::terms
};

// An axis or a size as an i64 value in a slot.
struct IndexCode {
  int axis;
  uint32_t home;
};
struct SizeCode {
  SizeValue size;
  uint32_t home;
};

struct Body {
  std::vector<Op> ops[4];
  std::vector<Op> stores;
  std::vector<SizeCode> sizes;
  std::vector<IndexCode> indices[2];  // those of kOuter, of kRow
  uint32_t first_place = 0, last_place = 0;
  std::vector<uint32_t> row_places;   // places with terms of the stage's axes
  std::vector<uint32_t> accumulators; // values that are the template's
  uint32_t yield = 0;                 // value
};

struct ReductionCode {
  Reducer reducer;
  uint32_t value = 0;
  uint32_t bytes = 0;         // of a result element
  uint32_t total = 0, part = 0, index = 0;  // homes
  uint32_t row = 0;           // reduce: home of the row slot
  Op store;                   // column
  bool positions = false;     // the results are `index`, not `total`
};

struct RowCode {
  uint32_t value;
  uint32_t row;  // home
};

enum class StageKind : uint8_t { kMap, kReduce, kColumn, kScalar };

struct StageCode {
  StageKind kind = StageKind::kMap;
  std::vector<artifact::StageAxis> axes;
  Body body;
  std::vector<ReductionCode> reductions;
  std::vector<RowCode> rows;
};

struct alignas(64) Slot {
  char bytes[kSlotBytes];
};

struct Code {
  const VmLevel* level = nullptr;
  target::TargetInfo target;
  artifact::ProgramKind kind = artifact::ProgramKind::kNest;
  std::vector<artifact::Parameter> parameters;
  std::vector<SizeValue> outer;
  std::vector<StageCode> stages;
  bool has_init = false, has_prologue = false, has_score = false, packed_b = false;
  Body init, prologue, epilogue, score, store;

  std::vector<PlaceCode> places;
  std::vector<PlaceTerm> terms;
  std::vector<Slot> constants;
  struct Value {
    uint32_t home = 0;         // in the storage, or index of a constant
    bool constant = false;
  };
  std::vector<Value> values;
  uint32_t storage_bytes = 0;

  // Parts of the scratch, in this order.
  size_t at_offset = 0, places_offset = 0, terms_offset = 0, parameters_offset = 0, storage_offset = 0, fixed_bytes = 0;
};

// Fills `code` from a verified program. Fails where the level lacks an operation.
Status compile(const artifact::KernelProgram& program, Code& code);

}  // namespace tenon::runtime::vm
