/* Tenon's C API (C11): tensor programs compiled to fused native code and run from a guard-checked cache.
 *
 * Conventions
 *  - Fallible functions return tenon_status_t*: NULL is success, anything else the caller releases. Out-parameters come
 *    last, are set to NULL or 0 on entry, and need no cleaning up after a failure. Status codes equal Abseil's.
 *  - create, parse, import, load and wrap give one reference; retain and release move it; getters lend until the parent
 *    dies. release accepts NULL. Every object keeps its context alive.
 *  - Strings are UTF-8 {data, size}, not zero-terminated; they are copied unless a comment says otherwise.
 *  - Threads. Free (any thread, any time): context, device, buffer, function. Single owner (one thread at a time):
 *    graph, call, state; compile works on a snapshot. Host callbacks may come from any thread and must not call back
 *    into the same object unless the callback's comment allows it.
 *  - Option and callback structs start with struct_size and next: set them with the TENON_..._INIT macro. Unknown kinds
 *    in a `next` chain are an error unless flagged optional. Structs that travel in arrays have reserved words: zero.
 *  - ABI version 0: may still change between minor versions.
 */
#ifndef TENON_H
#define TENON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

#define TENON_API_VERSION ((0u << 16) | 1u) /* major << 16 | minor */
#define TENON_MAX_RANK 16

typedef struct tenon_status tenon_status_t;
typedef struct tenon_context tenon_context_t;
typedef struct tenon_device tenon_device_t;
typedef struct tenon_stream tenon_stream_t;
typedef struct tenon_buffer tenon_buffer_t;
typedef struct tenon_graph tenon_graph_t;
typedef struct tenon_function tenon_function_t;
typedef struct tenon_call tenon_call_t;
typedef struct tenon_state tenon_state_t;
typedef struct tenon_api tenon_api_t;
struct DLManagedTensorVersioned; /* dlpack.h, 1.x; include it yourself to look inside */

/* Values inside a graph are numbers of that graph. */
typedef uint32_t tenon_value_t;
#define TENON_VALUE_NONE UINT32_MAX

/* A size: >= 0 fixed; AUTO: specialization decides by PyTorch's rules; PENDING: not known before specialization; other
 * negative numbers are symbols and expressions of one graph, made by tenon_graph_symbol and tenon_graph_dim. Small
 * negative numbers keep the operator's own meaning in attributes (-1 in a reshape). */
typedef int64_t tenon_dim_t;
#define TENON_DIM_AUTO (INT64_MIN)
#define TENON_DIM_PENDING (INT64_MIN + 1)
#define TENON_DIM_IS_SYMBOLIC(dim) ((dim) > INT64_MIN + 1 && (dim) < INT64_MIN / 2)

typedef enum {
  TENON_DTYPE_AUTO = 0, /* in tenon_type_t of an input: taken from the call */
  TENON_DTYPE_BOOL = 1, TENON_DTYPE_U8 = 2, TENON_DTYPE_I8 = 3, TENON_DTYPE_I16 = 4, TENON_DTYPE_I32 = 5,
  TENON_DTYPE_I64 = 6, TENON_DTYPE_F16 = 7, TENON_DTYPE_BF16 = 8, TENON_DTYPE_F32 = 9, TENON_DTYPE_F64 = 10,
  TENON_DTYPE_U16 = 11, TENON_DTYPE_U32 = 12, TENON_DTYPE_U64 = 13
} tenon_dtype;
typedef enum { TENON_DEVICE_CPU = 1, TENON_DEVICE_CUDA = 2 } tenon_device_kind;
typedef enum {
  TENON_OK = 0, TENON_CANCELLED = 1, TENON_UNKNOWN = 2, TENON_INVALID_ARGUMENT = 3, TENON_DEADLINE_EXCEEDED = 4,
  TENON_NOT_FOUND = 5, TENON_ALREADY_EXISTS = 6, TENON_PERMISSION_DENIED = 7, TENON_RESOURCE_EXHAUSTED = 8,
  TENON_FAILED_PRECONDITION = 9, TENON_ABORTED = 10, TENON_OUT_OF_RANGE = 11, TENON_UNIMPLEMENTED = 12,
  TENON_INTERNAL = 13, TENON_UNAVAILABLE = 14, TENON_DATA_LOSS = 15
} tenon_code;

