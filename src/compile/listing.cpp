#include "compile/listing.hpp"

#include "support/format.hpp"

namespace tenon::compile {

using artifact::Artifact;
using artifact::BufferKind;
using artifact::SizeOp;
using artifact::SizeOpKind;

std::vector<std::string> register_texts(const Artifact& artifact) {
  std::vector<std::string> texts;
  std::vector<bool> compound;  // needs parentheses inside a product
  for (size_t r = 0; r < artifact.size_ops.size(); ++r) {
    const SizeOp& op = artifact.size_ops[r];
    std::string text;
    bool sum = false;
    auto operand = [&](uint32_t i, bool inside_product) {
      return inside_product && compound[i] ? concat("(", texts[i], ")") : texts[i];
    };
    switch (op.kind) {
      case SizeOpKind::kConstant: text = concat(op.value); break;
      case SizeOpKind::kInputDim: text = concat("dim(%", artifact.inputs[op.a].name, ", ", op.b, ")"); break;
      case SizeOpKind::kInputStride: text = concat("stride(%", artifact.inputs[op.a].name, ", ", op.b, ")"); break;
      case SizeOpKind::kInputScalar: text = concat("value(", op.a, ")"); break;
      case SizeOpKind::kFact: text = concat("fact(", op.a, ")"); break;
      case SizeOpKind::kAdd:
        text = concat(operand(op.a, false), " + ", operand(op.b, false));
        sum = true;
        break;
      case SizeOpKind::kMul: text = concat(operand(op.a, true), "*", operand(op.b, true)); break;
      case SizeOpKind::kFloorDiv: text = concat("floordiv(", texts[op.a], ", ", texts[op.b], ")"); break;
      case SizeOpKind::kMod: text = concat("mod(", texts[op.a], ", ", texts[op.b], ")"); break;
      case SizeOpKind::kMin: text = concat("min(", texts[op.a], ", ", texts[op.b], ")"); break;
      case SizeOpKind::kMax: text = concat("max(", texts[op.a], ", ", texts[op.b], ")"); break;
    }
    for (const auto& [name, where] : artifact.symbols) {
      if (where == r) text = name;
    }
    texts.push_back(std::move(text));
    compound.push_back(sum);
  }
  return texts;
}

namespace {

std::string buffer_name(const Artifact& artifact, uint32_t index) {
  const artifact::Buffer& buffer = artifact.buffers[index];
  switch (buffer.kind) {
    case BufferKind::kInput: return concat("%", artifact.inputs[buffer.index].name);
    case BufferKind::kConstant: {
      const artifact::ConstantDecl& constant = artifact.constants[buffer.index];
      return concat("\"", constant.name, "\"", constant.form == artifact::ConstantDecl::Form::kGemmPanels ? ".packed" : "");
    }
    case BufferKind::kState: return concat("state \"", artifact.states[buffer.index].name, "\"");
    case BufferKind::kOutput: return concat("out:", artifact.outputs[buffer.index].name);
    case BufferKind::kArena: return concat("%", index);
  }
  return "?";
}

}  // namespace

std::string print_plan(const Artifact& artifact, const std::vector<std::string>& texts) {
  auto size = [&](uint32_t r) { return r < texts.size() ? texts[r] : concat("r", r); };
  std::string out = concat("plan @", artifact.graph_name, " for ", target::name(artifact.isa));
  for (size_t i = 0; i < artifact.symbols.size(); ++i) append(out, concat(i == 0 ? " where " : ", ", artifact.symbols[i].first));
  append(out, " {\n");
  for (uint32_t b = 0; b < artifact.buffers.size(); ++b) {
    const artifact::Buffer& buffer = artifact.buffers[b];
    if (buffer.kind != BufferKind::kArena) continue;
    append(out, concat("  buffer %", b, ": bytes ", size(buffer.bytes), " live [", buffer.first, ", ", buffer.last, "]"));
    if (buffer.reuses >= 0) append(out, concat(" reuses %", buffer.reuses));
    append(out, "\n");
  }
  append(out, "  run {\n");
  for (size_t i = 0; i < artifact.instructions.size(); ++i) {
    const artifact::Instruction& instruction = artifact.instructions[i];
    if (instruction.opcode == artifact::Opcode::kCopy) {
      append(out, concat("    ", i, ": write ", buffer_name(artifact, instruction.buffers[0]), " = ", buffer_name(artifact, instruction.buffers[1]), "\n"));
      continue;
    }
    const artifact::KernelProgram& program = artifact.programs[instruction.program];
    constexpr const char* kKinds[] = {"nest", "matmul", "attention"};
    append(out, concat("    ", i, ": ", kKinds[size_t(program.kind)], " @", program.name, "("));
    std::string written;
    bool first = true;
    for (size_t p = 0; p < instruction.buffers.size(); ++p) {
      const std::string name = buffer_name(artifact, instruction.buffers[p]);
      if (program.parameters[p].written) {
        append(written, concat(written.empty() ? "" : ", ", name));
      } else {
        append(out, concat(first ? "" : ", ", name));
        first = false;
      }
    }
    append(out, concat(" -> ", written, ")"));
    if (!instruction.origins.empty()) append(out, concat("  // ", instruction.origins[0]));
    append(out, "\n");
  }
  append(out, "  }\n}\n");
  auto relation = [](artifact::GuardRelation r) {
    switch (r) {
      case artifact::GuardRelation::kEq: return " == ";
      case artifact::GuardRelation::kNe: return " != ";
      case artifact::GuardRelation::kLt: return " < ";
      case artifact::GuardRelation::kLe: return " <= ";
    }
    return " ? ";
  };
  for (const auto& [title, list] : {std::pair("requires", &artifact.required), std::pair("guards", &artifact.guards)}) {
    append(out, concat(title, " {\n"));
    for (const artifact::SizeGuard& guard : *list) {
      append(out, concat("  ", size(guard.a), relation(guard.relation), size(guard.b), "  // ", guard.text, ", ", guard.origin, "\n"));
    }
    append(out, "}\n");
  }
  size_t counts[3] = {0, 0, 0};
  for (const artifact::Instruction& instruction : artifact.instructions) {
    if (instruction.opcode == artifact::Opcode::kLaunch) ++counts[size_t(artifact.programs[instruction.program].kind)];
  }
  append(out, concat("// ", artifact.instructions.size(), " instructions: ", counts[1], " matrix products, ", counts[2], " attentions, ", counts[0],
                     " fused loops; ", artifact.programs.size(), " different kernels\n"));
  for (const artifact::KernelProgram& program : artifact.programs) append(out, artifact::print(program));
  return out;
}

}  // namespace tenon::compile
