// The header in front of the FlatBuffers payload: 64 bytes, so that the payload keeps its alignment in a mapping.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::artifact {

inline constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'A', 'R', 'T'};
inline constexpr uint32_t kFormatVersion = 0;
inline constexpr size_t kHeaderBytes = 64;
// Little-endian fields: magic, u32 version, u32 zero, u64 payload bytes, u64 fingerprint high, u64 low, zeros.
inline constexpr size_t kVersionAt = 8;
inline constexpr size_t kSizeAt = 16;
inline constexpr size_t kFingerprintAt = 24;

inline void put_word(uint8_t* at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) at[i] = uint8_t(value >> (8 * i));
}
inline uint64_t get_word(const uint8_t* at, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t(at[i]) << (8 * i);
  return value;
}

}  // namespace tenon::artifact
