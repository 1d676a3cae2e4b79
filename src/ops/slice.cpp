// Views that take a part: slice, select, narrow, split, chunk, unbind; and their inverses slice_scatter and
// select_scatter, which put a part back.
#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// The arguments of slice.Tensor from index `first`: dim, start, end, step.
struct SliceArguments {
  std::optional<Expr> start, end;
  Expr step;
};

Result<SliceArguments> slice_arguments(InferContext& context, size_t first) {
  SliceArguments arguments;
  if (!context.absent(first + 1)) {
    TENON_ASSIGN_OR_RETURN(arguments.start, context.integer(first + 1));
  }
  if (!context.absent(first + 2)) {
    TENON_ASSIGN_OR_RETURN(arguments.end, context.integer(first + 2));
  }
  TENON_ASSIGN_OR_RETURN(arguments.step, context.integer(first + 3));
  TENON_ASSIGN_OR_RETURN(const bool forward,
                         context.decide(Relation::kLt, context.pool().constant(0), arguments.step));
  if (!forward) return context.error("step", "1 or more", context.pool().print(arguments.step));
  return arguments;
}

SliceArguments slice_arguments(Emitter& e, size_t first) {
  SliceArguments arguments;
  if (!e.absent(first + 1)) arguments.start = e.integer(first + 1);
  if (!e.absent(first + 2)) arguments.end = e.integer(first + 2);
  arguments.step = e.integer(first + 3);
  return arguments;
}

SliceBounds bounds_of(Facts& facts, std::string_view origin, Expr extent, const SliceArguments& arguments) {
  return resolve_slice(facts, origin, extent, arguments.start, arguments.end, arguments.step);
}

Types infer_slice(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const SliceArguments arguments, slice_arguments(context, 1));
  self.dims[dim] = bounds_of(context.facts(), context.op().schema.name, self.dims[dim], arguments).length;
  return one(std::move(self));
}

Values slice(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const int64_t dim = e.dim(1, e.rank(self));
  const SliceArguments arguments = slice_arguments(e, 1);
  const SliceBounds bounds = bounds_of(e.facts(), e.origin(), e.extent(self, dim), arguments);
  return e.done({e.slice(self, dim, bounds.start, bounds.end, arguments.step)});
}

// A constant index is checked against a known extent; others by decision.
Status check_index(InferContext& context, std::string_view argument, Expr extent, Expr index) {
  Pool& pool = context.pool();
  TENON_ASSIGN_OR_RETURN(const bool below, context.decide(Relation::kLt, index, extent));
  TENON_ASSIGN_OR_RETURN(const bool above, context.decide(Relation::kLe, pool.neg(extent), index));
  if (below && above) return {};
  return context.error(argument, "an index in [-" + pool.print(extent) + ", " + pool.print(extent) + ")",
                       pool.print(index));
}

Types infer_select(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const Expr index, context.integer(2));
  TENON_RETURN_IF_ERROR(check_index(context, "index", self.dims[dim], index));
  self.dims.erase(self.dims.begin() + dim);
  return one(std::move(self));
}

ValueRef pick(Emitter& e, ValueRef self, int64_t dim, Expr start, Expr length) {
  return e.slice(self, dim, start, e.facts().simplify(e.pool().add(start, length)), e.constant(1));
}

Values select(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const int64_t dim = e.dim(1, e.rank(self));
  const Expr index = resolve_index(e.facts(), e.origin(), e.extent(self, dim), e.integer(2));
  return e.done({e.reshape(pick(e, self, dim, index, e.constant(1)), e.result_dims())});
}

Types infer_narrow(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank()));
  TENON_ASSIGN_OR_RETURN(const Expr start, context.integer(2));
  TENON_ASSIGN_OR_RETURN(const Expr length, context.integer(3));
  const Expr extent = self.dims[dim];
  const Expr first = resolve_index(context.facts(), context.op().schema.name, extent, start);
  TENON_ASSIGN_OR_RETURN(const bool inside,
                         context.decide(Relation::kLe, context.pool().add(first, length), extent));
  if (!inside) {
    return context.error("length", "start + length at most " + context.pool().print(extent),
                         context.pool().print(context.pool().add(first, length)));
  }
  self.dims[dim] = length;
  return one(std::move(self));
}

Values narrow(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const int64_t dim = e.dim(1, e.rank(self));
  const Expr start = resolve_index(e.facts(), e.origin(), e.extent(self, dim), e.integer(2));
  return e.done({pick(e, self, dim, start, e.integer(3))});
}

