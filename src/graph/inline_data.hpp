// Values of small constants and states inside the text format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"

namespace tenon::graph {

// "[1.0, 2.0]", flat in row-major order of the dims; "" when there are no bytes, no elements or too many, or when sizes
// are not constants.
std::string inline_data(const Graph& graph, const Constant& constant);
std::string inline_data(const Graph& graph, const State& state);

// The inverse: bytes laid out by `strides` (elements). Errors: INVALID_ARGUMENT for a count that is not the product of
// the dims, more than kMaxInlineElements, an element that does not fit, strides that reach over kMaxInlineBytes.
inline constexpr int64_t kMaxInlineBytes = int64_t{1} << 20;
Result<Blob> read_inline_data(DType dtype, const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                              const std::vector<std::string>& elements);

}  // namespace tenon::graph
