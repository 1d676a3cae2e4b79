// A random small program built over the C API, with inputs to run it on. The seed decides everything.
#pragma once

#include <cmath>
#include <limits>

#include "system/host_program.hpp"

namespace tenon::tests {

inline bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16;
}

inline bool is_nan(const HostArray& array, int64_t i) {
  switch (array.dtype) {
    case DType::kF32: return std::isnan(array.as<float>()[i]);
    case DType::kF64: return std::isnan(array.as<double>()[i]);
    case DType::kF16: return (array.as<uint16_t>()[i] & 0x7fff) > 0x7c00;
    case DType::kBF16: return (array.as<uint16_t>()[i] & 0x7fff) > 0x7f80;
    default: return false;
  }
}

inline std::string shown(const HostArray& array, int64_t i) {
  switch (array.dtype) {
    case DType::kF32: return std::to_string(array.as<float>()[i]);
    case DType::kF64: return std::to_string(array.as<double>()[i]);
    case DType::kI64: return std::to_string(array.as<int64_t>()[i]);
    case DType::kI32: return std::to_string(array.as<int32_t>()[i]);
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16: return "bits " + std::to_string(array.as<uint16_t>()[i]);
    default: return std::to_string(int(array.bytes[size_t(i)]));
  }
}

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : random_(seed * 7919 + 13) {}

  void build(Graph& graph) {
    graph_ = &graph;
    switch (below(5)) {
      case 0: pointwise_of_all_types(); break;
      case 1: reductions(); break;
      case 2: rows(); break;
      case 3: products(); break;
      default: mixed(); break;
    }
    int number = 0;
    for (const Node& node : results_) graph.output("y" + std::to_string(number++), node.value);
  }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> out;
    for (const Input& input : inputs_) out.push_back(Tensor::lend(const_cast<uint8_t*>(input.data.bytes.data()), input.data.dtype, input.dims, input.strides));
    return out;
  }
  const std::string& steps() const { return steps_; }

 private:
  struct Node {
    Value value;
    DType dtype;
    std::vector<int64_t> dims;
  };
  struct Input {
    HostArray data;
    std::vector<int64_t> dims, strides;  // strides empty: row-major
  };

  uint32_t below(uint32_t n) { return uint32_t(random_() % n); }
  template <typename T>
  const T& one_of(const std::vector<T>& list) { return list[below(uint32_t(list.size()))]; }

  void fill(HostArray& array, bool special) {
    for (int64_t i = 0; i < array.elements(); ++i) {
      const double normal = (int(below(4001)) - 2000) / 500.0;
      double value = normal;
      if (special && below(9) == 0) {
        value = one_of<double>({std::nan(""), INFINITY, -INFINITY, 0.0, -0.0, 1e-40, -1e-40, 3e38, 65504, 0.5, -0.5, 1.5, 2.5});
      }
      switch (array.dtype) {
        case DType::kF32: array.as<float>()[i] = float(value); break;
        case DType::kF64: array.as<double>()[i] = value; break;
        case DType::kBF16: {
          const float narrow = float(value);
          uint32_t bits;
          std::memcpy(&bits, &narrow, 4);
          array.as<uint16_t>()[i] = std::isnan(narrow) ? 0x7fc0 : uint16_t(bits >> 16);
          break;
        }
        case DType::kF16: {  // positive and negative of all magnitudes, infinities, now and then a NaN
          uint16_t bits = uint16_t(random_());
          if ((bits & 0x7c00) == 0x7c00 && !special) bits = uint16_t(bits & 0xbfff);
          array.as<uint16_t>()[i] = bits;
          break;
        }
        case DType::kBool: array.bytes[size_t(i)] = uint8_t(below(2)); break;
        case DType::kU8: array.bytes[size_t(i)] = uint8_t(random_()); break;
        case DType::kI8: array.bytes[size_t(i)] = special ? uint8_t(random_()) : uint8_t(int8_t(int(normal * 10))); break;
        case DType::kI16: array.as<int16_t>()[i] = special ? int16_t(random_()) : int16_t(normal * 10); break;
        case DType::kI32: array.as<int32_t>()[i] = special ? int32_t(random_()) : int32_t(normal * 10); break;
        case DType::kI64:
          array.as<int64_t>()[i] = special ? int64_t((uint64_t(random_()) << 32) | random_()) : int64_t(normal * 10);
          break;
        default: std::abort();
      }
    }
  }

  // An input of these sizes: dense, transposed, sliced or expanded.
  Node input(DType dtype, std::vector<int64_t> dims, bool special, bool may_stride = true) {
    Input made;
    made.dims = dims;
    Type type(dtype, dims);
    std::vector<int64_t> store = dims;
    const uint32_t layout = may_stride && dims.size() >= 2 ? below(5) : 0;
    const size_t rank = dims.size();
    if (layout == 1) {  // the last two in memory the other way round
      std::swap(store[rank - 1], store[rank - 2]);
    } else if (layout == 2) {  // every second column of a larger one
      store[rank - 1] *= 2;
    } else if (layout == 3) {  // one row for all rows
      store[rank - 2] = 1;
    }
    made.data = HostArray(dtype, store);
    fill(made.data, special);
    if (layout != 0 && layout != 4) {
      made.strides.assign(rank, 1);
      for (size_t d = rank - 1; d-- > 0;) made.strides[d] = made.strides[d + 1] * store[d + 1];
      if (layout == 1) std::swap(made.strides[rank - 1], made.strides[rank - 2]);
      if (layout == 2) made.strides[rank - 1] = 2;
      if (layout == 3) made.strides[rank - 2] = 0;
    }
    const std::string name = "x" + std::to_string(inputs_.size());
    Node node{graph_->input(name, type), dtype, dims};
    inputs_.push_back(std::move(made));
    return node;
  }

  template <typename... Attrs>
  Node op(std::string_view name, std::initializer_list<Value> operands, const Attrs&... attrs) {
    Node node;
    node.value = graph_->op(name, operands, attrs...);
    steps_ += std::string(name) + "\n";
    if (auto type = graph_->type_of(node.value); type.ok()) {
      node.dtype = type->dtype;
      node.dims = type->dims;
    }
    return node;
  }
  Node unary_float(const Node& x) {
    static const std::vector<const char*> kNames = {"abs", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor",
        "hardsigmoid", "hardswish", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "log_sigmoid", "logical_not",
        "mish", "neg", "reciprocal", "relu", "relu6", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "sinh",
        "softplus", "sqrt", "square", "tan", "tanh", "trunc", "acos", "asin", "atan", "acosh", "asinh", "atanh", "gelu", "elu", "celu"};
    return op(std::string("aten.") + one_of(kNames), {x.value});
  }
  Node unary_integer(const Node& x) {
    static const std::vector<const char*> kNames = {"abs", "bitwise_not", "neg", "sign", "square", "logical_not", "relu", "isfinite"};
    return op(std::string("aten.") + one_of(kNames), {x.value});
  }
  Node binary(const Node& x, const Node& y) {
    static const std::vector<const char*> kAll = {"add.Tensor", "sub.Tensor", "mul.Tensor", "maximum", "minimum", "eq.Tensor", "ne.Tensor",
        "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "logical_and", "logical_or", "logical_xor"};
    static const std::vector<const char*> kFloats = {"div.Tensor", "pow.Tensor_Tensor", "atan2", "fmax", "fmin", "fmod.Tensor",
        "remainder.Tensor", "floor_divide"};
    static const std::vector<const char*> kIntegers = {"bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "div.Tensor"};
    const bool floats = is_float(x.dtype) || is_float(y.dtype), truths = x.dtype == DType::kBool || y.dtype == DType::kBool;
    const auto& some = floats ? kFloats : kIntegers;
    std::string name = below(2) == 0 ? one_of(kAll) : one_of(some);
    if (truths && name == "sub.Tensor") name = "add.Tensor";  // PyTorch refuses to subtract truths
    return op("aten." + name, {x.value, y.value});
  }
  Node plain_float(const Node& x) { return x.dtype == DType::kF32 ? x : op("aten.to.dtype", {x.value}, attr("dtype", DType::kF32)); }

  void pointwise_of_all_types() {
    static const std::vector<DType> kTypes = {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                                              DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
    const std::vector<int64_t> dims = one_of<std::vector<int64_t>>({{1}, {33}, {5, 31}, {2, 3, 17}, {4097}, {0, 7}});
    std::vector<Node> pool;
    for (int i = 0; i < 4; ++i) pool.push_back(input(one_of(kTypes), dims, true));
    for (int i = 0; i < 12; ++i) {
      const Node x = one_of(pool), y = one_of(pool);
      Node made;
      const uint32_t choice = below(10);
      if (choice < 4) {
        made = binary(x, y);
      } else if (choice < 7) {
        made = is_float(x.dtype) ? unary_float(x) : x.dtype == DType::kBool ? op("aten.logical_not", {x.value}) : unary_integer(x);
      } else if (choice == 7) {
        made = op("aten.to.dtype", {x.value}, attr("dtype", is_float(x.dtype) ? one_of<DType>({DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) : one_of(kTypes)));
      } else if (choice == 8) {
        const Node truth = op("aten.gt.Tensor", {x.value, y.value});
        made = op("aten.where.self", {truth.value, x.value, y.value});
      } else {
        made = is_float(x.dtype) ? op("aten.clamp", {x.value}, attr("min", -1.5), attr("max", 2.0)) : op("aten.mul.Scalar", {x.value}, attr("other", 3));
      }
      pool.push_back(made);
    }
    for (size_t i = 4; i < pool.size(); i += 2) results_.push_back(pool[i]);
    results_.push_back(pool.back());
  }

  void reductions() {
    const int64_t extent = one_of<int64_t>({0, 1, 31, 32, 33, 4097});
    const int64_t other = one_of<int64_t>({1, 3, 17});
    const bool last = below(2) == 0;
    const std::vector<int64_t> dims = last ? std::vector<int64_t>{other, extent} : std::vector<int64_t>{extent, other};
    const DType dtype = one_of<DType>({DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kU8, DType::kBool, DType::kBF16});
    Node x = input(dtype, dims, below(2) == 0);
    if (is_float(dtype) && below(2) == 0) x = unary_float(x);
    const int64_t axis = last ? 1 : 0;
    const auto axes = attr("dim", std::vector<Dim>{axis});
    results_.push_back(op("aten.sum.dim_IntList", {x.value}, axes, attr("keepdim", below(2) == 0)));
    results_.push_back(op("aten.sum", {x.value}));
    results_.push_back(op("aten.any.dim", {x.value}, attr("dim", axis)));
    results_.push_back(op("aten.all", {x.value}));
    results_.push_back(op("aten.prod.dim_int", {x.value}, attr("dim", axis)));
    if (extent > 0) {
      results_.push_back(op("aten.amax", {x.value}, axes));
      results_.push_back(op("aten.amin", {x.value}, axes));
      if (x.dtype != DType::kBool) {
        results_.push_back(op("aten.argmax", {x.value}, attr("dim", axis)));
        results_.push_back(op("aten.argmin", {x.value}));
      }
    }
    if (is_float(x.dtype)) {
      results_.push_back(op("aten.mean.dim", {x.value}, axes));
      if (extent > 1) {
        results_.push_back(op("aten.var.correction", {x.value}, axes));
        results_.push_back(op("aten.linalg_vector_norm", {x.value}, attr("ord", 2.0), axes));
        results_.push_back(op("aten.logsumexp", {x.value}, axes));
      }
    }
  }

  void rows() {
    const int64_t extent = one_of<int64_t>({1, 31, 32, 33, 384, 1025});
    const int64_t count = one_of<int64_t>({1, 5, 40});
    const bool special = below(3) == 0;
    Node x = input(DType::kF32, {count, extent}, special);
    if (below(2) == 0) x = op("aten.mul.Scalar", {x.value}, attr("other", 0.5));
    const Node soft = op("aten.softmax.int", {x.value}, attr("dim", -1));
    results_.push_back(soft);
    results_.push_back(op("aten.log_softmax.int", {x.value}, attr("dim", int64_t(below(2)))));
    const Node weight = input(DType::kF32, {extent}, false), bias = input(DType::kF32, {extent}, false);
    const Node norm = op("aten.layer_norm", {x.value, weight.value, bias.value}, attr("normalized_shape", std::vector<Dim>{extent}), attr("eps", 1e-5));
    results_.push_back(norm);
    results_.push_back(op("aten.add.Tensor", {norm.value, soft.value}));
    results_.push_back(op("aten.rms_norm", {x.value, weight.value}, attr("normalized_shape", std::vector<Dim>{extent}), attr("eps", 1e-6)));
    results_.push_back(op("aten.cumsum", {x.value}, attr("dim", 1)));
  }

  void products() {
    static const std::vector<int64_t> kSizes = {1, 2, 7, 16, 31, 33, 64, 129, 257};
    const int64_t m = one_of(kSizes), n = one_of(kSizes), k = one_of<int64_t>({1, 5, 32, 100, 256, 257, 600});
    Node a, b;
    if (below(2) == 0) {
      a = input(DType::kF32, {m, k}, false);
      b = input(DType::kF32, {k, n}, false);
    } else {
      const int64_t batch = one_of<int64_t>({1, 2, 3});
      a = input(DType::kF32, {batch, m, k}, false);
      b = below(2) == 0 ? input(DType::kF32, {batch, k, n}, false) : input(DType::kF32, {k, n}, false);
    }
    const Node c = op("aten.matmul", {a.value, b.value});
    results_.push_back(c);
    results_.push_back(op("aten.gelu", {c.value}));
    const Node weight = input(DType::kF32, {n, k}, false), bias = input(DType::kF32, {n}, false);
    const Node linear = op("aten.linear", {a.value, weight.value, bias.value});
    results_.push_back(op("aten.relu", {linear.value}));
    results_.push_back(op("aten.add.Tensor", {linear.value, c.value}));
  }

  void mixed() {
    const int64_t batch = one_of<int64_t>({1, 2}), length = one_of<int64_t>({1, 7, 33}), width = one_of<int64_t>({16, 48});
    Node x = input(DType::kF32, {batch, length, width}, false);
    const Node w = input(DType::kF32, {width, width}, false), gain = input(DType::kF32, {width}, false);
    Node q = op("aten.linear", {x.value, w.value});
    Node heads = op("aten.view", {q.value}, attr("size", std::vector<Dim>{batch, length, 2, width / 2}));
    heads = op("aten.transpose.int", {heads.value}, attr("dim0", 1), attr("dim1", 2));
    Node attended;
    if (below(2) == 0) {
      attended = op("aten.scaled_dot_product_attention", {heads.value, heads.value, heads.value});
    } else {
      const Node turned = op("aten.transpose.int", {heads.value}, attr("dim0", -1), attr("dim1", -2));
      const Node scores = op("aten.mul.Scalar", {op("aten.matmul", {heads.value, turned.value}).value}, attr("other", 0.125));
      attended = op("aten.matmul", {op("aten.softmax.int", {scores.value}, attr("dim", -1)).value, heads.value});
    }
    attended = op("aten.transpose.int", {attended.value}, attr("dim0", 1), attr("dim1", 2));
    attended = op("aten.reshape", {attended.value}, attr("shape", std::vector<Dim>{batch, length, width}));
    const Node sum = op("aten.add.Tensor", {attended.value, x.value});
    const Node norm = op("aten.layer_norm", {sum.value, gain.value}, attr("normalized_shape", std::vector<Dim>{width}));
    results_.push_back(norm);
    results_.push_back(op("aten.cat", {}, attr("tensors", {norm.value, x.value}), attr("dim", 1)));
    results_.push_back(op("aten.mean.dim", {norm.value}, attr("dim", std::vector<Dim>{1})));
    results_.push_back(op("aten.flip", {sum.value}, attr("dims", std::vector<Dim>{2})));
    results_.push_back(op("aten.roll", {sum.value}, attr("shifts", std::vector<Dim>{1}), attr("dims", std::vector<Dim>{2})));
    results_.push_back(op("aten.slice.Tensor", {sum.value}, attr("dim", 2), attr("start", 3), attr("step", 2)));
    results_.push_back(op("aten.tril", {sum.value}));
    results_.push_back(op("aten.argmax", {norm.value}, attr("dim", 2)));
  }

  std::mt19937 random_;
  Graph* graph_ = nullptr;
  std::vector<Input> inputs_;
  std::vector<Node> results_;
  std::string steps_;
};

}  // namespace tenon::tests
