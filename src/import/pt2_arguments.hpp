// One argument of a node in the archive, read as its slot in the operator's schema wants it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "import/pt2_schema.hpp"

namespace tenon::import {

// Text keys that can be looked up by views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename T>
using ByName = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// The names of one (sub)graph of the archive: what is made already, and descriptions of the rest.
class Scope {
 public:
  // `graph` is an object "graph" of the archive. Errors: INVALID_ARGUMENT.
  static Result<Scope> read(JsonView graph);

  ByName<graph::Argument> values;  // values of nodes, inputs, and literals
  ByName<JsonView> tensors;        // descriptions by name
  ByName<JsonView> ints, bools, floats;
};

class ArgumentReader {
 public:
  ArgumentReader(const SizeReader& sizes, const Scope& scope, std::vector<std::string>& notes)
      : sizes_(sizes), scope_(scope), notes_(notes) {}

  // `argument` is a tagged union such as {"as_tensor": {"name": "x"}}. A number in a Tensor slot stays a number: a
  // wrapped scalar. Errors: INVALID_ARGUMENT (not what the slot takes, an unknown name), UNIMPLEMENTED (complex
  // numbers, objects, graphs, sizes that are not known).
  Result<graph::Argument> read(const graph::SchemaArgument& slot, JsonView argument) const;
  // Without a slot: for outputs, literals and operands of regions.
  Result<graph::Argument> read_value(JsonView argument) const;
  // By the name of a value: a tensor, an SSA scalar or a size.
  Result<graph::Argument> value(std::string_view name, JsonView place) const;

 private:
  Result<graph::ValueId> tensor(JsonView argument) const;  // {"name": ..}
  Result<graph::Argument> named_or(JsonView argument, std::string_view literal) const;
  Result<graph::Argument> list(std::string_view tag, JsonView elements) const;
  Result<graph::Argument> for_slot(const graph::SchemaArgument& slot, graph::Argument argument, JsonView place) const;

  const SizeReader& sizes_;
  const Scope& scope_;
  std::vector<std::string>& notes_;
};

}  // namespace tenon::import
