#include "import/zip_archive.hpp"

#include <zlib.h>

#include <minizip/unzip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "support/format.hpp"

namespace tenon::import {
namespace {

constexpr uint64_t kLargestText = uint64_t(1) << 30;
constexpr uint64_t kDeflateRatio = 1032;  // no deflated byte stands for more
constexpr size_t kLongestName = 4096;

// minizip's file functions over bytes in memory.
struct MemoryStream {
  const Blob* file;
  uint64_t position = 0;
};

voidpf open_stream(voidpf opaque, const void*, int) { return opaque; }
uLong read_stream(voidpf, voidpf stream, void* into, uLong size) {
  auto& memory = *static_cast<MemoryStream*>(stream);
  const uint64_t left = memory.file->size() - memory.position;
  const uLong count = uLong(std::min<uint64_t>(size, left));
  if (count != 0) std::memcpy(into, memory.file->data() + memory.position, count);
  memory.position += count;
  return count;
}
uLong write_stream(voidpf, voidpf, const void*, uLong) { return 0; }
ZPOS64_T tell_stream(voidpf, voidpf stream) { return static_cast<MemoryStream*>(stream)->position; }
long seek_stream(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  auto& memory = *static_cast<MemoryStream*>(stream);
  uint64_t start = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) start = memory.position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) start = memory.file->size();
  uint64_t position = 0;
  if (__builtin_add_overflow(start, uint64_t(offset), &position) || position > memory.file->size()) return -1;
  memory.position = position;
  return 0;
}
int close_stream(voidpf, voidpf) { return 0; }
int stream_error(voidpf, voidpf) { return 0; }

struct CloseArchive {
  void operator()(void* archive) const { unzClose(archive); }
};

std::string hex(uint32_t value) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text(8, '0');
  for (size_t i = 0; i < 8; ++i) text[7 - i] = kDigits[(value >> (4 * i)) & 15];
  return text;
}

Status damaged(std::string_view entry, std::string_view what, std::string_view expected, std::string_view found) {
  Status status = data_loss(concat("zip entry '", entry, "': ", what, ": expected ", expected, ", found ", found));
  status.with("value", entry).with("expected", expected).with("found", found);
  return status;
}

size_t read_u16(const uint8_t* bytes) { return size_t(bytes[0]) | size_t(bytes[1]) << 8; }

// The archive's last record must end where the file ends: minizip itself takes a file without the last bytes.
bool ends_with_directory(const Blob& file) {
  constexpr size_t kRecord = 22, kLongestComment = 65535;
  const size_t size = file.size();
  for (size_t back = kRecord; back <= size && back <= kRecord + kLongestComment; ++back) {
    const uint8_t* record = file.data() + (size - back);
    if (std::memcmp(record, "PK\5\6", 4) != 0) continue;
    if (kRecord + read_u16(record + 20) == back) return true;
  }
  return false;
}

// The name in the local header that ends at `payload`, where the data starts; minizip compares its length only.
std::optional<std::string_view> local_name(const Blob& file, size_t payload) {
  constexpr size_t kHeader = 30, kLongest = kHeader + 2 * 65535;
  for (size_t back = kHeader; back <= payload && back <= kLongest; ++back) {
    const uint8_t* header = file.data() + (payload - back);
    if (std::memcmp(header, "PK\3\4", 4) != 0) continue;
    const size_t length = read_u16(header + 26), extra = read_u16(header + 28);
    if (kHeader + length + extra != back) continue;
    return std::string_view(reinterpret_cast<const char*>(header + kHeader), length);
  }
  return std::nullopt;
}

// Where the payload of the current entry starts; checks that it ends inside of the file.
Status locate(unzFile archive, const Blob& file, ZipEntry& entry) {
  int method = 0, level = 0;
  if (unzOpenCurrentFile2(archive, &method, &level, /*raw=*/1) != UNZ_OK) {
    return damaged(entry.name, "its local header", "one that agrees with the directory", "another");
  }
  const uint64_t offset = unzGetCurrentFileZStreamPos64(archive);
  unzCloseCurrentFile(archive);
  if (offset == 0 || offset > file.size() || entry.packed_bytes > file.size() - offset) {
    return damaged(entry.name, "the end of its data", concat("at most byte ", file.size()),
                   concat(entry.packed_bytes, " bytes from byte ", offset));
  }
  if (const auto name = local_name(file, offset); name != entry.name) {
    return damaged(entry.name, "the name in its local header", entry.name, name.value_or("none"));
  }
  entry.offset = offset;
  return {};
}

Result<ZipEntry> read_entry(unzFile archive, const Blob& file, size_t index) {
  unz_file_info64 info;
  std::string name(kLongestName, '\0');
  if (unzGetCurrentFileInfo64(archive, &info, name.data(), uLong(name.size()), nullptr, 0, nullptr, 0) != UNZ_OK) {
    return damaged(concat("number ", index), "its directory record", "a readable one", "damage");
  }
  if (info.size_filename >= kLongestName) {
    return damaged(concat("number ", index), "the length of its name", concat("less than ", kLongestName),
                   concat(info.size_filename));
  }
  name.resize(info.size_filename);
  ZipEntry entry;
  entry.name = std::move(name);
  entry.packed_bytes = info.compressed_size;
  entry.size_bytes = info.uncompressed_size;
  entry.crc = uint32_t(info.crc);
  entry.stored = info.compression_method == 0;
  if ((info.flag & 1) != 0) return unimplemented(concat("zip entry '", entry.name, "' is encrypted"));
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
    return unimplemented(concat("zip entry '", entry.name, "' is compressed by method ", info.compression_method,
                                "; stored and deflated entries can be read"));
  }
  if (info.disk_num_start != 0) return unimplemented("a zip archive of several files");
  if (entry.stored && entry.packed_bytes != entry.size_bytes) {
    return damaged(entry.name, "the size of a stored entry", concat(entry.size_bytes), concat(entry.packed_bytes));
  }
  TENON_RETURN_IF_ERROR(locate(archive, file, entry));
  return entry;
}

