#include "vm/evaluator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "target/target_info.hpp"

namespace tenon::tests {

using namespace tenon::artifact;

namespace {

int width(DType dtype) { return int(size_bytes(dtype)) * 8; }

// Reduces to the type's range, modulo 2^width.
int64_t wrap(DType dtype, uint64_t x) {
  switch (dtype) {
    case DType::kBool: return x != 0;
    case DType::kU8: return uint8_t(x);
    case DType::kI8: return int8_t(x);
    case DType::kI16: return int16_t(x);
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return uint16_t(x);
    case DType::kI32: return int32_t(x);
    case DType::kU32: return uint32_t(x);
    default: return int64_t(x);
  }
}

double bf16_value(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
double f16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                                : exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}
// To a binary format of `bits` significant bits with exponents from `lowest` on: nearest, ties to even.
double round_to(double x, int bits, int lowest, double limit) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - bits, lowest);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
  return std::fabs(rounded) > limit ? std::copysign(INFINITY, x) : rounded;
}
uint16_t to_f16(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return sign | 0x7e00;
  const double r = std::fabs(round_to(x, 11, -24, 65504));
  if (std::isinf(r)) return sign | 0x7c00;
  int exponent;
  std::frexp(r, &exponent);
  if (r < std::ldexp(1, -14)) return uint16_t(sign | int(std::ldexp(r, 24)));
  return uint16_t(sign | (exponent + 14) << 10 | (int(std::ldexp(r, 11 - exponent)) & 1023));
}
uint16_t to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return uint16_t(u >> 16 | 0x40);
  const uint32_t low = u & 0xffff, high = u >> 16;
  return uint16_t(high + (low > 0x8000 || (low == 0x8000 && (high & 1))));
}

Scalar real(DType dtype, double x) { return {dtype, dtype == DType::kF32 ? double(float(x)) : x, 0}; }
Scalar whole(DType dtype, uint64_t x) { return {dtype, 0, wrap(dtype, x)}; }
bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

Scalar convert(DType to, const Scalar& a) {
  double x = a.real;
  bool from_real = is_real(a.dtype);
  if (a.dtype == DType::kF16) x = f16_value(uint16_t(a.integer)), from_real = true;
  if (a.dtype == DType::kBF16) x = bf16_value(uint16_t(a.integer)), from_real = true;
  if (to == DType::kBool) return whole(to, from_real ? x != 0 : a.integer != 0);
  const bool is_u64 = a.dtype == DType::kU64;
  const auto as_float = [&] { return from_real ? float(x) : is_u64 ? float(uint64_t(a.integer)) : float(a.integer); };
  if (to == DType::kF16) return {to, 0, to == a.dtype ? a.integer : to_f16(as_float())};
  if (to == DType::kBF16) return {to, 0, to == a.dtype ? a.integer : to_bf16(as_float())};
  if (to == DType::kF32) return real(to, as_float());
  if (to == DType::kF64) return real(to, from_real ? x : is_u64 ? double(uint64_t(a.integer)) : double(a.integer));
  if (!from_real) return whole(to, uint64_t(a.integer));
  return whole(to, to == DType::kU64 && x >= 0 ? uint64_t(x) : uint64_t(int64_t(x)));
}

double python_remainder(double x, double y) {
  const double m = std::fmod(x, y);
  return m != 0 && (y < 0) != (m < 0) ? m + y : m;
}

template <typename T>
T floor_divide(T x, T y) {
  if (y == 0) return x / y;
  const T m = std::fmod(x, y);
  T q = (x - m) / y;
  if (m != 0 && (y < 0) != (m < 0)) q -= 1;
  if (q == 0) return std::copysign(T(0), x / y);
  const T f = std::floor(q);
  return q - f > T(0.5) ? f + 1 : f;
}

