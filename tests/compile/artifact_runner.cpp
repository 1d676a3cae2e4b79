#include "compile/artifact_runner.hpp"

#include <algorithm>
#include <cstring>

#include "codegen/cpu/printer.hpp"
#include "codegen/templates/template_abi.h"
#include "artifact/local_scratch.hpp"
#include "support/env.hpp"
#include "support/format.hpp"
#include "target/attention_geometry.hpp"
#include "target/gemm_geometry.hpp"
#include "target/pack.hpp"
#include "toolchain/system_compiler.hpp"

namespace tenon::testing {

using artifact::Artifact;
using artifact::BufferKind;
using artifact::ConstantDecl;
using artifact::KernelProgram;
using artifact::ProgramKind;

Result<std::unique_ptr<NativeKernels>> NativeKernels::compile(const Artifact& artifact, const target::TargetInfo& target) {
  TENON_ASSIGN_OR_RETURN(auto compiler, toolchain::SystemCompiler::find(posix_env()));
  auto made = std::make_unique<NativeKernels>();
  std::vector<const KernelProgram*> programs;
  for (const KernelProgram& program : artifact.programs) programs.push_back(&program);
  toolchain::CompileRequest request;
  request.source = codegen::cpu::print_unit(programs, target);
  request.isa = target.isa;
  auto image = compiler->compile(request);
  if (!image.ok()) return Status(image.status()).prefixed(concat(image.status().field("errors"), "\n"));
  TENON_ASSIGN_OR_RETURN(auto loaded, device::cpu::KernelImage::load(image->bytes()));
  for (const KernelProgram& program : artifact.programs) {
    TENON_ASSIGN_OR_RETURN(void* address, loaded->find(program.name));
    made->kernels_.push_back(reinterpret_cast<tenon_kernel_fn>(address));
  }
  made->images_.push_back(std::move(loaded));
  return made;
}

namespace {

constexpr size_t kPadding = 256;  // guard bytes on both sides of every buffer

struct Memory {
  std::vector<uint8_t> bytes;
  uint8_t* data = nullptr;
  explicit Memory(size_t size = 0) : bytes(size + 2 * kPadding + 64, 0x5a) {
    data = bytes.data() + kPadding;
    data += (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
  }
};

Memory constant_memory(const ConstantDecl& decl, const std::vector<Blob>& sources) {
  const uint8_t* source = decl.inline_bytes.empty() ? sources[decl.source].data() + decl.offset_bytes : decl.inline_bytes.data();
  if (decl.form == ConstantDecl::Form::kGemmPanels) {
    Memory memory(size_t(target::packed_gemm_b_floats(decl.k, decl.n, decl.columns)) * 4);
    target::pack_gemm_b(reinterpret_cast<const float*>(source), decl.k, decl.n, decl.k_stride, decl.n_stride, decl.columns,
                        reinterpret_cast<float*>(memory.data));
    return memory;
  }
  int64_t span = 1;
  for (size_t d = 0; d < decl.dims.size(); ++d) {
    if (decl.dims[d] == 0) span = 0;
    span += span == 0 ? 0 : (decl.dims[d] - 1) * decl.strides[d];
  }
  Memory memory(size_t(span) * size_bytes(decl.dtype));
  std::memcpy(memory.data, source, size_t(span) * size_bytes(decl.dtype));
  return memory;
}

}  // namespace

Result<RunResult> run_artifact(const Artifact& artifact, const std::vector<Blob>& sources, const std::vector<Array>& inputs,
                               const target::TargetInfo& target, const NativeKernels* native) {
  std::vector<const int64_t*> dims, strides;
  std::vector<std::vector<int64_t>> own_strides;
  own_strides.reserve(inputs.size());
  std::vector<int64_t> scalars;
  for (const Array& input : inputs) {
    std::vector<int64_t> row_major(input.dims.size(), 1);
    for (size_t d = input.dims.size(); d-- > 1;) row_major[d - 1] = row_major[d] * input.dims[d];
    own_strides.push_back(std::move(row_major));
    dims.push_back(input.dims.data());
    strides.push_back(own_strides.back().data());
  }
  std::vector<int64_t> registers(artifact.size_ops.size() + 1);
  artifact::SizeInputs size_inputs{dims.data(), strides.data(), scalars.data(), nullptr};
  TENON_RETURN_IF_ERROR(artifact::evaluate_sizes(artifact.size_ops, size_inputs, registers));
  for (const auto* list : {&artifact.required, &artifact.guards}) {
    for (const artifact::SizeGuard& guard : *list) {
      if (!artifact::holds(guard, registers)) return failed_precondition(concat("guard fails: ", guard.text));
    }
  }
  std::vector<Memory> memory;
  for (const artifact::Buffer& buffer : artifact.buffers) {
    switch (buffer.kind) {
      case BufferKind::kInput:
        memory.emplace_back(inputs[buffer.index].bytes.size());
        std::copy(inputs[buffer.index].bytes.begin(), inputs[buffer.index].bytes.end(), memory.back().data);
        break;
      case BufferKind::kConstant: memory.push_back(constant_memory(artifact.constants[buffer.index], sources)); break;
      case BufferKind::kState: {
        const artifact::StateDecl& state = artifact.states[buffer.index];
        size_t bytes = size_bytes(state.dtype);
        for (int64_t dim : state.dims) bytes *= size_t(dim);
        memory.emplace_back(bytes);
        std::memset(memory.back().data, 0, bytes);
        if (state.initial_source >= 0) std::memcpy(memory.back().data, sources[size_t(state.initial_source)].data(), bytes);
        break;
      }
      case BufferKind::kOutput:
      case BufferKind::kArena: memory.emplace_back(size_t(registers[buffer.bytes])); break;
    }
  }
  for (const artifact::Instruction& instruction : artifact.instructions) {
    if (instruction.opcode == artifact::Opcode::kCopy) {
      std::memcpy(memory[instruction.buffers[0]].data, memory[instruction.buffers[1]].data, size_t(registers[instruction.bytes]));
      continue;
    }
    const KernelProgram& program = artifact.programs[instruction.program];
    std::vector<void*> buffers;
    for (uint32_t b : instruction.buffers) buffers.push_back(memory[b].data);
    std::vector<long> sizes;
    for (artifact::SizeRegister r : instruction.sizes) sizes.push_back(registers[r]);
    long tiles = 1;
    size_t scratch_bytes = 0;
    if (program.kind == ProgramKind::kGemm) {
      target::GemmShape shape;
      shape.m = sizes[TENON_GEMM_M];
      shape.n = sizes[TENON_GEMM_N];
      shape.k = sizes[TENON_GEMM_K];
      shape.batch = sizes[TENON_GEMM_BATCH];
      shape.b_is_panels = program.packed_b;
      shape.packs_a = sizes[TENON_GEMM_A_K_STRIDE] != 1;
      const auto geometry = target::choose_gemm_geometry(target, shape, 2);
      sizes[TENON_GEMM_ROWS_PER_BLOCK] = geometry.rows_per_block;
      sizes[TENON_GEMM_PANELS_PER_BLOCK] = geometry.panels_per_block;
      tiles = geometry.tiles;
      scratch_bytes = size_t(geometry.scratch_bytes);
    } else if (program.kind == ProgramKind::kAttention) {
      target::AttentionShape shape;
      shape.batch = sizes[TENON_ATTENTION_BATCH];
      shape.heads = sizes[TENON_ATTENTION_HEADS];
      shape.queries = sizes[TENON_ATTENTION_QUERIES];
      shape.keys = sizes[TENON_ATTENTION_KEYS];
      shape.depth = sizes[TENON_ATTENTION_DEPTH];
      shape.v_depth = sizes[TENON_ATTENTION_V_DEPTH];
      const auto geometry = target::choose_attention_geometry(target, shape, 2);
      sizes[TENON_ATTENTION_ROWS_PER_BLOCK] = geometry.rows_per_block;
      tiles = geometry.tiles;
      scratch_bytes = size_t(geometry.scratch_bytes);
    } else {
      for (const artifact::SizeValue& extent : program.outer) tiles *= artifact::resolve(extent, sizes.data());
      scratch_bytes = artifact::local_scratch(program, sizes.data());
    }
    long failure[3] = {0, 0, 0};
    const tenon_kernel_args args{buffers.data(), sizes.data(), failure};
    if (native != nullptr) {
      Memory scratch(scratch_bytes);
      (*native)[instruction.program](&args, 0, tiles, scratch.data);
    } else {
      TENON_ASSIGN_OR_RETURN(const auto prepared, runtime::vm::Program::prepare(program, target));
      Memory scratch(std::max(scratch_bytes, prepared.scratch_bytes(sizes.data())));
      prepared.run(&args, 0, tiles, scratch.data);
    }
    if (failure[0] != 0) {
      const artifact::CheckSite& site = artifact.sites[size_t(failure[0] - 1)];
      return out_of_range(concat(site.op, ": ", site.what, ": ", failure[1], " of ", failure[2])).with("operator", site.op);
    }
  }
  RunResult result;
  for (const artifact::Buffer& buffer : artifact.buffers) {
    const size_t index = size_t(&buffer - artifact.buffers.data());
    const bool kept = buffer.kind == BufferKind::kArena || buffer.kind == BufferKind::kOutput;
    result.buffers.emplace_back();
    if (kept) result.buffers.back().assign(memory[index].data, memory[index].data + registers[buffer.bytes]);
  }
  for (const artifact::OutputDecl& output : artifact.outputs) {
    std::vector<int64_t> sizes;
    for (artifact::SizeRegister r : output.dims) sizes.push_back(registers[r]);
    Array array = Array::zeros(output.dtype, sizes);
    if (output.kind == artifact::OutputDecl::Kind::kBuffer) std::memcpy(array.bytes.data(), memory[output.buffer].data, array.bytes.size());
    result.outputs.push_back(std::move(array));
  }
  return result;
}

}  // namespace tenon::testing
