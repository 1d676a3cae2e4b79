// Tokens of the graph text format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.hpp"

namespace tenon::graph {

enum class TokenKind : uint8_t {
  kName,       // graph, s0, aten.add.Tensor
  kValue,      // %x, %0, %fc.weight; text is without the %
  kInteger,    // digits
  kFloat,      // 1.5, 1e-05
  kString,     // "..." with JSON's escapes; `string` holds the content
  kAuto,       // ?
  kAutoLabel,  // ?3; text is the digits
  kPending,    // ??
  kPunctuation,  // one of ( ) [ ] { } , : = @ * + - / % or ->
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t line = 1, column = 1;  // from 1; columns count bytes
  std::string_view text;          // a part of the source
  std::string string;
};

// "// comments" are skipped. The last token is kEnd. Errors: INVALID_ARGUMENT, "3:8: expected ..., found ...", for bytes
// that start no token, malformed numbers and strings.
Result<std::vector<Token>> tokenize(std::string_view source);

// The error of the parser: INVALID_ARGUMENT "line:column: expected X, found Y" with fields line, column, expected, found.
Status syntax_error(uint32_t line, uint32_t column, std::string_view expected, std::string_view found);

}  // namespace tenon::graph
