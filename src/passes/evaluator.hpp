// Computes single nodes at compile time. The compile room gives one that runs the vm, so that a folded value has the bits
// that the program would have computed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace tenon::passes {

// Row-major elements of known sizes.
struct KnownTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  Blob bytes;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // The results of a primitive. `operands`: the values of Graph::uses(node), in that order. Nothing: it cannot compute
  // this node, which then stays. An error that the program would report when it runs (an integer divided by zero, an
  // index out of range) is nothing, too.
  virtual std::optional<std::vector<KnownTensor>> evaluate(const graph::Graph& graph, const graph::Node& node,
                                                           std::span<const KnownTensor> operands) = 0;
};

}  // namespace tenon::passes
