#include "text/small_evaluator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "passes/inspect.hpp"

namespace tenon::text {

using graph::Graph;
using graph::Node;
using passes::KnownTensor;

namespace {

using Index = std::vector<int64_t>;
using Number = long double;  // holds every f32, i64 and bool

int64_t count_of(const Index& dims) {
  int64_t count = 1;
  for (int64_t size : dims) count *= size;
  return count;
}

struct Elements {
  DType dtype = DType::kF32;
  Index dims;
  std::vector<Number> values;

  Number at(const Index& index) const {
    int64_t position = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim) position = position * dims[dim] + index[dim];
    return values[size_t(position)];
  }
  // With broadcasting: the last dims, size 1 taken for every index.
  Number spread_at(const Index& index) const {
    Index own(dims.size());
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      own[dim] = dims[dim] == 1 ? 0 : index[index.size() - dims.size() + dim];
    }
    return at(own);
  }
};

Number rounded(DType dtype, Number value) {
  if (dtype == DType::kF32) return float(value);
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (std::isnan(value) || std::fabs(value) >= 0x1p100L) return Number(INT64_MIN);
  return Number(int64_t(uint64_t(__int128(value))));
}

bool supported(DType dtype) { return dtype == DType::kF32 || dtype == DType::kI64 || dtype == DType::kBool; }

Elements unpack(const KnownTensor& tensor) {
  Elements made{tensor.dtype, tensor.dims, {}};
  const int64_t count = count_of(tensor.dims);
  for (int64_t element = 0; element < count; ++element) {
    const uint8_t* bytes = tensor.bytes.data() + element * int64_t(size_bytes(tensor.dtype));
    if (tensor.dtype == DType::kBool) {
      made.values.push_back(*bytes);
    } else if (tensor.dtype == DType::kI64) {
      int64_t value;
      std::memcpy(&value, bytes, sizeof value);
      made.values.push_back(value);
    } else {
      float value;
      std::memcpy(&value, bytes, sizeof value);
      made.values.push_back(value);
    }
  }
  return made;
}

