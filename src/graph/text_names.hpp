// Which names the text format can write bare.
#pragma once

#include <string>
#include <string_view>

namespace tenon::graph {

bool is_name_start(char c);  // [A-Za-z_]
bool is_name_char(char c);   // [A-Za-z0-9_]
// name_start name_char*
bool is_identifier(std::string_view text);
// identifiers joined by dots, pieces after the first may start with a digit: x, fc.weight, layers.0.bias
bool is_value_name(std::string_view text);
// An identifier that means a literal, an element type or a function there, so no symbol can have it.
bool is_reserved_word(std::string_view text);
// `text` as a bare identifier, else as a JSON string.
// Names of graphs and outputs are printed so.
void append_name(std::string& out, std::string_view text);

}  // namespace tenon::graph
