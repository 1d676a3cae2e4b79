// Writes small zip archives for tests.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::import {

class ZipWriter {
 public:
  void add(std::string_view name, std::string_view data, bool deflated = false) {
    Entry entry{std::string(name), uint32_t(crc32_z(0, bytes(data), data.size())), uint32_t(data.size()),
                uint32_t(out_.size()), deflated ? deflate(data) : std::string(data), deflated};
    number(0x04034b50, 4);
    header(entry);
    number(0, 2);
    out_ += entry.name;
    out_ += entry.packed;
    entries_.push_back(std::move(entry));
  }

  std::string finish() {
    const uint32_t start = uint32_t(out_.size());
    for (const Entry& entry : entries_) {
      number(0x02014b50, 4);
      number(20, 2);
      header(entry);
      number(0, 2), number(0, 2), number(0, 2), number(0, 2), number(0, 4);
      number(entry.offset, 4);
      out_ += entry.name;
    }
    const uint32_t size = uint32_t(out_.size()) - start;
    number(0x06054b50, 4);
    number(0, 2), number(0, 2);
    number(entries_.size(), 2), number(entries_.size(), 2);
    number(size, 4), number(start, 4), number(0, 2);
    return out_;
  }

 private:
  struct Entry {
    std::string name;
    uint32_t crc, size, offset;
    std::string packed;
    bool deflated;
  };

  static const Bytef* bytes(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }
  static std::string deflate(std::string_view data) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&stream, data.size()), '\0');
    stream.next_in = const_cast<Bytef*>(bytes(data));
    stream.avail_in = uInt(data.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = uInt(packed.size());
    ::deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
  }
  void number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) out_.push_back(char(value >> (8 * i)));
  }
  // What local header and directory share: version to extra length.
  void header(const Entry& entry) {
    number(20, 2), number(0, 2), number(entry.deflated ? 8 : 0, 2), number(0, 4);
    number(entry.crc, 4), number(entry.packed.size(), 4), number(entry.size, 4);
    number(entry.name.size(), 2);
  }

  std::string out_;
  std::vector<Entry> entries_;
};

}  // namespace tenon::import
