// Puts a specialized graph's schedule together as an artifact: size program, guards, buffers with lifetimes,
// instructions, deduplicated kernel programs, constants in the forms that kernels read.
#pragma once

#include "artifact/artifact.hpp"
#include "compile/specialize.hpp"
#include "schedule/plan.hpp"
#include "target/target_info.hpp"

namespace tenon::compile {

struct Assembled {
  artifact::Artifact artifact;
  std::vector<Blob> sources;  // of constants and initial states
};

// `graph` is the lowered graph of `specialized`; `module` and `launches` come from it.
Result<Assembled> assemble(const Specialized& specialized, const loop::Module& module, const std::vector<schedule::Launch>& launches,
                           const target::TargetInfo& target);

}  // namespace tenon::compile
