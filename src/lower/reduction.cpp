// Reductions over dims.
#include "lower/lowering.hpp"

namespace tenon::lower {
namespace {

using artifact::Combiner;

struct Entry {
  std::string_view name;
  Combiner combiner;
};
constexpr Entry kReductions[] = {
    {"prim.sum", Combiner::kSum},   {"prim.prod", Combiner::kProd}, {"prim.amax", Combiner::kMax},
    {"prim.amin", Combiner::kMin},  {"prim.any", Combiner::kAny},   {"prim.all", Combiner::kAll},
    {"prim.argmax", Combiner::kArgMax}, {"prim.argmin", Combiner::kArgMin},
};

Status lower_reduction(Lowering& l) {
  Combiner combiner = Combiner::kSum;
  for (const Entry& entry : kReductions) {
    if (entry.name == l.node().op->schema.name) combiner = entry.combiner;
  }
  const graph::Type& type = l.graph().type(l.node().results[0]);
  const Tensor x = l.tensor(0);
  std::vector<int64_t> dims;
  if (const auto* list = std::get_if<std::vector<Expr>>(&l.argument(1))) {
    for (Expr e : *list) dims.push_back(*l.pool().as_constant(e));
  } else {
    dims.push_back(*l.pool().as_constant(std::get<Expr>(l.argument(1))));
  }
  const DType accumulate = combiner == Combiner::kArgMax || combiner == Combiner::kArgMin ? x.dtype : type.dtype;
  Tensor reduced = l.reduce(x, combiner, accumulate, dims, "");
  if (combiner == Combiner::kSum && is_floating(type.dtype)) {
    // The lanes start from -0.0, which a sum over nothing would show; PyTorch's start is 0.
    const ScalarId zero = l.scalars().constant(0, type.dtype);
    reduced = l.inline_tensor(reduced.dtype, reduced.dims, [&l, at = reduced.at, zero](std::span<const Expr> i) {
      return l.scalars().binary(artifact::ScalarOp::kAdd, at(i), zero);
    });
  }
  l.define(0, l.reshape(reduced, type.dims));  // keepdim puts ones back
  return {};
}

// Each prefix is a reduction of its own: n^2 additions along the dim, which is right and slow; fine for position ids.
Status lower_cumsum(Lowering& l) {
  const Tensor x = l.tensor(0);
  const size_t dim = size_t(*l.pool().as_constant(std::get<Expr>(l.argument(1))));
  const graph::Type& type = l.graph().type(l.node().results[0]);
  const size_t rank = x.dims.size();
  if (rank == 0) {
    l.define(0, x);
    return {};
  }
  std::vector<Expr> dims = x.dims;
  dims.push_back(x.dims[dim]);
  const Tensor prefixes = l.inline_tensor(x.dtype, dims, [&l, x, dim, rank](std::span<const Expr> i) {
    std::vector<Expr> source(i.begin(), i.begin() + long(rank));
    source[dim] = i[rank];
    const ScalarId inside = l.compare(artifact::ScalarOp::kLe, i[rank], i[dim]);
    return l.scalars().select(inside, x.at(source), l.scalars().constant_int(0, x.dtype));
  });
  const int64_t last = int64_t(rank);
  l.define(0, l.reduce(prefixes, Combiner::kSum, type.dtype, std::span(&last, 1), "cumsum"));
  return {};
}

}  // namespace

std::span<const NamedRule> reduction_rules() {
  static const std::vector<NamedRule> rules = [] {
    std::vector<NamedRule> made;
    for (const Entry& entry : kReductions) made.push_back({entry.name, lower_reduction});
    made.push_back({"prim.cumsum", lower_cumsum});
    return made;
  }();
  return rules;
}

}  // namespace tenon::lower
