#include "graph/lexer.hpp"

#include "graph/text_names.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    while (true) {
      skip_blanks();
      token_ = Token();
      token_.line = line_;
      token_.column = uint32_t(position_ - line_begin_ + 1);
      begin_ = position_;
      if (position_ == source_.size()) break;
      TENON_RETURN_IF_ERROR(next());
      tokens.push_back(std::move(token_));
    }
    tokens.push_back(std::move(token_));
    return tokens;
  }

 private:
  char at(size_t ahead = 0) const { return position_ + ahead < source_.size() ? source_[position_ + ahead] : '\0'; }

  void skip_blanks() {
    for (; position_ < source_.size(); ++position_) {
      const char c = source_[position_];
      if (c == '\n') {
        ++line_;
        line_begin_ = position_ + 1;
      } else if (c == '/' && at(1) == '/') {
        while (position_ + 1 < source_.size() && source_[position_ + 1] != '\n') ++position_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  Status error(std::string_view expected, std::string_view found) const {
    return syntax_error(token_.line, token_.column, expected, found);
  }

  Status take(TokenKind kind, size_t length) {
    token_.kind = kind;
    token_.text = source_.substr(begin_, length);
    position_ = begin_ + length;
    return {};
  }

  // The end of name characters and dots between them.
  size_t name_end(size_t from) const {
    size_t end = from;
    while (end < source_.size() &&
           (is_name_char(source_[end]) ||
            (source_[end] == '.' && end > from && end + 1 < source_.size() && is_name_char(source_[end + 1]))))
      ++end;
    return end;
  }

  Status next() {
    const char c = at();
    if (is_name_start(c)) return take(TokenKind::kName, name_end(begin_) - begin_);
    if (is_digit(c)) return number();
    if (c == '"') return string();
    if (c == '%' && is_name_char(at(1))) return value();
    if (c == '?') return question();
    if (c == '-' && at(1) == '>') return take(TokenKind::kPunctuation, 2);
    if (std::string_view("()[]{},:=@*+-/%").find(c) != std::string_view::npos)
      return take(TokenKind::kPunctuation, 1);
    std::string found;
    append_json(found, source_.substr(begin_, 1));
    return error("a token", found);
  }

  Status value() {
    const size_t end = name_end(begin_ + 1);
    TENON_RETURN_IF_ERROR(take(TokenKind::kValue, end - begin_));
    token_.text.remove_prefix(1);
    const bool numbered = token_.text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!numbered && !is_value_name(token_.text)) return error("a value name", concat("%", token_.text));
    return {};
  }

  Status question() {
    if (at(1) == '?') return take(TokenKind::kPending, 2);
    size_t end = begin_ + 1;
    while (end < source_.size() && is_digit(source_[end])) ++end;
    const bool labelled = end > begin_ + 1;
    TENON_RETURN_IF_ERROR(take(labelled ? TokenKind::kAutoLabel : TokenKind::kAuto, end - begin_));
    if (labelled) token_.text.remove_prefix(1);
    return {};
  }

  Status number() {
    size_t end = begin_;
    bool is_float = false;
    const auto digits = [&] {
      const size_t from = end;
      while (end < source_.size() && is_digit(source_[end])) ++end;
      return end > from;
    };
    digits();
    bool well_formed = true;
    if (end < source_.size() && source_[end] == '.') {
      is_float = true;
      ++end;
      well_formed = digits();
    }
    if (well_formed && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      is_float = true;
      ++end;
      if (end < source_.size() && (source_[end] == '+' || source_[end] == '-')) ++end;
      well_formed = digits();
    }
    if (!well_formed || (end < source_.size() && (is_name_char(source_[end]) || source_[end] == '.')))
      return error("a number", concat("\"", source_.substr(begin_, end - begin_ + 1), "\""));
    return take(is_float ? TokenKind::kFloat : TokenKind::kInteger, end - begin_);
  }

  Status string() {
    size_t end = begin_;
    auto content = parse_json_string(source_, end);
    if (!content) return error("a string with JSON's escapes", "a malformed one");
    TENON_RETURN_IF_ERROR(take(TokenKind::kString, end - begin_));
    token_.string = *std::move(content);
    return {};
  }

  std::string_view source_;
  size_t position_ = 0;
  size_t begin_ = 0;
  size_t line_begin_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

Status syntax_error(uint32_t line, uint32_t column, std::string_view expected, std::string_view found) {
  return invalid_argument(concat(line, ":", column, ": expected ", expected, ", found ", found))
      .with("line", concat(line))
      .with("column", concat(column))
      .with("expected", expected)
      .with("found", found);
}

}  // namespace tenon::graph
