#include "toolchain/cache_entry.hpp"

#include <cstdint>
#include <cstring>

namespace tenon::toolchain {

namespace {

constexpr uint64_t kMagic = 0x656863614374'6e74;  // "tntCache" in little-endian order
constexpr uint64_t kVersion = 1;

struct Header {
  uint64_t magic = kMagic;
  uint64_t version = kVersion;
  uint64_t key_high = 0, key_low = 0;
  uint64_t size_bytes = 0;
  uint64_t checksum_high = 0, checksum_low = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(Header) == kCacheEntryHeaderBytes);

Header make_header(const Fingerprint& key, std::string_view bytes) {
  const Fingerprint checksum = Fingerprint::of(bytes);
  Header header;
  header.key_high = key.high;
  header.key_low = key.low;
  header.size_bytes = bytes.size();
  header.checksum_high = checksum.high;
  header.checksum_low = checksum.low;
  return header;
}

}  // namespace

std::string frame_cache_entry(const Fingerprint& key, std::string_view bytes) {
  const Header header = make_header(key, bytes);
  std::string entry;
  entry.reserve(sizeof header + bytes.size());
  entry.append(reinterpret_cast<const char*>(&header), sizeof header);
  entry.append(bytes);
  return entry;
}

bool verify_cache_entry(const Fingerprint& key, std::string_view entry) {
  if (entry.size() < sizeof(Header)) return false;
  Header found;
  std::memcpy(&found, entry.data(), sizeof found);
  // Cheap fields first: a size that lies must not be hashed.
  if (found.magic != kMagic || found.size_bytes != entry.size() - sizeof(Header)) return false;
  const Header expected = make_header(key, entry.substr(sizeof(Header)));
  return std::memcmp(&found, &expected, sizeof found) == 0;
}

}  // namespace tenon::toolchain
