// Starts the program with a standard input, and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace tenon::testing {

struct Ran {
  int exit_status = -1;
  std::string out, err;  // with a terminal, `out` has both
};

struct ProgramOptions {
  std::string input;
  bool terminal = false;                 // a pseudo terminal for all three streams
  std::vector<std::string> environment;  // NAME=VALUE, added
};

Ran run_program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

}  // namespace tenon::testing
