#include "graph/text_names.hpp"

#include "support/dtype.hpp"
#include "support/format.hpp"

namespace tenon::graph {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_name_start(text.front())) return false;
  for (char c : text) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

bool is_value_name(std::string_view text) {
  if (text.empty() || !is_name_start(text.front()) || text.back() == '.') return false;
  for (size_t index = 0; index < text.size(); ++index) {
    if (text[index] == '.' && text[index - 1] != '.') continue;
    if (!is_name_char(text[index])) return false;
  }
  return true;
}

bool is_reserved_word(std::string_view text) {
  constexpr std::string_view kWords[] = {
      "none", "true", "false", "inf", "nan", "cpu", "cuda", "strided", "contiguous_format", "preserve_format",
      "channels_last", "channels_last_3d", "floordiv", "mod", "min", "max", "on", "where", "in", "multiple", "of",
  };
  for (std::string_view word : kWords) {
    if (word == text) return true;
  }
  return parse_dtype(text).has_value();
}

void append_name(std::string& out, std::string_view text) {
  if (is_identifier(text)) {
    out += text;
  } else {
    append_json(out, text);
  }
}

}  // namespace tenon::graph