// Parts of `size` elements, the last one with the rest.
Types split_into(InferContext& context, const Type& self, int64_t dim, Expr size) {
  Pool& pool = context.pool();
  const Expr extent = self.dims[dim];
  std::vector<Type> parts;
  const auto part = [&](Expr length) {
    Type type = self;
    type.dims[dim] = length;
    parts.push_back(std::move(type));
  };
  TENON_ASSIGN_OR_RETURN(const bool positive, context.decide(Relation::kLt, pool.constant(0), size));
  if (!positive) {
    TENON_RETURN_IF_ERROR(expect_equal(context, "split_size", pool.constant(0), extent));
    part(extent);
    return parts;
  }
  const std::optional<Expr> exact = exact_divide(pool, extent, size);
  const Expr wanted = exact ? *exact : context.facts().simplify(pool.ceil_div(extent, size));
  const std::optional<int64_t> count = context.facts().specialize(wanted, context.op().schema.name);
  if (!count) return InferContext::pending();
  for (int64_t i = 0; i + 1 < *count; ++i) part(size);
  // An empty dim still gives one (empty) part.
  const int64_t before = *count > 0 ? *count - 1 : 0;
  part(exact && *count > 0 ? size : context.facts().simplify(pool.sub(extent, pool.mul(pool.constant(before), size))));
  return parts;
}

Types infer_split(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const Expr size, context.integer(1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  return split_into(context, self, dim, size);
}

Types infer_chunk(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t chunks, context.constant_int(1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  if (chunks < 1) return context.error("chunks", "1 or more", std::to_string(chunks));
  Pool& pool = context.pool();
  const Expr count = pool.constant(chunks);
  const Expr extent = self.dims[dim];
  const std::optional<Expr> exact = exact_divide(pool, extent, count);
  if (pool.is_constant(extent, 0)) return std::vector<Type>(static_cast<size_t>(chunks), self);
  return split_into(context, self, dim,
                    exact ? *exact : context.facts().simplify(pool.ceil_div(extent, count)));
}

Types infer_split_sizes(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const Dims sizes, context.integers(1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  Pool& pool = context.pool();
  std::vector<Type> parts;
  Expr sum = pool.constant(0);
  for (Expr size : sizes) {
    if (const auto known = pool.as_constant(size); known && *known < 0) {
      return context.error("split_sizes", "sizes of 0 or more", describe(pool, sizes));
    }
    sum = pool.add(sum, size);
    Type type = self;
    type.dims[dim] = size;
    parts.push_back(std::move(type));
  }
  TENON_RETURN_IF_ERROR(expect_equal(context, "split_sizes", self.dims[dim], sum));
  return parts;
}

// The results follow each other along `dim`, which is argument 2.
Values split(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const int64_t dim = e.dim(2, e.rank(self));
  std::vector<ValueRef> parts;
  Expr start = e.constant(0);
  for (size_t i = 0; i < context.node().results.size(); ++i) {
    const Expr length = e.result_dims(i)[dim];
    parts.push_back(pick(e, self, dim, start, length));
    start = e.facts().simplify(e.pool().add(start, length));
  }
  return e.done(parts);
}

Types infer_unbind(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank()));
  const std::optional<int64_t> count = context.facts().specialize(self.dims[dim], context.op().schema.name);
  if (!count) return InferContext::pending();
  self.dims.erase(self.dims.begin() + dim);
  return std::vector<Type>(static_cast<size_t>(*count), self);
}

Values unbind(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0);
  const int64_t dim = e.dim(1, e.rank(self));
  std::vector<ValueRef> parts;
  for (size_t i = 0; i < context.node().results.size(); ++i) {
    const ValueRef part = pick(e, self, dim, e.constant(static_cast<int64_t>(i)), e.constant(1));
    parts.push_back(e.reshape(part, e.result_dims(i)));
  }
  return e.done(parts);
}

Status expect_dims(InferContext& context, std::string_view argument, std::span<const Expr> expected,
                   std::span<const Expr> found) {
  if (expected.size() != found.size()) {
    return context.error(argument, "sizes " + describe(context.pool(), expected), describe(context.pool(), found));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    TENON_RETURN_IF_ERROR(expect_equal(context, argument, expected[i], found[i]));
  }
  return {};
}

