#include "artifact/artifact.hpp"
#include "support/format.hpp"

namespace tenon::artifact {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 47;

Status bad(std::string_view what) { return data_loss(concat("artifact: ", what)); }
Status bad(std::string_view what, size_t index, std::string_view problem) {
  return data_loss(concat("artifact: ", what, " ", index, " ", problem));
}
bool known(DType dtype) { return size_bytes(dtype) != 0; }

// Bytes of a row-major tensor, -1 when a dim is negative or the product is absurd.
int64_t tensor_bytes(const std::vector<int64_t>& dims, DType dtype) {
  int64_t bytes = int64_t(size_bytes(dtype));
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return -1;
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > kMaxBytes) {
      return -1;
    }
  }
  return empty ? 0 : bytes;
}

Status verify_sizes(const Artifact& a) {
  for (size_t i = 0; i < a.size_ops.size(); ++i) {
    const SizeOp& op = a.size_ops[i];
    bool ok = false;
    switch (op.kind) {
      case SizeOpKind::kConstant:
      case SizeOpKind::kFact: ok = true; break;
      case SizeOpKind::kInputDim:
      case SizeOpKind::kInputStride: ok = op.a < a.inputs.size() && int64_t(op.b) < a.inputs[op.a].rank; break;
      case SizeOpKind::kInputScalar: ok = op.a < a.inputs.size() && a.inputs[op.a].scalar; break;
      case SizeOpKind::kAdd:
      case SizeOpKind::kMul:
      case SizeOpKind::kFloorDiv:
      case SizeOpKind::kMod:
      case SizeOpKind::kMin:
      case SizeOpKind::kMax: ok = op.a < i && op.b < i; break;
    }
    if (!ok) return bad("size operation", i, "is of unknown kind or has operands out of range");
  }
  const size_t registers = a.size_ops.size();
  for (const auto& [name, where] : a.symbols) {
    if (where >= registers) return bad(concat("symbol ", name, " has no register"));
  }
  for (const std::vector<SizeGuard>* list : {&a.required, &a.guards}) {
    for (size_t i = 0; i < list->size(); ++i) {
      const SizeGuard& g = (*list)[i];
      if (g.relation > GuardRelation::kLe || g.a >= registers || g.b >= registers) return bad("guard", i, "is malformed");
    }
  }
  return {};
}

Status verify_declarations(const Artifact& a) {
  const size_t registers = a.size_ops.size();
  const auto all_below = [](const auto& list, size_t bound) {
    for (auto value : list) {
      if (value >= bound) return false;
    }
    return true;
  };
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const InputDecl& input = a.inputs[i];
    if (!known(input.dtype) || input.rank < 0 || input.rank > 64) return bad("input", i, "has an unknown type or rank");
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const OutputDecl& o = a.outputs[i];
    if (o.kind > OutputDecl::Kind::kFloat || !known(o.dtype)) return bad("output", i, "has an unknown kind or type");
    if (o.dims.size() > 64 || !all_below(o.dims, registers) || !all_below(o.strides, registers)) {
      return bad("output", i, "has a size out of range");
    }
    if (o.kind != OutputDecl::Kind::kBuffer) continue;
    if (o.alias_input >= 0) {
      if (size_t(o.alias_input) >= a.inputs.size() || o.strides.size() != o.dims.size() || o.offset >= registers) {
        return bad("output", i, "is no view of an input");
      }
    } else if (o.buffer >= a.buffers.size()) {
      return bad("output", i, "has no buffer");
    }
  }
  for (size_t i = 0; i < a.states.size(); ++i) {
    const StateDecl& s = a.states[i];
    if (!known(s.dtype) || s.dims.size() > 64 || tensor_bytes(s.dims, s.dtype) < 0 || s.initial_source < -1) {
      return bad("state", i, "is malformed");
    }
  }
  for (size_t i = 0; i < a.constants.size(); ++i) {
    const ConstantDecl& c = a.constants[i];
    if (!known(c.dtype) || c.form > ConstantDecl::Form::kGemmPanels) return bad("constant", i, "has an unknown type or form");
    const int64_t bytes = tensor_bytes(c.dims, c.dtype);
    if (bytes < 0 || c.dims.size() > 64 || c.strides.size() != c.dims.size() || c.offset_bytes < 0 ||
        c.offset_bytes > kMaxBytes) {
      return bad("constant", i, "has a size out of range");
    }
    // Where the last element lies must be a number; that it lies in the blob is checked when the blob is bound.
    int64_t reach = 0;
    for (size_t d = 0; d < c.dims.size() && bytes > 0; ++d) {
      int64_t step;
      if (c.strides[d] < 0 || __builtin_mul_overflow(c.dims[d] - 1, c.strides[d], &step) || step > kMaxBytes ||
          (reach += step) > kMaxBytes) {
        return bad("constant", i, "has a stride out of range");
      }
    }
    if (!c.inline_bytes.empty() &&
        (c.form != ConstantDecl::Form::kRaw || int64_t(c.inline_bytes.size()) != bytes || c.offset_bytes != 0)) {
      return bad("constant", i, "has bytes of another size");
    }
    if (c.form == ConstantDecl::Form::kGemmPanels) {
      const int64_t columns = c.columns;
      if (c.dtype != DType::kF32 || c.batch < 1 || c.k < 0 || c.n < 0 || columns < 1 || columns > 1024 ||
          c.batch_stride < 0 || c.k_stride < 0 || c.n_stride < 0 || c.n > kMaxBytes ||
          tensor_bytes({c.batch, c.k, (c.n + columns - 1) / columns, columns}, c.dtype) < 0) {
        return bad("constant", i, "has panels of an impossible size");
      }
      reach = 0;
      for (auto [extent, stride] : {std::pair{c.batch, c.batch_stride}, {c.k, c.k_stride}, {c.n, c.n_stride}}) {
        int64_t step = 0;
        if (extent > 0 && (__builtin_mul_overflow(extent - 1, stride, &step) || step > kMaxBytes)) {
          return bad("constant", i, "has a stride out of range");
        }
        reach += step;
      }
      // The panels are made from the source region that dims and strides span.
      if (c.k > 0 && c.n > 0 && reach > kMaxBytes) return bad("constant", i, "has a stride out of range");
    }
  }
  return {};
}

