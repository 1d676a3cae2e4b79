#include "graph/operators.hpp"

#include <algorithm>
#include <cstdio>

namespace tenon::graph {

Operator& OperatorRegistry::add(std::string_view schema, InferFn infer, DecomposeFn decompose) {
  auto parsed = parse_schema(schema);
  if (!parsed.ok()) {
    const std::string message(parsed.status().message());
    std::fprintf(stderr, "%s\n", message.c_str());
    TENON_CHECK(parsed.ok());
  }
  auto added = std::make_unique<Operator>();
  added->schema = *std::move(parsed);
  added->infer = infer;
  added->decompose = decompose;
  const bool is_new = by_name_.emplace(added->schema.name, added.get()).second;
  if (!is_new) std::fprintf(stderr, "%s is registered twice\n", added->schema.name.c_str());
  TENON_CHECK(is_new);
  operators_.push_back(std::move(added));
  return *operators_.back();
}

const Operator* OperatorRegistry::find(std::string_view canonical_name) const {
  const auto found = by_name_.find(canonical_name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<const Operator*> OperatorRegistry::all() const {
  std::vector<const Operator*> sorted;
  sorted.reserve(operators_.size());
  for (const auto& op : operators_) sorted.push_back(op.get());
  std::sort(sorted.begin(), sorted.end(),
            [](const Operator* a, const Operator* b) { return a->schema.name < b->schema.name; });
  return sorted;
}

}  // namespace tenon::graph