double real_op(ScalarOp op, double a, double b) {
  switch (op) {
    case ScalarOp::kNeg: return -a;
    case ScalarOp::kAbs: return std::fabs(a);
    case ScalarOp::kSign: return a > 0 ? 1 : a < 0 ? -1 : 0;
    case ScalarOp::kExp: return std::exp(a);
    case ScalarOp::kExp2: return std::exp2(a);
    case ScalarOp::kExpm1: return std::expm1(a);
    case ScalarOp::kLog: return std::log(a);
    case ScalarOp::kLog1p: return std::log1p(a);
    case ScalarOp::kLog2: return std::log2(a);
    case ScalarOp::kLog10: return std::log10(a);
    case ScalarOp::kSqrt: return std::sqrt(a);
    case ScalarOp::kReciprocal: return 1 / a;
    case ScalarOp::kSin: return std::sin(a);
    case ScalarOp::kCos: return std::cos(a);
    case ScalarOp::kTan: return std::tan(a);
    case ScalarOp::kAsin: return std::asin(a);
    case ScalarOp::kAcos: return std::acos(a);
    case ScalarOp::kAtan: return std::atan(a);
    case ScalarOp::kSinh: return std::sinh(a);
    case ScalarOp::kCosh: return std::cosh(a);
    case ScalarOp::kTanh: return std::tanh(a);
    case ScalarOp::kAsinh: return std::asinh(a);
    case ScalarOp::kAcosh: return std::acosh(a);
    case ScalarOp::kAtanh: return std::atanh(a);
    case ScalarOp::kErf: return std::erf(a);
    case ScalarOp::kErfc: return std::erfc(a);
    case ScalarOp::kSigmoid: return 1 / (1 + std::exp(-a));
    case ScalarOp::kFloor: return std::floor(a);
    case ScalarOp::kCeil: return std::ceil(a);
    case ScalarOp::kRound: return std::nearbyint(a);
    case ScalarOp::kTrunc: return std::trunc(a);
    case ScalarOp::kAdd: return a + b;
    case ScalarOp::kSub: return a - b;
    case ScalarOp::kMul: return a * b;
    case ScalarOp::kDiv: return a / b;
    case ScalarOp::kFmod: return std::fmod(a, b);
    case ScalarOp::kPow: return std::pow(a, b);
    case ScalarOp::kAtan2: return std::atan2(a, b);
    case ScalarOp::kMax: return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b;
    case ScalarOp::kMin: return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b;
    default: return NAN;
  }
}

template <typename T>
uint64_t integer_op(ScalarOp op, T a, T b, bool is_signed) {
  const uint64_t x = uint64_t(a), y = uint64_t(b);
  const bool minus = is_signed && b == T(-1);
  switch (op) {
    case ScalarOp::kNeg: return 0 - x;
    case ScalarOp::kAbs: return a < 0 ? 0 - x : x;
    case ScalarOp::kSign: return a > 0 ? 1 : a < 0 ? uint64_t(-1) : 0;
    case ScalarOp::kBitwiseNot: return ~x;
    case ScalarOp::kAdd: return x + y;
    case ScalarOp::kSub: return x - y;
    case ScalarOp::kMul: return x * y;
    case ScalarOp::kDiv: return b == 0 ? 0 : minus ? 0 - x : uint64_t(a / b);
    case ScalarOp::kFmod: return b == 0 || minus ? 0 : uint64_t(a % b);
    case ScalarOp::kRemainder: {
      if (b == 0 || minus) return 0;
      const T m = a % b;
      return uint64_t(m != 0 && (m < 0) != (b < 0) ? m + b : m);
    }
    case ScalarOp::kFloorDiv: {
      if (b == 0) return 0;
      if (minus) return 0 - x;
      return uint64_t(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
    }
    case ScalarOp::kPow: {
      if (b < 0) return a == 1 ? 1 : a == T(-1) ? (y & 1 ? uint64_t(-1) : 1) : 0;
      uint64_t result = 1, base = x;
      for (uint64_t n = y; n != 0; n >>= 1, base *= base) {
        if (n & 1) result *= base;
      }
      return result;
    }
    case ScalarOp::kMax: return a > b ? x : y;
    case ScalarOp::kMin: return a < b ? x : y;
    case ScalarOp::kAnd: return x & y;
    case ScalarOp::kOr: return x | y;
    case ScalarOp::kXor: return x ^ y;
    default: return 0;
  }
}

template <typename T>
bool relation(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kEq: return a == b;
    case ScalarOp::kNe: return a != b;
    case ScalarOp::kLt: return a < b;
    case ScalarOp::kLe: return a <= b;
    case ScalarOp::kGt: return a > b;
    default: return a >= b;
  }
}

}  // namespace

