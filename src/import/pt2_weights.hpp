// The tensors that a .pt2 archive holds: parameters, buffers and constants, by their names in the module.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "import/pt2_schema.hpp"
#include "import/zip_archive.hpp"

namespace tenon::import {

struct Weight {
  std::string file;      // entry of the archive; several weights may be views of one
  StaticTensor view;
  Blob bytes;            // of the whole entry, sharing the archive's memory
  std::string key;       // identifies the content: CRC-32 and size of the entry, and the view

  bool is_row_major() const;
  // What the view shows, in row-major order: shared when it lies so, else a copy.
  Blob row_major() const;
};

class WeightIndex {
 public:
  // Reads data/weights/MODEL_weights_config.json and data/constants/MODEL_constants_config.json; an absent one is
  // empty. Errors: DATA_LOSS, INVALID_ARGUMENT.
  static Result<WeightIndex> read(const ZipArchive& archive, const std::string& root, const std::string& model);

  // `name` as in the signature. Checks that the view lies inside of its entry. Errors: NOT_FOUND, UNIMPLEMENTED
  // (a pickled tensor, a dtype or layout), DATA_LOSS, INVALID_ARGUMENT.
  Result<Weight> find(std::string_view name) const;

 private:
  Status read_config(const std::string& folder, const std::string& suffix, const std::string& model);

  const ZipArchive* archive_ = nullptr;  // outlives this
  std::string root_;
  std::vector<JsonDocument> documents_;
  struct Place {
    std::string folder;
    JsonView config;
  };
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace tenon::import
