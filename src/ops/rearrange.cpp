// flip, roll, repeat, pad, tril, triu, diff: elements in another order or with constants between.
#include <algorithm>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

Types infer_flip(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_RETURN_IF_ERROR(context.dims(1, self.rank()).status());
  return one(std::move(self));
}

Values flip(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const Axes axes = e.axes(1, e.rank(self));
  if (axes.empty() || e.rank(self) == 0) return e.done({self});
  return e.done({e.call("prim.flip", {self, e.constants(axes)})});
}

// self, shifts, dims; without dims the flattened tensor is rolled.
Types infer_roll(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Dims shifts, context.integers(1));
  TENON_ASSIGN_OR_RETURN(const Dims dims, context.integers(2));
  if (shifts.size() != dims.size() && !(dims.empty() && shifts.size() == 1)) {
    return context.error("shifts", std::to_string(dims.size()) + " shifts", std::to_string(shifts.size()));
  }
  for (Expr e : dims) {
    const std::optional<int64_t> dim = context.pool().as_constant(e);
    const int64_t rank = static_cast<int64_t>(std::max<size_t>(self.rank(), 1));
    if (!dim || *dim < -rank || *dim >= rank) {
      return context.error("dims", "dims below " + std::to_string(rank), context.pool().print(e));
    }
  }
  return one(std::move(self));
}

// Elements move up by shift; those that leave at the end come back at the front.
ValueRef roll_dim(Emitter& e, ValueRef x, int64_t dim, Expr shift) {
  if (!e.ok()) return {};
  Pool& pool = e.pool();
  const Expr extent = e.extent(x, dim);
  if (pool.is_constant(extent, 0)) return x;
  const Expr first = e.facts().simplify(pool.mod(pool.neg(shift), extent));
  if (pool.is_constant(first, 0)) return x;
  const Expr one = e.constant(1);
  const ValueRef parts[] = {e.slice(x, dim, first, extent, one), e.slice(x, dim, e.constant(0), first, one)};
  return e.cat(parts, dim);
}

Values roll(DecomposeContext& context) {
  Emitter e(context);
  ValueRef x = e.tensor(0);
  const Dims shifts = e.integers(1);
  const Dims shape = e.dims(x);
  const Axes axes = e.axes(2, shape.size());
  if (axes.empty() || shape.empty()) {
    x = e.reshape(x, {e.pool().product(shape)});
    return e.done({e.reshape(roll_dim(e, x, 0, shifts[0]), shape)});
  }
  for (size_t i = 0; i < axes.size(); ++i) x = roll_dim(e, x, axes[i], shifts[i]);
  return e.done({x});
}

// self, repeats: new dims come on the left.
Types infer_repeat(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(Dims repeats, context.integers(1));
  if (repeats.size() < self.rank()) {
    return context.error("repeats", std::to_string(self.rank()) + " repeats or more", std::to_string(repeats.size()));
  }
  Pool& pool = context.pool();
  const size_t added = repeats.size() - self.rank();
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (const auto known = pool.as_constant(repeats[i]); known && *known < 0) {
      return context.error("repeats", "repeats of 0 or more", describe(pool, repeats));
    }
    if (i >= added) repeats[i] = pool.mul(repeats[i], self.dims[i - added]);
  }
  return one(graph::tensor_type(self.dtype, std::move(repeats), self.device));
}

// A dim of n repeated r times is [1, n] expanded to [r, n].
Values repeat(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const Dims repeats = e.integers(1), from = e.dims(self);
  const size_t added = repeats.size() - from.size();
  Dims spread, target;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const Expr extent = i < added ? e.constant(1) : from[i - added];
    if (e.pool().is_constant(extent, 1)) {
      spread.push_back(extent);
      target.push_back(repeats[i]);
      continue;
    }
    if (!e.pool().is_constant(repeats[i], 1)) {
      spread.push_back(e.constant(1));
      target.push_back(repeats[i]);
    }
    spread.push_back(extent);
    target.push_back(extent);
  }
  return e.done({e.reshape(e.expand(e.reshape(self, spread), target), e.result_dims())});
}

