// dropout when it does nothing; the random form needs a seed, which graphs do not have yet.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// input, p, train
Status expect_inactive(InferContext& context) {
  const auto* p = std::get_if<double>(&context.argument(1));
  const auto* train = std::get_if<bool>(&context.argument(2));
  if ((train && !*train) || (p && *p == 0)) return {};
  return unimplemented(context.op().schema.name + ": dropout with train=true and p above 0 is not supported; export "
                                                  "the model in evaluation mode");
}

Types infer_dropout(InferContext& context) {
  TENON_RETURN_IF_ERROR(expect_inactive(context));
  return infer_same(context);
}

Types infer_native_dropout(InferContext& context) {
  TENON_RETURN_IF_ERROR(expect_inactive(context));
  TENON_ASSIGN_OR_RETURN(std::vector<Type> types, infer_same(context));
  types.push_back(types[0]);
  types[1].dtype = DType::kBool;
  return types;
}

Values identity(DecomposeContext& context) { return std::vector<ValueId>{context.tensor(0)}; }

Values native_dropout(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef input = e.tensor(0);
  return e.done({input, e.full(e.result_dims(1), Argument(true), DType::kBool)});
}

}  // namespace

void register_dropout(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::dropout(Tensor input, float p, bool train) -> Tensor", infer_dropout, identity},
      {"aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
       infer_native_dropout, native_dropout},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
       infer_in_place<infer_dropout>, "aten.dropout"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
