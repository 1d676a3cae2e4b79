// What an executor of a KernelProgram relies on. Addresses cannot be checked against buffers here: their strides and
// extents are run-time sizes.
#include "artifact/artifact.hpp"
#include "support/format.hpp"

namespace tenon::artifact {

namespace {

bool known(DType dtype) { return size_bytes(dtype) != 0; }
bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }
bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }
bool is_number(DType dtype) { return is_real(dtype) || is_integral(dtype); }
bool is_arithmetic(DType dtype) { return !is_half(dtype); }
bool is_bits(DType dtype) { return is_integral(dtype) || dtype == DType::kBool; }

DType result_type(const Reduction& r) {
  switch (r.combiner) {
    case Combiner::kArgMax:
    case Combiner::kArgMin: return DType::kI64;
    default: return r.dtype;
  }
}

class ProgramVerifier {
 public:
  ProgramVerifier(const KernelProgram& program, size_t site_count) : p_(program), site_count_(site_count) {}

  Status verify() {
    if (p_.kind > ProgramKind::kAttention) return bad("unknown kind");
    TENON_RETURN_IF_ERROR(verify_header());
    if (p_.kind == ProgramKind::kNest) {
      rows_defined_.assign(p_.row_count, false);
      for (size_t i = 0; i < p_.stages.size(); ++i) {
        where_ = concat("stage ", i);
        TENON_RETURN_IF_ERROR(verify_stage(p_.stages[i]));
      }
      if (p_.init.present() || p_.epilogue.present() || p_.prologue_a.present() || p_.score.present() ||
          p_.store.present()) {
        return bad("a nest has hooks");
      }
      return {};
    }
    if (!p_.stages.empty() || !p_.outer.empty()) return bad("a template has stages");
    const bool gemm = p_.kind == ProgramKind::kGemm;
    if (gemm ? p_.score.present() || p_.store.present()
             : p_.init.present() || p_.epilogue.present() || p_.prologue_a.present()) {
      return bad("hooks of another template");
    }
    TENON_RETURN_IF_ERROR(verify_hook(p_.init, "init", 3, true, false));
    TENON_RETURN_IF_ERROR(verify_hook(p_.prologue_a, "prologue_a", 3, true, false));
    TENON_RETURN_IF_ERROR(verify_hook(p_.epilogue, "epilogue", 3, false, true));
    TENON_RETURN_IF_ERROR(verify_hook(p_.score, "score", 4, true, true));
    TENON_RETURN_IF_ERROR(verify_hook(p_.store, "store", 4, false, true));
    if (gemm ? p_.epilogue.stores.empty() : p_.store.stores.empty()) return bad("a template stores nothing");
    return {};
  }

 private:
  Status bad(std::string_view what) const {
    return data_loss(concat("kernel program `", p_.name, "`", where_.empty() ? "" : ", ", where_, ": ", what));
  }
  Status bad_op(size_t index, std::string_view what) const { return bad(concat("operation ", index, " ", what)); }

  bool size_ok(const SizeValue& v) const { return v.slot >= -1 && (v.slot < 0 || uint32_t(v.slot) < p_.size_count); }

  Status verify_header() {
    bool locals = false;
    size_t buffers = 0;
    for (const Parameter& q : p_.parameters) {
      if (q.kind > ParameterKind::kLocal || !known(q.dtype)) return bad("a parameter has an unknown kind or type");
      if (q.kind == ParameterKind::kBuffer && locals) return bad("a buffer parameter after a local one");
      locals = q.kind == ParameterKind::kLocal;
      buffers += !locals;
      if (!size_ok(q.local_extent)) return bad("a local parameter's extent is out of range");
      if (locals && q.local_extent.is_constant() &&
          (q.local_extent.constant < 0 || q.local_extent.constant > (int64_t{1} << 40))) {
        return bad("a local parameter's extent is out of range");
      }
    }
    if (p_.row_types.size() != p_.row_count) return bad("row types are missing");
    for (DType dtype : p_.row_types) {
      if (!known(dtype)) return bad("a row has an unknown type");
    }
    for (const SizeValue& v : p_.outer) {
      if (!size_ok(v)) return bad("an outer extent is out of range");
    }
    const bool gemm = p_.kind == ProgramKind::kGemm;
    if (p_.kind != ProgramKind::kNest) {
      const size_t inputs = gemm ? kGemmBuffers : kAttentionBuffers;
      if (buffers < inputs) return bad("a template's buffers are missing");
      if (p_.size_count < (gemm ? kGemmSizes : kAttentionSizes)) return bad("a template's sizes are missing");
      for (size_t i = 0; i < inputs; ++i) {
        if (p_.parameters[i].dtype != DType::kF32 && !(gemm && i == 0 && p_.prologue_a.present())) {
          return bad("a template's operand is not f32");
        }
      }
    }
    return {};
  }