Scalar read_element(DType dtype, const void* at) {
  if (dtype == DType::kF32) {
    float x;
    std::memcpy(&x, at, 4);
    return {dtype, x, 0};
  }
  if (dtype == DType::kF64) {
    double x;
    std::memcpy(&x, at, 8);
    return {dtype, x, 0};
  }
  uint64_t bits = 0;
  std::memcpy(&bits, at, size_bytes(dtype));
  return {dtype, 0, wrap(dtype, bits)};
}

void write_element(void* at, const Scalar& value) {
  if (value.dtype == DType::kF32) {
    const float x = float(value.real);
    std::memcpy(at, &x, 4);
  } else if (value.dtype == DType::kF64) {
    std::memcpy(at, &value.real, 8);
  } else {
    std::memcpy(at, &value.integer, size_bytes(value.dtype));
  }
}

Scalar evaluate_op(ScalarOp op, DType t, const Scalar& a, const Scalar& b, const Scalar& c, bool has_fma) {
  const DType in = a.dtype;
  switch (op) {
    case ScalarOp::kConvert: return convert(t, a);
    case ScalarOp::kIsNan: return whole(t, std::isnan(a.real));
    case ScalarOp::kIsInf: return whole(t, std::isinf(a.real));
    case ScalarOp::kLogicalNot: return whole(t, is_real(in) ? a.real == 0 : a.integer == 0);
    case ScalarOp::kSelect: return a.integer ? b : c;
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe:
      return whole(t, is_real(in)          ? relation(op, a.real, b.real)
                      : in == DType::kU64 ? relation(op, uint64_t(a.integer), uint64_t(b.integer))
                                          : relation(op, a.integer, b.integer));
    case ScalarOp::kFma:
      if (!is_real(t)) return whole(t, uint64_t(a.integer) * uint64_t(b.integer) + uint64_t(c.integer));
      if (t == DType::kF32) {
        const float x = float(a.real), y = float(b.real), z = float(c.real);
        volatile float product = x * y;
        return real(t, has_fma ? std::fmaf(x, y, z) : product + z);
      } else {
        volatile double product = a.real * b.real;
        return real(t, has_fma ? std::fma(a.real, b.real, c.real) : product + c.real);
      }
    default: break;
  }
  if (is_real(t)) {
    if (op == ScalarOp::kRsqrt) {
      return t == DType::kF32 ? real(t, 1.0f / std::sqrt(float(a.real))) : real(t, 1.0 / std::sqrt(a.real));
    }
    if (op == ScalarOp::kFloorDiv) {
      return real(t, t == DType::kF32 ? floor_divide(float(a.real), float(b.real)) : floor_divide(a.real, b.real));
    }
    if (op == ScalarOp::kRemainder) {
      const double m = std::fmod(a.real, b.real);
      if (t == DType::kF32) {
        const float n = float(m), y = float(b.real);
        return real(t, n != 0 && (y < 0) != (n < 0) ? n + y : n);
      }
      return real(t, python_remainder(a.real, b.real));
    }
    return real(t, real_op(op, a.real, b.real));
  }
  if (t == DType::kBool) {
    const bool x = a.integer, y = b.integer;
    switch (op) {
      case ScalarOp::kBitwiseNot: return whole(t, !x);
      case ScalarOp::kAdd:
      case ScalarOp::kMax:
      case ScalarOp::kOr: return whole(t, x || y);
      case ScalarOp::kXor: return whole(t, x != y);
      default: return whole(t, x && y);
    }
  }
  const bool outside = b.integer < 0 || b.integer >= width(t);
  if (op == ScalarOp::kShl) return whole(t, outside ? 0 : uint64_t(a.integer) << b.integer);
  if (op == ScalarOp::kShr) {
    if (outside) return whole(t, is_signed(t) && a.integer < 0 ? uint64_t(-1) : 0);
    return whole(t, t == DType::kU64 ? uint64_t(a.integer) >> b.integer : uint64_t(a.integer >> b.integer));
  }
  if (t == DType::kU64) return whole(t, integer_op<uint64_t>(op, uint64_t(a.integer), uint64_t(b.integer), false));
  return whole(t, integer_op<int64_t>(op, a.integer, b.integer, is_signed(t)));
}