// self, repeats, dim, output_size: each element repeats in place; without dim the tensor is flattened.
Types infer_repeat_interleave(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Expr repeats, context.integer(1));
  if (context.absent(2)) {
    Pool& pool = context.pool();
    return one(graph::tensor_type(self.dtype, {pool.mul(repeats, product(pool, self.dims))}, self.device));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t dim, wrapped_dim(context, 2, self.rank()));
  if (self.rank() == 0) self.dims.push_back(context.pool().constant(1));
  self.dims[dim] = context.pool().mul(self.dims[dim], repeats);
  return one(std::move(self));
}

Values repeat_interleave(DecomposeContext& context) {
  Emitter e(context);
  ValueRef x = e.tensor(0);
  if (e.absent(2) || e.rank(x) == 0) x = e.reshape(x, {e.pool().product(e.dims(x))});
  const int64_t dim = e.absent(2) ? 0 : e.dim(2, e.rank(x));
  x = e.unsqueeze(x, dim + 1);
  Dims target = e.dims(x);
  target[dim + 1] = e.integer(1);
  return e.done({e.reshape(e.expand(x, target), e.result_dims())});
}

// self, pad (last dim first: low, high, low, high ...), value; negative sizes cut.
Types infer_pad(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(const Dims pad, context.integers(1));
  Pool& pool = context.pool();
  if (pad.size() % 2 != 0 || pad.size() > 2 * self.rank()) {
    return context.error("pad", "an even number of sizes, at most " + std::to_string(2 * self.rank()),
                         std::to_string(pad.size()));
  }
  for (size_t i = 0; i < pad.size(); i += 2) {
    Expr& extent = self.dims[self.rank() - 1 - i / 2];
    extent = pool.add(extent, pool.add(pad[i], pad[i + 1]));
    if (const auto known = pool.as_constant(extent); known && *known < 0) {
      return context.error("pad", "sizes that leave 0 elements or more", describe(pool, pad));
    }
    for (Expr size : {pad[i], pad[i + 1]}) {
      TENON_RETURN_IF_ERROR(context.decide(Relation::kLt, size, pool.constant(0)).status());
    }
  }
  return one(std::move(self));
}

// What lies outside of the tensor: its mirror image without the edge, its edge, or the tensor again.
enum class Border : uint8_t { kReflect, kReplicate, kCircular };

std::optional<Border> border_of(std::string_view mode) {
  if (mode == "reflect") return Border::kReflect;
  if (mode == "replicate") return Border::kReplicate;
  if (mode == "circular") return Border::kCircular;
  return std::nullopt;
}

// A border is never wider than what it is made of.
Types infer_border(InferContext& context, Border border) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0));
  TENON_ASSIGN_OR_RETURN(std::vector<Type> types, infer_pad(context));
  TENON_ASSIGN_OR_RETURN(const Dims pad, context.integers(1));
  Pool& pool = context.pool();
  const std::string& argument = context.op().schema.arguments[1].name;
  for (size_t i = 0; i < pad.size(); ++i) {
    const Expr extent = self.dims[self.rank() - 1 - i / 2];
    const Expr least = border == Border::kReflect ? pool.add(pad[i], pool.constant(1))
                       : border == Border::kReplicate ? pool.constant(1) : pad[i];
    TENON_ASSIGN_OR_RETURN(const bool fits, context.decide(Relation::kLe, least, extent));
    if (!fits) return context.error(argument, "borders no wider than " + pool.print(extent) + " allows", pool.print(pad[i]));
  }
  return types;
}

template <Border kBorder>
Types infer_border(InferContext& context) { return infer_border(context, kBorder); }

Types infer_pad_mode(InferContext& context) {
  const std::string& mode = std::get<std::string>(context.argument(2));
  if (mode == "constant") return infer_pad(context);
  const std::optional<Border> border = border_of(mode);
  if (!border) return context.error("mode", "\"constant\", \"reflect\", \"replicate\" or \"circular\"", mode);
  return infer_border(context, *border);
}

