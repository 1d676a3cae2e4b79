#include "graph/type.hpp"

namespace tenon::graph {

std::vector<Expr> row_major_strides(symbolic::Pool& pool, const std::vector<Expr>& dims) {
  std::vector<Expr> strides(dims.size());
  Expr stride = pool.constant(1);
  for (size_t dim = dims.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride = pool.mul(stride, dims[dim]);
  }
  return strides;
}

void normalize_strides(symbolic::Pool& pool, Type& type) {
  if (type.pending || type.strides.empty()) return;
  if (type.strides.size() != type.dims.size()) return;  // verify() names it
  const std::vector<Expr> row_major = row_major_strides(pool, type.dims);
  for (size_t dim = 0; dim < type.dims.size(); ++dim) {
    if (pool.is_constant(type.dims[dim], 0)) {
      type.strides.clear();
      return;
    }
    if (pool.is_constant(type.dims[dim], 1)) type.strides[dim] = row_major[dim];
  }
  if (type.strides == row_major) type.strides.clear();
}

}  // namespace tenon::graph
