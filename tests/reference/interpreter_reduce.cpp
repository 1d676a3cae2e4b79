// Reductions and scans.
#include <algorithm>
#include <cmath>

#include "reference/interpreter_node.hpp"

namespace tenon::testing {
namespace {

// The positions in x that each element of the result is made of, in row-major order.
struct Groups {
  Index dims;  // of the result
  std::vector<std::vector<size_t>> members;
};

Groups groups_of(const Dense& x, const Index& axes, bool keepdim) {
  Groups groups;
  Index kept = x.dims;
  for (const int64_t axis : axes) kept[size_t(axis)] = 1;
  const auto reduced = [&](size_t d) { return std::find(axes.begin(), axes.end(), int64_t(d)) != axes.end(); };
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (keepdim || !reduced(d)) groups.dims.push_back(kept[d]);
  }
  groups.members.resize(size_t(count_of(kept)));
  if (x.size() == 0) return groups;
  Index index(x.dims.size(), 0);
  size_t at = 0;
  do groups.members[size_t(broadcast_position(index, kept))].push_back(at++);
  while (advance(index, x.dims));
  return groups;
}

// True when b takes the place of a: NaN wins over everything but an earlier NaN, of equals the earlier stays.
bool beats(const Dense& x, size_t a, size_t b, bool largest) {
  if (x.is_real()) {
    const double first = x.reals[a], second = x.reals[b];
    if (std::isnan(first)) return false;
    if (std::isnan(second)) return true;
    return largest ? second > first : second < first;
  }
  const int64_t first = x.integers[a], second = x.integers[b];
  if (x.dtype == DType::kU64) return largest ? uint64_t(second) > uint64_t(first) : uint64_t(second) < uint64_t(first);
  return largest ? second > first : second < first;
}

Result<Dense> fold(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const bool product = node.name() == "prim.prod";
  const Groups groups = groups_of(x, node.integers(1), node.boolean(2));
  Dense result = zeros(x.dtype, groups.dims);
  for (size_t i = 0; i < groups.members.size(); ++i) {
    double real = product ? 1 : 0;
    uint64_t integer = product ? 1 : 0;
    for (const size_t member : groups.members[i]) {
      if (x.is_real()) real = product ? real * x.reals[member] : real + x.reals[member];
      else integer = product ? integer * uint64_t(x.integers[member]) : integer + uint64_t(x.integers[member]);
    }
    if (x.is_real()) result.reals[i] = real;
    else result.integers[i] = int64_t(integer);
  }
  return result;
}

Result<Dense> extreme(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const bool largest = node.name() == "prim.amax";
  const Groups groups = groups_of(x, node.integers(1), node.boolean(2));
  Dense result = zeros(x.dtype, groups.dims);
  for (size_t i = 0; i < groups.members.size(); ++i) {
    if (groups.members[i].empty()) return node.failed("no elements");
    size_t best = groups.members[i][0];
    for (const size_t member : groups.members[i]) {
      if (beats(x, best, member, largest)) best = member;
    }
    copy_element(result, i, x, best);
  }
  return result;
}

Result<Dense> place_of_extreme(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const bool largest = node.name() == "prim.argmax";
  const Groups groups = groups_of(x, {node.integer(1)}, node.boolean(2));
  Dense result = zeros(DType::kI64, groups.dims);
  for (size_t i = 0; i < groups.members.size(); ++i) {
    const std::vector<size_t>& members = groups.members[i];
    if (members.empty()) return node.failed("no elements");
    size_t best = 0;
    for (size_t m = 1; m < members.size(); ++m) {
      if (beats(x, members[best], members[m], largest)) best = m;
    }
    result.integers[i] = int64_t(best);
  }
  return result;
}

Result<Dense> truth(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const bool any = node.name() == "prim.any";
  const Groups groups = groups_of(x, node.integers(1), node.boolean(2));
  Dense result = zeros(DType::kBool, groups.dims);
  for (size_t i = 0; i < groups.members.size(); ++i) {
    bool holds = !any;
    for (const size_t member : groups.members[i]) {
      holds = any ? holds || x.integers[member] != 0 : holds && x.integers[member] != 0;
    }
    result.integers[i] = holds;
  }
  return result;
}

Result<Dense> cumsum(const NodeView& node) {
  const Dense& x = node.tensor(0);
  Dense result = x;
  for (const std::vector<size_t>& line : groups_of(x, {node.integer(1)}, true).members) {
    double real = 0;
    uint64_t integer = 0;
    for (const size_t member : line) {
      if (x.is_real()) result.reals[member] = real += x.reals[member];
      else result.integers[member] = int64_t(integer += uint64_t(x.integers[member]));
    }
  }
  return result;
}

}  // namespace

void add_reductions(RunTable& table) {
  for (const char* name : {"prim.sum", "prim.prod"}) table.emplace(name, fold);
  for (const char* name : {"prim.amax", "prim.amin"}) table.emplace(name, extreme);
  for (const char* name : {"prim.argmax", "prim.argmin"}) table.emplace(name, place_of_extreme);
  for (const char* name : {"prim.any", "prim.all"}) table.emplace(name, truth);
  table.emplace("prim.cumsum", cumsum);
}

}  // namespace tenon::testing
