#include "runtime/vm/vm.hpp"

#include <limits>

#include "artifact/artifact.hpp"
#include "runtime/vm/execute.hpp"
#include "support/format.hpp"

namespace tenon::runtime::vm {

namespace {

const VmLevel* find_level(target::Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case target::Isa::kX86V2: return &kVmX86V2;
    case target::Isa::kX86V3: return &kVmX86V3;
    case target::Isa::kX86V4: return &kVmX86V4;
    default: return nullptr;
#elif defined(__aarch64__)
    case target::Isa::kNeon: return &kVmNeon;
    default: return nullptr;
#else
    default: return nullptr;
#endif
  }
}

}  // namespace

Result<Program> Program::prepare(const artifact::KernelProgram& program, const target::TargetInfo& target) {
  TENON_RETURN_IF_ERROR(artifact::verify(program, std::numeric_limits<int64_t>::max()));
  const VmLevel* level = find_level(target.isa);
  if (level == nullptr) return unimplemented(concat("vm: no block loops for ", target::name(target.isa)));
  auto code = std::make_shared<Code>();
  code->level = level;
  code->target = target;
  TENON_RETURN_IF_ERROR(compile(program, *code));
  return Program(std::move(code));
}

size_t Program::scratch_bytes(const long* sizes) const {
  size_t bytes = code_->fixed_bytes;
  for (const artifact::Parameter& p : code_->parameters) {
    bytes += artifact::local_bytes(p, sizes);
  }
  if (code_->kind != artifact::ProgramKind::kNest) bytes += template_scratch_bytes(*code_, sizes);
  return bytes;
}

void Program::run(const tenon_kernel_args* args, long first, long last, void* scratch) const {
  Execution execution(*code_, args, scratch);
  switch (code_->kind) {
    case artifact::ProgramKind::kNest: execution.run_nest(first, last); break;
    case artifact::ProgramKind::kGemm: execution.run_gemm(first, last); break;
    case artifact::ProgramKind::kAttention: execution.run_attention(first, last); break;
  }
}

}  // namespace tenon::runtime::vm
