#include "handles.hpp"
#include "runtime/package.hpp"

using namespace tenon;
using namespace tenon::capi;
using runtime::Function;
using runtime::FunctionInterface;

namespace {

tenon_dim_t dim_of(const FunctionInterface::Dim& dim) {
  if (dim.symbol >= 0) return TENON_DIM_AUTO + 2 + dim.symbol;
  return dim.automatic ? TENON_DIM_PENDING : dim.fixed;
}

std::vector<tenon_function::Lent> lend_dims(const std::vector<FunctionInterface::Tensor>& tensors) {
  std::vector<tenon_function::Lent> out;
  for (const FunctionInterface::Tensor& tensor : tensors) {
    tenon_function::Lent& lent = out.emplace_back();
    for (const FunctionInterface::Dim& dim : tensor.dims) lent.dims.push_back(dim_of(dim));
  }
  return out;
}

tenon_function_t* make_handle(std::shared_ptr<Function> function) {
  auto handle = std::make_unique<tenon_function>();
  handle->inputs = lend_dims(function->interface().inputs);
  handle->outputs = lend_dims(function->interface().outputs);
  handle->function = std::move(function);
  return handle.release();
}

Status bad_index(size_t index, size_t count) {
  return invalid_argument(concat("`index`: expected less than ", count, ", found ", index))
      .with("input", "index")
      .with("expected", concat("less than ", count))
      .with("found", concat(index));
}

Status bad_count(std::string_view what, size_t expected, size_t found) {
  return invalid_argument(concat("`", what, "`: the function has ", expected, ", found ", found))
      .with("input", what)
      .with("expected", concat(expected))
      .with("found", concat(found));
}

Status describe_tensor(const std::vector<FunctionInterface::Tensor>& tensors,
                       const std::vector<tenon_function::Lent>& lent, size_t index, tenon_str_t* out_name,
                       tenon_type_t* out_type) {
  if (index >= tensors.size()) return bad_index(index, tensors.size());
  const FunctionInterface::Tensor& tensor = tensors[index];
  *out_name = lend(tensor.name);
  out_type->dtype = tensor.auto_dtype || !tensor.known ? TENON_DTYPE_AUTO : int32_t(tensor.dtype);
  out_type->device_kind = TENON_DEVICE_CPU;
  out_type->rank = int32_t(tensor.dims.size());
  out_type->flags =
      (tensor.scalar ? TENON_TYPE_SCALAR : 0) | (tensor.auto_rank || !tensor.known ? TENON_TYPE_AUTO_RANK : 0);
  out_type->dims = lent[index].dims.data();
  return {};
}

// Shared by run, prepare and output_shapes.
Status check_inputs(const Function& function, const tenon_tensor_t* inputs, size_t n_inputs) {
  const size_t expected = function.interface().inputs.size();
  if (n_inputs != expected) return bad_count("n_inputs", expected, n_inputs);
  if (n_inputs > 0) TENON_REQUIRE(inputs);
  return {};
}

}  // namespace

