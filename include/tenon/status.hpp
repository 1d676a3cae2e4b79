// Errors as values. A Status is empty when all is well; else it owns the library's record: a code, a message for people
// and fields for programs. Result<T> is a T or the Status that says why not. Nothing here throws.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "tenon.h"

namespace tenon {
// An own namespace inside, so that these names never meet the library's own when both are linked statically.
inline namespace api_v0 {

enum class Code : int32_t {
  kOk = TENON_OK,
  kCancelled = TENON_CANCELLED,
  kUnknown = TENON_UNKNOWN,
  kInvalidArgument = TENON_INVALID_ARGUMENT,
  kDeadlineExceeded = TENON_DEADLINE_EXCEEDED,
  kNotFound = TENON_NOT_FOUND,
  kAlreadyExists = TENON_ALREADY_EXISTS,
  kPermissionDenied = TENON_PERMISSION_DENIED,
  kResourceExhausted = TENON_RESOURCE_EXHAUSTED,
  kFailedPrecondition = TENON_FAILED_PRECONDITION,
  kAborted = TENON_ABORTED,
  kOutOfRange = TENON_OUT_OF_RANGE,
  kUnimplemented = TENON_UNIMPLEMENTED,
  kInternal = TENON_INTERNAL,
  kUnavailable = TENON_UNAVAILABLE,
  kDataLoss = TENON_DATA_LOSS,
};

// "INVALID_ARGUMENT" and so on; "UNKNOWN" for numbers of a newer library.
constexpr std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kAborted: return "ABORTED";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    default: return "UNKNOWN";
  }
}

inline tenon_str_t to_c(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view from_c(tenon_str_t text) { return text.size == 0 ? std::string_view() : std::string_view(text.data, text.size); }

// Move-only; one owner at a time.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(tenon_status_t* taken) : record_(taken) {}
  Status(Code code, std::string_view message) : record_(tenon_status_create(int32_t(code), to_c(message))) {}
  Status(Status&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Status() { tenon_status_release(record_); }

  bool ok() const { return record_ == nullptr; }
  Code code() const { return Code(tenon_status_code(record_)); }
  std::string_view message() const { return from_c(tenon_status_message(record_)); }  // valid while this lives
  // "operator", "value", "input", "expected", "found", "guard", "pass", "file", "entry"; "" when absent.
  std::string_view field(std::string_view key) const { return from_c(tenon_status_field(record_, to_c(key))); }
  tenon_status_t* release() { return std::exchange(record_, nullptr); }

 private:
  tenon_status_t* record_ = nullptr;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }
  // Only when ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  // For programs that have nothing better to do than to end: prints the status and aborts.
  T or_die() && {
    if (!ok()) {
      const std::string_view name = code_name(status_.code()), text = status_.message();
      std::fprintf(stderr, "tenon: %.*s: %.*s\n", int(name.size()), name.data(), int(text.size()), text.data());
      std::abort();
    }
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace api_v0
}  // namespace tenon

// In a function that returns Status or Result: ends it when `expression` (a Status) is an error.
#define TENON_TRY(expression)                                                \
  do {                                                                       \
    if (::tenon::Status tenon_try_status = (expression); !tenon_try_status.ok()) return tenon_try_status; \
  } while (false)
// The same for a Result: `declaration` takes its value.
#define TENON_TRY_ASSIGN(declaration, expression) \
  TENON_TRY_ASSIGN_NAMED(TENON_TRY_JOIN(tenon_try_result, __LINE__), declaration, expression)
#define TENON_TRY_ASSIGN_NAMED(name, declaration, expression) \
  auto name = (expression);                                   \
  if (!name.ok()) return std::move(name).status();            \
  declaration = *std::move(name)
#define TENON_TRY_JOIN(left, right) TENON_TRY_JOIN_NOW(left, right)
#define TENON_TRY_JOIN_NOW(left, right) left##right
