// The scheduled program: groups of statements that run as one kernel, in order. What fuse() decides, emit() turns into
// kernel programs; assembly into an artifact is the compile room's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/kernel_program.hpp"
#include "loop/module.hpp"

namespace tenon::schedule {

using loop::BufferId;
using loop::Expr;
using loop::Module;

// Statements (indices in Module::statements) of one kernel, in order. A template stands alone; its epilogue may have
// swallowed nests, which are then in `absorbed`.
struct Group {
  std::vector<uint32_t> statements;
  // Nest groups: extents of the axes that all stages share; each statement's first `outer.size()` mapped axes are these.
  std::vector<Expr> outer;
  bool outer_is_fixed = false;  // a reduction joined: the outer axes are its mapped ones
  bool is_template = false;
};

// One launch.
struct Launch {
  artifact::KernelProgram program;
  std::vector<BufferId> buffers;  // of the program's buffer parameters
  std::vector<Expr> sizes;        // of its size slots; for templates only the hooks' own are meaningful after the first ones
  std::vector<bool> written;      // per buffer
  Expr cost;                      // scalar operations an outer point takes, about
  std::string origin;
  const loop::MatMul* matmul = nullptr;  // of a matrix product; lives in the module
};

}  // namespace tenon::schedule
