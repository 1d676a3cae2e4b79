// The symbols of a .pt2 program and what its archive says of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/json_view.hpp"
#include "symbolic/facts.hpp"

namespace tenon::import {

struct SymbolTerms {
  int64_t min = 0, max = symbolic::kUnbounded, divisor = 1;
};

// A tensor input: its name and the array of its sizes.
struct InputSizes {
  std::string name;
  JsonView sizes;
};

struct SymbolTable {
  std::map<std::string, SymbolTerms> bound;      // symbols in the inputs' sizes, by name
  std::map<std::string, symbolic::Range> other;  // ranges of the others (known only while the program runs)
};

// Takes ranges from `range_constraints`, and narrower ranges and divisors from `guards` ("L['x'].size()[0] % 4 == 0")
// as far as they say something of one symbol. A guard that neither follows from the ranges nor can be expressed so is
// told in `notes`. Errors: INVALID_ARGUMENT (an empty range, malformed members).
Result<SymbolTable> read_symbols(JsonView program, const std::vector<InputSizes>& inputs,
                                 std::vector<std::string>& notes);

}  // namespace tenon::import
