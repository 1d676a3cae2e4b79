#include "handles.hpp"

using namespace tenon;
using namespace tenon::capi;
using tenon::runtime::Context;

extern "C" {

TENON_API tenon_status_t* tenon_context_create(const tenon_context_options_t* options, tenon_context_t** out_context) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(out_context);
    *out_context = nullptr;
    tenon_context_options_t known = TENON_CONTEXT_OPTIONS_INIT;
    if (options != nullptr) TENON_RETURN_IF_ERROR(runtime::copy_options(options, &known, "options"));
    for (const auto& [text, name] : {std::pair{known.cache_directory, "options.cache_directory"},
                                     {known.compiler, "options.compiler"},
                                     {known.isa, "options.isa"}}) {
      std::string_view view;
      TENON_RETURN_IF_ERROR(text_of(text, name, &view));
    }
    auto handle = std::make_unique<tenon_context>();
    TENON_ASSIGN_OR_RETURN(handle->context, Context::create(known));
    *out_context = handle.release();
    return {};
  });
}

TENON_API void tenon_context_release(tenon_context_t* context) { delete context; }

TENON_API tenon_status_t* tenon_context_poll(tenon_context_t* context, int64_t budget_ns, int32_t* out_pending) {
  return guarded([&]() -> Status {
    if (out_pending != nullptr) *out_pending = 0;
    TENON_REQUIRE(context);
    TENON_REQUIRE(out_pending);
    const int64_t pending = context->context->poll(budget_ns);
    *out_pending = int32_t(std::min<int64_t>(pending, INT32_MAX));
    return {};
  });
}

TENON_API tenon_status_t* tenon_context_counter(tenon_context_t* context, tenon_str_t name, int64_t* out_value) {
  return guarded([&]() -> Status {
    if (out_value != nullptr) *out_value = 0;
    TENON_REQUIRE(context);
    TENON_REQUIRE(out_value);
    TENON_TEXT(text, name);
    if (context->context->counter(text, out_value)) return {};
    return invalid_argument(concat("`name`: no counter is named `", text, "`"))
        .with("input", "name")
        .with("found", text);
  });
}

TENON_API tenon_status_t* tenon_context_device(tenon_context_t* context, int32_t kind, int32_t index,
                                               tenon_device_t** out_device) {
  return guarded([&]() -> Status {
    if (out_device != nullptr) *out_device = nullptr;
    TENON_REQUIRE(context);
    TENON_REQUIRE(out_device);
    if (kind == TENON_DEVICE_CUDA) return unimplemented("this build has no CUDA device").with("input", "kind");
    if (kind != TENON_DEVICE_CPU) {
      return invalid_argument(concat("`kind`: unknown device kind ", kind))
          .with("input", "kind")
          .with("found", concat(kind));
    }
    if (index != 0) {
      return invalid_argument(concat("`index`: there is one CPU device, found ", index))
          .with("input", "index")
          .with("expected", "0")
          .with("found", concat(index));
    }
    *out_device = context->context->device();
    return {};
  });
}

TENON_API tenon_status_t* tenon_device_synchronize(tenon_device_t* device) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(device);
    return {};  // nothing is asynchronous on the CPU
  });
}

}  // extern "C"