namespace {

class Evaluator {
 public:
  Evaluator(const KernelProgram& p, const tenon_kernel_args& args, bool has_fma)
      : p_(p), args_(args), has_fma_(has_fma), rows_(p.row_count) {
    size_t buffer = 0;
    for (const Parameter& q : p.parameters) {
      if (q.kind == ParameterKind::kBuffer) {
        memory_.push_back(static_cast<char*>(args.buffers[buffer++]));
      } else {
        locals_.emplace_back(size_t(std::max<int64_t>(1, size(q.local_extent))) * size_bytes(q.dtype));
        memory_.push_back(locals_.back().data());
      }
    }
  }

  void run() {
    axis_.assign(p_.outer.size(), 0);
    points(0, 0, [&] {
      for (const Stage& stage : p_.stages) run_stage(stage);
    });
  }

 private:
  int64_t size(const SizeValue& v) const { return v.is_constant() ? v.constant : args_.sizes[v.slot]; }

  template <typename F>
  void points(size_t i, int, F each) {
    if (i == p_.outer.size()) return each();
    for (axis_[i] = 0; axis_[i] < size(p_.outer[i]); ++axis_[i]) points(i + 1, 0, each);
  }

  char* element(int32_t parameter, const Address& a) {
    int64_t offset = size(a.base);
    for (const AddressTerm& term : a.terms) offset += size(term.coefficient) * axis_[term.axis];
    if (a.dynamic >= 0) offset += values_[a.dynamic].integer;
    return memory_[parameter] + offset * int64_t(size_bytes(p_.parameters[parameter].dtype));
  }

  void fail(const BodyOp& op, int64_t index, int64_t bound) {
    if (args_.failure[0] != 0) return;
    args_.failure[0] = op.bits + 1;
    args_.failure[1] = index;
    args_.failure[2] = bound;
  }

  void run_body(const Stage& stage) {
    values_.clear();
    for (const BodyOp& op : stage.body) {
      const Scalar none;
      const Scalar& a = op.a >= 0 ? values_[op.a] : none;
      const Scalar& b = op.b >= 0 ? values_[op.b] : none;
      const Scalar& c = op.c >= 0 ? values_[op.c] : none;
      Scalar out;
      switch (op.op) {
        case ScalarOp::kConstant: out = read_element(op.dtype, &op.bits); break;
        case ScalarOp::kSize: out = {op.dtype, 0, size(op.size)}; break;
        case ScalarOp::kIndex: out = {op.dtype, 0, axis_[op.bits]}; break;
        case ScalarOp::kRow: out = rows_[op.bits]; break;
        case ScalarOp::kLoad: out = read_element(op.dtype, element(op.parameter, op.address)); break;
        case ScalarOp::kMaskedLoad:
          out = a.integer ? read_element(op.dtype, element(op.parameter, op.address)) : b;
          break;
        case ScalarOp::kCheckIndex:
          out = a;
          if (a.integer < 0 || a.integer >= b.integer) fail(op, a.integer, b.integer), out.integer = 0;
          break;
        case ScalarOp::kWrapIndex:
          out = a;
          if (a.integer < 0) out.integer += b.integer;
          if (out.integer < 0 || out.integer >= b.integer) fail(op, a.integer, b.integer), out.integer = 0;
          break;
        default:
          if (op.a >= 0 && can_fail(op.op, a.dtype) && b.integer == 0) fail(op, a.integer, 0);
          out = evaluate_op(op.op, op.dtype, a, b, c, has_fma_);
          break;
      }
      values_.push_back(out);
    }
  }

