// Writes the decomposition of a node: typed calls of primitives, the first failure is kept until done().
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "ops/infer.hpp"
#include "ops/shapes.hpp"

namespace tenon::ops {

using graph::DecomposeContext;
using Values = Result<std::vector<ValueId>>;

// An operand of a pointwise primitive: a value or a number, which adopts the dtype of the values beside it.
struct Operand {
  Argument argument;
  Operand(ValueRef value) : argument(value) {}          // NOLINT: implicit by intent
  Operand(double value) : argument(value) {}            // NOLINT
  Operand(Expr value) : argument(value) {}              // NOLINT
  Operand(Argument value) : argument(std::move(value)) {}  // NOLINT
};

// After a failure every method gives an invalid value and does nothing. Promotion and the rounding of half types happen
// here: operand(i, d) converts to the dtype of the computation, store(v, d) back to that of the result.
class Emitter {
 public:
  explicit Emitter(DecomposeContext& context) : context_(context) {}

  DecomposeContext& context() { return context_; }
  Pool& pool() { return context_.pool(); }
  Facts& facts() { return context_.graph().facts(); }
  std::string_view origin() const { return context_.node().op->schema.name; }
  const Type& type(ValueRef value) const;  // like dims(), valid until the next call
  const Dims& dims(ValueRef value) const { return type(value).dims; }
  Expr extent(ValueRef value, size_t dim) { return dim < rank(value) ? dims(value)[dim] : constant(1); }
  size_t rank(ValueRef value) const { return type(value).dims.size(); }
  DType dtype(ValueRef value) const { return type(value).dtype; }
  DType result_dtype(size_t index = 0) const { return context_.result_type(index).dtype; }
  // By value: calls may move the graph's types in memory.
  Dims result_dims(size_t index = 0) const { return context_.result_type(index).dims; }

  // Arguments of the node.
  bool absent(size_t index) const { return context_.absent(index); }
  ValueRef tensor(size_t index);  // a Tensor or Scalar argument as a tensor; a number becomes 0-d
  // A Tensor or Scalar argument in `dtype`: a converted tensor, or a number of the right kind.
  Operand operand(size_t index, DType dtype);
  std::vector<ValueRef> tensors(size_t index);  // of a Tensor[]
  Dims integers(size_t index);
  Expr integer(size_t index);
  bool boolean(size_t index) const { return std::get<bool>(context_.argument(index)); }
  int64_t dim(size_t index, size_t rank);       // made non-negative; inference has checked it
  Axes axes(size_t index, size_t rank);         // dims of a permutation
  Axes reduced(size_t index, size_t rank);      // dims of a reduction: absent or empty means all
  bool is_number(size_t index, double value) const;
  // A Scalar or float argument given as a number known now; nullopt for an SSA scalar or a symbolic integer.
  std::optional<double> number(size_t index) const;
  // Dtype of the promoted operands, before the result rule.
  DType promoted(std::initializer_list<size_t> operands);

  // Calls.
  ValueRef call(std::string_view op, std::vector<Argument> arguments);
  ValueRef pointwise(std::string_view op, std::initializer_list<Operand> operands);
  ValueRef add(Operand a, Operand b) { return pointwise("prim.add", {a, b}); }
  ValueRef sub(Operand a, Operand b) { return pointwise("prim.sub", {a, b}); }
  ValueRef mul(Operand a, Operand b) { return pointwise("prim.mul", {a, b}); }
  ValueRef div(Operand a, Operand b) { return pointwise("prim.div", {a, b}); }
  ValueRef max(Operand a, Operand b) { return pointwise("prim.max", {a, b}); }
  ValueRef min(Operand a, Operand b) { return pointwise("prim.min", {a, b}); }
  ValueRef where(ValueRef condition, Operand a, Operand b) { return pointwise("prim.where", {condition, a, b}); }
  ValueRef convert(ValueRef value, DType dtype);  // these leave out what changes nothing
  ValueRef store(ValueRef value) { return convert(value, result_dtype()); }
  ValueRef full(Dims size, Operand value, DType dtype);
  ValueRef iota(Expr size, DType dtype);
  ValueRef reshape(ValueRef value, Dims size);
  ValueRef permute(ValueRef value, const Axes& order);
  ValueRef transpose(ValueRef value, size_t a, size_t b);
  ValueRef expand(ValueRef value, Dims size);
  ValueRef unsqueeze(ValueRef value, size_t dim);
  ValueRef slice(ValueRef value, size_t dim, Expr start, Expr end, Expr step);
  ValueRef cat(std::span<const ValueRef> values, size_t dim);
  ValueRef reduce(std::string_view op, ValueRef value, const Axes& axes, bool keepdim);
  ValueRef matmul(ValueRef a, ValueRef b) { return call("prim.matmul", {a, b}); }

  Expr constant(int64_t value) { return pool().constant(value); }
  Dims constants(std::span<const int64_t> values);
  // Number of elements along the axes.
  Expr count(ValueRef value, const Axes& axes);

  void fail(Status status);
  bool ok() const { return status_.ok(); }
  Values done(std::initializer_list<ValueRef> results);
  Values done(std::span<const ValueRef> results);

 private:
  ValueRef as_tensor(const Argument& argument);

  DecomposeContext& context_;
  Status status_;
  Type none_;
};

}  // namespace tenon::ops