Status verify_buffers(const Artifact& a) {
  for (size_t i = 0; i < a.buffers.size(); ++i) {
    const Buffer& b = a.buffers[i];
    bool ok = false;
    switch (b.kind) {
      case BufferKind::kInput: ok = b.index < a.inputs.size(); break;
      case BufferKind::kConstant: ok = b.index < a.constants.size(); break;
      case BufferKind::kState: ok = b.index < a.states.size(); break;
      case BufferKind::kOutput: ok = b.index < a.outputs.size() && b.bytes < a.size_ops.size(); break;
      case BufferKind::kArena:
        ok = b.bytes < a.size_ops.size() && b.first <= b.last && b.last < a.instructions.size();
        break;
    }
    if (!ok) return bad("buffer", i, "is of unknown kind or refers to what is not there");
    if (b.reuses < -1 || (b.reuses >= 0 && b.kind != BufferKind::kArena)) return bad("buffer", i, "reuses wrongly");
    if (b.reuses >= 0) {
      if (size_t(b.reuses) >= a.buffers.size()) return bad("buffer", i, "reuses what is not there");
      const Buffer& from = a.buffers[b.reuses];
      // Strictly later starts, so that chains end.
      if (from.kind != BufferKind::kArena || from.last != b.first || from.first >= b.first || from.bytes != b.bytes) {
        return bad("buffer", i, "reuses a place that is not free");
      }
    }
  }
  return {};
}

Status verify_instructions(const Artifact& a) {
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    const Instruction& in = a.instructions[i];
    for (uint32_t index : in.buffers) {
      if (index >= a.buffers.size()) return bad("instruction", i, "has a buffer out of range");
      const Buffer& b = a.buffers[index];
      if (b.kind == BufferKind::kArena && (i < b.first || i > b.last)) {
        return bad("instruction", i, "uses a buffer outside its life");
      }
    }
    for (SizeRegister size : in.sizes) {
      if (size >= a.size_ops.size()) return bad("instruction", i, "has a size out of range");
    }
    if (in.opcode == Opcode::kCopy) {
      if (in.buffers.size() != 2 || in.bytes >= a.size_ops.size()) return bad("instruction", i, "copies wrongly");
      if (a.buffers[in.buffers[0]].kind == BufferKind::kConstant) return bad("instruction", i, "writes a constant");
      continue;
    }
    if (in.opcode != Opcode::kLaunch) return bad("instruction", i, "is of unknown kind");
    if (in.program >= a.programs.size()) return bad("instruction", i, "has no program");
    const KernelProgram& p = a.programs[in.program];
    size_t parameters = 0;
    while (parameters < p.parameters.size() && p.parameters[parameters].kind == ParameterKind::kBuffer) ++parameters;
    if (in.buffers.size() != parameters || in.sizes.size() != p.size_count || in.cost >= a.size_ops.size()) {
      return bad("instruction", i, "does not fit its program");
    }
    for (size_t k = 0; k < parameters; ++k) {
      if (p.parameters[k].written && a.buffers[in.buffers[k]].kind == BufferKind::kConstant) {
        return bad("instruction", i, "writes a constant");
      }
    }
  }
  return {};
}

}  // namespace

Status verify(const Artifact& a) {
  if (a.isa < target::Isa::kX86V2 || a.isa > target::Isa::kNeon) return bad("unknown instruction set");
  TENON_RETURN_IF_ERROR(verify_sizes(a));
  TENON_RETURN_IF_ERROR(verify_declarations(a));
  TENON_RETURN_IF_ERROR(verify_buffers(a));
  for (const KernelProgram& program : a.programs) TENON_RETURN_IF_ERROR(verify(program, a.sites.size()));
  TENON_RETURN_IF_ERROR(verify_instructions(a));
  for (size_t i = 0; i < a.images.size(); ++i) {
    for (uint32_t program : a.images[i].programs) {
      if (program >= a.programs.size()) return bad("image", i, "has a program out of range");
    }
  }
  return {};
}

}  // namespace tenon::artifact
