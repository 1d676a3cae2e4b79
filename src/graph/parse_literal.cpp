// Arguments, lists, size expressions.
#include <limits>

#include "graph/parser.hpp"
#include "graph/text_names.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

constexpr size_t kMaxExpressionDepth = 64;
// Products of sums are multiplied out, so a short text could ask for an expression of any size.
constexpr size_t kMaxTerms = 512;
constexpr size_t kMaxFactors = 128;
constexpr size_t kMaxAutoLabels = 4096;

size_t term_count(const symbolic::Pool& pool, Expr expr) {
  return pool.kind(expr) == symbolic::Kind::kAdd ? pool.operands(expr).size() : 1;
}

}  // namespace

Status Parser::arguments(std::vector<Argument>& positional, std::vector<Graph::NamedArgument>& named) {
  TENON_RETURN_IF_ERROR(expect("("));
  if (accept(")")) return {};
  while (true) {
    if (peek().kind == TokenKind::kName && at("=", 1)) {
      std::string name(take().text);
      take();
      TENON_ASSIGN_OR_RETURN(Argument argument, literal());
      named.emplace_back(std::move(name), std::move(argument));
    } else {
      if (!named.empty()) return expected("a named argument");
      TENON_ASSIGN_OR_RETURN(Argument argument, literal());
      positional.push_back(std::move(argument));
    }
    if (accept(")")) return {};
    if (!accept(",")) return expected("',' or ')'");
  }
}

Result<Argument> Parser::literal() {
  const Token& token = peek();
  const bool negative = at("-");
  const Token& number = peek(negative ? 1 : 0);
  if (number.kind == TokenKind::kFloat || (number.kind == TokenKind::kName && number.text == "inf")) {
    const auto magnitude = parse_double(number.text);
    if (!magnitude) return expected("a number that fits a double");
    if (negative) take();
    take();
    return Argument(negative ? -*magnitude : *magnitude);
  }
  if (token.kind == TokenKind::kValue) {
    TENON_ASSIGN_OR_RETURN(const ValueId used, value());
    return Argument(ValueRef{used});
  }
  if (token.kind == TokenKind::kString) return Argument(take().string);
  if (at("[")) return list();
  if (token.kind == TokenKind::kName && is_reserved_word(token.text)) {
    const std::string_view text = token.text;
    if (text == "cpu" || text == "cuda") {
      TENON_ASSIGN_OR_RETURN(const Device found, device());
      return Argument(found);
    }
    std::optional<Argument> found;
    if (text == "none") found = std::monostate{};
    if (text == "true") found = true;
    if (text == "false") found = false;
    if (text == "nan") found = std::numeric_limits<double>::quiet_NaN();
    if (text == "strided") found = Layout::kStrided;
    if (text == "contiguous_format") found = MemoryFormat::kContiguous;
    if (text == "preserve_format") found = MemoryFormat::kPreserve;
    if (text == "channels_last") found = MemoryFormat::kChannelsLast;
    if (text == "channels_last_3d") found = MemoryFormat::kChannelsLast3d;
    if (const auto dtype = parse_dtype(text)) found = *dtype;
    if (found) {
      take();
      return *std::move(found);
    }
  }
  TENON_ASSIGN_OR_RETURN(const Expr expr, expression());
  return Argument(expr);
}

