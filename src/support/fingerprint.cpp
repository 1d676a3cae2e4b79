#include "support/fingerprint.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon {

struct FingerprintBuilder::State {
  XXH3_state_t hash;  // carries its own alignment
};

namespace {

Fingerprint convert(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

bool parse_word(std::string_view digits, uint64_t& word) {
  word = 0;
  for (const char digit : digits) {
    uint64_t value = 0;
    if (digit >= '0' && digit <= '9') value = uint64_t(digit - '0');
    else if (digit >= 'a' && digit <= 'f') value = uint64_t(digit - 'a' + 10);
    else return false;
    word = word << 4 | value;
  }
  return true;
}

}  // namespace

std::string Fingerprint::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int digit = 0; digit < 16; ++digit) {
    text[15 - digit] = kDigits[high >> (4 * digit) & 15];
    text[31 - digit] = kDigits[low >> (4 * digit) & 15];
  }
  return text;
}

std::optional<Fingerprint> Fingerprint::parse(std::string_view hex) {
  Fingerprint result;
  if (hex.size() != 32 || !parse_word(hex.substr(0, 16), result.high) || !parse_word(hex.substr(16), result.low)) {
    return std::nullopt;
  }
  return result;
}

Fingerprint Fingerprint::of(const void* data, size_t size) { return convert(XXH3_128bits(data, size)); }

FingerprintBuilder::FingerprintBuilder() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
FingerprintBuilder::~FingerprintBuilder() = default;
FingerprintBuilder::FingerprintBuilder(FingerprintBuilder&&) noexcept = default;
FingerprintBuilder& FingerprintBuilder::operator=(FingerprintBuilder&&) noexcept = default;

FingerprintBuilder& FingerprintBuilder::add(std::string_view bytes) {
  add_word('s', bytes.size());
  XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size());
  return *this;
}

FingerprintBuilder& FingerprintBuilder::add_word(char tag, uint64_t word) {
  unsigned char record[9] = {static_cast<unsigned char>(tag)};
  for (int byte = 0; byte < 8; ++byte) record[1 + byte] = static_cast<unsigned char>(word >> (8 * byte));
  XXH3_128bits_update(&state_->hash, record, sizeof record);
  return *this;
}

Fingerprint FingerprintBuilder::finish() const { return convert(XXH3_128bits_digest(&state_->hash)); }

}  // namespace tenon
