#include "device/cpu/image_loader.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/cpu/debug_interface.hpp"
#include "device/cpu/elf_image.hpp"
#include "support/format.hpp"
#include "support/system_error.hpp"

namespace tenon::device::cpu {

namespace {

Status protect(uint8_t* place, const ElfSegment& segment, uint64_t page_size) {
  const uint64_t first = segment.address / page_size * page_size;
  const uint64_t end = (segment.address + segment.memory_size + page_size - 1) / page_size * page_size;
  const int protection = PROT_READ | (segment.writable ? PROT_WRITE : 0) | (segment.executable ? PROT_EXEC : 0);
  if (mprotect(place + first, end - first, protection) != 0) return system_error(errno, "protect", "kernel image");
  return {};
}

}  // namespace

struct KernelImage::Mapped {
  uint8_t* place = nullptr;
  ElfImage image;
  std::unique_ptr<DebuggerEntry> debugger;

  ~Mapped() {
    debugger.reset();
    if (place != nullptr) munmap(place, image.memory_size);
  }
};

KernelImage::KernelImage(std::unique_ptr<Mapped> mapped) : mapped_(std::move(mapped)) {}
KernelImage::~KernelImage() = default;

Result<std::unique_ptr<KernelImage>> KernelImage::load(std::span<const uint8_t> bytes, const LoadOptions& options) {
  const uint64_t page_size = uint64_t(sysconf(_SC_PAGESIZE));
  auto mapped = std::make_unique<Mapped>();
  TENON_ASSIGN_OR_RETURN(mapped->image, parse_elf(bytes, page_size));
  const ElfImage& image = mapped->image;

  void* memory = mmap(nullptr, image.memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return system_error(errno, "map", "kernel image");
  mapped->place = static_cast<uint8_t*>(memory);
  const uint64_t place = reinterpret_cast<uint64_t>(memory);

  for (const ElfSegment& segment : image.segments) {
    if (segment.file_size == 0) continue;
    std::memcpy(mapped->place + segment.address, bytes.data() + segment.file_offset, segment.file_size);
  }
  for (const ElfRelocation& relocation : image.relocations) {
    const uint64_t value = place + relocation.addend;
    std::memcpy(mapped->place + relocation.address, &value, sizeof value);
  }
  for (const ElfSegment& segment : image.segments) {
    TENON_RETURN_IF_ERROR(protect(mapped->place, segment, page_size));
    if (!segment.executable) continue;
    char* code = reinterpret_cast<char*>(mapped->place + segment.address);
    __builtin___clear_cache(code, code + segment.memory_size);
  }

  if (options.tell_debugger) mapped->debugger = DebuggerEntry::add(bytes, place);
  if (options.tell_profiler) append_perf_map(image, place);
  return std::unique_ptr<KernelImage>(new KernelImage(std::move(mapped)));
}

Result<void*> KernelImage::find(std::string_view name) const {
  const std::vector<ElfFunction>& functions = mapped_->image.functions;
  const auto found =
      std::lower_bound(functions.begin(), functions.end(), name,
                       [](const ElfFunction& function, std::string_view wanted) { return function.name < wanted; });
  if (found != functions.end() && found->name == name) return static_cast<void*>(mapped_->place + found->address);
  const std::vector<std::string>& data = mapped_->image.data_symbols;
  if (std::find(data.begin(), data.end(), name) != data.end()) {
    return invalid_argument(concat("'", name, "' in a kernel image is not a function")).with("symbol", name);
  }
  return not_found(concat("kernel image has no function '", name, "'")).with("symbol", name);
}

size_t KernelImage::mapped_bytes() const { return mapped_->image.memory_size; }

}  // namespace tenon::device::cpu
