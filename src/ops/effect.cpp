// Sizes as numbers, and assertions. What an assertion says about types is checked when the graph is built; what it says
// about data is dropped: a program that passes them behaves the same without.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Types infer_sym_size(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_RETURN_IF_ERROR(context.dim(1, self.rank()).status());
  return one(graph::scalar_type(DType::kI64));
}

Values sym_size(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  return e.done({e.full({}, e.extent(self, e.dim(1, e.rank(self))), DType::kI64)});
}

Types infer_sym_numel(InferContext& context) {
  TENON_RETURN_IF_ERROR(tensor_type_of(context, 0).status());
  return one(graph::scalar_type(DType::kI64));
}

Values sym_numel(DecomposeContext& context) {
  Emitter e(context);
  return e.done({e.full({}, e.pool().product(e.dims(e.tensor(0))), DType::kI64)});
}

// a, size, stride, dtype, device, layout
Types infer_metadata(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type type, tensor_type_of(context, 0));
  const DType dtype = dtype_or(context, 3, type.dtype);
  if (dtype != type.dtype) return context.error("a", name(dtype), name(type.dtype));
  if (!context.absent(1)) {
    TENON_ASSIGN_OR_RETURN(const Dims size, context.integers(1));
    if (size.size() != type.rank()) {
      return context.error("a", "sizes " + describe(context.pool(), size), describe(context.pool(), type));
    }
    for (size_t i = 0; i < size.size(); ++i) {
      TENON_RETURN_IF_ERROR(expect_equal(context, "a", size[i], type.dims[i]));
    }
  }
  return std::vector<Type>{};
}

Types infer_none(InferContext&) { return std::vector<Type>{}; }

// A condition that is known to be false is an error now.
Types infer_assert_scalar(InferContext& context) {
  const auto* condition = std::get_if<bool>(&context.argument(0));
  if (condition && !*condition) {
    return failed_precondition(context.op().schema.name + ": " + std::get<std::string>(context.argument(1)));
  }
  return std::vector<Type>{};
}

Values drop(DecomposeContext&) { return std::vector<ValueId>{}; }

}  // namespace

void register_effect(graph::OperatorRegistry& registry) {
  const Row sizes[] = {
      {"aten::sym_size.int(Tensor self, int dim) -> SymInt", infer_sym_size, sym_size},
      {"aten::sym_numel(Tensor self) -> SymInt", infer_sym_numel, sym_numel},
  };
  add_rows(registry, sizes);
  Row effects[] = {
      {"aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, "
       "ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()", infer_metadata, drop},
      {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", infer_assert_scalar, drop},
      {"aten::_assert_async(Tensor self) -> ()", infer_none, drop},
      {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", infer_none, drop},
      {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", infer_none, drop},
      {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", infer_none, drop},
  };
  for (Row& row : effects) row.effect = true;
  add_rows(registry, effects);
}

}  // namespace tenon::ops
