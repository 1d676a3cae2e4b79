#include "import/pt2_archive.hpp"

#include <algorithm>
#include <vector>

#include "support/format.hpp"

namespace tenon::import {
namespace {

Status check_text(const ZipArchive& zip, const std::string& name, std::string_view expected) {
  if (zip.find(name) == nullptr) return {};
  TENON_ASSIGN_OR_RETURN(const std::string found, zip.read_text(name));
  if (found == expected) return {};
  Status status = unimplemented(concat("'", name, "': expected ", json_quoted(expected), ", found ",
                                       json_quoted(found.substr(0, 40))));
  status.with("value", name).with("expected", expected);
  return status;
}

std::vector<std::string> models_of(const ZipArchive& zip, const std::string& root) {
  const std::string folder = concat(root, "/models/");
  constexpr std::string_view kEnd = ".json";
  std::vector<std::string> models;
  for (const ZipEntry& entry : zip.entries()) {
    const std::string_view name = entry.name;
    if (name.starts_with(folder) && name.ends_with(kEnd) && name.size() > folder.size() + kEnd.size()) {
      models.emplace_back(name.substr(folder.size(), name.size() - folder.size() - kEnd.size()));
    }
  }
  return models;
}

}  // namespace

std::string Pt2Archive::program_entry() const { return concat(root, "/models/", model, ".json"); }

Result<Pt2Archive> open_pt2(const Blob& file, std::string_view model_name) {
  Pt2Archive archive;
  TENON_ASSIGN_OR_RETURN(archive.zip, ZipArchive::open(file));
  const ZipArchive& zip = archive.zip;
  if (zip.find("serialized_exported_program.json") != nullptr) {
    return unimplemented("a .pt2 archive in the form of PyTorch before 2.8; export it again with a newer one");
  }
  if (zip.entries().empty()) return invalid_argument("not a .pt2 archive: it has no entries");
  const std::string& first = zip.entries()[0].name;
  archive.root = first.substr(0, std::min(first.find('/'), first.size()));
  if (zip.find(archive.root + "/archive_format") == nullptr) {
    return invalid_argument(concat("not a .pt2 archive: it has no entry '", archive.root, "/archive_format'"));
  }
  TENON_RETURN_IF_ERROR(check_text(zip, archive.root + "/archive_format", "pt2"));
  TENON_RETURN_IF_ERROR(check_text(zip, archive.root + "/byteorder", "little"));

  const std::vector<std::string> models = models_of(zip, archive.root);
  std::string listed;
  for (const std::string& model : models) append(listed, concat(listed.empty() ? "" : ", ", "'", model, "'"));
  if (models.empty()) {
    return not_found("the .pt2 archive holds no exported program (models/*.json); compiled packages are not read");
  }
  if (!model_name.empty()) {
    archive.model = model_name;
  } else {
    archive.model = models.size() == 1 ? models[0] : "model";
  }
  if (std::find(models.begin(), models.end(), archive.model) == models.end()) {
    Status status = not_found(concat("the .pt2 archive has no program '", archive.model, "'; it has ", listed));
    status.with("expected", archive.model).with("found", listed);
    return status;
  }
  return archive;
}

Status verify_weights(const Pt2Archive& archive, const FileIdentity* identity, VerifiedFiles* memory) {
  std::vector<ZipArchive::Stored> entries;
  const std::string weights = archive.root + "/data/weights/", constants = archive.root + "/data/constants/";
  for (const ZipEntry& entry : archive.zip.entries()) {
    if (!entry.stored || entry.name.ends_with(".json")) continue;
    if (!entry.name.starts_with(weights) && !entry.name.starts_with(constants)) continue;
    TENON_ASSIGN_OR_RETURN(const ZipArchive::Stored stored, archive.zip.stored(entry.name));
    entries.push_back(stored);
  }
  return verify_weights(entries, identity, memory);
}

}  // namespace tenon::import
