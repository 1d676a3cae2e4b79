// The seam to the operating system: files, processes, clock, environment. Everything that can fail outside of our
// control goes through an Env, so that tests make it fail at the k-th call. All methods may be called from any thread.
// Paths are bytes as the kernel takes them; nothing here goes through a shell. File descriptors are close-on-exec.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.hpp"
#include "support/status.hpp"

namespace tenon {

// What tells one version of a file from another without reading it.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;  // since the epoch
  bool is_directory = false;
  bool operator==(const FileIdentity&) const = default;
};

struct DirectoryEntry {
  std::string name;  // without the directory
  FileIdentity identity;
};

// Unnamed memory that a child process can use as a file, for when no directory is writable. Closed on destruction.
class MemoryFile {
 public:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

struct ProcessSpec {
  std::vector<std::string> arguments;         // [0] is the program's path
  std::string directory;                      // "" keeps ours
  std::vector<std::string> environment;       // "NAME=value", all the child gets
  std::string input;                          // what the child reads as standard input
  std::vector<const MemoryFile*> files;       // files[i] is the child's descriptor 3 + i; everything above is closed
  int64_t timeout_ns = 0;                     // then the whole process group is killed; 0: none
  uint64_t memory_limit_bytes = 0;            // of address space; 0: none
  size_t output_limit_bytes = size_t(64) << 10;  // kept of each of output and errors; the rest is read and dropped
};

struct ProcessResult {
  int exit_code = -1;      // valid when `exited`
  int signal = 0;          // that ended it, else 0
  bool exited = false;     // false with signal 0: the host reaped our child, its code is unknown
  bool timed_out = false;
  std::string output;
  std::string errors;
};

// A running child. One thread at a time. The destructor kills the process group and reaps the child.
class Process {
 public:
  virtual ~Process() = default;
  // Reads what the child wrote, enforces the time limit, waits at most `wait_ns` (negative: until it ends).
  // True when the child has ended and `result` is complete.
  virtual bool poll(int64_t wait_ns) = 0;
  virtual const ProcessResult& result() const = 0;
  virtual void kill() = 0;
};

struct MappingCounters {
  uint64_t mappings = 0;
  uint64_t bytes = 0;
};

class Env {
 public:
  virtual ~Env() = default;

  virtual Result<std::string> read_file(const std::string& path) = 0;
  // Creates or truncates; with `durable` the bytes are on the disk when this returns.
  virtual Status write_file(const std::string& path, std::string_view bytes, bool durable) = 0;
  // Replaces `to` atomically.
  virtual Status rename_file(const std::string& from, const std::string& to) = 0;
  virtual Result<Blob> map_file(const std::string& path) = 0;  // read-only, shared; an empty file gives an empty Blob
  virtual Result<FileIdentity> identify(const std::string& path) = 0;  // follows links
  virtual Result<std::vector<DirectoryEntry>> list_directory(const std::string& path) = 0;  // files that vanish are left out
  virtual Status remove_file(const std::string& path) = 0;
  virtual Status remove_directory(const std::string& path) = 0;  // an empty one
  virtual Status make_directories(const std::string& path) = 0;  // with parents; fine when it is there; mode 0700
  virtual Result<std::string> make_temp_directory(const std::string& parent) = 0;  // a new one, mode 0700
  virtual Status touch_file(const std::string& path) = 0;  // modification time = now
  virtual bool is_executable(const std::string& path) = 0;  // a file we may run
  virtual Result<std::string> resolve_links(const std::string& path) = 0;  // absolute, without links

  virtual Result<std::unique_ptr<MemoryFile>> make_memory_file() = 0;
  virtual Result<std::string> read_memory_file(const MemoryFile& file) = 0;

  virtual Result<std::unique_ptr<Process>> start_process(const ProcessSpec& spec) = 0;

  virtual int64_t now_ns() = 0;       // monotonic
  virtual int64_t wall_ns() = 0;      // since the epoch
  virtual void sleep_ns(int64_t duration_ns) = 0;
  virtual std::optional<std::string> variable(const std::string& name) = 0;  // of the environment
  virtual uint32_t process_id() = 0;
  virtual uint32_t user_id() = 0;

  // Mappings made by map_file and still held by some Blob.
  virtual MappingCounters mapping_counters() = 0;
};

// The real one; lives as long as the process.
Env& posix_env();

// Write to a temporary name beside `path`, make it durable, rename. Readers see all of it or nothing of it.
Status write_file_atomically(Env& env, const std::string& path, std::string_view bytes);
// Removes a directory tree, as far as it goes; does not follow links.
void remove_tree(Env& env, const std::string& path);
// Runs to the end.
Result<ProcessResult> run_process(Env& env, const ProcessSpec& spec);

std::string join_path(std::string_view directory, std::string_view name);

}  // namespace tenon