typedef struct { const char* data; size_t size; } tenon_str_t;
typedef struct tenon_chain {
  size_t struct_size;
  uint32_t kind;
  uint32_t flags; /* TENON_CHAIN_OPTIONAL */
  const struct tenon_chain* next;
} tenon_chain_t;
#define TENON_CHAIN_OPTIONAL 1u

#define TENON_TYPE_SCALAR 1u /* a Python number (Scalar, SymInt, float, bool): at a call a 0-d host tensor */
#define TENON_TYPE_AUTO_RANK 2u
/* dims and strides in elements; strides NULL is row-major. Lent arrays when the library fills it in. */
typedef struct {
  int32_t dtype, device_kind, device_index, rank;
  uint32_t flags, reserved;
  const tenon_dim_t* dims;
  const tenon_dim_t* strides;
} tenon_type_t;

/* Strides in elements; NULL is row-major. `owner` is set on tensors that the library allocated: release it; dims and
 * strides live as long as it does. */
typedef struct {
  void* data;
  int32_t dtype, device_kind, device_index, rank;
  uint32_t flags, reserved;
  const int64_t* dims;
  const int64_t* strides;
  tenon_buffer_t* owner;
} tenon_tensor_t;

/* The kinds of an attribute's values, and the C type that `values` points to (`count` of them). */
typedef enum {
  TENON_ATTR_NONE = 0,
  TENON_ATTR_BOOL = 1,   /* uint8_t */
  TENON_ATTR_I64 = 2,    /* tenon_dim_t: numbers or symbolic dims */
  TENON_ATTR_F64 = 3,    /* double */
  TENON_ATTR_STR = 4,    /* tenon_str_t */
  TENON_ATTR_DTYPE = 5,  /* int32_t */
  TENON_ATTR_VALUES = 6, /* tenon_value_t: Tensor[], Tensor?[], or a scalar that is a value of the graph */
  TENON_ATTR_DEVICE = 7, /* int32_t pairs kind, index: count 1 is one device */
  TENON_ATTR_MEMORY_FORMAT = 8 /* int32_t: 0 contiguous, 1 channels last, 2 channels last 3d, 3 preserve */
} tenon_attr_kind;
#define TENON_ATTR_LIST 1u /* in `flags`: a list even when count is 1 */
/* Tensor arguments of an operator go to `inputs` in schema order (TENON_VALUE_NONE for an absent Tensor?), all other
 * arguments are attributes by their schema name; those left out have the schema's defaults. A number may stand in a
 * Tensor slot as an attribute of that name. */
typedef struct {
  tenon_str_t name;
  int32_t kind;
  uint32_t count;
  uint32_t flags, reserved;
  const void* values;
} tenon_attr_t;

typedef void (*tenon_write_fn)(void* user, tenon_str_t chunk);

