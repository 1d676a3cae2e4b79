// What the functions of one primitive see: the node's arguments with sizes and operands as numbers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/interpreter.hpp"

namespace tenon::testing {

using Index = std::vector<int64_t>;

class NodeView {
 public:
  NodeView(const graph::Graph& graph, const graph::Node& node, const std::vector<Dense>& values,
           std::span<const int64_t> sizes, Precision precision)
      : graph_(graph), node_(node), values_(values), sizes_(sizes), precision_(precision) {}

  std::string_view name() const { return node_.op->schema.name; }
  Precision precision() const { return precision_; }
  size_t count() const { return node_.arguments.size(); }
  const graph::Argument& argument(size_t i) const { return node_.arguments[i]; }
  bool absent(size_t i) const { return graph::is_none(argument(i)); }
  bool is_tensor(size_t i) const { return std::holds_alternative<graph::ValueRef>(argument(i)); }
  const Dense& tensor(size_t i) const { return values_[std::get<graph::ValueRef>(argument(i)).id]; }
  const Dense& value(graph::ValueId id) const { return values_[id]; }
  // A tensor, or a number as a tensor of `dtype` without dims.
  Dense operand(size_t i, DType dtype) const;
  int64_t size(graph::Expr e) const;
  int64_t integer(size_t i) const { return size(std::get<graph::Expr>(argument(i))); }
  Index integers(size_t i) const;
  double real(size_t i) const;
  bool boolean(size_t i) const { return std::get<bool>(argument(i)); }
  DType dtype(size_t i) const { return std::get<DType>(argument(i)); }
  const graph::Type& result_type() const { return graph_.type(node_.results[0]); }

  Status failed(std::string_view what) const;

 private:
  const graph::Graph& graph_;
  const graph::Node& node_;
  const std::vector<Dense>& values_;
  std::span<const int64_t> sizes_;
  Precision precision_;
};

using RunNode = Result<Dense> (*)(const NodeView&);
using RunTable = std::map<std::string, RunNode, std::less<>>;
void add_pointwise(RunTable& table);
void add_structure(RunTable& table);
void add_reductions(RunTable& table);
void add_heavy(RunTable& table);

int64_t count_of(const Index& dims);
// Goes to the next index in row-major order; false after the last.
bool advance(Index& index, const Index& dims);
int64_t position(const Index& index, const Index& dims);
// Where `index` of a broadcast result reads an operand of fewer or size-1 dims.
int64_t broadcast_position(const Index& index, const Index& dims);
Index broadcast_dims(const Index& a, const Index& b);
// Copies one element; both have the same dtype.
void copy_element(Dense& to, size_t at, const Dense& from, size_t from_at);
// A result whose element at each index is that of `x` at `source(index)`.
Dense rearranged(const Dense& x, Index dims, const std::function<int64_t(const Index&)>& source);

}  // namespace tenon::testing
