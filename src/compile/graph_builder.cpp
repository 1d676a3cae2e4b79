#include "compile/graph_builder.hpp"

#include <cstring>

#include "graph/print.hpp"
#include "graph/verify.hpp"
#include "support/format.hpp"

namespace tenon::compile {

using graph::Argument;
using graph::ArgumentType;
using symbolic::Expr;

namespace {

constexpr tenon_dim_t kFirstDimNumber = TENON_DIM_PENDING + 1;

std::string_view view(tenon_str_t text) { return {text.data == nullptr ? "" : text.data, text.data == nullptr ? 0 : text.size}; }

bool is_dtype(int32_t number) { return number >= int32_t(DType::kBool) && number <= int32_t(DType::kU64); }

Status bad(std::string_view what, std::string_view expected, std::string_view found) {
  return invalid_argument(concat(what, ": expected ", expected, ", found ", found)).with("expected", expected).with("found", found);
}

}  // namespace

Status GraphBuilder::check_value(tenon_value_t value) const {
  if (value < graph_->value_count()) return {};
  return invalid_argument(concat("value ", value, " does not exist in graph ", graph_->name())).with("value", concat(value));
}

tenon_dim_t GraphBuilder::dim_number(Expr e) {
  auto [it, added] = dim_numbers_.try_emplace(e.id, kFirstDimNumber + tenon_dim_t(dims_.size()));
  if (added) dims_.push_back(e);
  return it->second;
}

Result<Expr> GraphBuilder::make_dim(tenon_dim_t dim) {
  if (!TENON_DIM_IS_SYMBOLIC(dim)) return graph_->pool().constant(dim);
  const size_t index = size_t(dim - kFirstDimNumber);
  if (index >= dims_.size()) return bad("symbolic dim", "one made by this graph", concat(dim));
  return dims_[index];
}

Status GraphBuilder::symbol(std::string_view name, int64_t min, int64_t max, int64_t divisor, tenon_dim_t* out_dim) {
  auto made = graph_->declare_symbol(name, min, max, divisor);
  if (!made.ok()) return std::move(made).status();
  *out_dim = dim_number(*made);
  return {};
}

Status GraphBuilder::dim(std::string_view expression, tenon_dim_t* out_dim) {
  auto made = graph_->pool().parse(expression);
  if (!made.ok()) return std::move(made).status();
  if (auto constant = graph_->pool().as_constant(*made)) {
    if (*constant < 0) return bad(concat("size ", expression), "a size that is not negative", concat(*constant));
    *out_dim = *constant;
  } else {
    *out_dim = dim_number(*made);
  }
  return {};
}

Result<graph::Type> GraphBuilder::make_type(const tenon_type_t& type, std::string_view name) {
  graph::Type made;
  if (type.dtype == TENON_DTYPE_AUTO || (type.flags & TENON_TYPE_AUTO_RANK) != 0) {
    made.pending = true;
    return made;
  }
  if (!is_dtype(type.dtype)) return bad(concat("dtype of ", name), "a tenon_dtype", concat(type.dtype));
  if (type.device_kind != 0 && type.device_kind != TENON_DEVICE_CPU) return bad(concat("device of ", name), "cpu", concat(type.device_kind));
  made.dtype = DType(type.dtype);
  if ((type.flags & TENON_TYPE_SCALAR) != 0) {
    made.kind = graph::ValueKind::kScalar;
    return made;
  }
  if (type.rank < 0 || type.rank > TENON_MAX_RANK) return bad(concat("rank of ", name), concat("0 to ", TENON_MAX_RANK), concat(type.rank));
  if (type.rank > 0 && type.dims == nullptr) return bad(concat("dims of ", name), concat(type.rank, " sizes"), "NULL");
  int64_t elements = 1;
  for (int32_t d = 0; d < type.rank; ++d) {
    const tenon_dim_t size = type.dims[d];
    if (size == TENON_DIM_AUTO) {
      made.dims.push_back(graph_->auto_symbol());
      continue;
    }
    if (!TENON_DIM_IS_SYMBOLIC(size)) {
      if (size < 0) return bad(concat("dim ", d, " of ", name), "a size that is not negative", concat(size));
      if (size != 0 && __builtin_mul_overflow(elements, size, &elements)) {
        return bad(concat("sizes of ", name), "fewer than 2^63 elements", concat("more at dim ", d));
      }
    }
    TENON_ASSIGN_OR_RETURN(const Expr dim, make_dim(size));
    made.dims.push_back(dim);
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t(size_bytes(made.dtype)), &bytes)) {
    return bad(concat("sizes of ", name), "fewer than 2^63 bytes", concat(elements, " elements"));
  }
  return made;
}

