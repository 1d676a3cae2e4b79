#include "import/json_view.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <limits>

#include "support/format.hpp"

namespace tenon::import {

struct JsonTree {
  std::string name;
  rapidjson::Document document;
};

namespace {

const rapidjson::Value& json(const void* value) { return *static_cast<const rapidjson::Value*>(value); }

std::string_view view(const rapidjson::Value& text) { return {text.GetString(), text.GetStringLength()}; }

std::string_view kind_name(const rapidjson::Value& value) {
  switch (value.GetType()) {
    case rapidjson::kNullType: return "null";
    case rapidjson::kFalseType:
    case rapidjson::kTrueType: return "a bool";
    case rapidjson::kObjectType: return "an object";
    case rapidjson::kArrayType: return "an array";
    case rapidjson::kStringType: return "text";
    case rapidjson::kNumberType: return value.IsInt64() ? "an integer" : "a number";
  }
  return "nothing";
}

// Paths are needed in errors alone, so they are searched then, without recursion.
std::string find_path(const rapidjson::Value& root, const void* wanted) {
  struct Step {
    const rapidjson::Value* value;
    rapidjson::SizeType next = 0;
  };
  std::vector<Step> steps{{&root}};
  while (!steps.empty()) {
    Step& step = steps.back();
    if (step.value == wanted) break;
    const rapidjson::Value& value = *step.value;
    if (value.IsObject() && step.next < value.MemberCount()) {
      steps.push_back({&(value.MemberBegin() + step.next++)->value});
    } else if (value.IsArray() && step.next < value.Size()) {
      steps.push_back({&value[step.next++]});
    } else {
      steps.pop_back();
    }
  }
  std::string path = "$";
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const rapidjson::Value& value = *steps[i].value;
    const rapidjson::SizeType index = steps[i].next - 1;
    if (value.IsObject()) {
      append(path, '.');
      append(path, view((value.MemberBegin() + index)->name));
    } else {
      append(path, '[');
      append(path, index);
      append(path, ']');
    }
  }
  return path;
}

}  // namespace

bool JsonView::is_null() const { return json(value_).IsNull(); }
bool JsonView::is_object() const { return json(value_).IsObject(); }
bool JsonView::is_array() const { return json(value_).IsArray(); }
bool JsonView::is_text() const { return json(value_).IsString(); }

std::string JsonView::path() const { return find_path(tree_->document, value_); }

Status JsonView::error(std::string_view expected) const { return error(expected, kind_name(json(value_))); }

Status JsonView::error(std::string_view expected, std::string_view found) const {
  Status status = invalid_argument(concat(tree_->name, ": ", path(), ": expected ", expected, ", found ", found));
  status.with("value", path()).with("expected", expected).with("found", found);
  return status;
}

Result<bool> JsonView::boolean() const {
  if (!json(value_).IsBool()) return error("a bool");
  return json(value_).GetBool();
}

Result<int64_t> JsonView::integer() const {
  if (!json(value_).IsInt64()) return error("an integer");
  return json(value_).GetInt64();
}

Result<double> JsonView::number() const {
  const rapidjson::Value& value = json(value_);
  if (value.IsNumber()) return value.GetDouble();
  if (value.IsString()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (view(value) == "Infinity") return kInfinity;
    if (view(value) == "-Infinity") return -kInfinity;
    if (view(value) == "NaN") return std::numeric_limits<double>::quiet_NaN();
    return error("a number", concat("'", view(value), "'"));
  }
  return error("a number");
}

Result<std::string_view> JsonView::text() const {
  if (!json(value_).IsString()) return error("text");
  return view(json(value_));
}

Result<JsonView> JsonView::member(std::string_view key) const {
  const rapidjson::Value& value = json(value_);
  if (!value.IsObject()) return error("an object");
  const auto found = value.FindMember(rapidjson::Value(rapidjson::StringRef(key.data(), key.size())));
  if (found == value.MemberEnd()) return error(concat("the member '", key, "'"), "none");
  return JsonView(tree_, &found->value);
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  const rapidjson::Value& value = json(value_);
  if (!value.IsObject()) return std::nullopt;
  const auto found = value.FindMember(rapidjson::Value(rapidjson::StringRef(key.data(), key.size())));
  if (found == value.MemberEnd() || found->value.IsNull()) return std::nullopt;
  return JsonView(tree_, &found->value);
}

Result<std::vector<JsonView>> JsonView::elements() const {
  const rapidjson::Value& value = json(value_);
  if (!value.IsArray()) return error("an array");
  std::vector<JsonView> all;
  all.reserve(value.Size());
  for (const rapidjson::Value& element : value.GetArray()) all.emplace_back(tree_, &element);
  return all;
}

Result<std::vector<std::pair<std::string_view, JsonView>>> JsonView::members() const {
  const rapidjson::Value& value = json(value_);
  if (!value.IsObject()) return error("an object");
  std::vector<std::pair<std::string_view, JsonView>> all;
  all.reserve(value.MemberCount());
  for (const auto& member : value.GetObject()) all.emplace_back(view(member.name), JsonView(tree_, &member.value));
  return all;
}

Result<std::pair<std::string_view, JsonView>> JsonView::only_member() const {
  const rapidjson::Value& value = json(value_);
  if (!value.IsObject()) return error("an object with one member");
  if (value.MemberCount() != 1) return error("an object with one member", concat(value.MemberCount(), " members"));
  const auto& member = *value.MemberBegin();
  return std::pair<std::string_view, JsonView>(view(member.name), JsonView(tree_, &member.value));
}

JsonDocument::JsonDocument(std::unique_ptr<JsonTree> tree) : tree_(std::move(tree)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonView JsonDocument::root() const { return JsonView(tree_.get(), &static_cast<rapidjson::Value&>(tree_->document)); }

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string_view name) {
  auto tree = std::make_unique<JsonTree>();
  tree->name = name;
  // Full precision: without it floats are off by one unit in the last place. Iterative: without it deep nesting
  // overflows the stack.
  constexpr unsigned kFlags = rapidjson::kParseFullPrecisionFlag | rapidjson::kParseIterativeFlag |
                              rapidjson::kParseNanAndInfFlag | rapidjson::kParseValidateEncodingFlag;
  tree->document.Parse<kFlags>(text.data(), text.size());
  if (tree->document.HasParseError()) {
    return invalid_argument(concat(name, ": not JSON: ", rapidjson::GetParseError_En(tree->document.GetParseError()),
                                   " at byte ", tree->document.GetErrorOffset()));
  }
  return JsonDocument(std::move(tree));
}

}  // namespace tenon::import
