// Matrix product, softmax, layer norm, attention: by their definitions.
#include <algorithm>
#include <cmath>

#include "reference/interpreter_node.hpp"

namespace tenon::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Result<Dense> matmul(const NodeView& node) {
  const Dense& a = node.tensor(0);
  const Dense& b = node.tensor(1);
  const size_t rank = a.dims.size();
  const int64_t rows = a.dims[rank - 2], depth = a.dims[rank - 1], columns = b.dims[rank - 1];
  Index dims = a.dims;
  dims[rank - 1] = columns;
  Dense result = zeros(a.dtype, dims);
  const int64_t batches = rows * columns == 0 ? 0 : int64_t(result.size()) / (rows * columns);
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        double real = 0;
        uint64_t integer = 0;
        for (int64_t k = 0; k < depth; ++k) {
          const size_t left = size_t((batch * rows + i) * depth + k), right = size_t((batch * depth + k) * columns + j);
          if (a.is_real()) real += a.reals[left] * b.reals[right];
          else integer += uint64_t(a.integers[left]) * uint64_t(b.integers[right]);
        }
        const size_t at = size_t((batch * rows + i) * columns + j);
        if (a.is_real()) result.reals[at] = real;
        else result.integers[at] = int64_t(integer);
      }
    }
  }
  return result;
}

// In place; a line without a finite element gives NaN.
void softmax_line(std::vector<double>& line, bool log) {
  double largest = -kInfinity, sum = 0;
  for (const double value : line) largest = std::isnan(value) || std::isnan(largest) ? NAN : std::max(largest, value);
  for (const double value : line) sum += std::exp(value - largest);
  for (double& value : line) value = log ? value - largest - std::log(sum) : std::exp(value - largest) / sum;
}

Result<Dense> softmax(const NodeView& node) {
  Dense result = node.tensor(0);
  const size_t dim = size_t(node.integer(1));
  int64_t inner = 1, outer = 1;
  for (size_t d = dim + 1; d < result.dims.size(); ++d) inner *= result.dims[d];
  for (size_t d = 0; d < dim; ++d) outer *= result.dims[d];
  const int64_t length = result.dims[dim];
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<double> line;
      for (int64_t k = 0; k < length; ++k) line.push_back(result.reals[size_t((o * length + k) * inner + i)]);
      softmax_line(line, node.boolean(2));
      for (int64_t k = 0; k < length; ++k) result.reals[size_t((o * length + k) * inner + i)] = line[size_t(k)];
    }
  }
  return result;
}

Result<Dense> layer_norm(const NodeView& node) {
  Dense result = node.tensor(0);
  int64_t length = 1;
  for (size_t d = result.dims.size() - size_t(node.integer(1)); d < result.dims.size(); ++d) length *= result.dims[d];
  const double eps = node.real(4);
  for (size_t start = 0; start < result.size(); start += size_t(length)) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; ++i) mean += result.reals[start + size_t(i)] / double(length);
    for (int64_t i = 0; i < length; ++i) {
      const double distance = result.reals[start + size_t(i)] - mean;
      variance += distance * distance / double(length);
    }
    for (int64_t i = 0; i < length; ++i) {
      double& value = result.reals[start + size_t(i)];
      value = (value - mean) / std::sqrt(variance + eps);
      if (!node.absent(2)) value *= node.tensor(2).reals[size_t(i)];
      if (!node.absent(3)) value += node.tensor(3).reals[size_t(i)];
    }
  }
  return result;
}

Result<Dense> attention(const NodeView& node) {
  const Dense& q = node.tensor(0);
  const Dense& k = node.tensor(1);
  const Dense& v = node.tensor(2);
  const Dense* mask = node.absent(3) ? nullptr : &node.tensor(3);
  const double scale = node.real(4);
  const bool causal = node.boolean(5), safe = node.boolean(6);
  const int64_t batches = q.dims[0], heads = q.dims[1], queries = q.dims[2], width = q.dims[3];
  const int64_t key_heads = k.dims[1], keys = k.dims[2], value_width = v.dims[3];
  Dense result = zeros(q.dtype, {batches, heads, queries, value_width});
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t key_head = h / (heads / key_heads);
      for (int64_t i = 0; i < queries; ++i) {
        std::vector<double> scores;
        bool sees_any = false;
        for (int64_t j = 0; j < keys; ++j) {
          double score = 0;
          for (int64_t d = 0; d < width; ++d) {
            const size_t left = size_t(position({b, h, i, d}, q.dims));
            score += q.reals[left] * k.reals[size_t(position({b, key_head, j, d}, k.dims))];
          }
          score *= scale;
          if (mask != nullptr) {
            const size_t at = size_t(broadcast_position({b, h, i, j}, mask->dims));
            if (mask->is_real()) score += mask->reals[at];
            else if (mask->integers[at] == 0) score = -kInfinity;
          }
          if (causal && j > i) score = -kInfinity;
          sees_any = sees_any || score != -kInfinity;
          scores.push_back(score);
        }
        softmax_line(scores, false);
        for (int64_t d = 0; d < value_width; ++d) {
          double sum = 0;
          for (int64_t j = 0; j < keys; ++j) {
            sum += scores[size_t(j)] * v.reals[size_t(position({b, key_head, j, d}, v.dims))];
          }
          if (!sees_any) sum = safe ? 0 : NAN;
          result.reals[size_t(position({b, h, i, d}, result.dims))] = sum;
        }
      }
    }
  }
  return result;
}

}  // namespace

void add_heavy(RunTable& table) {
  table.emplace("prim.matmul", matmul);
  table.emplace("prim.softmax", softmax);
  table.emplace("prim.layer_norm", layer_norm);
  table.emplace("prim.attention", attention);
}

}  // namespace tenon::testing
