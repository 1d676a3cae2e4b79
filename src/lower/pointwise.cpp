// Pointwise primitives: one scalar operation each, never a buffer by themselves.
#include "lower/lowering.hpp"

namespace tenon::lower {
namespace {

using artifact::ScalarOp;

struct Entry {
  std::string_view name;
  ScalarOp op;
};

// Primitives whose name is the scalar operation's.
constexpr Entry kUnary[] = {
    {"prim.neg", ScalarOp::kNeg},       {"prim.abs", ScalarOp::kAbs},     {"prim.sign", ScalarOp::kSign},
    {"prim.exp", ScalarOp::kExp},       {"prim.exp2", ScalarOp::kExp2},   {"prim.expm1", ScalarOp::kExpm1},
    {"prim.log", ScalarOp::kLog},       {"prim.log1p", ScalarOp::kLog1p}, {"prim.log2", ScalarOp::kLog2},
    {"prim.log10", ScalarOp::kLog10},   {"prim.sqrt", ScalarOp::kSqrt},   {"prim.rsqrt", ScalarOp::kRsqrt},
    {"prim.reciprocal", ScalarOp::kReciprocal}, {"prim.sin", ScalarOp::kSin}, {"prim.cos", ScalarOp::kCos},
    {"prim.tan", ScalarOp::kTan},       {"prim.asin", ScalarOp::kAsin},   {"prim.acos", ScalarOp::kAcos},
    {"prim.atan", ScalarOp::kAtan},     {"prim.sinh", ScalarOp::kSinh},   {"prim.cosh", ScalarOp::kCosh},
    {"prim.tanh", ScalarOp::kTanh},     {"prim.asinh", ScalarOp::kAsinh}, {"prim.acosh", ScalarOp::kAcosh},
    {"prim.atanh", ScalarOp::kAtanh},   {"prim.erf", ScalarOp::kErf},     {"prim.erfc", ScalarOp::kErfc},
    {"prim.sigmoid", ScalarOp::kSigmoid}, {"prim.floor", ScalarOp::kFloor}, {"prim.ceil", ScalarOp::kCeil},
    {"prim.round", ScalarOp::kRound},   {"prim.trunc", ScalarOp::kTrunc}, {"prim.isnan", ScalarOp::kIsNan},
    {"prim.isinf", ScalarOp::kIsInf},   {"prim.logical_not", ScalarOp::kLogicalNot},
    {"prim.bitwise_not", ScalarOp::kBitwiseNot},
};
constexpr Entry kBinary[] = {
    {"prim.add", ScalarOp::kAdd},   {"prim.sub", ScalarOp::kSub},     {"prim.mul", ScalarOp::kMul},
    {"prim.div", ScalarOp::kDiv},   {"prim.floor_div", ScalarOp::kFloorDiv}, {"prim.fmod", ScalarOp::kFmod},
    {"prim.remainder", ScalarOp::kRemainder}, {"prim.pow", ScalarOp::kPow}, {"prim.atan2", ScalarOp::kAtan2},
    {"prim.max", ScalarOp::kMax},   {"prim.min", ScalarOp::kMin},     {"prim.bitwise_and", ScalarOp::kAnd},
    {"prim.bitwise_or", ScalarOp::kOr}, {"prim.bitwise_xor", ScalarOp::kXor}, {"prim.shl", ScalarOp::kShl},
    {"prim.shr", ScalarOp::kShr},   {"prim.eq", ScalarOp::kEq},       {"prim.ne", ScalarOp::kNe},
    {"prim.lt", ScalarOp::kLt},     {"prim.le", ScalarOp::kLe},       {"prim.gt", ScalarOp::kGt},
    {"prim.ge", ScalarOp::kGe},
};

std::optional<ScalarOp> find(std::span<const Entry> table, std::string_view name) {
  for (const Entry& entry : table) {
    if (entry.name == name) return entry.op;
  }
  return std::nullopt;
}

// The type in which operands meet: that of the tensor operands, else of the result.
DType operand_type(Lowering& l, std::initializer_list<size_t> operands) {
  for (size_t i : operands) {
    if (std::holds_alternative<graph::ValueRef>(l.argument(i))) return l.tensor(i).dtype;
  }
  return l.graph().type(l.node().results[0]).dtype;
}

const graph::Type& result_type(Lowering& l) { return l.graph().type(l.node().results[0]); }

Status lower_unary(Lowering& l) {
  const ScalarOp op = *find(kUnary, l.node().op->schema.name);
  const graph::Type& type = result_type(l);
  auto x = l.operand(0, type.rank(), operand_type(l, {0}));
  l.define(0, l.inline_tensor(type.dtype, type.dims,
                              [&l, op, x](std::span<const Expr> i) { return l.scalars().unary(op, x(i)); }));
  return {};
}

bool fails_on_zero(ScalarOp op) {
  return op == ScalarOp::kDiv || op == ScalarOp::kFloorDiv || op == ScalarOp::kFmod || op == ScalarOp::kRemainder;
}

Status lower_binary(Lowering& l) {
  const ScalarOp op = *find(kBinary, l.node().op->schema.name);
  const graph::Type& type = result_type(l);
  const DType meet = operand_type(l, {0, 1});
  auto a = l.operand(0, type.rank(), meet);
  auto b = l.operand(1, type.rank(), meet);
  const int64_t site = fails_on_zero(op) && !is_floating(meet) ? l.site("integer division by zero") : 0;
  l.define(0, l.inline_tensor(type.dtype, type.dims, [&l, op, a, b, site](std::span<const Expr> i) {
    const ScalarId left = a(i), right = b(i);
    const ScalarId made = l.scalars().binary(op, left, right);
    if (site == 0) return made;
    loop::Scalar with_site = l.scalars()[made];
    with_site.bits = site;
    return l.scalars().intern(with_site);
  }));
  return {};
}

Status lower_where(Lowering& l) {
  const graph::Type& type = result_type(l);
  auto c = l.operand(0, type.rank(), DType::kBool);
  auto a = l.operand(1, type.rank(), type.dtype);
  auto b = l.operand(2, type.rank(), type.dtype);
  l.define(0, l.inline_tensor(type.dtype, type.dims,
                              [&l, c, a, b](std::span<const Expr> i) { return l.scalars().select(c(i), a(i), b(i)); }));
  return {};
}

Status lower_fma(Lowering& l) {
  const graph::Type& type = result_type(l);
  auto a = l.operand(0, type.rank(), type.dtype);
  auto b = l.operand(1, type.rank(), type.dtype);
  auto c = l.operand(2, type.rank(), type.dtype);
  l.define(0, l.inline_tensor(type.dtype, type.dims,
                              [&l, a, b, c](std::span<const Expr> i) { return l.scalars().fma(a(i), b(i), c(i)); }));
  return {};
}

Status lower_convert(Lowering& l) {
  const graph::Type& type = result_type(l);
  auto x = l.operand(0, type.rank(), operand_type(l, {0}));
  l.define(0, l.inline_tensor(type.dtype, type.dims,
                              [&l, x, to = type.dtype](std::span<const Expr> i) { return l.scalars().convert(x(i), to); }));
  return {};
}

}  // namespace

std::span<const NamedRule> pointwise_rules() {
  static const std::vector<NamedRule> rules = [] {
    std::vector<NamedRule> made;
    for (const Entry& entry : kUnary) made.push_back({entry.name, lower_unary});
    for (const Entry& entry : kBinary) made.push_back({entry.name, lower_binary});
    made.push_back({"prim.where", lower_where});
    made.push_back({"prim.fma", lower_fma});
    made.push_back({"prim.convert", lower_convert});
    return made;
  }();
  return rules;
}

}  // namespace tenon::lower
