#include <algorithm>
#include <cmath>

#include "reference/interpreter_node.hpp"

namespace tenon::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

int bits_of(DType dtype) { return int(size_bytes(dtype)) * 8; }

// ---- one real operand

double sign(double x) { return double(x > 0) - double(x < 0); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

using Real1 = double (*)(double);
const std::map<std::string_view, Real1> kReal1 = {
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"sign", sign},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", [](double x) { return std::nearbyint(x); }},
    {"trunc", [](double x) { return std::trunc(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"acosh", [](double x) { return std::acosh(x); }},
    {"atanh", [](double x) { return std::atanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"erfc", [](double x) { return std::erfc(x); }},
    {"sigmoid", sigmoid},
};

std::string_view short_name(const NodeView& node) { return node.name().substr(5); }  // after "prim."

Result<Dense> unary(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const std::string_view name = short_name(node);
  Dense result = x;
  if (x.is_real()) {
    const Real1 f = kReal1.at(name);
    for (double& value : result.reals) value = f(value);
    return result;
  }
  for (int64_t& value : result.integers) {
    const uint64_t bits = uint64_t(value);
    const bool negative = is_signed(x.dtype) && value < 0;
    if (name == "neg" || (name == "abs" && negative)) value = int64_t(0 - bits);
    else if (name == "sign") value = negative ? -1 : value != 0;
    else if (name == "bitwise_not") value = x.dtype == DType::kBool ? !value : int64_t(~bits);
    else if (name == "logical_not") value = !value;
    else if (name != "abs") return node.failed("not of integers");
  }
  return result;
}

Result<Dense> classify(const NodeView& node) {
  const Dense& x = node.tensor(0);
  Dense result = zeros(DType::kBool, x.dims);
  const bool nan = node.name() == "prim.isnan";
  for (size_t i = 0; i < x.size(); ++i) result.integers[i] = nan ? std::isnan(x.reals[i]) : std::isinf(x.reals[i]);
  return result;
}

// ---- two operands

double floor_divided(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

double real_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

using Real2 = double (*)(double, double);
const std::map<std::string_view, Real2> kReal2 = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }},
    {"floor_div", floor_divided},
    {"fmod", [](double a, double b) { return std::fmod(a, b); }},
    {"remainder", real_remainder},
    {"pow", [](double a, double b) { return std::pow(a, b); }},
    {"atan2", [](double a, double b) { return std::atan2(a, b); }},
    {"max", [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b); }},
    {"min", [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::min(a, b); }},
};

struct Divided {
  int64_t quotient, rest;  // truncating
};
Divided divided(int64_t a, int64_t b, DType dtype) {
  if (dtype == DType::kU64) return {int64_t(uint64_t(a) / uint64_t(b)), int64_t(uint64_t(a) % uint64_t(b))};
  if (b == -1) return {int64_t(0 - uint64_t(a)), 0};  // the lowest number has no positive twin
  return {a / b, a % b};
}

