// 128-bit content hashes (XXH3) and a builder that feeds typed values, so that ("ab", "c") and ("a", "bc") differ.
// The same on every machine of one byte order; floats are hashed by their bits.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {

struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Fingerprint&) const = default;

  std::string hex() const;  // 32 lower-case digits
  static std::optional<Fingerprint> parse(std::string_view hex);
  // Of the bytes alone (no length, no type).
  static Fingerprint of(const void* data, size_t size);
  static Fingerprint of(std::string_view bytes) { return of(bytes.data(), bytes.size()); }
};

class FingerprintBuilder {
 public:
  FingerprintBuilder();
  ~FingerprintBuilder();
  FingerprintBuilder(FingerprintBuilder&&) noexcept;
  FingerprintBuilder& operator=(FingerprintBuilder&&) noexcept;

  // Length and bytes.
  FingerprintBuilder& add(std::string_view bytes);
  FingerprintBuilder& add(const char* text) { return add(std::string_view(text)); }
  FingerprintBuilder& add(double value) { return add_word('d', std::bit_cast<uint64_t>(value)); }
  FingerprintBuilder& add(bool value) { return add_word('b', value ? 1 : 0); }
  FingerprintBuilder& add(const Fingerprint& value) { return add_word('f', value.high).add_word('f', value.low); }
  template <typename T>
    requires((std::integral<T> && !std::same_as<T, bool>) || std::is_enum_v<T>)
  FingerprintBuilder& add(T value) {
    return add_word('i', static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
  // Count and elements; elements are anything that add() takes.
  template <typename Range>
  FingerprintBuilder& add_all(const Range& range) {
    add_word('n', std::size(range));
    for (const auto& element : range) add(element);
    return *this;
  }

  Fingerprint finish() const;

 private:
  FingerprintBuilder& add_word(char tag, uint64_t word);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon

template <>
struct std::hash<tenon::Fingerprint> {
  size_t operator()(const tenon::Fingerprint& value) const noexcept { return size_t(value.low ^ value.high); }
};
