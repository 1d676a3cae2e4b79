#include "runtime/executable.hpp"

#include "support/format.hpp"

namespace tenon::runtime {

using artifact::Artifact;
using artifact::BufferKind;

namespace {

std::vector<PlacedBuffer> arena_buffers(const Artifact& a) {
  std::vector<int32_t> index(a.buffers.size(), -1);
  std::vector<PlacedBuffer> arena;
  for (size_t i = 0; i < a.buffers.size(); ++i) {
    if (a.buffers[i].kind == BufferKind::kArena) {
      index[i] = int32_t(arena.size());
      arena.push_back({a.buffers[i].first, a.buffers[i].last, -1});
    }
  }
  for (size_t i = 0; i < a.buffers.size(); ++i) {
    if (index[i] >= 0 && a.buffers[i].reuses >= 0) arena[size_t(index[i])].reuses = index[size_t(a.buffers[i].reuses)];
  }
  return arena;
}

}  // namespace

Executable::Executable(Artifact artifact, std::vector<PlacedBuffer> arena)
    : artifact_(std::move(artifact)),
      guards_(artifact_),
      placements_(std::move(arena)),
      slots_(artifact_.programs.size()) {
  int32_t next = 0;
  for (const artifact::Buffer& buffer : artifact_.buffers) {
    arena_index_.push_back(buffer.kind == BufferKind::kArena ? next++ : -1);
  }
  for (const artifact::SizeOp& op : artifact_.size_ops) reads_scalars_ |= op.kind == artifact::SizeOpKind::kInputScalar;
  for (const artifact::InputDecl& input : artifact_.inputs) mutates_inputs_ |= input.mutated;
}

Result<std::shared_ptr<Executable>> Executable::load(Artifact artifact, std::span<const Blob> sources,
                                                     WeightStore& weights, const target::TargetInfo& host,
                                                     device::Executor* executor) {
  TENON_RETURN_IF_ERROR(artifact::verify(artifact));
  if (!target::host_runs(artifact.isa)) {
    return failed_precondition(
               concat("the program is compiled for ", target::name(artifact.isa), ", which this machine does not run"))
        .with("expected", target::name(artifact.isa))
        .with("found", target::name(host.isa));
  }
  std::vector<artifact::Image> images = std::move(artifact.images);
  artifact.images.clear();
  std::vector<PlacedBuffer> arena = arena_buffers(artifact);
  std::shared_ptr<Executable> made(new Executable(std::move(artifact), std::move(arena)));
  const Artifact& a = made->artifact_;
  made->target_ = a.isa == host.isa ? host : target::make_target(a.isa);

  made->constants_.resize(a.constants.size());
  struct Binding {
    const Artifact& artifact;
    std::span<const Blob> sources;
    WeightStore& weights;
    std::vector<std::shared_ptr<const Weight>>& bound;
    std::vector<Status> statuses;
  } binding{a, sources, weights, made->constants_, std::vector<Status>(a.constants.size())};
  const auto bind = [](void* data, size_t index, uint32_t) {
    auto& b = *static_cast<Binding*>(data);
    auto weight = b.weights.bind(b.artifact.constants[index], b.sources);
    if (weight.ok()) {
      b.bound[index] = *std::move(weight);
    } else {
      b.statuses[index] = std::move(weight).status();
    }
  };
  if (executor != nullptr) {
    executor->parallel_for(a.constants.size(), bind, &binding);
  } else {
    for (size_t i = 0; i < a.constants.size(); ++i) bind(&binding, i, 0);
  }
  for (const Status& status : binding.statuses) TENON_RETURN_IF_ERROR(status);
  for (const artifact::StateDecl& state : a.states) {
    Blob& initial = made->initial_states_.emplace_back();
    if (state.initial_source < 0) continue;
    size_t bytes = size_bytes(state.dtype);
    for (int64_t dim : state.dims) bytes *= size_t(dim);
    const size_t source = size_t(state.initial_source);
    if (source >= sources.size() || sources[source].size() < bytes) {
      return data_loss(concat("state `", state.name, "` has no initial value of ", bytes, " bytes"))
          .with("value", state.name);
    }
    initial = sources[source].slice(0, bytes);
  }

  for (const artifact::Image& image : images) {
    std::vector<std::string> symbols;
    for (uint32_t program : image.programs) symbols.push_back(a.programs[program].name);
    TENON_RETURN_IF_ERROR(made->install(image.bytes, image.programs, symbols));
  }
  for (size_t i = 0; i < a.programs.size(); ++i) {
    auto program = vm::Program::prepare(a.programs[i], made->target_);
    if (program.ok()) {
      made->slots_[i].interpreted.emplace(*std::move(program));
    } else if (made->slots_[i].native.load() == nullptr) {
      return std::move(program).status();
    }
  }
  return made;
}

Status Executable::install(std::span<const uint8_t> image, std::span<const uint32_t> programs,
                           std::span<const std::string> symbols) {
  if (programs.size() != symbols.size()) return internal_error("an image names other kernels than it has");
  TENON_ASSIGN_OR_RETURN(auto loaded, device::cpu::KernelImage::load(image));
  std::vector<tenon_kernel_fn> kernels;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (programs[i] >= slots_.size()) return data_loss("an image has a kernel of no program");
    TENON_ASSIGN_OR_RETURN(void* kernel, loaded->find(symbols[i]));
    kernels.push_back(reinterpret_cast<tenon_kernel_fn>(kernel));
  }
  std::lock_guard lock(images_mutex_);
  loaded_.push_back(std::move(loaded));
  artifact::Image kept;
  kept.bytes.assign(image.begin(), image.end());
  for (size_t i = 0; i < programs.size(); ++i) {
    slots_[programs[i]].native.store(kernels[i], std::memory_order_release);
    if (symbols[i] == artifact_.programs[programs[i]].name) kept.programs.push_back(programs[i]);
  }
  // An image whose symbols are named otherwise cannot be found again from a package.
  if (kept.programs.size() == programs.size()) image_bytes_.push_back(std::move(kept));
  return {};
}

size_t Executable::native_kernels() const {
  size_t count = 0;
  for (const KernelSlot& slot : slots_) count += slot.native.load(std::memory_order_acquire) != nullptr;
  return count;
}

std::vector<artifact::Image> Executable::images() const {
  std::lock_guard lock(images_mutex_);
  return image_bytes_;
}

}  // namespace tenon::runtime
