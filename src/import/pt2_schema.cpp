#include "import/pt2_schema.hpp"

#include "import/sympy_text.hpp"
#include "support/format.hpp"

namespace tenon::import {

using symbolic::Expr;
using symbolic::Predicate;

Result<DType> read_dtype(JsonView value) {
  TENON_ASSIGN_OR_RETURN(const int64_t number, value.integer());
  switch (number) {
    case 1: return DType::kU8;
    case 2: return DType::kI8;
    case 3: return DType::kI16;
    case 4: return DType::kI32;
    case 5: return DType::kI64;
    case 6: return DType::kF16;
    case 7: return DType::kF32;
    case 8: return DType::kF64;
    case 12: return DType::kBool;
    case 13: return DType::kBF16;
    case 28: return DType::kU16;
    case 34: return DType::kU32;
    case 35: return DType::kU64;
    default: break;
  }
  std::string_view name;
  if (number >= 9 && number <= 11) name = "complex";
  if (number >= 29 && number <= 33) name = "float8";
  if (name.empty()) return value.error("the number of a dtype", concat(number));
  Status status = unimplemented(concat(value.path(), ": ", name, " tensors (dtype ", number, ") are not supported"));
  status.with("found", name);
  return status;
}

Result<graph::MemoryFormat> read_memory_format(JsonView value) {
  TENON_ASSIGN_OR_RETURN(const int64_t number, value.integer());
  switch (number) {
    case 1: return graph::MemoryFormat::kContiguous;
    case 2: return graph::MemoryFormat::kChannelsLast;
    case 3: return graph::MemoryFormat::kChannelsLast3d;
    case 4: return graph::MemoryFormat::kPreserve;
    default: return value.error("the number of a memory format (1 to 4)", concat(number));
  }
}

Result<graph::Layout> read_layout(JsonView value) {
  TENON_ASSIGN_OR_RETURN(const int64_t number, value.integer());
  if (number == 7) return graph::Layout::kStrided;
  return unimplemented(concat(value.path(), ": layout ", number, ": only strided tensors (7) are supported"));
}

Result<Expr> SizeReader::resolve(std::string_view name) const {
  const auto found = symbols_.find(name);
  if (found != symbols_.end()) return found->second;
  Status status = unimplemented(concat("the size ", name, " is known to no input and to no operator that came before"));
  status.with("value", name);
  return status;
}

Result<Expr> SizeReader::size(JsonView value) const {
  if (const auto number = value.find("as_int")) {
    TENON_ASSIGN_OR_RETURN(const int64_t constant, number->integer());
    return pool().constant(constant);
  }
  TENON_ASSIGN_OR_RETURN(const JsonView expression, value.member("as_expr"));
  TENON_ASSIGN_OR_RETURN(const JsonView member, expression.member("expr_str"));
  TENON_ASSIGN_OR_RETURN(const std::string_view text, member.text());
  return parse_sympy_integer(text, facts_, [this](std::string_view name) { return resolve(name); });
}

Result<std::vector<Predicate>> SizeReader::condition(JsonView value) const {
  if (const auto literal = value.find("as_bool")) {
    TENON_ASSIGN_OR_RETURN(const bool holds, literal->boolean());
    if (holds) return std::vector<Predicate>{};
    return std::vector<Predicate>{{symbolic::Relation::kEq, pool().constant(0), pool().constant(1)}};
  }
  TENON_ASSIGN_OR_RETURN(const JsonView expression, value.member("as_expr"));
  TENON_ASSIGN_OR_RETURN(const JsonView member, expression.member("expr_str"));
  TENON_ASSIGN_OR_RETURN(const std::string_view text, member.text());
  return parse_sympy_condition(text, facts_, [this](std::string_view name) { return resolve(name); });
}

Result<std::vector<Expr>> SizeReader::sizes(JsonView value) const {
  TENON_ASSIGN_OR_RETURN(const auto elements, value.elements());
  std::vector<Expr> all;
  for (const JsonView& element : elements) {
    TENON_ASSIGN_OR_RETURN(const Expr one, size(element));
    all.push_back(one);
  }
  return all;
}

std::vector<std::string> symbol_names(JsonView size) {
  std::vector<std::string> names;
  const auto expression = size.find("as_expr");
  const auto member = expression ? expression->find("expr_str") : std::nullopt;
  if (!member || !member->is_text()) return names;
  std::string_view text = *member->text();
  constexpr std::string_view kStart = "Symbol('";
  for (size_t at = text.find(kStart); at != std::string_view::npos; at = text.find(kStart, at)) {
    at += kStart.size();
    const size_t end = text.find('\'', at);
    if (end == std::string_view::npos) break;
    names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

std::optional<std::string> plain_symbol(JsonView size) {
  const std::vector<std::string> names = symbol_names(size);
  if (names.size() != 1) return std::nullopt;
  const std::string_view text = *size.find("as_expr")->find("expr_str")->text();
  const bool plain = text.starts_with("Symbol('") && text.find('(', 7) == std::string_view::npos;
  return plain ? std::optional(names[0]) : std::nullopt;
}

namespace {

Result<std::vector<int64_t>> static_sizes(JsonView value) {
  TENON_ASSIGN_OR_RETURN(const auto elements, value.elements());
  std::vector<int64_t> all;
  for (const JsonView& element : elements) {
    TENON_ASSIGN_OR_RETURN(const JsonView number, element.member("as_int"));
    TENON_ASSIGN_OR_RETURN(const int64_t size, number.integer());
    if (size < 0) return number.error("a size or stride of at least 0", concat(size));
    all.push_back(size);
  }
  return all;
}

}  // namespace

Result<StaticTensor> read_static_tensor(JsonView meta) {
  StaticTensor tensor;
  TENON_ASSIGN_OR_RETURN(const JsonView dtype, meta.member("dtype"));
  TENON_ASSIGN_OR_RETURN(tensor.dtype, read_dtype(dtype));
  TENON_ASSIGN_OR_RETURN(const JsonView dims, meta.member("sizes"));
  TENON_ASSIGN_OR_RETURN(tensor.dims, static_sizes(dims));
  TENON_ASSIGN_OR_RETURN(const JsonView strides, meta.member("strides"));
  TENON_ASSIGN_OR_RETURN(tensor.strides, static_sizes(strides));
  if (tensor.dims.size() != tensor.strides.size()) {
    return strides.error(concat(tensor.dims.size(), " strides, one for each size"), concat(tensor.strides.size()));
  }
  int64_t elements = 1;
  for (const int64_t dim : tensor.dims) {
    if (dim != 0 && __builtin_mul_overflow(elements, dim, &elements)) {
      return dims.error("at most 2^62 elements", "more");
    }
  }
  if (elements > (int64_t(1) << 62)) return dims.error("at most 2^62 elements", "more");
  if (const auto offset = meta.find("storage_offset")) {
    TENON_ASSIGN_OR_RETURN(const JsonView number, offset->member("as_int"));
    TENON_ASSIGN_OR_RETURN(tensor.offset, number.integer());
    if (tensor.offset < 0) return number.error("an offset of at least 0", concat(tensor.offset));
  }
  if (const auto layout = meta.find("layout")) {
    TENON_ASSIGN_OR_RETURN([[maybe_unused]] const graph::Layout strided, read_layout(*layout));
  }
  return tensor;
}

}  // namespace tenon::import
