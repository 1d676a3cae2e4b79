#include "import/weights_verified.hpp"

namespace tenon::import {

Status verify_weights(std::span<const ZipArchive::Stored> entries, const FileIdentity* identity, VerifiedFiles* memory) {
  const bool remembers = identity != nullptr && memory != nullptr;
  if (remembers && memory->already_verified(*identity)) return {};
  for (const ZipArchive::Stored& entry : entries) TENON_RETURN_IF_ERROR(ZipArchive::verify_crc(entry));
  if (remembers) memory->remember(*identity);
  return {};
}

}  // namespace tenon::import
