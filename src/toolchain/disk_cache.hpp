// Compiled things by content. A cache never fails: what cannot be read is a miss, what cannot be written is not
// kept, and both are counted and told once. Safe with many threads, many processes, and with files that vanish.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/blob.hpp"
#include "support/env.hpp"
#include "support/fingerprint.hpp"
#include "support/log.hpp"

namespace tenon::toolchain {

struct CacheCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t writes = 0;
  uint64_t errors = 0;     // I/O errors and damaged entries
  uint64_t evictions = 0;
};

// Thread-safe.
class Cache {
 public:
  virtual ~Cache() = default;
  virtual std::optional<Blob> get(const Fingerprint& key) = 0;
  virtual void put(const Fingerprint& key, std::string_view bytes) = 0;
  virtual CacheCounters counters() const = 0;
};

struct DiskCacheOptions {
  std::string directory;  // "" asks $TENON_CACHE_DIR, then $XDG_CACHE_HOME/tenon, $HOME/.cache/tenon
  uint64_t quota_bytes = uint64_t(2) << 30;
  Logger logger = {};
};

// Entries are files `<directory>/<2 hex digits>/<30 hex digits>.tn`: a header with the key, size and checksum, then the
// bytes. Never null: without a usable directory it is a cache that holds nothing. `env` must outlive it.
std::unique_ptr<Cache> open_disk_cache(Env& env, const DiskCacheOptions& options);
// The directory that open_disk_cache would use; "" when there is none.
std::string find_cache_directory(Env& env, const std::string& option);

// A store of the host's (tenon_cache_store_t). Entries are framed and verified in the same way as files.
struct CacheStore {
  void* user = nullptr;
  // Hands the entry's bytes to `sink`, in one or more pieces; false when it has none.
  bool (*get)(void* user, std::string_view key, void (*sink)(void* sink_user, std::string_view piece), void* sink_user) =
      nullptr;
  void (*put)(void* user, std::string_view key, std::string_view bytes) = nullptr;
};
std::unique_ptr<Cache> open_store_cache(const CacheStore& store, const Logger& logger = {});

}  // namespace tenon::toolchain
