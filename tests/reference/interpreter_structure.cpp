#include <algorithm>

#include "reference/interpreter_node.hpp"
#include "support/format.hpp"

namespace tenon::testing {
namespace {

Result<Dense> iota(const NodeView& node) {
  Dense result = zeros(node.dtype(1), {node.integer(0)});
  for (size_t i = 0; i < result.size(); ++i) {
    if (result.is_real()) result.reals[i] = double(i);
    else result.integers[i] = int64_t(i);
  }
  return result;
}

Result<Dense> full(const NodeView& node) {
  const Dense value = node.operand(1, node.dtype(2));
  Dense result = zeros(node.dtype(2), node.integers(0));
  if (value.dims.size() != 0 || value.dtype != result.dtype) {
    // A 0-d tensor or SSA scalar of another dtype.
    if (value.size() != 1) return node.failed("the value is no number");
    for (size_t i = 0; i < result.size(); ++i) {
      if (result.is_real()) result.reals[i] = value.number(0);
      else if (result.dtype == DType::kBool) result.integers[i] = value.number(0) != 0;
      else result.integers[i] = value.is_real() ? int64_t(value.reals[0]) : value.integers[0];
    }
    return result;
  }
  for (size_t i = 0; i < result.size(); ++i) copy_element(result, i, value, 0);
  return result;
}

Result<Dense> reshape(const NodeView& node) {
  Dense result = node.tensor(0);
  result.dims = node.integers(1);
  const auto free = std::find(result.dims.begin(), result.dims.end(), -1);
  if (free != result.dims.end()) {
    *free = 1;
    const int64_t others = count_of(result.dims);
    *free = others == 0 ? 0 : int64_t(result.size()) / others;
  }
  return result;
}

Result<Dense> permute(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const Index order = node.integers(1);
  Index dims;
  for (const int64_t axis : order) dims.push_back(x.dims[size_t(axis)]);
  return rearranged(x, dims, [&](const Index& index) {
    Index from(index.size());
    for (size_t d = 0; d < index.size(); ++d) from[size_t(order[d])] = index[d];
    return position(from, x.dims);
  });
}

Result<Dense> expand(const NodeView& node) {
  const Dense& x = node.tensor(0);
  Index dims = node.integers(1);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1) dims[d] = x.dims[d - (dims.size() - x.dims.size())];
  }
  return rearranged(x, dims, [&](const Index& index) { return broadcast_position(index, x.dims); });
}

Result<Dense> slice(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const size_t dim = size_t(node.integer(1));
  const int64_t start = node.integer(2), end = node.integer(3), step = node.integer(4);
  if (start < 0 || end < start || end > x.dims[dim] || step < 1) {
    return node.failed(concat("[", start, ", ", end, ") of ", x.dims[dim], " by ", step));
  }
  Index dims = x.dims;
  dims[dim] = (end - start + step - 1) / step;
  return rearranged(x, dims, [&](const Index& index) {
    Index from = index;
    from[dim] = start + index[dim] * step;
    return position(from, x.dims);
  });
}

Result<Dense> flip(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const Index axes = node.integers(1);
  return rearranged(x, x.dims, [&](const Index& index) {
    Index from = index;
    for (const int64_t axis : axes) from[size_t(axis)] = x.dims[size_t(axis)] - 1 - index[size_t(axis)];
    return position(from, x.dims);
  });
}

Result<Dense> pad(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const Index low = node.integers(1), high = node.integers(2);
  const Dense value = node.operand(3, x.dtype);
  Index dims = x.dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (low[d] < 0 || high[d] < 0) return node.failed("a negative size");
    dims[d] += low[d] + high[d];
  }
  Dense result = zeros(x.dtype, dims);
  for (size_t i = 0; i < result.size(); ++i) copy_element(result, i, value, 0);
  if (x.size() == 0) return result;
  Index index(dims.size(), 0);
  size_t at = 0;
  do {
    Index to = index;
    for (size_t d = 0; d < dims.size(); ++d) to[d] += low[d];
    copy_element(result, size_t(position(to, dims)), x, at++);
  } while (advance(index, x.dims));
  return result;
}

Result<Dense> cat(const NodeView& node) {
  const auto& list = std::get<std::vector<graph::ValueId>>(node.argument(0));
  const size_t dim = size_t(node.integer(1));
  Dense result = node.value(list[0]);
  result.dims[dim] = 0;
  for (const graph::ValueId id : list) result.dims[dim] += node.value(id).dims[dim];
  result = zeros(result.dtype, result.dims);
  int64_t done = 0;
  for (const graph::ValueId id : list) {
    const Dense& x = node.value(id);
    if (x.size() > 0) {
      Index index(x.dims.size(), 0);
      size_t at = 0;
      do {
        Index to = index;
        to[dim] += done;
        copy_element(result, size_t(position(to, result.dims)), x, at++);
      } while (advance(index, x.dims));
    }
    done += x.dims[dim];
  }
  return result;
}

