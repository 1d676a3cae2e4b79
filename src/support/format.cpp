#include "support/format.hpp"

#include <cmath>
#include <limits>

namespace tenon {

namespace {

template <typename T>
void append_floating(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string_view text(digits, size_t(end - digits));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

template <typename T>
std::optional<T> parse_integer(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xc0 | code >> 6);
    out += char(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += char(0xe0 | code >> 12);
    out += char(0x80 | (code >> 6 & 63));
    out += char(0x80 | (code & 63));
  } else {
    out += char(0xf0 | code >> 18);
    out += char(0x80 | (code >> 12 & 63));
    out += char(0x80 | (code >> 6 & 63));
    out += char(0x80 | (code & 63));
  }
}

// Four hexadecimal digits at text[position].
std::optional<uint32_t> parse_unit(std::string_view text, size_t position) {
  if (position + 4 > text.size()) return std::nullopt;
  uint32_t unit = 0;
  const char* begin = text.data() + position;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  if (error != std::errc() || end != begin + 4) return std::nullopt;
  return unit;
}

}  // namespace

void append(std::string& out, std::string_view text) { out.append(text); }
void append(std::string& out, char character) { out += character; }
void append(std::string& out, bool value) { out += value ? "true" : "false"; }
void append(std::string& out, double value) { append_floating(out, value); }
void append(std::string& out, float value) { append_floating(out, value); }

std::optional<int64_t> parse_int64(std::string_view text) { return parse_integer<int64_t>(text); }
std::optional<uint64_t> parse_uint64(std::string_view text) { return parse_integer<uint64_t>(text); }

std::optional<double> parse_double(std::string_view text) {
  // from_chars knows more spellings ("infinity", "nan(...)", "INF") than our formats do.
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const std::string_view magnitude = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
  if (magnitude.empty() || !((magnitude[0] >= '0' && magnitude[0] <= '9') || magnitude[0] == '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void append_json(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char character : text) {
    switch (character) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(character) < 0x20) {
          out += "\\u00";
          out += kDigits[character >> 4 & 15];
          out += kDigits[character & 15];
        } else {
          out += character;
        }
    }
  }
  out += '"';
}

std::string json_quoted(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::optional<std::string> parse_json_string(std::string_view text, size_t& position) {
  if (position >= text.size() || text[position] != '"') return std::nullopt;
  std::string out;
  for (size_t at = position + 1; at < text.size(); ++at) {
    const char character = text[at];
    if (character == '"') {
      position = at + 1;
      return out;
    }
    if (static_cast<unsigned char>(character) < 0x20) return std::nullopt;
    if (character != '\\') {
      out += character;
      continue;
    }
    if (++at >= text.size()) return std::nullopt;
    switch (text[at]) {
      case '"': out += '"'; break;
      case '\\': out += '\\'; break;
      case '/': out += '/'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': {
        std::optional<uint32_t> code = parse_unit(text, at + 1);
        if (!code) return std::nullopt;
        at += 4;
        if (*code >= 0xdc00 && *code < 0xe000) return std::nullopt;
        if (*code >= 0xd800 && *code < 0xdc00) {
          if (at + 2 >= text.size() || text[at + 1] != '\\' || text[at + 2] != 'u') return std::nullopt;
          const std::optional<uint32_t> second = parse_unit(text, at + 3);
          if (!second || *second < 0xdc00 || *second >= 0xe000) return std::nullopt;
          code = 0x10000 + ((*code - 0xd800) << 10) + (*second - 0xdc00);
          at += 6;
        }
        append_utf8(out, *code);
        break;
      }
      default: return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace tenon