  void store_all(const Stage& stage) {
    for (const Store& s : stage.stores) write_element(element(s.parameter, s.address), values_[s.value]);
  }

  // ---- reductions ----
  static Scalar identity(const Reduction& r) {
    const bool f = is_real(r.dtype);
    switch (r.combiner) {
      case Combiner::kSum: return {r.dtype, -0.0, 0};
      case Combiner::kProd: return {r.dtype, 1, 1};
      case Combiner::kAll: return {r.dtype, 0, 1};
      case Combiner::kMax:
        if (f || !is_signed(r.dtype)) return {r.dtype, -INFINITY, 0};
        return {r.dtype, 0, int64_t(~uint64_t(0) << (width(r.dtype) - 1))};
      case Combiner::kMin:
        if (f) return {r.dtype, INFINITY, 0};
        if (r.dtype == DType::kBool) return {r.dtype, 0, 1};
        if (!is_signed(r.dtype)) return whole(r.dtype, ~uint64_t(0));
        return {r.dtype, 0, int64_t(~(~uint64_t(0) << (width(r.dtype) - 1)))};
      default: return {r.dtype, 0, 0};
    }
  }
  Scalar combine(const Reduction& r, const Scalar& a, const Scalar& b) const {
    switch (r.combiner) {
      case Combiner::kSum: return evaluate_op(ScalarOp::kAdd, r.dtype, a, b, {}, false);
      case Combiner::kProd: return evaluate_op(ScalarOp::kMul, r.dtype, a, b, {}, false);
      case Combiner::kMax:
      case Combiner::kAny: return evaluate_op(ScalarOp::kMax, r.dtype, a, b, {}, false);
      default: return evaluate_op(ScalarOp::kMin, r.dtype, a, b, {}, false);
    }
  }
  static bool is_arg(const Reduction& r) { return r.combiner == Combiner::kArgMax || r.combiner == Combiner::kArgMin; }
  static bool better(const Reduction& r, const Scalar& x, const Scalar& best) {
    const bool max = r.combiner == Combiner::kArgMax;
    if (is_real(r.dtype)) {
      if (std::isnan(best.real)) return false;
      return std::isnan(x.real) || (max ? x.real > best.real : x.real < best.real);
    }
    if (r.dtype == DType::kU64) {
      return max ? uint64_t(x.integer) > uint64_t(best.integer) : uint64_t(x.integer) < uint64_t(best.integer);
    }
    return max ? x.integer > best.integer : x.integer < best.integer;
  }

  struct Chain {  // of one lane or one element of a column
    Scalar total, part, best;
    int64_t index = -1;
    void start(const Scalar& id) { total = part = id; }
  };
  void join(const Reduction& r, Chain& chain, const Scalar& x, int64_t position) const {
    if (is_arg(r)) {
      if (chain.index < 0 || better(r, x, chain.best)) chain.best = x, chain.index = position;
    } else if (r.combiner == Combiner::kSum) {
      chain.part = combine(r, chain.part, x);
    } else {
      chain.total = combine(r, chain.total, x);
    }
  }
  void close_chunk(const Reduction& r, Chain& chain) const {
    if (r.combiner != Combiner::kSum) return;
    chain.total = combine(r, chain.total, chain.part);
    chain.part = identity(r);
  }

