#include "runtime/call_frame.hpp"

#include <algorithm>
#include <cstring>

#include "artifact/local_scratch.hpp"
#include "codegen/templates/template_abi.h"
#include "support/format.hpp"
#include "target/attention_geometry.hpp"
#include "target/gemm_geometry.hpp"

namespace tenon::runtime {

using artifact::BufferKind;
using artifact::Instruction;
using artifact::KernelProgram;
using artifact::Opcode;
using artifact::ProgramKind;

namespace {

// What a core does in a nanosecond, about.
constexpr double kNativeOps = 4, kInterpretedOps = 1, kMatrixFlops = 50;
constexpr int64_t kMaxArenaBytes = int64_t{1} << 46;

Status too_big(const Instruction& instruction) {
  return out_of_range("a kernel's index space leaves the range of 64-bit integers")
      .with("operator", instruction.origins.empty() ? "" : instruction.origins.front());
}

}  // namespace

void CallFrame::lay_out() {
  const artifact::Artifact& a = executable_->artifact();
  steps_.assign(a.instructions.size(), {});
  buffer_index_.clear();
  size_t sizes = 0;
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    const Instruction& instruction = a.instructions[i];
    Step& step = steps_[i];
    step.opcode = instruction.opcode;
    step.first_buffer = uint32_t(buffer_index_.size());
    step.buffer_count = uint32_t(instruction.buffers.size());
    buffer_index_.insert(buffer_index_.end(), instruction.buffers.begin(), instruction.buffers.end());
    step.first_size = uint32_t(sizes);
    sizes += instruction.sizes.size();
    if (instruction.opcode == Opcode::kLaunch) {
      step.launch.slot = &executable_->slot(instruction.program);
      step.launch.is_template = a.programs[instruction.program].kind != ProgramKind::kNest;
    }
  }
  sizes_.assign(sizes, 0);
  buffer_places_.assign(buffer_index_.size(), nullptr);
  places_.assign(a.buffers.size(), nullptr);
  arena_sizes_.assign(executable_->placements().size(), 0);
  registers_.assign(a.size_ops.size(), 0);
  for (Step& step : steps_) {
    step.launch.buffers = buffer_places_.data() + step.first_buffer;
    step.launch.sizes = sizes_.data() + step.first_size;
  }
}

Status CallFrame::prepare(const std::shared_ptr<const Executable>& executable, std::span<const int64_t> registers,
                          uint32_t threads) {
  if (executable_ != executable) {
    executable_ = executable;
    lay_out();
  }
  threads_ = std::max(threads, 1u);
  if (failures_.size() < threads_) failures_.resize(threads_);
  std::copy(registers.begin(), registers.end(), registers_.begin());

  const artifact::Artifact& a = executable_->artifact();
  for (size_t i = 0; i < a.buffers.size(); ++i) {
    const int32_t index = executable_->arena_index(uint32_t(i));
    if (index < 0) continue;
    const int64_t bytes = registers_[a.buffers[i].bytes];
    if (bytes < 0 || bytes > kMaxArenaBytes) return out_of_range(concat("a buffer of ", bytes, " bytes"));
    arena_sizes_[size_t(index)] = bytes;
  }
  placement_ = executable_->placements().get(arena_sizes_);
  arena_bytes_ = whole_lines(size_t(placement_->total_bytes));

  size_t scratch = 1;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    const Instruction& instruction = a.instructions[i];
    if (step.opcode == Opcode::kCopy) {
      step.copy_bytes = size_t(std::max<int64_t>(registers_[instruction.bytes], 0));
      continue;
    }
    long* sizes = sizes_.data() + step.first_size;
    for (size_t k = 0; k < instruction.sizes.size(); ++k) sizes[k] = registers_[instruction.sizes[k]];
    size_t matrix_scratch = 0;
    TENON_RETURN_IF_ERROR(size_launch(instruction, step, matrix_scratch));
    if (step.launch.tiles == 0) continue;
    const KernelProgram& program = a.programs[instruction.program];
    scratch = std::max(scratch, matrix_scratch);
    if (step.launch.slot->interpreted) scratch = std::max(scratch, step.launch.slot->interpreted->scratch_bytes(sizes));
    if (program.kind == ProgramKind::kNest) scratch = std::max(scratch, artifact::local_scratch(program, sizes));
  }
  scratch_stride_ = whole_lines(scratch);
  return {};
}

