// The vocabulary of the JSON in a .pt2 archive: enumerations, tensor descriptions, sizes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.hpp"
#include "import/json_view.hpp"
#include "symbolic/facts.hpp"

namespace tenon::import {

// PyTorch's serialized numbers. Errors: UNIMPLEMENTED (a type this library has not: complex, float8), INVALID_ARGUMENT.
Result<DType> read_dtype(JsonView value);
Result<graph::MemoryFormat> read_memory_format(JsonView value);
Result<graph::Layout> read_layout(JsonView value);

// Reads sizes and conditions. Symbols must be bound before an expression that has them is read.
class SizeReader {
 public:
  explicit SizeReader(symbolic::Facts& facts) : facts_(facts) {}

  symbolic::Facts& facts() const { return facts_; }
  symbolic::Pool& pool() const { return facts_.pool(); }

  void bind(std::string_view name, symbolic::Expr value) { symbols_.insert_or_assign(std::string(name), value); }
  bool is_bound(std::string_view name) const { return symbols_.find(name) != symbols_.end(); }
  const std::map<std::string, symbolic::Expr, std::less<>>& symbols() const { return symbols_; }

  // {"as_int": 3} or {"as_expr": {"expr_str": ..}}. Errors: UNIMPLEMENTED (an unknown function, a symbol that is not
  // bound), INVALID_ARGUMENT.
  Result<symbolic::Expr> size(JsonView value) const;
  // {"as_bool": true} or {"as_expr": ..}; holds when all predicates do.
  Result<std::vector<symbolic::Predicate>> condition(JsonView value) const;
  // All of an array of sizes.
  Result<std::vector<symbolic::Expr>> sizes(JsonView value) const;

 private:
  Result<symbolic::Expr> resolve(std::string_view name) const;

  symbolic::Facts& facts_;
  std::map<std::string, symbolic::Expr, std::less<>> symbols_;
};

// Names of all symbols in {"as_expr": {"expr_str": ..}}; none for a number.
std::vector<std::string> symbol_names(JsonView size);
// The name when the size is a symbol and nothing else.
std::optional<std::string> plain_symbol(JsonView size);

// A tensor's description whose sizes must be numbers (weights). Elements, not bytes.
struct StaticTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;
};
// Errors: UNIMPLEMENTED (dtype, layout), INVALID_ARGUMENT (symbolic or negative sizes, more than 2^62 elements).
Result<StaticTensor> read_static_tensor(JsonView meta);

}  // namespace tenon::import
