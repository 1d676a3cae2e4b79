// A zip archive that lies in memory, read through its central directory.
//
// Meant for archives of large stored entries (.pt2): the bytes of a stored entry are lent, not copied. Every number of
// the archive is checked against the size of the file before it is used, so that a cut or damaged file gives a status
// (DATA_LOSS, naming the entry, what was expected and what was found) and never an access outside of it.
//
// Immutable after open; reading from several threads is safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/blob.hpp"
#include "support/status.hpp"

namespace tenon::import {

struct ZipEntry {
  std::string name;
  uint64_t offset = 0;           // of the payload in the file
  uint64_t packed_bytes = 0;     // in the file
  uint64_t size_bytes = 0;       // after unpacking
  uint32_t crc = 0;              // of the unpacked bytes
  bool stored = true;            // not compressed
};

class ZipArchive {
 public:
  // Errors: INVALID_ARGUMENT (not a zip archive), DATA_LOSS (cut or damaged), UNIMPLEMENTED (encrypted entries, a
  // compression other than deflate, an archive of several files).
  static Result<ZipArchive> open(const Blob& file);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the directory's order
  const ZipEntry* find(std::string_view name) const;                 // null when there is none

  // The unpacked bytes of a small entry; its CRC is checked every time. Errors: NOT_FOUND, DATA_LOSS,
  // RESOURCE_EXHAUSTED (more than 1 GiB).
  Result<std::string> read_text(std::string_view name) const;

  // The bytes of a stored entry, sharing the file's memory; the CRC is not checked. Errors: NOT_FOUND, UNIMPLEMENTED
  // (the entry is compressed).
  struct Stored {
    const ZipEntry* entry = nullptr;  // lives as long as the archive
    Blob bytes;
  };
  Result<Stored> stored(std::string_view name) const;

  // Reads all of a stored entry and compares its CRC. Errors: DATA_LOSS.
  static Status verify_crc(const Stored& entry);

 private:
  Blob file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

}  // namespace tenon::import