  Status verify_address(const Address& a, const std::vector<BodyOp>& body, size_t before, size_t axes) const {
    if (!size_ok(a.base)) return bad("an address has a size slot out of range");
    int32_t last = -1;
    for (const AddressTerm& term : a.terms) {
      if (term.axis <= last || size_t(term.axis) >= axes) return bad("an address has an axis out of range or order");
      last = term.axis;
      if (!size_ok(term.coefficient)) return bad("an address has a size slot out of range");
    }
    if (a.dynamic < -1 || (a.dynamic >= 0 && size_t(a.dynamic) >= before)) return bad("a computed address is out of range");
    if (a.dynamic >= 0 && body[a.dynamic].dtype != DType::kI64) return bad("a computed address is not i64");
    return {};
  }

  bool parameter_ok(int32_t parameter, DType dtype, bool write) const {
    return parameter >= 0 && size_t(parameter) < p_.parameters.size() && p_.parameters[parameter].dtype == dtype &&
           (!write || p_.parameters[parameter].written);
  }

  Status verify_body(const std::vector<BodyOp>& body, size_t axes, bool accumulator) const {
    for (size_t i = 0; i < body.size(); ++i) {
      const BodyOp& op = body[i];
      if (size_t(op.op) > size_t(ScalarOp::kFma) || !known(op.dtype)) return bad_op(i, "has an unknown kind or type");
      const int32_t operands[] = {op.a, op.b, op.c};
      for (int k = 0; k < 3; ++k) {
        const bool used = k < operand_count(op.op);
        if (used ? operands[k] < 0 || size_t(operands[k]) >= i : operands[k] != -1) {
          return bad_op(i, "has an operand that is not an earlier operation");
        }
      }
      if (!types_ok(op, body)) return bad_op(i, concat("(", name(op.op), ") has operands of wrong types"));
      switch (op.op) {
        case ScalarOp::kSize:
          if (!size_ok(op.size)) return bad_op(i, "has a size slot out of range");
          break;
        case ScalarOp::kIndex:
          if (op.bits < 0 || uint64_t(op.bits) >= axes) return bad_op(i, "has an axis out of range");
          break;
        case ScalarOp::kRow:
          if (op.bits < 0 || uint64_t(op.bits) >= rows_defined_.size() || !rows_defined_[op.bits] ||
              p_.row_types[op.bits] != op.dtype) {
            return bad_op(i, "reads a row value that is not there");
          }
          break;
        case ScalarOp::kAccumulator:
          if (!accumulator) return bad_op(i, "reads an accumulator that is not there");
          break;
        case ScalarOp::kLoad:
        case ScalarOp::kMaskedLoad:
          if (!parameter_ok(op.parameter, op.dtype, false)) return bad_op(i, "loads from a wrong parameter");
          TENON_RETURN_IF_ERROR(verify_address(op.address, body, i, axes));
          break;
        default: break;
      }
      if (op.a >= 0 && can_fail(op.op, body[op.a].dtype) && (op.bits < 0 || uint64_t(op.bits) >= site_count_)) {
        return bad_op(i, "has a site out of range");
      }
    }
    return {};
  }

  // Types of one operation: the table of what executors implement.
  static bool types_ok(const BodyOp& op, const std::vector<BodyOp>& body) {
    const DType t = op.dtype;
    const DType a = op.a >= 0 ? body[op.a].dtype : t, b = op.b >= 0 ? body[op.b].dtype : t;
    const DType c = op.c >= 0 ? body[op.c].dtype : t;
    const bool same = a == t && b == t && c == t;
    switch (op.op) {
      case ScalarOp::kConstant:
      case ScalarOp::kLoad:
      case ScalarOp::kRow:
      case ScalarOp::kConvert: return true;
      case ScalarOp::kMaskedLoad: return a == DType::kBool && b == t;
      case ScalarOp::kSelect: return a == DType::kBool && b == t && c == t;
      case ScalarOp::kSize:
      case ScalarOp::kIndex:
      case ScalarOp::kCheckIndex:
      case ScalarOp::kWrapIndex: return t == DType::kI64 && same;
      case ScalarOp::kAccumulator: return t == DType::kF32;
      case ScalarOp::kNeg:
      case ScalarOp::kAbs:
      case ScalarOp::kSign:
      case ScalarOp::kSub:
      case ScalarOp::kDiv:
      case ScalarOp::kFloorDiv:
      case ScalarOp::kFmod:
      case ScalarOp::kRemainder:
      case ScalarOp::kPow:
      case ScalarOp::kFma: return same && is_number(t);
      case ScalarOp::kAdd:
      case ScalarOp::kMul:
      case ScalarOp::kMax:
      case ScalarOp::kMin: return same && is_arithmetic(t);
      case ScalarOp::kIsNan:
      case ScalarOp::kIsInf:
      case ScalarOp::kLogicalNot: return t == DType::kBool && is_arithmetic(a);
      case ScalarOp::kBitwiseNot:
      case ScalarOp::kAnd:
      case ScalarOp::kOr:
      case ScalarOp::kXor: return same && is_bits(t);
      case ScalarOp::kShl:
      case ScalarOp::kShr: return same && is_integral(t);
      case ScalarOp::kEq:
      case ScalarOp::kNe:
      case ScalarOp::kLt:
      case ScalarOp::kLe:
      case ScalarOp::kGt:
      case ScalarOp::kGe: return t == DType::kBool && a == b && is_arithmetic(a);
      default: return same && is_real(t);  // the float functions
    }
  }

