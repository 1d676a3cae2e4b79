#include "handles.hpp"

using namespace tenon;
using namespace tenon::capi;

extern "C" {

TENON_API tenon_status_t* tenon_call_create(tenon_function_t* function, tenon_call_t** out_call) {
  return guarded([&]() -> Status {
    if (out_call != nullptr) *out_call = nullptr;
    TENON_REQUIRE(function);
    TENON_REQUIRE(out_call);
    *out_call = new tenon_call{{*function->function, function->function}};
    return {};
  });
}

TENON_API tenon_status_t* tenon_call_bind_input(tenon_call_t* call, size_t index, const tenon_tensor_t* tensor) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(call);
    TENON_REQUIRE(tensor);
    return call->call.bind_input(index, *tensor);
  });
}

TENON_API tenon_status_t* tenon_call_bind_output(tenon_call_t* call, size_t index, const tenon_tensor_t* tensor) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(call);
    return call->call.bind_output(index, tensor);
  });
}

TENON_API tenon_status_t* tenon_call_bind_state(tenon_call_t* call, tenon_state_t* state) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(call);
    TENON_REQUIRE(state);
    return call->call.bind_state(state->state);
  });
}

TENON_API tenon_status_t* tenon_call_bind_facts(tenon_call_t* call, const int64_t* facts, size_t n_facts) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(call);
    if (n_facts > 0) TENON_REQUIRE(facts);
    return call->call.bind_facts({facts, n_facts});
  });
}

TENON_API tenon_status_t* tenon_call_set_parallelism(tenon_call_t* call, uint32_t parallelism) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(call);
    return call->call.set_parallelism(parallelism);
  });
}

TENON_API tenon_status_t* tenon_call_required_bytes(tenon_call_t* call, size_t* out_bytes) {
  return guarded([&]() -> Status {
    if (out_bytes != nullptr) *out_bytes = 0;
    TENON_REQUIRE(call);
    TENON_REQUIRE(out_bytes);
    return call->call.required_bytes(out_bytes);
  });
}

TENON_API tenon_status_t* tenon_call_run(tenon_call_t* call) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(call);
    return call->call.run();
  });
}

TENON_API tenon_status_t* tenon_call_step(tenon_call_t* call, int64_t budget_ns, int32_t* out_done) {
  return guarded([&]() -> Status {
    if (out_done != nullptr) *out_done = 0;
    TENON_REQUIRE(call);
    TENON_REQUIRE(out_done);
    bool done = false;
    TENON_RETURN_IF_ERROR(call->call.step(budget_ns, &done));
    *out_done = done;
    return {};
  });
}

TENON_API void tenon_call_cancel(tenon_call_t* call) {
  if (call != nullptr) call->call.cancel();
}

TENON_API tenon_status_t* tenon_call_output(tenon_call_t* call, size_t index, tenon_tensor_t* out_tensor) {
  return guarded([&]() -> Status {
    if (out_tensor != nullptr) *out_tensor = tenon_tensor_t{};
    TENON_REQUIRE(call);
    TENON_REQUIRE(out_tensor);
    return call->call.output(index, out_tensor);
  });
}

TENON_API void tenon_call_release(tenon_call_t* call) { delete call; }

}  // extern "C"
