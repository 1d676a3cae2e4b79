#include "runtime/call.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/strided_copy.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

using artifact::OutputDecl;

Call::Call(Function& function, std::shared_ptr<Function> keep)
    : keep_(std::move(keep)), function_(function), frame_(function.context().arena_memory()) {
  const size_t inputs = function.interface().inputs.size(), outputs = function.interface().outputs.size();
  for (size_t i = 0; i < inputs; ++i) inputs_.push_back(std::make_unique<BoundTensor>());
  for (size_t i = 0; i < outputs; ++i) outputs_.push_back(std::make_unique<Output>());
  input_tensors_.resize(inputs);
  scalars_.assign(inputs, 0);
  input_places_.assign(inputs, nullptr);
  output_places_.assign(outputs, nullptr);
  for (const auto& input : inputs_) {
    input_dims_.push_back(input->dims);
    input_strides_.push_back(input->strides);
  }
  unbound_inputs_ = inputs;
}

Call::~Call() {
  if (running_ && state_ != nullptr) state_->release();
  for (const auto& output : outputs_) {
    if (output->own != nullptr) output->own->release();
  }
}

Status Call::not_running() const {
  if (!running_) return {};
  return failed_precondition("the call is under way: step it to its end (or cancel it) before binding");
}

Status Call::bind_input(size_t index, const tenon_tensor_t& tensor) {
  TENON_RETURN_IF_ERROR(not_running());
  const auto& declared = function_.interface().inputs;
  if (index >= inputs_.size()) {
    return invalid_argument(concat("`index`: the function has ", inputs_.size(), " inputs, found ", index))
        .with("input", "index")
        .with("expected", concat("less than ", inputs_.size()))
        .with("found", concat(index));
  }
  BoundTensor& input = *inputs_[index];
  const bool was_bound = input.bound;
  const void* before = input.tensor.data;
  bool changed = false;
  TENON_RETURN_IF_ERROR(input.bind(tensor, "input", declared[index].name, &changed));
  unbound_inputs_ -= !was_bound;
  shape_changed_ |= changed;
  pointers_changed_ |= changed || before != tensor.data;
  input_tensors_[index] = input.tensor;
  input_places_[index] = tensor.data;
  return {};
}

Status Call::bind_output(size_t index, const tenon_tensor_t* tensor) {
  TENON_RETURN_IF_ERROR(not_running());
  if (index >= outputs_.size()) {
    return invalid_argument(concat("`index`: the function has ", outputs_.size(), " outputs, found ", index))
        .with("input", "index")
        .with("expected", concat("less than ", outputs_.size()))
        .with("found", concat(index));
  }
  Output& output = *outputs_[index];
  if (tensor == nullptr) {
    outputs_changed_ |= output.caller.bound;
    output.caller.bound = false;
    return {};
  }
  bool changed = false;
  const void* before = output.caller.tensor.data;
  TENON_RETURN_IF_ERROR(output.caller.bind(*tensor, "output", function_.interface().outputs[index].name, &changed));
  outputs_changed_ |= changed || before != tensor->data;
  return {};
}

Status Call::bind_state(std::shared_ptr<State> state) {
  TENON_RETURN_IF_ERROR(not_running());
  state_changed_ |= bound_state_ != state;
  bound_state_ = std::move(state);
  return {};
}

Status Call::bind_facts(std::span<const int64_t> facts) {
  TENON_RETURN_IF_ERROR(not_running());
  if (std::equal(facts.begin(), facts.end(), facts_.begin(), facts_.end())) return {};
  facts_.assign(facts.begin(), facts.end());
  shape_changed_ = true;
  return {};
}

Status Call::set_parallelism(uint32_t parallelism) {
  TENON_RETURN_IF_ERROR(not_running());
  shape_changed_ |= parallelism_ != parallelism;
  parallelism_ = parallelism;
  return {};
}

uint32_t Call::crew_size() const {
  const uint32_t most = function_.context().threads();
  return parallelism_ == 0 ? most : std::min(parallelism_, most);
}

// Finds the entry and sizes the frame for the bound inputs.
Status Call::resolve(bool now) {
  if (unbound_inputs_ != 0) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i]->bound) continue;
      const std::string& name = function_.interface().inputs[i].name;
      return invalid_argument(concat("input `", name, "` is not bound")).with("input", name);
    }
  }
  const bool may_read_scalars = entry_ == nullptr || shape_changed_ || entry_->executable->reads_scalars();
  if (may_read_scalars) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const tenon_tensor_t& tensor = input_tensors_[i];
      const int64_t value = tensor.rank == 0 ? read_integer(tensor) : 0;
      shape_changed_ |= value != scalars_[i];
      scalars_[i] = value;
    }
  }
  if (entry_ != nullptr && !shape_changed_) {
    entry_->uses.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  shape_changed_ = true;  // stays so when something below fails
  const CallShape shape{input_tensors_, input_dims_.data(), input_strides_.data(), scalars_.data(), facts_};
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Entry> entry, function_.obtain(shape, guard_registers_, now));
  const artifact::Artifact& a = entry->executable->artifact();
  if (registers_.size() < a.size_ops.size()) registers_.resize(a.size_ops.size());
  const std::span<int64_t> registers(registers_.data(), a.size_ops.size());
  TENON_RETURN_IF_ERROR(artifact::evaluate_sizes(a.size_ops, shape.sizes(), registers));
  if (frame_.executable() != entry->executable.get()) state_changed_ = true;
  entry_ = std::move(entry);
  TENON_RETURN_IF_ERROR(frame_.prepare(entry_->executable, registers, crew_size()));
  outputs_changed_ = pointers_changed_ = true;
  shape_changed_ = false;
  return {};
}

