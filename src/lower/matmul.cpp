// Matrix products and attention: templates over operands in memory.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lower/lowering.hpp"

namespace tenon::lower {
namespace {

using artifact::Combiner;
using artifact::ScalarOp;

const graph::Type& result_type(Lowering& l) { return l.graph().type(l.node().results[0]); }

SymbolId template_axis(Lowering& l, std::string_view prefix, Expr extent) {
  const SymbolId symbol = l.pool().fresh_symbol(prefix, symbolic::SymbolKind::kIndex);
  l.facts().set_index_bound(symbol, extent);
  return symbol;
}

// A batch dim of a product: its extent and the steps of both operands.
struct Batch {
  Expr extent, a, b;
};

// Batch dims with adjacent ones merged where both operands step evenly.
std::vector<Batch> merge_batch(Lowering& l, const Tensor& a, const Tensor& b) {
  std::vector<Batch> merged;
  for (size_t d = a.dims.size() - 2; d-- > 0;) {
    if (l.is_one(a.dims[d])) continue;
    const Batch next{a.dims[d], a.view->strides[d], b.view->strides[d]};
    if (!merged.empty()) {
      Batch& inner = merged.back();
      if (l.facts().provably_equal(next.a, l.pool().mul(inner.a, inner.extent)) &&
          l.facts().provably_equal(next.b, l.pool().mul(inner.b, inner.extent))) {
        inner.extent = l.pool().mul(inner.extent, next.extent);
        continue;
      }
    }
    merged.push_back(next);
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

// A product in another type than f32: a reduction like any other.
Tensor product_as_reduction(Lowering& l, const Tensor& a, const Tensor& b) {
  const size_t rank = a.dims.size();
  std::vector<Expr> dims = a.dims;
  dims.push_back(b.dims[rank - 1]);  // batch..., m, k, n
  const Tensor products = l.inline_tensor(a.dtype, dims, [&l, a, b, rank](std::span<const Expr> i) {
    std::vector<Expr> at_a(i.begin(), i.begin() + long(rank));
    std::vector<Expr> at_b(i.begin(), i.begin() + long(rank - 2));
    at_b.push_back(i[rank - 1]);
    at_b.push_back(i[rank]);
    return l.scalars().binary(ScalarOp::kMul, a.at(at_a), b.at(at_b));
  });
  const int64_t k = int64_t(rank) - 1;
  return l.reduce(products, Combiner::kSum, a.dtype, std::span(&k, 1), "matmul");
}

Status lower_matmul(Lowering& l) {
  const graph::Type& type = result_type(l);
  if (type.dtype != DType::kF32) {
    l.define(0, product_as_reduction(l, l.tensor(0), l.tensor(1)));
    return {};
  }
  Tensor a = l.in_memory(l.tensor(0), "a"), b = l.in_memory(l.tensor(1), "b");
  std::vector<Batch> batch = merge_batch(l, a, b);
  if (batch.size() > 2) {
    // Steps that two levels cannot express: copies whose batch is one run.
    a = l.realize(l.inline_tensor(a.dtype, a.dims, a.at), "a");
    b = l.realize(l.inline_tensor(b.dtype, b.dims, b.at), "b");
    batch = merge_batch(l, a, b);
  }
  const size_t rank = a.dims.size();
  const Expr one = l.constant(1);
  while (batch.size() < 2) batch.push_back({one, l.zero(), l.zero()});

  loop::MatMul product;
  product.batch_outer = batch[0].extent;
  product.batch_inner = batch[1].extent;
  product.m = a.dims[rank - 2];
  product.k = a.dims[rank - 1];
  product.n = b.dims[rank - 1];
  product.a = {a.view->buffer, a.view->offset, {batch[0].a, batch[1].a, a.view->strides[rank - 2], a.view->strides[rank - 1]}};
  product.b = {b.view->buffer, b.view->offset, {batch[0].b, batch[1].b, b.view->strides[rank - 2], b.view->strides[rank - 1]}};
  auto fixed = [&](Expr e) { return l.pool().as_constant(e).has_value(); };
  const bool one_b = l.pool().is_constant(batch[0].b, 0) && l.pool().is_constant(batch[1].b, 0);
  product.constant_b = l.module().buffers[b.view->buffer].role == loop::BufferRole::kConstant && one_b && fixed(product.k) &&
                       fixed(product.n) && fixed(b.view->offset) && fixed(product.b.strides[2]) && fixed(product.b.strides[3]);
  const Expr batches = l.pool().mul(product.batch_outer, product.batch_inner);
  product.axis_batch = template_axis(l, "mb", batches);
  product.axis_m = template_axis(l, "m", product.m);
  product.axis_n = template_axis(l, "n", product.n);

  const loop::BufferId out = l.new_buffer(type.dtype, type.dims, "matmul");
  loop::Template made;
  Expr offset = l.pool().add(l.pool().mul(l.pool().of(product.axis_batch), product.m), l.pool().of(product.axis_m));
  offset = l.pool().add(l.pool().mul(offset, product.n), l.pool().of(product.axis_n));
  made.stores.push_back({out, offset, l.scalars().accumulator(DType::kF32)});
  made.matmul = std::move(product);
  made.origin = l.node().origin.empty() ? l.node().op->schema.name : l.node().origin;
  l.module().statements.push_back({std::nullopt, std::move(made)});
  l.define(0, l.view_tensor(type.dtype, type.dims, View{out, l.zero(), l.row_major(type.dims)}));
  return {};
}

// An operand whose last dim is contiguous.
Tensor rows_in_memory(Lowering& l, const Tensor& tensor, std::string_view name) {
  const Tensor placed = l.in_memory(tensor, name);
  if (l.is_one(placed.view->strides.back()) || l.is_one(placed.dims.back())) return placed;
  return l.realize(l.inline_tensor(tensor.dtype, tensor.dims, tensor.at), name);
}

// The additive mask over only those of (b, h, q, k) that it depends on, in memory: it is read once for each head and query.
struct Mask {
  Tensor tensor;
  std::vector<size_t> axes;
};
Mask prepare_mask(Lowering& l, const graph::Type& scores, DType mask_type) {
  // Layers share their mask.
  if (auto known = l.masks().find(l.value(3)); known != l.masks().end()) return {known->second.first, known->second.second};
  auto at = l.operand(3, 4, mask_type);
  auto& s = l.scalars();
  auto additive = [&l, &s, at, mask_type](std::span<const Expr> i) {
    const ScalarId value = at(i);
    if (mask_type != DType::kBool) return s.convert(value, DType::kF32);
    return s.select(value, s.constant(0, DType::kF32), s.constant(-std::numeric_limits<double>::infinity(), DType::kF32));
  };
  std::vector<loop::Axis> axes;
  std::vector<Expr> probe;
  for (Expr extent : scores.dims) probe.push_back(l.new_axis(extent, axes));
  const ScalarId body = additive(probe);
  Mask mask;
  std::vector<Expr> dims;
  for (size_t d = 0; d < 4; ++d) {
    if (l.pool().kind(probe[d]) != symbolic::Kind::kSymbol) continue;
    const SymbolId symbol = l.pool().symbol_of(probe[d]);
    bool used = false;
    for (ScalarId id : s.postorder(std::span(&body, 1))) {
      const loop::Scalar& scalar = s[id];
      const bool indexes = scalar.op == ScalarOp::kIndex || scalar.op == ScalarOp::kLoad || scalar.op == ScalarOp::kMaskedLoad;
      used = used || (indexes && l.pool().depends_on(scalar.index, symbol));
    }
    if (!used) continue;
    mask.axes.push_back(d);
    dims.push_back(scores.dims[d]);
  }
  mask.tensor = l.realize(l.inline_tensor(DType::kF32, dims, [&l, additive, used = mask.axes](std::span<const Expr> i) {
    std::vector<Expr> full(4, l.zero());
    for (size_t d = 0; d < used.size(); ++d) full[used[d]] = i[d];
    return additive(full);
  }), "mask");
  l.masks().emplace(l.value(3), std::pair(mask.tensor, mask.axes));
  return mask;
}

Status lower_attention(Lowering& l) {
  const graph::Type& type = result_type(l);
  if (type.dtype != DType::kF32) return l.error("attention is lowered for f32 only");
  const Tensor q = rows_in_memory(l, l.tensor(0), "q");
  const Tensor k = rows_in_memory(l, l.tensor(1), "k");
  const Tensor v = rows_in_memory(l, l.tensor(2), "v");
  loop::Attention made;
  made.batch = q.dims[0];
  made.heads = q.dims[1];
  made.kv_heads = k.dims[1];
  made.queries = q.dims[2];
  made.keys = k.dims[2];
  made.depth = q.dims[3];
  made.value_depth = v.dims[3];
  for (Expr depth : {made.depth, made.value_depth}) {
    auto fixed = l.pool().as_constant(depth);
    if (!fixed || *fixed > 256) return l.error("head sizes above 256 or symbolic are not lowered");
  }
  made.q = {q.view->buffer, q.view->offset, q.view->strides};
  made.k = {k.view->buffer, k.view->offset, k.view->strides};
  made.v = {v.view->buffer, v.view->offset, v.view->strides};
  made.scale = std::get<double>(l.argument(4));
  made.causal = std::get<bool>(l.argument(5));
  made.safe = std::get<bool>(l.argument(6));
  made.axis_b = template_axis(l, "b", made.batch);
  made.axis_h = template_axis(l, "h", made.heads);
  made.axis_q = template_axis(l, "q", made.queries);
  made.axis_k = template_axis(l, "k", made.keys);
  made.axis_d = template_axis(l, "d", made.value_depth);
  auto& pool = l.pool();
  if (!l.absent(3)) {
    graph::Type scores = type;
    scores.dims[3] = made.keys;
    const Mask mask = prepare_mask(l, scores, l.tensor(3).dtype);
    const Expr axes[4] = {pool.of(made.axis_b), pool.of(made.axis_h), pool.of(made.axis_q), pool.of(made.axis_k)};
    std::vector<Expr> at;
    for (size_t d : mask.axes) at.push_back(axes[d]);
    made.score = l.scalars().binary(ScalarOp::kAdd, l.scalars().accumulator(DType::kF32), mask.tensor.at(at));
  }
  // Stored as [b, q, h, d], so that joining the heads again is a view.
  const std::vector<Expr> stored{made.batch, made.queries, made.heads, made.value_depth};
  const loop::BufferId out = l.new_buffer(type.dtype, stored, "attention");
  const std::vector<Expr> strides = l.row_major(stored);
  Expr offset = pool.of(made.axis_d);
  offset = pool.add(offset, pool.mul(pool.of(made.axis_b), strides[0]));
  offset = pool.add(offset, pool.mul(pool.of(made.axis_q), strides[1]));
  offset = pool.add(offset, pool.mul(pool.of(made.axis_h), strides[2]));
  loop::Template tmpl;
  tmpl.stores.push_back({out, offset, l.scalars().accumulator(DType::kF32)});
  tmpl.attention = std::move(made);
  tmpl.origin = l.node().origin.empty() ? l.node().op->schema.name : l.node().origin;
  l.module().statements.push_back({std::nullopt, std::move(tmpl)});
  l.define(0, l.view_tensor(type.dtype, type.dims, View{out, l.zero(), {strides[0], strides[2], strides[1], strides[3]}}));
  return {};
}

}  // namespace

std::span<const NamedRule> matmul_rules() {
  static constexpr NamedRule kRules[] = {{"prim.matmul", lower_matmul}, {"prim.attention", lower_attention}};
  return kRules;
}

}  // namespace tenon::lower
