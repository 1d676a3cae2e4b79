#include "codegen/cpu/body_printer.hpp"

#include <bit>
#include <cmath>

#include "support/format.hpp"

namespace tenon::codegen::cpu {

using artifact::Address;
using artifact::BodyOp;
using artifact::ScalarOp;
using artifact::SizeValue;

const char* memory_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8: return "unsigned char";
    case DType::kI8: return "signed char";
    case DType::kI16: return "short";
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return "unsigned short";
    case DType::kI32: return "int";
    case DType::kU32: return "unsigned";
    case DType::kI64: return "long";
    case DType::kU64: return "unsigned long";
    case DType::kF32: return "float";
    case DType::kF64: return "double";
  }
  return "void";
}

const char* scalar_type(DType dtype) { return dtype == DType::kBool ? "bool" : memory_type(dtype); }

const char* vector_type(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "VI32";
    case DType::kU8: return "VU8";
    case DType::kI8: return "VI8";
    case DType::kI16: return "VI16";
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return "VU16";
    case DType::kI32: return "VI32";
    case DType::kU32: return "VU32";
    case DType::kI64: return "VI64";
    case DType::kU64: return "VU64";
    case DType::kF32: return "VF";
    case DType::kF64: return "VD";
  }
  return "void";
}

namespace {

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Bits, not digits: NaN, infinities and -0.0 must survive.
std::string literal(DType dtype, int64_t bits) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: {
      const float value = std::bit_cast<float>(uint32_t(bits));
      if (std::isfinite(value) && !(value == 0 && std::signbit(value))) {
        std::string text;
        append(text, value);
        return text + "f";
      }
      return concat("__builtin_bit_cast(float, ", uint32_t(bits), "u)");
    }
    case DType::kF64: {
      const double value = std::bit_cast<double>(bits);
      if (std::isfinite(value) && !(value == 0 && std::signbit(value))) {
        std::string text;
        append(text, value);
        return text;
      }
      return concat("__builtin_bit_cast(double, ", uint64_t(bits), "ul)");
    }
    case DType::kBool: return bits != 0 ? "true" : "false";
    case DType::kI64: return bits == INT64_MIN ? "(-0x7fffffffffffffffL - 1)" : concat(bits, "L");
    case DType::kU64: return concat(uint64_t(bits), "ul");
    default: return concat("(", memory_type(dtype), ")", bits);
  }
}

const char* function_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kExp: return "tenon_exp";
    case ScalarOp::kExp2: return "tenon_exp2";
    case ScalarOp::kExpm1: return "tenon_expm1";
    case ScalarOp::kLog: return "tenon_log";
    case ScalarOp::kLog1p: return "tenon_log1p";
    case ScalarOp::kLog2: return "tenon_log2";
    case ScalarOp::kLog10: return "tenon_log10";
    case ScalarOp::kSqrt: return "tenon_sqrt";
    case ScalarOp::kRsqrt: return "tenon_rsqrt";
    case ScalarOp::kReciprocal: return "tenon_reciprocal";
    case ScalarOp::kSin: return "tenon_sin";
    case ScalarOp::kCos: return "tenon_cos";
    case ScalarOp::kTan: return "tenon_tan";
    case ScalarOp::kAsin: return "tenon_asin";
    case ScalarOp::kAcos: return "tenon_acos";
    case ScalarOp::kAtan: return "tenon_atan";
    case ScalarOp::kSinh: return "tenon_sinh";
    case ScalarOp::kCosh: return "tenon_cosh";
    case ScalarOp::kTanh: return "tenon_tanh";
    case ScalarOp::kAsinh: return "tenon_asinh";
    case ScalarOp::kAcosh: return "tenon_acosh";
    case ScalarOp::kAtanh: return "tenon_atanh";
    case ScalarOp::kErf: return "tenon_erf";
    case ScalarOp::kErfc: return "tenon_erfc";
    case ScalarOp::kSigmoid: return "tenon_sigmoid";
    case ScalarOp::kFloor: return "tenon_floor";
    case ScalarOp::kCeil: return "tenon_ceil";
    case ScalarOp::kRound: return "tenon_round";
    case ScalarOp::kTrunc: return "tenon_trunc";
    default: return nullptr;
  }
}

