// softmax and layer_norm as nests that the scheduler puts into one kernel: several stages over one row.
#include <algorithm>

#include "lower/lowering.hpp"

namespace tenon::lower {
namespace {

using artifact::Combiner;
using artifact::ScalarOp;

// A function of all indices that reads `reduced`, which lacks the dims in `gone`.
std::function<ScalarId(std::span<const Expr>)> without(const Tensor& reduced, std::vector<int64_t> gone) {
  return [at = reduced.at, gone](std::span<const Expr> i) {
    std::vector<Expr> kept;
    for (size_t d = 0; d < i.size(); ++d) {
      if (std::find(gone.begin(), gone.end(), int64_t(d)) == gone.end()) kept.push_back(i[d]);
    }
    return at(kept);
  };
}

Status lower_softmax(Lowering& l) {
  const std::vector<int64_t> dim{*l.pool().as_constant(std::get<Expr>(l.argument(1)))};
  const bool log = std::get<bool>(l.argument(2));
  const Tensor x = l.realize_if_shared(l.tensor(0), "x");
  auto& s = l.scalars();
  const auto largest = without(l.reduce(x, Combiner::kMax, x.dtype, dim, "max"), dim);
  const Tensor shifted = l.inline_tensor(x.dtype, x.dims, [&s, x, largest](std::span<const Expr> i) {
    return s.binary(ScalarOp::kSub, x.at(i), largest(i));
  });
  Tensor exponential = l.inline_tensor(x.dtype, x.dims, [&s, at = shifted.at](std::span<const Expr> i) {
    return s.unary(ScalarOp::kExp, at(i));
  });
  if (!log) exponential = l.realize(exponential, "exp");
  const auto total = without(l.reduce(exponential, Combiner::kSum, x.dtype, dim, "sum"), dim);
  l.define(0, l.inline_tensor(x.dtype, x.dims, [&s, log, total, at = log ? shifted.at : exponential.at](std::span<const Expr> i) {
    return log ? s.binary(ScalarOp::kSub, at(i), s.unary(ScalarOp::kLog, total(i))) : s.binary(ScalarOp::kDiv, at(i), total(i));
  }));
  return {};
}

Status lower_layer_norm(Lowering& l) {
  const Tensor x = l.realize_if_shared(l.tensor(0), "x");
  const size_t rank = x.dims.size();
  const size_t axes = size_t(*l.pool().as_constant(std::get<Expr>(l.argument(1))));
  const double eps = std::get<double>(l.argument(4));
  std::vector<int64_t> dims;
  Expr count = l.constant(1);
  for (size_t d = rank - axes; d < rank; ++d) {
    dims.push_back(int64_t(d));
    count = l.pool().mul(count, x.dims[d]);
  }
  auto& s = l.scalars();
  const DType t = x.dtype;
  const ScalarId n = s.convert(s.index(count), t);
  const auto sum = without(l.reduce(x, Combiner::kSum, t, dims, "sum"), dims);
  const Tensor centered = l.inline_tensor(t, x.dims, [&s, x, sum, n](std::span<const Expr> i) {
    return s.binary(ScalarOp::kSub, x.at(i), s.binary(ScalarOp::kDiv, sum(i), n));
  });
  const Tensor square = l.inline_tensor(t, x.dims, [&s, at = centered.at](std::span<const Expr> i) {
    const ScalarId d = at(i);
    return s.binary(ScalarOp::kMul, d, d);
  });
  const auto squares = without(l.reduce(square, Combiner::kSum, t, dims, "squares"), dims);
  const bool has_weight = !l.absent(2), has_bias = !l.absent(3);
  std::function<ScalarId(std::span<const Expr>)> weight, bias;
  if (has_weight) weight = l.operand(2, rank, t);
  if (has_bias) bias = l.operand(3, rank, t);
  l.define(0, l.inline_tensor(t, x.dims, [&s, at = centered.at, squares, n, eps, t, weight, bias](std::span<const Expr> i) {
    const ScalarId variance = s.binary(ScalarOp::kDiv, squares(i), n);
    const ScalarId scale = s.unary(ScalarOp::kRsqrt, s.binary(ScalarOp::kAdd, variance, s.constant(eps, t)));
    ScalarId value = s.binary(ScalarOp::kMul, at(i), scale);
    if (weight) value = s.binary(ScalarOp::kMul, value, weight(i));
    if (bias) value = s.binary(ScalarOp::kAdd, value, bias(i));
    return value;
  }));
  return {};
}

}  // namespace

std::span<const NamedRule> normalization_rules() {
  static constexpr NamedRule kRules[] = {{"prim.softmax", lower_softmax}, {"prim.layer_norm", lower_layer_norm}};
  return kRules;
}

}  // namespace tenon::lower