Status CallFrame::size_launch(const Instruction& instruction, Step& step, size_t& scratch) {
  const KernelProgram& program = executable_->artifact().programs[instruction.program];
  long* sizes = sizes_.data() + step.first_size;
  Launch& launch = step.launch;
  if (program.kind == ProgramKind::kNest) {
    long tiles = 1;
    for (const artifact::SizeValue& extent : program.outer) {
      if (__builtin_mul_overflow(tiles, std::max(artifact::resolve(extent, sizes), 0L), &tiles))
        return too_big(instruction);
    }
    launch.tiles = tiles;
    const double ops = double(std::max<int64_t>(registers_[instruction.cost], 1)) * double(tiles);
    launch.native_ns = ops / kNativeOps;
    launch.interpreted_ns = ops / kInterpretedOps;
    return {};
  }
  double flops = 0;
  if (program.kind == ProgramKind::kGemm) {
    target::GemmShape shape;
    shape.m = sizes[TENON_GEMM_M];
    shape.n = sizes[TENON_GEMM_N];
    shape.k = sizes[TENON_GEMM_K];
    shape.batch = sizes[TENON_GEMM_BATCH];
    shape.b_is_panels = program.packed_b;
    shape.packs_a = program.prologue_a.present() || sizes[TENON_GEMM_A_K_STRIDE] != 1;
    const target::GemmGeometry geometry = target::choose_gemm_geometry(executable_->target(), shape, int32_t(threads_));
    sizes[TENON_GEMM_ROWS_PER_BLOCK] = geometry.rows_per_block;
    sizes[TENON_GEMM_PANELS_PER_BLOCK] = geometry.panels_per_block;
    launch.tiles = geometry.tiles;
    scratch = size_t(geometry.scratch_bytes);
    flops = 2.0 * double(shape.m) * double(shape.n) * double(shape.k) * double(shape.batch);
  } else {
    target::AttentionShape shape;
    shape.batch = sizes[TENON_ATTENTION_BATCH];
    shape.heads = sizes[TENON_ATTENTION_HEADS];
    shape.queries = sizes[TENON_ATTENTION_QUERIES];
    shape.keys = sizes[TENON_ATTENTION_KEYS];
    shape.depth = sizes[TENON_ATTENTION_DEPTH];
    shape.v_depth = sizes[TENON_ATTENTION_V_DEPTH];
    const target::AttentionGeometry geometry =
        target::choose_attention_geometry(executable_->target(), shape, int32_t(threads_));
    sizes[TENON_ATTENTION_ROWS_PER_BLOCK] = geometry.rows_per_block;
    launch.tiles = geometry.tiles;
    scratch = size_t(geometry.scratch_bytes);
    flops = 2.0 * double(shape.batch) * double(shape.heads) * double(shape.queries) * double(shape.keys) *
            double(shape.depth + shape.v_depth);
  }
  launch.native_ns = launch.interpreted_ns = flops / kMatrixFlops + 1;
  return {};
}

Status CallFrame::reserve() { return arena_.reserve(required_bytes()) ? Status() : Status::out_of_memory(); }

