// The plan as text: what `explain plan` shows and `TENON_DEBUG` dumps.
#pragma once

#include <string>
#include <vector>

#include "artifact/artifact.hpp"
#include "symbolic/expr.hpp"

namespace tenon::compile {

// `register_texts[r]`: what size register r holds ("512*s0"); registers past its end print as numbers.
std::string print_plan(const artifact::Artifact& artifact, const std::vector<std::string>& register_texts);

// Texts of all registers of a size program, with the symbols' names where they stand for themselves.
std::vector<std::string> register_texts(const artifact::Artifact& artifact);

}  // namespace tenon::compile