Result<std::string> inflate_entry(const ZipEntry& entry, const uint8_t* packed) {
  if (entry.size_bytes / kDeflateRatio > entry.packed_bytes) {
    return damaged(entry.name, "its unpacked size", concat("at most ", kDeflateRatio, " times ", entry.packed_bytes),
                   concat(entry.size_bytes));
  }
  std::string text(entry.size_bytes, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Status::out_of_memory();
  stream.next_in = const_cast<Bytef*>(packed);
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  uint64_t in_left = entry.packed_bytes, out_left = entry.size_bytes;
  int code = Z_OK;
  uint8_t nothing = 0;  // room for the end mark of an empty entry
  if (text.empty()) stream.next_out = &nothing;
  do {
    const uInt in = uInt(std::min<uint64_t>(in_left, 1u << 30)), out = uInt(std::min<uint64_t>(out_left, 1u << 30));
    stream.avail_in = in;
    stream.avail_out = out;
    code = inflate(&stream, Z_NO_FLUSH);
    in_left -= in - stream.avail_in;
    out_left -= out - stream.avail_out;
    if (in == stream.avail_in && out == stream.avail_out) break;
  } while (code == Z_OK);
  inflateEnd(&stream);
  if (code != Z_STREAM_END || out_left != 0) {
    return damaged(entry.name, "its deflated data", concat(entry.size_bytes, " bytes"),
                   concat(entry.size_bytes - out_left, " bytes and then damage"));
  }
  return text;
}

Status compare_crc(const ZipEntry& entry, const void* data, size_t size) {
  const uint32_t found = uint32_t(crc32_z(0, static_cast<const Bytef*>(data), size));
  // zlib gives 0 for a null pointer, which is the CRC of no bytes too.
  if (found != entry.crc) return damaged(entry.name, "CRC-32", hex(entry.crc), hex(found));
  return {};
}

}  // namespace

Result<ZipArchive> ZipArchive::open(const Blob& file) {
  MemoryStream stream{&file};
  zlib_filefunc64_def functions{};
  functions.zopen64_file = open_stream;
  functions.zread_file = read_stream;
  functions.zwrite_file = write_stream;
  functions.ztell64_file = tell_stream;
  functions.zseek64_file = seek_stream;
  functions.zclose_file = close_stream;
  functions.zerror_file = stream_error;
  functions.opaque = &stream;
  std::unique_ptr<void, CloseArchive> archive(ends_with_directory(file) ? unzOpen2_64("", &functions) : nullptr);
  if (archive == nullptr) {
    const bool starts_like_zip = file.size() >= 4 && std::memcmp(file.data(), "PK\3\4", 4) == 0;
    if (starts_like_zip) {
      return data_loss(concat("the zip archive of ", file.size(), " bytes has no directory at its end: it was cut"));
    }
    return invalid_argument("not a zip archive");
  }
  unz_global_info64 global{};
  unzGetGlobalInfo64(archive.get(), &global);
  ZipArchive result;
  result.file_ = file;
  // minizip goes on by itself when records are cut: the count tells.
  int code = unzGoToFirstFile(archive.get());
  for (; code == UNZ_OK; code = unzGoToNextFile(archive.get())) {
    TENON_ASSIGN_OR_RETURN(ZipEntry entry, read_entry(archive.get(), file, result.entries_.size()));
    if (!result.by_name_.emplace(entry.name, result.entries_.size()).second) {
      return damaged(entry.name, "the directory", "each name once", "the name again");
    }
    result.entries_.push_back(std::move(entry));
  }
  if (result.entries_.size() != global.number_entry) {
    return data_loss(concat("the zip directory: expected ", uint64_t(global.number_entry), " entries, found ",
                            result.entries_.size()));
  }
  return result;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

Result<std::string> ZipArchive::read_text(std::string_view name) const {
  const ZipEntry* entry = find(name);
  if (entry == nullptr) return not_found(concat("the archive has no entry '", name, "'"));
  if (entry->size_bytes > kLargestText) {
    return resource_exhausted(concat("zip entry '", name, "' has ", entry->size_bytes, " bytes, more than 1 GiB"));
  }
  const uint8_t* packed = file_.data() + entry->offset;
  std::string text;
  if (entry->stored) {
    text.assign(reinterpret_cast<const char*>(packed), entry->size_bytes);
  } else {
    TENON_ASSIGN_OR_RETURN(text, inflate_entry(*entry, packed));
  }
  TENON_RETURN_IF_ERROR(compare_crc(*entry, text.data(), text.size()));
  return text;
}

Result<ZipArchive::Stored> ZipArchive::stored(std::string_view name) const {
  const ZipEntry* entry = find(name);
  if (entry == nullptr) return not_found(concat("the archive has no entry '", name, "'"));
  if (!entry->stored) {
    return unimplemented(concat("zip entry '", name, "' is compressed; weights must be stored, so that they can be mapped"));
  }
  return Stored{entry, file_.slice(entry->offset, entry->size_bytes)};
}

Status ZipArchive::verify_crc(const Stored& entry) {
  return compare_crc(*entry.entry, entry.bytes.data(), entry.bytes.size());
}

}  // namespace tenon::import
