// Does a section of a golden file hold?
#pragma once

#include "text/golden_file.hpp"

namespace tenon::text {

// "" when it does, else what is wrong.
std::string check_section(const std::vector<std::string>& steps, const Section& section);
// The section with the expectation that holds now (a same-as section stays).
Section updated(const std::vector<std::string>& steps, const Section& section);

}  // namespace tenon::text
