// What a test that acts as a host needs: arrays, functions from text, places on disk, child processes.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tenon.hpp"

namespace tenon::tests {

// Row-major bytes of its own.
struct HostArray {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;

  HostArray() = default;
  HostArray(DType type, std::vector<int64_t> sizes) : dtype(type), dims(std::move(sizes)) {
    bytes.resize(size_t(elements() * size_bytes(dtype)));
  }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    return count;
  }
  template <typename T>
  T* as() { return reinterpret_cast<T*>(bytes.data()); }
  template <typename T>
  const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }
  Tensor tensor() const { return Tensor::lend(const_cast<uint8_t*>(bytes.data()), dtype, dims); }
};

inline HostArray copy_of(const Tensor& tensor) {
  HostArray out(tensor.dtype(), {tensor.dims().begin(), tensor.dims().end()});
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), tensor.data(), out.bytes.size());
  return out;
}

inline std::string text(const Status& status) {
  return std::string(code_name(status.code())) + ": " + std::string(status.message());
}

// A folder that goes with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tenon_system_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string write(const std::string& name, std::string_view content, bool executable = false) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << content;
    if (executable) std::filesystem::permissions(file, std::filesystem::perms::all);
    return file;
  }

 private:
  std::string path_;
};

// An environment variable set (or unset, with nullptr) while this lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) {
      had_ = true;
      old_ = old;
    }
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~ScopedVariable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

// Runs `body` in a forked child that ends without destructors; its result is the exit status. -1 when it was killed.
inline int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "child ended by signal %d\n", WTERMSIG(status));
    return -1;
  }
  return WEXITSTATUS(status);
}

struct LogLines {
  std::vector<std::string> lines;
  tenon_logger_t logger = TENON_LOGGER_INIT;

  LogLines() {
    logger.user = this;
    logger.write = [](void* user, int32_t severity, tenon_str_t message) {
      if (severity >= 1) static_cast<LogLines*>(user)->lines.emplace_back(from_c(message));
    };
  }
  LogLines(const LogLines&) = delete;
  bool mention(std::string_view word) const {
    for (const std::string& line : lines) {
      if (line.find(word) != std::string::npos) return true;
    }
    return false;
  }
  std::string all() const {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }
};

// y = softmax(x * 1.5 + 0.25, 1), with decimal points in its code; x f32[n, 33].
constexpr std::string_view kSmallGraph = R"(graph @small(%x: f32[n, 33]) -> (y: f32[n, 33]) on cpu where n in [1, 64] {
  %0 = aten.mul.Scalar(%x, 1.5) : f32[n, 33]
  %1 = aten.add.Scalar(%0, 0.25) : f32[n, 33]
  %2 = aten.softmax.int(%1, 1) : f32[n, 33]
  return %2
}
)";

inline HostArray small_input(int64_t rows = 5) {
  HostArray x(DType::kF32, {rows, 33});
  for (int64_t i = 0; i < x.elements(); ++i) x.as<float>()[i] = float((i * 37) % 101) * 0.05f - 2;
  return x;
}

// "" when `y` is the right answer of kSmallGraph.
inline std::string small_problem(const HostArray& x, const Tensor& y) {
  if (y.dims().size() != 2 || y.dims()[0] != x.dims[0] || y.dims()[1] != 33) return "wrong sizes";
  const float* found = static_cast<const float*>(y.data());
  for (int64_t row = 0; row < x.dims[0]; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 33; ++i) sum += std::exp(double(x.as<float>()[row * 33 + i]) * 1.5 + 0.25);
    for (int64_t i = 0; i < 33; ++i) {
      const double expected = std::exp(double(x.as<float>()[row * 33 + i]) * 1.5 + 0.25) / sum;
      if (!(std::abs(found[row * 33 + i] - expected) < 1e-6)) return "wrong value at " + std::to_string(row * 33 + i);
    }
  }
  return "";
}

inline Result<Function> function_of(const Context& context, std::string_view graph_text, MissPolicy policy = MissPolicy::kCompileNow) {
  TENON_TRY_ASSIGN(Graph graph, context.parse(graph_text));
  CompileOptions options;
  options.miss_policy = policy;
  return context.compile(graph, options);
}

// Makes the context, compiles and runs kSmallGraph: "" or what is wrong. `check` looks at the pieces afterwards.
inline std::string run_small(const ContextOptions& options, const std::function<void(Context&, Function&)>& check = {}) {
  auto context = Context::create(options);
  if (!context.ok()) return "context: " + text(context.status());
  auto function = function_of(*context, kSmallGraph);
  if (!function.ok()) return "compile: " + text(function.status());
  const HostArray x = small_input();
  auto y = function->run({x.tensor()});
  if (!y.ok()) return "run: " + text(y.status());
  if (check) check(*context, *function);
  return small_problem(x, (*y)[0]);
}

}  // namespace tenon::tests