/* Host services. Callbacks first see `user`; the struct is copied when the context is created; release(user) runs once,
 * when the last object of the context dies. */
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  void* user;
  void (*release)(void* user);
  void* (*allocate)(void* user, tenon_device_t* device, size_t bytes, size_t alignment, void* native_stream); /* NULL: none left */
  void (*deallocate)(void* user, tenon_device_t* device, void* data, size_t bytes, void* native_stream);
} tenon_allocator_t;
#define TENON_ALLOCATOR_INIT { sizeof(tenon_allocator_t) }
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  void* user;
  void (*release)(void* user);
  uint32_t (*width)(void* user);
  /* Runs task(data, i, worker) for every i < count and returns after all ran; worker < width, unique among running tasks. */
  void (*parallel_for)(void* user, size_t count, void (*task)(void* data, size_t index, uint32_t worker), void* data);
  /* Runs job(data) later on some thread. NULL: background work waits for tenon_context_poll. */
  void (*submit)(void* user, void (*job)(void* data), void* data);
} tenon_executor_t;
#define TENON_EXECUTOR_INIT { sizeof(tenon_executor_t) }
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  void* user;
  void (*release)(void* user);
  void (*write)(void* user, int32_t severity, tenon_str_t message); /* 0 debug, 1 info, 2 warning, 3 error */
} tenon_logger_t;
#define TENON_LOGGER_INIT { sizeof(tenon_logger_t) }
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  void* user;
  void (*release)(void* user);
  int64_t (*now_ns)(void* user); /* monotonic */
} tenon_clock_t;
#define TENON_CLOCK_INIT { sizeof(tenon_clock_t) }
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  void* user;
  void (*release)(void* user);
  void (*begin)(void* user, tenon_str_t name, uint64_t id); /* spans of compile steps and, when asked for, of kernels */
  void (*end)(void* user, tenon_str_t name, uint64_t id);
} tenon_tracer_t;
#define TENON_TRACER_INIT { sizeof(tenon_tracer_t) }
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  void* user;
  void (*release)(void* user);
  int32_t (*get)(void* user, tenon_str_t key, tenon_write_fn sink, void* sink_user); /* 1: found */
  void (*put)(void* user, tenon_str_t key, tenon_str_t blob);
} tenon_cache_store_t;
#define TENON_CACHE_STORE_INIT { sizeof(tenon_cache_store_t) }

#define TENON_CONTEXT_NO_CACHE 1u      /* no cache on disk */
#define TENON_CONTEXT_NO_COMPILER 2u   /* never start the system compiler: the vm runs everything */
#define TENON_CONTEXT_NO_THREADS 4u    /* make no thread at all; background work advances in tenon_context_poll */
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  const tenon_allocator_t* allocator;
  const tenon_executor_t* executor;
  const tenon_logger_t* logger;
  const tenon_tracer_t* tracer;
  const tenon_clock_t* clock;
  const tenon_cache_store_t* cache_store;
  tenon_str_t cache_directory; /* "": $TENON_CACHE_DIR, $XDG_CACHE_HOME/tenon, $HOME/.cache/tenon, else none */
  tenon_str_t compiler;        /* path of the system compiler; "": $TENON_CXX, $CXX, then g++, clang++, c++ of PATH */
  tenon_str_t isa;             /* "": the best this machine runs; else "x86-64-v2", "x86-64-v3", "x86-64-v4", "neon" */
  uint32_t threads;            /* 0: as many as cores that this process may use; the caller's thread is one of them */
  uint32_t flags;
} tenon_context_options_t;
#define TENON_CONTEXT_OPTIONS_INIT { sizeof(tenon_context_options_t) }

typedef enum {
  TENON_MISS_COMPILE_BEHIND = 0, /* answer with the vm at once, compile in the background */
  TENON_MISS_COMPILE_NOW = 1,    /* wait for compiled kernels */
  TENON_MISS_VM = 2,             /* the vm only */
  TENON_MISS_FAIL = 3            /* FAILED_PRECONDITION with the miss report */
} tenon_miss_policy;
typedef enum { TENON_AUTO_DIMS_AUTOMATIC = 0, TENON_AUTO_DIMS_STATIC = 1, TENON_AUTO_DIMS_DYNAMIC = 2 } tenon_auto_dims;
#define TENON_COMPILE_FALLBACK_IS_ERROR 1u /* a kernel that could not be compiled makes calls fail instead of using the vm */
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  int32_t device_kind, device_index; /* 0: cpu */
  int32_t auto_dims, miss_policy;
  uint32_t max_entries;              /* 0: 8 */
  uint32_t flags;
  tenon_str_t disabled_passes;       /* comma separated names, for looking for bugs */
} tenon_compile_options_t;
#define TENON_COMPILE_OPTIONS_INIT { sizeof(tenon_compile_options_t) }
typedef struct {
  size_t struct_size;
  const tenon_chain_t* next;
  tenon_stream_t* stream;
  uint32_t parallelism; /* at most this many threads for this call; 0: the context's */
  uint32_t flags;
} tenon_run_options_t;
#define TENON_RUN_OPTIONS_INIT { sizeof(tenon_run_options_t) }

