// The entries of a .pt2 archive.
#pragma once

#include <string>
#include <string_view>

#include "import/weights_verified.hpp"
#include "import/zip_archive.hpp"

namespace tenon::import {

struct Pt2Archive {
  ZipArchive zip;
  std::string root;   // the folder of all entries: the stem of the file's name when it was saved
  std::string model;  // the chosen program

  std::string program_entry() const;  // ROOT/models/MODEL.json
};

// Checks that it is one, and chooses the model. Errors: as import_pt2.
Result<Pt2Archive> open_pt2(const Blob& file, std::string_view model_name);

// CRCs of all weights and constants, as weights_verified.hpp says.
Status verify_weights(const Pt2Archive& archive, const FileIdentity* identity, VerifiedFiles* memory);

}  // namespace tenon::import
