// A slow, obvious evaluator of the primitives that tests of passes need, over f32, i64 and bool: sums, products,
// comparisons, choices, everything that moves elements, matmul, sum and softmax. Other dtypes and primitives, and what a
// run would report (an integer divided by zero, an index out of range), are not computed.
#pragma once

#include "passes/evaluator.hpp"

namespace tenon::text {

class SmallEvaluator : public passes::Evaluator {
 public:
  std::optional<std::vector<passes::KnownTensor>> evaluate(const graph::Graph& graph, const graph::Node& node,
                                                           std::span<const passes::KnownTensor> operands) override;
};

// Runs a whole graph of primitives with static sizes and row-major constants. `inputs` and `states`: in the graph's order. The outputs that are
// tensors, then what the write-backs store, in order; nothing when a node cannot be computed.
std::optional<std::vector<passes::KnownTensor>> evaluate_graph(const graph::Graph& graph,
                                                               std::span<const passes::KnownTensor> inputs,
                                                               std::span<const passes::KnownTensor> states = {});

passes::KnownTensor tensor_of(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values);
std::vector<double> values_of(const passes::KnownTensor& tensor);

}  // namespace tenon::text
