// Prints nest kernels: outer tiles, stages, vector loops with tails, reductions in the numeric order of
// artifact/kernel_program.hpp.
#pragma once

#include <string>

#include "artifact/kernel_program.hpp"
#include "target/target_info.hpp"

namespace tenon::codegen::cpu {

std::string print_nest(const artifact::KernelProgram& program, const target::TargetInfo& target);

// Definitions of buffer parameters p0.. and sizes z0.. from `args`.
void print_parameters(const artifact::KernelProgram& program, const std::string& indent, std::string& out);

}  // namespace tenon::codegen::cpu
