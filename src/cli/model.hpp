// What a command line says about a model, and the model opened.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "npy_file.hpp"
#include "tenon/tenon.hpp"

namespace tenon::cli {

struct ModelOptions {
  std::string path;
  uint32_t threads = 0;
  std::string policy = "now";  // now, behind, vm
  std::string isa, cache_directory, disabled_passes;
  bool no_cache = false;
  std::vector<std::string> inputs;  // NAME=FILE or FILE
  std::vector<std::string> dims;    // SYMBOL=N or INPUT.AXIS=N
  std::string fill = "random";      // random, zeros, ones
  uint64_t seed = 1;
  bool quiet = false;
};

struct Model {
  Context context;
  Function function;
};

// A .pt2 archive, a package that Function::save wrote (.tenon), or a graph as text (anything else).
Result<Model> open_model(const ModelOptions& options);

// One array an input, in the function's order: read, or made by the dims and the fill. Sizes that are symbols are shared by
// all inputs, so one file is often enough.
Result<std::vector<Array>> make_inputs(const Function& function, const ModelOptions& options);

// "f32[batch, 64]"
std::string describe(const Type& type, const Function& function);
std::string describe(const Tensor& tensor);
// Inputs, outputs and symbols, one a line.
Result<std::string> describe_interface(const Function& function);

}  // namespace tenon::cli
