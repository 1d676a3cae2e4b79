#include "test_operators.hpp"

#include <algorithm>

namespace tenon::graph {
namespace {

Result<std::vector<Type>> same_as_first(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type type, context.type(0));
  type.strides.clear();
  return std::vector<Type>{type};
}

Result<std::vector<Type>> in_place(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type type, context.type(0));
  return std::vector<Type>{type};
}

Result<std::vector<Type>> add(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  TENON_ASSIGN_OR_RETURN(const Type other, context.type(1));
  const Type both[] = {self, other};
  TENON_ASSIGN_OR_RETURN(std::vector<Expr> dims, context.broadcast(both));
  return std::vector<Type>{tensor_type(self.dtype, std::move(dims), self.device)};
}

Result<std::vector<Type>> mm(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  TENON_ASSIGN_OR_RETURN(const Type other, context.type(1));
  if (self.rank() != 2 || other.rank() != 2) return context.error("self", "two matrices", "something else");
  TENON_ASSIGN_OR_RETURN(const bool same, context.decide(symbolic::Relation::kEq, self.dims[1], other.dims[0]));
  if (!same)
    return context.error("mat2", context.pool().print(self.dims[1]) + " rows", context.pool().print(other.dims[0]));
  return std::vector<Type>{tensor_type(self.dtype, {self.dims[0], other.dims[1]}, self.device)};
}

Result<std::vector<Type>> transpose(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type type, context.type(0));
  if (type.rank() != 2) return context.error("self", "a matrix", "another rank");
  if (type.strides.empty()) type.strides = row_major_strides(context.pool(), type.dims);
  std::swap(type.dims[0], type.dims[1]);
  std::swap(type.strides[0], type.strides[1]);
  return std::vector<Type>{type};
}

Result<std::vector<Type>> view(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  TENON_ASSIGN_OR_RETURN(std::vector<Expr> dims, context.integers(1));
  return std::vector<Type>{tensor_type(self.dtype, std::move(dims), self.device)};
}

Result<std::vector<Type>> cat(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Type> types, context.types(0));
  if (types.empty()) return context.error("tensors", "at least one tensor", "none");
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, types[0].rank()));
  Type type = types[0];
  type.strides.clear();
  if (type.dims.empty()) return context.error("tensors", "at least one dim", "none");
  for (size_t index = 1; index < types.size(); ++index) {
    if (types[index].rank() != type.rank()) return context.error("tensors", "equal ranks", "others");
    type.dims[size_t(dim)] = context.pool().add(type.dims[size_t(dim)], types[index].dims[size_t(dim)]);
  }
  return std::vector<Type>{type};
}

Result<std::vector<Type>> sum(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, context.dims(1, self.rank()));
  Type type = tensor_type(self.dtype, {}, self.device);
  if (const auto* dtype = std::get_if<DType>(&context.argument("dtype"))) type.dtype = *dtype;
  for (size_t dim = 0; dim < self.rank(); ++dim) {
    const bool reduced = dims.empty() || std::find(dims.begin(), dims.end(), int64_t(dim)) != dims.end();
    if (!reduced) type.dims.push_back(self.dims[dim]);
    if (reduced && context.boolean(2)) type.dims.push_back(context.pool().constant(1));
  }
  return std::vector<Type>{type};
}

Result<std::vector<Type>> max_dim(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  if (self.rank() == 0) return context.error("self", "at least one dim", "none");
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(1, self.rank()));
  Type values = tensor_type(self.dtype, self.dims, self.device);
  values.dims.erase(values.dims.begin() + dim);
  Type indices = values;
  indices.dtype = DType::kI64;
  return std::vector<Type>{values, indices};
}

Result<std::vector<Type>> arange(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Expr end, context.integer(0));
  Type type = tensor_type(DType::kI64, {end});
  if (const auto* dtype = std::get_if<DType>(&context.argument("dtype"))) type.dtype = *dtype;
  if (const auto* device = std::get_if<Device>(&context.argument("device"))) type.device = *device;
  return std::vector<Type>{type};
}

Result<std::vector<Type>> nonzero(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  symbolic::Pool& pool = context.pool();
  const Expr count = pool.of(pool.fresh_symbol("u", symbolic::SymbolKind::kUnbacked));
  return std::vector<Type>{tensor_type(DType::kI64, {count, pool.constant(int64_t(self.rank()))}, self.device)};
}

Result<std::vector<Type>> split(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  TENON_ASSIGN_OR_RETURN(const std::vector<Expr> sizes, context.integers(1));
  if (self.rank() == 0) return context.error("self", "at least one dim", "none");
  TENON_ASSIGN_OR_RETURN(const int64_t dim, context.dim(2, self.rank()));
  std::vector<Type> types(sizes.size(), tensor_type(self.dtype, self.dims, self.device));
  for (size_t index = 0; index < sizes.size(); ++index) types[index].dims[size_t(dim)] = sizes[index];
  return types;
}

Result<std::vector<Type>> item(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type self, context.type(0));
  return std::vector<Type>{scalar_type(self.dtype)};
}

Result<std::vector<Type>> nothing(InferContext&) { return std::vector<Type>{}; }

}  // namespace

std::shared_ptr<const OperatorRegistry> test_registry() {
  auto registry = std::make_shared<OperatorRegistry>();
  registry->add("aten::relu(Tensor self) -> Tensor", same_as_first);
  registry->add("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add);
  registry->add("aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)", in_place);
  registry->add("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", same_as_first);
  registry->add("aten::mm(Tensor self, Tensor mat2) -> Tensor", mm);
  registry->add("aten::t(Tensor(a) self) -> Tensor(a)", transpose).view = true;
  registry->add("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view).view = true;
  registry->add("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat);
  registry->add(
      "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", sum);
  registry->add("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", max_dim);
  registry->add(
      "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None) -> Tensor",
      arange);
  registry->add("aten::nonzero(Tensor self) -> Tensor", nonzero);
  registry->add("aten::split_with_sizes(Tensor(a) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", split);
  registry->add("aten::item(Tensor self) -> Scalar", item);
  registry->add("aten::gelu(Tensor self, *, str approximate='none') -> Tensor", same_as_first);
  registry->add(
      "aten::index(Tensor self, Tensor?[] indices, MemoryFormat? memory_format=None, float eps=1e-05) -> Tensor",
      same_as_first);
  registry->add("aten::pool(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
                "float[]? scales=None, bool[3] mask=True) -> Tensor",
                same_as_first);
  registry->add("aten::dropout(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor", same_as_first);
  registry->add("test::assert(Tensor self, str message=\"\") -> ()", nothing).effect = true;
  registry->add("test::wrong_count(Tensor self) -> (Tensor, Tensor)", same_as_first);
  registry->add("higher_order::cond(Tensor pred, Tensor[] operands) -> Tensor[]", nullptr);
  registry->add("higher_order::while_loop(Tensor[] carried, Tensor[] additional=[]) -> Tensor[]", nullptr);
  registry->add("higher_order::scan(Tensor[] carried, Tensor[] xs, Tensor[] additional=[]) -> Tensor[]", nullptr);
  return registry;
}

}  // namespace tenon::graph
