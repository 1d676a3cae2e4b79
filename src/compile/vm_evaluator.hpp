// Evaluates single nodes for constant folding: compiles them as a program of their own and lets the host's vm run it.
#pragma once

#include "compile/services.hpp"
#include "passes/evaluator.hpp"

namespace tenon::compile {

class VmEvaluator final : public passes::Evaluator {
 public:
  explicit VmEvaluator(const Services& services) : services_(services) {}
  std::optional<std::vector<passes::KnownTensor>> evaluate(const graph::Graph& graph, const graph::Node& node,
                                                           std::span<const passes::KnownTensor> operands) override;

 private:
  const Services& services_;
};

}  // namespace tenon::compile
