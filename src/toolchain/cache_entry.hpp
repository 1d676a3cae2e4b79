// The frame around a cached thing: says what it is and proves that it is whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "support/fingerprint.hpp"

namespace tenon::toolchain {

// A multiple of 64, so that what follows in a mapped file is aligned.
inline constexpr size_t kCacheEntryHeaderBytes = 64;

// Header and bytes.
std::string frame_cache_entry(const Fingerprint& key, std::string_view bytes);
// True when `entry` is a whole, undamaged frame of this key and version; the bytes follow the header.
bool verify_cache_entry(const Fingerprint& key, std::string_view entry);

}  // namespace tenon::toolchain
