// Compiled programs: functions, calls and states.
#pragma once

#include "graph.hpp"

namespace tenon {
inline namespace api_v0 {

class Call;
class State;

// A compiled program: entries behind guards. Copies share it; every thread may run it at the same time.
class Function {
 public:
  explicit Function(tenon_function_t* taken) : function_(taken) {}
  Function(const Function& other) : function_(other.function_) { tenon_function_retain(function_); }
  Function(Function&& other) noexcept : function_(std::exchange(other.function_, nullptr)) {}
  Function& operator=(Function other) noexcept {
    std::swap(function_, other.function_);
    return *this;
  }
  ~Function() { tenon_function_release(function_); }

  // What a caller must give and gets. A symbolic size that is one symbol by itself is kFirstSymbolDim + its index.
  struct Argument {
    std::string name;
    Type type;
  };
  struct Symbol {
    std::string name;
    int64_t min = 0, max = 0, divisor = 1;
  };
  static constexpr Dim kFirstSymbolDim = TENON_DIM_AUTO + 2;

  size_t inputs() const { return tenon_function_inputs(function_); }
  size_t outputs() const { return tenon_function_outputs(function_); }
  size_t symbols() const { return tenon_function_symbols(function_); }
  size_t states() const { return tenon_function_states(function_); }
  Result<Argument> input(size_t index) const { return describe(tenon_function_input, index); }
  Result<Argument> output(size_t index) const { return describe(tenon_function_output, index); }
  Result<Symbol> symbol(size_t index) const {
    Symbol out;
    tenon_str_t name;
    if (Status status(tenon_function_symbol(function_, index, &name, &out.min, &out.max, &out.divisor)); !status.ok()) return status;
    out.name = from_c(name);
    return out;
  }

  // Types of the outputs for these inputs; nothing runs. Only numbers among the inputs need bytes.
  Result<std::vector<Type>> output_types(std::span<const Tensor> inputs) {
    std::vector<tenon_type_t> raw(outputs());
    const std::vector<tenon_tensor_t> in = to_c_list(inputs);
    if (Status status(tenon_function_output_shapes(function_, in.data(), in.size(), raw.data(), raw.size())); !status.ok()) return status;
    std::vector<Type> out;
    for (const tenon_type_t& type : raw) out.emplace_back(type);
    return out;
  }
  // Compiles for these inputs and waits for the compiled kernels, without running.
  Status prepare(std::span<const Tensor> inputs) {
    const std::vector<tenon_tensor_t> in = to_c_list(inputs);
    return Status(tenon_function_prepare(function_, in.data(), in.size()));
  }
  // Allocates the outputs. threads: at most this many for this call; 0: the context's.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, uint32_t threads = 0) {
    std::vector<Tensor> out(outputs());
    if (Status status = run_into(inputs, out, threads); !status.ok()) return status;
    return out;
  }
  Result<std::vector<Tensor>> run(std::initializer_list<Tensor> inputs) { return run(std::span(inputs.begin(), inputs.size())); }
  // Fills outputs that have memory in place; allocates the empty ones.
  Status run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs, uint32_t threads = 0) {
    const std::vector<tenon_tensor_t> in = to_c_list(inputs);
    std::vector<tenon_tensor_t> out = to_c_list(outputs);
    tenon_run_options_t options = TENON_RUN_OPTIONS_INIT;
    options.parallelism = threads;
    if (Status status(tenon_function_run(function_, &options, in.data(), in.size(), out.data(), out.size())); !status.ok()) return status;
    for (size_t i = 0; i < out.size(); ++i) {
      if (outputs[i].data() == nullptr) outputs[i] = Tensor::take(out[i]);
    }
    return Status();
  }
  Result<Call> call();
  Result<State> state();

  // "graph", "guards", "plan", "source", "misses", "counters", "passes".
  Result<std::string> explain(std::string_view what) const {
    std::string out;
    if (Status status(tenon_function_explain(function_, to_c(what), append_chunk, &out)); !status.ok()) return status;
    return out;
  }
  Result<int64_t> counter(std::string_view name) const {
    int64_t out = 0;
    if (Status status(tenon_function_counter(function_, to_c(name), &out)); !status.ok()) return status;
    return out;
  }
  Status save(std::string_view path) const { return Status(tenon_function_save(function_, to_c(path))); }
  tenon_function_t* get() const { return function_; }