Status GraphBuilder::input(std::string_view name, const tenon_type_t& type, tenon_value_t* out_value) {
  auto made = make_type(type, concat("input `", name, "`"));
  if (!made.ok()) return std::move(made).status().with("input", name);
  auto value = graph_->add_input(name, *std::move(made));
  if (!value.ok()) return std::move(value).status();
  *out_value = *value;
  return {};
}

namespace {

// The tensor's elements, row-major.
Result<Blob> copy_elements(const tenon_tensor_t& tensor, std::string_view name) {
  int64_t elements = 1;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.dims[d] < 0 || __builtin_mul_overflow(elements, tensor.dims[d], &elements)) {
      return bad(concat("dims of ", name), "sizes whose product is below 2^63", concat("dim ", d, " = ", tensor.dims[d]));
    }
  }
  const size_t width = size_bytes(DType(tensor.dtype));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t(width), &bytes)) return bad(concat("dims of ", name), "fewer than 2^63 bytes", "more");
  if (bytes > 0 && tensor.data == nullptr) return bad(concat("data of ", name), "a pointer", "NULL");
  std::string out(size_t(bytes), '\0');
  std::vector<int64_t> index(size_t(tensor.rank), 0);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t offset = 0, rest = i;
    for (int32_t d = tensor.rank; d-- > 0;) {
      const int64_t at = rest % tensor.dims[d];
      rest /= tensor.dims[d];
      index[size_t(d)] = at;
    }
    int64_t run = 1;
    for (int32_t d = tensor.rank; d-- > 0;) {
      offset += index[size_t(d)] * (tensor.strides != nullptr ? tensor.strides[d] : run);
      run *= tensor.dims[d];
    }
    std::memcpy(out.data() + size_t(i) * width, static_cast<const char*>(tensor.data) + offset * int64_t(width), width);
  }
  return Blob::own(std::move(out));
}

Status check_tensor(const tenon_tensor_t& tensor, std::string_view name) {
  if (!is_dtype(tensor.dtype)) return bad(concat("dtype of ", name), "a tenon_dtype", concat(tensor.dtype));
  if (tensor.rank < 0 || tensor.rank > TENON_MAX_RANK) return bad(concat("rank of ", name), concat("0 to ", TENON_MAX_RANK), concat(tensor.rank));
  if (tensor.rank > 0 && tensor.dims == nullptr) return bad(concat("dims of ", name), concat(tensor.rank, " sizes"), "NULL");
  return {};
}

bool is_row_major(const tenon_tensor_t& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t run = 1;
  for (int32_t d = tensor.rank; d-- > 0;) {
    if (tensor.dims[d] != 1 && tensor.strides[d] != run) return false;
    run *= tensor.dims[d];
  }
  return true;
}

}  // namespace

Status GraphBuilder::state(std::string_view name, const tenon_type_t& type, const tenon_tensor_t* initial, tenon_value_t* out_value) {
  auto made = make_type(type, concat("state `", name, "`"));
  if (!made.ok()) return std::move(made).status();
  if (made->pending) return bad(concat("type of state `", name, "`"), "a fixed type", "auto");
  Blob bytes;
  if (initial != nullptr) {
    TENON_RETURN_IF_ERROR(check_tensor(*initial, concat("initial value of `", name, "`")));
    if (DType(initial->dtype) != made->dtype || size_t(initial->rank) != made->rank()) {
      return bad(concat("initial value of `", name, "`"), "the state's type", concat(tenon::name(DType(initial->dtype)), " of rank ", initial->rank));
    }
    for (int32_t d = 0; d < initial->rank; ++d) {
      if (!graph_->pool().is_constant(made->dims[size_t(d)], initial->dims[d])) {
        return bad(concat("initial value of `", name, "`, dim ", d), graph_->pool().print(made->dims[size_t(d)]), concat(initial->dims[d]));
      }
    }
    TENON_ASSIGN_OR_RETURN(bytes, copy_elements(*initial, name));
  }
  auto value = graph_->add_state(name, *std::move(made), std::move(bytes));
  if (!value.ok()) return std::move(value).status();
  *out_value = *value;
  return {};
}

