#include "compile/kernels.hpp"

#include <algorithm>

#include "codegen/cpu/printer.hpp"
#include "support/fingerprint.hpp"
#include "support/format.hpp"

namespace tenon::compile {

using artifact::KernelProgram;
using artifact::ProgramKind;
using runtime::KernelBuild;

namespace {

// Rough compile times, in tens of milliseconds: of a text that every unit of a kind pays once, and of one more kernel.
constexpr int kUnitWeight = 8, kGemmText = 16, kGemmKernel = 14, kAttentionText = 20, kAttentionKernel = 14, kNestKernel = 5;

struct Unit {
  std::vector<uint32_t> programs;
  int weight = 0;
  std::string source;
  Fingerprint key;
  std::unique_ptr<toolchain::CompileJob> job;
};

// Kernels of one kind share the text they are made from, so they go into one unit, cut in two when
// that balances better. The same program gives the same units.
std::vector<Unit> make_units(const artifact::Artifact& artifact) {
  std::vector<bool> has_image(artifact.programs.size(), false);
  for (const artifact::Image& image : artifact.images) {
    for (uint32_t program : image.programs) has_image[program] = true;
  }
  std::vector<uint32_t> by_kind[3];
  for (uint32_t i = 0; i < artifact.programs.size(); ++i) {
    if (!has_image[i]) by_kind[size_t(artifact.programs[i].kind)].push_back(i);
  }
  std::vector<Unit> units;
  const auto add = [&](const std::vector<uint32_t>& programs, int text, int kernel, size_t parts) {
    for (size_t part = 0; part < parts; ++part) {
      Unit unit;
      for (size_t i = part; i < programs.size(); i += parts) unit.programs.push_back(programs[i]);
      unit.weight = kUnitWeight + text + kernel * int(unit.programs.size());
      if (!unit.programs.empty()) units.push_back(std::move(unit));
    }
  };
  constexpr size_t wide = 2;  // not the number of jobs: units are keys of the cache
  add(by_kind[size_t(ProgramKind::kGemm)], kGemmText, kGemmKernel, by_kind[size_t(ProgramKind::kGemm)].size() > 2 ? wide : 1);
  add(by_kind[size_t(ProgramKind::kAttention)], kAttentionText, kAttentionKernel, 1);
  add(by_kind[size_t(ProgramKind::kNest)], 0, kNestKernel, by_kind[size_t(ProgramKind::kNest)].size() > 4 ? wide : 1);
  // Long ones first, so that the last to end are short.
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.weight > b.weight; });
  return units;
}

class Build final : public KernelBuild {
 public:
  Build(const artifact::Artifact& artifact, const KernelBuildOptions& options) : options_(options), waiting_(make_units(artifact)) {
    for (Unit& unit : waiting_) {
      std::vector<const KernelProgram*> programs;
      for (uint32_t program : unit.programs) {
        programs.push_back(&artifact.programs[program]);
        names_.resize(std::max(names_.size(), size_t(program) + 1));
        names_[program] = artifact.programs[program].name;
      }
      unit.source = codegen::cpu::print_unit(programs, options_.target);
      FingerprintBuilder key;
      key.add("kernel image 1").add(unit.source);
      if (options_.compiler != nullptr) key.add(options_.compiler->key(options_.target.isa));
      unit.key = key.finish();
    }
    std::reverse(waiting_.begin(), waiting_.end());  // taken from the back
  }

  bool poll(int64_t wait_ns, std::vector<Ready>& ready) override {
    const size_t before = ready.size();
    start(ready);
    const int64_t deadline = wait_ns < 0 ? INT64_MAX : options_.env->now_ns() + wait_ns;
    while (!running_.empty()) {
      for (size_t i = 0; i < running_.size();) {
        if (running_[i].job->poll(0)) {
          finish(running_[i], ready);
          running_.erase(running_.begin() + long(i));
        } else {
          ++i;
        }
      }
      start(ready);
      if (running_.empty() || ready.size() != before) break;
      const int64_t left = deadline - options_.env->now_ns();
      if (left <= 0) break;
      running_[0].job->poll(std::min<int64_t>(left, 2'000'000));
    }
    return running_.empty() && waiting_.empty();
  }

 private:
  void start(std::vector<Ready>& ready) {
    while (!waiting_.empty() && running_.size() < options_.jobs) {
      Unit unit = std::move(waiting_.back());
      waiting_.pop_back();
      if (options_.cache != nullptr && options_.compiler != nullptr) {
        if (auto image = options_.cache->get(unit.key)) {
          ready.push_back(make_ready(unit, {image->data(), image->data() + image->size()}, {}));
          ready.back().from_cache = true;
          continue;
        }
      }
      if (options_.compiler == nullptr) {
        ready.push_back(make_ready(unit, {}, options_.compiler_status));
        continue;
      }
      toolchain::CompileRequest request;
      request.source = unit.source;
      request.isa = options_.target.isa;
      auto job = options_.compiler->start(request);
      if (options_.compiles != nullptr) ++*options_.compiles;
      if (!job.ok()) {
        if (options_.failures != nullptr) ++*options_.failures;
        ready.push_back(make_ready(unit, {}, job.status()));
        continue;
      }
      unit.job = *std::move(job);
      running_.push_back(std::move(unit));
    }
  }

  void finish(Unit& unit, std::vector<Ready>& ready) {
    auto image = unit.job->take();
    unit.job.reset();
    if (!image.ok()) {
      if (options_.failures != nullptr) ++*options_.failures;
      ready.push_back(make_ready(unit, {}, image.status()));
      return;
    }
    if (options_.cache != nullptr) options_.cache->put(unit.key, image->text());
    ready.push_back(make_ready(unit, {image->data(), image->data() + image->size()}, {}));
  }

  Ready make_ready(const Unit& unit, std::vector<uint8_t> image, Status status) const {
    Ready made;
    made.image = std::move(image);
    made.programs = unit.programs;
    for (uint32_t program : unit.programs) made.symbols.push_back(names_[program]);
    made.status = std::move(status);
    return made;
  }

  KernelBuildOptions options_;
  std::vector<Unit> waiting_, running_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<KernelBuild> build_kernels(const artifact::Artifact& artifact, const KernelBuildOptions& options) {
  return std::make_unique<Build>(artifact, options);
}

std::string print_sources(const artifact::Artifact& artifact, const target::TargetInfo& target) {
  std::string text;
  for (const KernelProgram& program : artifact.programs) {
    append(text, concat("// ---- ", program.name, "\n"));
    text += codegen::cpu::print_kernel(program, target);
  }
  return text;
}

}  // namespace tenon::compile
