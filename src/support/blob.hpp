// Immutable bytes that several owners share: a mapped file, an owned buffer, or a part of either. Copying is cheap
// and thread-safe; the bytes live until the last Blob over them is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {

class Blob {
 public:
  Blob() = default;

  static Blob copy_of(std::string_view bytes) { return own(std::string(bytes)); }
  static Blob own(std::string bytes);
  static Blob own(std::vector<uint8_t> bytes);
  // `owner` keeps [data, data + size) alive; its deleter unmaps or frees.
  static Blob wrap(std::shared_ptr<const void> owner, const void* data, size_t size);

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // The part [offset, offset + size), sharing the owner. Out-of-range parts are cut to what is there.
  Blob slice(size_t offset, size_t size) const;

 private:
  std::shared_ptr<const void> owner_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon
