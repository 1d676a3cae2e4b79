#include "support/status.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace tenon {

struct StatusRecord {
  std::atomic<int32_t> references{1};
  bool is_static = false;
  Code code = Code::kUnknown;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;
};

namespace {

StatusRecord& out_of_memory_record() {
  // Never destroyed: a status may outlive every static destructor.
  alignas(StatusRecord) static unsigned char storage[sizeof(StatusRecord)];
  static StatusRecord* record = [] {
    auto* made = new (storage) StatusRecord;
    made->is_static = true;
    made->code = Code::kResourceExhausted;
    made->message = "out of memory";
    return made;
  }();
  return *record;
}

StatusRecord* make_record(Code code, std::string_view message) {
  void* memory = std::malloc(sizeof(StatusRecord));
  if (memory == nullptr) return &out_of_memory_record();
  auto* record = new (memory) StatusRecord;
  record->code = code;
  try {
    record->message.assign(message);
  } catch (const std::bad_alloc&) {
    record->~StatusRecord();
    std::free(memory);
    return &out_of_memory_record();
  }
  return record;
}

void retain(StatusRecord* record) {
  if (record != nullptr && !record->is_static) record->references.fetch_add(1, std::memory_order_relaxed);
}

void drop(StatusRecord* record) {
  if (record == nullptr || record->is_static) return;
  if (record->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    record->~StatusRecord();
    std::free(record);
  }
}

// Made when the library is loaded, so that it is there when memory is not.
[[maybe_unused]] const StatusRecord& eager_out_of_memory = out_of_memory_record();

}  // namespace

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kUnknown: return "UNKNOWN";
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

Status::Status(Code code, std::string_view message)
    : record_(code == Code::kOk ? nullptr : make_record(code, message)) {}

Status::Status(const Status& other) : record_(other.record_) { retain(record_); }

Status& Status::operator=(const Status& other) {
  retain(other.record_);
  drop(record_);
  record_ = other.record_;
  return *this;
}

Status& Status::operator=(Status&& other) noexcept {
  if (this != &other) {
    drop(record_);
    record_ = std::exchange(other.record_, nullptr);
  }
  return *this;
}

Status::~Status() { drop(record_); }

Code Status::code() const { return record_ == nullptr ? Code::kOk : record_->code; }

std::string_view Status::message() const { return record_ == nullptr ? std::string_view() : record_->message; }

std::string_view Status::field(std::string_view key) const {
  if (record_ == nullptr) return {};
  for (const auto& [name, value] : record_->fields) {
    if (name == key) return value;
  }
  return {};
}

Status& Status::with(std::string_view key, std::string_view value) & {
  if (record_ == nullptr || record_->is_static) return *this;
  if (record_->references.load(std::memory_order_acquire) != 1) {
    StatusRecord* copy = make_record(record_->code, record_->message);
    if (copy->is_static) return *this;
    copy->fields = record_->fields;
    drop(record_);
    record_ = copy;
  }
  for (auto& [name, old_value] : record_->fields) {
    if (name == key) {
      old_value = value;
      return *this;
    }
  }
  record_->fields.emplace_back(key, value);
  return *this;
}

Status&& Status::with(std::string_view key, std::string_view value) && {
  with(key, value);
  return std::move(*this);
}

Status&& Status::prefixed(std::string_view context) && {
  if (record_ == nullptr || record_->is_static) return std::move(*this);
  std::string message(context);
  message += ": ";
  message += record_->message;
  Status renamed(record_->code, message);
  for (const auto& [name, value] : record_->fields) renamed.with(name, value);
  *this = std::move(renamed);
  return std::move(*this);
}

Status Status::out_of_memory() { return adopt(&out_of_memory_record()); }

Status Status::adopt(StatusRecord* record) {
  Status status;
  status.record_ = record;
  return status;
}

Status Status::share(const StatusRecord* record) {
  auto* shared = const_cast<StatusRecord*>(record);
  retain(shared);
  return adopt(shared);
}

Status invalid_argument(std::string_view message) { return Status(Code::kInvalidArgument, message); }
Status failed_precondition(std::string_view message) { return Status(Code::kFailedPrecondition, message); }
Status unimplemented(std::string_view message) { return Status(Code::kUnimplemented, message); }
Status not_found(std::string_view message) { return Status(Code::kNotFound, message); }
Status internal_error(std::string_view message) { return Status(Code::kInternal, message); }
Status data_loss(std::string_view message) { return Status(Code::kDataLoss, message); }
Status unavailable(std::string_view message) { return Status(Code::kUnavailable, message); }
Status out_of_range(std::string_view message) { return Status(Code::kOutOfRange, message); }
Status resource_exhausted(std::string_view message) { return Status(Code::kResourceExhausted, message); }

void check_failed(const char* file, int line, const char* expression) {
  std::fprintf(stderr, "tenon: internal check failed at %s:%d: %s\n", file, line, expression);
  std::abort();
}

}  // namespace tenon
