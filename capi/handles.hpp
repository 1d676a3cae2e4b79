// What the opaque handles of tenon.h hold, and the frame around every function's body.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "runtime/buffer.hpp"
#include "runtime/call.hpp"
#include "runtime/context.hpp"
#include "runtime/function.hpp"
#include "runtime/state.hpp"
#include "support/format.hpp"
#include "support/status.hpp"
#include "tenon.h"

struct tenon_context {
  std::shared_ptr<tenon::runtime::Context> context;
};
struct tenon_graph {
  std::shared_ptr<tenon::runtime::Context> context;  // outlives `graph`
  std::unique_ptr<tenon::runtime::CompilerGraph> graph;
};
struct tenon_function {
  std::atomic<int32_t> references{1};
  std::shared_ptr<tenon::runtime::Function> function;
  // Arrays that getters lend.
  struct Lent {
    std::vector<tenon_dim_t> dims;
  };
  std::vector<Lent> inputs, outputs;
};
struct tenon_call {
  tenon::runtime::Call call;
};
struct tenon_state {
  std::shared_ptr<tenon::runtime::State> state;
};

namespace tenon::capi {

inline tenon_status_t* give(Status status) { return reinterpret_cast<tenon_status_t*>(status.release()); }

// Runs a body that returns a Status; nothing is thrown across the C ABI.
template <typename Body>
tenon_status_t* guarded(Body&& body) noexcept {
  try {
    return give(body());
  } catch (const std::bad_alloc&) {
    return give(Status::out_of_memory());
  } catch (const std::exception& error) {
    return give(internal_error(error.what()));
  } catch (...) {
    return give(internal_error("an unknown exception"));
  }
}
// The same for bodies that return a value: `otherwise` when something is thrown.
template <typename T, typename Body>
T guarded_value(T otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

inline Status null_argument(std::string_view name) {
  return invalid_argument(concat("`", name, "` is NULL")).with("input", name).with("found", "NULL");
}

// A string argument: {NULL, 0} is empty, {NULL, n} is an error.
inline Status text_of(tenon_str_t from, std::string_view name, std::string_view* out) {
  if (from.data == nullptr && from.size != 0) return null_argument(concat(name, ".data"));
  *out = from.data == nullptr ? std::string_view() : std::string_view(from.data, from.size);
  return {};
}
inline tenon_str_t lend(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace tenon::capi

// `pointer` must not be null, else the function ends with INVALID_ARGUMENT that names it.
#define TENON_REQUIRE(pointer) \
  if ((pointer) == nullptr) return ::tenon::capi::null_argument(#pointer)
// A string argument as a std::string_view `into`.
#define TENON_TEXT(into, argument) \
  std::string_view into;           \
  TENON_RETURN_IF_ERROR(::tenon::capi::text_of(argument, #argument, &into))
