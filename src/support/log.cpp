#include "support/log.hpp"

#include <cstdio>

namespace tenon {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kDebug: return "debug";
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
    default: return "unknown";
  }
}

Logger standard_error_logger(Severity least) {
  const auto sink = [](void*, Severity severity, std::string_view message) {
    const std::string line = concat("tenon: ", severity_name(severity), ": ", message, "\n");
    std::fwrite(line.data(), 1, line.size(), stderr);
  };
  return Logger(sink, nullptr, least);
}

}  // namespace tenon
