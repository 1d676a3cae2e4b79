#include "toolchain/disk_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>
#include <thread>

#include "support/faulty_env.hpp"
#include "support/format.hpp"
#include "toolchain/cache_entry.hpp"

namespace tenon::toolchain {
namespace {

using tests::FaultyEnv;
using tests::TempDirectory;

Fingerprint key_of(int number) { return FingerprintBuilder().add(number).finish(); }
// Contents follow from the key, so that any reader can tell.
std::string value_of(int number, size_t size = 1000) {
  std::string bytes = concat("entry ", number, " ");
  while (bytes.size() < size) bytes += char('a' + bytes.size() * size_t(number + 1) % 26);
  return bytes;
}

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> files;
  const auto entries = posix_env().list_directory(directory);
  if (!entries.ok()) return files;
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = join_path(directory, entry.name);
    if (!entry.identity.is_directory) files.push_back(path);
    else for (std::string& inner : files_in(path)) files.push_back(std::move(inner));
  }
  return files;
}

uint64_t bytes_in(const std::string& directory) {
  uint64_t total = 0;
  for (const std::string& file : files_in(directory)) total += posix_env().identify(file)->size_bytes;
  return total;
}

struct Messages {
  std::vector<std::string> lines;
  Logger logger() {
    return Logger([](void* user, Severity, std::string_view text) { static_cast<Messages*>(user)->lines.emplace_back(text); },
                  this, Severity::kDebug);
  }
};

TEST(DiskCache, KeepsEntriesAcrossObjects) {
  TempDirectory temp;
  const std::string big = value_of(2, 3 << 20);  // mapped
  {
    const auto cache = open_disk_cache(posix_env(), {.directory = temp.path()});
    EXPECT_FALSE(cache->get(key_of(1)).has_value());
    cache->put(key_of(1), value_of(1));
    cache->put(key_of(2), big);
    cache->put(key_of(3), "");
    EXPECT_EQ(cache->get(key_of(1))->text(), value_of(1));
    EXPECT_EQ(cache->counters().hits, 1u);
    EXPECT_EQ(cache->counters().misses, 1u);
    EXPECT_EQ(cache->counters().writes, 3u);
  }
  const auto cache = open_disk_cache(posix_env(), {.directory = temp.path()});
  EXPECT_EQ(cache->get(key_of(1))->text(), value_of(1));
  const Blob mapped = *cache->get(key_of(2));
  EXPECT_EQ(mapped.text(), big);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped.data()) % 64, 0u);
  EXPECT_TRUE(cache->get(key_of(3))->empty());
  cache->put(key_of(1), "new");
  EXPECT_EQ(cache->get(key_of(1))->text(), "new");
  EXPECT_EQ(files_in(temp.path()).size(), 3u);
  EXPECT_EQ(cache->counters().errors, 0u);
}

TEST(DiskCache, AnyDamageIsAMissAndTheEntryGoes) {
  TempDirectory temp;
  const auto cache = open_disk_cache(posix_env(), {.directory = temp.path()});
  cache->put(key_of(1), value_of(1, 200));
  const std::string path = files_in(temp.path()).at(0);
  const std::string whole = *posix_env().read_file(path);
  uint64_t errors = 0;
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string damaged = whole;
    damaged[byte] = char(damaged[byte] ^ (1 << byte % 8));
    ASSERT_TRUE(posix_env().write_file(path, damaged, false).ok());
    ASSERT_FALSE(cache->get(key_of(1)).has_value()) << byte;
    ASSERT_EQ(cache->counters().errors, ++errors);
    ASSERT_TRUE(files_in(temp.path()).empty());
  }
  for (const size_t size : {size_t(0), size_t(1), size_t(63), size_t(64), whole.size() - 1}) {
    ASSERT_TRUE(posix_env().write_file(path, whole.substr(0, size), false).ok());
    EXPECT_FALSE(cache->get(key_of(1)).has_value()) << size;
  }
  ASSERT_TRUE(posix_env().write_file(path, whole + "x", false).ok());
  EXPECT_FALSE(cache->get(key_of(1)).has_value());
  // A whole entry under another entry's name.
  cache->put(key_of(2), value_of(2));
  ASSERT_TRUE(posix_env().write_file(files_in(temp.path()).at(0), whole, false).ok());
  EXPECT_FALSE(cache->get(key_of(2)).has_value());
}

TEST(DiskCache, StaysWithinItsQuotaAndKeepsWhatIsUsed) {
  TempDirectory temp(TempDirectory::in_memory());
  FaultyEnv env(posix_env());
  const uint64_t quota = 100'000;
  const auto cache = open_disk_cache(env, {.directory = temp.path(), .quota_bytes = quota});
  cache->put(key_of(0), value_of(0));
  for (int number = 1; number < 300; ++number) {
    cache->put(key_of(number), value_of(number));
    env.wall_offset_ns = 120'000'000'000;  // two minutes on: a hit touches its file
    EXPECT_TRUE(cache->get(key_of(0)).has_value()) << number;
    ASSERT_LE(bytes_in(temp.path()), quota + quota / 8 + 1100);
  }
  EXPECT_GT(cache->counters().evictions, 100u);
  EXPECT_EQ(cache->counters().errors, 0u);
  EXPECT_TRUE(cache->get(key_of(299)).has_value());
  EXPECT_FALSE(cache->get(key_of(1)).has_value());
  cache->put(key_of(1000), std::string(quota, 'x'));  // more than the whole
  EXPECT_FALSE(cache->get(key_of(1000)).has_value());
}

