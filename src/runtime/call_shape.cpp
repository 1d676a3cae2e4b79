#include "runtime/call_shape.hpp"

#include <algorithm>
#include <cstring>

#include "support/format.hpp"

namespace tenon::runtime {

bool known_dtype(int32_t dtype) { return dtype >= int32_t(DType::kBool) && dtype <= int32_t(DType::kU64); }

void normalize_strides(std::span<const int64_t> dims, std::span<int64_t> strides) {
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  int64_t dense = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (empty || dims[d] == 1) strides[d] = dense;
    dense *= std::max<int64_t>(dims[d], 1);
  }
}

bool is_row_major(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  int64_t dense = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (strides[d] != dense) return false;
    dense *= std::max<int64_t>(dims[d], 1);
  }
  return true;
}

std::string describe_dims(std::span<const int64_t> dims) {
  std::string out = "[";
  for (size_t d = 0; d < dims.size(); ++d) append(out, concat(d == 0 ? "" : ", ", dims[d]));
  return out + "]";
}

std::string describe(const tenon_tensor_t& t) {
  std::string out(known_dtype(t.dtype) ? name(DType(t.dtype)) : std::string_view("?"));
  const size_t rank = size_t(std::max(t.rank, 0));
  if (rank > 0 && t.dims == nullptr) return out + "[?]";
  append(out, describe_dims({t.dims, rank}));
  if (t.strides != nullptr && !is_row_major({t.dims, rank}, {t.strides, rank})) {
    std::string strides = describe_dims({t.strides, rank});
    strides.front() = '{';
    strides.back() = '}';
    append(out, strides);
  }
  return out;
}

ByteRange byte_range(const tenon_tensor_t& t) {
  int64_t low = 0, high = 0;
  for (int32_t d = 0; d < t.rank; ++d) {
    if (t.dims[d] == 0) return {};
    const int64_t reach = (t.dims[d] - 1) * t.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t element = int64_t(size_bytes(DType(t.dtype)));
  const uintptr_t at = reinterpret_cast<uintptr_t>(t.data);
  return {at + uintptr_t(low * element), at + uintptr_t((high + 1) * element)};
}

int64_t read_integer(const tenon_tensor_t& t) {
  if (t.data == nullptr || !known_dtype(t.dtype) || is_floating(DType(t.dtype))) return 0;
  const auto read = [&]<typename T>(T value) {
    std::memcpy(&value, t.data, sizeof value);
    return int64_t(value);
  };
  switch (DType(t.dtype)) {
    case DType::kBool:
      return read(uint8_t{}) != 0;
    case DType::kU8:
      return read(uint8_t{});
    case DType::kI8:
      return read(int8_t{});
    case DType::kI16:
      return read(int16_t{});
    case DType::kU16:
      return read(uint16_t{});
    case DType::kI32:
      return read(int32_t{});
    case DType::kU32:
      return read(uint32_t{});
    case DType::kU64:
      return read(uint64_t{});
    default:
      return read(int64_t{});
  }
}

int64_t BoundTensor::elements() const {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d) count *= dims[d];
  return count;
}

Status BoundTensor::bind(const tenon_tensor_t& from, std::string_view what, std::string_view name, bool* changed) {
  const auto bad = [&](std::string_view problem, std::string_view expected, std::string_view found) {
    return invalid_argument(concat(what, " `", name, "`: ", problem, ", found ", found))
        .with(what, name)
        .with("expected", expected)
        .with("found", found);
  };
  if (!known_dtype(from.dtype)) return bad("unknown dtype", "a tenon_dtype", concat(from.dtype));
  if (from.rank < 0 || from.rank > TENON_MAX_RANK) return bad("rank out of range", "0 to 16", concat(from.rank));
  if (from.device_kind != 0 && from.device_kind != TENON_DEVICE_CPU) {
    return bad("the tensor is not on the CPU", "cpu",
               from.device_kind == TENON_DEVICE_CUDA ? "cuda" : concat("device kind ", from.device_kind));
  }
  if ((from.flags & ~TENON_TYPE_SCALAR) != 0) return bad("unknown flags", "none of these bits", concat(from.flags));
  if (from.reserved != 0) return bad("the reserved word is not zero", "0", concat(from.reserved));
  const size_t rank = size_t(from.rank);
  if (rank > 0 && from.dims == nullptr) return bad("dims are missing", "an array", "NULL");
  int64_t fresh_strides[TENON_MAX_RANK], dense = 1, reach = 1;
  for (size_t d = rank; d-- > 0;) {
    if (from.dims[d] < 0) return bad(concat("dim ", d, " is negative"), ">= 0", concat(from.dims[d]));
    fresh_strides[d] = from.strides != nullptr ? from.strides[d] : dense;
    int64_t step = 0;
    if (__builtin_mul_overflow(dense, std::max<int64_t>(from.dims[d], 1), &dense) || dense > INT64_MAX / 16 ||
        __builtin_mul_overflow(std::max<int64_t>(from.dims[d], 1) - 1,
                               fresh_strides[d] == INT64_MIN ? INT64_MAX : std::abs(fresh_strides[d]), &step) ||
        __builtin_add_overflow(reach, step, &reach) || reach > INT64_MAX / 16) {
      return bad("the sizes leave the address space", "less than 2^63 bytes", describe_dims({from.dims, rank}));
    }
  }
  if (rank > 0) normalize_strides({from.dims, rank}, {fresh_strides, rank});
  *changed = !bound || tensor.dtype != from.dtype || tensor.rank != from.rank ||
             !std::equal(from.dims, from.dims + rank, dims) ||
             !std::equal(fresh_strides, fresh_strides + rank, strides);
  std::copy(from.dims, from.dims + rank, dims);
  std::copy(fresh_strides, fresh_strides + rank, strides);
  tensor = from;
  point();
  bound = true;
  return {};
}

}  // namespace tenon::runtime