/* ---- library and status ---- */
TENON_API uint32_t tenon_api_version(void);
TENON_API const tenon_api_t* tenon_get_api(uint32_t version); /* NULL: not supported. The table is in tenon_api.h */
typedef void (*tenon_any_fn)(void);
TENON_API tenon_any_fn tenon_find_experimental(tenon_str_t name); /* NULL: absent */
/* "compiler" (libtenon_compiler.so can be loaded), "cpu", "cuda", "isa:x86-64-v3" (this machine runs it), ... */
TENON_API int32_t tenon_has_feature(tenon_str_t name);
TENON_API tenon_status_t* tenon_status_create(int32_t code, tenon_str_t message); /* for callbacks */
TENON_API int32_t tenon_status_code(const tenon_status_t* status);                /* NULL gives 0 */
TENON_API tenon_str_t tenon_status_message(const tenon_status_t* status);         /* lent */
/* keys: "operator", "value", "input", "expected", "found", "guard", "pass", "file", "entry"; "" when absent. Lent. */
TENON_API tenon_str_t tenon_status_field(const tenon_status_t* status, tenon_str_t key);
TENON_API void tenon_status_release(tenon_status_t* status);

/* ---- context, device, memory ---- */
TENON_API tenon_status_t* tenon_context_create(const tenon_context_options_t* options, tenon_context_t** out_context); /* options may be NULL */
TENON_API void tenon_context_release(tenon_context_t* context);
/* Advances background compiles on this thread for about budget_ns; *out_pending: kernels still to come. */
TENON_API tenon_status_t* tenon_context_poll(tenon_context_t* context, int64_t budget_ns, int32_t* out_pending);
/* "cache_hits", "cache_misses", "cache_errors", "cache_writes", "compiles", "compile_failures", "private_weight_bytes",
 * "mapped_weight_bytes", "arena_bytes", "threads" */
TENON_API tenon_status_t* tenon_context_counter(tenon_context_t* context, tenon_str_t name, int64_t* out_value);
TENON_API tenon_status_t* tenon_context_device(tenon_context_t* context, int32_t kind, int32_t index, tenon_device_t** out_device); /* lent */
TENON_API tenon_status_t* tenon_device_synchronize(tenon_device_t* device);
TENON_API tenon_status_t* tenon_buffer_create(tenon_device_t* device, size_t bytes, tenon_buffer_t** out_buffer); /* 64-byte aligned */
TENON_API void* tenon_buffer_data(const tenon_buffer_t* buffer);
TENON_API size_t tenon_buffer_bytes(const tenon_buffer_t* buffer);
TENON_API void tenon_buffer_retain(tenon_buffer_t* buffer);
TENON_API void tenon_buffer_release(tenon_buffer_t* buffer);
/* Takes `managed` over on success: its deleter runs when out_tensor->owner is released. */
TENON_API tenon_status_t* tenon_tensor_from_dlpack(tenon_context_t* context, struct DLManagedTensorVersioned* managed, tenon_tensor_t* out_tensor);
/* The tensor must have an owner, which the result retains. */
TENON_API tenon_status_t* tenon_tensor_to_dlpack(const tenon_tensor_t* tensor, struct DLManagedTensorVersioned** out_managed);