Result<int64_t> checked(const NodeView& node, int64_t index, int64_t extent, bool wraps) {
  const int64_t found = index;
  if (wraps && index < 0) index += extent;
  if (index >= 0 && index < extent) return index;
  return out_of_range(concat(node.name(), ": the index ", found, " of ", extent));
}

Result<Dense> take(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const Dense& index = node.tensor(1);
  const size_t dim = size_t(node.integer(2)), rank = index.dims.size();
  Index rows;
  for (const int64_t i : index.integers) {
    TENON_ASSIGN_OR_RETURN(const int64_t row, checked(node, i, x.dims[dim], node.boolean(3)));
    rows.push_back(row);
  }
  Index dims(x.dims.begin(), x.dims.begin() + int64_t(dim));
  dims.insert(dims.end(), index.dims.begin(), index.dims.end());
  dims.insert(dims.end(), x.dims.begin() + int64_t(dim) + 1, x.dims.end());
  return rearranged(x, dims, [&](const Index& at) {
    const Index picked(at.begin() + int64_t(dim), at.begin() + int64_t(dim + rank));
    Index from(at.begin(), at.begin() + int64_t(dim));
    from.push_back(rows[size_t(position(picked, index.dims))]);
    from.insert(from.end(), at.begin() + int64_t(dim + rank), at.end());
    return position(from, x.dims);
  });
}

Result<Dense> gather(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const Dense& index = node.tensor(2);
  const size_t dim = size_t(node.integer(1));
  if (x.dims.empty()) {  // rank 0 counts as one element
    TENON_RETURN_IF_ERROR(checked(node, index.integers[0], 1, false).status());
    return x;
  }
  for (const int64_t i : index.integers) TENON_RETURN_IF_ERROR(checked(node, i, x.dims[dim], false).status());
  return rearranged(x, index.dims, [&](const Index& at) {
    Index from = at;
    from[dim] = index.integers[size_t(position(at, index.dims))];
    return position(from, x.dims);
  });
}

Result<Dense> advanced_index(const NodeView& node) {
  const Dense& x = node.tensor(0);
  const auto& list = std::get<std::vector<graph::ValueId>>(node.argument(1));
  std::vector<size_t> picked;  // dims of x that have an index
  Index spread;
  for (size_t d = 0; d < list.size(); ++d) {
    if (list[d] == graph::kNoValue) continue;
    picked.push_back(d);
    spread = broadcast_dims(spread, node.value(list[d]).dims);
    for (const int64_t i : node.value(list[d]).integers) {
      TENON_RETURN_IF_ERROR(checked(node, i, x.dims[d], true).status());
    }
  }
  if (picked.empty()) return x;
  const auto is_picked = [&](size_t d) { return std::find(picked.begin(), picked.end(), d) != picked.end(); };
  // Where all indices stand side by side their dims take that place, else the front.
  const bool adjacent = picked.back() - picked.front() + 1 == picked.size();
  const size_t place = adjacent ? picked.front() : 0;
  Index dims;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (!is_picked(d)) dims.push_back(x.dims[d]);
  }
  dims.insert(dims.begin() + int64_t(place), spread.begin(), spread.end());
  return rearranged(x, dims, [&](const Index& at) {
    const Index middle(at.begin() + int64_t(place), at.begin() + int64_t(place + spread.size()));
    Index from(x.dims.size());
    size_t next = 0;  // among the dims of the result that are x's own
    for (size_t d = 0; d < x.dims.size(); ++d) {
      if (is_picked(d)) {
        const Dense& index = node.value(list[d]);
        const int64_t i = index.integers[size_t(broadcast_position(middle, index.dims))];
        from[d] = i < 0 ? i + x.dims[d] : i;
      } else {
        from[d] = at[next < place ? next : next + spread.size()];
        ++next;
      }
    }
    return position(from, x.dims);
  });
}

}  // namespace

void add_structure(RunTable& table) {
  table.emplace("prim.iota", iota);
  table.emplace("prim.full", full);
  table.emplace("prim.reshape", reshape);
  table.emplace("prim.permute", permute);
  table.emplace("prim.expand", expand);
  table.emplace("prim.slice", slice);
  table.emplace("prim.flip", flip);
  table.emplace("prim.pad", pad);
  table.emplace("prim.cat", cat);
  table.emplace("prim.take", take);
  table.emplace("prim.gather", gather);
  table.emplace("prim.index", advanced_index);
}

}  // namespace tenon::testing
