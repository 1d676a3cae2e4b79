// Views: index maps. A view of memory stays a view of memory when strides can express it.
#include "lower/lowering.hpp"

namespace tenon::lower {

using artifact::ScalarOp;

Tensor Lowering::permute(const Tensor& tensor, std::span<const int64_t> order) {
  const std::vector<int64_t> axes(order.begin(), order.end());
  std::vector<Expr> dims;
  for (int64_t d : axes) dims.push_back(tensor.dims[size_t(d)]);
  if (tensor.view) {
    View view = *tensor.view;
    for (size_t d = 0; d < axes.size(); ++d) view.strides[d] = tensor.view->strides[size_t(axes[d])];
    return view_tensor(tensor.dtype, dims, view);
  }
  return inline_tensor(tensor.dtype, dims, [at = tensor.at, axes](std::span<const Expr> i) {
    std::vector<Expr> source(axes.size());
    for (size_t d = 0; d < axes.size(); ++d) source[size_t(axes[d])] = i[d];
    return at(source);
  });
}

Tensor Lowering::expand(const Tensor& tensor, std::vector<Expr> dims) {
  const size_t added = dims.size() - tensor.dims.size();
  std::vector<bool> repeats(tensor.dims.size());
  for (size_t d = 0; d < tensor.dims.size(); ++d) repeats[d] = is_one(tensor.dims[d]) && !is_one(dims[added + d]);
  if (tensor.view) {
    View view = *tensor.view;
    view.strides.assign(dims.size(), zero());
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (!repeats[d]) view.strides[added + d] = tensor.view->strides[d];
    }
    return view_tensor(tensor.dtype, std::move(dims), view);
  }
  return inline_tensor(tensor.dtype, std::move(dims), [this, at = tensor.at, added, repeats](std::span<const Expr> i) {
    std::vector<Expr> source(repeats.size());
    for (size_t d = 0; d < repeats.size(); ++d) source[d] = repeats[d] ? zero() : i[added + d];
    return at(source);
  });
}

