#include "reference/interpreter.hpp"

#include <cmath>
#include <cstring>

#include "graph/element.hpp"
#include "reference/interpreter_node.hpp"
#include "support/format.hpp"

namespace tenon::testing {
namespace {

template <typename T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double load_real(DType dtype, const uint8_t* at) {
  switch (dtype) {
    case DType::kF16: return graph::float_of_f16(load<uint16_t>(at));
    case DType::kBF16: return graph::float_of_bf16(load<uint16_t>(at));
    case DType::kF32: return load<float>(at);
    default: return load<double>(at);
  }
}

int64_t load_integer(DType dtype, const uint8_t* at) {
  switch (dtype) {
    case DType::kBool: return *at != 0;
    case DType::kU8: return *at;
    case DType::kI8: return load<int8_t>(at);
    case DType::kI16: return load<int16_t>(at);
    case DType::kU16: return load<uint16_t>(at);
    case DType::kI32: return load<int32_t>(at);
    case DType::kU32: return load<uint32_t>(at);
    default: return load<int64_t>(at);
  }
}

Dense number_of(const graph::Graph& graph, const graph::Argument& argument, std::span<const int64_t> sizes) {
  if (const bool* value = std::get_if<bool>(&argument)) return {DType::kBool, {}, {}, {*value}};
  if (const double* value = std::get_if<double>(&argument)) return {DType::kF64, {}, {*value}, {}};
  if (const auto* value = std::get_if<graph::Expr>(&argument)) {
    const Result<int64_t> known = graph.pool().evaluate(*value, sizes);
    return {DType::kI64, {}, {}, {known.ok() ? *known : 0}};
  }
  return zeros(DType::kF32, {0});
}

const RunTable& table() {
  static const RunTable made = [] {
    RunTable all;
    add_pointwise(all);
    add_structure(all);
    add_reductions(all);
    add_heavy(all);
    return all;
  }();
  return made;
}

std::string text(const Index& dims) {
  std::string out = "[";
  for (const int64_t dim : dims) append(out, concat(out.size() > 1 ? ", " : "", dim));
  return out + "]";
}

}  // namespace

double Dense::number(size_t index) const {
  if (is_real()) return reals[index];
  return dtype == DType::kU64 ? double(uint64_t(integers[index])) : double(integers[index]);
}

int64_t count_of(const Index& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

bool advance(Index& index, const Index& dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

int64_t position(const Index& index, const Index& dims) {
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d) at = at * dims[d] + index[d];
  return at;
}

int64_t broadcast_position(const Index& index, const Index& dims) {
  int64_t at = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    at = at * dims[d] + (dims[d] == 1 ? 0 : index[index.size() - dims.size() + d]);
  }
  return at;
}

Index broadcast_dims(const Index& a, const Index& b) {
  Index dims(std::max(a.size(), b.size()), 1);
  for (const Index* own : {&a, &b}) {
    for (size_t d = 0; d < own->size(); ++d) {
      int64_t& dim = dims[dims.size() - own->size() + d];
      if ((*own)[d] != 1) dim = (*own)[d];
    }
  }
  return dims;
}

void copy_element(Dense& to, size_t at, const Dense& from, size_t from_at) {
  if (to.is_real()) to.reals[at] = from.reals[from_at];
  else to.integers[at] = from.integers[from_at];
}

Dense rearranged(const Dense& x, Index dims, const std::function<int64_t(const Index&)>& source) {
  Dense result = zeros(x.dtype, std::move(dims));
  if (result.size() == 0) return result;
  Index index(result.dims.size(), 0);
  size_t at = 0;
  do copy_element(result, at++, x, size_t(source(index)));
  while (advance(index, result.dims));
  return result;
}

Dense zeros(DType dtype, std::vector<int64_t> dims) {
  Dense result{dtype, std::move(dims), {}, {}};
  const size_t count = size_t(count_of(result.dims));
  if (result.is_real()) result.reals.assign(count, 0.0);
  else result.integers.assign(count, 0);
  return result;
}

Dense dense_of(DType dtype, std::vector<int64_t> dims, std::span<const int64_t> strides, const uint8_t* first) {
  Dense result = zeros(dtype, std::move(dims));
  if (result.size() == 0) return result;
  Index index(result.dims.size(), 0);
  size_t at = 0;
  do {
    int64_t element = 0;
    for (size_t d = 0; d < index.size(); ++d) element += index[d] * strides[d];
    const uint8_t* bytes = first + element * int64_t(size_bytes(dtype));
    if (result.is_real()) result.reals[at] = load_real(dtype, bytes);
    else result.integers[at] = load_integer(dtype, bytes);
    ++at;
  } while (advance(index, result.dims));
  return result;
}

Dense dense_of(const Array& array) {
  Index strides(array.dims.size(), 1);
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * array.dims[d];
  return dense_of(array.dtype, array.dims, strides, array.bytes.data());
}

Array array_of(const Dense& dense) {
  Array array = Array::zeros(dense.dtype, dense.dims);
  const size_t width = size_bytes(dense.dtype);
  for (size_t i = 0; i < dense.size(); ++i) {
    uint8_t* at = array.bytes.data() + i * width;
    if (!dense.is_real()) {
      std::memcpy(at, &dense.integers[i], width);  // the low bytes
    } else if (dense.dtype == DType::kF64) {
      std::memcpy(at, &dense.reals[i], width);
    } else if (dense.dtype == DType::kF32) {
      const float value = float(dense.reals[i]);
      std::memcpy(at, &value, width);
    } else {
      const float value = float(dense.reals[i]);
      const uint16_t bits = dense.dtype == DType::kF16 ? graph::f16_of_float(value) : graph::bf16_of_float(value);
      std::memcpy(at, &bits, width);
    }
  }
  return array;
}

double rounded(double value, DType dtype, Precision precision) {
  if (precision == Precision::kDouble || dtype == DType::kF64) return value;
  const float single = float(value);
  if (dtype == DType::kF16) return graph::float_of_f16(graph::f16_of_float(single));
  if (dtype == DType::kBF16) return graph::float_of_bf16(graph::bf16_of_float(single));
  return single;
}

int64_t wrapped(int64_t value, DType dtype) {
  if (dtype == DType::kBool) return value != 0;
  return load_integer(dtype, reinterpret_cast<const uint8_t*>(&value));
}

bool is_interpreted(std::string_view operator_name) { return table().contains(operator_name); }

Dense NodeView::operand(size_t i, DType dtype) const {
  if (is_tensor(i)) return tensor(i);
  const Dense number = number_of(graph_, argument(i), sizes_);
  Dense result = zeros(dtype, {});
  if (result.is_real()) result.reals[0] = rounded(number.number(0), dtype, precision_);
  else result.integers[0] = wrapped(number.is_real() ? int64_t(number.reals[0]) : number.integers[0], dtype);
  return result;
}

int64_t NodeView::size(graph::Expr e) const {
  const Result<int64_t> value = graph_.pool().evaluate(e, sizes_);
  return value.ok() ? *value : INT64_MIN;
}

Index NodeView::integers(size_t i) const {
  Index all;
  for (const graph::Expr e : std::get<std::vector<graph::Expr>>(argument(i))) all.push_back(size(e));
  return all;
}

double NodeView::real(size_t i) const { return number_of(graph_, argument(i), sizes_).number(0); }

Status NodeView::failed(std::string_view what) const { return invalid_argument(concat(name(), ": ", what)); }

Result<Answers> interpret(const graph::Graph& graph, std::span<const Dense> inputs, std::span<const Dense> states,
                          std::span<const int64_t> sizes, Precision precision) {
  std::vector<Dense> values(graph.value_count());
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i].value] = inputs[i];
  for (const graph::Constant& constant : graph.constants()) {
    values[constant.value] = dense_of(graph.type(constant.value).dtype, constant.dims, constant.strides,
                                      constant.bytes.data() + constant.offset_bytes);
  }
  for (size_t i = 0; i < graph.states().size(); ++i) {
    const graph::State& state = graph.states()[i];
    const graph::Type& type = graph.type(state.value);
    if (!states.empty()) {
      values[state.value] = states[i];
      continue;
    }
    Array initial{type.dtype, {}, {}};
    for (const graph::Expr dim : type.dims) {
      TENON_ASSIGN_OR_RETURN(const int64_t size, graph.pool().evaluate(dim, sizes));
      initial.dims.push_back(size);
    }
    const auto bytes = state.initial.bytes();
    initial.bytes.assign(bytes.begin(), bytes.end());
    values[state.value] = bytes.empty() ? zeros(type.dtype, initial.dims) : dense_of(initial);
  }
  for (const graph::NodeId id : graph.order()) {
    const graph::Node& node = graph.node(id);
    const auto run = table().find(node.op->schema.name);
    if (run == table().end() || !node.regions.empty()) {
      return unimplemented(concat("the interpreter has no ", node.op->schema.name));
    }
    TENON_ASSIGN_OR_RETURN(Dense made, run->second(NodeView(graph, node, values, sizes, precision)));
    const graph::Type& type = graph.type(node.results[0]);
    Index expected;
    for (const graph::Expr dim : type.dims) {
      TENON_ASSIGN_OR_RETURN(const int64_t size, graph.pool().evaluate(dim, sizes));
      expected.push_back(size);
    }
    if (made.dtype != type.dtype || made.dims != expected || made.size() != size_t(count_of(expected))) {
      return internal_error(concat(node.op->schema.name, ": the graph says ", name(type.dtype), text(expected),
                                   ", computed is ", name(made.dtype), text(made.dims)));
    }
    for (double& value : made.reals) value = rounded(value, made.dtype, precision);
    for (int64_t& value : made.integers) value = wrapped(value, made.dtype);
    values[node.results[0]] = std::move(made);
  }
  Answers answers;
  for (const graph::Output& output : graph.outputs()) {
    const auto* value = std::get_if<graph::ValueRef>(&output.argument);
    answers.outputs.push_back(value ? values[value->id] : number_of(graph, output.argument, sizes));
  }
  for (const auto& write_back : graph.write_backs()) answers.write_backs.push_back(values[write_back.value]);
  return answers;
}

}  // namespace tenon::testing
