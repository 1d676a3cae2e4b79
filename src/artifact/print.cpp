// Text of one kernel: parameters are %0, %1, ..., values v0, v1, ..., axes a0, a1, ..., sizes s0, s1, ..., row values
// r0, ...
#include <bit>

#include "artifact/artifact.hpp"
#include "support/format.hpp"

namespace tenon::artifact {

namespace {

std::string text(const SizeValue& value) {
  return value.is_constant() ? concat(value.constant) : concat("s", value.slot);
}

std::string text(const Address& address) {
  std::string out;
  for (const AddressTerm& term : address.terms) {
    if (!out.empty()) out += " + ";
    if (!term.coefficient.is(1)) append(out, text(term.coefficient) + "*");
    append(out, concat("a", term.axis));
  }
  if (address.dynamic >= 0) append(out, concat(out.empty() ? "v" : " + v", address.dynamic));
  if (!address.base.is(0) || out.empty()) append(out, concat(out.empty() ? "" : " + ", text(address.base)));
  return out;
}

std::string element(int32_t parameter, const Address& address) {
  return concat("%", parameter, "[", text(address), "]");
}

std::string constant(const BodyOp& op) {
  switch (op.dtype) {
    case DType::kF32: return concat(std::bit_cast<float>(uint32_t(op.bits)));
    case DType::kF64: return concat(std::bit_cast<double>(op.bits));
    case DType::kBool: return op.bits != 0 ? "true" : "false";
    case DType::kU64: return concat(uint64_t(op.bits));
    case DType::kF16:
    case DType::kBF16: return concat("bits ", op.bits);
    default: return concat(op.bits);
  }
}

std::string line(const BodyOp& op, const std::vector<BodyOp>& body) {
  std::string out = name(op.op);
  switch (op.op) {
    case ScalarOp::kConstant: append(out, concat(" ", constant(op))); break;
    case ScalarOp::kSize: append(out, concat(" ", text(op.size))); break;
    case ScalarOp::kIndex: append(out, concat(" a", op.bits)); break;
    case ScalarOp::kRow: append(out, concat(" r", op.bits)); break;
    case ScalarOp::kLoad:
    case ScalarOp::kMaskedLoad: append(out, concat(" ", element(op.parameter, op.address))); break;
    default: break;
  }
  const int32_t operands[] = {op.a, op.b, op.c};
  for (int i = 0; i < operand_count(op.op); ++i) {
    const bool first = i == 0 && op.op != ScalarOp::kMaskedLoad;
    append(out, concat(first ? " v" : ", v", operands[i]));
  }
  if (op.a >= 0 && size_t(op.a) < body.size() && can_fail(op.op, body[op.a].dtype)) append(out, concat(" site ", op.bits));
  append(out, concat(" : ", name(op.dtype)));
  return out;
}

void append_body(std::string& out, const std::vector<BodyOp>& body) {
  for (size_t i = 0; i < body.size(); ++i) append(out, concat("    v", i, " = ", line(body[i], body), "\n"));
}

void append_stores(std::string& out, const std::vector<Store>& stores) {
  for (const Store& store : stores) {
    append(out, concat("    store ", element(store.parameter, store.address), ", v", store.value, "\n"));
  }
}

const char* stage_kind(const Stage& stage) {
  if (stage.axes.empty()) return "scalar";
  if (stage.axes.back().reduced) return "reduce";
  return stage.axes.front().reduced ? "column" : "map";
}

void append_stage(std::string& out, const Stage& stage, size_t outer) {
  append(out, concat("  ", stage_kind(stage), " ["));
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const StageAxis& axis = stage.axes[i];
    append(out, concat(i == 0 ? "" : ", ", "a", outer + i, axis.reduced ? " over " : ": ", text(axis.extent)));
    if (axis.block > 0) append(out, concat(" part a", axis.outer_axis, " of ", axis.block));
  }
  out += "] {\n";
  append_body(out, stage.body);
  append_stores(out, stage.stores);
  for (const Reduction& r : stage.reductions) {
    const std::string to = r.row >= 0 ? concat("r", r.row) : element(r.parameter, r.address);
    append(out, concat("    ", to, " = ", name(r.combiner), " v", r.value, " : ", name(r.dtype), "\n"));
  }
  for (const RowValue& row : stage.rows) append(out, concat("    r", row.row, " = v", row.value, "\n"));
  out += "  }\n";
}

void append_hook(std::string& out, const char* title, const Hook& hook) {
  if (!hook.present()) return;
  append(out, concat("  ", title, " {\n"));
  append_body(out, hook.body);
  append_stores(out, hook.stores);
  if (hook.yield >= 0) append(out, concat("    yield v", hook.yield, "\n"));
  out += "  }\n";
}

}  // namespace

std::string print(const KernelProgram& program) {
  std::string out = program.kind == ProgramKind::kNest ? "nest" : program.kind == ProgramKind::kGemm ? "gemm" : "attention";
  append(out, concat(" @", program.name, "("));
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Parameter& p = program.parameters[i];
    append(out, concat(i == 0 ? "%" : ", %", i, ": ", name(p.dtype)));
    if (p.kind == ParameterKind::kLocal) append(out, concat(" local[", text(p.local_extent), "]"));
    if (p.written && p.kind == ParameterKind::kBuffer) out += " out";
  }
  append(out, concat(") sizes ", program.size_count));
  for (size_t i = 0; i < program.row_types.size(); ++i) {
    append(out, concat(i == 0 ? " rows r" : ", r", i, ": ", name(program.row_types[i])));
  }
  if (program.packed_b) out += " packed_b";
  if (program.kind == ProgramKind::kNest) {
    out += " [";
    for (size_t i = 0; i < program.outer.size(); ++i) {
      append(out, concat(i == 0 ? "a" : ", a", i, ": ", text(program.outer[i])));
    }
    out += "]";
  }
  out += " {\n";
  for (const Stage& stage : program.stages) append_stage(out, stage, program.outer.size());
  append_hook(out, "init (a0: batch, a1: m, a2: n)", program.init);
  append_hook(out, "prologue_a (a0: batch, a1: m, a2: k)", program.prologue_a);
  append_hook(out, "epilogue (a0: batch, a1: m, a2: n)", program.epilogue);
  append_hook(out, "score (a0: batch, a1: head, a2: query, a3: key)", program.score);
  append_hook(out, "store (a0: batch, a1: head, a2: query, a3: depth)", program.store);
  out += "}\n";
  return out;
}

}  // namespace tenon::artifact
