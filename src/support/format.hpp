// Text that no locale can change. Numbers print shortest so that they read back as the same bits ("0.1", "1e-07",
// "inf", "-inf", "nan"); a double always looks like one ("2.0"), so that it stays one when it is read again.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {

void append(std::string& out, std::string_view text);
void append(std::string& out, char character);
void append(std::string& out, bool value);  // true, false
void append(std::string& out, double value);
void append(std::string& out, float value);
template <typename T>
  requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>)
void append(std::string& out, T value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
inline void append(std::string& out, const char* text) { append(out, std::string_view(text)); }
inline void append(std::string& out, const std::string& text) { append(out, std::string_view(text)); }

// concat("dim ", 3, " is ", 0.5) == "dim 3 is 0.5"
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

// The whole text must be the number; no blanks, no "+", no hexadecimal. Out of range gives nothing.
std::optional<int64_t> parse_int64(std::string_view text);
std::optional<uint64_t> parse_uint64(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // also inf, -inf, nan

// Appends text as a JSON string with its quotes; control characters are escaped, other bytes pass.
void append_json(std::string& out, std::string_view text);
std::string json_quoted(std::string_view text);
// Reads one JSON string that starts with a quote at text[position] and moves position past its end. Nothing when
// it is malformed (bad escape, lone surrogate, raw control character, no closing quote).
std::optional<std::string> parse_json_string(std::string_view text, size_t& position);

}  // namespace tenon
