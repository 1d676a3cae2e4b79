#include "artifact/size_program.hpp"

#include "artifact/checked_arithmetic.hpp"

namespace tenon::artifact {
namespace {

const char* kind_name(SizeOpKind kind) {
  switch (kind) {
    case SizeOpKind::kConstant: return "constant";
    case SizeOpKind::kInputDim: return "input dim";
    case SizeOpKind::kInputStride: return "input stride";
    case SizeOpKind::kInputScalar: return "input scalar";
    case SizeOpKind::kFact: return "fact";
    case SizeOpKind::kAdd: return "add";
    case SizeOpKind::kMul: return "mul";
    case SizeOpKind::kFloorDiv: return "floordiv";
    case SizeOpKind::kMod: return "mod";
    case SizeOpKind::kMin: return "min";
    case SizeOpKind::kMax: return "max";
  }
  return "unknown";
}

std::string describe(size_t index, SizeOpKind kind, int64_t a, int64_t b) {
  std::string text = "size operation ";
  text += std::to_string(index);
  text += ", ";
  text += kind_name(kind);
  text += "(";
  text += std::to_string(a);
  text += ", ";
  text += std::to_string(b);
  text += ")";
  return text;
}

Status overflow(size_t index, SizeOpKind kind, int64_t a, int64_t b) {
  return out_of_range(describe(index, kind, a, b) + ", leaves the range of 64-bit integers");
}

Status zero_divisor(size_t index, SizeOpKind kind, int64_t a, int64_t b) {
  return invalid_argument(describe(index, kind, a, b) + ", divides by zero");
}

Status malformed(size_t index, const SizeOp& op, const char* why) {
  return data_loss(describe(index, op.kind, op.a, op.b) + ": " + why);
}

}  // namespace

Status verify_sizes(std::span<const SizeOp> program, const SizeInputCounts& counts) {
  for (size_t i = 0; i < program.size(); ++i) {
    const SizeOp& op = program[i];
    switch (op.kind) {
      case SizeOpKind::kConstant:
        break;
      case SizeOpKind::kInputDim:
      case SizeOpKind::kInputStride:
        if (op.a >= counts.ranks.size()) return malformed(i, op, "no such input");
        if (op.b >= counts.ranks[op.a]) return malformed(i, op, "no such axis");
        break;
      case SizeOpKind::kInputScalar:
        if (op.a >= counts.scalars) return malformed(i, op, "no such scalar input");
        break;
      case SizeOpKind::kFact:
        if (op.a >= counts.facts) return malformed(i, op, "no such fact");
        break;
      case SizeOpKind::kAdd:
      case SizeOpKind::kMul:
      case SizeOpKind::kFloorDiv:
      case SizeOpKind::kMod:
      case SizeOpKind::kMin:
      case SizeOpKind::kMax:
        if (op.a >= i || op.b >= i) return malformed(i, op, "an operand is not an earlier register");
        break;
      default:
        return malformed(i, op, "unknown kind");
    }
  }
  return {};
}

Status evaluate_sizes(std::span<const SizeOp> program, const SizeInputs& inputs, std::span<int64_t> registers) {
  TENON_CHECK(registers.size() >= program.size());
  for (size_t i = 0; i < program.size(); ++i) {
    const SizeOp& op = program[i];
    int64_t& out = registers[i];
    switch (op.kind) {
      case SizeOpKind::kConstant:
        out = op.value;
        continue;
      case SizeOpKind::kInputDim:
        out = inputs.dims[op.a][op.b];
        continue;
      case SizeOpKind::kInputStride:
        out = inputs.strides[op.a][op.b];
        continue;
      case SizeOpKind::kInputScalar:
        out = inputs.scalars[op.a];
        continue;
      case SizeOpKind::kFact:
        out = inputs.facts[op.a];
        continue;
      default:
        break;
    }
    int64_t a = registers[op.a], b = registers[op.b];
    bool fits = true;
    switch (op.kind) {
      case SizeOpKind::kAdd:
        fits = checked_add(a, b, &out);
        break;
      case SizeOpKind::kMul:
        fits = checked_mul(a, b, &out);
        break;
      case SizeOpKind::kFloorDiv:
        if (b == 0) return zero_divisor(i, op.kind, a, b);
        fits = checked_floor_div(a, b, &out);
        break;
      case SizeOpKind::kMod:
        if (b == 0) return zero_divisor(i, op.kind, a, b);
        out = floor_mod(a, b);
        break;
      case SizeOpKind::kMin:
        out = a < b ? a : b;
        break;
      case SizeOpKind::kMax:
        out = a < b ? b : a;
        break;
      default:
        TENON_CHECK(!"a verified program has no other kinds");
    }
    if (!fits) return overflow(i, op.kind, a, b);
  }
  return {};
}

bool holds(const SizeGuard& guard, std::span<const int64_t> registers) {
  int64_t a = registers[guard.a], b = registers[guard.b];
  switch (guard.relation) {
    case GuardRelation::kEq: return a == b;
    case GuardRelation::kNe: return a != b;
    case GuardRelation::kLt: return a < b;
    case GuardRelation::kLe: return a <= b;
  }
  return false;
}

}  // namespace tenon::artifact
