#include "graph/parse.hpp"

#include "graph/argument_check.hpp"
#include "graph/inline_data.hpp"
#include "graph/parser.hpp"
#include "graph/regions.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

constexpr size_t kMaxRegionDepth = 32;

bool is_numbered(std::string_view name) { return name.front() >= '0' && name.front() <= '9'; }

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd: return "the end";
    case TokenKind::kValue: return concat("%", token.text);
    case TokenKind::kString: return std::string(token.text);
    default: return concat("'", token.text, "'");
  }
}

}  // namespace

bool Parser::at(std::string_view punctuation, size_t ahead) const {
  return peek(ahead).kind == TokenKind::kPunctuation && peek(ahead).text == punctuation;
}
bool Parser::at_word(std::string_view word) const { return peek().kind == TokenKind::kName && peek().text == word; }
bool Parser::accept(std::string_view punctuation) {
  if (!at(punctuation)) return false;
  take();
  return true;
}
bool Parser::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  take();
  return true;
}
Status Parser::expect(std::string_view punctuation) {
  return accept(punctuation) ? Status() : expected(concat("'", punctuation, "'"));
}
Status Parser::expect_word(std::string_view word) {
  return accept_word(word) ? Status() : expected(concat("'", word, "'"));
}
Status Parser::expected(std::string_view what) const {
  return syntax_error(peek().line, peek().column, what, describe(peek()));
}

Status Parser::placed(const Token& token, Status status) {
  const Code code = status.code() == Code::kInternal ? Code::kInternal : Code::kInvalidArgument;
  Status made(code, concat(token.line, ":", token.column, ": ", status.message()));
  for (std::string_view key : {"operator", "value", "input", "symbol", "expected", "found"}) {
    if (!status.field(key).empty()) made.with(key, status.field(key));
  }
  return std::move(made).with("line", concat(token.line)).with("column", concat(token.column));
}

std::string Parser::source_from(size_t first_token) const {
  const char* begin = tokens_[first_token].text.data();
  const std::string_view last = tokens_[position_ - 1].text;
  return std::string(begin, last.data() + last.size());
}

Result<std::string> Parser::name_or_string() {
  if (peek().kind == TokenKind::kString) return take().string;
  if (peek().kind == TokenKind::kName) return std::string(take().text);
  return expected("a name");
}

Result<std::unique_ptr<Graph>> Parser::parse() {
  TENON_RETURN_IF_ERROR(expect_word("graph"));
  TENON_RETURN_IF_ERROR(expect("@"));
  TENON_ASSIGN_OR_RETURN(std::string name, name_or_string());
  graph_ = std::make_unique<Graph>(std::move(name), registry_);

  // Types of inputs need the symbols of `where`, types of outputs need the body.
  const size_t inputs_at = position_;
  TENON_RETURN_IF_ERROR(skip_group());
  TENON_RETURN_IF_ERROR(expect("->"));
  const size_t outputs_at = position_;
  TENON_RETURN_IF_ERROR(skip_group());
  if (accept_word("on")) {
    TENON_ASSIGN_OR_RETURN(device_, device());
  }
  if (accept_word("where")) TENON_RETURN_IF_ERROR(where());
  const size_t body_at = position_;
  position_ = inputs_at;
  TENON_RETURN_IF_ERROR(inputs());
  position_ = body_at;
  TENON_RETURN_IF_ERROR(expect("{"));
  TENON_RETURN_IF_ERROR(statements(0));
  TENON_RETURN_IF_ERROR(expect("}"));
  if (peek().kind != TokenKind::kEnd) return expected("the end");
  position_ = outputs_at;
  TENON_RETURN_IF_ERROR(outputs());
  return std::move(graph_);
}

Status Parser::skip_group() {
  if (!at("(")) return expected("'('");
  size_t depth = 0;
  do {
    if (peek().kind == TokenKind::kEnd) return expected("')'");
    if (at("(")) ++depth;
    if (at(")")) --depth;
    take();
  } while (depth > 0);
  return {};
}

