// Reads an ELF64 shared image out of untrusted bytes: what to map where, what it exports, what to relocate. Touches no
// memory besides the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/status.hpp"

namespace tenon::device::cpu {

struct ElfSegment {
  uint64_t address = 0;      // from the start of the image
  uint64_t memory_size = 0;
  uint64_t file_offset = 0;
  uint64_t file_size = 0;
  bool writable = false;
  bool executable = false;
};

struct ElfFunction {
  std::string name;
  uint64_t address = 0;  // inside an executable segment
  uint64_t size = 0;
};

struct ElfRelocation {
  uint64_t address = 0;  // 8 bytes inside a writable segment
  uint64_t addend = 0;   // the value to store is the image's place + addend
};

struct ElfImage {
  uint64_t memory_size = 0;            // whole pages
  std::vector<ElfSegment> segments;    // ascending, no two on one page
  std::vector<ElfFunction> functions;  // sorted by name
  std::vector<std::string> data_symbols;
  std::vector<ElfRelocation> relocations;
};

// INVALID_ARGUMENT when the bytes are no image for this machine; FAILED_PRECONDITION (field "symbol") when it needs
// something from outside; UNIMPLEMENTED for features that our images never have.
Result<ElfImage> parse_elf(std::span<const uint8_t> bytes, uint64_t page_size);

}  // namespace tenon::device::cpu
