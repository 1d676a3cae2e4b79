// sum     = ["-"] product {("+" | "-") product}
// product = unary {("*" | "//" | "%") unary}
// unary   = {"-"} primary
// primary = number | name | name "(" sum "," sum ")" | "(" sum ")"

#include "symbolic/expr_rep.hpp"

namespace tenon::symbolic {
namespace {

constexpr int kMaxDepth = 200;  // of nesting; text may come from anybody

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(Pool& pool, std::string_view text, std::optional<SymbolKind> create)
      : pool_(pool), text_(text), create_(create) {}

  Result<Expr> parse() {
    TENON_ASSIGN_OR_RETURN(Expr e, sum(0));
    skip_space();
    if (at_ != text_.size()) return error("an operator or the end");
    return e;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Status error(std::string_view expected) const {
    std::string message = "expression `";
    message += text_;
    message += "`, column ";
    message += std::to_string(at_ + 1);
    message += ": expected ";
    message += expected;
    message += ", found ";
    message += at_ < text_.size() ? "`" + std::string(1, text_[at_]) + "`" : std::string("the end");
    return invalid_argument(message);
  }

  Result<Expr> sum(int depth) {
    if (depth > kMaxDepth) return error("less nesting");
    TENON_ASSIGN_OR_RETURN(Expr total, product(depth));
    for (;;) {
      bool plus = accept("+");
      if (!plus && !accept("-")) return total;
      TENON_ASSIGN_OR_RETURN(Expr next, product(depth));
      total = plus ? pool_.add(total, next) : pool_.sub(total, next);
    }
  }

  Result<Expr> product(int depth) {
    TENON_ASSIGN_OR_RETURN(Expr total, unary(depth));
    for (;;) {
      bool times = accept("*");
      bool over = !times && accept("//");
      if (!times && !over && !accept("%")) return total;
      TENON_ASSIGN_OR_RETURN(Expr next, unary(depth));
      total = times ? pool_.mul(total, next) : over ? pool_.floor_div(total, next) : pool_.mod(total, next);
    }
  }

  Result<Expr> unary(int depth) {
    bool negative = false;
    while (accept("-")) {
      negative = !negative;
      if (++depth > kMaxDepth) return error("fewer signs");
    }
    skip_space();
    if (at_ < text_.size() && is_digit(text_[at_])) return number(negative);
    TENON_ASSIGN_OR_RETURN(Expr e, primary(depth));
    return negative ? pool_.neg(e) : e;
  }

  Result<Expr> number(bool negative) {
    uint64_t limit = negative ? uint64_t{1} << 63 : INT64_MAX;
    uint64_t magnitude = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      uint64_t digit = static_cast<uint64_t>(text_[at_] - '0');
      if (magnitude > (limit - digit) / 10) return error("a 64-bit integer");
      magnitude = magnitude * 10 + digit;
      ++at_;
    }
    if (at_ < text_.size() && starts_name(text_[at_])) return error("an operator behind the number");
    return pool_.constant(static_cast<int64_t>(negative ? 0 - magnitude : magnitude));
  }

  Result<Expr> primary(int depth) {
    if (accept("(")) {
      TENON_ASSIGN_OR_RETURN(Expr e, sum(depth + 1));
      if (!accept(")")) return error("`)`");
      return e;
    }
    if (at_ == text_.size() || !starts_name(text_[at_])) return error("a number, a name or `(`");
    size_t start = at_;
    while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    std::string_view name = text_.substr(start, at_ - start);
    if (accept("(")) return call(name, start, depth);
    std::optional<SymbolId> symbol = pool_.find_symbol(name);
    if (!symbol && create_) symbol = pool_.symbol(name, *create_);
    if (!symbol) {
      at_ = start;
      return error("a known symbol");
    }
    return pool_.of(*symbol);
  }

  Result<Expr> call(std::string_view name, size_t start, int depth) {
    bool known = name == "floordiv" || name == "ceildiv" || name == "mod" || name == "min" || name == "max";
    if (!known) {
      at_ = start;
      return error("floordiv, ceildiv, mod, min or max before `(`");
    }
    TENON_ASSIGN_OR_RETURN(Expr a, sum(depth + 1));
    if (!accept(",")) return error("`,`");
    TENON_ASSIGN_OR_RETURN(Expr b, sum(depth + 1));
    if (!accept(")")) return error("`)`");
    if (name == "floordiv") return pool_.floor_div(a, b);
    if (name == "ceildiv") return pool_.ceil_div(a, b);
    if (name == "mod") return pool_.mod(a, b);
    return name == "min" ? pool_.min(a, b) : pool_.max(a, b);
  }

  Pool& pool_;
  std::string_view text_;
  std::optional<SymbolKind> create_;
  size_t at_ = 0;
};

}  // namespace

Result<Expr> Pool::parse(std::string_view text, std::optional<SymbolKind> create) {
  return Parser(*this, text, create).parse();
}

}  // namespace tenon::symbolic
