// Errors as values. A Status is null when all is well, else a reference-counted record with a code (numbers equal to
// Abseil's), a message for people and named fields for programs ("operator", "value", "input", "expected", "found").
// The record is allocated with malloc and has one layout in every library of one build, so a Status may cross
// from libtenon_compiler.so to libtenon.so. Thread-safe to copy and destroy; the record is immutable once shared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenon {

enum class Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

// "INVALID_ARGUMENT" and so on.
std::string_view code_name(Code code);

struct StatusRecord;  // status.cpp

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string_view message);
  Status(const Status& other);
  Status(Status&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Status& operator=(const Status& other);
  Status& operator=(Status&& other) noexcept;
  ~Status();

  bool ok() const { return record_ == nullptr; }
  explicit operator bool() const = delete;
  Code code() const;
  std::string_view message() const;  // valid while this Status lives
  std::string_view field(std::string_view key) const;  // "" when absent

  // Adds (or replaces) a field; does nothing on an OK status. Copies the record when it is shared.
  Status& with(std::string_view key, std::string_view value) &;
  Status&& with(std::string_view key, std::string_view value) &&;
  // Puts "context: " before the message.
  Status&& prefixed(std::string_view context) &&;

  // Memory ran out: refers to a static record, so that reporting cannot fail.
  static Status out_of_memory();

  // Gives the record away (the C ABI's tenon_status_t*) and takes it back. Null is OK.
  StatusRecord* release() { return std::exchange(record_, nullptr); }
  static Status adopt(StatusRecord* record);
  static Status share(const StatusRecord* record);

 private:
  StatusRecord* record_ = nullptr;
};

Status invalid_argument(std::string_view message);
Status failed_precondition(std::string_view message);
Status unimplemented(std::string_view message);
Status not_found(std::string_view message);
Status internal_error(std::string_view message);
Status data_loss(std::string_view message);
Status unavailable(std::string_view message);
Status out_of_range(std::string_view message);
Status resource_exhausted(std::string_view message);

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit by intent
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by intent

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Programmer errors: prints and aborts. Never reachable by a user's input.
[[noreturn]] void check_failed(const char* file, int line, const char* expression);

}  // namespace tenon

#define TENON_CHECK(condition) \
  ((condition) ? void(0) : ::tenon::check_failed(__FILE__, __LINE__, #condition))

#define TENON_CONCAT_INNER(a, b) a##b
#define TENON_CONCAT(a, b) TENON_CONCAT_INNER(a, b)

#define TENON_RETURN_IF_ERROR(expression)                 \
  do {                                                    \
    if (::tenon::Status tenon_status = (expression); !tenon_status.ok()) return tenon_status; \
  } while (false)

// TENON_ASSIGN_OR_RETURN(auto x, f()); declares x from a Result or returns its status.
#define TENON_ASSIGN_OR_RETURN(declaration, expression) \
  TENON_ASSIGN_OR_RETURN_INNER(TENON_CONCAT(tenon_result_, __LINE__), declaration, expression)
#define TENON_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return std::move(result).status();                \
  declaration = *std::move(result)