Status Call::required_bytes(size_t* out) {
  TENON_RETURN_IF_ERROR(not_running());
  TENON_RETURN_IF_ERROR(resolve(false));
  *out = frame_.required_bytes();
  return {};
}

Status Call::prepare_kernels() {
  TENON_RETURN_IF_ERROR(not_running());
  cancelled_.store(false, std::memory_order_relaxed);
  TENON_RETURN_IF_ERROR(resolve(true));
  TENON_RETURN_IF_ERROR(function_.wait_for_kernels(*entry_, cancelled_));
  return function_.check_fallback(*entry_);
}

Status Call::begin() {
  cancelled_.store(false, std::memory_order_relaxed);
  has_results_ = false;
  TENON_RETURN_IF_ERROR(resolve(false));
  if (entry_->job != nullptr) {
    if (function_.options().miss_policy == TENON_MISS_COMPILE_NOW && !entry_->job->done()) {
      TENON_RETURN_IF_ERROR(function_.wait_for_kernels(*entry_, cancelled_));
    }
    TENON_RETURN_IF_ERROR(function_.check_fallback(*entry_));
  }
  if (outputs_changed_) TENON_RETURN_IF_ERROR(lay_out_outputs());

  State* state = nullptr;
  if (!entry_->executable->artifact().states.empty()) {
    if (bound_state_ != nullptr) {
      state = bound_state_.get();
      if (!state->try_acquire()) return failed_precondition("the state is in use by another call");
    } else {
      TENON_ASSIGN_OR_RETURN(state, function_.own_state());
      state->acquire();
    }
    if (state_changed_ || state != state_) {
      if (Status status = state->bind(*entry_->executable, state_places_); !status.ok()) {
        state->release();
        return status;
      }
      pointers_changed_ = true;
    }
  }
  state_ = state;
  state_changed_ = false;
  if (pointers_changed_) {
    Status status = frame_.reserve();
    if (status.ok()) status = check_memory();
    if (!status.ok()) {
      if (state_ != nullptr) state_->release();
      return status;
    }
    frame_.point(input_places_.data(), output_places_.data(), state_places_.data());
    pointers_changed_ = false;
  }
  cursor_ = {};
  running_ = true;
  return {};
}

Status Call::finish(Status status) {
  if (status.ok()) status = collect_outputs();
  if (state_ != nullptr) state_->release();
  running_ = false;
  has_results_ = status.ok();
  return status;
}

Status Call::run() {
  TENON_RETURN_IF_ERROR(not_running());
  TENON_RETURN_IF_ERROR(begin());
  return finish(frame_.run_all(function_.context().executor(), cancelled_));
}

Status Call::step(int64_t budget_ns, bool* done) {
  *done = false;
  Context& context = function_.context();
  const int64_t start = context.now_ns();
  const int64_t deadline = budget_ns < 0 || budget_ns > INT64_MAX - start ? INT64_MAX : start + budget_ns;
  if (!running_) {
    TENON_RETURN_IF_ERROR(begin());
  } else if (cancelled_.load(std::memory_order_relaxed)) {
    return finish(Status(Code::kCancelled, "the call was cancelled"));
  }
  const CallFrame::Clock clock{[](void* user) { return static_cast<Context*>(user)->now_ns(); }, &context};
  auto finished = frame_.run(context.executor(), cancelled_, cursor_, &clock, deadline);
  if (!finished.ok()) return finish(std::move(finished).status());
  if (!*finished) return {};
  TENON_RETURN_IF_ERROR(finish({}));
  *done = true;
  return {};
}

// Inputs have memory where they have elements; outputs overlap neither inputs nor each other.
Status Call::check_memory() const {
  const artifact::Artifact& a = entry_->executable->artifact();
  const auto name_of = [&](size_t input) { return function_.interface().inputs[input].name; };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (input_tensors_[i].data == nullptr && inputs_[i]->elements() != 0) {
      return invalid_argument(concat("input `", name_of(i), "`: data is NULL"))
          .with("input", name_of(i))
          .with("found", "NULL");
    }
  }
  const auto overlap = [](std::string_view what, std::string_view name, std::string_view other) {
    return invalid_argument(concat(what, " `", name, "` overlaps ", other))
        .with(what, name)
        .with("expected", "memory of its own")
        .with("found", other);
  };
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = *outputs_[i];
    if (!output.caller.bound || output.bytes == 0) continue;
    const std::string& name = function_.interface().outputs[i].name;
    const ByteRange mine = byte_range(output.caller.tensor);
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (!a.inputs[k].mutated && mine.overlaps(byte_range(input_tensors_[k]))) {
        return overlap("output", name, concat("input `", name_of(k), "`"));
      }
    }
    for (size_t k = 0; k < i; ++k) {
      if (outputs_[k]->caller.bound && outputs_[k]->bytes != 0 &&
          mine.overlaps(byte_range(outputs_[k]->caller.tensor))) {
        return overlap("output", name, concat("output `", function_.interface().outputs[k].name, "`"));
      }
    }
  }
  if (!entry_->executable->mutates_inputs()) return {};
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!a.inputs[i].mutated) continue;
    const ByteRange mine = byte_range(input_tensors_[i]);
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (k != i && mine.overlaps(byte_range(input_tensors_[k]))) {
        return overlap("input", name_of(i), concat("input `", name_of(k), "`, and the program writes it"));
      }
    }
  }
  return {};
}

}  // namespace tenon::runtime
