// scaled_dot_product_attention: any batch dims are folded into the 4-d primitive. A row that may attend to nothing
// gives 0.
#include <algorithm>
#include <cmath>

#include "ops/emitter.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

// Where the optional arguments are.
struct Arguments {
  size_t mask = 0, dropout = 0, causal = 0, scale = 0;
  bool grouped = false;
};
Arguments arguments_of(const graph::Operator& op, std::span<const Argument> values) {
  const auto slot = [&](std::string_view argument) { return static_cast<size_t>(op.schema.find(argument)); };
  Arguments arguments{slot("attn_mask"), slot("dropout_p"), slot("is_causal"), slot("scale"), false};
  if (const int grouped = op.schema.find("enable_gqa"); grouped >= 0 && !values.empty()) {
    arguments.grouped = std::get<bool>(values[static_cast<size_t>(grouped)]);
  }
  return arguments;
}

struct Operands {
  Type query, key, value;
  Dims batch;  // without the two last dims of query
};

Result<Operands> operands_of(InferContext& context, bool grouped) {
  Operands operands;
  TENON_ASSIGN_OR_RETURN(operands.query, tensor_type_of(context, 0, 2));
  TENON_ASSIGN_OR_RETURN(operands.key, tensor_type_of(context, 1, 2));
  TENON_ASSIGN_OR_RETURN(operands.value, tensor_type_of(context, 2, 2));
  const Type& q = operands.query;
  if (!is_floating(q.dtype)) return context.error("query", "a floating dtype", name(q.dtype));
  for (size_t index : {size_t{1}, size_t{2}}) {
    const Type& type = index == 1 ? operands.key : operands.value;
    const std::string& argument = context.op().schema.arguments[index].name;
    if (type.dtype != q.dtype) return context.error(argument, name(q.dtype), name(type.dtype));
    if (type.rank() != q.rank()) {
      return context.error(argument, "rank " + std::to_string(q.rank()), describe(context.pool(), type));
    }
  }
  const size_t rank = q.rank();
  TENON_RETURN_IF_ERROR(expect_equal(context, "key", q.dims[rank - 1], operands.key.dims[rank - 1]));
  TENON_RETURN_IF_ERROR(
      expect_equal(context, "value", operands.key.dims[rank - 2], operands.value.dims[rank - 2]));
  // With grouped heads dim -3 of key and value is a divisor of that of query, the others broadcast.
  const size_t count = grouped && rank >= 3 ? rank - 3 : rank - 2;
  std::vector<Type> batches;
  for (const Type* type : {&operands.query, &operands.key, &operands.value}) {
    batches.push_back(graph::tensor_type(q.dtype, Dims(type->dims.begin(), type->dims.begin() + count)));
  }
  TENON_ASSIGN_OR_RETURN(operands.batch, context.broadcast(batches));
  if (count == rank - 3) operands.batch.push_back(q.dims[rank - 3]);
  return operands;
}