Status Parser::where() {
  do {
    const Token& token = peek();
    if (token.kind != TokenKind::kName) return expected("a symbol");
    take();
    TENON_RETURN_IF_ERROR(expect_word("in"));
    TENON_RETURN_IF_ERROR(expect("["));
    int64_t bounds[2] = {-symbolic::kUnbounded, symbolic::kUnbounded};
    if (at("-") && peek(1).text == "inf") {
      take();
      take();
    } else {
      TENON_ASSIGN_OR_RETURN(bounds[0], integer());
    }
    TENON_RETURN_IF_ERROR(expect(","));
    if (!accept_word("inf")) {
      TENON_ASSIGN_OR_RETURN(bounds[1], integer());
    }
    TENON_RETURN_IF_ERROR(expect("]"));
    int64_t divisor = 1;
    if (accept_word("multiple")) {
      TENON_RETURN_IF_ERROR(expect_word("of"));
      TENON_ASSIGN_OR_RETURN(divisor, integer());
    }
    auto symbol = graph_->declare_symbol(token.text, bounds[0], bounds[1], divisor);
    if (!symbol.ok()) return placed(token, std::move(symbol).status());
    symbols_.emplace(token.text, *symbol);
  } while (accept(","));
  return {};
}

Status Parser::inputs() {
  TENON_RETURN_IF_ERROR(expect("("));
  if (accept(")")) return {};
  while (true) {
    const Token& token = peek();
    if (token.kind != TokenKind::kValue) return expected("an input");
    take();
    const std::string name = peek().kind == TokenKind::kString ? take().string : std::string(token.text);
    TENON_RETURN_IF_ERROR(expect(":"));
    TENON_ASSIGN_OR_RETURN(Type given, type(NewSymbols::kAuto));
    auto value = graph_->add_input(name, std::move(given));
    if (!value.ok()) return placed(token, std::move(value).status());
    TENON_RETURN_IF_ERROR(define(token, *value));
    if (accept(")")) return {};
    if (!accept(",")) return expected("',' or ')'");
  }
}

Status Parser::outputs() {
  TENON_RETURN_IF_ERROR(expect("("));
  std::vector<Output>& outputs = graph_->outputs();
  const auto count_error = [&](const Token& token, size_t found) {
    return syntax_error(token.line, token.column, concat(outputs.size(), " outputs, as `return` has"), concat(found));
  };
  for (size_t index = 0; index < outputs.size(); ++index) {
    if (at(")")) return count_error(peek(), index);
    if (index > 0) TENON_RETURN_IF_ERROR(expect(","));
    TENON_ASSIGN_OR_RETURN(outputs[index].name, name_or_string());
    TENON_RETURN_IF_ERROR(expect(":"));
    const std::string what = concat("output ", outputs[index].name);
    const Argument& argument = outputs[index].argument;
    if (const auto* ref = std::get_if<ValueRef>(&argument)) {
      TENON_RETURN_IF_ERROR(stated_type(graph_->type(ref->id), what));
    } else if (is_none(argument)) {
      TENON_RETURN_IF_ERROR(expect_word("none"));
    } else {
      const bool is_bool = std::holds_alternative<bool>(argument);
      const bool is_double = std::holds_alternative<double>(argument);
      TENON_RETURN_IF_ERROR(
          stated_type(scalar_type(is_bool ? DType::kBool : is_double ? DType::kF64 : DType::kI64), what));
    }
  }
  if (!at(")")) return at(",") ? count_error(peek(), outputs.size() + 1) : expected("')'");
  return {};
}

Result<ValueId> Parser::value() {
  if (peek().kind != TokenKind::kValue) return expected("a value");
  const auto found = names_.find(peek().text);
  if (found == names_.end()) return expected(in_region_ ? "a value of this region" : "a value defined above");
  take();
  return found->second;
}

Status Parser::define(const Token& name, ValueId value) {
  if (!names_.emplace(name.text, value).second)
    return syntax_error(name.line, name.column, "a new name", concat("%", name.text, ", which is defined above"));
  const std::string_view own = is_numbered(name.text) ? std::string_view() : name.text;
  if (in_region_) {
    graph_->value(value).name = own;
  } else {
    graph_->set_value_name(value, own);
  }
  return {};
}

