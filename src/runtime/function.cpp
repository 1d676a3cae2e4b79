#include "runtime/function.hpp"

#include <algorithm>

#include "runtime/call.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

namespace {

constexpr int64_t kWaitNs = 20'000'000;

bool same_facts(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Function::Function(std::shared_ptr<Context> context, std::unique_ptr<FunctionCompiler> compiler,
                   FunctionInterface interface, const FunctionOptions& options)
    : context_(std::move(context)),
      compiler_(std::move(compiler)),
      interface_(std::move(interface)),
      options_(options) {}

Function::~Function() {
  for (std::atomic<Call*>& slot : calls_) delete slot.exchange(nullptr);
  for (const std::shared_ptr<Entry>& entry : entries()) {
    if (entry->job == nullptr) continue;
    context_->background().remove(entry->job);
    entry->job->cancel();
  }
}

std::vector<std::shared_ptr<Entry>> Function::entries() const { return EntryList::Reading(list_).entries(); }

std::shared_ptr<Entry> Function::find(const CallShape& shape, std::vector<int64_t>& registers, Status* error) {
  const EntryList::Reading reading(list_);
  const EntryList::Entries& entries = reading.entries();
  const size_t recent = recent_.load(std::memory_order_relaxed);
  for (size_t i = 0; i <= entries.size(); ++i) {
    // The most recently hit one first, then the others in order.
    const size_t index = i == 0 ? recent : i - 1;
    if (index >= entries.size() || (i > 0 && index == recent)) continue;
    Entry& entry = *entries[index];
    const GuardCheck& guards = entry.executable->guards();
    if (registers.size() < guards.register_count()) registers.resize(guards.register_count());
    switch (guards.check(shape, registers.data())) {
      case GuardCheck::Verdict::kMiss:
        continue;
      case GuardCheck::Verdict::kError:
        *error = explain_guards(entry.executable->artifact(), shape).status();
        return nullptr;
      case GuardCheck::Verdict::kHit:
        break;
    }
    if (!same_facts(entry.facts, shape.facts)) continue;
    if (index != recent) recent_.store(index, std::memory_order_relaxed);
    entry.uses.fetch_add(1, std::memory_order_relaxed);
    return entries[index];
  }
  return nullptr;
}

Result<std::shared_ptr<Entry>> Function::obtain(const CallShape& shape, std::vector<int64_t>& registers, bool now) {
  Status error;
  if (std::shared_ptr<Entry> entry = find(shape, registers, &error)) return entry;
  TENON_RETURN_IF_ERROR(error);
  std::lock_guard lock(miss_mutex_);
  // Somebody may have made it while we waited.
  if (std::shared_ptr<Entry> entry = find(shape, registers, &error)) return entry;
  TENON_RETURN_IF_ERROR(error);

  misses_.fetch_add(1, std::memory_order_relaxed);
  const std::string report = miss_report(shape);
  context_->logger().write(Severity::kDebug, "miss: ", report);
  {
    std::lock_guard report_lock(report_mutex_);
    if (reports_.size() == 8) reports_.erase(reports_.begin());
    reports_.push_back(report);
  }
  if (compiler_ == nullptr) {
    return failed_precondition(concat("no entry of this package takes the call, and it cannot be compiled: ", report))
        .with("guard", report);
  }
  if (options_.miss_policy == TENON_MISS_FAIL && !now) {
    return failed_precondition(concat("no entry takes the call: ", report)).with("guard", report);
  }
  return specialize(shape, registers);
}

Result<std::shared_ptr<Entry>> Function::specialize(const CallShape& shape, std::vector<int64_t>& registers) {
  const Context::Span span(*context_, "specialize");
  CallSignature signature{shape.inputs, shape.facts, entries().size() >= options_.max_entries};
  Specialization made;
  TENON_RETURN_IF_ERROR(compiler_->specialize(signature, &made));
  compile_ns_.store(made.pipeline_ns, std::memory_order_relaxed);
  TENON_ASSIGN_OR_RETURN(artifact::Artifact artifact, artifact::read(made.artifact));
  if (artifact.inputs.size() != interface_.inputs.size() || artifact.outputs.size() != interface_.outputs.size()) {
    return internal_error("the compiled program has other inputs or outputs than its function");
  }
  const std::string name = artifact.graph_name;
  auto entry = std::make_shared<Entry>();
  TENON_ASSIGN_OR_RETURN(entry->executable,
                         Executable::load(std::move(artifact), made.sources, context_->weights(), context_->target(), &context_->executor()));
  entry->facts.assign(shape.facts.begin(), shape.facts.end());
  entry->uses.store(1, std::memory_order_relaxed);

  const GuardCheck& guards = entry->executable->guards();
  if (registers.size() < guards.register_count()) registers.resize(guards.register_count());
  if (guards.check(shape, registers.data()) != GuardCheck::Verdict::kHit) {
    const GuardReport report = explain_guards(entry->executable->artifact(), shape);
    if (report.is_error) return report.status();
    return internal_error(concat("the compiled program does not take the call that it was made for: ", report.text()));
  }

  const bool vm_only = options_.miss_policy == TENON_MISS_VM || !context_->may_compile();
  if (!vm_only && entry->executable->native_kernels() < entry->executable->kernels()) {
    std::unique_ptr<KernelBuild> build;
    TENON_RETURN_IF_ERROR(compiler_->start_kernels(made.artifact, &build));
    if (build != nullptr) {
      entry->job = std::make_shared<KernelJob>(std::move(build), entry->executable, name, context_->logger());
    }
  }
  made_.fetch_add(1, std::memory_order_relaxed);
  add(entry);
  if (entry->job != nullptr) context_->background().add(entry->job);
  return entry;
}

void Function::add(std::shared_ptr<Entry> entry) {
  EntryList::Entries entries = this->entries();
  while (!entries.empty() && entries.size() >= options_.max_entries) {
    const auto recent_uses = [](const std::shared_ptr<Entry>& e) {
      return e->uses.load() - e->uses_at_eviction.load();
    };
    const auto least = std::min_element(entries.begin(), entries.end(),
                                        [&](const auto& a, const auto& b) { return recent_uses(a) < recent_uses(b); });
    const std::shared_ptr<Entry> gone = *least;
    entries.erase(least);
    for (const auto& kept : entries) kept->uses_at_eviction.store(kept->uses.load());
    evictions_.fetch_add(1, std::memory_order_relaxed);
    {
      const std::lock_guard lock(report_mutex_);
      std::erase_if(evicted_counts_, [&](const auto& count) {
        if (count.use_count() != 1) return false;
        evicted_uses_.fetch_add(count->load(), std::memory_order_relaxed);
        return true;
      });
      evicted_counts_.push_back(gone->use_count);
    }
    if (gone->job != nullptr) {
      evicted_fallbacks_.fetch_add(gone->job->fallbacks(), std::memory_order_relaxed);
      context_->background().remove(gone->job);
      gone->job->cancel();
    }
    context_->logger().write(Severity::kWarning, "function `", gone->executable->artifact().graph_name,
                             "`: an entry was evicted, the bound is ", options_.max_entries);
  }
  entries.push_back(std::move(entry));
  recent_.store(entries.size() - 1, std::memory_order_relaxed);
  list_.replace(std::move(entries));
}

Status Function::add_entry(std::shared_ptr<Executable> executable, std::vector<int64_t> facts) {
  auto entry = std::make_shared<Entry>();
  entry->executable = std::move(executable);
  entry->facts = std::move(facts);
  std::lock_guard lock(miss_mutex_);
  EntryList::Entries entries = this->entries();
  entries.push_back(std::move(entry));
  list_.replace(std::move(entries));
  return {};
}

Status Function::wait_for_kernels(const Entry& entry, const std::atomic<bool>& cancelled) {
  if (entry.job == nullptr) return {};
  while (!entry.job->advance(kWaitNs)) {
    if (cancelled.load(std::memory_order_relaxed)) return Status(Code::kCancelled, "the call was cancelled");
  }
  context_->background().remove(entry.job);
  return {};
}

Status Function::check_fallback(const Entry& entry) const {
  if (!options_.fallback_is_error || entry.job == nullptr || entry.job->fallbacks() == 0) return {};
  return entry.job->first_failure().prefixed("a kernel could not be compiled, and fallbacks are errors here");
}

Result<std::shared_ptr<State>> Function::make_state() {
  auto state = std::make_shared<State>(context_);
  const std::vector<std::shared_ptr<Entry>> entries = this->entries();
  const Executable* known = entries.empty() ? nullptr : entries.front()->executable.get();
  for (size_t i = 0; i < interface_.states.size(); ++i) {
    const FunctionInterface::Tensor& tensor = interface_.states[i];
    std::vector<int64_t> dims;
    for (const FunctionInterface::Dim& dim : tensor.dims) {
      if (dim.symbol >= 0 || dim.automatic)
        return unimplemented(concat("state `", tensor.name, "` has dims that only a call tells"));
      dims.push_back(dim.fixed);
    }
    TENON_RETURN_IF_ERROR(state->declare(tensor.name, tensor.dtype, std::move(dims)));
    Blob initial;
    Status status = compiler_ == nullptr ? unimplemented("") : compiler_->initial_state(i, &initial);
    if (status.ok()) {
      TENON_RETURN_IF_ERROR(state->initialize(tensor.name, initial));
    } else if (status.code() != Code::kUnimplemented) {
      return status;
    }
  }
  if (known != nullptr && !interface_.states.empty()) {
    std::vector<void*> places;
    TENON_RETURN_IF_ERROR(state->bind(*known, places));
  }
  return state;
}

Result<State*> Function::own_state() {
  if (State* ready = ready_state_.load(std::memory_order_acquire)) return ready;
  std::lock_guard lock(state_mutex_);
  if (state_ == nullptr) {
    TENON_ASSIGN_OR_RETURN(state_, make_state());
    ready_state_.store(state_.get(), std::memory_order_release);
  }
  return state_.get();
}

std::unique_ptr<Call> Function::take_call() {
  for (std::atomic<Call*>& slot : calls_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (Call* call = slot.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<Call>(call);
  }
  return std::make_unique<Call>(*this, nullptr);
}

void Function::give_call(std::unique_ptr<Call> call) {
  for (std::atomic<Call*>& slot : calls_) {
    Call* empty = nullptr;
    if (slot.compare_exchange_strong(empty, call.get(), std::memory_order_release, std::memory_order_relaxed)) {
      call.release();
      return;
    }
  }
}

Status Function::run(uint32_t parallelism, std::span<const tenon_tensor_t> inputs, std::span<tenon_tensor_t> outputs) {
  std::unique_ptr<Call> call = take_call();
  const auto run = [&]() -> Status {
    TENON_RETURN_IF_ERROR(call->set_parallelism(parallelism));
    for (size_t i = 0; i < inputs.size(); ++i) TENON_RETURN_IF_ERROR(call->bind_input(i, inputs[i]));
    for (size_t i = 0; i < outputs.size(); ++i) {
      TENON_RETURN_IF_ERROR(call->bind_output(i, outputs[i].data == nullptr ? nullptr : &outputs[i]));
    }
    TENON_RETURN_IF_ERROR(call->run());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].data != nullptr) continue;
      const Status status = call->take_output(i, &outputs[i]);
      if (status.ok()) continue;
      for (size_t k = 0; k < i; ++k) {
        if (outputs[k].owner == nullptr) continue;
        outputs[k].owner->release();
        outputs[k] = tenon_tensor_t{};
      }
      return status;
    }
    return {};
  };
  Status status = run();
  give_call(std::move(call));
  return status;
}

Status Function::prepare(std::span<const tenon_tensor_t> inputs) {
  std::unique_ptr<Call> call = take_call();
  Status status;
  for (size_t i = 0; i < inputs.size() && status.ok(); ++i) status = call->bind_input(i, inputs[i]);
  if (status.ok()) status = call->prepare_kernels();
  give_call(std::move(call));
  return status;
}

Status Function::output_types(std::span<const tenon_tensor_t> inputs, std::span<tenon_type_t> outputs) {
  std::unique_ptr<Call> call = take_call();
  Status status;
  for (size_t i = 0; i < inputs.size() && status.ok(); ++i) status = call->bind_input(i, inputs[i]);
  if (status.ok()) {
    OutputTypes* types = nullptr;
    {
      std::lock_guard lock(output_types_mutex_);
      types = &output_types_[std::this_thread::get_id()];  // stays where it is
    }
    types->arrays.assign(outputs.size() * 2, {});
    for (size_t i = 0; i < outputs.size() && status.ok(); ++i) {
      status = call->output_type(i, &outputs[i], types->arrays[2 * i], types->arrays[2 * i + 1]);
    }
  }
  give_call(std::move(call));
  return status;
}

}  // namespace tenon::runtime