const char* infix_of(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd: return "+";
    case ScalarOp::kSub: return "-";
    case ScalarOp::kMul: return "*";
    case ScalarOp::kAnd: return "&";
    case ScalarOp::kOr: return "|";
    case ScalarOp::kXor: return "^";
    case ScalarOp::kEq: return "==";
    case ScalarOp::kNe: return "!=";
    case ScalarOp::kLt: return "<";
    case ScalarOp::kLe: return "<=";
    case ScalarOp::kGt: return ">";
    case ScalarOp::kGe: return ">=";
    default: return nullptr;
  }
}

bool is_comparison(ScalarOp op) { return op >= ScalarOp::kEq && op <= ScalarOp::kGe; }

const char* checked_division(ScalarOp op) {
  switch (op) {
    case ScalarOp::kDiv: return "tenon_checked_divide";
    case ScalarOp::kFloorDiv: return "tenon_checked_floor_divide";
    case ScalarOp::kFmod: return "tenon_checked_fmod";
    case ScalarOp::kRemainder: return "tenon_checked_remainder";
    default: return nullptr;
  }
}

const char* real_division(ScalarOp op) {
  switch (op) {
    case ScalarOp::kFloorDiv: return "tenon_floor_divide";
    case ScalarOp::kFmod: return "tenon_fmod";
    case ScalarOp::kRemainder: return "tenon_remainder";
    default: return nullptr;
  }
}

}  // namespace

BodyPrinter::BodyPrinter(const artifact::KernelProgram& program, const target::TargetInfo& target, const std::vector<BodyOp>& body,
                         BodyNames names)
    : program_(program), target_(target), body_(body), names_(std::move(names)), varies_(body.size(), false) {
  for (size_t i = 0; i < body_.size(); ++i) {
    const BodyOp& op = body_[i];
    bool varying = false;
    for (int32_t operand : {op.a, op.b, op.c}) varying = varying || (operand >= 0 && varies_[size_t(operand)]);
    if (op.op == ScalarOp::kIndex) varying = op.bits == names_.vector_axis;
    if (op.op == ScalarOp::kAccumulator) varying = names_.vector_axis >= 0;
    if (op.op == ScalarOp::kLoad || op.op == ScalarOp::kMaskedLoad) varying = varying || address_varies(op.address);
    varies_[i] = varying && names_.vector_axis >= 0;
  }
}

std::string BodyPrinter::size(const SizeValue& value) const {
  return value.is_constant() ? concat(value.constant, "L") : concat("z", value.slot);
}

std::string BodyPrinter::name(int32_t value) const { return concat(names_.prefix, value); }

const SizeValue* BodyPrinter::vector_step(const Address& address) const {
  for (const artifact::AddressTerm& term : address.terms) {
    if (term.axis == names_.vector_axis) return &term.coefficient;
  }
  return nullptr;
}

bool BodyPrinter::address_varies(const Address& address) const {
  if (vector_step(address) != nullptr) return true;
  return address.dynamic >= 0 && varies_[size_t(address.dynamic)];
}

std::string BodyPrinter::uniform_offset(const Address& address) const {
  std::string out;
  auto term = [&](const std::string& text) {
    if (!out.empty()) out += " + ";
    out += text;
  };
  if (!address.base.is(0)) term(size(address.base));
  for (const artifact::AddressTerm& t : address.terms) {
    // The vector axis counts with its first lane.
    const std::string& axis = names_.axes[size_t(t.axis)];
    term(t.coefficient.is(1) ? axis : concat(axis, " * ", size(t.coefficient)));
  }
  if (address.dynamic >= 0 && !varies_[size_t(address.dynamic)]) term(name(address.dynamic));
  return out.empty() ? "0" : out;
}

std::string BodyPrinter::scalar(int32_t value) const { return name(value); }

