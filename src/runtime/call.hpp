// One call of a function with its bindings and working memory: tenon_call_t. Single owner, but cancel() comes from any
// thread. Once a run has been made, further runs with the same shapes allocate nothing, take no lock and look up
// nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/buffer.hpp"
#include "runtime/call_frame.hpp"
#include "runtime/call_shape.hpp"
#include "runtime/function.hpp"

namespace tenon::runtime {

class Call {
 public:
  // `keep` is the same function, or null for calls that the function itself owns.
  Call(Function& function, std::shared_ptr<Function> keep);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Function& function() { return function_; }
  // Errors: FAILED_PRECONDITION while a stepped call is under way; what BoundTensor::bind says.
  Status bind_input(size_t index, const tenon_tensor_t& tensor);
  Status bind_output(size_t index, const tenon_tensor_t* tensor);  // null: the call's own memory
  Status bind_state(std::shared_ptr<State> state);                 // null: the function's own
  Status bind_facts(std::span<const int64_t> facts);
  Status set_parallelism(uint32_t parallelism);

  Status required_bytes(size_t* out);
  Status prepare_kernels();
  Status output_type(size_t index, tenon_type_t* out, std::vector<int64_t>& dims, std::vector<int64_t>& strides);

  Status run();
  Status step(int64_t budget_ns, bool* done);
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  // Lent until the next run.
  Status output(size_t index, tenon_tensor_t* out) const;
  // Hands an output out that was not bound: `owner` is set.
  Status take_output(size_t index, tenon_tensor_t* out);

 private:
  struct Output {
    BoundTensor caller;           // bound: the caller's memory
    tenon_buffer* own = nullptr;  // else ours, when the output has bytes of its own
    tenon_tensor_t result{};
    int64_t dims[TENON_MAX_RANK], strides[TENON_MAX_RANK];
    int64_t bytes = 0;
    int64_t number = 0;  // kBool, kInt, kFloat
    bool is_view = false;
  };

  Status not_running() const;
  Status resolve(bool now);
  Status lay_out_outputs();
  Status check_memory() const;
  Status begin();
  Status finish(Status status);
  Status collect_outputs();
  uint32_t crew_size() const;

  const std::shared_ptr<Function> keep_;
  Function& function_;
  std::vector<std::unique_ptr<BoundTensor>> inputs_;
  std::vector<tenon_tensor_t> input_tensors_;
  std::vector<const int64_t*> input_dims_, input_strides_;
  std::vector<int64_t> scalars_, facts_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::vector<void*> input_places_, output_places_, state_places_;
  std::shared_ptr<State> bound_state_;
  State* state_ = nullptr;  // that state_places_ are of
  std::shared_ptr<Entry> entry_;
  std::vector<int64_t> guard_registers_, registers_;
  CallFrame frame_;
  CallFrame::Cursor cursor_;
  uint32_t parallelism_ = 0;
  size_t unbound_inputs_ = 0;
  bool shape_changed_ = true, outputs_changed_ = true, pointers_changed_ = true, state_changed_ = true;
  bool running_ = false, has_results_ = false;
  std::atomic<bool> cancelled_{false};
};

}  // namespace tenon::runtime
