#include "toolchain/disk_cache.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "support/format.hpp"
#include "toolchain/cache_entry.hpp"

namespace tenon::toolchain {

namespace {

constexpr std::string_view kSuffix = ".tn";
constexpr int64_t kTouchAfterNs = 60'000'000'000;
// A temporary file this old belongs to nobody who still writes it.
constexpr int64_t kStaleTemporaryNs = 3'600'000'000'000;
// Larger entries are mapped, smaller ones are cheaper to read.
constexpr uint64_t kMapFromBytes = uint64_t(1) << 20;
// A cache looks at its whole size after it has written this much itself.
constexpr uint64_t kScanAfterBytes = uint64_t(16) << 20;

class Counters {
 public:
  std::atomic<uint64_t> hits{0}, misses{0}, writes{0}, errors{0}, evictions{0};
  CacheCounters snapshot() const { return {hits, misses, writes, errors, evictions}; }
};

class NoCache final : public Cache {
 public:
  NoCache() { counters_.errors = 1; }  // that there is no place for one
  std::optional<Blob> get(const Fingerprint&) override {
    ++counters_.misses;
    return std::nullopt;
  }
  void put(const Fingerprint&, std::string_view) override {}
  CacheCounters counters() const override { return counters_.snapshot(); }

 private:
  Counters counters_;
};

class DiskCache final : public Cache {
 public:
  DiskCache(Env& env, std::string directory, const DiskCacheOptions& options)
      : env_(env), directory_(std::move(directory)), quota_bytes_(options.quota_bytes), logger_(options.logger) {}

  std::optional<Blob> get(const Fingerprint& key) override {
    const std::string path = path_of(key);
    const Result<FileIdentity> file = env_.identify(path);
    Result<Blob> entry = file.ok() ? read(path, file->size_bytes) : Result<Blob>(file.status());
    if (!entry.ok()) {
      if (entry.status().code() != Code::kNotFound) report(entry.status());
      return miss();
    }
    if (!verify_cache_entry(key, entry->text())) {
      report(data_loss(concat("cache entry '", path, "' is damaged")));
      (void)env_.remove_file(path);
      return miss();
    }
    ++counters_.hits;
    // Its time is what eviction goes by. A cache that we may only read is fine too.
    if (env_.wall_ns() - file->modified_ns > kTouchAfterNs) (void)env_.touch_file(path);
    return entry->slice(kCacheEntryHeaderBytes, entry->size());
  }

  void put(const Fingerprint& key, std::string_view bytes) override {
    const uint64_t size = bytes.size() + kCacheEntryHeaderBytes;
    if (size > quota_bytes_ || read_only_.load(std::memory_order_relaxed)) return;
    const std::string path = path_of(key);
    const std::string entry = frame_cache_entry(key, bytes);
    Status status = write_file_atomically(env_, path, entry);
    if (status.code() == Code::kNotFound) {
      // The first of its folder, or somebody deleted the folder.
      status = env_.make_directories(path.substr(0, path.rfind('/')));
      if (status.ok()) status = write_file_atomically(env_, path, entry);
    }
    if (!status.ok()) {
      if (status.code() == Code::kPermissionDenied) read_only_.store(true, std::memory_order_relaxed);
      report(status);
      return;
    }
    ++counters_.writes;
    if (grew_enough(size)) evict();
  }

  CacheCounters counters() const override { return counters_.snapshot(); }

 private:
  struct Entry {
    std::string path;
    uint64_t size_bytes = 0;
    int64_t modified_ns = 0;
  };

  std::string path_of(const Fingerprint& key) const {
    const std::string hex = key.hex();
    return concat(directory_, "/", hex.substr(0, 2), "/", hex.substr(2), kSuffix);
  }

  Result<Blob> read(const std::string& path, uint64_t size_bytes) {
    if (size_bytes >= kMapFromBytes) return env_.map_file(path);
    TENON_ASSIGN_OR_RETURN(std::string bytes, env_.read_file(path));
    return Blob::own(std::move(bytes));
  }

  std::optional<Blob> miss() {
    ++counters_.misses;
    return std::nullopt;
  }

  // Every error is counted, the first one is told.
  void report(const Status& status) {
    if (counters_.errors.fetch_add(1) != 0) return;
    logger_.write(Severity::kWarning, "cache in '", directory_, "' is of limited use: ", status.message());
  }

  bool grew_enough(uint64_t size_bytes) {
    const uint64_t threshold = std::min(kScanAfterBytes, quota_bytes_ / 8);
    const uint64_t before = written_bytes_.fetch_add(size_bytes);
    if (before + size_bytes < threshold) return false;
    written_bytes_.store(0);
    return true;
  }