Values pad_with(Emitter& e, Operand value) {
  ValueRef x = e.tensor(0);
  const Dims pad = e.integers(1);
  const Expr zero = e.constant(0);
  const size_t rank = e.rank(x);
  Dims low(rank, zero), high(rank, zero);
  bool grows = false;
  for (size_t i = 0; i < pad.size(); i += 2) {
    const size_t dim = rank - 1 - i / 2;
    const bool cuts_low = decide_or(e.facts(), e.origin(), Relation::kLt, pad[i], zero, false);
    const bool cuts_high = decide_or(e.facts(), e.origin(), Relation::kLt, pad[i + 1], zero, false);
    if (cuts_low || cuts_high) {
      const Expr start = cuts_low ? e.pool().neg(pad[i]) : zero;
      const Expr end = cuts_high ? e.pool().add(e.extent(x, dim), pad[i + 1]) : e.extent(x, dim);
      x = e.slice(x, dim, start, end, e.constant(1));
    }
    if (!cuts_low) low[dim] = pad[i];
    if (!cuts_high) high[dim] = pad[i + 1];
    grows |= low[dim] != zero || high[dim] != zero;
  }
  if (!grows) return e.done({x});
  return e.done({e.call("prim.pad", {x, std::move(low), std::move(high), std::move(value.argument)})});
}

Values constant_pad(DecomposeContext& context) {
  Emitter e(context);
  return pad_with(e, e.operand(2, e.result_dtype()));
}

// Picks rows dim by dim: row i of the result is row i - low of the tensor, brought inside.
Values with_border(DecomposeContext& context, Border border) {
  Emitter e(context);
  ValueRef x = e.tensor(0);
  const Dims pad = e.integers(1);
  const size_t rank = e.rank(x);
  for (size_t i = 0; i < pad.size(); i += 2) {
    const Expr zero = e.constant(0);
    if (pad[i] == zero && pad[i + 1] == zero) continue;
    const size_t dim = rank - 1 - i / 2;
    const Expr extent = e.extent(x, dim), last = e.pool().sub(extent, e.constant(1));
    ValueRef row = e.iota(e.pool().add(extent, e.pool().add(pad[i], pad[i + 1])), DType::kI64);
    row = e.sub(row, pad[i]);
    switch (border) {
      case Border::kReflect:
        row = e.pointwise("prim.abs", {row});
        row = e.sub(last, e.pointwise("prim.abs", {e.sub(last, row)}));
        break;
      case Border::kReplicate: row = e.min(e.max(row, zero), last); break;
      case Border::kCircular: row = e.pointwise("prim.remainder", {row, extent}); break;
    }
    x = e.call("prim.take", {x, row, e.constant(static_cast<int64_t>(dim)), false});
  }
  return e.done({x});
}

template <Border kBorder>
Values with_border(DecomposeContext& context) { return with_border(context, kBorder); }

Values pad_mode(DecomposeContext& context) {
  if (const auto border = border_of(std::get<std::string>(context.argument(2)))) return with_border(context, *border);
  Emitter e(context);
  return pad_with(e, e.absent(3) ? Operand(e.constant(0)) : e.operand(3, e.result_dtype()));
}

Types infer_triangle(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0, 2));
  TENON_RETURN_IF_ERROR(context.integer(1).status());
  return one(std::move(self));
}

// Keeps column - row <= diagonal (tril) or >= diagonal (triu).
template <Literal kCompare>
Values triangle(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const Dims shape = e.dims(self);
  const Expr rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  ValueRef row = e.reshape(e.iota(rows, DType::kI64), {rows, e.constant(1)});
  if (!e.is_number(1, 0)) row = e.add(row, e.integer(1));
  const ValueRef keep = e.pointwise(kCompare.view(), {e.iota(columns, DType::kI64), row});
  const Operand zero = e.dtype(self) == DType::kBool ? Operand(Argument(false)) : Operand(e.constant(0));
  return e.done({e.where(keep, self, zero)});
}

