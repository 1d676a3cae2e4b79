#include "runtime/strided_copy.hpp"

#include <cstring>

#include "runtime/call_shape.hpp"

namespace tenon::runtime {

void copy_to_row_major(const tenon_tensor_t& from, void* to) {
  const size_t element = size_bytes(DType(from.dtype));
  const size_t rank = size_t(from.rank);
  int64_t count = 1;
  for (size_t d = 0; d < rank; ++d) count *= from.dims[d];
  if (count == 0) return;
  if (is_row_major({from.dims, rank}, {from.strides, rank})) {
    if (from.data != to) std::memcpy(to, from.data, size_t(count) * element);
    return;
  }
  // Runs of the last dim, contiguous ones at once.
  const int64_t run = from.dims[rank - 1], step = from.strides[rank - 1];
  int64_t at[TENON_MAX_RANK] = {};
  char* out = static_cast<char*>(to);
  for (int64_t done = 0; done < count; done += run) {
    int64_t offset = 0;
    for (size_t d = 0; d + 1 < rank; ++d) offset += at[d] * from.strides[d];
    const char* row = static_cast<const char*>(from.data) + offset * int64_t(element);
    if (step == 1) {
      std::memcpy(out, row, size_t(run) * element);
      out += size_t(run) * element;
    } else {
      for (int64_t i = 0; i < run; ++i, out += element) std::memcpy(out, row + i * step * int64_t(element), element);
    }
    for (size_t d = rank - 1; d-- > 0 && ++at[d] == from.dims[d];) at[d] = 0;
  }
}

}  // namespace tenon::runtime
