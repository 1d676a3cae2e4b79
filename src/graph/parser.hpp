// The state of a parse; internal to parse.cpp, parse_literal.cpp and parse_type.cpp.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "graph/lexer.hpp"

namespace tenon::graph {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::shared_ptr<const OperatorRegistry> registry)
      : tokens_(std::move(tokens)), registry_(std::move(registry)) {}

  Result<std::unique_ptr<Graph>> parse();

 private:
  using Names = std::map<std::string, ValueId, std::less<>>;

  // Tokens.
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[position_ + 1 < tokens_.size() ? position_++ : position_]; }
  bool at(std::string_view punctuation, size_t ahead = 0) const;
  bool at_word(std::string_view word) const;
  bool accept(std::string_view punctuation);
  bool accept_word(std::string_view word);
  Status expect(std::string_view punctuation);
  Status expect_word(std::string_view word);
  Status expected(std::string_view what) const;  // at the next token
  // Puts the token's place before the message; what a user may have got wrong becomes INVALID_ARGUMENT.
  static Status placed(const Token& token, Status status);
  std::string source_from(size_t first_token) const;  // the source text of tokens [first_token, position_)

  // parse.cpp: header and statements.
  Result<std::string> name_or_string();
  Status skip_group();
  Status where();
  Status inputs();
  Status outputs();
  Status statements(size_t depth);
  Status leaf(const Token& name, bool is_state);
  Status call(const std::vector<Token>& results, size_t depth);
  Status result_types(const std::vector<Token>& results, const std::vector<ValueId>& values);
  Result<std::unique_ptr<Region>> region(std::string_view word, size_t depth);
  Result<ValueId> value();
  Status define(const Token& name, ValueId value);

  // parse_literal.cpp: arguments, expressions, devices.
  Status arguments(std::vector<Argument>& positional, std::vector<Graph::NamedArgument>& named);
  Result<Argument> literal();
  Result<Argument> list();
  Result<Expr> expression(size_t depth = 0);
  Result<Expr> product(size_t depth);
  Result<Expr> factor(size_t depth);
  Result<Expr> symbol();
  Result<Expr> bounded(Expr expr, const Token& token);
  Result<int64_t> integer();
  Result<Device> device();
  Result<std::vector<std::string>> elements();

  // parse_type.cpp: types.
  enum class NewSymbols : uint8_t { kNone, kAuto, kUnbacked };
  Result<Type> type(NewSymbols allowed);
  Result<std::vector<Expr>> sizes(std::string_view close);
  // A stated type against the known one; `what` is "%3" or "output y".
  Status stated_type(const Type& known, std::string_view what);
  Result<std::vector<std::optional<Expr>>> stated_sizes(const Type& known, bool strides, std::string_view close);
  bool same_size(Expr a, Expr b);

  std::vector<Token> tokens_;
  size_t position_ = 0;
  std::shared_ptr<const OperatorRegistry> registry_;
  std::unique_ptr<Graph> graph_;
  Device device_;
  std::map<std::string, Expr, std::less<>> symbols_;
  std::vector<Expr> auto_symbols_;  // by label
  NewSymbols new_symbols_ = NewSymbols::kNone;
  Names names_;           // of the scope
  bool in_region_ = false;
  std::vector<ValueId> yields_;  // of the region that just ended
};

}  // namespace tenon::graph
