// PyTorch's rules of type promotion.
#pragma once

#include <optional>
#include <span>

#include "graph/operators.hpp"

namespace tenon::ops {

// One operand of a promotion. Dimensioned tensors outrank 0-d tensors, which outrank wrapped numbers: a lower rank
// changes the result only when it is of a higher category (bool < integer < float).
struct PromotionOperand {
  DType dtype = DType::kF32;
  bool zero_dim = false;
  bool wrapped = false;  // a number: int is i64, float is f32 (the default dtype)
};

PromotionOperand promotion_operand(const graph::Type& type);

// The dtype that holds both; nullopt for u16, u32, u64 with another integer type, which PyTorch refuses.
std::optional<DType> promote_types(DType a, DType b);
// nullopt as above, and for an empty list.
std::optional<DType> promote(std::span<const PromotionOperand> operands);

// Integers and bool become the default floating type.
constexpr DType float_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::kF32; }
// Half types are stored, moved, selected and converted; arithmetic on them happens in f32.
constexpr DType compute_dtype(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}
// sum, prod and cumsum of bool and integers accumulate in i64.
constexpr DType sum_dtype(DType dtype) { return is_floating(dtype) ? dtype : DType::kI64; }
// May a result of type `from` be stored by an in-place operator into `to`? Float to integer and integer to bool not.
constexpr bool can_store(DType from, DType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  return from == DType::kBool || to != DType::kBool;
}
// The nearest value that `dtype` holds: rounds to half types and f32, others unchanged.
double round_to(DType dtype, double value);

}  // namespace tenon::ops