TEST(DiskCache, HitsTouchAtMostOnceAMinute) {
  TempDirectory temp;
  FaultyEnv env(posix_env());
  int touches = 0;
  env.fails = [&](std::string_view operation, const std::string&) {
    touches += operation == "touch_file";
    return false;
  };
  const auto cache = open_disk_cache(env, {.directory = temp.path()});
  cache->put(key_of(1), "x");
  for (int round = 0; round < 5; ++round) EXPECT_TRUE(cache->get(key_of(1)).has_value());
  EXPECT_EQ(touches, 0);
  env.wall_offset_ns = 61'000'000'000;
  EXPECT_TRUE(cache->get(key_of(1)).has_value());
  EXPECT_EQ(touches, 1);
}

TEST(DiskCache, StaleTemporaryFilesGoWithTheNextEviction) {
  TempDirectory temp;
  FaultyEnv env(posix_env());
  const auto cache = open_disk_cache(env, {.directory = temp.path(), .quota_bytes = 10'000});
  cache->put(key_of(1), value_of(1));
  const std::string folder = files_in(temp.path()).at(0).substr(0, temp.path().size() + 3);
  ASSERT_TRUE(posix_env().write_file(join_path(folder, "dead.1-2-3.tmp"), "half", false).ok());
  for (int number = 2; number < 6; ++number) cache->put(key_of(number), value_of(number));
  EXPECT_TRUE(posix_env().identify(join_path(folder, "dead.1-2-3.tmp")).ok());  // might still be written
  env.wall_offset_ns = 2 * 3'600'000'000'000;
  for (int number = 6; number < 10; ++number) cache->put(key_of(number), value_of(number));
  EXPECT_FALSE(posix_env().identify(join_path(folder, "dead.1-2-3.tmp")).ok());
}

TEST(DiskCache, AFullDiskIsCountedAndToldOnce) {
  TempDirectory temp;
  FaultyEnv env(posix_env());
  Messages messages;
  const auto cache = open_disk_cache(env, {.directory = temp.path(), .logger = messages.logger()});
  cache->put(key_of(1), value_of(1));
  env.fails = [](std::string_view operation, const std::string&) { return operation == "write_file"; };
  for (int number = 2; number < 10; ++number) cache->put(key_of(number), value_of(number));
  EXPECT_EQ(cache->counters().errors, 8u);
  EXPECT_EQ(messages.lines.size(), 1u);
  EXPECT_EQ(files_in(temp.path()).size(), 1u);  // no half-written rest
  EXPECT_TRUE(cache->get(key_of(1)).has_value());
  env.fails = nullptr;
  cache->put(key_of(2), value_of(2));
  EXPECT_TRUE(cache->get(key_of(2)).has_value());
}

TEST(DiskCache, AReadOnlyDirectoryStillServes) {
  TempDirectory temp;
  open_disk_cache(posix_env(), {.directory = temp.path()})->put(key_of(1), value_of(1));
  FaultyEnv env(posix_env());
  env.fails_code = Code::kPermissionDenied;
  int writes = 0;
  env.fails = [&](std::string_view operation, const std::string&) {
    const bool changes = operation == "write_file" || operation == "rename_file" || operation == "remove_file" || operation == "touch_file";
    writes += operation == "write_file";
    return changes;
  };
  env.wall_offset_ns = 120'000'000'000;
  const auto cache = open_disk_cache(env, {.directory = temp.path()});
  EXPECT_TRUE(cache->get(key_of(1)).has_value());
  for (int number = 2; number < 10; ++number) cache->put(key_of(number), value_of(number));
  EXPECT_EQ(writes, 1);  // then it stops trying
  EXPECT_EQ(cache->counters().errors, 1u);
}

TEST(DiskCache, EveryFailingCallIsAMissAtWorst) {
  FaultyEnv env(posix_env());
  for (const bool for_ever : {false, true}) {
    for (const Code code : {Code::kUnavailable, Code::kResourceExhausted, Code::kPermissionDenied, Code::kNotFound}) {
      for (uint64_t k = 1;; ++k) {
        ASSERT_LT(k, 500u);
        TempDirectory temp(TempDirectory::in_memory());
        if (for_ever) env.fail_from(k, code);
        else env.fail_call(k, code);
        const auto cache = open_disk_cache(env, {.directory = temp.path(), .quota_bytes = 4000});
        for (int number = 0; number < 6; ++number) {
          cache->put(key_of(number), value_of(number));
          const auto found = cache->get(key_of(number));
          if (found) {
            ASSERT_EQ(found->text(), value_of(number));
          }
        }
        const bool untouched = env.calls() < k;
        env.fail_call(0);
        if (untouched) break;
      }
    }
  }
}

TEST(DiskCache, ManyThreadsAgree) {
  TempDirectory temp;
  const auto cache = open_disk_cache(posix_env(), {.directory = temp.path(), .quota_bytes = 30'000});
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 200; ++round) {
        const int number = int(random() % 50);
        if (const auto found = cache->get(key_of(number))) EXPECT_EQ(found->text(), value_of(number));
        else cache->put(key_of(number), value_of(number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache->counters().errors, 0u);
}

TEST(DiskCache, ManyProcessesAndSomebodyWhoDeletes) {
  TempDirectory temp;
  const std::string directory = temp / "a b'c$d";
  std::vector<pid_t> children;
  for (unsigned seed = 0; seed < 4; ++seed) {
    const pid_t child = fork();
    if (child == 0) {
      const auto cache = open_disk_cache(posix_env(), {.directory = directory, .quota_bytes = 60'000});
      std::mt19937 random(seed);
      bool fine = true;
      const int64_t until = posix_env().now_ns() + 1'000'000'000;
      while (posix_env().now_ns() < until) {
        const int number = int(random() % 100);
        const auto found = cache->get(key_of(number));
        if (!found) cache->put(key_of(number), value_of(number, number % 2 == 0 ? 500 : 5000));
        else fine &= found->text() == value_of(number, number % 2 == 0 ? 500 : 5000);
      }
      const CacheCounters counters = cache->counters();
      _exit(fine && counters.hits > 0 && counters.writes > 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int round = 0; round < 8; ++round) {
    posix_env().sleep_ns(100'000'000);
    remove_tree(posix_env(), directory);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (const std::string& file : files_in(directory)) EXPECT_TRUE(file.ends_with(".tn")) << file;
}

TEST(DiskCache, DirectoryCandidatesInOrder) {
  TempDirectory temp;
  FaultyEnv env(posix_env());
  const auto set = [&](std::optional<std::string> own, std::optional<std::string> xdg, std::optional<std::string> home) {
    env.variables = {{"TENON_CACHE_DIR", own}, {"XDG_CACHE_HOME", xdg}, {"HOME", home}};
    return find_cache_directory(env, "");
  };
  EXPECT_EQ(set(temp / "own", temp / "xdg", temp / "home"), temp / "own");
  EXPECT_EQ(set(std::nullopt, temp / "xdg", temp / "home"), temp / "xdg/tenon");
  EXPECT_EQ(set(std::nullopt, std::nullopt, temp / "home"), temp / "home/.cache/tenon");
  EXPECT_EQ(set("", "relative", temp / "home"), temp / "home/.cache/tenon");
  EXPECT_EQ(set("/proc/no", "/dev/null", temp / "home"), temp / "home/.cache/tenon");
  EXPECT_EQ(set(std::nullopt, std::nullopt, "/proc/no"), "");
  EXPECT_EQ(set(std::nullopt, std::nullopt, std::nullopt), "");
  EXPECT_EQ(find_cache_directory(env, temp / "option"), temp / "option");
  EXPECT_EQ(find_cache_directory(env, "/proc/no"), "");
}

TEST(DiskCache, WithoutADirectoryThereIsACacheThatHoldsNothing) {
  Messages messages;
  const auto cache = open_disk_cache(posix_env(), {.directory = "/proc/no", .logger = messages.logger()});
  cache->put(key_of(1), "x");
  EXPECT_FALSE(cache->get(key_of(1)).has_value());
  EXPECT_EQ(cache->counters().misses, 1u);
  EXPECT_EQ(messages.lines.size(), 1u);
}

TEST(StoreCache, PassesFramedEntriesAndChecksThem) {
  std::map<std::string, std::string> kept;
  CacheStore store;
  store.user = &kept;
  store.get = [](void* user, std::string_view key, void (*sink)(void*, std::string_view), void* sink_user) {
    auto& map = *static_cast<std::map<std::string, std::string>*>(user);
    const auto found = map.find(std::string(key));
    if (found == map.end()) return false;
    const std::string_view bytes = found->second;
    sink(sink_user, bytes.substr(0, 10));  // in pieces
    sink(sink_user, bytes.substr(10));
    return true;
  };
  store.put = [](void* user, std::string_view key, std::string_view bytes) {
    (*static_cast<std::map<std::string, std::string>*>(user))[std::string(key)] = bytes;
  };
  const auto cache = open_store_cache(store);
  EXPECT_FALSE(cache->get(key_of(1)).has_value());
  cache->put(key_of(1), value_of(1));
  EXPECT_EQ(kept.begin()->first, key_of(1).hex());
  EXPECT_EQ(cache->get(key_of(1))->text(), value_of(1));
  kept.begin()->second[100] ^= 1;
  EXPECT_FALSE(cache->get(key_of(1)).has_value());
  EXPECT_EQ(cache->counters().errors, 1u);
  EXPECT_FALSE(open_store_cache({})->get(key_of(1)).has_value());
}

}  // namespace
}  // namespace tenon::toolchain
