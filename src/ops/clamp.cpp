// clamp: min(max(self, low), high); a NaN anywhere gives NaN.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Types infer_clamp(InferContext& context) {
  if (context.absent(1) && context.absent(2)) return context.error("min", "min or max to be given", "none of them");
  return infer_pointwise(context, {0, 1, 2}, ResultRule::kPromote);
}

Values clamp(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1, 2}));
  ValueRef x = e.convert(e.tensor(0), dtype);
  if (!e.absent(1)) x = e.max(x, e.operand(1, dtype));
  if (!e.absent(2)) x = e.min(x, e.operand(2, dtype));
  return e.done({e.store(x)});
}

template <Literal kPrim>
Values one_sided(DecomposeContext& context) {
  Emitter e(context);
  const DType dtype = compute_dtype(e.promoted({0, 1}));
  return e.done({e.store(e.pointwise(kPrim.view(), {e.operand(0, dtype), e.operand(1, dtype)}))});
}

constexpr graph::InferFn kSame = infer_binary<ResultRule::kPromote>;

}  // namespace

void register_clamp(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", infer_clamp, clamp},
      {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", infer_clamp, clamp},
      {"aten::clamp_min(Tensor self, Scalar min) -> Tensor", kSame, one_sided<"prim.max">},
      {"aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", kSame, one_sided<"prim.max">},
      {"aten::clamp_max(Tensor self, Scalar max) -> Tensor", kSame, one_sided<"prim.min">},
      {"aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", kSame, one_sided<"prim.min">},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
       infer_in_place<infer_clamp>, "aten.clamp"},
      {"aten::clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)",
       infer_in_place<infer_clamp>, "aten.clamp.Tensor"},
      {"aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)", infer_in_place<kSame>, "aten.clamp_min"},
      {"aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)", infer_in_place<kSame>, "aten.clamp_max"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