  void run_stage(const Stage& stage) {
    const size_t outer = p_.outer.size(), n = stage.axes.size();
    std::vector<int64_t> begin(n), end(n);
    for (size_t i = 0; i < n; ++i) {
      end[i] = size(stage.axes[i].extent);
      if (stage.axes[i].block > 0) {
        begin[i] = axis_[stage.axes[i].outer_axis] * stage.axes[i].block;
        end[i] = std::min(end[i], begin[i] + stage.axes[i].block);
      }
    }
    axis_.resize(outer + n);
    const auto loop = [&](auto&& self, size_t i, size_t stop, auto&& each) -> void {
      if (i == stop) return each();
      for (int64_t v = begin[i]; v < end[i]; ++v) {
        axis_[outer + i] = v;
        self(self, i + 1, stop, each);
      }
    };
    const auto position = [&](size_t count) {
      int64_t p = 0;
      for (size_t i = 0; i < count; ++i) p = p * size(stage.axes[i].extent) + axis_[outer + i];
      return p;
    };
    if (n == 0) {
      run_body(stage);
      store_all(stage);
      for (const RowValue& row : stage.rows) rows_[row.row] = values_[row.value];
    } else if (!stage.axes[0].reduced) {
      loop(loop, 0, n, [&] { run_body(stage), store_all(stage); });
    } else if (stage.axes.back().reduced) {
      const size_t count = stage.reductions.size();
      std::vector<std::vector<Chain>> lanes(count, std::vector<Chain>(target::kReduceLanes));
      for (size_t r = 0; r < count; ++r) {
        for (Chain& c : lanes[r]) c.start(identity(stage.reductions[r]));
      }
      loop(loop, 0, n - 1, [&] {
        for (int64_t v = begin[n - 1]; v < end[n - 1]; ++v) {
          axis_[outer + n - 1] = v;
          run_body(stage);
          const int64_t local = v - begin[n - 1];
          for (size_t r = 0; r < count; ++r) {
            const Reduction& red = stage.reductions[r];
            join(red, lanes[r][is_arg(red) ? 0 : local % target::kReduceLanes], values_[red.value], position(n));
            if ((local + 1) % target::kReduceChunk == 0 || v + 1 == end[n - 1]) {
              for (Chain& c : lanes[r]) close_chunk(red, c);
            }
          }
          store_all(stage);
        }
      });
      for (size_t r = 0; r < count; ++r) {
        const Reduction& red = stage.reductions[r];
        if (is_arg(red)) {
          rows_[red.row] = {DType::kI64, 0, std::max<int64_t>(0, lanes[r][0].index)};
          continue;
        }
        for (int64_t w = target::kReduceLanes / 2; w >= 1; w /= 2) {
          for (int64_t l = 0; l < w; ++l) lanes[r][l].total = combine(red, lanes[r][l].total, lanes[r][l + w].total);
        }
        rows_[red.row] = lanes[r][0].total;
      }
    } else {
      for (int64_t v = begin[n - 1]; v < end[n - 1]; ++v) {
        std::vector<Chain> chains(stage.reductions.size());
        for (size_t r = 0; r < chains.size(); ++r) chains[r].start(identity(stage.reductions[r]));
        loop(loop, 0, n - 1, [&] {
          axis_[outer + n - 1] = v;
          run_body(stage);
          const int64_t inner = axis_[outer + n - 2] - begin[n - 2];
          for (size_t r = 0; r < chains.size(); ++r) {
            join(stage.reductions[r], chains[r], values_[stage.reductions[r].value], position(n - 1));
            if ((inner + 1) % target::kSerialReduceChunk == 0 || axis_[outer + n - 2] + 1 == end[n - 2]) {
              close_chunk(stage.reductions[r], chains[r]);
            }
          }
          store_all(stage);
        });
        axis_[outer + n - 1] = v;
        for (size_t r = 0; r < chains.size(); ++r) {
          const Reduction& red = stage.reductions[r];
          const Scalar result = is_arg(red) ? Scalar{DType::kI64, 0, std::max<int64_t>(0, chains[r].index)} : chains[r].total;
          write_element(element(red.parameter, red.address), result);
        }
      }
    }
    axis_.resize(outer);
  }

  const KernelProgram& p_;
  const tenon_kernel_args& args_;
  bool has_fma_;
  std::vector<char*> memory_;
  std::vector<std::vector<char>> locals_;
  std::vector<int64_t> axis_;
  std::vector<Scalar> rows_;
  std::vector<Scalar> values_;
};

}  // namespace

void evaluate(const KernelProgram& program, const tenon_kernel_args& args, bool has_fma) {
  Evaluator(program, args, has_fma).run();
}

}  // namespace tenon::tests
