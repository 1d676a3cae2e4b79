// Checking the CRCs of large entries once per version of a file.
#pragma once

#include <span>
#include <string_view>

#include "import/zip_archive.hpp"
#include "support/env.hpp"
#include "support/status.hpp"

namespace tenon::import {

// Remembers, across processes if it likes, which files have been read through. Given by the caller (the compile room
// keeps it in the disk cache); must outlive the import. Called from the importing thread.
class VerifiedFiles {
 public:
  virtual ~VerifiedFiles() = default;
  virtual bool already_verified(const FileIdentity& identity) = 0;
  virtual void remember(const FileIdentity& identity) = 0;
};

// Compares the CRC of each entry, unless this version of the file is known to be good; remembers a file whose entries
// all are. With no identity or no memory it checks always. Errors: DATA_LOSS.
Status verify_weights(std::span<const ZipArchive::Stored> entries, const FileIdentity* identity, VerifiedFiles* memory);

}  // namespace tenon::import
