// Child processes of posix_env.cpp.
#pragma once

#include <memory>

#include "support/env.hpp"

namespace tenon {

Result<std::unique_ptr<Process>> start_posix_process(const ProcessSpec& spec);
// An unnamed file in memory, its descriptor above those that a child uses.
Result<std::unique_ptr<MemoryFile>> make_posix_memory_file();
Status write_all(int descriptor, std::string_view bytes, std::string_view path);

}  // namespace tenon
