// A compiled program as plain data: what the compiler hands to the runtime and what the cache and packages hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "artifact/kernel_program.hpp"
#include "artifact/size_program.hpp"
#include "support/dtype.hpp"
#include "support/status.hpp"
#include "target/target_info.hpp"

namespace tenon::artifact {

struct InputDecl {
  std::string name;
  DType dtype = DType::kF32;
  int32_t rank = 0;
  bool scalar = false;             // a Python number: a 0-d host tensor at a call
  bool dtype_required = true;      // another dtype is an error, else a miss
  bool rank_required = true;
  bool mutated = false;            // the program writes it
};

struct OutputDecl {
  std::string name;
  enum class Kind : uint8_t { kBuffer, kNone, kBool, kInt, kFloat } kind = Kind::kBuffer;
  DType dtype = DType::kF32;
  std::vector<SizeRegister> dims;      // of a tensor
  uint32_t buffer = 0;                 // kBuffer
  int32_t alias_input = -1;            // >= 0: the output is this input (or a view of it), returned as one
  std::vector<SizeRegister> strides;   // with alias_input; else row-major
  SizeRegister offset = 0;             // with alias_input: elements
  int64_t integer = 0;                 // kBool, kInt
  double real = 0;                     // kFloat
};

enum class BufferKind : uint8_t { kInput, kConstant, kState, kOutput, kArena };

struct Buffer {
  BufferKind kind = BufferKind::kArena;
  uint32_t index = 0;               // of the input, constant, state or output
  SizeRegister bytes = 0;           // kArena, kOutput: how many it takes
  uint32_t first = 0, last = 0;     // kArena: instructions that write it first and use it last
  int32_t reuses = -1;              // kArena: takes over the place of this arena buffer, which ends at `first` (same bytes)
};

// A constant's form in memory. Raw forms point into the file's mapping; packed ones are made once and shared.
struct ConstantDecl {
  std::string name;
  std::string key;                  // identity of the content in the weight store
  DType dtype = DType::kF32;
  std::vector<int64_t> dims, strides;  // elements
  int64_t offset_bytes = 0;
  uint32_t source = 0;              // index of the blob that the compiler hands over beside the artifact
  enum class Form : uint8_t { kRaw, kContiguous, kGemmPanels } form = Form::kRaw;
  // kGemmPanels: B[batch][k][n], element (i, k, n) at batch_stride * i + k_stride * k + n_stride * n of the source
  int64_t batch = 1, k = 0, n = 0, batch_stride = 0, k_stride = 0, n_stride = 0;
  int32_t columns = 0;              // panel width
  std::vector<uint8_t> inline_bytes;  // small constants that the compiler made (source is unused); kRaw, row-major
};

struct StateDecl {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  int32_t initial_source = -1;      // blob index or -1: zeros
};

enum class Opcode : uint8_t {
  kLaunch,  // run a kernel program
  kCopy,    // buffers[0] <- buffers[1], `bytes`; used for write-backs
};

struct Instruction {
  Opcode opcode = Opcode::kLaunch;
  uint32_t program = 0;                  // kLaunch
  std::vector<uint32_t> buffers;         // in parameter order
  std::vector<SizeRegister> sizes;       // in slot order (hook and nest slots); template slots the runtime fills itself are
                                         // listed in template_abi.h and have the register of constant 0 here
  SizeRegister bytes = 0;                // kCopy
  // kLaunch of a nest: estimated scalar operations for one outer point, for choosing chunks; never changes results
  SizeRegister cost = 0;
  std::vector<std::string> origins;      // operators (with module paths) that this instruction computes; for messages
};

struct CheckSite {                       // what a failure word means
  std::string op, what;                  // "aten.embedding", "index out of range" / "integer division by zero"
};

struct Image {
  std::vector<uint8_t> bytes;            // ELF, see device/cpu/image_loader.hpp
  std::vector<uint32_t> programs;        // it holds the kernels of these programs, symbol = programs[i].name
};

struct Artifact {
  std::string graph_name;
  target::Isa isa = target::Isa::kX86V2;
  std::vector<InputDecl> inputs;
  std::vector<OutputDecl> outputs;
  std::vector<StateDecl> states;
  std::vector<ConstantDecl> constants;
  std::vector<SizeOp> size_ops;
  // Registers of the first `symbol_count` symbols: the key of the placement memo. Names for reports.
  std::vector<std::pair<std::string, SizeRegister>> symbols;
  std::vector<SizeGuard> required;       // else the call is an error
  std::vector<SizeGuard> guards;         // else the call is a miss
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  std::vector<KernelProgram> programs;
  std::vector<CheckSite> sites;
  std::vector<Image> images;             // empty until kernels are compiled
  std::string listing;                   // printed plan, for `explain`
};

// FlatBuffers form (artifact.fbs). read() verifies everything an executor relies on: indices in range, operands before
// uses, axes in range, known enumerators; malformed bytes give DATA_LOSS, never a crash.
std::vector<uint8_t> write(const Artifact& artifact);
Result<Artifact> read(std::span<const uint8_t> bytes);

// What read() checks after the format, for artifacts that come by another way. DATA_LOSS names the first thing that
// is wrong.
Status verify(const Artifact& artifact);
// One program alone: types, operands, axes, slots, failure sites below `site_count`.
Status verify(const KernelProgram& program, size_t site_count);

// Human-readable text of a program (one kernel), for goldens and explain.
std::string print(const KernelProgram& program);

}  // namespace tenon::artifact
