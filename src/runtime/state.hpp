// Named mutable tensors (KV cache, running statistics, parameters): tenon_state_t. Binds to calls of every function
// whose state names and types match. One call at a time; the owner may look inside between calls.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context.hpp"
#include "runtime/executable.hpp"
#include "support/status.hpp"

namespace tenon::runtime {

class State {
 public:
  explicit State(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Declares a tensor; dims are fixed. Its contents are undefined until initialize() or set().
  Status declare(std::string name, DType dtype, std::vector<int64_t> dims);
  // Fills a tensor that has no contents yet; an empty blob: zeros.
  Status initialize(std::string_view name, const Blob& initial);
  bool is_declared(std::string_view name) const { return find(name) != nullptr; }
  bool is_initialized(std::string_view name) const;

  // Lent. FAILED_PRECONDITION: it has no value yet (the initial one is known once the function has been compiled).
  Status get(std::string_view name, tenon_tensor_t* out);
  // Copies, from any strides. INVALID_ARGUMENT: another type.
  Status set(std::string_view name, const tenon_tensor_t& tensor);

  // The places of an executable's states, in its order; initial values are filled in where there are none yet.
  Status bind(const Executable& executable, std::vector<void*>& places);

  // One call at a time. False: another one has it.
  bool try_acquire() { return !busy_.exchange(true, std::memory_order_acquire); }
  void acquire();  // waits
  void release();

 private:
  struct Tensor {
    std::string name;
    DType dtype;
    std::vector<int64_t> dims, strides;
    void* data = nullptr;
    size_t bytes = 0;
    bool initialized = false;
  };
  const Tensor* find(std::string_view name) const;
  Tensor* find(std::string_view name);
  Status unknown(std::string_view name) const;

  std::shared_ptr<Context> context_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::atomic<bool> busy_{false};
};

}  // namespace tenon::runtime
