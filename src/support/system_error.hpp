// errno as a Status: codes by meaning, text in English whatever the locale.
#pragma once

#include <string_view>

#include "support/status.hpp"

namespace tenon {

// "write '/a/b': No space left on device", with the fields "path" and "errno".
Status system_error(int error_number, std::string_view action, std::string_view path);

}  // namespace tenon