// Elements of one kind; integers among floats become floats.
Result<Argument> Parser::list() {
  TENON_RETURN_IF_ERROR(expect("["));
  std::vector<ValueId> values;
  std::vector<Expr> exprs;
  std::vector<double> floats;
  std::vector<bool> bools;
  bool has_float = false;
  if (accept("]")) return Argument(std::move(exprs));
  while (true) {
    const Token& first = peek();
    const auto refuse = [&](std::string_view kind) {
      return syntax_error(first.line, first.column, kind, concat("'", first.text, "'"));
    };
    if (at("[")) return refuse("no list in a list");
    TENON_ASSIGN_OR_RETURN(const Argument element, literal());
    if (const auto* ref = std::get_if<ValueRef>(&element)) {
      values.push_back(ref->id);
    } else if (is_none(element)) {
      values.push_back(kNoValue);
    } else if (const auto* expr = std::get_if<Expr>(&element)) {
      exprs.push_back(*expr);
      const auto constant = graph_->pool().as_constant(*expr);
      if (has_float && !constant) return refuse("a float");
      // Kept along with the list of integers until it is known which it is.
      floats.push_back(constant ? double(*constant) : 0.0);
    } else if (const auto* number = std::get_if<double>(&element)) {
      for (Expr earlier : exprs) {
        if (!graph_->pool().as_constant(earlier)) return refuse("an integer");
      }
      has_float = true;
      floats.push_back(*number);
    } else if (const bool* truth = std::get_if<bool>(&element)) {
      bools.push_back(*truth);
    } else {
      return refuse("a value, a number or a bool");
    }
    const int kinds = int(!values.empty()) + int(!floats.empty()) + int(!bools.empty());
    if (kinds > 1) return refuse("elements of one kind");
    if (accept("]")) break;
    if (!accept(",")) return expected("',' or ']'");
  }
  if (!values.empty()) return Argument(std::move(values));
  if (!bools.empty()) return Argument(std::move(bools));
  if (has_float) return Argument(std::move(floats));
  return Argument(std::move(exprs));
}

Result<Expr> Parser::bounded(Expr expr, const Token& token) {
  const symbolic::Pool& pool = graph_->pool();
  const bool too_long = term_count(pool, expr) > kMaxTerms ||
                        (pool.kind(expr) == symbolic::Kind::kMul && pool.operands(expr).size() > kMaxFactors);
  if (too_long) return syntax_error(token.line, token.column, "an expression of moderate size", "a very large one");
  return expr;
}

Result<Expr> Parser::expression(size_t depth) {
  if (depth > kMaxExpressionDepth) return expected(concat("at most ", kMaxExpressionDepth, " levels of nesting"));
  TENON_ASSIGN_OR_RETURN(Expr sum, product(depth));
  while (at("+") || at("-")) {
    const Token& sign = take();
    TENON_ASSIGN_OR_RETURN(const Expr term, product(depth));
    sum = sign.text == "+" ? graph_->pool().add(sum, term) : graph_->pool().sub(sum, term);
    TENON_ASSIGN_OR_RETURN(sum, bounded(sum, sign));
  }
  return sum;
}

Result<Expr> Parser::product(size_t depth) {
  TENON_ASSIGN_OR_RETURN(Expr result, factor(depth));
  while (at("*")) {
    const Token& star = take();
    TENON_ASSIGN_OR_RETURN(const Expr next, factor(depth));
    if (term_count(graph_->pool(), result) * term_count(graph_->pool(), next) > kMaxTerms)
      return syntax_error(star.line, star.column, "an expression of moderate size", "a very large one");
    TENON_ASSIGN_OR_RETURN(result, bounded(graph_->pool().mul(result, next), star));
  }
  return result;
}

Result<Expr> Parser::factor(size_t depth) {
  if (depth > kMaxExpressionDepth) return expected(concat("at most ", kMaxExpressionDepth, " levels of nesting"));
  if (at("-") && peek(1).kind != TokenKind::kInteger) {
    take();
    TENON_ASSIGN_OR_RETURN(const Expr operand, factor(depth + 1));
    return graph_->pool().neg(operand);
  }
  if (at("-") || peek().kind == TokenKind::kInteger) {
    TENON_ASSIGN_OR_RETURN(const int64_t number, integer());
    return graph_->pool().constant(number);
  }
  if (accept("(")) {
    TENON_ASSIGN_OR_RETURN(const Expr inner, expression(depth + 1));
    TENON_RETURN_IF_ERROR(expect(")"));
    return inner;
  }
  const Token& name = peek();
  const bool is_call = name.kind == TokenKind::kName && at("(", 1) &&
                       (name.text == "floordiv" || name.text == "mod" || name.text == "min" || name.text == "max");
  if (!is_call) return symbol();
  take();
  take();
  TENON_ASSIGN_OR_RETURN(const Expr first, expression(depth + 1));
  TENON_RETURN_IF_ERROR(expect(","));
  const Token& second_token = peek();
  TENON_ASSIGN_OR_RETURN(const Expr second, expression(depth + 1));
  TENON_RETURN_IF_ERROR(expect(")"));
  symbolic::Pool& pool = graph_->pool();
  if (name.text == "min") return pool.min(first, second);
  if (name.text == "max") return pool.max(first, second);
  if (pool.is_constant(second, 0))
    return syntax_error(second_token.line, second_token.column, "a divisor other than 0", "0");
  return name.text == "mod" ? pool.mod(first, second) : pool.floor_div(first, second);
}

