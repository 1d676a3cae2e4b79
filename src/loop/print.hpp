// The text form of a loop module, for goldens and explain:
//
//   loops @mlp {
//     %x: f32[s0, 64] = input 0
//     %t0: f32[s0] = reduce sum [i0: s0] over [i1: 64] {
//       %0 = load %x[64*i0 + i1] : f32
//       %1 = max %0, 0.0 : f32
//       yield %1
//     }
//     return %t0
//   }
//
// Indices are element offsets into the buffer. Values of a body are numbered in order of first use.
#pragma once

#include <string>
#include <string_view>

#include "loop/module.hpp"

namespace tenon::loop {

std::string print(const Module& module, std::string_view name);

}  // namespace tenon::loop
