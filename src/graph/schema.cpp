#include "graph/schema.hpp"

#include <optional>

#include "support/format.hpp"

namespace tenon::graph {
namespace {

struct SchemaType {
  ArgumentType type = ArgumentType::kTensor;
  bool optional = false;
  bool mutates = false;
  char alias = 0;
  int32_t list_size = 0;
};

struct BaseName {
  std::string_view name;
  ArgumentType type;
};
constexpr BaseName kBaseNames[] = {
    {"Tensor", ArgumentType::kTensor},        {"Scalar", ArgumentType::kScalar},
    {"int", ArgumentType::kInt},              {"SymInt", ArgumentType::kInt},
    {"float", ArgumentType::kFloat},          {"SymFloat", ArgumentType::kFloat},
    {"bool", ArgumentType::kBool},            {"SymBool", ArgumentType::kBool},
    {"str", ArgumentType::kString},           {"ScalarType", ArgumentType::kDType},
    {"Device", ArgumentType::kDevice},        {"Layout", ArgumentType::kLayout},
    {"MemoryFormat", ArgumentType::kMemoryFormat}, {"Generator", ArgumentType::kGenerator},
};

std::optional<ArgumentType> list_of(ArgumentType element) {
  switch (element) {
    case ArgumentType::kTensor: return ArgumentType::kTensorList;
    case ArgumentType::kScalar: return ArgumentType::kScalarList;
    case ArgumentType::kInt: return ArgumentType::kIntList;
    case ArgumentType::kFloat: return ArgumentType::kFloatList;
    case ArgumentType::kBool: return ArgumentType::kBoolList;
    default: return std::nullopt;
  }
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class SchemaReader {
 public:
  explicit SchemaReader(std::string_view text) : text_(text) {}

  Result<Schema> read() {
    Schema schema;
    TENON_ASSIGN_OR_RETURN(schema.name, name());
    if (!accept('(')) return expected("'('");
    TENON_RETURN_IF_ERROR(arguments(schema));
    if (!accept("->")) return expected("'->'");
    TENON_RETURN_IF_ERROR(returns(schema));
    skip_blanks();
    if (position_ != text_.size()) return expected("the end");
    return schema;
  }

 private:
  Status expected(std::string_view what) const {
    return invalid_argument(concat("schema \"", text_, "\": expected ", what, " at column ", position_ + 1));
  }
  void skip_blanks() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool accept(std::string_view token) {
    skip_blanks();
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  bool accept(char token) { return accept(std::string_view(&token, 1)); }
  char peek() {
    skip_blanks();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  std::string_view word() {
    skip_blanks();
    const size_t begin = position_;
    while (position_ < text_.size() && (is_letter(text_[position_]) || (position_ > begin && is_digit(text_[position_]))))
      ++position_;
    return text_.substr(begin, position_ - begin);
  }

  // "aten::sum.dim_IntList" or the dotted form.
  Result<std::string> name() {
    skip_blanks();
    const size_t begin = position_;
    while (position_ < text_.size() && (is_letter(text_[position_]) || is_digit(text_[position_]) ||
                                        text_[position_] == '.' || text_[position_] == ':'))
      ++position_;
    std::string name = canonical_operator_name(text_.substr(begin, position_ - begin));
    const size_t dot = name.find('.');
    if (dot == 0 || dot == std::string::npos || name.back() == '.' || name.find("..") != std::string::npos ||
        name.find(':') != std::string::npos || is_digit(name.front())) {
      position_ = begin;
      return expected("a name like aten::add.Tensor");
    }
    return name;
  }

  Result<SchemaType> type() {
    const size_t begin = position_;
    const std::string_view base = word();
    SchemaType type;
    bool known = false;
    for (const BaseName& candidate : kBaseNames) {
      if (candidate.name != base) continue;
      type.type = candidate.type;
      known = true;
    }
    if (!known) {
      position_ = begin;
      return expected("a type");
    }
    bool is_list = false;
    while (true) {
      if (position_ < text_.size() && text_[position_] == '(') {
        ++position_;
        TENON_RETURN_IF_ERROR(alias(type));
      } else if (position_ < text_.size() && text_[position_] == '?') {
        ++position_;
        if (type.optional) return expected("no second '?'");
        type.optional = true;
      } else if (position_ < text_.size() && text_[position_] == '[') {
        ++position_;
        if (is_list) return expected("no list of lists");
        const auto list = list_of(type.type);
        if (!list) return expected("a type that has lists");
        if (type.optional) {
          if (type.type != ArgumentType::kTensor) return expected("no list of optional elements");
          type.type = ArgumentType::kOptionalTensorList;
          type.optional = false;
        } else {
          type.type = *list;
        }
        is_list = true;
        const size_t digits = position_;
        while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
        if (position_ > digits) {
          const auto size = parse_int64(text_.substr(digits, position_ - digits));
          if (!size || *size < 1 || *size > 1024) return expected("a list size in [1, 1024]");
          type.list_size = int32_t(*size);
        }
        if (!accept(']')) return expected("']'");
      } else {
        return type;
      }
    }
  }

  // After "(": a, a!, a|b, a! -> *, *.
  Status alias(SchemaType& type) {
    const char first = peek();
    if (!is_letter(first) && first != '*') return expected("an alias set");
    type.alias = first;
    for (; position_ < text_.size() && text_[position_] != ')'; ++position_) {
      const char c = text_[position_];
      if (c == '!') type.mutates = true;
      if (!is_letter(c) && c != '!' && c != '|' && c != '*' && c != ' ' && c != '-' && c != '>') return expected("')'");
    }
    if (!accept(')')) return expected("')'");
    return {};
  }

  Status arguments(Schema& schema) {
    bool keyword_only = false;
    if (accept(')')) return {};
    while (true) {
      if (accept('*')) {
        if (keyword_only) return expected("no second '*'");
        keyword_only = true;
      } else {
        SchemaArgument argument;
        TENON_ASSIGN_OR_RETURN(const SchemaType found, type());
        argument.type = found.type;
        argument.optional = found.optional;
        argument.mutates = found.mutates;
        argument.alias = found.alias;
        argument.list_size = found.list_size;
        argument.keyword_only = keyword_only;
        argument.name = word();
        if (argument.name.empty()) return expected("an argument name");
        if (schema.find(argument.name) >= 0) return expected("each argument name once");
        if (accept('=')) {
          argument.has_default = true;
          TENON_ASSIGN_OR_RETURN(argument.default_text, default_text());
        }
        schema.arguments.push_back(std::move(argument));
      }
      if (accept(')')) return {};
      if (!accept(',')) return expected("',' or ')'");
    }
  }

  Result<std::string> default_text() {
    skip_blanks();
    const size_t begin = position_;
    int depth = 0;
    char quote = 0;
    for (; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (quote != 0) {
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c == '[') ++depth;
      if (c == ']') --depth;
      if (depth == 0 && (c == ',' || c == ')')) break;
    }
    size_t end = position_;
    while (end > begin && text_[end - 1] == ' ') --end;
    if (end == begin || quote != 0 || depth != 0) return expected("a default value");
    return std::string(text_.substr(begin, end - begin));
  }

  Status returns(Schema& schema) {
    const bool several = accept('(');
    if (several && accept(')')) return {};
    while (true) {
      TENON_ASSIGN_OR_RETURN(const SchemaType found, type());
      SchemaReturn result;
      result.type = found.type;
      result.mutates = found.mutates;
      result.alias = found.alias;
      result.name = word();
      schema.returns.push_back(std::move(result));
      if (!several) return {};
      if (accept(')')) return {};
      if (!accept(',')) return expected("',' or ')'");
    }
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

bool Schema::mutates() const {
  for (const SchemaArgument& argument : arguments) {
    if (argument.mutates) return true;
  }
  return false;
}

int Schema::find(std::string_view argument) const {
  for (size_t index = 0; index < arguments.size(); ++index) {
    if (arguments[index].name == argument) return int(index);
  }
  return -1;
}

std::string_view describe(ArgumentType type) {
  switch (type) {
    case ArgumentType::kTensor: return "a tensor";
    case ArgumentType::kTensorList: return "a list of tensors";
    case ArgumentType::kOptionalTensorList: return "a list of tensors or none";
    case ArgumentType::kScalar: return "a number";
    case ArgumentType::kScalarList: return "a list of numbers";
    case ArgumentType::kInt: return "an integer";
    case ArgumentType::kIntList: return "a list of integers";
    case ArgumentType::kFloat: return "a float";
    case ArgumentType::kFloatList: return "a list of floats";
    case ArgumentType::kBool: return "a bool";
    case ArgumentType::kBoolList: return "a list of bools";
    case ArgumentType::kString: return "a string";
    case ArgumentType::kDType: return "an element type";
    case ArgumentType::kDevice: return "a device";
    case ArgumentType::kLayout: return "a layout";
    case ArgumentType::kMemoryFormat: return "a memory format";
    case ArgumentType::kGenerator: return "none";
  }
  return "?";
}

Result<Schema> parse_schema(std::string_view text) { return SchemaReader(text).read(); }

std::string canonical_operator_name(std::string_view name) {
  constexpr std::string_view kTorchOps = "torch.ops.";
  constexpr std::string_view kDefault = ".default";
  if (name.starts_with(kTorchOps)) name.remove_prefix(kTorchOps.size());
  if (name.ends_with(kDefault)) name.remove_suffix(kDefault.size());
  std::string canonical(name);
  if (const size_t colons = canonical.find("::"); colons != std::string::npos) canonical.replace(colons, 2, ".");
  return canonical;
}

}  // namespace tenon::graph
