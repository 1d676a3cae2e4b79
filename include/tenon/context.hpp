// The context: where memory, threads, caches and the compiler come from.
#pragma once

#include "function.hpp"

namespace tenon {
inline namespace api_v0 {

struct ContextOptions {
  uint32_t threads = 0;  // 0: as many as cores; the caller's thread is one of them
  bool no_cache = false, no_compiler = false, no_threads = false;
  std::string_view cache_directory, compiler, isa;  // "": see tenon_context_options_t
  // Host services of the C API; copied when the context is made.
  const tenon_allocator_t* allocator = nullptr;
  const tenon_executor_t* executor = nullptr;
  const tenon_logger_t* logger = nullptr;
  const tenon_tracer_t* tracer = nullptr;
  const tenon_clock_t* clock = nullptr;
  const tenon_cache_store_t* cache_store = nullptr;
};

enum class MissPolicy : int32_t {
  kCompileBehind = TENON_MISS_COMPILE_BEHIND,  // answer with the vm at once, compile in the background
  kCompileNow = TENON_MISS_COMPILE_NOW,
  kVm = TENON_MISS_VM,
  kFail = TENON_MISS_FAIL,
};
enum class AutoDims : int32_t {
  kAutomatic = TENON_AUTO_DIMS_AUTOMATIC,
  kStatic = TENON_AUTO_DIMS_STATIC,
  kDynamic = TENON_AUTO_DIMS_DYNAMIC,
};
struct CompileOptions {
  MissPolicy miss_policy = MissPolicy::kCompileBehind;
  AutoDims auto_dims = AutoDims::kAutomatic;
  uint32_t max_entries = 0;  // 0: 8
  bool fallback_is_error = false;
  std::string_view disabled_passes;  // comma separated
};

// Move-only; every object made from it keeps what it needs of it alive. Any thread, any time.
class Context {
 public:
  static Result<Context> create(const ContextOptions& options = {}) {
    tenon_context_options_t raw = TENON_CONTEXT_OPTIONS_INIT;
    raw.allocator = options.allocator;
    raw.executor = options.executor;
    raw.logger = options.logger;
    raw.tracer = options.tracer;
    raw.clock = options.clock;
    raw.cache_store = options.cache_store;
    raw.cache_directory = to_c(options.cache_directory);
    raw.compiler = to_c(options.compiler);
    raw.isa = to_c(options.isa);
    raw.threads = options.threads;
    raw.flags = (options.no_cache ? TENON_CONTEXT_NO_CACHE : 0) | (options.no_compiler ? TENON_CONTEXT_NO_COMPILER : 0) |
                (options.no_threads ? TENON_CONTEXT_NO_THREADS : 0);
    tenon_context_t* out = nullptr;
    if (Status status(tenon_context_create(&raw, &out)); !status.ok()) return status;
    return Context(out);
  }
  explicit Context(tenon_context_t* taken) : context_(taken) {}

  Result<Graph> graph(std::string_view name) const {
    return graph_from([&](tenon_graph_t** out) { return tenon_graph_create(get(), to_c(name), out); });
  }
  Result<Graph> parse(std::string_view text) const {
    return graph_from([&](tenon_graph_t** out) { return tenon_graph_parse(get(), to_c(text), out); });
  }
  // format "": by a look at the file.
  Result<Graph> import(std::string_view path, std::string_view format = "") const {
    return graph_from([&](tenon_graph_t** out) { return tenon_graph_import(get(), to_c(format), to_c(path), out); });
  }
  Result<Function> compile(const Graph& graph, const CompileOptions& options = {}) const {
    if (!graph.status().ok()) return graph.first_copy();
    tenon_compile_options_t raw = TENON_COMPILE_OPTIONS_INIT;
    raw.auto_dims = int32_t(options.auto_dims);
    raw.miss_policy = int32_t(options.miss_policy);
    raw.max_entries = options.max_entries;
    raw.flags = options.fallback_is_error ? TENON_COMPILE_FALLBACK_IS_ERROR : 0;
    raw.disabled_passes = to_c(options.disabled_passes);
    tenon_function_t* out = nullptr;
    if (Status status(tenon_compile(get(), graph.get(), &raw, &out)); !status.ok()) return status;
    return Function(out);
  }
  // A package that Function::save wrote.
  Result<Function> load(std::string_view path) const {
    tenon_function_t* out = nullptr;
    if (Status status(tenon_function_load(get(), to_c(path), &out)); !status.ok()) return status;
    return Function(out);
  }
  // A row-major tensor of the library's memory, not cleared.
  Result<Tensor> allocate(DType dtype, std::span<const int64_t> dims) const {
    if (dims.size() > TENON_MAX_RANK) return Status(Code::kInvalidArgument, "more than 16 dims");
    tenon_device_t* device = nullptr;
    if (Status status(tenon_context_device(get(), TENON_DEVICE_CPU, 0, &device)); !status.ok()) return status;
    size_t bytes = size_t(size_bytes(dtype));
    for (int64_t dim : dims) {
      if (dim < 0 || __builtin_mul_overflow(bytes, size_t(dim), &bytes)) return Status(Code::kInvalidArgument, "sizes below 0 or too large");
    }
    tenon_buffer_t* buffer = nullptr;
    if (Status status(tenon_buffer_create(device, bytes, &buffer)); !status.ok()) return status;
    tenon_tensor_t raw = {};
    raw.data = tenon_buffer_data(buffer);
    raw.dtype = int32_t(dtype);
    raw.rank = int32_t(dims.size());
    raw.dims = dims.data();
    raw.owner = buffer;
    return Tensor::take(raw);
  }
  // Advances background compiles on this thread; kernels still to come.
  Result<int32_t> poll(int64_t budget_ns) const {
    int32_t pending = 0;
    if (Status status(tenon_context_poll(get(), budget_ns, &pending)); !status.ok()) return status;
    return pending;
  }
  Result<int64_t> counter(std::string_view name) const {
    int64_t out = 0;
    if (Status status(tenon_context_counter(get(), to_c(name), &out)); !status.ok()) return status;
    return out;
  }
  tenon_context_t* get() const { return context_.get(); }

 private:
  struct Release {
    void operator()(tenon_context_t* context) const { tenon_context_release(context); }
  };
  template <typename Maker>
  Result<Graph> graph_from(Maker&& maker) const {
    tenon_graph_t* out = nullptr;
    if (Status status(maker(&out)); !status.ok()) return status;
    return Graph(out);
  }

  std::unique_ptr<tenon_context_t, Release> context_;
};

inline bool has_feature(std::string_view name) { return tenon_has_feature(to_c(name)) != 0; }

}  // namespace api_v0
}  // namespace tenon
