// Prints kernel programs as C++ that includes nothing and imports nothing (design 3.1). Pasted before them: the kernel ABI, the
// prelude, and of the other texts those that are used. Same program, same target: same text.
#pragma once

#include <span>
#include <string>

#include "artifact/kernel_program.hpp"
#include "target/target_info.hpp"

namespace tenon::codegen::cpu {

// One translation unit with the kernels of `programs`, each under its program's `name`.
std::string print_unit(std::span<const artifact::KernelProgram* const> programs, const target::TargetInfo& target);

// The kernel alone, without the texts it needs.
std::string print_kernel(const artifact::KernelProgram& program, const target::TargetInfo& target);

}  // namespace tenon::codegen::cpu
