#include "device/cpu/debug_interface.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "support/format.hpp"

// The names and the layout are gdb's. It looks them up in each library apart, so ours stay hidden and several
// libraries with their own lists get along.
extern "C" {

struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;  // 0 nothing, 1 added, 2 removed
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

[[gnu::visibility("hidden"), gnu::used]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

// gdb puts a breakpoint here.
[[gnu::visibility("hidden"), gnu::noinline, gnu::used]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }

}  // extern "C"

namespace tenon::device::cpu {

namespace {

std::mutex& list_mutex() {
  // The list is the process's: gdb prescribes one.
  static std::mutex mutex;
  return mutex;
}

void tell(uint32_t action, jit_code_entry& entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = &entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.relevant_entry = nullptr;
  __jit_debug_descriptor.action_flag = 0;
}

// Adds `place` to the addresses of sections and symbols, in place: gdb takes them as they stand.
bool relocate_symbols(std::vector<uint8_t>& bytes, uint64_t place) {
  const auto inside = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  Elf64_Ehdr header;
  if (!inside(0, sizeof header)) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
      !inside(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr))) {
    return false;
  }
  for (uint64_t index = 0; index < header.e_shnum; ++index) {
    uint8_t* raw = bytes.data() + header.e_shoff + index * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    std::memcpy(&section, raw, sizeof section);
    if ((section.sh_flags & SHF_ALLOC) != 0) {
      section.sh_addr += place;
      std::memcpy(raw, &section, sizeof section);
    }
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (!inside(section.sh_offset, section.sh_size)) return false;
    for (uint64_t offset = 0; offset + sizeof(Elf64_Sym) <= section.sh_size; offset += sizeof(Elf64_Sym)) {
      uint8_t* raw_symbol = bytes.data() + section.sh_offset + offset;
      Elf64_Sym symbol;
      std::memcpy(&symbol, raw_symbol, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) continue;
      symbol.st_value += place;
      std::memcpy(raw_symbol, &symbol, sizeof symbol);
    }
  }
  return true;
}

void append_hexadecimal(std::string& out, uint64_t value) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
}

}  // namespace

struct DebuggerEntry::Record {
  std::vector<uint8_t> bytes;
  jit_code_entry entry{};
};

DebuggerEntry::DebuggerEntry(std::unique_ptr<Record> record) : record_(std::move(record)) {}

std::unique_ptr<DebuggerEntry> DebuggerEntry::add(std::span<const uint8_t> bytes, uint64_t place) {
  auto record = std::make_unique<Record>();
  record->bytes.assign(bytes.begin(), bytes.end());
  if (!relocate_symbols(record->bytes, place)) return nullptr;
  jit_code_entry& entry = record->entry;
  entry.symfile_addr = reinterpret_cast<const char*>(record->bytes.data());
  entry.symfile_size = record->bytes.size();
  {
    std::lock_guard lock(list_mutex());
    entry.next_entry = __jit_debug_descriptor.first_entry;
    if (entry.next_entry != nullptr) entry.next_entry->prev_entry = &entry;
    __jit_debug_descriptor.first_entry = &entry;
    tell(1, entry);
  }
  return std::unique_ptr<DebuggerEntry>(new DebuggerEntry(std::move(record)));
}

DebuggerEntry::~DebuggerEntry() {
  jit_code_entry& entry = record_->entry;
  std::lock_guard lock(list_mutex());
  if (entry.prev_entry != nullptr) entry.prev_entry->next_entry = entry.next_entry;
  else __jit_debug_descriptor.first_entry = entry.next_entry;
  if (entry.next_entry != nullptr) entry.next_entry->prev_entry = entry.prev_entry;
  tell(2, entry);
}

void append_perf_map(const ElfImage& image, uint64_t place) {
  std::string lines;
  for (const ElfFunction& function : image.functions) {
    append_hexadecimal(lines, place + function.address);
    lines += ' ';
    append_hexadecimal(lines, function.size);
    append(lines, concat(" ", function.name, "\n"));
  }
  const std::string path = concat("/tmp/perf-", getpid(), ".map");
  // No links: the name is predictable and the directory is everybody's.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, lines.data(), lines.size());
  close(file);
}

}  // namespace tenon::device::cpu
