#include "support/blob.hpp"

#include <algorithm>

namespace tenon {

Blob Blob::own(std::string bytes) {
  if (bytes.empty()) return {};
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::string& kept = *owner;
  return wrap(std::move(owner), kept.data(), kept.size());
}

Blob Blob::own(std::vector<uint8_t> bytes) {
  if (bytes.empty()) return {};
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  const std::vector<uint8_t>& kept = *owner;
  return wrap(std::move(owner), kept.data(), kept.size());
}

Blob Blob::wrap(std::shared_ptr<const void> owner, const void* data, size_t size) {
  Blob blob;
  blob.owner_ = std::move(owner);
  blob.data_ = static_cast<const uint8_t*>(data);
  blob.size_ = size;
  return blob;
}

Blob Blob::slice(size_t offset, size_t size) const {
  offset = std::min(offset, size_);
  return wrap(owner_, data_ + offset, std::min(size, size_ - offset));
}

}  // namespace tenon
