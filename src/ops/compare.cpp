// Comparisons, maximum and minimum. Comparisons see operands rounded to the promoted dtype, so bf16(3.14) == 3.14.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Operand rounded(Emitter& e, size_t index, DType dtype) {
  const DType compute = compute_dtype(dtype);
  if (dtype == compute) return e.operand(index, dtype);
  if (const std::optional<double> value = e.number(index)) return round_to(dtype, *value);
  return e.convert(e.convert(e.tensor(index), dtype), compute);
}

template <Literal kPrim>
Values compare(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = e.promoted({0, 1});
  return e.done({e.pointwise(kPrim.view(), {rounded(e, 0, dtype), rounded(e, 1, dtype)})});
}

template <Literal kPrim>
Values extremum(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  return e.done({e.store(e.pointwise(kPrim.view(), {e.operand(0, dtype), e.operand(1, dtype)}))});
}

// NaN beside a number gives the number.
template <Literal kPrim>
Values ignoring_nan(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  const ValueRef a = e.convert(e.tensor(0), dtype), b = e.convert(e.tensor(1), dtype);
  ValueRef result = e.pointwise(kPrim.view(), {a, b});
  if (is_floating(dtype)) {
    result = e.where(e.pointwise("prim.isnan", {a}), b, e.where(e.pointwise("prim.isnan", {b}), a, result));
  }
  return e.done({e.store(result)});
}

constexpr graph::InferFn kBool = infer_binary<ResultRule::kBool>;
constexpr graph::InferFn kSame = infer_binary<ResultRule::kPromote>;

}  // namespace

void register_compare(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", kBool, compare<"prim.eq">},
      {"aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", kBool, compare<"prim.eq">},
      {"aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", kBool, compare<"prim.ne">},
      {"aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", kBool, compare<"prim.ne">},
      {"aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", kBool, compare<"prim.lt">},
      {"aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", kBool, compare<"prim.lt">},
      {"aten::le.Tensor(Tensor self, Tensor other) -> Tensor", kBool, compare<"prim.le">},
      {"aten::le.Scalar(Tensor self, Scalar other) -> Tensor", kBool, compare<"prim.le">},
      {"aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", kBool, compare<"prim.gt">},
      {"aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", kBool, compare<"prim.gt">},
      {"aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", kBool, compare<"prim.ge">},
      {"aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", kBool, compare<"prim.ge">},
      {"aten::maximum(Tensor self, Tensor other) -> Tensor", kSame, extremum<"prim.max">},
      {"aten::minimum(Tensor self, Tensor other) -> Tensor", kSame, extremum<"prim.min">},
      {"aten::max.other(Tensor self, Tensor other) -> Tensor", kSame, extremum<"prim.max">},
      {"aten::min.other(Tensor self, Tensor other) -> Tensor", kSame, extremum<"prim.min">},
      {"aten::fmax(Tensor self, Tensor other) -> Tensor", kSame, ignoring_nan<"prim.max">},
      {"aten::fmin(Tensor self, Tensor other) -> Tensor", kSame, ignoring_nan<"prim.min">},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