Status Parser::statements(size_t depth) {
  const bool top = depth == 0;
  bool wrote = false;
  while (true) {
    if (top && accept_word("write")) {
      wrote = true;
      const Token& token = peek();
      TENON_ASSIGN_OR_RETURN(const ValueId target, value());
      const ValueSource source = graph_->value(target).source;
      if (source != ValueSource::kInput && source != ValueSource::kState)
        return syntax_error(token.line, token.column, "an input or a state", describe(token));
      TENON_RETURN_IF_ERROR(expect("="));
      TENON_ASSIGN_OR_RETURN(const ValueId written, value());
      graph_->add_write_back(target, written);
      continue;
    }
    if (top && accept_word("return")) {
      if (at("}")) return {};
      do {
        const Token& token = peek();
        TENON_ASSIGN_OR_RETURN(Argument argument, literal());
        const bool fits = std::holds_alternative<ValueRef>(argument) || is_none(argument) ||
                          std::holds_alternative<bool>(argument) || std::holds_alternative<Expr>(argument) ||
                          std::holds_alternative<double>(argument);
        if (!fits) return syntax_error(token.line, token.column, "a value, none or a number", describe(token));
        graph_->add_output("", std::move(argument));
      } while (accept(","));
      return {};
    }
    if (!top && accept_word("yield")) {
      yields_.clear();
      if (at("}")) return {};
      do {
        TENON_ASSIGN_OR_RETURN(const ValueId yielded, value());
        yields_.push_back(yielded);
      } while (accept(","));
      return {};
    }
    if (wrote) return expected("'write' or 'return'");
    std::vector<Token> results;
    if (peek().kind == TokenKind::kValue) {
      do {
        if (peek().kind != TokenKind::kValue) return expected("a value name");
        results.push_back(take());
      } while (accept(","));
      TENON_RETURN_IF_ERROR(expect("="));
    } else if (peek().kind != TokenKind::kName) {
      return expected(top ? "a statement or 'return'" : "a statement or 'yield'");
    }
    const bool is_leaf = results.size() == 1 && peek(1).kind == TokenKind::kString;
    if (is_leaf && (at_word("constant") || at_word("state"))) {
      if (!top) return expected("an operator: constants and states stand outside of regions");
      const bool is_state = at_word("state");
      take();
      TENON_RETURN_IF_ERROR(leaf(results.front(), is_state));
    } else {
      TENON_RETURN_IF_ERROR(call(results, depth));
    }
  }
}

Status Parser::leaf(const Token& name, bool is_state) {
  const Token& token = peek();
  std::string text = take().string;
  std::optional<std::vector<std::string>> data;
  if (accept("=")) {
    TENON_ASSIGN_OR_RETURN(data, elements());
  }
  TENON_RETURN_IF_ERROR(expect(":"));
  const Token& type_token = peek();
  TENON_ASSIGN_OR_RETURN(Type given, type(is_state ? NewSymbols::kAuto : NewSymbols::kNone));

  std::vector<int64_t> dims, strides;
  bool is_fixed = !given.pending && !given.is_scalar();
  const auto fixed = [&](const std::vector<Expr>& sizes, std::vector<int64_t>& values) {
    for (Expr size : sizes) {
      const auto value = graph_->pool().as_constant(size);
      is_fixed = is_fixed && value;
      values.push_back(value.value_or(0));
    }
  };
  fixed(given.dims, dims);
  fixed(given.strides.empty() ? row_major_strides(graph_->pool(), given.dims) : given.strides, strides);
  if (!is_fixed && (!is_state || data))
    return syntax_error(type_token.line, type_token.column, "a tensor type with constant sizes", describe(type_token));
  Blob bytes;
  if (data) {
    auto read = read_inline_data(given.dtype, dims, strides, *data);
    if (!read.ok()) return placed(token, std::move(read).status());
    bytes = *std::move(read);
  }
  Result<ValueId> added = ValueId(0);
  if (is_state) {
    added = graph_->add_state(text, std::move(given), std::move(bytes));
  } else {
    Constant constant;
    constant.name = std::move(text);
    constant.bytes = std::move(bytes);
    constant.dims = std::move(dims);
    constant.strides = std::move(strides);
    added = graph_->add_constant(std::move(constant), given.dtype);
    if (added.ok()) graph_->value(*added).type.device = given.device;
  }
  if (!added.ok()) return placed(token, std::move(added).status());
  return define(name, *added);
}

