// The text form of a graph:
//
//   graph @mlp(%x: f32[s0, 64], %scale: f64) -> (y: f32[s0, 128]) on cpu where s0 in [1, 4096] {
//     %w = constant "fc.weight" : f32[64, 128]
//     %n = state "calls" = [0] : i64[]
//     %0 = aten.mm(%x, %w) : f32[s0, 128]
//     %1 = aten.mul.Scalar(%0, %scale) : f32[s0, 128]
//     %2 = aten.add.Scalar(%n, 1) : i64[]
//     write %n = %2
//     return %1
//   }
//
// Canonical: constants, then states, then nodes in order; unnamed values are numbered in that order, unbacked symbols
// become u0, u1, ...; equal graphs have equal text, and parse() gives a graph that prints the same.
// A type is dtype[dims]{strides}, strides only when not row-major, followed by "on cuda:0" when the device is not the
// graph's; a scalar is its dtype alone. `?` at an input is an auto dim, `?0` names the first of them elsewhere; `??` is a
// pending type, or a result's dim that depends on an auto dim (parse infers it again).
// Constants and initial states of at most kMaxInlineElements elements carry their values, in row-major order.
#pragma once

#include <string>

#include "graph/graph.hpp"

namespace tenon::graph {

inline constexpr size_t kMaxInlineElements = 64;

// Works for broken graphs too, as far as it can (a dangling value prints as %!7).
std::string print(const Graph& graph);
// One type with the names of its pool, for messages: "f32[s0, 64]", "??".
std::string print(const symbolic::Pool& pool, const Type& type);
std::string print(Device device);  // "cpu", "cuda:0"
std::string_view print(MemoryFormat format);

}  // namespace tenon::graph
