#include "artifact/kernel_program.hpp"

namespace tenon::artifact {

const char* name(ScalarOp op) {
  switch (op) {
#define TENON_SCALAR_OP(enumerator, text, operands) \
  case ScalarOp::enumerator: return text;
#include "artifact/scalar_ops.inc"
#undef TENON_SCALAR_OP
  }
  return "?";
}

int operand_count(ScalarOp op) {
  switch (op) {
#define TENON_SCALAR_OP(enumerator, text, operands) \
  case ScalarOp::enumerator: return operands;
#include "artifact/scalar_ops.inc"
#undef TENON_SCALAR_OP
  }
  return 0;
}

const char* name(Combiner combiner) {
  switch (combiner) {
    case Combiner::kSum: return "sum";
    case Combiner::kProd: return "prod";
    case Combiner::kMax: return "max";
    case Combiner::kMin: return "min";
    case Combiner::kAny: return "any";
    case Combiner::kAll: return "all";
    case Combiner::kArgMax: return "argmax";
    case Combiner::kArgMin: return "argmin";
  }
  return "?";
}

bool can_fail(ScalarOp op, DType operand) {
  switch (op) {
    case ScalarOp::kCheckIndex:
    case ScalarOp::kWrapIndex: return true;
    case ScalarOp::kDiv:
    case ScalarOp::kFloorDiv:
    case ScalarOp::kFmod:
    case ScalarOp::kRemainder: return !is_floating(operand);
    default: return false;
  }
}

}  // namespace tenon::artifact
