#include "runtime/run_once.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "artifact/artifact.hpp"
#include "artifact/local_scratch.hpp"
#include "runtime/memory.hpp"
#include "runtime/vm/vm.hpp"
#include "runtime/weight_store.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

using artifact::BufferKind;

namespace {

struct Block {
  Memory& memory;
  size_t bytes;
  void* data;
  Block(Memory& from, size_t size) : memory(from), bytes(size), data(from.allocate(size)) {}
  ~Block() { memory.deallocate(data, bytes); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
};

}  // namespace

Status run_once(std::span<const uint8_t> bytes, std::span<const Blob> sources, const target::TargetInfo& target,
                std::vector<std::vector<uint8_t>>* outputs) {
  TENON_ASSIGN_OR_RETURN(const artifact::Artifact a, artifact::read(bytes));
  if (!a.inputs.empty() || !a.states.empty()) return unimplemented("run_once takes programs without inputs and states");
  for (const artifact::Buffer& buffer : a.buffers) {
    // Aliased places are the placer's business; here every buffer has its own.
    if (buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kState) return unimplemented("run_once takes no inputs");
  }
  std::vector<int64_t> registers(a.size_ops.size() + 1);
  TENON_RETURN_IF_ERROR(artifact::evaluate_sizes(a.size_ops, {}, registers));

  auto memory = std::make_shared<Memory>();
  auto weights = std::make_shared<WeightStore>(memory);
  std::vector<std::shared_ptr<const Weight>> constants;
  for (const artifact::ConstantDecl& constant : a.constants) {
    TENON_ASSIGN_OR_RETURN(auto weight, weights->bind(constant, sources));
    constants.push_back(std::move(weight));
  }
  std::vector<std::unique_ptr<Block>> blocks(a.buffers.size());
  std::vector<void*> places(a.buffers.size(), nullptr);
  for (size_t b = 0; b < a.buffers.size(); ++b) {
    const artifact::Buffer& buffer = a.buffers[b];
    if (buffer.kind == BufferKind::kConstant) {
      places[b] = const_cast<void*>(constants[buffer.index]->data());
      continue;
    }
    blocks[b] = std::make_unique<Block>(*memory, size_t(registers[buffer.bytes]));
    places[b] = blocks[b]->data;
    if (places[b] == nullptr) return Status::out_of_memory();
  }
  for (const artifact::Instruction& instruction : a.instructions) {
    if (instruction.opcode != artifact::Opcode::kLaunch) return unimplemented("run_once takes launches only");
    const artifact::KernelProgram& program = a.programs[instruction.program];
    if (program.kind != artifact::ProgramKind::kNest) return unimplemented("run_once takes fused loops only");
    TENON_ASSIGN_OR_RETURN(const vm::Program prepared, vm::Program::prepare(program, target));
    std::vector<void*> buffers;
    for (uint32_t b : instruction.buffers) buffers.push_back(places[b]);
    std::vector<long> sizes;
    for (artifact::SizeRegister r : instruction.sizes) sizes.push_back(registers[r]);
    long tiles = 1;
    for (const artifact::SizeValue& extent : program.outer) tiles *= artifact::resolve(extent, sizes.data());
    const Block scratch(*memory, prepared.scratch_bytes(sizes.data()));
    if (scratch.data == nullptr) return Status::out_of_memory();
    long failure[3] = {0, 0, 0};
    const tenon_kernel_args args{buffers.data(), sizes.data(), failure};
    prepared.run(&args, 0, tiles, scratch.data);
    if (failure[0] != 0) {
      const artifact::CheckSite& site = a.sites[size_t(failure[0] - 1)];
      return out_of_range(concat(site.op, ": ", site.what, ": ", failure[1])).with("operator", site.op);
    }
  }
  for (const artifact::OutputDecl& output : a.outputs) {
    std::vector<uint8_t>& result = outputs->emplace_back();
    if (output.kind != artifact::OutputDecl::Kind::kBuffer) continue;
    const auto* data = static_cast<const uint8_t*>(places[output.buffer]);
    result.assign(data, data + registers[a.buffers[output.buffer].bytes]);
  }
  return {};
}

}  // namespace tenon::runtime
