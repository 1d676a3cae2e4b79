// Tells debuggers and profilers about code that came from memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/cpu/elf_image.hpp"

namespace tenon::device::cpu {

// While it lives, gdb knows the image's functions. gdb finds the registration by name in the library's symbol table, so
// a stripped library cannot tell it anything.
class DebuggerEntry {
 public:
  // `place` is where address 0 of the image is mapped. Null when the image's section headers make no sense.
  static std::unique_ptr<DebuggerEntry> add(std::span<const uint8_t> bytes, uint64_t place);
  ~DebuggerEntry();

 private:
  struct Record;
  explicit DebuggerEntry(std::unique_ptr<Record> record);
  std::unique_ptr<Record> record_;
};

// Appends the functions to the file that `perf` reads. Best effort.
void append_perf_map(const ElfImage& image, uint64_t place);

}  // namespace tenon::device::cpu