Result<Expr> Parser::symbol() {
  const Token& token = peek();
  if (token.kind == TokenKind::kAuto) {
    if (new_symbols_ != NewSymbols::kAuto) return expected("a size");
    take();
    auto_symbols_.push_back(graph_->auto_symbol());
    return auto_symbols_.back();
  }
  if (token.kind == TokenKind::kAutoLabel) {
    const auto label = parse_uint64(token.text);
    if (!label || *label >= kMaxAutoLabels) return expected("the label of an auto dim");
    while (auto_symbols_.size() <= *label) auto_symbols_.push_back(graph_->auto_symbol());
    take();
    return auto_symbols_[*label];
  }
  if (token.kind != TokenKind::kName || is_reserved_word(token.text)) return expected("a value, a literal or a size");
  if (const auto found = symbols_.find(token.text); found != symbols_.end()) {
    take();
    return found->second;
  }
  const bool is_unbacked_name = token.text.size() > 1 && token.text.front() == 'u' &&
                                token.text.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (new_symbols_ == NewSymbols::kUnbacked && is_unbacked_name) {
    const Expr made = graph_->pool().of(graph_->pool().fresh_symbol("u", symbolic::SymbolKind::kUnbacked));
    symbols_.emplace(take().text, made);
    return made;
  }
  return expected("a symbol that `where` declares");
}

Result<int64_t> Parser::integer() {
  const bool negative = at("-");
  const Token& digits = peek(negative ? 1 : 0);
  if (digits.kind != TokenKind::kInteger) return expected("an integer");
  const auto value = parse_int64(negative ? concat("-", digits.text) : std::string(digits.text));
  if (!value) return expected("an integer that fits 64 bits");
  if (negative) take();
  take();
  return *value;
}

Result<Device> Parser::device() {
  Device device;
  if (accept_word("cpu")) return device;
  if (!accept_word("cuda")) return expected("a device");
  device.kind = DeviceKind::kCuda;
  if (!accept(":")) return device;
  const Token& token = peek();
  TENON_ASSIGN_OR_RETURN(const int64_t index, integer());
  if (index < 0 || index > 1023) return syntax_error(token.line, token.column, "a device number", concat(index));
  device.index = int32_t(index);
  return device;
}

// "[1.0, -2.5]" as texts: what they mean depends on the element type that follows.
Result<std::vector<std::string>> Parser::elements() {
  std::vector<std::string> elements;
  TENON_RETURN_IF_ERROR(expect("["));
  if (accept("]")) return elements;
  while (true) {
    std::string text = accept("-") ? "-" : "";
    const Token& token = peek();
    const bool is_word = token.kind == TokenKind::kName && (token.text == "true" || token.text == "false" ||
                                                            token.text == "inf" || token.text == "nan");
    if (!is_word && token.kind != TokenKind::kInteger && token.kind != TokenKind::kFloat) return expected("a number");
    text += take().text;
    elements.push_back(std::move(text));
    if (accept("]")) return elements;
    if (!accept(",")) return expected("',' or ']'");
  }
}

}  // namespace tenon::graph
