// Where messages for people go: a function of the host. Nothing is written anywhere without one.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/format.hpp"

namespace tenon {

enum class Severity : int32_t { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };

std::string_view severity_name(Severity severity);  // "debug" ...

// Copied freely; `user` must outlive every copy. Thread-safe when the sink is.
class Logger {
 public:
  using Sink = void (*)(void* user, Severity severity, std::string_view message);

  Logger() = default;
  Logger(Sink sink, void* user, Severity least = Severity::kInfo) : sink_(sink), user_(user), least_(least) {}

  bool wants(Severity severity) const { return sink_ != nullptr && severity >= least_; }
  // Builds the message only when somebody listens.
  template <typename... Parts>
  void write(Severity severity, const Parts&... parts) const {
    if (wants(severity)) sink_(user_, severity, concat(parts...));
  }

 private:
  Sink sink_ = nullptr;
  void* user_ = nullptr;
  Severity least_ = Severity::kInfo;
};

// For tools: "tenon: warning: ..." on standard error.
Logger standard_error_logger(Severity least);

}  // namespace tenon