Status Parser::call(const std::vector<Token>& results, size_t depth) {
  const Token& token = peek();
  if (token.kind != TokenKind::kName) return expected("an operator");
  const Operator* op = registry_->find(canonical_operator_name(token.text));
  if (op == nullptr) return placed(token, expected("an operator").with("operator", token.text));
  take();
  std::vector<Argument> positional;
  std::vector<Graph::NamedArgument> named;
  TENON_RETURN_IF_ERROR(arguments(positional, named));

  const auto words = region_words(*op);
  if (words.empty()) {
    auto node = graph_->add_node_named(op->schema.name, std::move(positional), std::move(named), results.size());
    if (!node.ok()) return placed(token, std::move(node).status());
    const std::vector<ValueId> made = graph_->node(*node).results;
    if (made.size() != results.size())
      return syntax_error(token.line, token.column, concat(made.size(), " results of ", op->schema.name),
                          concat(results.size()));
    return result_types(results, made);
  }

  auto bound = bind_arguments(*graph_, *op, std::move(positional), std::move(named));
  if (bound.ok()) bound = check_arguments(*graph_, *op, *std::move(bound));
  if (!bound.ok()) return placed(token, std::move(bound).status());
  std::vector<std::unique_ptr<Region>> regions;
  for (std::string_view word : words) {
    TENON_ASSIGN_OR_RETURN(regions.emplace_back(), region(word, depth + 1));
  }
  std::vector<Type> types;
  if (!results.empty()) {
    TENON_RETURN_IF_ERROR(expect(":"));
    do {
      TENON_ASSIGN_OR_RETURN(types.emplace_back(), type(NewSymbols::kUnbacked));
    } while (accept(","));
    if (types.size() != results.size()) return expected(concat(results.size(), " types"));
  }
  const NodeId node = graph_->add_region_node(*op, *std::move(bound), std::move(regions), std::move(types));
  for (size_t index = 0; index < results.size(); ++index)
    TENON_RETURN_IF_ERROR(define(results[index], graph_->node(node).results[index]));
  return {};
}

Status Parser::result_types(const std::vector<Token>& results, const std::vector<ValueId>& values) {
  for (size_t index = 0; index < results.size(); ++index) {
    TENON_RETURN_IF_ERROR(expect(index == 0 ? ":" : ","));
    TENON_RETURN_IF_ERROR(stated_type(graph_->type(values[index]), concat("%", results[index].text)));
    TENON_RETURN_IF_ERROR(define(results[index], values[index]));
  }
  return {};
}

Result<std::unique_ptr<Region>> Parser::region(std::string_view word, size_t depth) {
  if (depth > kMaxRegionDepth) return expected(concat("at most ", kMaxRegionDepth, " levels of regions"));
  TENON_RETURN_IF_ERROR(expect_word(word));
  auto made = std::make_unique<Region>();
  Names outer_names = std::exchange(names_, {});
  const bool outer_in_region = std::exchange(in_region_, true);
  Region* outer = graph_->enter(made.get());
  TENON_RETURN_IF_ERROR(expect("("));
  if (!accept(")")) {
    while (true) {
      const Token& token = peek();
      if (token.kind != TokenKind::kValue) return expected("an input of the region");
      take();
      TENON_RETURN_IF_ERROR(expect(":"));
      TENON_ASSIGN_OR_RETURN(Type given, type(NewSymbols::kUnbacked));
      TENON_RETURN_IF_ERROR(define(token, graph_->add_region_input(*made, "", std::move(given))));
      if (accept(")")) break;
      if (!accept(",")) return expected("',' or ')'");
    }
  }
  TENON_RETURN_IF_ERROR(expect("{"));
  TENON_RETURN_IF_ERROR(statements(depth));
  TENON_RETURN_IF_ERROR(expect("}"));
  made->yields = std::move(yields_);
  graph_->enter(outer);
  in_region_ = outer_in_region;
  names_ = std::move(outer_names);
  return made;
}

Result<std::unique_ptr<Graph>> parse(std::string_view text, std::shared_ptr<const OperatorRegistry> registry) {
  TENON_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(text));
  return Parser(std::move(tokens), std::move(registry)).parse();
}

}  // namespace tenon::graph
