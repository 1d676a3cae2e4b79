// Makes a graph concrete for one call: binds its symbols to the call's sizes as hints, decides which free dims stay
// symbols, and infers every type anew. What inference had to assume is left as guards in the graph's facts.
//
//   declared symbol  dynamic from the first call, range and divisor checked
//   fixed dim        another size is an error
//   auto dim         PyTorch's rules: the first call is static; 0 and 1 are constants; a dim that differs from earlier
//                    calls becomes a symbol; symbols with equal sizes share
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "runtime/compiler_interface.hpp"

namespace tenon::compile {

// Sizes that earlier calls had in each auto dim (by symbol). Single owner.
struct DimHistory {
  std::map<symbolic::SymbolId, std::set<int64_t>> seen;
};

// How a symbol is found from the inputs: input dim minus offset, divided by factor.
struct SymbolSource {
  symbolic::SymbolId symbol = 0;
  uint32_t input = 0, dim = 0;
  int64_t factor = 1, offset = 0;
};

// A condition on the call that the program relies on.
struct Condition {
  symbolic::Predicate predicate;   // over symbols; or, with stride_of, a relation of that stride to predicate.b
  std::string text, origin;
  bool required = false;           // an error when it does not hold, else a miss
  int32_t input = -1, dim = -1;    // predicate.a is this input's dim ...
  bool stride = false;             // ... or stride
};

struct Specialized {
  std::unique_ptr<graph::Graph> graph;
  std::vector<SymbolSource> sources;
  std::vector<Condition> conditions;   // besides the guards in graph->facts()
};

// Errors: INVALID_ARGUMENT with fields input, expected, found when the call contradicts what the graph declares.
Result<Specialized> specialize(const graph::Graph& graph, const runtime::CallSignature& signature, int32_t auto_dims,
                               DimHistory& history);

}  // namespace tenon::compile
