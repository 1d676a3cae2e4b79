#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "commands.hpp"

namespace tenon::cli {

namespace {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 32) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void reply(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// "1x16" names the sizes of each input's axes in order; DIR holds in0.npy, in1.npy ... or NAME.npy.
Status find_inputs(const Function& function, const BenchWorkerOptions& options, ModelOptions* out) {
  for (size_t i = 0; i < function.inputs(); ++i) {
    TENON_TRY_ASSIGN(const Function::Argument input, function.input(i));
    if (!options.directory.empty()) {
      std::string path = fmt::format("{}/{}.npy", options.directory, input.name);
      if (!std::filesystem::exists(path)) path = fmt::format("{}/in{}.npy", options.directory, i);
      out->inputs.push_back(fmt::format("{}={}", input.name, path));
      continue;
    }
    std::string_view rest = options.shape;
    for (size_t axis = 0; axis < input.type.dims.size() && !rest.empty(); ++axis) {
      const std::string_view size = rest.substr(0, rest.find('x'));
      rest.remove_prefix(std::min(rest.size(), size.size() + 1));
      if (input.type.dims[axis] < 0) out->dims.push_back(fmt::format("{}.{}={}", input.name, axis, size));
    }
  }
  return {};
}

}  // namespace

Status bench_worker_command(const BenchWorkerOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  TENON_TRY_ASSIGN(Model model, open_model(options.model));
  const double ready = seconds_since(start);
  ModelOptions with_inputs = options.model;
  TENON_TRY(find_inputs(model.function, options, &with_inputs));
  TENON_TRY_ASSIGN(std::vector<Array> arrays, make_inputs(model.function, with_inputs));

  TENON_TRY_ASSIGN(Call call, model.function.call());
  for (size_t i = 0; i < arrays.size(); ++i) TENON_TRY(call.bind_input(i, arrays[i].tensor()));
  const auto before_first = std::chrono::steady_clock::now();
  TENON_TRY(call.run());
  const double first = seconds_since(before_first);
  TENON_TRY_ASSIGN(const int64_t threads, model.context.counter("threads"));
  TENON_TRY_ASSIGN(const int64_t tier, model.function.counter("tier"));
  TENON_TRY_ASSIGN(const int64_t fallbacks, model.function.counter("fallbacks"));
  TENON_TRY_ASSIGN(const int64_t compile_ns, model.function.counter("compile_ns"));
  reply(fmt::format("{{\"peer\": \"tenon\", \"model\": {}, \"shape\": {}, \"threads\": {}, \"ready\": {:.6f}, \"first\": {:.6f}, "
                    "\"pipeline\": {:.6f}, \"tier\": {}, \"fallbacks\": {}}}",
                    json_string(options.model.path), json_string(options.shape), threads, ready, first, double(compile_ns) * 1e-9, tier, fallbacks));
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "quit") break;
    int64_t count = -1;
    if (line.starts_with("run ")) std::from_chars(line.data() + 4, line.data() + line.size(), count);
    if (count < 0) {
      reply(fmt::format("{{\"error\": {}}}", json_string(fmt::format("expected 'run N' or 'quit', got '{}'", line))));
      continue;
    }
    std::string times;
    for (int64_t i = 0; i < count; ++i) {
      const auto before = std::chrono::steady_clock::now();
      TENON_TRY(call.run());
      times += fmt::format("{}{:.6f}", i == 0 ? "" : ", ", seconds_since(before) * 1e3);
    }
    reply(fmt::format("[{}]", times));
  }
  return {};
}

}  // namespace tenon::cli
