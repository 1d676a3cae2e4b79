#include "graph/inline_data.hpp"

#include "graph/element.hpp"
#include "graph/print.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

// Offsets, in elements, of all elements in row-major order; nothing when there are more than kMaxInlineElements or when
// something overflows.
std::optional<std::vector<int64_t>> offsets_of(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  if (dims.size() != strides.size()) return std::nullopt;
  std::vector<int64_t> offsets = {0};
  for (int64_t size : dims) {
    if (size == 0) return std::vector<int64_t>{};
  }
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    if (dims[dim] < 0 || dims[dim] > int64_t(kMaxInlineElements) || strides[dim] < 0) return std::nullopt;
    std::vector<int64_t> next;
    if (offsets.size() * size_t(dims[dim]) > kMaxInlineElements) return std::nullopt;
    for (int64_t offset : offsets) {
      for (int64_t index = 0; index < dims[dim]; ++index) {
        int64_t moved = 0;
        if (__builtin_mul_overflow(index, strides[dim], &moved) || __builtin_add_overflow(offset, moved, &moved))
          return std::nullopt;
        next.push_back(moved);
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

std::string data_text(DType dtype, const Blob& bytes, int64_t offset_bytes, const std::vector<int64_t>& dims,
                      const std::vector<int64_t>& strides) {
  if (bytes.empty() || offset_bytes < 0) return "";
  const auto offsets = offsets_of(dims, strides);
  if (!offsets || offsets->empty()) return "";
  const auto element_bytes = int64_t(size_bytes(dtype));
  std::string out = "[";
  for (size_t index = 0; index < offsets->size(); ++index) {
    int64_t at = 0;
    if (__builtin_mul_overflow((*offsets)[index], element_bytes, &at) ||
        __builtin_add_overflow(at, offset_bytes, &at) || at > int64_t(bytes.size()) - element_bytes)
      return "";
    if (index > 0) out += ", ";
    append_element(out, dtype, bytes.data() + at);
  }
  return out + "]";
}

}  // namespace

std::string inline_data(const Graph& graph, const Constant& constant) {
  return data_text(graph.type(constant.value).dtype, constant.bytes, constant.offset_bytes, constant.dims,
                   constant.strides);
}

std::string inline_data(const Graph& graph, const State& state) {
  const Type& type = graph.type(state.value);
  if (type.pending || type.is_scalar()) return "";
  const auto constants = [&](const std::vector<Expr>& sizes) -> std::optional<std::vector<int64_t>> {
    std::vector<int64_t> values;
    for (Expr size : sizes) {
      const auto value = graph.pool().as_constant(size);
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  };
  const auto dims = constants(type.dims);
  const auto strides = constants(type.strides.empty() ? row_major_strides(graph.pool(), type.dims) : type.strides);
  return dims && strides ? data_text(type.dtype, state.initial, 0, *dims, *strides) : "";
}

Result<Blob> read_inline_data(DType dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                              const std::vector<std::string>& elements) {
  const auto refuse = [](std::string_view expected, std::string_view found) {
    return invalid_argument(concat("expected ", expected, ", found ", found))
        .with("expected", expected)
        .with("found", found);
  };
  const auto offsets = offsets_of(dims, strides);
  if (!offsets) return refuse(concat("at most ", kMaxInlineElements, " elements inline"), "a larger type");
  if (offsets->size() != elements.size()) return refuse(concat(offsets->size(), " elements"), concat(elements.size()));
  if (elements.empty()) return Blob();
  const auto element_bytes = int64_t(size_bytes(dtype));
  int64_t last = 0;
  for (int64_t offset : *offsets) last = std::max(last, offset);
  if (last >= kMaxInlineBytes / element_bytes) return refuse("strides that stay within 1 MiB", "larger ones");
  std::vector<uint8_t> bytes(size_t((last + 1) * element_bytes), 0);
  for (size_t index = 0; index < elements.size(); ++index) {
    if (!write_element(dtype, elements[index], bytes.data() + (*offsets)[index] * element_bytes))
      return refuse(concat("an element of type ", name(dtype)), elements[index]);
  }
  return Blob::own(std::move(bytes));
}

}  // namespace tenon::graph