KnownTensor pack(const Elements& elements) {
  std::vector<uint8_t> bytes;
  const auto put = [&](const auto& value) {
    const auto* first = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  };
  for (Number value : elements.values) {
    if (elements.dtype == DType::kBool) put(uint8_t(value != 0));
    else if (elements.dtype == DType::kI64) put(int64_t(value));
    else put(float(value));
  }
  return {elements.dtype, elements.dims, Blob::own(std::move(bytes))};
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, const Node& node, std::span<const KnownTensor> operands) : graph_(graph), node_(node) {
    size_t next = 0;
    for (const graph::Argument& argument : node.arguments) {
      std::vector<graph::ValueId> uses;
      append_uses(argument, uses);
      std::vector<Elements> tensors;
      for (size_t use = 0; use < uses.size(); ++use) tensors.push_back(unpack(operands[next++]));
      operands_.push_back(std::move(tensors));
    }
    const graph::Type& type = graph.type(node.results[0]);
    dtype_ = type.dtype;
    for (symbolic::Expr size : type.dims) dims_.push_back(graph.pool().as_constant(size).value_or(-1));
  }

  std::optional<Elements> run() {
    const std::string_view op = std::string_view(node_.op->schema.name).substr(5);
    if (node_.op->pointwise) return pointwise(op);
    if (op == "full") return each([&](const Index&) { return operand(1, {}); });
    if (op == "iota") return each([&](const Index& i) { return Number(i[0]); });
    if (op == "reshape") return Elements{dtype_, dims_, x().values};
    if (op == "permute") return permute();
    if (op == "expand") return each([&](const Index& i) { return x().spread_at(i); });
    if (op == "slice") return slice();
    if (op == "flip") return flip();
    if (op == "cat") return cat();
    if (op == "take") return take();
    if (op == "matmul") return matmul();
    if (op == "sum" || op == "all" || op == "any") return reduce(op);
    return std::nullopt;
  }

 private:
  const Elements& x() const { return operands_[0][0]; }
  Index integers(size_t argument) const { return *passes::constant_integers(graph_, node_.arguments[argument]); }
  int64_t integer(size_t argument) const { return *passes::constant_integer(graph_, node_.arguments[argument]); }

  template <typename At>
  Elements each(At at) const {
    Elements made{dtype_, dims_, {}};
    Index index(dims_.size(), 0);
    const int64_t count = count_of(dims_);
    for (int64_t element = 0; element < count; ++element) {
      made.values.push_back(rounded(dtype_, at(index)));
      for (size_t dim = dims_.size(); dim-- > 0;) {
        if (++index[dim] < dims_[dim]) break;
        index[dim] = 0;
      }
    }
    return made;
  }

  // The dtype in which the operands of a pointwise primitive meet.
  DType meeting() const {
    for (size_t argument = operands_.size(); argument-- > 0;) {
      if (!operands_[argument].empty()) return operands_[argument][0].dtype;
    }
    return dtype_;
  }

  Number operand(size_t argument, const Index& index) const {
    if (!operands_[argument].empty()) return operands_[argument][0].spread_at(index);
    const graph::Argument& literal = node_.arguments[argument];
    const DType dtype = node_.op->pointwise ? meeting() : dtype_;
    if (const auto whole = passes::uniform_integer(graph_, literal)) return rounded(dtype, Number(*whole));
    return rounded(dtype, passes::uniform_value(graph_, literal, dtype).value_or(NAN));
  }

  std::optional<Elements> pointwise(std::string_view op) {
    const bool whole = meeting() == DType::kI64;
    const auto a = [&](const Index& i) { return operand(0, i); };
    const auto b = [&](const Index& i) { return operand(1, i); };
    if (op == "convert") {
      if (x().dtype == DType::kF32 && dtype_ == DType::kI64) {
        return each([&](const Index& i) { return std::trunc(a(i)); });
      }
      return each(a);
    }
    if (op == "where") return each([&](const Index& i) { return a(i) != 0 ? operand(1, i) : operand(2, i); });
    const auto wrap = [](uint64_t bits) { return Number(int64_t(bits)); };
    if (whole && op == "neg") return each([&](const Index& i) { return wrap(-uint64_t(int64_t(a(i)))); });
    if (op == "neg") return each([&](const Index& i) { return -a(i); });
    if (op == "abs") return each([&](const Index& i) { return std::fabs(a(i)); });
    if (op == "exp") return each([&](const Index& i) { return std::exp(a(i)); });
    if (op == "logical_not") return each([&](const Index& i) { return Number(a(i) == 0); });
    const auto bits = [](Number value) { return uint64_t(int64_t(value)); };
    if (whole && op == "add") return each([&](const Index& i) { return wrap(bits(a(i)) + bits(b(i))); });
    if (whole && op == "sub") return each([&](const Index& i) { return wrap(bits(a(i)) - bits(b(i))); });
    if (whole && op == "mul") return each([&](const Index& i) { return wrap(bits(a(i)) * bits(b(i))); });
    if (op == "add") return each([&](const Index& i) { return a(i) + b(i); });
    if (op == "sub") return each([&](const Index& i) { return a(i) - b(i); });
    if (op == "mul") return each([&](const Index& i) { return a(i) * b(i); });
    if (op == "div" && !whole) return each([&](const Index& i) { return a(i) / b(i); });
    if (op == "floor_div" || op == "remainder") return floor_divided(op);
    if (op == "max") return each([&](const Index& i) { return std::isnan(a(i)) || a(i) > b(i) ? a(i) : b(i); });
    if (op == "min") return each([&](const Index& i) { return std::isnan(a(i)) || a(i) < b(i) ? a(i) : b(i); });
    if (op == "eq") return each([&](const Index& i) { return Number(a(i) == b(i)); });
    if (op == "ne") return each([&](const Index& i) { return Number(a(i) != b(i)); });
    if (op == "lt") return each([&](const Index& i) { return Number(a(i) < b(i)); });
    if (op == "le") return each([&](const Index& i) { return Number(a(i) <= b(i)); });
    if (op == "gt") return each([&](const Index& i) { return Number(a(i) > b(i)); });
    if (op == "ge") return each([&](const Index& i) { return Number(a(i) >= b(i)); });
    if (op == "bitwise_and") return each([&](const Index& i) { return Number(int64_t(a(i)) & int64_t(b(i))); });
    if (op == "bitwise_xor") return each([&](const Index& i) { return Number(int64_t(a(i)) ^ int64_t(b(i))); });
    if (op == "bitwise_or") return each([&](const Index& i) { return Number(int64_t(a(i)) | int64_t(b(i))); });
    return std::nullopt;
  }

  std::optional<Elements> floor_divided(std::string_view op) {
    bool by_zero = meeting() != DType::kI64;
    Elements made = each([&](const Index& i) -> Number {
      const int64_t a = int64_t(operand(0, i)), b = int64_t(operand(1, i));
      if (b == 0 || b == -1) {
        by_zero = by_zero || b == 0;
        return op == "remainder" || b == 0 ? 0 : -Number(a);
      }
      const int64_t quotient = a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
      return Number(op == "floor_div" ? quotient : a - quotient * b);
    });
    if (by_zero) return std::nullopt;
    return made;
  }

  Elements permute() const {
    const Index order = integers(1);
    return each([&](const Index& i) {
      Index from(i.size());
      for (size_t dim = 0; dim < i.size(); ++dim) from[size_t(order[dim])] = i[dim];
      return x().at(from);
    });
  }

  Elements slice() const {
    const size_t dim = size_t(integer(1));
    return each([&](Index i) {
      i[dim] = integer(2) + i[dim] * integer(4);
      return x().at(i);
    });
  }

  Elements flip() const {
    const Index axes = integers(1);
    return each([&](Index i) {
      for (int64_t axis : axes) i[size_t(axis)] = dims_[size_t(axis)] - 1 - i[size_t(axis)];
      return x().at(i);
    });
  }

  Elements cat() const {
    const size_t dim = size_t(integer(1));
    return each([&](Index i) {
      size_t part = 0;
      while (i[dim] >= operands_[0][part].dims[dim]) i[dim] -= operands_[0][part++].dims[dim];
      return operands_[0][part].at(i);
    });
  }

  std::optional<Elements> take() const {
    const size_t dim = size_t(integer(2));
    const Elements& index = operands_[1][0];
    const bool wrap = std::get<bool>(node_.arguments[3]);
    bool outside = false;
    Elements made = each([&](const Index& i) -> Number {
      const Index own(i.begin() + long(dim), i.begin() + long(dim + index.dims.size()));
      int64_t row = int64_t(index.at(own));
      if (row < 0 && wrap) row += x().dims[dim];
      Index from(i.begin(), i.begin() + long(dim));
      from.push_back(row);
      from.insert(from.end(), i.begin() + long(dim + index.dims.size()), i.end());
      if (row < 0 || row >= x().dims[dim]) {
        outside = true;
        return 0;
      }
      return x().at(from);
    });
    if (outside) return std::nullopt;
    return made;
  }

  Elements matmul() const {
    const Elements& b = operands_[1][0];
    return each([&](const Index& i) {
      Index left = i, right = i;
      Number sum = 0;
      for (int64_t k = 0; k < x().dims.back(); ++k) {
        left.back() = k;
        right[right.size() - 2] = k;
        sum += x().at(left) * b.at(right);
      }
      return sum;
    });
  }

  Elements reduce(std::string_view op) const {
    const Index axes = integers(1);
    const bool keep = std::get<bool>(node_.arguments[2]);
    Elements made = each([&](const Index&) { return Number(op == "all" ? 1 : 0); });
    Index index(x().dims.size(), 0);
    for (Number value : x().values) {
      int64_t position = 0;
      for (size_t dim = 0; dim < index.size(); ++dim) {
        const bool reduced = std::find(axes.begin(), axes.end(), int64_t(dim)) != axes.end();
        if (reduced && !keep) continue;
        position = position * (reduced ? 1 : x().dims[dim]) + (reduced ? 0 : index[dim]);
      }
      Number& into = made.values[size_t(position)];
      if (op == "sum") into = rounded(dtype_, into + value);
      else into = op == "all" ? into != 0 && value != 0 : into != 0 || value != 0;
      for (size_t dim = index.size(); dim-- > 0;) {
        if (++index[dim] < x().dims[dim]) break;
        index[dim] = 0;
      }
    }
    return made;
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<std::vector<Elements>> operands_;  // of each argument
  DType dtype_ = DType::kF32;
  Index dims_;
};

}  // namespace

