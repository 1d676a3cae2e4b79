// Wraps an Env and makes chosen calls fail: the k-th one, or those that a function picks.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string_view>

#include "support/env.hpp"

namespace tenon::tests {

class FaultyEnv : public Env {
 public:
  explicit FaultyEnv(Env& real) : real_(real) {}

  // The k-th fallible call from now on (1 is the next one) fails with `code`; 0: none. Resets `calls`.
  void fail_call(uint64_t k, Code code = Code::kUnavailable) {
    calls_ = 0;
    for_ever_ = false;
    fail_at_ = k;
    code_ = code;
  }
  // From the k-th call on all fail.
  void fail_from(uint64_t k, Code code = Code::kUnavailable) {
    fail_call(k, code);
    for_ever_ = true;
  }
  uint64_t calls() const { return calls_; }
  // operation: the method's name.
  std::function<bool(std::string_view operation, const std::string& path)> fails;
  Code fails_code = Code::kResourceExhausted;
  // Replace (or, with nothing, hide) variables of the environment.
  std::map<std::string, std::optional<std::string>> variables;

  Result<std::string> read_file(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("read_file", path));
    return real_.read_file(path);
  }
  // A failing write leaves half of the file behind, as a full disk does.
  Status write_file(const std::string& path, std::string_view bytes, bool durable) override {
    const Status status = check("write_file", path);
    if (!status.ok()) {
      (void)real_.write_file(path, bytes.substr(0, bytes.size() / 2), false);
      return status;
    }
    return real_.write_file(path, bytes, durable);
  }
  Status rename_file(const std::string& from, const std::string& to) override {
    TENON_RETURN_IF_ERROR(check("rename_file", from));
    return real_.rename_file(from, to);
  }
  Result<Blob> map_file(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("map_file", path));
    return real_.map_file(path);
  }
  Result<FileIdentity> identify(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("identify", path));
    return real_.identify(path);
  }
  Result<std::vector<DirectoryEntry>> list_directory(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("list_directory", path));
    return real_.list_directory(path);
  }
  Status remove_file(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("remove_file", path));
    return real_.remove_file(path);
  }
  Status remove_directory(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("remove_directory", path));
    return real_.remove_directory(path);
  }
  Status make_directories(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("make_directories", path));
    return real_.make_directories(path);
  }
  Result<std::string> make_temp_directory(const std::string& parent) override {
    TENON_RETURN_IF_ERROR(check("make_temp_directory", parent));
    return real_.make_temp_directory(parent);
  }
  Status touch_file(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("touch_file", path));
    return real_.touch_file(path);
  }
  bool is_executable(const std::string& path) override {
    return check("is_executable", path).ok() && real_.is_executable(path);
  }
  Result<std::string> resolve_links(const std::string& path) override {
    TENON_RETURN_IF_ERROR(check("resolve_links", path));
    return real_.resolve_links(path);
  }
  Result<std::unique_ptr<MemoryFile>> make_memory_file() override {
    TENON_RETURN_IF_ERROR(check("make_memory_file", ""));
    return real_.make_memory_file();
  }
  Result<std::string> read_memory_file(const MemoryFile& file) override {
    TENON_RETURN_IF_ERROR(check("read_memory_file", ""));
    return real_.read_memory_file(file);
  }
  Result<std::unique_ptr<Process>> start_process(const ProcessSpec& spec) override {
    TENON_RETURN_IF_ERROR(check("start_process", spec.arguments[0]));
    return real_.start_process(spec);
  }
  int64_t now_ns() override { return real_.now_ns(); }
  int64_t wall_ns() override { return real_.wall_ns() + wall_offset_ns; }
  void sleep_ns(int64_t duration_ns) override { real_.sleep_ns(duration_ns); }
  std::optional<std::string> variable(const std::string& name) override {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : real_.variable(name);
  }
  uint32_t process_id() override { return real_.process_id(); }
  uint32_t user_id() override { return real_.user_id(); }
  MappingCounters mapping_counters() override { return real_.mapping_counters(); }

  int64_t wall_offset_ns = 0;

 private:
  Status check(std::string_view operation, const std::string& path) {
    const uint64_t call = ++calls_;
    if (fail_at_ != 0 && (call == fail_at_ || (for_ever_ && call > fail_at_))) return Status(code_, "injected failure");
    if (fails && fails(operation, path)) return Status(fails_code, "injected failure");
    return {};
  }

  Env& real_;
  std::atomic<uint64_t> calls_{0};
  uint64_t fail_at_ = 0;
  bool for_ever_ = false;
  Code code_ = Code::kUnavailable;
};

// A directory that goes with the object.
class TempDirectory {
 public:
  explicit TempDirectory(const char* parent = "/tmp") : path_(*posix_env().make_temp_directory(parent)) {}
  // Where syncing costs nothing, for tests that write a lot.
  static const char* in_memory() { return posix_env().identify("/dev/shm").ok() ? "/dev/shm" : "/tmp"; }
  ~TempDirectory() { remove_tree(posix_env(), path_); }
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return join_path(path_, name); }

 private:
  std::string path_;
};

}  // namespace tenon::tests
