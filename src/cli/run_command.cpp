#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "commands.hpp"
#include "progress.hpp"

namespace tenon::cli {

namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

constexpr int64_t kShown = 6;

std::string first_values(const Tensor& tensor) {
  std::string out;
  const int64_t count = tensor.elements();
  for (int64_t i = 0; i < std::min(count, kShown); ++i) out += fmt::format(" {:.6g}", element(tensor, i));
  return count > kShown ? out + " ..." : out;
}

// Where each output goes; "" nowhere.
Result<std::vector<std::string>> output_paths(const Function& function, const RunOptions& options) {
  std::vector<std::string> paths(function.outputs());
  if (!options.output_directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.output_directory, error);
    if (error) return Status(Code::kUnavailable, fmt::format("{}: {}", options.output_directory, error.message()));
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    TENON_TRY_ASSIGN(const Function::Argument output, function.output(i));
    if (!options.output_directory.empty()) paths[i] = fmt::format("{}/{}.npy", options.output_directory, output.name);
    for (const std::string& text : options.outputs) {
      if (text.starts_with(output.name + "=")) paths[i] = text.substr(output.name.size() + 1);
    }
  }
  // A file alone goes to the first output without one.
  for (const std::string& text : options.outputs) {
    if (std::any_of(paths.begin(), paths.end(), [&](const std::string& path) { return !path.empty() && text.ends_with("=" + path); })) continue;
    const auto place = std::find(paths.begin(), paths.end(), "");
    if (text.find('=') != std::string::npos || place == paths.end()) {
      TENON_TRY_ASSIGN(const std::string interface, describe_interface(function));
      return Status(Code::kNotFound, fmt::format("--output {}: no output left for it; the model has\n{}", text, interface));
    }
    *place = text;
  }
  return paths;
}

}  // namespace

Status run_command(const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  TENON_TRY_ASSIGN(Model model, open_model(options.model));
  Function& function = model.function;
  const double loaded_ms = ms_since(start);
  TENON_TRY_ASSIGN(std::vector<Array> arrays, make_inputs(function, options.model));
  TENON_TRY_ASSIGN(const std::vector<std::string> paths, output_paths(function, options));
  std::vector<Tensor> inputs;
  for (Array& array : arrays) inputs.push_back(array.tensor());

  const auto before_compile = std::chrono::steady_clock::now();
  if (options.model.policy == "now") {
    const Progress progress(function, !options.model.quiet);
    TENON_TRY(function.prepare(inputs));
  }
  const double compiled_ms = ms_since(before_compile);
  const auto before_run = std::chrono::steady_clock::now();
  TENON_TRY_ASSIGN(const std::vector<Tensor> outputs, function.run(inputs));
  const double first_ms = ms_since(before_run);

  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!paths[i].empty()) TENON_TRY(write_npy(paths[i], outputs[i]));
    if (options.model.quiet) continue;
    TENON_TRY_ASSIGN(const Function::Argument output, function.output(i));
    fmt::print("{} {} ={}{}\n", output.name, describe(outputs[i]), first_values(outputs[i]),
               paths[i].empty() ? "" : fmt::format(" -> {}", paths[i]));
  }
  if (!options.save.empty()) TENON_TRY(function.save(options.save));

  std::vector<double> times;
  if (options.repeat > 0) {
    TENON_TRY_ASSIGN(Call call, function.call());
    for (size_t i = 0; i < inputs.size(); ++i) TENON_TRY(call.bind_input(i, inputs[i]));
    for (int64_t i = 0; i < options.repeat; ++i) {
      const auto before = std::chrono::steady_clock::now();
      TENON_TRY(call.run());
      times.push_back(ms_since(before));
    }
    std::sort(times.begin(), times.end());
  }
  if (options.time) {
    fmt::print("load {:.3f} ms, compile {:.3f} ms, first run {:.3f} ms\n", loaded_ms, compiled_ms, first_ms);
    if (!times.empty()) {
      TENON_TRY_ASSIGN(const int64_t threads, model.context.counter("threads"));
      fmt::print("{} runs with {} thread(s): fastest {:.3f} ms, median {:.3f} ms, slowest {:.3f} ms\n", times.size(), threads,
                 times.front(), times[times.size() / 2], times.back());
    }
    TENON_TRY_ASSIGN(std::string counters, function.explain("counters"));
    std::replace(counters.begin(), counters.end(), '\n', ';');
    fmt::print("counters: {}\n", counters);
  }
  // Nothing is silently slower.
  TENON_TRY_ASSIGN(const int64_t fallbacks, function.counter("fallbacks"));
  if (fallbacks > 0) fmt::print(stderr, "tenon: {} kernel(s) could not be compiled and run on the vm\n", fallbacks);
  return {};
}

}  // namespace tenon::cli