Status GraphBuilder::constant(std::string_view name, const tenon_tensor_t& data, uint32_t flags, tenon_value_t* out_value) {
  TENON_RETURN_IF_ERROR(check_tensor(data, concat("constant `", name, "`")));
  graph::Constant constant;
  constant.name = name;
  constant.dims.assign(data.dims, data.dims + data.rank);
  constant.strides.assign(size_t(data.rank), 1);
  for (int32_t d = data.rank - 1; d-- > 0;) constant.strides[size_t(d)] = constant.strides[size_t(d) + 1] * constant.dims[size_t(d) + 1];
  if ((flags & TENON_CONSTANT_BORROW) != 0 && is_row_major(data)) {
    int64_t bytes = int64_t(size_bytes(DType(data.dtype)));
    for (int64_t dim : constant.dims) {
      if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes)) return bad(concat("dims of constant `", name, "`"), "fewer than 2^63 bytes", concat(dim));
    }
    if (bytes > 0 && data.data == nullptr) return bad(concat("data of constant `", name, "`"), "a pointer", "NULL");
    constant.bytes = Blob::wrap(nullptr, data.data, size_t(bytes));
  } else {
    TENON_ASSIGN_OR_RETURN(constant.bytes, copy_elements(data, concat("constant `", name, "`")));
  }
  auto value = graph_->add_constant(std::move(constant), DType(data.dtype));
  if (!value.ok()) return std::move(value).status();
  *out_value = *value;
  return {};
}

Result<Argument> GraphBuilder::make_argument(const tenon_attr_t& attribute, const graph::SchemaArgument& slot) {
  const std::string what = concat("attribute `", view(attribute.name), "`");
  if (attribute.kind == TENON_ATTR_NONE) return Argument();
  if (attribute.count > 0 && attribute.values == nullptr) return bad(what, concat(attribute.count, " values"), "NULL");
  const bool list = (attribute.flags & TENON_ATTR_LIST) != 0 || attribute.count != 1 || slot.type == ArgumentType::kIntList ||
                    slot.type == ArgumentType::kFloatList || slot.type == ArgumentType::kBoolList ||
                    slot.type == ArgumentType::kTensorList || slot.type == ArgumentType::kOptionalTensorList;
  const uint32_t count = attribute.count;
  switch (attribute.kind) {
    case TENON_ATTR_BOOL: {
      const auto* values = static_cast<const uint8_t*>(attribute.values);
      if (!list) return Argument(values[0] != 0);
      return Argument(std::vector<bool>(values, values + count));
    }
    case TENON_ATTR_I64: {
      const auto* values = static_cast<const tenon_dim_t*>(attribute.values);
      std::vector<Expr> made;
      for (uint32_t i = 0; i < count; ++i) {
        TENON_ASSIGN_OR_RETURN(const Expr e, make_dim(values[i]));
        made.push_back(e);
      }
      if (!list) return Argument(made[0]);
      return Argument(std::move(made));
    }
    case TENON_ATTR_F64: {
      const auto* values = static_cast<const double*>(attribute.values);
      if (!list) return Argument(values[0]);
      return Argument(std::vector<double>(values, values + count));
    }
    case TENON_ATTR_STR: {
      if (count != 1) return bad(what, "one string", concat(count));
      return Argument(std::string(view(*static_cast<const tenon_str_t*>(attribute.values))));
    }
    case TENON_ATTR_DTYPE: {
      if (count != 1) return bad(what, "one dtype", concat(count));
      const int32_t number = *static_cast<const int32_t*>(attribute.values);
      if (!is_dtype(number)) return bad(what, "a tenon_dtype", concat(number));
      return Argument(DType(number));
    }
    case TENON_ATTR_VALUES: {
      const auto* values = static_cast<const tenon_value_t*>(attribute.values);
      for (uint32_t i = 0; i < count; ++i) {
        if (values[i] != TENON_VALUE_NONE) TENON_RETURN_IF_ERROR(check_value(values[i]));
      }
      if (!list) return Argument(graph::ValueRef{values[0]});
      return Argument(std::vector<graph::ValueId>(values, values + count));
    }
    case TENON_ATTR_DEVICE: {
      const auto* values = static_cast<const int32_t*>(attribute.values);
      if (count != 1 || values[0] != TENON_DEVICE_CPU) return bad(what, "the device cpu", concat(count == 1 ? values[0] : int32_t(count)));
      return Argument(graph::Device{DeviceKind::kCpu, values[1]});
    }
    case TENON_ATTR_MEMORY_FORMAT: {
      const int32_t number = *static_cast<const int32_t*>(attribute.values);
      if (count != 1 || number < 0 || number > 3) return bad(what, "a memory format 0 to 3", concat(number));
      return Argument(graph::MemoryFormat(number));
    }
    default: return bad(concat(what, ": kind"), "a tenon_attr_kind", concat(attribute.kind));
  }
}

