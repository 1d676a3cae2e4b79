#include "device/cpu/elf_image.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "support/format.hpp"

namespace tenon::device::cpu {

namespace {

constexpr uint64_t kMaxImageBytes = uint64_t(1) << 30;

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
constexpr uint32_t kNoRelocation = R_X86_64_NONE;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr uint32_t kNoRelocation = R_AARCH64_NONE;
#else
#error "no ELF machine for this processor"
#endif

Status malformed(std::string_view what) { return invalid_argument(concat("malformed kernel image: ", what)); }
Status unexpected(std::string_view what) { return unimplemented(concat("unexpected in a kernel image: ", what)); }

// Copies a T out of bytes[offset...], when all of it is there.
template <typename T>
std::optional<T> read_at(std::span<const uint8_t> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

class Parser {
 public:
  Parser(std::span<const uint8_t> bytes, uint64_t page_size) : bytes_(bytes), page_size_(page_size) {}

  Result<ElfImage> parse() {
    TENON_RETURN_IF_ERROR(read_headers());
    TENON_RETURN_IF_ERROR(read_dynamic());
    TENON_RETURN_IF_ERROR(read_symbols());
    TENON_RETURN_IF_ERROR(read_relocations());
    return std::move(image_);
  }

 private:
  Status read_headers() {
    const auto header = read_at<Elf64_Ehdr>(bytes_, 0);
    if (!header) return malformed("too short for a header");
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return malformed("no ELF magic");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_ident[EI_VERSION] != EV_CURRENT) {
      return malformed("not 64-bit little-endian ELF");
    }
    if (header->e_machine != kMachine) {
      return invalid_argument("kernel image is for another processor")
          .with("expected", concat(kMachine))
          .with("found", concat(header->e_machine));
    }
    if (header->e_type != ET_DYN) return malformed("not a shared image");
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 || header->e_phnum > 64) {
      return malformed("program header count or size");
    }
    if (header->e_phoff > bytes_.size()) return malformed("program headers lie outside");
    for (uint64_t index = 0; index < header->e_phnum; ++index) {
      const auto program = read_at<Elf64_Phdr>(bytes_, header->e_phoff + index * sizeof(Elf64_Phdr));
      if (!program) return malformed("program headers lie outside");
      TENON_RETURN_IF_ERROR(read_program_header(*program));
    }
    if (image_.segments.empty()) return malformed("nothing to load");
    if (!has_dynamic_) return malformed("no dynamic section");
    return {};
  }

  Status read_program_header(const Elf64_Phdr& program) {
    switch (program.p_type) {
      case PT_LOAD: return add_segment(program);
      case PT_DYNAMIC:
        if (has_dynamic_) return malformed("two dynamic sections");
        has_dynamic_ = true;
        dynamic_address_ = program.p_vaddr;
        dynamic_size_ = program.p_filesz;
        return {};
      case PT_TLS: return unexpected("thread-local storage");
      case PT_INTERP: return unexpected("an interpreter");
      case PT_GNU_STACK:
        if ((program.p_flags & PF_X) != 0) return unexpected("an executable stack");
        return {};
      default: return {};
    }
  }

  Status add_segment(const Elf64_Phdr& program) {
    ElfSegment segment;
    segment.address = program.p_vaddr;
    segment.memory_size = program.p_memsz;
    segment.file_offset = program.p_offset;
    segment.file_size = program.p_filesz;
    segment.writable = (program.p_flags & PF_W) != 0;
    segment.executable = (program.p_flags & PF_X) != 0;
    if (segment.writable && segment.executable) return unexpected("a segment both writable and executable");
    if (segment.memory_size == 0) return {};
    if (segment.address > kMaxImageBytes || segment.memory_size > kMaxImageBytes) return malformed("segment too large");
    if (segment.file_size > segment.memory_size || segment.file_offset > bytes_.size() ||
        segment.file_size > bytes_.size() - segment.file_offset) {
      return malformed("segment lies outside");
    }
    // Pages have one protection, so no page may belong to two segments.
    if (segment.address / page_size_ * page_size_ < image_.memory_size) return malformed("segments overlap");
    image_.memory_size = (segment.address + segment.memory_size + page_size_ - 1) / page_size_ * page_size_;
    image_.segments.push_back(segment);
    return {};
  }