std::string BodyPrinter::vector(int32_t value) const {
  if (varies_[size_t(value)]) return name(value);
  if (body_[size_t(value)].dtype == DType::kBool) return concat("tenon_splat_mask(", name(value), ")");
  return concat("tenon_splat(", name(value), ")");
}

std::string BodyPrinter::uniform_expression(const BodyOp& op) const {
  const std::string a = op.a >= 0 ? name(op.a) : "", b = op.b >= 0 ? name(op.b) : "", c = op.c >= 0 ? name(op.c) : "";
  const DType from = op.a >= 0 ? body_[size_t(op.a)].dtype : op.dtype;
  const std::string type = scalar_type(op.dtype);
  switch (op.op) {
    case ScalarOp::kConstant: return literal(op.dtype, op.bits);
    case ScalarOp::kSize: return size(op.size);
    case ScalarOp::kIndex: return names_.axes[size_t(op.bits)];
    case ScalarOp::kLoad: return concat("p", op.parameter, "[", uniform_offset(op.address), "]", op.dtype == DType::kBool ? " != 0" : "");
    case ScalarOp::kMaskedLoad:
      return concat(a, " ? (", type, ")(p", op.parameter, "[", uniform_offset(op.address), "]", op.dtype == DType::kBool ? " != 0" : "", ") : ", b);
    case ScalarOp::kRow: return concat("r", op.bits);
    case ScalarOp::kAccumulator: return names_.accumulator;
    case ScalarOp::kCheckIndex: return concat("tenon_check<false>(args, ", op.bits, ", ", a, ", ", b, ")");
    case ScalarOp::kWrapIndex: return concat("tenon_check<true>(args, ", op.bits, ", ", a, ", ", b, ")");
    case ScalarOp::kConvert:
      if (is_half(from)) {
        const std::string wide = concat(from == DType::kF16 ? "tenon_from_f16(" : "tenon_from_bf16(", a, ")");
        if (is_half(op.dtype)) return concat(op.dtype == DType::kF16 ? "tenon_to_f16(" : "tenon_to_bf16(", wide, ")");
        return op.dtype == DType::kBool ? concat(wide, " != 0") : concat("(", type, ")", wide);
      }
      if (is_half(op.dtype)) return concat(op.dtype == DType::kF16 ? "tenon_to_f16((float)" : "tenon_to_bf16((float)", a, ")");
      return op.dtype == DType::kBool ? concat(a, " != 0") : concat("tenon_convert<", type, ">(", from == DType::kBool ? "(int)" : "", a, ")");
    case ScalarOp::kNeg: return is_floating(op.dtype) ? concat("-", a) : concat("(", type, ")(0 - ", a, ")");
    case ScalarOp::kAbs: return is_floating(op.dtype) ? concat("tenon_abs(", a, ")") : is_signed(op.dtype) ? concat("(", type, ")(", a, " < 0 ? 0 - ", a, " : ", a, ")") : a;
    case ScalarOp::kSign:
      return is_floating(op.dtype) ? concat("tenon_sign(", a, ")") : concat("(", type, ")((", a, " > 0) - (", a, " < 0))");
    case ScalarOp::kIsNan: return is_floating(from) ? concat(a, " != ", a) : "false";
    case ScalarOp::kIsInf: return is_floating(from) ? concat("tenon_abs(", a, ") == __builtin_inff()") : "false";
    case ScalarOp::kLogicalNot: return concat(a, " == 0");
    case ScalarOp::kBitwiseNot: return op.dtype == DType::kBool ? concat("!", a) : concat("(", type, ")~", a);
    case ScalarOp::kDiv:
      if (is_floating(op.dtype)) return concat(a, " / ", b);
      [[fallthrough]];
    case ScalarOp::kFloorDiv:
    case ScalarOp::kFmod:
    case ScalarOp::kRemainder:
      if (is_floating(op.dtype)) return concat(real_division(op.op), "(", a, ", ", b, ")");
      return concat(checked_division(op.op), "(args, ", op.bits, ", ", a, ", ", b, ")");
    case ScalarOp::kPow: return concat(is_floating(op.dtype) ? "tenon_pow(" : "tenon_int_pow(", a, ", ", b, ")");
    case ScalarOp::kAtan2: return concat("tenon_atan2(", a, ", ", b, ")");
    case ScalarOp::kMax: return concat(is_floating(op.dtype) ? "tenon_max(" : "tenon_int_max(", a, ", ", b, ")");
    case ScalarOp::kMin: return concat(is_floating(op.dtype) ? "tenon_min(" : "tenon_int_min(", a, ", ", b, ")");
    case ScalarOp::kShl: return concat("tenon_int_shl(", a, ", ", b, ")");
    case ScalarOp::kShr: return concat("tenon_int_shr(", a, ", ", b, ")");
    case ScalarOp::kSelect: return concat(a, " ? ", b, " : ", c);
    case ScalarOp::kFma:
      return is_floating(op.dtype) ? concat("tenon_fma(", a, ", ", b, ", ", c, ")") : concat("(", type, ")(", a, " * ", b, " + ", c, ")");
    default: break;
  }
  if (const char* function = function_of(op.op)) return concat(function, "(", a, ")");
  if (op.dtype == DType::kBool && !is_comparison(op.op)) {
    // add is or, mul is and, on truth values.
    const char* infix = op.op == ScalarOp::kAdd ? "|" : op.op == ScalarOp::kMul ? "&" : op.op == ScalarOp::kSub ? "^" : infix_of(op.op);
    return concat("(bool)(", a, " ", infix, " ", b, ")");
  }
  if (is_comparison(op.op)) return concat(a, " ", infix_of(op.op), " ", b);
  return concat("(", type, ")(", a, " ", infix_of(op.op), " ", b, ")");
}

