// Checked reading of JSON text: a missing member or a value of another kind is a status that tells the JSON path, what
// was expected and what was found. Views are cheap to copy and valid while their document lives (it may be moved).
// Immutable after parse; reading from several threads is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/status.hpp"

namespace tenon::import {

struct JsonTree;  // json_view.cpp

// Kinds mismatch and absence give INVALID_ARGUMENT.
class JsonView {
 public:
  JsonView(const JsonTree* tree, const void* value) : tree_(tree), value_(value) {}

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_text() const;

  Result<bool> boolean() const;
  Result<int64_t> integer() const;
  Result<double> number() const;  // also the texts "Infinity", "-Infinity", "NaN"
  Result<std::string_view> text() const;

  Result<JsonView> member(std::string_view key) const;
  std::optional<JsonView> find(std::string_view key) const;  // nothing when it is absent or null, or this is no object
  Result<std::vector<JsonView>> elements() const;
  Result<std::vector<std::pair<std::string_view, JsonView>>> members() const;
  // Of an object with one member, as a tagged union is written.
  Result<std::pair<std::string_view, JsonView>> only_member() const;

  // "model.json: $.graph.nodes[3].inputs: expected an array, found text"
  Status error(std::string_view expected) const;
  Status error(std::string_view expected, std::string_view found) const;
  std::string path() const;

 private:
  const JsonTree* tree_;
  const void* value_;
};

class JsonDocument {
 public:
  // `name` is told in errors. Nesting is not limited by the stack. Errors: INVALID_ARGUMENT with the offset in bytes.
  static Result<JsonDocument> parse(std::string_view text, std::string_view name);
  JsonView root() const;

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

 private:
  explicit JsonDocument(std::unique_ptr<JsonTree> tree);
  std::unique_ptr<JsonTree> tree_;
};

}  // namespace tenon::import