extern "C" {

TENON_API tenon_status_t* tenon_compile(tenon_context_t* context, const tenon_graph_t* graph,
                                        const tenon_compile_options_t* options, tenon_function_t** out_function) {
  return guarded([&]() -> Status {
    if (out_function != nullptr) *out_function = nullptr;
    TENON_REQUIRE(context);
    TENON_REQUIRE(graph);
    TENON_REQUIRE(out_function);
    tenon_compile_options_t known = TENON_COMPILE_OPTIONS_INIT;
    if (options != nullptr) TENON_RETURN_IF_ERROR(runtime::copy_options(options, &known, "options"));
    const auto bad = [](std::string_view field, int64_t found) {
      return invalid_argument(concat("`options.", field, "`: unknown value ", found))
          .with("input", concat("options.", field))
          .with("found", concat(found));
    };
    if (graph->context != context->context) {
      return invalid_argument("`graph`: it was made in another context").with("input", "graph");
    }
    if (known.device_kind == TENON_DEVICE_CUDA)
      return unimplemented("this build has no CUDA device").with("input", "options.device_kind");
    if (known.device_kind != 0 && known.device_kind != TENON_DEVICE_CPU) return bad("device_kind", known.device_kind);
    if (known.device_index != 0) return bad("device_index", known.device_index);
    if (known.auto_dims < 0 || known.auto_dims > TENON_AUTO_DIMS_DYNAMIC) return bad("auto_dims", known.auto_dims);
    if (known.miss_policy < 0 || known.miss_policy > TENON_MISS_FAIL) return bad("miss_policy", known.miss_policy);
    if ((known.flags & ~TENON_COMPILE_FALLBACK_IS_ERROR) != 0) return bad("flags", known.flags);
    TENON_TEXT(disabled, known.disabled_passes);

    TENON_ASSIGN_OR_RETURN(runtime::Compiler * compiler, context->context->compiler());
    runtime::CompileOptions compile_options;
    compile_options.auto_dims = known.auto_dims;
    compile_options.disabled_passes = disabled;
    std::unique_ptr<runtime::FunctionCompiler> made;
    TENON_RETURN_IF_ERROR(compiler->compile(*graph->graph, compile_options, &made));
    runtime::FunctionOptions function_options;
    function_options.miss_policy = known.miss_policy;
    if (known.max_entries != 0) function_options.max_entries = known.max_entries;
    function_options.fallback_is_error = (known.flags & TENON_COMPILE_FALLBACK_IS_ERROR) != 0;
    FunctionInterface interface = made->interface();
    *out_function = make_handle(
        std::make_shared<Function>(context->context, std::move(made), std::move(interface), function_options));
    return {};
  });
}

TENON_API void tenon_function_retain(tenon_function_t* function) {
  if (function != nullptr) function->references.fetch_add(1, std::memory_order_relaxed);
}
TENON_API void tenon_function_release(tenon_function_t* function) {
  if (function != nullptr && function->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete function;
}

TENON_API size_t tenon_function_inputs(const tenon_function_t* function) {
  return function == nullptr ? 0 : function->function->interface().inputs.size();
}
TENON_API size_t tenon_function_outputs(const tenon_function_t* function) {
  return function == nullptr ? 0 : function->function->interface().outputs.size();
}
TENON_API size_t tenon_function_symbols(const tenon_function_t* function) {
  return function == nullptr ? 0 : function->function->interface().symbols.size();
}
TENON_API size_t tenon_function_states(const tenon_function_t* function) {
  return function == nullptr ? 0 : function->function->interface().states.size();
}

TENON_API tenon_status_t* tenon_function_input(const tenon_function_t* function, size_t index, tenon_str_t* out_name,
                                               tenon_type_t* out_type) {
  return guarded([&]() -> Status {
    if (out_name != nullptr) *out_name = tenon_str_t{};
    if (out_type != nullptr) *out_type = tenon_type_t{};
    TENON_REQUIRE(function);
    TENON_REQUIRE(out_name);
    TENON_REQUIRE(out_type);
    return describe_tensor(function->function->interface().inputs, function->inputs, index, out_name, out_type);
  });
}

TENON_API tenon_status_t* tenon_function_output(const tenon_function_t* function, size_t index, tenon_str_t* out_name,
                                                tenon_type_t* out_type) {
  return guarded([&]() -> Status {
    if (out_name != nullptr) *out_name = tenon_str_t{};
    if (out_type != nullptr) *out_type = tenon_type_t{};
    TENON_REQUIRE(function);
    TENON_REQUIRE(out_name);
    TENON_REQUIRE(out_type);
    return describe_tensor(function->function->interface().outputs, function->outputs, index, out_name, out_type);
  });
}

TENON_API tenon_status_t* tenon_function_symbol(const tenon_function_t* function, size_t index, tenon_str_t* out_name,
                                                int64_t* out_min, int64_t* out_max, int64_t* out_divisor) {
  return guarded([&]() -> Status {
    if (out_name != nullptr) *out_name = tenon_str_t{};
    for (int64_t* out : {out_min, out_max, out_divisor}) {
      if (out != nullptr) *out = 0;
    }
    TENON_REQUIRE(function);
    TENON_REQUIRE(out_name);
    TENON_REQUIRE(out_min);
    TENON_REQUIRE(out_max);
    TENON_REQUIRE(out_divisor);
    const auto& symbols = function->function->interface().symbols;
    if (index >= symbols.size()) return bad_index(index, symbols.size());
    *out_name = lend(symbols[index].name);
    *out_min = symbols[index].min;
    *out_max = symbols[index].max;
    *out_divisor = symbols[index].divisor;
    return {};
  });
}

TENON_API tenon_status_t* tenon_function_output_shapes(tenon_function_t* function, const tenon_tensor_t* inputs,
                                                       size_t n_inputs, tenon_type_t* out_types, size_t n_outputs) {
  return guarded([&]() -> Status {
    if (n_outputs > 0) TENON_REQUIRE(out_types);
    for (size_t i = 0; i < n_outputs; ++i) out_types[i] = tenon_type_t{};
    TENON_REQUIRE(function);
    TENON_RETURN_IF_ERROR(check_inputs(*function->function, inputs, n_inputs));
    const size_t expected = function->function->interface().outputs.size();
    if (n_outputs != expected) return bad_count("n_outputs", expected, n_outputs);
    return function->function->output_types({inputs, n_inputs}, {out_types, n_outputs});
  });
}

TENON_API tenon_status_t* tenon_function_prepare(tenon_function_t* function, const tenon_tensor_t* inputs,
                                                 size_t n_inputs) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(function);
    TENON_RETURN_IF_ERROR(check_inputs(*function->function, inputs, n_inputs));
    return function->function->prepare({inputs, n_inputs});
  });
}