std::string BodyPrinter::varying_load(const BodyOp& op, const std::string& count) const {
  const std::string lanes = count.empty() ? "TENON_VL" : count;
  const bool dynamic = op.address.dynamic >= 0 && varies_[size_t(op.address.dynamic)];
  const SizeValue* step = vector_step(op.address);
  const std::string base = concat("p", op.parameter, " + ", uniform_offset(op.address));
  const bool masked = op.op == ScalarOp::kMaskedLoad;
  std::string loaded;
  if (dynamic || (masked && varies_[size_t(op.a)])) {
    std::string at = dynamic ? name(op.address.dynamic) : "VI64{}";
    if (step != nullptr) at = concat(at, " + (tenon_iota(0L)", step->is(1) ? "" : concat(" * ", size(*step)), ")");
    if (masked) {
      const std::string otherwise = op.dtype == DType::kBool ? concat("tenon_mask_to_bool(", vector(op.b), ")") : vector(op.b);
      loaded = concat("tenon_gather_if(", base, ", ", at, ", ", vector(op.a), ", ", otherwise, ", ", lanes, ")");
      if (step != nullptr && step->is(1) && !dynamic && count.empty()) {
        // All lanes set is the usual case: one plain load.
        loaded = concat("tenon_all(", vector(op.a), ") ? tenon_load(", base, ") : ", loaded);
      }
    } else {
      loaded = concat("tenon_gather_at(", base, ", ", at, ", ", lanes, ")");
    }
  } else if (step == nullptr) {
    // Only the mask's other value varies.
    loaded = op.dtype == DType::kBool ? concat("tenon_mask_to_bool(tenon_splat_mask((", base, ")[0] != 0))") : concat("tenon_splat((", base, ")[0])");
  } else if (step->is(1)) {
    loaded = count.empty() ? concat("tenon_load(", base, ")") : concat("tenon_load(", base, ", ", count, ")");
  } else {
    loaded = concat("tenon_load_strided(", base, ", ", size(*step), ", ", lanes, ")");
  }
  if (masked && !varies_[size_t(op.a)]) {
    const std::string otherwise = op.dtype == DType::kBool ? concat("tenon_mask_to_bool(", vector(op.b), ")") : vector(op.b);
    loaded = concat(name(op.a), " ? ", loaded, " : ", otherwise);
  }
  if (op.dtype == DType::kBool) return concat("tenon_bool_to_mask(", loaded, ")");
  return loaded;
}