Status GraphBuilder::node(std::string_view op_name, std::span<const tenon_value_t> inputs, std::span<const tenon_attr_t> attributes,
                          std::span<tenon_value_t> outputs) {
  const std::string canonical = graph::canonical_operator_name(op_name);
  const graph::Operator* op = graph_->registry().find(canonical);
  if (op == nullptr) return not_found(concat("unknown operator ", op_name)).with("operator", op_name);
  const graph::Schema& schema = op->schema;
  std::vector<bool> given(schema.arguments.size(), false);
  std::vector<graph::Graph::NamedArgument> named;
  for (const tenon_attr_t& attribute : attributes) {
    const int at = schema.find(view(attribute.name));
    if (at < 0) {
      return invalid_argument(concat(canonical, ": unknown attribute `", view(attribute.name), "`")).with("operator", canonical).with("input", view(attribute.name));
    }
    if (given[size_t(at)]) return invalid_argument(concat(canonical, ": attribute `", view(attribute.name), "` is given twice")).with("operator", canonical);
    given[size_t(at)] = true;
    auto argument = make_argument(attribute, schema.arguments[size_t(at)]);
    if (!argument.ok()) return std::move(argument).status().prefixed(canonical).with("operator", canonical);
    named.push_back({std::string(view(attribute.name)), *std::move(argument)});
  }
  // Tensors in schema order, over the Tensor slots that no attribute filled.
  size_t next = 0;
  for (size_t slot = 0; slot < schema.arguments.size() && next < inputs.size(); ++slot) {
    const graph::SchemaArgument& argument = schema.arguments[slot];
    if (argument.type != ArgumentType::kTensor || given[slot]) continue;
    const tenon_value_t value = inputs[next++];
    given[slot] = true;
    if (value == TENON_VALUE_NONE) {
      named.push_back({argument.name, Argument()});
      continue;
    }
    if (Status status = check_value(value); !status.ok()) return std::move(status).with("operator", canonical).with("input", argument.name);
    named.push_back({argument.name, Argument(graph::ValueRef{value})});
  }
  if (next != inputs.size()) {
    return invalid_argument(concat(canonical, " takes ", next, " tensors, the call gives ", inputs.size())).with("operator", canonical)
        .with("expected", concat(next)).with("found", concat(inputs.size()));
  }
  auto made = graph_->add_node_named(canonical, {}, std::move(named));
  if (!made.ok()) return std::move(made).status();
  const std::vector<graph::ValueId>& results = graph_->node(*made).results;
  if (results.size() > outputs.size()) {
    return invalid_argument(concat(canonical, " gives ", results.size(), " results, there is room for ", outputs.size())).with("operator", canonical);
  }
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = i < results.size() ? results[i] : TENON_VALUE_NONE;
  return {};
}

Status GraphBuilder::output(std::string_view name, tenon_value_t value) {
  TENON_RETURN_IF_ERROR(check_value(value));
  for (const graph::Output& output : graph_->outputs()) {
    if (output.name == name) return Status(Code::kAlreadyExists, concat("output `", name, "` exists"));
  }
  graph_->add_output(name, graph::ValueRef{value});
  return {};
}

Status GraphBuilder::type(tenon_value_t value, tenon_type_t* out_type) {
  TENON_RETURN_IF_ERROR(check_value(value));
  const graph::Type& type = graph_->type(value);
  *out_type = {};
  out_type->device_kind = TENON_DEVICE_CPU;
  if (type.pending) {
    out_type->flags = TENON_TYPE_AUTO_RANK;
    return {};
  }
  out_type->dtype = int32_t(type.dtype);
  out_type->rank = int32_t(type.rank());
  if (type.is_scalar()) out_type->flags = TENON_TYPE_SCALAR;
  lent_dims_.clear();
  lent_strides_.clear();
  auto number = [&](Expr e) {
    if (auto constant = graph_->pool().as_constant(e)) return *constant;
    for (symbolic::SymbolId symbol : graph_->pool().symbols(e)) {
      const graph::GraphSymbol* known = graph_->find(symbol);
      if (known != nullptr && known->kind == graph::DimKind::kAuto) {
        return graph_->pool().kind(e) == symbolic::Kind::kSymbol ? TENON_DIM_AUTO : TENON_DIM_PENDING;
      }
    }
    return dim_number(e);
  };
  for (Expr e : type.dims) lent_dims_.push_back(number(e));
  for (Expr e : type.strides) lent_strides_.push_back(number(e));
  out_type->dims = lent_dims_.data();
  out_type->strides = type.strides.empty() ? nullptr : lent_strides_.data();
  return {};
}

Status GraphBuilder::verify() const { return graph::verify(*graph_); }

Status GraphBuilder::print(runtime::WriteFn write, void* user) const {
  const std::string text = graph::print(*graph_);
  write(user, {text.data(), text.size()});
  return {};
}

}  // namespace tenon::compile
