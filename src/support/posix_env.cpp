#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <new>

#include "support/env.hpp"
#include "support/format.hpp"
#include "support/posix_process.hpp"
#include "support/system_error.hpp"

namespace tenon {

namespace {

int open_retrying(const char* path, int flags, mode_t mode = 0) {
  int descriptor;
  do {
    descriptor = open(path, flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }
  bool ok() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

FileIdentity identity_of(const struct stat& info) {
  FileIdentity identity;
  identity.device = info.st_dev;
  identity.inode = info.st_ino;
  identity.size_bytes = uint64_t(info.st_size);
  identity.modified_ns = int64_t(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  identity.is_directory = S_ISDIR(info.st_mode);
  return identity;
}

struct LiveMappings {
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> bytes{0};
};

class PosixEnv final : public Env {
 public:
  Result<std::string> read_file(const std::string& path) override {
    const OpenFile file(open_retrying(path.c_str(), O_RDONLY));
    if (!file.ok()) return system_error(errno, "open", path);
    return read_open(file.get(), path);
  }

  Status write_file(const std::string& path, std::string_view bytes, bool durable) override {
    const OpenFile file(open_retrying(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644));
    if (!file.ok()) return system_error(errno, "create", path);
    TENON_RETURN_IF_ERROR(write_all(file.get(), bytes, path));
    if (durable && fsync(file.get()) != 0 && errno != EINVAL && errno != ENOSYS) {
      return system_error(errno, "sync", path);
    }
    return {};
  }

  Status rename_file(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) != 0) return system_error(errno, "rename to", to);
    return {};
  }

  Result<Blob> map_file(const std::string& path) override {
    const OpenFile file(open_retrying(path.c_str(), O_RDONLY));
    if (!file.ok()) return system_error(errno, "open", path);
    struct stat info;
    if (fstat(file.get(), &info) != 0) return system_error(errno, "look at", path);
    if (!S_ISREG(info.st_mode)) return invalid_argument(concat("'", path, "' is not a regular file"));
    const size_t size = size_t(info.st_size);
    if (size == 0) return Blob();
    void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) return system_error(errno, "map", path);
    mappings_.count.fetch_add(1, std::memory_order_relaxed);
    mappings_.bytes.fetch_add(size, std::memory_order_relaxed);
    std::shared_ptr<const void> owner(data, [size, live = &mappings_](const void* mapped) {
      munmap(const_cast<void*>(mapped), size);
      live->count.fetch_sub(1, std::memory_order_relaxed);
      live->bytes.fetch_sub(size, std::memory_order_relaxed);
    });
    return Blob::wrap(std::move(owner), data, size);
  }

  Result<FileIdentity> identify(const std::string& path) override {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return system_error(errno, "look at", path);
    return identity_of(info);
  }

  Result<std::vector<DirectoryEntry>> list_directory(const std::string& path) override {
    DIR* directory = opendir(path.c_str());
    if (directory == nullptr) return system_error(errno, "list", path);
    std::vector<DirectoryEntry> entries;
    while (const dirent* entry = readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat info;
      if (fstatat(dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      entries.push_back({std::string(name), identity_of(info)});
    }
    closedir(directory);
    return entries;
  }

  Status remove_file(const std::string& path) override {
    if (unlink(path.c_str()) != 0) return system_error(errno, "remove", path);
    return {};
  }

  Status remove_directory(const std::string& path) override {
    if (rmdir(path.c_str()) != 0) return system_error(errno, "remove", path);
    return {};
  }

  Status make_directories(const std::string& path) override {
    struct stat info;
    if (stat(path.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) return {};
      return system_error(ENOTDIR, "make directory", path);
    }
    for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
      // A parent that cannot be made shows up as the failure of the last step.
      mkdir(path.substr(0, at).c_str(), 0700);
    }
    if (mkdir(path.c_str(), 0700) != 0) {
      const int error_number = errno;
      if (error_number == EEXIST && stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return {};
      return system_error(error_number, "make directory", path);
    }
    return {};
  }

  Result<std::string> make_temp_directory(const std::string& parent) override {
    std::string path = join_path(parent, "tenon-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return system_error(errno, "make a directory in", parent);
    return path;
  }

  Status touch_file(const std::string& path) override {
    if (utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0) return system_error(errno, "touch", path);
    return {};
  }

  bool is_executable(const std::string& path) override {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
  }

  Result<std::string> resolve_links(const std::string& path) override {
    char* resolved = realpath(path.c_str(), nullptr);
    if (resolved == nullptr) return system_error(errno, "resolve", path);
    std::string result(resolved);
    std::free(resolved);
    return result;
  }

  Result<std::unique_ptr<MemoryFile>> make_memory_file() override { return make_posix_memory_file(); }

  Result<std::string> read_memory_file(const MemoryFile& file) override {
    if (lseek(file.descriptor(), 0, SEEK_SET) != 0) return system_error(errno, "rewind", "memory file");
    return read_open(file.descriptor(), "memory file");
  }

  Result<std::unique_ptr<Process>> start_process(const ProcessSpec& spec) override {
    return start_posix_process(spec);
  }

  int64_t now_ns() override { return clock_ns(CLOCK_MONOTONIC); }
  int64_t wall_ns() override { return clock_ns(CLOCK_REALTIME); }

  void sleep_ns(int64_t duration_ns) override {
    if (duration_ns <= 0) return;
    timespec time{time_t(duration_ns / 1'000'000'000), long(duration_ns % 1'000'000'000)};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
  }

  std::optional<std::string> variable(const std::string& name) override {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  }

  uint32_t process_id() override { return uint32_t(getpid()); }
  uint32_t user_id() override { return uint32_t(geteuid()); }

  MappingCounters mapping_counters() override {
    return {mappings_.count.load(std::memory_order_relaxed), mappings_.bytes.load(std::memory_order_relaxed)};
  }

 private:
  static int64_t clock_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  static Result<std::string> read_open(int descriptor, const std::string& path) {
    std::string bytes;
    struct stat info;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) bytes.reserve(size_t(info.st_size) + 1);
    size_t filled = 0;
    for (;;) {
      bytes.resize(std::max(filled + 4096, bytes.capacity()));
      const ssize_t got = read(descriptor, bytes.data() + filled, bytes.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(errno, "read", path);
      if (got == 0) break;
      filled += size_t(got);
    }
    bytes.resize(filled);
    return bytes;
  }

  LiveMappings mappings_;
};

}  // namespace

Env& posix_env() {
  // Never destroyed, since blobs may outlive static destructors; not on the heap, so that unloading leaks nothing.
  alignas(PosixEnv) static unsigned char storage[sizeof(PosixEnv)];
  static PosixEnv* env = new (storage) PosixEnv;
  return *env;
}

}  // namespace tenon