// self, src, dim, start, end, step
Types infer_slice_scatter(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const Type source, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  TENON_ASSIGN_OR_RETURN(const SliceArguments arguments, slice_arguments(context, 2));
  Dims part = self.dims;
  part[dim] = bounds_of(context.facts(), context.op().schema.name, self.dims[dim], arguments).length;
  TENON_RETURN_IF_ERROR(expect_dims(context, "src", part, source.dims));
  return one(Type(self));
}

// Before, source, after; empty ends left out where that is known.
ValueRef put_between(Emitter& e, ValueRef self, ValueRef source, int64_t dim, Expr start, Expr end) {
  if (!e.ok()) return {};
  const Expr zero = e.constant(0), step = e.constant(1), extent = e.extent(self, dim);
  std::vector<ValueRef> parts;
  if (!e.facts().provably_equal(start, zero)) parts.push_back(e.slice(self, dim, zero, start, step));
  parts.push_back(source);
  if (!e.facts().provably_equal(end, extent)) parts.push_back(e.slice(self, dim, end, extent, step));
  return e.cat(parts, dim);
}

Values slice_scatter(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0), source = e.convert(e.tensor(1), e.result_dtype());
  const int64_t dim = e.dim(2, e.rank(self));
  const SliceArguments arguments = slice_arguments(e, 2);
  const Expr extent = e.extent(self, dim), step = arguments.step;
  const SliceBounds bounds = bounds_of(e.facts(), e.origin(), extent, arguments);
  if (e.pool().is_constant(step, 1)) return e.done({put_between(e, self, source, dim, bounds.start, bounds.end)});
  // Element i comes from source[(i - start) / step] when that is whole and inside.
  const ValueRef i = e.iota(extent, DType::kI64);
  const ValueRef offset = e.sub(i, bounds.start);
  const ValueRef on_step = e.pointwise("prim.eq", {e.pointwise("prim.remainder", {offset, step}), e.constant(0)});
  const ValueRef after = e.pointwise("prim.ge", {i, bounds.start}), before = e.pointwise("prim.lt", {i, bounds.end});
  ValueRef inside = e.pointwise("prim.bitwise_and", {on_step, e.pointwise("prim.bitwise_and", {after, before})});
  ValueRef position = e.where(inside, e.pointwise("prim.floor_div", {offset, step}), e.constant(0));
  if (e.pool().is_constant(bounds.length, 0)) return e.done({self});
  const ValueRef spread =
      e.call("prim.take", {source, position, e.constant(dim), false});
  Dims shape(e.rank(self), e.constant(1));
  shape[dim] = extent;
  inside = e.reshape(inside, shape);
  return e.done({e.where(inside, spread, self)});
}

// self, src, dim, index
Types infer_select_scatter(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, tensor_type_of(context, 0, 1));
  TENON_ASSIGN_OR_RETURN(const Type source, tensor_type_of(context, 1));
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  TENON_ASSIGN_OR_RETURN(const Expr index, context.integer(3));
  TENON_RETURN_IF_ERROR(check_index(context, "index", self.dims[dim], index));
  Dims part = self.dims;
  part.erase(part.begin() + dim);
  TENON_RETURN_IF_ERROR(expect_dims(context, "src", part, source.dims));
  return one(Type(self));
}

Values select_scatter(DecomposeContext& context) {
  Emitter e(context);
  const ValueRef self = e.tensor(0), source = e.convert(e.tensor(1), e.result_dtype());
  const int64_t dim = e.dim(2, e.rank(self));
  const Expr index = resolve_index(e.facts(), e.origin(), e.extent(self, dim), e.integer(3));
  const Expr next = e.facts().simplify(e.pool().add(index, e.constant(1)));
  return e.done({put_between(e, self, e.unsqueeze(source, dim), dim, index, next)});
}

}  // namespace

void register_slice(graph::OperatorRegistry& registry) {
  Row views[] = {
      {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
       "SymInt step=1) -> Tensor(a)", infer_slice, slice},
      {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", infer_select, select},
      {"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", infer_narrow, narrow},
      {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", infer_split, split},
      {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
       infer_split_sizes, split},
      {"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
       infer_split_sizes, split},
      {"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", infer_chunk, split},
      {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", infer_unbind, unbind},
  };
  for (Row& row : views) row.view = true;
  add_rows(registry, views);
  const Row rows[] = {
      {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
       "SymInt step=1) -> Tensor", infer_slice_scatter, slice_scatter},
      {"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
       infer_select_scatter, select_scatter},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