std::string BodyPrinter::varying_expression(const BodyOp& op, const std::string& count) const {
  const std::string a = op.a >= 0 ? vector(op.a) : "", b = op.b >= 0 ? vector(op.b) : "", c = op.c >= 0 ? vector(op.c) : "";
  const DType from = op.a >= 0 ? body_[size_t(op.a)].dtype : op.dtype;
  const std::string type = vector_type(op.dtype);
  const std::string lanes = count.empty() ? "TENON_VL" : count;
  switch (op.op) {
    case ScalarOp::kIndex: return concat("tenon_iota((long)(", names_.axes[size_t(op.bits)], "))");
    case ScalarOp::kLoad:
    case ScalarOp::kMaskedLoad: return varying_load(op, count);
    case ScalarOp::kAccumulator: return names_.accumulator;
    case ScalarOp::kCheckIndex: return concat("tenon_check<false>(args, ", op.bits, ", ", a, ", ", b, ", ", lanes, ")");
    case ScalarOp::kWrapIndex: return concat("tenon_check<true>(args, ", op.bits, ", ", a, ", ", b, ", ", lanes, ")");
    case ScalarOp::kConvert:
      if (is_half(from)) {
        const std::string wide = concat(from == DType::kF16 ? "tenon_from_f16(" : "tenon_from_bf16(", a, ")");
        if (op.dtype == DType::kF32) return wide;
        if (is_half(op.dtype)) return concat(op.dtype == DType::kF16 ? "tenon_to_f16(" : "tenon_to_bf16(", wide, ")");
        return op.dtype == DType::kBool ? concat("tenon_mask(", wide, " != 0)") : concat("tenon_convert<", type, ">(", wide, ")");
      }
      if (is_half(op.dtype)) {
        const std::string single = from == DType::kF32 ? a : from == DType::kBool ? concat("tenon_convert<VF>(-", a, ")") : concat("tenon_convert<VF>(", a, ")");
        return concat(op.dtype == DType::kF16 ? "tenon_to_f16(" : "tenon_to_bf16(", single, ")");
      }
      if (op.dtype == DType::kBool) return concat("tenon_mask(", a, " != 0)");
      if (from == DType::kBool) return concat("tenon_convert<", type, ">(-", a, ")");
      return concat("tenon_convert<", type, ">(", a, ")");
    case ScalarOp::kNeg: return concat("-", a);
    case ScalarOp::kAbs: return is_floating(op.dtype) ? concat("tenon_abs(", a, ")") : is_signed(op.dtype) ? concat("tenon_int_abs(", a, ")") : a;
    case ScalarOp::kSign:
      return is_floating(op.dtype) ? concat("tenon_sign(", a, ")") : concat("(", type, ")((", a, " < 0) - (", a, " > 0))");
    case ScalarOp::kIsNan: return is_floating(from) ? concat("tenon_mask(", a, " != ", a, ")") : "VI32{}";
    case ScalarOp::kIsInf: return is_floating(from) ? concat("tenon_mask(tenon_abs(", a, ") == __builtin_inff())") : "VI32{}";
    case ScalarOp::kLogicalNot: return from == DType::kBool ? concat("~", a) : concat("tenon_mask(", a, " == 0)");
    case ScalarOp::kBitwiseNot: return concat("~", a);
    case ScalarOp::kDiv:
      if (is_floating(op.dtype)) return concat(a, " / ", b);
      [[fallthrough]];
    case ScalarOp::kFloorDiv:
    case ScalarOp::kFmod:
    case ScalarOp::kRemainder:
      if (is_floating(op.dtype)) return concat(real_division(op.op), "(", a, ", ", b, ")");
      return concat(checked_division(op.op), "(args, ", op.bits, ", ", a, ", ", b, ", ", lanes, ")");
    case ScalarOp::kPow: return concat(is_floating(op.dtype) ? "tenon_pow(" : "tenon_lanes_pow(", a, ", ", b, ")");
    case ScalarOp::kAtan2: return concat("tenon_atan2(", a, ", ", b, ")");
    case ScalarOp::kMax: return concat(is_floating(op.dtype) ? "tenon_max(" : "tenon_int_max(", a, ", ", b, ")");
    case ScalarOp::kMin: return concat(is_floating(op.dtype) ? "tenon_min(" : "tenon_int_min(", a, ", ", b, ")");
    case ScalarOp::kShl: return concat("tenon_lanes_shl(", a, ", ", b, ")");
    case ScalarOp::kShr: return concat("tenon_lanes_shr(", a, ", ", b, ")");
    case ScalarOp::kSelect: return concat("tenon_select(", a, ", ", b, ", ", c, ")");
    case ScalarOp::kFma:
      return is_floating(op.dtype) ? concat("tenon_fma(", a, ", ", b, ", ", c, ")") : concat(a, " * ", b, " + ", c);
    default: break;
  }
  if (const char* function = function_of(op.op)) return concat(function, "(", a, ")");
  if (op.dtype == DType::kBool && !is_comparison(op.op)) {
    const char* infix = op.op == ScalarOp::kAdd ? "|" : op.op == ScalarOp::kMul ? "&" : op.op == ScalarOp::kSub ? "^" : infix_of(op.op);
    return concat(a, " ", infix, " ", b);
  }
  if (is_comparison(op.op)) {
    // Truth values are 0 and -1 in masks: their order is the reverse.
    if (from == DType::kBool) return concat("tenon_mask((", a, " & 1) ", infix_of(op.op), " (", b, " & 1))");
    return concat("tenon_mask(", a, " ", infix_of(op.op), " ", b, ")");
  }
  return concat(a, " ", infix_of(op.op), " ", b);
}