  // Removes the entries used longest ago until a tenth of the quota is free. Others may do the same at the same time.
  void evict() {
    const std::unique_lock lock(evicting_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    std::vector<Entry> entries;
    const Result<std::vector<DirectoryEntry>> folders = env_.list_directory(directory_);
    if (!folders.ok()) return report(folders.status());
    for (const DirectoryEntry& folder : *folders) {
      if (folder.identity.is_directory && folder.name.size() == 2) list_folder(join_path(directory_, folder.name), entries);
    }
    uint64_t total = 0;
    for (const Entry& entry : entries) total += entry.size_bytes;
    if (total <= quota_bytes_) return;
    const auto older = [](const Entry& left, const Entry& right) {
      return std::pair(left.modified_ns, left.path) < std::pair(right.modified_ns, right.path);
    };
    std::sort(entries.begin(), entries.end(), older);
    for (const Entry& entry : entries) {
      if (total <= quota_bytes_ - quota_bytes_ / 10) break;
      total -= entry.size_bytes;
      const Status status = env_.remove_file(entry.path);
      if (status.ok()) ++counters_.evictions;
      else if (status.code() != Code::kNotFound) report(status);
    }
  }

  void list_folder(const std::string& folder, std::vector<Entry>& entries) {
    const Result<std::vector<DirectoryEntry>> files = env_.list_directory(folder);
    if (!files.ok()) {
      if (files.status().code() != Code::kNotFound) report(files.status());
      return;
    }
    for (const DirectoryEntry& file : *files) {
      const std::string path = join_path(folder, file.name);
      if (file.name.ends_with(kSuffix)) {
        entries.push_back({path, file.identity.size_bytes, file.identity.modified_ns});
      } else if (file.name.ends_with(".tmp") && env_.wall_ns() - file.identity.modified_ns > kStaleTemporaryNs) {
        (void)env_.remove_file(path);  // of a writer that was killed
      }
    }
  }

  Env& env_;
  const std::string directory_;
  const uint64_t quota_bytes_;
  const Logger logger_;
  Counters counters_;
  std::atomic<uint64_t> written_bytes_{0};
  std::atomic<bool> read_only_{false};
  std::mutex evicting_;
};

class StoreCache final : public Cache {
 public:
  StoreCache(const CacheStore& store, const Logger& logger) : store_(store), logger_(logger) {}

  std::optional<Blob> get(const Fingerprint& key) override {
    std::string entry;
    const auto sink = [](void* out, std::string_view piece) { static_cast<std::string*>(out)->append(piece); };
    if (store_.get == nullptr || !store_.get(store_.user, key.hex(), sink, &entry)) {
      ++counters_.misses;
      return std::nullopt;
    }
    if (!verify_cache_entry(key, entry)) {
      if (counters_.errors.fetch_add(1) == 0) {
        logger_.write(Severity::kWarning, "the host's cache store returned a damaged entry for ", key.hex());
      }
      ++counters_.misses;
      return std::nullopt;
    }
    ++counters_.hits;
    return Blob::own(std::move(entry)).slice(kCacheEntryHeaderBytes, SIZE_MAX);
  }

  void put(const Fingerprint& key, std::string_view bytes) override {
    if (store_.put == nullptr) return;
    store_.put(store_.user, key.hex(), frame_cache_entry(key, bytes));
    ++counters_.writes;
  }

  CacheCounters counters() const override { return counters_.snapshot(); }

 private:
  const CacheStore store_;
  const Logger logger_;
  Counters counters_;
};

}  // namespace

std::string find_cache_directory(Env& env, const std::string& option) {
  std::vector<std::string> candidates;
  if (!option.empty()) {
    candidates = {option};
  } else {
    const auto propose = [&](const char* variable, std::string_view below) {
      const std::optional<std::string> value = env.variable(variable);
      // Relative places would move with the working directory.
      if (value && value->starts_with('/')) candidates.push_back(below.empty() ? *value : join_path(*value, below));
    };
    propose("TENON_CACHE_DIR", "");
    propose("XDG_CACHE_HOME", "tenon");
    propose("HOME", ".cache/tenon");
  }
  for (const std::string& candidate : candidates) {
    if (env.make_directories(candidate).ok()) return candidate;
  }
  return "";
}

std::unique_ptr<Cache> open_disk_cache(Env& env, const DiskCacheOptions& options) {
  std::string directory = find_cache_directory(env, options.directory);
  if (directory.empty()) {
    options.logger.write(Severity::kWarning, "no directory for a cache",
                         options.directory.empty() ? "" : concat(" at '", options.directory, "'"),
                         ": compiled code is not kept");
    return std::make_unique<NoCache>();
  }
  return std::make_unique<DiskCache>(env, std::move(directory), options);
}

std::unique_ptr<Cache> open_store_cache(const CacheStore& store, const Logger& logger) {
  return std::make_unique<StoreCache>(store, logger);
}

}  // namespace tenon::toolchain