 private:
  static std::vector<tenon_tensor_t> to_c_list(std::span<const Tensor> tensors) {
    std::vector<tenon_tensor_t> out;
    out.reserve(tensors.size());
    for (const Tensor& tensor : tensors) out.push_back(tensor.to_c());
    return out;
  }
  template <typename Getter>
  Result<Argument> describe(Getter getter, size_t index) const {
    tenon_str_t name;
    tenon_type_t type;
    if (Status status(getter(function_, index, &name, &type)); !status.ok()) return status;
    return Argument{std::string(from_c(name)), Type(type)};
  }

  tenon_function_t* function_ = nullptr;
};

// Named mutable tensors, bound to calls of any function whose states have the same names and types. One writer at a time.
class State {
 public:
  explicit State(tenon_state_t* taken) : state_(taken) {}
  // Lent and writable; valid while the state lives.
  Result<Tensor> get(std::string_view name) const {
    tenon_tensor_t out;
    if (Status status(tenon_state_get(state_.get(), to_c(name), &out)); !status.ok()) return status;
    out.owner = nullptr;
    return Tensor::take(out);
  }
  Status set(std::string_view name, const Tensor& tensor) {
    const tenon_tensor_t raw = tensor.to_c();
    return Status(tenon_state_set(state_.get(), to_c(name), &raw));
  }
  tenon_state_t* get() const { return state_.get(); }

 private:
  struct Release {
    void operator()(tenon_state_t* state) const { tenon_state_release(state); }
  };
  std::unique_ptr<tenon_state_t, Release> state_;
};

// One caller's bindings, run again and again without allocation. One thread at a time, but cancel.
class Call {
 public:
  explicit Call(tenon_call_t* taken) : call_(taken) {}

  // The memory, and for Tensor::number the tensor itself, must outlive the runs.
  Status bind_input(size_t index, const Tensor& tensor) {
    const tenon_tensor_t raw = tensor.to_c();
    return Status(tenon_call_bind_input(get(), index, &raw));
  }
  Status bind_output(size_t index, const Tensor& tensor) {
    const tenon_tensor_t raw = tensor.to_c();
    return Status(tenon_call_bind_output(get(), index, &raw));
  }
  Status bind_state(const State& state) { return Status(tenon_call_bind_state(get(), state.get())); }
  // Numbers that join the guards, compared for equality.
  Status bind_facts(std::span<const int64_t> facts) { return Status(tenon_call_bind_facts(get(), facts.data(), facts.size())); }
  Status set_parallelism(uint32_t threads) { return Status(tenon_call_set_parallelism(get(), threads)); }
  Result<size_t> required_bytes() {
    size_t out = 0;
    if (Status status(tenon_call_required_bytes(get(), &out)); !status.ok()) return status;
    return out;
  }
  Status run() { return Status(tenon_call_run(get())); }
  // Works for about this long; true when the call is done.
  Result<bool> step(int64_t budget_ns) {
    int32_t done = 0;
    if (Status status(tenon_call_step(get(), budget_ns, &done)); !status.ok()) return status;
    return done != 0;
  }
  void cancel() { tenon_call_cancel(get()); }  // any thread
  // Lent until the next run.
  Result<Tensor> output(size_t index) const {
    tenon_tensor_t out;
    if (Status status(tenon_call_output(get(), index, &out)); !status.ok()) return status;
    out.owner = nullptr;
    return Tensor::take(out);
  }
  tenon_call_t* get() const { return call_.get(); }

 private:
  struct Release {
    void operator()(tenon_call_t* call) const { tenon_call_release(call); }
  };
  std::unique_ptr<tenon_call_t, Release> call_;
};

inline Result<Call> Function::call() {
  tenon_call_t* out = nullptr;
  if (Status status(tenon_call_create(function_, &out)); !status.ok()) return status;
  return Call(out);
}
inline Result<State> Function::state() {
  tenon_state_t* out = nullptr;
  if (Status status(tenon_state_create(function_, &out)); !status.ok()) return status;
  return State(out);
}

}  // namespace api_v0
}  // namespace tenon
