#include "import/pt2_outputs.hpp"

#include <set>

#include "import/json_view.hpp"
#include "support/format.hpp"

namespace tenon::import {
namespace {

constexpr size_t kDeepest = 100;

// Keys of a dict (or of a class that is written like one): its context is a JSON list of texts. Else empty.
std::vector<std::string> keys_of(JsonView node, size_t children) {
  std::vector<std::string> keys;
  const auto type = node.find("type");
  const auto context = node.find("context");
  if (!type || !context || !context->is_text()) return keys;
  const Result<JsonDocument> document = JsonDocument::parse(*context->text(), "context");
  if (!document.ok()) return keys;
  const auto elements = document->root().elements();
  if (!elements.ok() || elements->size() != children) return keys;
  for (const JsonView& element : *elements) {
    if (!element.is_text()) return {};
    keys.emplace_back(*element.text());
  }
  return keys;
}

Status collect(JsonView node, const std::string& path, bool below_dict, size_t depth, std::vector<std::string>& names) {
  if (depth > kDeepest) return node.error(concat("nesting of at most ", kDeepest), "more");
  TENON_ASSIGN_OR_RETURN(const JsonView type, node.member("type"));
  if (type.is_null()) {
    names.push_back(below_dict ? path : std::string());
    return {};
  }
  TENON_ASSIGN_OR_RETURN(const JsonView children_spec, node.member("children_spec"));
  TENON_ASSIGN_OR_RETURN(const auto children, children_spec.elements());
  const std::vector<std::string> keys = keys_of(node, children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    std::string child = path;
    if (!child.empty()) child += '_';
    append(child, keys.empty() ? concat(i) : keys[i]);
    TENON_RETURN_IF_ERROR(collect(children[i], child, below_dict || !keys.empty(), depth + 1, names));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> output_names(std::string_view spec, size_t count) {
  std::vector<std::string> names;
  if (!spec.empty()) {
    TENON_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(spec, "out_spec"));
    TENON_ASSIGN_OR_RETURN(const auto parts, document.root().elements());
    if (parts.size() != 2) return document.root().error("a version and a structure", concat(parts.size(), " parts"));
    TENON_RETURN_IF_ERROR(collect(parts[1], "", false, 0, names));
    if (names.size() != count) {
      return invalid_argument(concat("out_spec: expected ", count, " results, found ", names.size()));
    }
  }
  names.resize(count);
  std::set<std::string> seen;
  for (size_t i = 0; i < count; ++i) {
    if (!names[i].empty() && seen.insert(names[i]).second) continue;
    names[i] = concat("output_", i);
    while (!seen.insert(names[i]).second) names[i] += '_';
  }
  return names;
}

}  // namespace tenon::import
