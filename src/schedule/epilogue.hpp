// Puts elementwise consumers of a template's result into the template: the value is used while it is in registers.
//
//   %1 = template matmul(...); %2 = map gelu(load %1 + bias)   ->   %2 = template matmul(...) epilogue gelu(acc + bias)
//
// Requires: %1 has one reader, a nest without reduction that reads it at its own row-major position. Runs before
// group(), which needs final statements; after lower, which leaves every template with one plain store.
#pragma once

#include "loop/module.hpp"

namespace tenon::schedule {

// Returns how many nests were absorbed. Their statements are dropped.
int absorb_epilogues(loop::Module& module);

// Drops statements whose results nothing reads.
void drop_dead_statements(loop::Module& module);

// Buffers that a statement reads (templates: operands and hooks), each once; and those that it writes.
std::vector<loop::BufferId> reads(const loop::Module& module, const loop::Statement& statement);
std::vector<loop::BufferId> writes(const loop::Statement& statement);

}  // namespace tenon::schedule
