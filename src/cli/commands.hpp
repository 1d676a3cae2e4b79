// The program's commands. Each writes its answer to standard output and gives what went wrong as a status.
#pragma once

#include "model.hpp"

namespace tenon::cli {

struct RunOptions {
  ModelOptions model;
  std::vector<std::string> outputs;  // NAME=FILE or FILE
  std::string output_directory;
  int64_t repeat = 0;
  bool time = false;
  std::string save;
};
Status run_command(const RunOptions& options);

struct ExplainOptions {
  ModelOptions model;
  std::vector<std::string> what;
};
Status explain_command(const ExplainOptions& options);

struct BenchWorkerOptions {
  ModelOptions model;
  std::string shape, directory;
};
// Speaks the protocol of bench/peers/peer.py on standard input and output.
Status bench_worker_command(const BenchWorkerOptions& options);

}  // namespace tenon::cli
