#include "import/pt2.hpp"

#include "import/pt2_archive.hpp"
#include "import/pt2_build.hpp"
#include "support/format.hpp"

namespace tenon::import {
namespace {

constexpr int64_t kSchemaMajor = 8;

Status check_schema(JsonView program) {
  TENON_ASSIGN_OR_RETURN(const JsonView version, program.member("schema_version"));
  TENON_ASSIGN_OR_RETURN(const JsonView member, version.member("major"));
  TENON_ASSIGN_OR_RETURN(const int64_t major, member.integer());
  if (major == kSchemaMajor) return {};
  Status status = unimplemented(concat("the .pt2 schema has version ", major, "; expected ", kSchemaMajor));
  status.with("expected", concat(kSchemaMajor)).with("found", concat(major));
  return status;
}

}  // namespace

Result<std::unique_ptr<graph::Graph>> import_pt2(const Blob& file, std::string_view model_name,
                                                 std::shared_ptr<const graph::OperatorRegistry> registry,
                                                 const ImportOptions& options) {
  TENON_ASSIGN_OR_RETURN(const Pt2Archive archive, open_pt2(file, model_name));
  TENON_ASSIGN_OR_RETURN(const std::string text, archive.zip.read_text(archive.program_entry()));
  TENON_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text, archive.program_entry()));
  TENON_RETURN_IF_ERROR(check_schema(document.root()));
  TENON_ASSIGN_OR_RETURN(const WeightIndex weights, WeightIndex::read(archive.zip, archive.root, archive.model));
  auto graph = std::make_unique<graph::Graph>(archive.model, std::move(registry));
  std::vector<std::string> notes;
  TENON_RETURN_IF_ERROR(ProgramBuilder(document.root(), weights, *graph, notes).build());
  TENON_RETURN_IF_ERROR(verify_weights(archive, options.identity, options.verified));
  if (options.notes != nullptr) *options.notes = std::move(notes);
  return graph;
}

}  // namespace tenon::import
