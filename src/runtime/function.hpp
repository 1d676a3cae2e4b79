// A compiled function: executables behind guards, made when a call needs one that is not there. Thread-safe ("free");
// the path of a hit takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/call_shape.hpp"
#include "runtime/compiler_interface.hpp"
#include "runtime/context.hpp"
#include "runtime/entry_list.hpp"
#include "runtime/state.hpp"

namespace tenon::runtime {

class Call;

struct FunctionOptions {
  int32_t miss_policy = TENON_MISS_COMPILE_BEHIND;
  uint32_t max_entries = 8;
  bool fallback_is_error = false;
};

class Function : public std::enable_shared_from_this<Function> {
 public:
  static constexpr size_t kCallPool = 8;

  // `compiler` may be null (a package): then every miss is an error.
  Function(std::shared_ptr<Context> context, std::unique_ptr<FunctionCompiler> compiler, FunctionInterface interface,
           const FunctionOptions& options);
  ~Function();

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  const FunctionInterface& interface() const { return interface_; }
  const FunctionOptions& options() const { return options_; }

  // The entry whose guards hold, or null; `error` is set when the call contradicts what the function declares.
  // `registers` is grown to what the guards need.
  std::shared_ptr<Entry> find(const CallShape& shape, std::vector<int64_t>& registers, Status* error);
  // The same, and makes an entry on a miss. `now`: whatever the policy, make it.
  Result<std::shared_ptr<Entry>> obtain(const CallShape& shape, std::vector<int64_t>& registers, bool now = false);
  // Waits until the entry's kernels are native (or have failed). CANCELLED when the flag rises.
  Status wait_for_kernels(const Entry& entry, const std::atomic<bool>& cancelled);
  // What stands against running this entry: a fallback where those are errors.
  Status check_fallback(const Entry& entry) const;

  // Adds an entry that came with a package.
  Status add_entry(std::shared_ptr<Executable> executable, std::vector<int64_t> facts);
  std::vector<std::shared_ptr<Entry>> entries() const;

  // A state with this function's tensors and, where they are known, initial values.
  Result<std::shared_ptr<State>> make_state();
  // The one that calls without a bound state use.
  Result<State*> own_state();

  // Types of the outputs for these inputs; arrays live until the next call of this on the same thread.
  Status output_types(std::span<const tenon_tensor_t> inputs, std::span<tenon_type_t> outputs);
  Status prepare(std::span<const tenon_tensor_t> inputs);
  // Binds, runs, hands out. `outputs` with data NULL are allocated.
  Status run(uint32_t parallelism, std::span<const tenon_tensor_t> inputs, std::span<tenon_tensor_t> outputs);

  Status explain(std::string_view what, WriteFn write, void* user) const;
  bool counter(std::string_view name, int64_t* out) const;

 private:
  Result<std::shared_ptr<Entry>> specialize(const CallShape& shape, std::vector<int64_t>& registers);
  void add(std::shared_ptr<Entry> entry);
  std::string miss_report(const CallShape& shape) const;
  std::string guards_text() const;
  std::unique_ptr<Call> take_call();
  void give_call(std::unique_ptr<Call> call);

  const std::shared_ptr<Context> context_;
  const std::unique_ptr<FunctionCompiler> compiler_;
  const FunctionInterface interface_;
  const FunctionOptions options_;

  EntryList list_;
  std::atomic<size_t> recent_{0};
  std::atomic<int64_t> misses_{0}, made_{0}, evictions_{0}, evicted_uses_{0}, evicted_fallbacks_{0}, compile_ns_{0};
  std::mutex miss_mutex_;  // one specialization at a time; also guards list_.replace
  mutable std::mutex report_mutex_;
  std::vector<std::string> reports_;  // last misses, oldest first
  std::vector<std::shared_ptr<std::atomic<int64_t>>> evicted_counts_;  // of evicted entries that calls may still hold

  std::mutex state_mutex_;
  std::shared_ptr<State> state_;
  std::atomic<State*> ready_state_{nullptr};

  std::atomic<Call*> calls_[kCallPool] = {};
  struct OutputTypes {
    std::vector<std::vector<int64_t>> arrays;
  };
  std::mutex output_types_mutex_;
  std::unordered_map<std::thread::id, OutputTypes> output_types_;
};

}  // namespace tenon::runtime