/* ---- graph (needs libtenon_compiler.so; else UNIMPLEMENTED says where it was looked for) ---- */
TENON_API tenon_status_t* tenon_graph_create(tenon_context_t* context, tenon_str_t name, tenon_graph_t** out_graph);
TENON_API tenon_status_t* tenon_graph_parse(tenon_context_t* context, tenon_str_t text, tenon_graph_t** out_graph);
/* format: "pt2"; "" looks at the file. */
TENON_API tenon_status_t* tenon_graph_import(tenon_context_t* context, tenon_str_t format, tenon_str_t path, tenon_graph_t** out_graph);
TENON_API void tenon_graph_release(tenon_graph_t* graph);
/* A named size in [min, max] that is a multiple of divisor. max INT64_MAX: no bound. */
TENON_API tenon_status_t* tenon_graph_symbol(tenon_graph_t* graph, tenon_str_t name, int64_t min, int64_t max, int64_t divisor, tenon_dim_t* out_dim);
TENON_API tenon_status_t* tenon_graph_dim(tenon_graph_t* graph, tenon_str_t expression, tenon_dim_t* out_dim); /* "2*s0 + 1" */
TENON_API tenon_status_t* tenon_graph_input(tenon_graph_t* graph, tenon_str_t name, const tenon_type_t* type, tenon_value_t* out_value);
/* initial may be NULL: zeros. Its bytes are copied. */
TENON_API tenon_status_t* tenon_graph_state(tenon_graph_t* graph, tenon_str_t name, const tenon_type_t* type, const tenon_tensor_t* initial, tenon_value_t* out_value);
#define TENON_CONSTANT_BORROW 1u /* the bytes stay with the caller, valid and unchanged until graph and functions are gone */
TENON_API tenon_status_t* tenon_graph_constant(tenon_graph_t* graph, tenon_str_t name, const tenon_tensor_t* data, uint32_t flags, tenon_value_t* out_value);
/* Appends one operator call. outputs: room for n_outputs results; fewer are written when the operator has fewer. */
TENON_API tenon_status_t* tenon_graph_node(tenon_graph_t* graph, tenon_str_t op, const tenon_value_t* inputs, size_t n_inputs, const tenon_attr_t* attrs, size_t n_attrs, tenon_value_t* outputs, size_t n_outputs);
TENON_API tenon_status_t* tenon_graph_output(tenon_graph_t* graph, tenon_str_t name, tenon_value_t value);
TENON_API tenon_status_t* tenon_graph_type(const tenon_graph_t* graph, tenon_value_t value, tenon_type_t* out_type); /* arrays lent until the graph changes */
TENON_API tenon_status_t* tenon_graph_verify(const tenon_graph_t* graph);
TENON_API tenon_status_t* tenon_graph_print(const tenon_graph_t* graph, tenon_write_fn write, void* user);

/* ---- compile, look, run ---- */
TENON_API tenon_status_t* tenon_compile(tenon_context_t* context, const tenon_graph_t* graph, const tenon_compile_options_t* options, tenon_function_t** out_function); /* options may be NULL */
TENON_API void tenon_function_retain(tenon_function_t* function);
TENON_API void tenon_function_release(tenon_function_t* function);
TENON_API size_t tenon_function_inputs(const tenon_function_t* function);
TENON_API size_t tenon_function_outputs(const tenon_function_t* function);
TENON_API size_t tenon_function_symbols(const tenon_function_t* function);
TENON_API size_t tenon_function_states(const tenon_function_t* function);
/* Names and types are lent until the function dies. Symbolic dims are those of tenon_function_symbol: index i is TENON_DIM_AUTO + 2 + i
 * when a dim is one symbol by itself, else TENON_DIM_PENDING. */
TENON_API tenon_status_t* tenon_function_input(const tenon_function_t* function, size_t index, tenon_str_t* out_name, tenon_type_t* out_type);
TENON_API tenon_status_t* tenon_function_output(const tenon_function_t* function, size_t index, tenon_str_t* out_name, tenon_type_t* out_type);
TENON_API tenon_status_t* tenon_function_symbol(const tenon_function_t* function, size_t index, tenon_str_t* out_name, int64_t* out_min, int64_t* out_max, int64_t* out_divisor);
/* Types of the outputs for these inputs (data may be NULL but for scalars); nothing runs. Arrays lent until the next
 * call on this thread of this function for this function object. */
