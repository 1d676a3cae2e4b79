// The slow, obvious oracle: runs a typed graph of primitives (after passes/decompose) node by node with naive loops.
// It shares no code with lowering, symbolic simplification or printers; sizes are evaluated, nothing is proven.
//
// Integers wrap around at their dtype's width. Sums, products of matrices, means and softmax are computed in double
// and rounded once. A float that an integer type cannot hold becomes what x86 makes of it (INT64_MIN, cut to width).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "reference/npy.hpp"

namespace tenon::testing {

enum class Precision : uint8_t {
  kStorage,  // each node's result is rounded to its dtype
  kDouble,   // all floats stay double: the float64 yardstick
};

// Row-major elements: floating dtypes in `reals`, the others in `integers` (u64 as its bits, bool as 0 or 1).
struct Dense {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  bool is_real() const { return is_floating(dtype); }
  size_t size() const { return is_real() ? reals.size() : integers.size(); }
  // The element as a number; exact but for 64-bit integers above 2^53.
  double number(size_t index) const;
};

Dense zeros(DType dtype, std::vector<int64_t> dims);
Dense dense_of(const Array& array);
Array array_of(const Dense& dense);  // floats rounded to the dtype
// Of elements in memory; strides in elements.
Dense dense_of(DType dtype, std::vector<int64_t> dims, std::span<const int64_t> strides, const uint8_t* first);

// One element of `dtype` as `precision` keeps it.
double rounded(double value, DType dtype, Precision precision);
int64_t wrapped(int64_t value, DType dtype);

struct Answers {
  std::vector<Dense> outputs;      // literals and sizes as tensors without dims (None: no elements, dims [0])
  std::vector<Dense> write_backs;  // in the graph's order
};

// `inputs` and `states`: in the graph's order; states may be empty for their initial values. `sizes`: values of the
// symbols, by SymbolId. Errors: UNIMPLEMENTED (no primitive, regions), OUT_OF_RANGE (an index), INVALID_ARGUMENT
// (division of integers by zero), INTERNAL (a result of another type than the graph says).
Result<Answers> interpret(const graph::Graph& graph, std::span<const Dense> inputs, std::span<const Dense> states,
                          std::span<const int64_t> sizes, Precision precision);

// Whether an operator of this canonical name can be run.
bool is_interpreted(std::string_view operator_name);

}  // namespace tenon::testing
