#include <cstddef>

#include "handles.hpp"
#include "tenon_api.h"

using namespace tenon;
using namespace tenon::capi;

namespace {

constexpr uint32_t kFunctions = 0
#define TENON_FUNCTION(since, type, name, parameters) +1
#include "functions.inc"
#undef TENON_FUNCTION
    ;

constexpr tenon_api_t kTable = {
    TENON_API_VERSION,
    kFunctions,
#define TENON_FUNCTION(since, type, name, parameters) &name,
#include "functions.inc"
#undef TENON_FUNCTION
};
static_assert(sizeof(tenon_api_t) == 8 + sizeof(void*) * kFunctions);

// The last field of each struct that hosts fill in: a change shows here.
static_assert(offsetof(tenon_allocator_t, deallocate) == 40 && sizeof(tenon_allocator_t) == 48);
static_assert(offsetof(tenon_executor_t, submit) == 48 && sizeof(tenon_executor_t) == 56);
static_assert(offsetof(tenon_logger_t, write) == 32 && sizeof(tenon_logger_t) == 40);
static_assert(offsetof(tenon_clock_t, now_ns) == 32 && sizeof(tenon_clock_t) == 40);
static_assert(offsetof(tenon_tracer_t, end) == 40 && sizeof(tenon_tracer_t) == 48);
static_assert(offsetof(tenon_cache_store_t, put) == 40 && sizeof(tenon_cache_store_t) == 48);
static_assert(offsetof(tenon_context_options_t, flags) == 116 && sizeof(tenon_context_options_t) == 120);
static_assert(offsetof(tenon_compile_options_t, disabled_passes) == 40 && sizeof(tenon_compile_options_t) == 56);
static_assert(offsetof(tenon_run_options_t, flags) == 28 && sizeof(tenon_run_options_t) == 32);
static_assert(offsetof(tenon_type_t, strides) == 32 && sizeof(tenon_type_t) == 40);
static_assert(offsetof(tenon_tensor_t, owner) == 48 && sizeof(tenon_tensor_t) == 56);
static_assert(offsetof(tenon_attr_t, values) == 32 && sizeof(tenon_attr_t) == 40);

}  // namespace

extern "C" {

TENON_API const tenon_api_t* tenon_get_api(uint32_t version) {
  const bool same_major = version >> 16 == TENON_API_VERSION >> 16;
  const uint32_t minor = version & 0xffff;
  // While the major version is 0, minors may differ in anything.
  const bool fits =
      (TENON_API_VERSION >> 16) == 0 ? version == TENON_API_VERSION : minor <= (TENON_API_VERSION & 0xffff);
  return same_major && fits ? &kTable : nullptr;
}

TENON_API tenon_any_fn tenon_find_experimental(tenon_str_t name) {
  (void)name;  // none at present
  return nullptr;
}

TENON_API int32_t tenon_has_feature(tenon_str_t name) {
  return guarded_value<int32_t>(0, [&]() -> int32_t {
    if (name.data == nullptr) return 0;
    const std::string_view feature(name.data, name.size);
    if (feature == "cpu") return 1;
    if (feature == "compiler") return runtime::CompilerLibrary::is_there();
    if (feature.substr(0, 4) == "isa:") {
      const auto isa = target::parse_isa(feature.substr(4));
      return isa && target::host_runs(*isa);
    }
    return 0;
  });
}

}  // extern "C"