TENON_API tenon_status_t* tenon_function_output_shapes(tenon_function_t* function, const tenon_tensor_t* inputs, size_t n_inputs, tenon_type_t* out_types, size_t n_outputs);
/* Compiles for these inputs and waits for compiled kernels, without running (data may be NULL but for scalars). */
TENON_API tenon_status_t* tenon_function_prepare(tenon_function_t* function, const tenon_tensor_t* inputs, size_t n_inputs);
/* An output with data NULL is allocated and returned with `owner` set; else the caller's memory is filled in place (its
 * dtype and dims must be the right ones). States live in the function's own state object. */
TENON_API tenon_status_t* tenon_function_run(tenon_function_t* function, const tenon_run_options_t* options, const tenon_tensor_t* inputs, size_t n_inputs, tenon_tensor_t* outputs, size_t n_outputs);
TENON_API tenon_status_t* tenon_call_create(tenon_function_t* function, tenon_call_t** out_call);
/* The tensor's struct is copied, its dims and strides too; its bytes stay with the caller and are read at run. */
TENON_API tenon_status_t* tenon_call_bind_input(tenon_call_t* call, size_t index, const tenon_tensor_t* tensor);
TENON_API tenon_status_t* tenon_call_bind_output(tenon_call_t* call, size_t index, const tenon_tensor_t* tensor); /* NULL: allocate */
TENON_API tenon_status_t* tenon_call_bind_state(tenon_call_t* call, tenon_state_t* state);
TENON_API tenon_status_t* tenon_call_bind_facts(tenon_call_t* call, const int64_t* facts, size_t n_facts); /* guarded by equality */
TENON_API tenon_status_t* tenon_call_set_parallelism(tenon_call_t* call, uint32_t parallelism); /* 0: the context's */
TENON_API tenon_status_t* tenon_call_required_bytes(tenon_call_t* call, size_t* out_bytes);   /* arena for the bound inputs */
TENON_API tenon_status_t* tenon_call_run(tenon_call_t* call);
/* Works for about budget_ns, then returns with *out_done 0; call again until it is 1. */
TENON_API tenon_status_t* tenon_call_step(tenon_call_t* call, int64_t budget_ns, int32_t* out_done);
TENON_API void tenon_call_cancel(tenon_call_t* call); /* any thread: a running call ends with CANCELLED */
TENON_API tenon_status_t* tenon_call_output(tenon_call_t* call, size_t index, tenon_tensor_t* out_tensor); /* lent until the next run */
TENON_API void tenon_call_release(tenon_call_t* call);
TENON_API tenon_status_t* tenon_state_create(tenon_function_t* function, tenon_state_t** out_state); /* initial values */
TENON_API tenon_status_t* tenon_state_get(tenon_state_t* state, tenon_str_t name, tenon_tensor_t* out_tensor); /* lent, writable */
TENON_API tenon_status_t* tenon_state_set(tenon_state_t* state, tenon_str_t name, const tenon_tensor_t* tensor); /* copies */
TENON_API void tenon_state_release(tenon_state_t* state);
/* "graph", "guards", "plan", "source", "misses", "counters", "passes" */
TENON_API tenon_status_t* tenon_function_explain(const tenon_function_t* function, tenon_str_t what, tenon_write_fn write, void* user);
/* "entries", "misses", "hits", "fallbacks", "evictions", "tier" (lowest over the entries: 0 vm, 1 compiled), "kernels",
 * "pending_kernels", "compile_ns" (the pipeline without the system compiler, last miss) */
TENON_API tenon_status_t* tenon_function_counter(const tenon_function_t* function, tenon_str_t name, int64_t* out_value);
/* A package: entries, compiled kernels and weights in one file. */
TENON_API tenon_status_t* tenon_function_save(const tenon_function_t* function, tenon_str_t path);
TENON_API tenon_status_t* tenon_function_load(tenon_context_t* context, tenon_str_t path, tenon_function_t** out_function);

#ifdef __cplusplus
}
#endif
#endif /* TENON_H */