namespace {

// Dims [from, from_end) of the source hold the same elements as [to, to_end) of the result.
struct Group {
  size_t from, from_end, to, to_end;
};

// Splits a reshape into the smallest groups whose products are provably equal. Dims of size 1 join any group.
std::vector<Group> match_dims(Lowering& l, std::span<const Expr> from, std::span<const Expr> to) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  auto& pool = l.pool();
  while (i < from.size() || j < to.size()) {
    Group group{i, i, j, j};
    Expr a = pool.constant(1), b = pool.constant(1);
    // Grow the side that lags behind until both products are equal; what cannot be told apart ends as one group.
    bool matched = false;
    for (size_t width = 1; !matched && width <= (from.size() - i) + (to.size() - j); ++width) {
      for (size_t take_from = 0; take_from <= width && !matched; ++take_from) {
        const size_t take_to = width - take_from;
        if (i + take_from > from.size() || j + take_to > to.size()) continue;
        a = pool.product(from.subspan(i, take_from));
        b = pool.product(to.subspan(j, take_to));
        if (l.facts().provably_equal(a, b)) {
          group.from_end = i + take_from;
          group.to_end = j + take_to;
          matched = true;
        }
      }
    }
    if (!matched) {
      group.from_end = from.size();
      group.to_end = to.size();
    }
    i = group.from_end;
    j = group.to_end;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

Tensor Lowering::reshape(const Tensor& tensor, std::vector<Expr> dims) {
  const std::vector<Group> groups = match_dims(*this, tensor.dims, dims);
  if (tensor.view) {
    // Memory can be viewed when within each group the source is one run of equal steps.
    View view = *tensor.view;
    view.strides.assign(dims.size(), zero());
    bool possible = true;
    for (const Group& group : groups) {
      std::vector<size_t> wide;
      for (size_t d = group.from; d < group.from_end; ++d) {
        if (!is_one(tensor.dims[d])) wide.push_back(d);
      }
      for (size_t w = 0; w + 1 < wide.size(); ++w) {
        const Expr run = facts().simplify(pool().mul(tensor.view->strides[wide[w + 1]], tensor.dims[wide[w + 1]]));
        // Dims of size 1 between them do not matter.
        if (!facts().provably_equal(tensor.view->strides[wide[w]], run)) possible = false;
      }
      Expr stride = wide.empty() ? constant(1) : tensor.view->strides[wide.back()];
      for (size_t d = group.to_end; d-- > group.to;) {
        view.strides[d] = stride;
        stride = facts().simplify(pool().mul(stride, dims[d]));
      }
    }
    if (possible) return view_tensor(tensor.dtype, std::move(dims), view);
  }
  const std::vector<Expr> from = tensor.dims, to = dims;
  return inline_tensor(tensor.dtype, std::move(dims), [this, at = tensor.at, groups, from, to](std::span<const Expr> i) {
    std::vector<Expr> source(from.size(), zero());
    for (const Group& group : groups) {
      if (group.from_end - group.from == 1 && group.to_end - group.to == 1) {
        source[group.from] = i[group.to];
        continue;
      }
      Expr linear = zero();
      for (size_t d = group.to; d < group.to_end; ++d) linear = pool().add(pool().mul(linear, to[d]), i[d]);
      bool first = true;
      for (size_t d = group.from_end; d-- > group.from;) {
        if (is_one(from[d])) continue;
        // The outermost wide dim needs no remainder.
        first = true;
        for (size_t outer = group.from; outer < d; ++outer) first = first && is_one(from[outer]);
        source[d] = facts().simplify(first ? linear : pool().mod(linear, from[d]));
        if (!first) linear = facts().simplify(pool().floor_div(linear, from[d]));
      }
    }
    return at(source);
  });
}

namespace {

const graph::Type& result_type(Lowering& l) { return l.graph().type(l.node().results[0]); }

std::vector<int64_t> constants(Lowering& l, size_t index) {
  std::vector<int64_t> out;
  for (Expr e : std::get<std::vector<Expr>>(l.argument(index))) out.push_back(*l.pool().as_constant(e));
  return out;
}

Status lower_reshape(Lowering& l) {
  const auto view = [&l, dims = result_type(l).dims](const Tensor& x) { return l.reshape(x, dims); };
  l.define(0, l.remember_view(view(l.tensor(0)), view));
  return {};
}

Status lower_permute(Lowering& l) {
  const auto view = [&l, order = constants(l, 1)](const Tensor& x) { return l.permute(x, order); };
  l.define(0, l.remember_view(view(l.tensor(0)), view));
  return {};
}

Status lower_expand(Lowering& l) {
  const auto view = [&l, dims = result_type(l).dims](const Tensor& x) { return l.expand(x, dims); };
  l.define(0, l.remember_view(view(l.tensor(0)), view));
  return {};
}

Tensor slice(Lowering& l, const Tensor& x, size_t dim, Expr start, Expr step, std::vector<Expr> dims) {
  if (x.view) {
    View view = *x.view;
    view.offset = l.facts().simplify(l.pool().add(view.offset, l.pool().mul(start, view.strides[dim])));
    view.strides[dim] = l.pool().mul(view.strides[dim], step);
    return l.view_tensor(x.dtype, std::move(dims), view);
  }
  return l.inline_tensor(x.dtype, std::move(dims), [&l, at = x.at, dim, start, step](std::span<const Expr> i) {
    std::vector<Expr> source(i.begin(), i.end());
    source[dim] = l.pool().add(start, l.pool().mul(step, i[dim]));
    return at(source);
  });
}

Status lower_slice(Lowering& l) {
  const size_t dim = size_t(*l.pool().as_constant(std::get<Expr>(l.argument(1))));
  const Expr start = std::get<Expr>(l.argument(2)), step = std::get<Expr>(l.argument(4));
  const auto view = [&l, dim, start, step, dims = result_type(l).dims](const Tensor& x) { return slice(l, x, dim, start, step, dims); };
  l.define(0, l.remember_view(view(l.tensor(0)), view));
  return {};
}

Status lower_flip(Lowering& l) {
  const Tensor x = l.tensor(0);
  const std::vector<int64_t> flipped = constants(l, 1);
  if (x.view) {
    View view = *x.view;
    for (int64_t d : flipped) {
      const Expr last = l.pool().sub(x.dims[size_t(d)], l.constant(1));
      view.offset = l.facts().simplify(l.pool().add(view.offset, l.pool().mul(last, view.strides[size_t(d)])));
      view.strides[size_t(d)] = l.pool().neg(view.strides[size_t(d)]);
    }
    l.define(0, l.view_tensor(x.dtype, x.dims, view));
    return {};
  }
  l.define(0, l.inline_tensor(x.dtype, x.dims, [&l, at = x.at, dims = x.dims, flipped](std::span<const Expr> i) {
    std::vector<Expr> source(i.begin(), i.end());
    for (int64_t d : flipped) {
      source[size_t(d)] = l.pool().sub(l.pool().sub(dims[size_t(d)], l.constant(1)), i[size_t(d)]);
    }
    return at(source);
  }));
  return {};
}

Status lower_pad(Lowering& l) {
  const Tensor x = l.tensor(0);
  const auto low = std::get<std::vector<Expr>>(l.argument(1));
  const auto high = std::get<std::vector<Expr>>(l.argument(2));
  auto fill = l.operand(3, 0, x.dtype);
  l.define(0, l.inline_tensor(x.dtype, result_type(l).dims, [&l, x, low, high, fill](std::span<const Expr> i) {
    ScalarId inside = l.scalars().constant_int(1, DType::kBool);
    std::vector<Expr> source(i.size());
    for (size_t d = 0; d < i.size(); ++d) {
      source[d] = l.facts().simplify(l.pool().sub(i[d], low[d]));
      if (!l.pool().is_constant(low[d], 0)) inside = l.both(inside, l.compare(ScalarOp::kGe, source[d], l.zero()));
      if (!l.pool().is_constant(high[d], 0)) inside = l.both(inside, l.compare(ScalarOp::kLt, source[d], x.dims[d]));
    }
    return l.scalars().select(inside, l.guarded(x.at(source), inside), fill({}));
  }));
  return {};
}

Status lower_cat(Lowering& l) {
  const auto ids = std::get<std::vector<ValueId>>(l.argument(0));
  const size_t dim = size_t(*l.pool().as_constant(std::get<Expr>(l.argument(1))));
  const graph::Type& type = result_type(l);
  std::vector<Tensor> parts;
  std::vector<Expr> starts;
  Expr start = l.zero();
  for (ValueId id : ids) {
    parts.push_back(l.tensor_of(id));
    starts.push_back(start);
    start = l.pool().add(start, parts.back().dims[dim]);
  }
  l.define(0, l.inline_tensor(type.dtype, type.dims, [&l, parts, starts, dim](std::span<const Expr> i) {
    ScalarId value;
    for (size_t p = parts.size(); p-- > 0;) {
      std::vector<Expr> source(i.begin(), i.end());
      source[dim] = l.facts().simplify(l.pool().sub(i[dim], starts[p]));
      const ScalarId from = l.compare(ScalarOp::kGe, i[dim], starts[p]);
      const ScalarId before = l.compare(ScalarOp::kLt, source[dim], parts[p].dims[dim]);
      const ScalarId element = l.guarded(parts[p].at(source), l.both(from, before));
      value = value.valid() ? l.scalars().select(before, element, value) : element;
    }
    return value;
  }));
  return {};
}

Status lower_iota(Lowering& l) {
  const graph::Type& type = result_type(l);
  l.define(0, l.inline_tensor(type.dtype, type.dims, [&l, to = type.dtype](std::span<const Expr> i) {
    return l.scalars().convert(l.scalars().index(i[0]), to);
  }));
  return {};
}

Status lower_full(Lowering& l) {
  const graph::Type& type = result_type(l);
  // An SSA scalar has a type of its own.
  const auto* ref = std::get_if<graph::ValueRef>(&l.argument(1));
  const DType from = ref != nullptr ? l.graph().type(ref->id).dtype : type.dtype;
  auto value = l.operand(1, 0, from);
  l.define(0, l.inline_tensor(type.dtype, type.dims, [&l, value, to = type.dtype](std::span<const Expr>) {
    return l.scalars().convert(value({}), to);
  }));
  return {};
}

}  // namespace

std::span<const NamedRule> view_rules() {
  static constexpr NamedRule kRules[] = {
      {"prim.reshape", lower_reshape}, {"prim.permute", lower_permute}, {"prim.expand", lower_expand},
      {"prim.slice", lower_slice},     {"prim.flip", lower_flip},       {"prim.pad", lower_pad},
      {"prim.cat", lower_cat},         {"prim.iota", lower_iota},       {"prim.full", lower_full},
  };
  return kRules;
}

}  // namespace tenon::lower
