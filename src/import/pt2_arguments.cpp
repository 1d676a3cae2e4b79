#include "import/pt2_arguments.hpp"

#include <algorithm>

#include "support/format.hpp"

namespace tenon::import {

using graph::Argument;
using graph::ArgumentType;
using graph::SchemaArgument;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;
using symbolic::Truth;

Result<Scope> Scope::read(JsonView graph) {
  Scope scope;
  const auto fill = [&](std::string_view key, ByName<JsonView>& into) -> Status {
    const auto table = graph.find(key);
    if (!table) return {};
    TENON_ASSIGN_OR_RETURN(const auto members, table->members());
    into.reserve(members.size());
    for (const auto& [name, value] : members) into.emplace(std::string(name), value);
    return {};
  };
  TENON_RETURN_IF_ERROR(fill("tensor_values", scope.tensors));
  TENON_RETURN_IF_ERROR(fill("sym_int_values", scope.ints));
  TENON_RETURN_IF_ERROR(fill("sym_bool_values", scope.bools));
  TENON_RETURN_IF_ERROR(fill("sym_float_values", scope.floats));
  return scope;
}

Result<Argument> ArgumentReader::value(std::string_view name, JsonView place) const {
  if (const auto made = scope_.values.find(name); made != scope_.values.end()) return made->second;
  if (const auto size = scope_.ints.find(name); size != scope_.ints.end()) {
    TENON_ASSIGN_OR_RETURN(const Expr expression, sizes_.size(size->second));
    return Argument(expression);
  }
  if (const auto flag = scope_.bools.find(name); flag != scope_.bools.end()) {
    TENON_ASSIGN_OR_RETURN(const auto predicates, sizes_.condition(flag->second));
    bool all_true = true;
    for (const symbolic::Predicate& predicate : predicates) {
      const Truth truth = sizes_.facts().prove(predicate);
      if (truth == Truth::kFalse) return Argument(false);
      all_true = all_true && truth == Truth::kTrue;
    }
    if (all_true) return Argument(true);
    return unimplemented(concat("the condition '", name, "' depends on sizes of the call"));
  }
  if (const auto number = scope_.floats.find(name); number != scope_.floats.end()) {
    if (const auto literal = number->second.find("as_float")) {
      TENON_ASSIGN_OR_RETURN(const double constant, literal->number());
      return Argument(constant);
    }
    return unimplemented(concat("the number '", name, "' is computed from sizes or data in floating point"));
  }
  return place.error("a value that was made before", concat("'", name, "'"));
}

Result<ValueId> ArgumentReader::tensor(JsonView argument) const {
  TENON_ASSIGN_OR_RETURN(const JsonView member, argument.member("name"));
  TENON_ASSIGN_OR_RETURN(const std::string_view name, member.text());
  TENON_ASSIGN_OR_RETURN(const Argument found, value(name, member));
  if (const auto* made = std::get_if<ValueRef>(&found)) return made->id;
  return member.error("a tensor", concat("'", name, "', which is none"));
}

// {"as_name": ..} or {LITERAL: ..}, as in as_sym_int.
Result<Argument> ArgumentReader::named_or(JsonView argument, std::string_view literal) const {
  if (const auto named = argument.find("as_name")) {
    TENON_ASSIGN_OR_RETURN(const std::string_view name, named->text());
    return value(name, *named);
  }
  TENON_ASSIGN_OR_RETURN(const JsonView constant, argument.member(literal));
  if (literal == "as_int") {
    TENON_ASSIGN_OR_RETURN(const int64_t number, constant.integer());
    return Argument(sizes_.pool().constant(number));
  }
  if (literal == "as_bool") {
    TENON_ASSIGN_OR_RETURN(const bool flag, constant.boolean());
    return Argument(flag);
  }
  TENON_ASSIGN_OR_RETURN(const double number, constant.number());
  return Argument(number);
}

Result<Argument> ArgumentReader::list(std::string_view tag, JsonView array) const {
  TENON_ASSIGN_OR_RETURN(const auto elements, array.elements());
  if (tag == "as_tensors") {
    std::vector<ValueId> all;
    for (const JsonView& element : elements) {
      TENON_ASSIGN_OR_RETURN(const ValueId one, tensor(element));
      all.push_back(one);
    }
    return Argument(std::move(all));
  }
  if (tag == "as_optional_tensors") {
    std::vector<ValueId> all;
    for (const JsonView& element : elements) {
      TENON_ASSIGN_OR_RETURN(const auto member, element.only_member());
      ValueId one = graph::kNoValue;
      if (member.first == "as_tensor") {
        TENON_ASSIGN_OR_RETURN(one, tensor(member.second));
      } else if (member.first != "as_none") {
        return element.error("as_tensor or as_none", member.first);
      }
      all.push_back(one);
    }
    return Argument(std::move(all));
  }
  if (tag == "as_ints" || tag == "as_sym_ints") {
    std::vector<Expr> all;
    for (const JsonView& element : elements) {
      if (tag == "as_ints") {
        TENON_ASSIGN_OR_RETURN(const int64_t number, element.integer());
        all.push_back(sizes_.pool().constant(number));
        continue;
      }
      TENON_ASSIGN_OR_RETURN(const Argument one, named_or(element, "as_int"));
      const auto* size = std::get_if<Expr>(&one);
      if (size == nullptr) {
        return unimplemented(concat(element.path(), ": a size that the program reads from data or gets as a number"));
      }
      all.push_back(*size);
    }
    return Argument(std::move(all));
  }
  if (tag == "as_floats") {
    std::vector<double> all;
    for (const JsonView& element : elements) {
      TENON_ASSIGN_OR_RETURN(const double number, element.number());
      all.push_back(number);
    }
    return Argument(std::move(all));
  }
  std::vector<bool> all;
  for (const JsonView& element : elements) {
    TENON_ASSIGN_OR_RETURN(const bool flag, element.boolean());
    all.push_back(flag);
  }
  return Argument(std::move(all));
}

Result<Argument> ArgumentReader::read_value(JsonView argument) const {
  TENON_ASSIGN_OR_RETURN(const auto member, argument.only_member());
  const auto& [tag, content] = member;
  if (tag == "as_none") return Argument();
  if (tag == "as_tensor") {
    TENON_ASSIGN_OR_RETURN(const ValueId made, tensor(content));
    return Argument(ValueRef{made});
  }
  if (tag == "as_optional_tensor") return read_value(content);
  if (tag == "as_int") {
    TENON_ASSIGN_OR_RETURN(const int64_t number, content.integer());
    return Argument(sizes_.pool().constant(number));
  }
  if (tag == "as_float") {
    TENON_ASSIGN_OR_RETURN(const double number, content.number());
    return Argument(number);
  }
  if (tag == "as_bool") {
    TENON_ASSIGN_OR_RETURN(const bool flag, content.boolean());
    return Argument(flag);
  }
  if (tag == "as_string") {
    TENON_ASSIGN_OR_RETURN(const std::string_view text, content.text());
    return Argument(std::string(text));
  }
  if (tag == "as_sym_int") return named_or(content, "as_int");
  if (tag == "as_sym_bool") return named_or(content, "as_bool");
  if (tag == "as_sym_float") return named_or(content, "as_float");
  if (tag == "as_scalar_type") {
    TENON_ASSIGN_OR_RETURN(const DType dtype, read_dtype(content));
    return Argument(dtype);
  }
  if (tag == "as_memory_format") {
    TENON_ASSIGN_OR_RETURN(const graph::MemoryFormat format, read_memory_format(content));
    return Argument(format);
  }
  if (tag == "as_layout") {
    TENON_ASSIGN_OR_RETURN(const graph::Layout layout, read_layout(content));
    return Argument(layout);
  }
  if (tag == "as_device") {
    TENON_ASSIGN_OR_RETURN(const JsonView type, content.member("type"));
    TENON_ASSIGN_OR_RETURN(const std::string_view name, type.text());
    // The device is chosen when the program is compiled.
    if (name != "cpu") notes_.push_back(concat(content.path(), ": device '", name, "' is read as the program's device"));
    return Argument(graph::Device{});
  }
  if (tag == "as_tensors" || tag == "as_optional_tensors" || tag == "as_ints" || tag == "as_sym_ints" ||
      tag == "as_floats" || tag == "as_bools") {
    return list(tag, content);
  }
  Status status = unimplemented(concat(argument.path(), ": an argument of the kind ", tag, " is not supported"));
  status.with("found", tag);
  return status;
}

// What ATen converts by itself, and the one list that PyTorch writes for every empty one.
Result<Argument> ArgumentReader::for_slot(const SchemaArgument& slot, Argument argument, JsonView place) const {
  const bool empty_list = [&] {
    if (const auto* list = std::get_if<std::vector<ValueId>>(&argument)) return list->empty();
    if (const auto* list = std::get_if<std::vector<Expr>>(&argument)) return list->empty();
    if (const auto* list = std::get_if<std::vector<double>>(&argument)) return list->empty();
    return false;
  }();
  switch (slot.type) {
    case ArgumentType::kIntList:
      if (empty_list) return Argument(std::vector<Expr>());
      if (const auto* one = std::get_if<Expr>(&argument)) {
        return Argument(std::vector<Expr>(size_t(std::max(slot.list_size, 1)), *one));
      }
      break;
    case ArgumentType::kFloatList:
      if (empty_list) return Argument(std::vector<double>());
      if (const auto* sizes = std::get_if<std::vector<Expr>>(&argument)) {
        std::vector<double> numbers;
        for (const Expr size : *sizes) {
          const auto constant = sizes_.pool().as_constant(size);
          if (!constant) return place.error("numbers", "sizes");
          numbers.push_back(double(*constant));
        }
        return Argument(std::move(numbers));
      }
      break;
    case ArgumentType::kBoolList:
      if (empty_list) return Argument(std::vector<bool>());
      break;
    case ArgumentType::kScalarList:
      if (empty_list) return Argument(std::vector<Expr>());
      break;
    case ArgumentType::kTensorList:
    case ArgumentType::kOptionalTensorList:
      if (empty_list) return Argument(std::vector<ValueId>());
      break;
    case ArgumentType::kFloat:
      if (const auto* one = std::get_if<Expr>(&argument)) {
        if (const auto constant = sizes_.pool().as_constant(*one)) return Argument(double(*constant));
      }
      break;
    case ArgumentType::kTensor:
    case ArgumentType::kScalar:
    case ArgumentType::kInt:
    case ArgumentType::kBool:
    case ArgumentType::kString:
    case ArgumentType::kDType:
    case ArgumentType::kDevice:
    case ArgumentType::kLayout:
    case ArgumentType::kMemoryFormat:
    case ArgumentType::kGenerator: break;
  }
  return argument;
}

Result<Argument> ArgumentReader::read(const SchemaArgument& slot, JsonView argument) const {
  TENON_ASSIGN_OR_RETURN(Argument plain, read_value(argument));
  return for_slot(slot, std::move(plain), argument);
}

}  // namespace tenon::import
