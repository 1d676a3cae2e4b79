// Imports programs written by torch.export.save (.pt2 archives, schema version 8: PyTorch 2.8 and later).
//
// Parameters, buffers and tensor constants become constants whose bytes are the file's own memory; those that the
// program changes become states. User inputs become inputs, with dynamic sizes as declared symbols; arguments that the
// export fixed (numbers, None) are gone. Both dialects are read: TRAINING (in-place operators stay in the graph) and
// ATEN (mutations are write-backs). Tensors of every device become tensors of the program's device.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "import/weights_verified.hpp"

namespace tenon::import {

struct ImportOptions {
  // Of the file behind the bytes, and who remembers which files were read through: then the CRCs of the weights are
  // checked once per version of the file. Without them they are checked now. Those of the JSON entries always are.
  const FileIdentity* identity = nullptr;
  VerifiedFiles* verified = nullptr;
  // Told what the archive says and the graph does not: conditions that are not checked, and the like. May be null.
  std::vector<std::string>* notes = nullptr;
};

// `model_name`: which of the archive's programs; "" takes the only one, or "model". The graph shares `file`'s memory.
// Errors: DATA_LOSS (cut or damaged), INVALID_ARGUMENT (no .pt2 archive, malformed), NOT_FOUND (model), UNIMPLEMENTED
// (one error that lists every operator that is not supported; other things, by name).
Result<std::unique_ptr<graph::Graph>> import_pt2(const Blob& file, std::string_view model_name,
                                                 std::shared_ptr<const graph::OperatorRegistry> registry,
                                                 const ImportOptions& options);

}  // namespace tenon::import