std::optional<std::vector<KnownTensor>> SmallEvaluator::evaluate(const Graph& graph, const Node& node,
                                                                 std::span<const KnownTensor> operands) {
  if (!node.op->primitive || node.results.size() != 1) return std::nullopt;
  if (!supported(graph.type(node.results[0]).dtype)) return std::nullopt;
  for (const KnownTensor& operand : operands) {
    if (!supported(operand.dtype)) return std::nullopt;
  }
  const auto made = Evaluation(graph, node, operands).run();
  if (!made) return std::nullopt;
  return std::vector<KnownTensor>{pack(*made)};
}

KnownTensor tensor_of(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values) {
  Elements elements{dtype, std::move(dims), {}};
  elements.values.assign(values.begin(), values.end());
  return pack(elements);
}

std::vector<double> values_of(const KnownTensor& tensor) {
  const Elements elements = unpack(tensor);
  return {elements.values.begin(), elements.values.end()};
}

std::optional<std::vector<KnownTensor>> evaluate_graph(const Graph& graph, std::span<const KnownTensor> inputs,
                                                       std::span<const KnownTensor> states) {
  std::unordered_map<graph::ValueId, KnownTensor> known;
  for (size_t index = 0; index < inputs.size(); ++index) known[graph.inputs()[index].value] = inputs[index];
  for (size_t index = 0; index < states.size(); ++index) known[graph.states()[index].value] = states[index];
  for (const graph::Constant& constant : graph.constants()) {
    known[constant.value] = {graph.type(constant.value).dtype, constant.dims, constant.bytes};
  }
  SmallEvaluator evaluator;
  for (graph::NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    std::vector<KnownTensor> operands;
    for (graph::ValueId use : Graph::uses(node)) operands.push_back(known.at(use));
    auto results = evaluator.evaluate(graph, node, operands);
    if (!results) return std::nullopt;
    known[node.results[0]] = std::move((*results)[0]);
  }
  std::vector<KnownTensor> made;
  for (const graph::Output& output : graph.outputs()) {
    if (const auto* ref = std::get_if<graph::ValueRef>(&output.argument)) made.push_back(known.at(ref->id));
  }
  for (const Graph::WriteBack& write : graph.write_backs()) made.push_back(known.at(write.value));
  return made;
}

}  // namespace tenon::text
