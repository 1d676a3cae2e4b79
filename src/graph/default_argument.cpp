#include <optional>

#include "graph/schema.hpp"
#include "support/format.hpp"

namespace tenon::graph {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "[a, b]" -> a, b; nullopt when it is no list.
std::optional<std::vector<std::string_view>> list_items(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = trimmed(text.substr(1, text.size() - 2));
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    items.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text = trimmed(text.substr(comma + 1));
    if (text.empty()) items.push_back(text);
  }
  return items;
}

std::optional<bool> read_bool(std::string_view text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  return std::nullopt;
}

std::optional<int64_t> read_int(std::string_view text) {
  // Loss functions name their reduction.
  if (text == "Mean") return 1;
  if (text == "Sum") return 2;
  return parse_int64(text);
}

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr DTypeName kTorchDTypes[] = {
    {"float", DType::kF32}, {"double", DType::kF64},     {"half", DType::kF16}, {"bfloat16", DType::kBF16},
    {"long", DType::kI64},  {"int", DType::kI32},        {"short", DType::kI16}, {"char", DType::kI8},
    {"byte", DType::kU8},
};

std::optional<DType> read_dtype(std::string_view text) {
  for (const DTypeName& known : kTorchDTypes) {
    if (known.name == text) return known.dtype;
  }
  return parse_dtype(text);
}

std::optional<MemoryFormat> read_memory_format(std::string_view text) {
  if (text == "contiguous_format") return MemoryFormat::kContiguous;
  if (text == "preserve_format") return MemoryFormat::kPreserve;
  if (text == "channels_last") return MemoryFormat::kChannelsLast;
  if (text == "channels_last_3d") return MemoryFormat::kChannelsLast3d;
  return std::nullopt;
}

// Items of a list, or one item repeated list_size times; `read` gives an optional element.
template <typename Element, typename Read>
std::optional<Argument> read_list(const SchemaArgument& argument, std::string_view text, Read read) {
  std::vector<Element> elements;
  if (const auto items = list_items(text)) {
    for (std::string_view item : *items) {
      const auto element = read(item);
      if (!element) return std::nullopt;
      elements.push_back(*element);
    }
    return elements;
  }
  const auto element = read(text);
  if (!element || argument.list_size == 0) return std::nullopt;
  elements.assign(size_t(argument.list_size), *element);
  return elements;
}

std::optional<Argument> read_scalar(std::string_view text, symbolic::Pool& pool) {
  if (const auto value = read_bool(text)) return *value;
  if (const auto value = parse_int64(text)) return pool.constant(*value);
  if (const auto value = parse_double(text)) return *value;
  return std::nullopt;
}

std::optional<Argument> read_default(const SchemaArgument& argument, symbolic::Pool& pool) {
  const std::string_view text = argument.default_text;
  if (text == "None") return std::monostate{};
  const auto read_expr = [&](std::string_view item) -> std::optional<Expr> {
    const auto value = read_int(item);
    if (!value) return std::nullopt;
    return pool.constant(*value);
  };
  switch (argument.type) {
    case ArgumentType::kTensor:
    case ArgumentType::kScalar: return read_scalar(text, pool);
    case ArgumentType::kTensorList:
    case ArgumentType::kOptionalTensorList:
      if (text == "[]") return std::vector<ValueId>{};
      return std::nullopt;
    case ArgumentType::kInt: return read_expr(text);
    case ArgumentType::kIntList: return read_list<Expr>(argument, text, read_expr);
    case ArgumentType::kFloat: return parse_double(text);
    case ArgumentType::kFloatList:
    case ArgumentType::kScalarList: return read_list<double>(argument, text, parse_double);
    case ArgumentType::kBool: return read_bool(text);
    case ArgumentType::kBoolList: return read_list<bool>(argument, text, read_bool);
    case ArgumentType::kString:
      if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') || text.back() != text.front())
        return std::nullopt;
      return std::string(text.substr(1, text.size() - 2));
    case ArgumentType::kDType: return read_dtype(text);
    case ArgumentType::kDevice:
      if (text == "cpu") return Device{DeviceKind::kCpu, 0};
      if (text == "cuda") return Device{DeviceKind::kCuda, 0};
      return std::nullopt;
    case ArgumentType::kLayout:
      if (text == "strided") return Layout::kStrided;
      return std::nullopt;
    case ArgumentType::kMemoryFormat: return read_memory_format(text);
    case ArgumentType::kGenerator: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<Argument> default_argument(const SchemaArgument& argument, symbolic::Pool& pool) {
  if (!argument.has_default) return invalid_argument(concat("argument ", argument.name, " has no default"));
  if (auto value = read_default(argument, pool)) return *std::move(value);
  return invalid_argument(concat("argument ", argument.name, ": expected ", describe(argument.type),
                                 " as its default, found ", argument.default_text));
}

}  // namespace tenon::graph
