// Operator schemas, parsed from one line in ATen's notation:
//   "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
// with alias annotations "Tensor(a!) self". The canonical name is "aten.sum.dim_IntList" (".default" is left out).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.hpp"
#include "support/status.hpp"

namespace tenon::graph {

enum class ArgumentType : uint8_t {
  kTensor, kTensorList, kScalar, kInt, kIntList, kFloat, kFloatList, kBool, kBoolList, kString, kDType, kDevice,
  kLayout, kMemoryFormat, kOptionalTensorList,
  kScalarList,  // numbers of any kind: vector<Expr>, vector<double> or vector<bool>
  kGenerator,   // only None is accepted: random numbers come from the call's seed
};
// "a tensor", "a list of integers": for messages.
std::string_view describe(ArgumentType type);

struct SchemaArgument {
  std::string name;
  ArgumentType type = ArgumentType::kTensor;
  bool optional = false;       // may be None
  bool keyword_only = false;
  bool mutates = false;        // "(a!)"
  char alias = 0;              // 'a' in "(a)" or "(a!)", else 0
  int32_t list_size = 0;       // int[2]: one int stands for two
  // Defaults hold no expressions but constants, which need a Pool: integers are kept apart.
  bool has_default = false;
  std::string default_text;    // "1", "None", "[]", "False", "contiguous_format"
};

struct SchemaReturn {
  ArgumentType type = ArgumentType::kTensor;
  bool mutates = false;
  char alias = 0;
  std::string name;
};

struct Schema {
  std::string name;            // "aten.add.Tensor"
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;
  bool mutates() const;        // any argument is written
  int find(std::string_view argument) const;  // index or -1
};

// SymInt and SymFloat are read as int and float. Errors: INVALID_ARGUMENT naming the column.
Result<Schema> parse_schema(std::string_view text);
// "torch.ops.aten.add.Tensor", "aten::add.Tensor", "aten.linear.default" -> "aten.add.Tensor", "aten.linear".
std::string canonical_operator_name(std::string_view name);
// The default as an Argument, e.g. for list_size 2 and "1" the list [1, 1].
Result<Argument> default_argument(const SchemaArgument& argument, symbolic::Pool& pool);

}  // namespace tenon::graph