  // The file bytes behind [address, address + size), empty when they are not all in one segment's file part.
  std::span<const uint8_t> at_address(uint64_t address, uint64_t size) const {
    for (const ElfSegment& segment : image_.segments) {
      if (address < segment.address || address - segment.address > segment.file_size) continue;
      const uint64_t inside = address - segment.address;
      if (size <= segment.file_size - inside) return bytes_.subspan(segment.file_offset + inside, size);
    }
    return {};
  }

  // Everything from `address` to the end of its segment's file part.
  std::span<const uint8_t> from_address(uint64_t address) const {
    for (const ElfSegment& segment : image_.segments) {
      if (address < segment.address || address - segment.address >= segment.file_size) continue;
      const uint64_t inside = address - segment.address;
      return bytes_.subspan(segment.file_offset + inside, segment.file_size - inside);
    }
    return {};
  }

  bool lies_in(uint64_t address, uint64_t size, bool ElfSegment::*property) const {
    return std::any_of(image_.segments.begin(), image_.segments.end(), [&](const ElfSegment& segment) {
      return segment.*property && address >= segment.address && address - segment.address <= segment.memory_size &&
             size <= segment.memory_size - (address - segment.address);
    });
  }

  Status read_dynamic() {
    const std::span<const uint8_t> table = at_address(dynamic_address_, dynamic_size_);
    if (table.empty()) return malformed("dynamic section lies outside");
    for (uint64_t offset = 0;; offset += sizeof(Elf64_Dyn)) {
      const auto entry = read_at<Elf64_Dyn>(table, offset);
      if (!entry) return malformed("dynamic section has no end");
      const uint64_t value = entry->d_un.d_val;
      switch (entry->d_tag) {
        case DT_NULL: return {};
        case DT_SYMTAB: symbols_address_ = value; break;
        case DT_STRTAB: names_address_ = value; break;
        case DT_STRSZ: names_size_ = value; break;
        case DT_HASH: hash_address_ = value; break;
        case DT_GNU_HASH: gnu_hash_address_ = value; break;
        case DT_RELA: relocations_address_ = value; break;
        case DT_RELASZ: relocations_size_ = value; break;
        case DT_PLTRELSZ:
          if (value != 0) plt_size_ = value;
          break;
        case DT_JMPREL: plt_address_ = value; break;
        case DT_SYMENT:
          if (value != sizeof(Elf64_Sym)) return malformed("symbol size");
          break;
        case DT_RELAENT:
          if (value != sizeof(Elf64_Rela)) return malformed("relocation size");
          break;
        case DT_FLAGS:
          if ((value & (DF_TEXTREL | DF_STATIC_TLS)) != 0) return unexpected("text relocations or static TLS");
          break;
        case DT_NEEDED: return unexpected("a needed library");
        case DT_TEXTREL: return unexpected("text relocations");
        case DT_REL:
        case DT_RELR: return unexpected("a relocation format");
        case DT_INIT:
        case DT_FINI:
        case DT_INIT_ARRAY:
        case DT_FINI_ARRAY:
        case DT_PREINIT_ARRAY: return unexpected("constructors or destructors");
        default: break;
      }
    }
  }

  // The dynamic section does not say how many symbols there are; the hash tables do.
  Result<uint64_t> count_symbols() const {
    if (hash_address_ != 0) {
      const auto count = read_at<uint32_t>(from_address(hash_address_), 4);
      if (!count) return malformed("hash table lies outside");
      return uint64_t(*count);
    }
    const std::span<const uint8_t> table = from_address(gnu_hash_address_);
    const auto head = read_at<std::array<uint32_t, 4>>(table, 0);
    if (gnu_hash_address_ == 0 || !head) return malformed("no hash table");
    const auto [buckets, first_hashed, bloom_words, shift] = *head;
    const uint64_t buckets_offset = 16 + uint64_t(bloom_words) * 8;
    const uint64_t chains_offset = buckets_offset + uint64_t(buckets) * 4;
    uint64_t last = 0;
    for (uint64_t bucket = 0; bucket < buckets; ++bucket) {
      const auto start = read_at<uint32_t>(table, buckets_offset + bucket * 4);
      if (!start) return malformed("hash table lies outside");
      last = std::max<uint64_t>(last, *start);
    }
    if (last < first_hashed) return uint64_t(first_hashed);
    for (;; ++last) {
      const auto chain = read_at<uint32_t>(table, chains_offset + (last - first_hashed) * 4);
      if (!chain) return malformed("hash table lies outside");
      if ((*chain & 1) != 0) return last + 1;
    }
  }

