// Emits scalar expressions into the body of a stage or hook.
#pragma once

#include <unordered_map>

#include "artifact/kernel_program.hpp"
#include "schedule/plan.hpp"

namespace tenon::schedule {

// Size slots and buffer parameters of one kernel, shared by its stages.
class KernelFrame {
 public:
  explicit KernelFrame(Module& module) : module_(module) {}

  Module& module() { return module_; }
  symbolic::Pool& pool() { return module_.scalars.pool(); }
  // Constant, or a slot (the same expression has one slot).
  artifact::SizeValue size(Expr e);
  int32_t buffer_parameter(BufferId buffer);
  void mark_written(BufferId buffer);
  // Slots taken before hooks are emitted (a template's own sizes).
  void reserve_sizes(std::vector<Expr> sizes);
  void reserve_buffers(std::vector<BufferId> buffers);

  const std::vector<Expr>& sizes() const { return sizes_; }
  const std::vector<BufferId>& buffers() const { return buffers_; }
  const std::vector<bool>& written() const { return written_; }

 private:
  Module& module_;
  std::vector<Expr> sizes_;
  std::unordered_map<uint32_t, int32_t> slots_;
  std::vector<BufferId> buffers_;
  std::vector<bool> written_;
  std::unordered_map<BufferId, int32_t> parameters_;
  size_t reserved_buffers_ = 0;
};

// What a load of a buffer that lives inside the kernel becomes.
struct LocalBuffer {
  int32_t parameter = -1;  // a local parameter (numbered after the buffer parameters at the end), or
  int32_t row = -1;        // a row slot
  Expr base;               // subtracted from the load's index: the outer point's position
};

class BodyEmitter {
 public:
  BodyEmitter(KernelFrame& frame, std::vector<symbolic::SymbolId> axes, const std::unordered_map<BufferId, LocalBuffer>* locals,
              std::vector<artifact::BodyOp>& body)
      : frame_(frame), axes_(std::move(axes)), locals_(locals), body_(body) {}

  int32_t emit(loop::ScalarId id);
  artifact::Address address(Expr offset);

 private:
  int32_t push(artifact::BodyOp op);
  int32_t emit_index(Expr e);  // an i64 operation with its value
  int32_t constant_index(int64_t value);
  bool mentions_axis_or_dynamic(Expr e);

  KernelFrame& frame_;
  std::vector<symbolic::SymbolId> axes_;
  const std::unordered_map<BufferId, LocalBuffer>* locals_;
  std::vector<artifact::BodyOp>& body_;
  std::unordered_map<uint32_t, int32_t> emitted_;   // by scalar
  std::unordered_map<uint32_t, int32_t> indices_;   // by expression
};

// Local parameters get this added until the number of buffer parameters is known; see renumber_locals.
inline constexpr int32_t kLocalParameterBase = 1 << 20;

}  // namespace tenon::schedule