// self, n, dim, prepend, append: n times the difference of neighbours.
Types infer_diff(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t order, context.constant_int(1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  if (order < 0) return context.error("n", "0 or more", std::to_string(order));
  Pool& pool = context.pool();
  for (size_t index : {size_t{3}, size_t{4}}) {
    if (context.absent(index)) continue;
    TENON_ASSIGN_OR_RETURN(const Type end, tensor_type_of(context, index));
    const std::string& argument = context.op().schema.arguments[index].name;
    if (end.rank() != self.rank()) {
      return context.error(argument, "rank " + std::to_string(self.rank()), describe(pool, end));
    }
    if (end.dtype != self.dtype) return context.error(argument, name(self.dtype), name(end.dtype));
    self.dims[dim] = pool.add(self.dims[dim], end.dims[dim]);
  }
  TENON_ASSIGN_OR_RETURN(const bool enough, context.decide(Relation::kLe, pool.constant(order), self.dims[dim]));
  self.dims[dim] = enough ? context.facts().simplify(pool.sub(self.dims[dim], pool.constant(order))) : pool.constant(0);
  return one(std::move(self));
}

Values diff(DecomposeContext& context) {
  Emitter e(context);
  std::vector<ValueRef> parts;
  if (!e.absent(3)) parts.push_back(e.tensor(3));
  parts.push_back(e.tensor(0));
  if (!e.absent(4)) parts.push_back(e.tensor(4));
  const int64_t dim = e.dim(2, e.rank(parts[0]));
  ValueRef x = e.cat(parts, dim);
  const int64_t order = static_cast<int64_t>(e.number(1).value_or(1));
  const DType dtype = e.result_dtype(), compute = compute_dtype(dtype);
  const Expr one = e.constant(1);
  for (int64_t i = 0; i < order && e.ok(); ++i) {
    const Expr extent = e.extent(x, dim);
    if (e.pool().is_constant(extent, 0)) break;
    const ValueRef upper = e.slice(x, dim, one, extent, one);
    const ValueRef lower = e.slice(x, dim, e.constant(0), e.facts().simplify(e.pool().sub(extent, one)), one);
    if (dtype == DType::kBool) x = e.pointwise("prim.bitwise_xor", {upper, lower});
    else x = e.convert(e.pointwise("prim.sub", {e.convert(upper, compute), e.convert(lower, compute)}), dtype);
  }
  return e.done({x});
}

}  // namespace

void register_rearrange(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::flip(Tensor self, int[] dims) -> Tensor", infer_flip, flip},
      {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", infer_roll, roll},
      {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", infer_repeat, repeat},
      {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
       "SymInt? output_size=None) -> Tensor", infer_repeat_interleave, repeat_interleave},
      {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", infer_pad, constant_pad},
      {"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", infer_pad_mode,
       pad_mode},
      {"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", infer_border<Border::kReflect>,
       with_border<Border::kReflect>},
      {"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", infer_border<Border::kReflect>,
       with_border<Border::kReflect>},
      {"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", infer_border<Border::kReflect>,
       with_border<Border::kReflect>},
      {"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", infer_border<Border::kReplicate>,
       with_border<Border::kReplicate>},
      {"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", infer_border<Border::kReplicate>,
       with_border<Border::kReplicate>},
      {"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", infer_border<Border::kReplicate>,
       with_border<Border::kReplicate>},
      {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", infer_triangle, triangle<"prim.le">},
      {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", infer_triangle, triangle<"prim.ge">},
      {"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
       infer_diff, diff},
  };
  add_rows(registry, rows);
  const InPlaceRow in_place[] = {
      {"aten::tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", infer_in_place<infer_triangle>, "aten.tril"},
      {"aten::triu_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", infer_in_place<infer_triangle>, "aten.triu"},
  };
  add_in_place_rows(registry, in_place);
}

}  // namespace tenon::ops