void BodyPrinter::print_uniform(std::string& out, const std::string& indent) const {
  for (size_t i = 0; i < body_.size(); ++i) {
    if (varies_[i]) continue;
    append(out, concat(indent, "const ", scalar_type(body_[i].dtype), " ", name(int32_t(i)), " = ", uniform_expression(body_[i]), ";\n"));
  }
}

void BodyPrinter::print_varying(std::string& out, const std::string& indent, const std::string& count) const {
  for (size_t i = 0; i < body_.size(); ++i) {
    if (!varies_[i]) continue;
    append(out, concat(indent, "const ", vector_type(body_[i].dtype), " ", name(int32_t(i)), " = ", varying_expression(body_[i], count), ";\n"));
  }
}

void BodyPrinter::print_store(std::string& out, const std::string& indent, int32_t parameter, const Address& address, int32_t value,
                              const std::string& count) const {
  if (names_.vector_axis < 0) {
    append(out, concat(indent, "p", parameter, "[", uniform_offset(address), "] = ", name(value), ";\n"));
    return;
  }
  print_store_text(out, indent, parameter, address, vector(value), body_[size_t(value)].dtype, count);
}

void BodyPrinter::print_store_text(std::string& out, const std::string& indent, int32_t parameter, const Address& address,
                                   const std::string& vector_value, DType dtype, const std::string& count) const {
  const std::string lanes = count.empty() ? "TENON_VL" : count;
  const std::string value = dtype == DType::kBool ? concat("tenon_mask_to_bool(", vector_value, ")") : vector_value;
  const std::string to = concat("p", parameter, " + ", uniform_offset(address));
  const SizeValue* step = vector_step(address);
  if (address.dynamic >= 0 && varies_[size_t(address.dynamic)]) {
    std::string at = name(address.dynamic);
    if (step != nullptr) at = concat(at, " + (tenon_iota(0L)", step->is(1) ? "" : concat(" * ", size(*step)), ")");
    append(out, concat(indent, "tenon_scatter_at(", to, ", ", at, ", ", value, ", ", lanes, ");\n"));
  } else if (step != nullptr && step->is(1)) {
    append(out, concat(indent, "tenon_store(", to, ", ", value, count.empty() ? "" : concat(", ", count), ");\n"));
  } else {
    append(out, concat(indent, "tenon_store_strided(", to, ", ", step != nullptr ? size(*step) : "0L", ", ", value, ", ", lanes, ");\n"));
  }
}

}  // namespace tenon::codegen::cpu
