// Names of a program's results, from the structure of what the exported module returns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/status.hpp"

namespace tenon::import {

// `spec` is PyTorch's JSON of the structure ("[1, {\"type\": .., \"context\": .., \"children_spec\": [..]}]"), `count`
// the number of results. A result below a dict is named by its path, keys and positions joined by "_" ("parts_0"), all
// others "output_0", "output_1" by position. An empty spec names all by position. Errors: INVALID_ARGUMENT.
Result<std::vector<std::string>> output_names(std::string_view spec, size_t count);

}  // namespace tenon::import
