#include "support/env.hpp"

#include <unistd.h>

#include <atomic>

#include "support/format.hpp"

namespace tenon {

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string join_path(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

Status write_file_atomically(Env& env, const std::string& path, std::string_view bytes) {
  // Distinct for every thread and process on this machine; the time tells apart machines that share a directory.
  static std::atomic<uint32_t> serial{0};
  const std::string temporary = concat(path, ".", env.process_id(), "-", serial.fetch_add(1), "-",
                                       uint64_t(env.wall_ns()) % 1'000'000'000'000, ".tmp");
  Status status = env.write_file(temporary, bytes, true);
  if (status.ok()) status = env.rename_file(temporary, path);
  if (!status.ok()) (void)env.remove_file(temporary);
  return status;
}

void remove_tree(Env& env, const std::string& path) {
  const Result<std::vector<DirectoryEntry>> entries = env.list_directory(path);
  if (entries.ok()) {
    for (const DirectoryEntry& entry : *entries) {
      const std::string inner = join_path(path, entry.name);
      if (entry.identity.is_directory) remove_tree(env, inner);
      else (void)env.remove_file(inner);
    }
  }
  (void)env.remove_directory(path);
}

Result<ProcessResult> run_process(Env& env, const ProcessSpec& spec) {
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<Process> process, env.start_process(spec));
  process->poll(-1);
  return process->result();
}

}  // namespace tenon
