// Builds a graph around calls written as text, and decomposes it node by node.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace tenon::ops {

// "x: f32[s0, 4], i: i64[s1]" and the text of a call on %x, %i; symbols of `where` as in the text format.
struct Call {
  std::string inputs;
  std::string call;
  std::string where = {};
};

struct Outcome {
  std::string types;   // of the last node's results, "; " between; or "CODE message"
  std::string guards;  // ", " between
};

Outcome infer(const Call& call);
// The primitives that the calls decompose into, one a line, without constants; or "CODE message".
std::string decompose(const Call& call);

}  // namespace tenon::ops