  Status verify_stores(const std::vector<Store>& stores, const std::vector<BodyOp>& body, size_t axes) const {
    for (const Store& s : stores) {
      if (s.value < 0 || size_t(s.value) >= body.size()) return bad("a store has no value");
      if (!parameter_ok(s.parameter, body[s.value].dtype, true)) return bad("a store goes to a wrong parameter");
      TENON_RETURN_IF_ERROR(verify_address(s.address, body, body.size(), axes));
    }
    return {};
  }

  Status verify_stage(const Stage& stage) {
    const size_t axes = p_.outer.size() + stage.axes.size();
    size_t reduced = 0;
    for (const StageAxis& axis : stage.axes) {
      if (!size_ok(axis.extent)) return bad("an extent is out of range");
      if (axis.block < 0 || (axis.block > 0 && (axis.outer_axis < 0 || size_t(axis.outer_axis) >= p_.outer.size()))) {
        return bad("a split axis has no outer axis");
      }
      reduced += axis.reduced;
    }
    const bool column = !stage.axes.empty() && !stage.axes.back().reduced && reduced > 0;
    if (column ? reduced + 1 != stage.axes.size() : reduced != 0 && reduced != stage.axes.size()) {
      return bad("reduced and other axes are mixed");
    }
    if (!stage.axes.empty() && !stage.rows.empty()) return bad("row values of a stage with axes");
    if (reduced == 0 && !stage.reductions.empty()) return bad("reductions of a stage that reduces nothing");
    TENON_RETURN_IF_ERROR(verify_body(stage.body, axes, false));
    TENON_RETURN_IF_ERROR(verify_stores(stage.stores, stage.body, axes));
    for (const Reduction& r : stage.reductions) {
      if (r.combiner > Combiner::kArgMin || r.value < 0 || size_t(r.value) >= stage.body.size() ||
          stage.body[r.value].dtype != r.dtype) {
        return bad("a reduction has no value");
      }
      const bool logical = r.combiner == Combiner::kAny || r.combiner == Combiner::kAll;
      const bool sum = r.combiner == Combiner::kSum || r.combiner == Combiner::kProd;
      if (logical ? r.dtype != DType::kBool : sum ? !is_number(r.dtype) : !is_arithmetic(r.dtype)) {
        return bad(concat("a reduction (", name(r.combiner), ") of a wrong type"));
      }
      if (column) {
        if (r.row != -1 || !parameter_ok(r.parameter, result_type(r), true)) return bad("a reduction has no place to go");
        TENON_RETURN_IF_ERROR(verify_address(r.address, stage.body, 0, axes));
        for (const AddressTerm& term : r.address.terms) {
          const size_t own = size_t(term.axis) - p_.outer.size();
          if (size_t(term.axis) >= p_.outer.size() && stage.axes[own].reduced) return bad("a reduction goes along a reduced axis");
        }
      } else {
        if (r.parameter != -1) return bad("a reduction has two places to go");
        TENON_RETURN_IF_ERROR(define_row(r.row, result_type(r)));
      }
    }
    for (const RowValue& row : stage.rows) {
      if (row.value < 0 || size_t(row.value) >= stage.body.size()) return bad("a row value has no value");
      TENON_RETURN_IF_ERROR(define_row(row.row, stage.body[row.value].dtype));
    }
    return {};
  }

  Status define_row(int32_t row, DType dtype) {
    if (row < 0 || size_t(row) >= rows_defined_.size() || p_.row_types[row] != dtype) return bad("a row value has no slot");
    rows_defined_[row] = true;
    return {};
  }

  Status verify_hook(const Hook& hook, const char* title, size_t axes, bool yields, bool accumulator) {
    if (!hook.present()) return {};
    where_ = title;
    if (yields != (hook.yield >= 0) || (yields && !hook.stores.empty())) return bad("yields or stores wrongly");
    TENON_RETURN_IF_ERROR(verify_body(hook.body, axes, accumulator));
    if (yields && (size_t(hook.yield) >= hook.body.size() || hook.body[hook.yield].dtype != DType::kF32)) {
      return bad("yields no f32");
    }
    return verify_stores(hook.stores, hook.body, axes);
  }

  const KernelProgram& p_;
  size_t site_count_;
  std::string where_;
  std::vector<bool> rows_defined_;
};

}  // namespace

Status verify(const KernelProgram& program, size_t site_count) { return ProgramVerifier(program, site_count).verify(); }

}  // namespace tenon::artifact