int64_t power(int64_t base, int64_t exponent, DType dtype) {
  if (is_signed(dtype) && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, factor = uint64_t(base);
  for (uint64_t left = uint64_t(exponent); left != 0; left /= 2) {
    if (left % 2 == 1) result *= factor;
    factor *= factor;
  }
  return int64_t(result);
}

bool less(int64_t a, int64_t b, DType dtype) { return dtype == DType::kU64 ? uint64_t(a) < uint64_t(b) : a < b; }

Result<int64_t> integer2(const NodeView& node, int64_t a, int64_t b, DType dtype) {
  const std::string_view name = short_name(node);
  const uint64_t ua = uint64_t(a), ub = uint64_t(b);
  if (name == "add") return int64_t(ua + ub);
  if (name == "sub") return int64_t(ua - ub);
  if (name == "mul") return int64_t(ua * ub);
  if (name == "pow") return power(a, b, dtype);
  if (name == "max") return less(a, b, dtype) ? b : a;
  if (name == "min") return less(b, a, dtype) ? b : a;
  if (name == "bitwise_and") return a & b;
  if (name == "bitwise_or") return a | b;
  if (name == "bitwise_xor") return a ^ b;
  const bool in_width = b >= 0 && b < bits_of(dtype);
  if (name == "shl") return in_width ? int64_t(ua << ub) : 0;
  if (name == "shr") {
    if (!in_width) return is_signed(dtype) && a < 0 ? -1 : 0;
    return dtype == DType::kU64 ? int64_t(ua >> ub) : a >> b;
  }
  if (b == 0) return node.failed("an integer is divided by 0");
  const Divided parts = divided(a, b, dtype);
  const bool down = is_signed(dtype) && parts.rest != 0 && (parts.rest < 0) != (b < 0);
  if (name == "div") return parts.quotient;
  if (name == "floor_div") return parts.quotient - down;
  if (name == "fmod") return parts.rest;
  if (name == "remainder") return down ? parts.rest + b : parts.rest;
  return node.failed("not of integers");
}

DType meeting(const NodeView& node, size_t first) {
  for (size_t i = first; i < node.count(); ++i) {
    if (node.is_tensor(i)) return node.tensor(i).dtype;
  }
  return node.result_type().dtype;
}

// Calls body(position in the result, position in a, position in b) for every element.
template <typename Body>
Status each(const Dense& a, const Dense& b, const Index& dims, Body body) {
  if (count_of(dims) == 0) return {};
  Index index(dims.size(), 0);
  size_t at = 0;
  do {
    const size_t i = size_t(broadcast_position(index, a.dims)), j = size_t(broadcast_position(index, b.dims));
    TENON_RETURN_IF_ERROR(body(at++, i, j));
  } while (advance(index, dims));
  return {};
}

Result<Dense> binary(const NodeView& node) {
  const DType dtype = meeting(node, 0);
  const Dense a = node.operand(0, dtype), b = node.operand(1, dtype);
  Dense result = zeros(dtype, broadcast_dims(a.dims, b.dims));
  const Real2 f = result.is_real() ? kReal2.at(short_name(node)) : nullptr;
  TENON_RETURN_IF_ERROR(each(a, b, result.dims, [&](size_t at, size_t i, size_t j) -> Status {
    if (result.is_real()) {
      result.reals[at] = f(a.reals[i], b.reals[j]);
    } else {
      TENON_ASSIGN_OR_RETURN(result.integers[at], integer2(node, a.integers[i], b.integers[j], dtype));
    }
    return {};
  }));
  return result;
}

template <typename T>
bool compared(std::string_view name, T a, T b) {
  if (name == "eq") return a == b;
  if (name == "ne") return a != b;
  if (name == "lt") return a < b;
  if (name == "le") return a <= b;
  if (name == "gt") return a > b;
  return a >= b;
}

Result<Dense> compare(const NodeView& node) {
  const DType dtype = meeting(node, 0);
  const Dense a = node.operand(0, dtype), b = node.operand(1, dtype);
  const std::string_view name = short_name(node);
  Dense result = zeros(DType::kBool, broadcast_dims(a.dims, b.dims));
  TENON_RETURN_IF_ERROR(each(a, b, result.dims, [&](size_t at, size_t i, size_t j) -> Status {
    int64_t& holds = result.integers[at];
    if (a.is_real()) holds = compared(name, a.reals[i], b.reals[j]);
    else if (dtype == DType::kU64) holds = compared(name, uint64_t(a.integers[i]), uint64_t(b.integers[j]));
    else holds = compared(name, a.integers[i], b.integers[j]);
    return {};
  }));
  return result;
}

Result<Dense> where(const NodeView& node) {
  const DType dtype = meeting(node, 1);
  const Dense& condition = node.tensor(0);
  const Dense a = node.operand(1, dtype), b = node.operand(2, dtype);
  Dense result = zeros(dtype, broadcast_dims(condition.dims, broadcast_dims(a.dims, b.dims)));
  if (result.size() == 0) return result;
  Index index(result.dims.size(), 0);
  size_t at = 0;
  do {
    const bool first = condition.integers[size_t(broadcast_position(index, condition.dims))] != 0;
    const Dense& from = first ? a : b;
    copy_element(result, at++, from, size_t(broadcast_position(index, from.dims)));
  } while (advance(index, result.dims));
  return result;
}

Result<Dense> fma(const NodeView& node) {
  const DType dtype = meeting(node, 0);
  const Dense a = node.operand(0, dtype), b = node.operand(1, dtype), c = node.operand(2, dtype);
  Dense result = zeros(dtype, broadcast_dims(c.dims, broadcast_dims(a.dims, b.dims)));
  if (result.size() == 0) return result;
  const bool single = node.precision() == Precision::kStorage && dtype != DType::kF64;
  Index index(result.dims.size(), 0);
  size_t at = 0;
  do {
    const double x = a.reals[size_t(broadcast_position(index, a.dims))];
    const double y = b.reals[size_t(broadcast_position(index, b.dims))];
    const double z = c.reals[size_t(broadcast_position(index, c.dims))];
    result.reals[at++] = single ? std::fma(float(x), float(y), float(z)) : std::fma(x, y, z);
  } while (advance(index, result.dims));
  return result;
}

int64_t truncated(double value) {
  return value >= -0x1p63 && value < 0x1p63 ? int64_t(value) : INT64_MIN;  // NaN too
}

Result<Dense> convert(const NodeView& node) {
  const Dense& x = node.tensor(0);
  Dense result = zeros(node.dtype(1), x.dims);
  for (size_t i = 0; i < x.size(); ++i) {
    if (result.is_real()) {
      result.reals[i] = x.number(i);
    } else if (result.dtype == DType::kBool) {
      result.integers[i] = x.is_real() ? x.reals[i] != 0 : x.integers[i] != 0;
    } else if (x.is_real()) {
      const bool large = result.dtype == DType::kU64 && x.reals[i] >= 0x1p63 && x.reals[i] < 0x1p64;
      result.integers[i] = large ? int64_t(uint64_t(x.reals[i])) : truncated(x.reals[i]);
    } else {
      result.integers[i] = x.integers[i];
    }
  }
  return result;
}

}  // namespace

void add_pointwise(RunTable& table) {
  const auto add = [&](std::string_view name, RunNode run) { table.emplace("prim." + std::string(name), run); };
  for (const auto& [name, f] : kReal1) add(name, unary);
  for (const std::string_view name : {"logical_not", "bitwise_not"}) add(name, unary);
  for (const std::string_view name : {"isnan", "isinf"}) add(name, classify);
  for (const auto& [name, f] : kReal2) add(name, binary);
  for (const std::string_view name : {"bitwise_and", "bitwise_or", "bitwise_xor", "shl", "shr"}) add(name, binary);
  for (const std::string_view name : {"eq", "ne", "lt", "le", "gt", "ge"}) add(name, compare);
  add("where", where);
  add("fma", fma);
  add("convert", convert);
}

}  // namespace tenon::testing