void CallFrame::point(void* const* inputs, void* const* outputs, void* const* states) {
  const artifact::Artifact& a = executable_->artifact();
  for (size_t i = 0; i < a.buffers.size(); ++i) {
    const artifact::Buffer& buffer = a.buffers[i];
    switch (buffer.kind) {
      case BufferKind::kInput:
        places_[i] = inputs[buffer.index];
        break;
      case BufferKind::kConstant:
        places_[i] = const_cast<void*>(executable_->constant(buffer.index));
        break;
      case BufferKind::kState:
        places_[i] = states[buffer.index];
        break;
      case BufferKind::kOutput:
        places_[i] = outputs[buffer.index];
        break;
      case BufferKind::kArena:
        places_[i] = arena_.data() + placement_->offsets[size_t(executable_->arena_index(uint32_t(i)))];
        break;
    }
  }
  for (size_t i = 0; i < buffer_index_.size(); ++i) buffer_places_[i] = places_[buffer_index_[i]];
}

Crew CallFrame::crew(device::Executor& executor, const std::atomic<bool>& cancelled) {
  return {&executor, threads_, &cancelled, arena_.data() + arena_bytes_, scratch_stride_, failures_.data()};
}

Status CallFrame::run_all(device::Executor& executor, const std::atomic<bool>& cancelled) {
  Cursor cursor;
  return std::move(run(executor, cancelled, cursor, nullptr, 0)).status();
}

Result<bool> CallFrame::run(device::Executor& executor, const std::atomic<bool>& cancelled, Cursor& cursor,
                            const Clock* clock, int64_t deadline_ns) {
  const Crew crew = this->crew(executor, cancelled);
  const std::vector<Instruction>& instructions = executable_->artifact().instructions;
  for (; cursor.instruction < steps_.size(); ++cursor.instruction, cursor.tile = 0) {
    const Step& step = steps_[cursor.instruction];
    if (step.opcode == Opcode::kCopy) {
      void* to = buffer_places_[step.first_buffer];
      const void* from = buffer_places_[step.first_buffer + 1];
      if (to != from && step.copy_bytes > 0) std::memmove(to, from, step.copy_bytes);
    } else {
      const Launch& launch = step.launch;
      while (cursor.tile < launch.tiles) {
        long end = launch.tiles;
        if (clock != nullptr) {
          // About 50 us of work a thread between two looks at the clock.
          const double tiles = double(launch.tiles) * 50'000.0 * threads_ / std::max(launch.work_ns(), 1.0);
          if (tiles < double(launch.tiles - cursor.tile)) end = cursor.tile + std::max(1L, long(tiles));
        }
        long failure[3];
        if (!run_tiles(launch, cursor.tile, end, crew, failure)) {
          return failure_status(instructions[cursor.instruction], failure);
        }
        if (cancelled.load(std::memory_order_relaxed)) return Status(Code::kCancelled, "the call was cancelled");
        cursor.tile = end;
        if (clock != nullptr && end < launch.tiles && clock->now_ns(clock->user) >= deadline_ns) return false;
      }
    }
    if (clock != nullptr && cursor.instruction + 1 < steps_.size() && clock->now_ns(clock->user) >= deadline_ns) {
      ++cursor.instruction;
      cursor.tile = 0;
      return false;
    }
  }
  return true;
}

Status CallFrame::failure_status(const Instruction& instruction, const long* failure) const {
  const artifact::Artifact& a = executable_->artifact();
  const size_t site = size_t(failure[0] - 1);
  std::string op = instruction.origins.empty() ? "a kernel" : instruction.origins.front(), what = "a check failed";
  if (site < a.sites.size()) {
    op = a.sites[site].op;
    what = a.sites[site].what;
  }
  if (what.find("division") != std::string::npos) {
    return invalid_argument(concat(op, ": ", what)).with("operator", op).with("found", concat(failure[1]));
  }
  return out_of_range(concat(op, ": ", what, ": index ", failure[1], " for a size of ", failure[2]))
      .with("operator", op)
      .with("expected", concat("an index of a dim of size ", failure[2]))
      .with("found", concat(failure[1]));
}

}  // namespace tenon::runtime