Types infer_attention(InferContext& context) {
  std::vector<Argument> values;
  for (size_t i = 0; i < context.size(); ++i) values.push_back(context.argument(i));
  const Arguments arguments = arguments_of(context.op(), values);
  TENON_ASSIGN_OR_RETURN(const Operands operands, operands_of(context, arguments.grouped));
  const auto* dropout = std::get_if<double>(&context.argument(arguments.dropout));
  if (!dropout || *dropout != 0) {
    return unimplemented(context.op().schema.name + ": dropout_p above 0 is not supported");
  }
  const Type& q = operands.query;
  const size_t rank = q.rank();
  Pool& pool = context.pool();
  if (arguments.grouped && rank >= 3) {
    const Expr heads = q.dims[rank - 3], groups = operands.key.dims[rank - 3];
    TENON_RETURN_IF_ERROR(expect_equal(context, "value", groups, operands.value.dims[rank - 3]));
    TENON_ASSIGN_OR_RETURN(const bool whole,
                           context.decide(Relation::kEq, pool.mod(heads, groups), pool.constant(0)));
    if (!whole) return context.error("key", "a number of heads that divides " + pool.print(heads), pool.print(groups));
  }
  if (!context.absent(arguments.mask)) {
    if (context.boolean(arguments.causal)) {
      return context.error("attn_mask", "none, as is_causal is true", "a tensor");
    }
    TENON_ASSIGN_OR_RETURN(const Type mask, tensor_type_of(context, arguments.mask));
    if (mask.dtype != DType::kBool && mask.dtype != q.dtype && mask.dtype != DType::kF32) {
      return context.error("attn_mask", "bool or " + std::string(name(q.dtype)), name(mask.dtype));
    }
    Dims scores = operands.batch;
    scores.push_back(q.dims[rank - 2]);
    scores.push_back(operands.key.dims[rank - 2]);
    if (mask.rank() > rank) {
      return context.error("attn_mask", "rank " + std::to_string(rank) + " or less", describe(pool, mask));
    }
    Dims target(scores.end() - static_cast<ptrdiff_t>(mask.rank()), scores.end());
    TENON_RETURN_IF_ERROR(resolve_expand(context, "attn_mask", mask.dims, std::move(target)).status());
  }
  if (context.absent(arguments.scale)) {
    const std::optional<int64_t> width = context.facts().specialize(q.dims[rank - 1], context.op().schema.name);
    if (!width) return InferContext::pending();
  }
  Dims dims = operands.batch;
  dims.push_back(q.dims[rank - 2]);
  dims.push_back(operands.value.dims[rank - 1]);
  return one(graph::tensor_type(q.dtype, std::move(dims), q.device));
}

// output, logsumexp [batch, heads, queries]
Types infer_flash(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type query, tensor_type_of(context, 0));
  if (query.rank() != 4) return context.error("query", "rank 4", describe(context.pool(), query));
  TENON_ASSIGN_OR_RETURN(std::vector<Type> types, infer_attention(context));
  Type sums = graph::tensor_type(compute_dtype(query.dtype), types[0].dims, query.device);
  sums.dims.pop_back();
  types.push_back(std::move(sums));
  return types;
}

// [batch.., rows, columns] with these batch dims as [B, H, rows, columns].
ValueRef folded(Emitter& e, ValueRef value, Dims batch) {
  const size_t rank = e.rank(value);
  if (!e.ok() || rank < 2) return {};
  const Expr rows = e.extent(value, rank - 2), columns = e.extent(value, rank - 1);
  Dims spread = batch;
  spread.push_back(rows);
  spread.push_back(columns);
  value = e.expand(value, std::move(spread));
  const Expr one = e.constant(1);
  Expr outer = one, heads = one;
  if (batch.size() == 1) {
    outer = batch[0];
  } else if (batch.size() >= 2) {
    heads = batch.back();
    outer = e.pool().product(std::span(batch).first(batch.size() - 1));
  }
  return e.reshape(value, {outer, heads, rows, columns});
}

struct Parts {
  ValueRef query, key, value;
  Argument mask;
  double scale = 1;
  bool causal = false;
};