  Status read_symbols() {
    TENON_ASSIGN_OR_RETURN(const uint64_t count, count_symbols());
    const std::span<const uint8_t> table = from_address(symbols_address_);
    const std::span<const uint8_t> names = at_address(names_address_, names_size_);
    if (names.empty() || names.back() != 0) return malformed("symbol names lie outside");
    for (uint64_t index = 1; index < count; ++index) {
      const auto symbol = read_at<Elf64_Sym>(table, index * sizeof(Elf64_Sym));
      if (!symbol || symbol->st_name >= names.size()) return malformed("symbol lies outside");
      TENON_RETURN_IF_ERROR(add_symbol(*symbol, reinterpret_cast<const char*>(names.data()) + symbol->st_name));
    }
    const auto by_name = [](const ElfFunction& left, const ElfFunction& right) { return left.name < right.name; };
    std::sort(image_.functions.begin(), image_.functions.end(), by_name);
    return {};
  }

  Status add_symbol(const Elf64_Sym& symbol, std::string_view name) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_SECTION || type == STT_FILE) return {};
    if (symbol.st_shndx == SHN_UNDEF) {
      return failed_precondition(concat("kernel image needs '", name, "', which it does not contain"))
          .with("symbol", name);
    }
    if (type == STT_TLS || type == STT_GNU_IFUNC) return unexpected(concat("the kind of symbol '", name, "'"));
    if (type == STT_FUNC) {
      if (!lies_in(symbol.st_value, std::max<uint64_t>(symbol.st_size, 1), &ElfSegment::executable)) {
        return malformed(concat("function '", name, "' lies outside of the code"));
      }
      image_.functions.push_back({std::string(name), symbol.st_value, symbol.st_size});
    } else {
      image_.data_symbols.emplace_back(name);
    }
    return {};
  }

  Status read_relocations() {
    if (plt_size_ != 0) return unexpected("calls through a linkage table");
    if (relocations_size_ == 0) return {};
    const std::span<const uint8_t> table = at_address(relocations_address_, relocations_size_);
    if (table.empty() || table.size() % sizeof(Elf64_Rela) != 0) return malformed("relocations lie outside");
    for (uint64_t offset = 0; offset < table.size(); offset += sizeof(Elf64_Rela)) {
      const auto relocation = *read_at<Elf64_Rela>(table, offset);
      const uint32_t type = uint32_t(ELF64_R_TYPE(relocation.r_info));
      if (type == kNoRelocation) continue;
      if (type != kRelative) return unexpected(concat("relocation type ", type));
      const uint64_t addend = uint64_t(relocation.r_addend);
      if (!lies_in(relocation.r_offset, 8, &ElfSegment::writable) || addend >= image_.memory_size) {
        return malformed("relocation lies outside");
      }
      image_.relocations.push_back({relocation.r_offset, addend});
    }
    return {};
  }

  std::span<const uint8_t> bytes_;
  const uint64_t page_size_;
  ElfImage image_;
  bool has_dynamic_ = false;
  uint64_t dynamic_address_ = 0, dynamic_size_ = 0;
  uint64_t symbols_address_ = 0;
  uint64_t names_address_ = 0, names_size_ = 0;
  uint64_t hash_address_ = 0, gnu_hash_address_ = 0;
  uint64_t relocations_address_ = 0, relocations_size_ = 0;
  uint64_t plt_address_ = 0, plt_size_ = 0;
};

}  // namespace

Result<ElfImage> parse_elf(std::span<const uint8_t> bytes, uint64_t page_size) {
  return Parser(bytes, page_size).parse();
}

}  // namespace tenon::device::cpu