TENON_API tenon_status_t* tenon_function_run(tenon_function_t* function, const tenon_run_options_t* options,
                                             const tenon_tensor_t* inputs, size_t n_inputs, tenon_tensor_t* outputs,
                                             size_t n_outputs) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(function);
    TENON_RETURN_IF_ERROR(check_inputs(*function->function, inputs, n_inputs));
    const size_t expected = function->function->interface().outputs.size();
    if (n_outputs != expected) return bad_count("n_outputs", expected, n_outputs);
    if (n_outputs > 0) TENON_REQUIRE(outputs);
    tenon_run_options_t known = TENON_RUN_OPTIONS_INIT;
    if (options != nullptr) TENON_RETURN_IF_ERROR(runtime::copy_options(options, &known, "options"));
    if (known.stream != nullptr)
      return invalid_argument("`options.stream`: the CPU has no streams").with("input", "options.stream");
    if (known.flags != 0) {
      return invalid_argument(concat("`options.flags`: unknown bits ", known.flags)).with("input", "options.flags");
    }
    return function->function->run(known.parallelism, {inputs, n_inputs}, {outputs, n_outputs});
  });
}

TENON_API tenon_status_t* tenon_function_explain(const tenon_function_t* function, tenon_str_t what,
                                                 tenon_write_fn write, void* user) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(function);
    TENON_REQUIRE(write);
    TENON_TEXT(text, what);
    return function->function->explain(text, write, user);
  });
}

TENON_API tenon_status_t* tenon_function_counter(const tenon_function_t* function, tenon_str_t name,
                                                 int64_t* out_value) {
  return guarded([&]() -> Status {
    if (out_value != nullptr) *out_value = 0;
    TENON_REQUIRE(function);
    TENON_REQUIRE(out_value);
    TENON_TEXT(text, name);
    if (function->function->counter(text, out_value)) return {};
    return invalid_argument(concat("`name`: no counter is named `", text, "`"))
        .with("input", "name")
        .with("found", text);
  });
}

TENON_API tenon_status_t* tenon_function_save(const tenon_function_t* function, tenon_str_t path) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(function);
    TENON_TEXT(file, path);
    return runtime::save_package(*function->function, posix_env(), std::string(file));
  });
}

TENON_API tenon_status_t* tenon_function_load(tenon_context_t* context, tenon_str_t path,
                                              tenon_function_t** out_function) {
  return guarded([&]() -> Status {
    if (out_function != nullptr) *out_function = nullptr;
    TENON_REQUIRE(context);
    TENON_REQUIRE(out_function);
    TENON_TEXT(file, path);
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<Function> function,
                           runtime::load_package(context->context, posix_env(), std::string(file)));
    *out_function = make_handle(std::move(function));
    return {};
  });
}

}  // extern "C"
