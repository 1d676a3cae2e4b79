// The only door between the runtime (libtenon.so) and the compiler (libtenon_compiler.so): pure virtual tables and plain
// data. Both libraries come from one build; the build id is checked when the compiler is loaded, so layouts of the
// structs below, of Status, Blob and of the standard containers are equal on both sides. Everything that the compiler
// returns dies before the compiler is unloaded: a Context holds the compiler, functions and graphs hold the Context.
//
// The plain structs of graph building are those of tenon.h, which is the vocabulary of both sides.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon.h"
#include "support/blob.hpp"
#include "support/dtype.hpp"
#include "support/env.hpp"
#include "support/log.hpp"
#include "support/status.hpp"
#include "target/target_info.hpp"

namespace tenon::runtime {

using WriteFn = tenon_write_fn;

// What the compiler gets from its host; outlives the compiler.
struct CompilerHost {
  Env* env = nullptr;
  const Logger* logger = nullptr;  // may be null
  target::TargetInfo target;
  std::string cache_directory;     // "" as in tenon_context_options_t
  bool use_cache = true;
  bool use_system_compiler = true;
  std::string compiler_path;       // "" searches
  uint32_t compile_jobs = 2;       // children at once
  const tenon_cache_store_t* cache_store = nullptr;  // may be null; copied by the context, outlives the compiler
  // runtime/run_once.hpp, for constant folding; null: constants are not folded.
  Status (*run_once)(std::span<const uint8_t> artifact, std::span<const Blob> sources, const target::TargetInfo& target,
                     std::vector<std::vector<uint8_t>>* outputs) = nullptr;
};

// A graph under construction (tenon_graph_t). Single owner. Methods mean what tenon.h says of tenon_graph_*.
class CompilerGraph {
 public:
  virtual ~CompilerGraph() = default;
  virtual Status symbol(std::string_view name, int64_t min, int64_t max, int64_t divisor, tenon_dim_t* out_dim) = 0;
  virtual Status dim(std::string_view expression, tenon_dim_t* out_dim) = 0;
  virtual Status input(std::string_view name, const tenon_type_t& type, tenon_value_t* out_value) = 0;
  virtual Status state(std::string_view name, const tenon_type_t& type, const tenon_tensor_t* initial, tenon_value_t* out_value) = 0;
  virtual Status constant(std::string_view name, const tenon_tensor_t& data, uint32_t flags, tenon_value_t* out_value) = 0;
  virtual Status node(std::string_view op, std::span<const tenon_value_t> inputs, std::span<const tenon_attr_t> attributes,
                      std::span<tenon_value_t> outputs) = 0;
  virtual Status output(std::string_view name, tenon_value_t value) = 0;
  virtual Status type(tenon_value_t value, tenon_type_t* out_type) = 0;
  virtual Status verify() const = 0;
  virtual Status print(WriteFn write, void* user) const = 0;
};

struct CompileOptions {
  int32_t device_kind = TENON_DEVICE_CPU;
  int32_t device_index = 0;
  int32_t auto_dims = TENON_AUTO_DIMS_AUTOMATIC;
  std::string disabled_passes;
};

// What a function looks like from outside, known before any call.
struct FunctionInterface {
  struct Dim {
    int64_t fixed = 0;    // when symbol < 0 and not automatic
    int32_t symbol = -1;  // index in symbols when the dim is one symbol by itself
    bool automatic = false;  // decided per call (or an expression)
  };
  struct Tensor {
    std::string name;
    DType dtype = DType::kF32;
    bool auto_dtype = false, auto_rank = false, scalar = false, known = true;  // known false: an output type that only a call can tell
    std::vector<Dim> dims;
  };
  struct Symbol {
    std::string name;
    int64_t min = 0, max = INT64_MAX, divisor = 1;
  };
  std::vector<Tensor> inputs, outputs, states;
  std::vector<Symbol> symbols;
};

// One call's inputs as far as specialization may look: dtypes, dims, strides, overlap; data only of scalars.
struct CallSignature {
  std::span<const tenon_tensor_t> inputs;
  std::span<const int64_t> facts;
  bool dynamic_now = false;  // the bound on entries is reached: make every auto dim dynamic that may be
};

struct Specialization {
  std::vector<uint8_t> artifact;   // artifact::write; may hold images already (cache hit)
  std::vector<Blob> sources;       // of its constants and states
  int64_t pipeline_ns = 0;         // without the system compiler
  bool cache_hit = false;
};

// Kernels on their way to native code. One thread at a time. Destroying it stops its children.
class KernelBuild {
 public:
  struct Ready {
    std::vector<uint8_t> image;               // ELF
    std::vector<uint32_t> programs;           // indices in the artifact
    std::vector<std::string> symbols;         // of each
    Status status;                            // not OK: these programs stay on the vm, and why
    bool from_cache = false;
  };
  virtual ~KernelBuild() = default;
  // Starts children, collects finished ones, works or waits at most wait_ns (negative: until something is ready or all
  // is done). Appends what became ready. True when nothing is left to come.
  virtual bool poll(int64_t wait_ns, std::vector<Ready>& ready) = 0;
};

// The compiler's half of a function: a snapshot of the graph and the history of its signatures.
// Thread-safe: the runtime calls specialize for different keys at once only under its own lock.
class FunctionCompiler {
 public:
  virtual ~FunctionCompiler() = default;
  virtual const FunctionInterface& interface() const = 0;
  // Guards, plans and assembles for this call. Errors: the call contradicts what the graph declares (INVALID_ARGUMENT
  // with input, expected, found), or the graph cannot be compiled.
  virtual Status specialize(const CallSignature& signature, Specialization* out) = 0;
  // Begins to make native code for the artifact's programs that have none.
  virtual Status start_kernels(std::span<const uint8_t> artifact, std::unique_ptr<KernelBuild>* out) = 0;
  // The initial bytes of interface().states[index], row-major; an empty blob: zeros. UNIMPLEMENTED: they are known from
  // the first specialization on only.
  virtual Status initial_state(size_t index, Blob* out) {
    (void)index, (void)out;
    return unimplemented("initial values come with the first specialization");
  }
  // "graph", "passes", "source" of the last specialization.
  virtual Status explain(std::string_view what, WriteFn write, void* user) = 0;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual Status create_graph(std::string_view name, std::unique_ptr<CompilerGraph>* out) = 0;
  virtual Status parse_graph(std::string_view text, std::unique_ptr<CompilerGraph>* out) = 0;
  virtual Status import_graph(std::string_view format, std::string_view path, std::unique_ptr<CompilerGraph>* out) = 0;
  virtual Status compile(const CompilerGraph& graph, const CompileOptions& options, std::unique_ptr<FunctionCompiler>* out) = 0;
  // "cache_hits", "cache_misses", "cache_errors", "cache_writes", "compiles", "compile_failures"; false: unknown name.
  virtual bool counter(std::string_view name, int64_t* out) const = 0;
  virtual void destroy() = 0;  // deletes this, in the library that made it
};

// The one symbol that libtenon_compiler.so exports: `tenon_compiler_open`. Fails when build ids differ.
using CompilerOpenFn = StatusRecord* (*)(const char* build_id, const CompilerHost* host, Compiler** out);

}  // namespace tenon::runtime
