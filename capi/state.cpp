#include "handles.hpp"

using namespace tenon;
using namespace tenon::capi;

extern "C" {

TENON_API tenon_status_t* tenon_state_create(tenon_function_t* function, tenon_state_t** out_state) {
  return guarded([&]() -> Status {
    if (out_state != nullptr) *out_state = nullptr;
    TENON_REQUIRE(function);
    TENON_REQUIRE(out_state);
    auto handle = std::make_unique<tenon_state>();
    TENON_ASSIGN_OR_RETURN(handle->state, function->function->make_state());
    *out_state = handle.release();
    return {};
  });
}

TENON_API tenon_status_t* tenon_state_get(tenon_state_t* state, tenon_str_t name, tenon_tensor_t* out_tensor) {
  return guarded([&]() -> Status {
    if (out_tensor != nullptr) *out_tensor = tenon_tensor_t{};
    TENON_REQUIRE(state);
    TENON_REQUIRE(out_tensor);
    TENON_TEXT(text, name);
    return state->state->get(text, out_tensor);
  });
}

TENON_API tenon_status_t* tenon_state_set(tenon_state_t* state, tenon_str_t name, const tenon_tensor_t* tensor) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(state);
    TENON_REQUIRE(tensor);
    TENON_TEXT(text, name);
    return state->state->set(text, *tensor);
  });
}

TENON_API void tenon_state_release(tenon_state_t* state) { delete state; }

}  // extern "C"
