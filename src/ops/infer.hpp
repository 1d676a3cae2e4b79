// What inference functions of several families share.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "graph/operators.hpp"
#include "ops/promotion.hpp"

namespace tenon::ops {

using graph::Argument;
using graph::InferContext;
using graph::Type;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;
using symbolic::Facts;
using symbolic::Pool;
using symbolic::Relation;

using Types = Result<std::vector<Type>>;
using Dims = std::vector<Expr>;
using Axes = std::vector<int64_t>;

// The dtype of a pointwise result, from the promoted dtype of the operands.
enum class ResultRule : uint8_t {
  kPromote,  // as it is
  kFloat,    // integers and bool become f32
  kBool,     // bool
};

// Families register rows of these.
struct Row {
  std::string_view schema;
  graph::InferFn infer = nullptr;
  graph::DecomposeFn decompose = nullptr;
  bool pointwise = false;
  bool view = false;
  bool effect = false;
};
void add_rows(graph::OperatorRegistry& registry, std::span<const Row> rows);

// An in-place operator: `functional` has the same arguments and the inference function given.
struct InPlaceRow {
  std::string_view schema;
  graph::InferFn infer = nullptr;  // infer_in_place<inference of the functional operator>
  std::string_view functional;     // "aten.add.Tensor"
};
void add_in_place_rows(graph::OperatorRegistry& registry, std::span<const InPlaceRow> rows);

// The type of argument 0, when the functional result can be stored there: a dtype of the same or a higher category,
// and the same dims.
Types in_place_result(InferContext& context, Types functional);
template <graph::InferFn kFunctional>
Types infer_in_place(InferContext& context) {
  return in_place_result(context, kFunctional(context));
}

// Result of a pointwise operator on the arguments `operands` (absent ones are skipped), with PyTorch's promotion.
Types infer_pointwise(InferContext& context, std::initializer_list<size_t> operands, ResultRule rule);
template <ResultRule kRule>
Types infer_unary(InferContext& context) {
  return infer_pointwise(context, {0}, kRule);
}
template <ResultRule kRule>
Types infer_binary(InferContext& context) {
  return infer_pointwise(context, {0, 1}, kRule);
}
// Type of argument 0, unchanged.
Types infer_same(InferContext& context);

Result<DType> promoted(InferContext& context, std::span<const Type> types);

// Argument `index` as a dtype; `fallback` when it is absent.
DType dtype_or(const InferContext& context, size_t index, DType fallback);
graph::Device device_or(const InferContext& context, size_t index, graph::Device fallback);

// Each argument must be a tensor (not a number) of this many dims or more.
Result<Type> tensor_type_of(InferContext& context, size_t index, size_t min_rank = 0);
Status expect_integer_index(InferContext& context, size_t index, const Type& type);

// a == b for sizes: proven, or decided and guarded. Otherwise an error about `argument`.
Status expect_equal(InferContext& context, std::string_view argument, Expr expected, Expr found);

std::string describe(const Pool& pool, const Type& type);            // "f32[s0, 384]"
std::string describe(const Pool& pool, std::span<const Expr> dims);  // "[s0, 384]"

Expr product(Pool& pool, std::span<const Expr> dims);
Dims reduced_dims(Pool& pool, std::span<const Expr> dims, std::span<const int64_t> axes, bool keepdim);
// dims argument of a reduction: absent or empty means all. A 0-d tensor accepts 0 and -1.
Result<Axes> reduction_axes(InferContext& context, size_t index, size_t rank);
// aten.index.Tensor: arguments (tensor, Tensor?[]); the indexed dims stay in place when adjacent, else come first.
Types infer_advanced_index(InferContext& context);
// ctx.dim with a 0-d tensor taken as one of rank 1.
Result<int64_t> wrapped_dim(InferContext& context, size_t index, size_t rank);

inline std::vector<Type> one(Type type) {
  std::vector<Type> types;
  types.push_back(std::move(type));
  return types;
}

// For template arguments: registers one function for each primitive name.
template <size_t kSize>
struct Literal {
  char text[kSize];
  constexpr Literal(const char (&source)[kSize]) {  // NOLINT: implicit by intent
    for (size_t i = 0; i < kSize; ++i) text[i] = source[i];
  }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
};

}  // namespace tenon::ops