Parts parts_of(Emitter& e) {
  DecomposeContext& context = e.context();
  const Arguments arguments = arguments_of(*context.node().op, context.node().arguments);
  Parts parts;
  const Dims result = e.result_dims();
  const Dims batch(result.begin(), result.end() - 2);
  Dims key_batch = batch;
  const ValueRef query = e.tensor(0), key = e.tensor(1), value = e.tensor(2);
  if (arguments.grouped && batch.size() >= 1) key_batch.back() = e.extent(key, e.rank(key) - 3);
  // Without dim -3 for heads, dim 0 is the batch and grouping has nothing to group.
  parts.query = folded(e, query, batch);
  parts.key = folded(e, key, key_batch);
  parts.value = folded(e, value, key_batch);
  parts.causal = e.boolean(arguments.causal);
  if (const std::optional<double> scale = e.absent(arguments.scale) ? std::nullopt : e.number(arguments.scale)) {
    parts.scale = *scale;
  } else if (e.absent(arguments.scale)) {
    const auto width = e.facts().specialize(e.extent(query, e.rank(query) - 1), e.origin());
    parts.scale = 1 / std::sqrt(static_cast<double>(width.value_or(1)));
  } else {
    e.fail(unimplemented(std::string(e.origin()) + ": a scale that is computed at run time"));
  }
  if (e.absent(arguments.mask)) return parts;
  ValueRef mask = e.tensor(arguments.mask);
  if (e.dtype(mask) != DType::kBool) mask = e.convert(mask, e.dtype(query));
  if (batch.size() == 2 || e.rank(mask) <= 2) {
    parts.mask = mask;
  } else if (batch.size() == 1) {
    parts.mask = e.unsqueeze(mask, 1);
  } else {
    parts.mask = folded(e, mask, batch);
  }
  return parts;
}

ValueRef attention_of(Emitter& e, const Parts& parts) {
  return e.call("prim.attention", {parts.query, parts.key, parts.value, parts.mask, parts.scale, parts.causal, true});
}

Values attention(DecomposeContext& context) {
  Emitter e(context);
  const Parts parts = parts_of(e);
  return e.done({e.reshape(attention_of(e, parts), e.result_dims())});
}

// log(sum(exp(scores))) of each row, computed apart: inference does not read it.
ValueRef logsumexp(Emitter& e, const Parts& parts) {
  if (!e.ok()) return {};
  const DType compute = compute_dtype(e.result_dtype());
  const ValueRef q = e.convert(parts.query, compute), k = e.convert(parts.key, compute);
  const Expr heads = e.extent(q, 1), rows = e.extent(q, 2), columns = e.extent(k, 2);
  if (decide_or(e.facts(), e.origin(), Relation::kEq, columns, e.constant(0), false)) {
    return e.full({e.extent(q, 0), heads, rows}, -HUGE_VAL, e.result_dtype(1));
  }
  ValueRef scores = e.mul(e.matmul(q, e.transpose(k, 2, 3)), parts.scale);
  const double lowest = -HUGE_VAL;
  if (const auto* mask = std::get_if<ValueRef>(&parts.mask)) {
    if (e.dtype(*mask) == DType::kBool) scores = e.where(*mask, scores, lowest);
    else scores = e.add(scores, e.convert(*mask, compute));
  }
  if (parts.causal) {
    const ValueRef row = e.reshape(e.iota(rows, DType::kI64), {rows, e.constant(1)});
    scores = e.where(e.pointwise("prim.le", {e.iota(columns, DType::kI64), row}), scores, lowest);
  }
  ValueRef maximum = e.reduce("prim.amax", scores, {3}, true);
  maximum = e.where(e.pointwise("prim.isinf", {maximum}), 0.0, maximum);
  const ValueRef sum = e.reduce("prim.sum", e.pointwise("prim.exp", {e.sub(scores, maximum)}), {3}, true);
  const ValueRef result = e.add(e.pointwise("prim.log", {sum}), maximum);
  return e.reshape(e.convert(result, e.result_dtype(1)), {e.extent(q, 0), heads, rows});
}

Values flash(DecomposeContext& context) {
  Emitter e(context);
  const Parts parts = parts_of(e);
  return e.done({e.reshape(attention_of(e, parts), e.result_dims()), logsumexp(e, parts)});
}

}  // namespace

void register_attention(graph::OperatorRegistry& registry) {
  const Row rows[] = {
      {"aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
       "Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, "
       "bool enable_gqa=False) -> Tensor", infer_attention, attention},
      {"aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
       "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, "
       "float? scale=None) -> (Tensor output, Tensor logsumexp)", infer_flash, flash},
  };
  add_rows(registry, rows);
}

}  // namespace tenon::ops
