// Data-dependent reads: the row number is an i64 scalar, checked at run time, and then part of an index expression.
#include <algorithm>

#include "lower/lowering.hpp"

namespace tenon::lower {
namespace {

using artifact::ScalarOp;

const graph::Type& result_type(Lowering& l) { return l.graph().type(l.node().results[0]); }

// `index` made a position inside [0, extent), or the call fails. A check that is needed joins `checks`.
Expr checked(Lowering& l, ScalarId index, Expr extent, bool wrap, int64_t site, std::vector<ScalarId>& checks) {
  index = l.scalars().convert(index, DType::kI64);
  const loop::Scalar known = l.scalars()[index];
  if (known.op == ScalarOp::kIndex || known.op == ScalarOp::kConstant) {
    const Expr e = known.op == ScalarOp::kIndex ? known.index : l.pool().constant(known.bits);
    const auto inside = [&](symbolic::Relation relation, Expr a, Expr b) { return l.facts().prove({relation, a, b}) == symbolic::Truth::kTrue; };
    if (inside(symbolic::Relation::kLe, l.zero(), e) && inside(symbolic::Relation::kLt, e, extent)) return e;
  }
  loop::Scalar s;
  s.op = wrap ? ScalarOp::kWrapIndex : ScalarOp::kCheckIndex;
  s.dtype = DType::kI64;
  s.a = index;
  s.b = l.scalars().index(extent);
  s.bits = site;
  checks.push_back(l.scalars().intern(s));
  return l.scalars().as_index(checks.back());
}

// `value` with all of `checks` below it: reading a dim of size 1, or one that is only expanded, needs no position, yet a
// wrong index must fail.
ScalarId with_checks(Lowering& l, ScalarId value, const std::vector<ScalarId>& checks) {
  loop::Scalars& s = l.scalars();
  for (const ScalarId check : checks) {
    const std::vector<ScalarId> below = s.postorder({&value, 1});
    if (std::find(below.begin(), below.end(), check) != below.end()) continue;
    const ScalarId inside = s.binary(ScalarOp::kGe, check, s.constant(0, DType::kI64));
    value = s.select(inside, value, s.constant(0, s[value].dtype));
  }
  return value;
}

Status lower_take(Lowering& l) {
  const Tensor x = l.tensor(0), index = l.tensor(1);
  const size_t dim = size_t(*l.pool().as_constant(std::get<Expr>(l.argument(2))));
  const bool wrap = std::get<bool>(l.argument(3));
  const int64_t site = l.site("index out of range");
  l.define(0, l.inline_tensor(x.dtype, result_type(l).dims, [&l, x, index, dim, wrap, site](std::span<const Expr> i) {
    const size_t rank = index.dims.size();
    std::vector<ScalarId> checks;
    const Expr row = checked(l, index.at(i.subspan(dim, rank)), x.dims[dim], wrap, site, checks);
    std::vector<Expr> source(i.begin(), i.begin() + long(dim));
    source.push_back(row);
    source.insert(source.end(), i.begin() + long(dim + rank), i.end());
    return with_checks(l, x.at(source), checks);
  }));
  return {};
}

Status lower_gather(Lowering& l) {
  const Tensor x = l.tensor(0), index = l.tensor(2);
  const size_t dim = size_t(*l.pool().as_constant(std::get<Expr>(l.argument(1))));
  const int64_t site = l.site("index out of range");
  l.define(0, l.inline_tensor(x.dtype, result_type(l).dims, [&l, x, index, dim, site](std::span<const Expr> i) {
    std::vector<Expr> source(i.begin(), i.end());
    std::vector<ScalarId> checks;
    source[dim] = checked(l, index.at(i), x.dims[dim], false, site, checks);
    return with_checks(l, x.at(source), checks);
  }));
  return {};
}

// Advanced indexing: the index tensors broadcast together; their dims stand where the first indexed dim was when
// the indexed dims are adjacent, else in front.
Status lower_index(Lowering& l) {
  const Tensor x = l.tensor(0);
  const auto ids = std::get<std::vector<ValueId>>(l.argument(1));
  std::vector<size_t> indexed;
  size_t broadcast_rank = 0;
  for (size_t d = 0; d < ids.size(); ++d) {
    if (ids[d] == graph::kNoValue) continue;
    indexed.push_back(d);
    broadcast_rank = std::max(broadcast_rank, l.tensor_of(ids[d]).dims.size());
    if (l.tensor_of(ids[d]).dtype == DType::kBool) return l.error("boolean masks have sizes that depend on data");
  }
  bool adjacent = true;
  for (size_t k = 1; k < indexed.size(); ++k) adjacent = adjacent && indexed[k] == indexed[k - 1] + 1;
  const size_t front = indexed.empty() || !adjacent ? 0 : indexed[0];
  const int64_t site = l.site("index out of range");
  l.define(0, l.inline_tensor(x.dtype, result_type(l).dims,
                              [&l, x, ids, indexed, broadcast_rank, front, site](std::span<const Expr> i) {
    std::vector<Expr> source(x.dims.size());
    std::vector<ScalarId> checks;
    size_t next = 0;
    for (size_t d = 0; d < x.dims.size(); ++d) {
      const bool has_index = d < ids.size() && ids[d] != graph::kNoValue;
      if (has_index) {
        const Tensor& index = l.tensor_of(ids[d]);
        const size_t rank = index.dims.size();
        std::vector<Expr> at(rank);
        for (size_t k = 0; k < rank; ++k) {
          at[k] = l.is_one(index.dims[k]) ? l.zero() : i[front + broadcast_rank - rank + k];
        }
        source[d] = checked(l, index.at(at), x.dims[d], true, site, checks);
      } else {
        if (next == front) next += broadcast_rank;
        source[d] = i[next++];
      }
    }
    return with_checks(l, x.at(source), checks);
  }));
  return {};
}

}  // namespace

std::span<const NamedRule> index_rules() {
  static constexpr NamedRule kRules[] = {
      {"prim.take", lower_take}, {"prim.gather", lower_gather}, {"prim.index", lower_index}};
  return kRules;
}

}  // namespace tenon::lower
