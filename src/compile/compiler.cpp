// libtenon_compiler.so's face: implements the tables of runtime/compiler_interface.hpp.
#include <atomic>
#include <mutex>

#include "artifact/artifact.hpp"
#include "compile/function_compiler.hpp"
#include "compile/graph_builder.hpp"
#include "compile/services.hpp"
#include "graph/parse.hpp"
#include "import/pt2.hpp"
#include "ops/registry.hpp"
#include "support/format.hpp"

#ifndef TENON_BUILD_ID
#define TENON_BUILD_ID "development"
#endif

namespace tenon::compile {

namespace {

// Files whose weights have been read through, remembered in the disk cache.
class RememberedFiles final : public import::VerifiedFiles {
 public:
  explicit RememberedFiles(toolchain::Cache* cache) : cache_(cache) {}
  bool already_verified(const FileIdentity& identity) override { return cache_ != nullptr && cache_->get(key(identity)).has_value(); }
  void remember(const FileIdentity& identity) override {
    if (cache_ != nullptr) cache_->put(key(identity), "verified");
  }

 private:
  static Fingerprint key(const FileIdentity& identity) {
    FingerprintBuilder builder;
    builder.add("verified file").add(identity.device).add(identity.inode).add(identity.size_bytes).add(identity.modified_ns);
    return builder.finish();
  }
  toolchain::Cache* cache_;
};

class CompilerImpl final : public runtime::Compiler {
 public:
  explicit CompilerImpl(const runtime::CompilerHost& host) : services_(host) {}

  Status create_graph(std::string_view name, std::unique_ptr<runtime::CompilerGraph>* out) override {
    *out = std::make_unique<GraphBuilder>(std::make_unique<graph::Graph>(std::string(name), ops::registry()));
    return {};
  }

  Status parse_graph(std::string_view text, std::unique_ptr<runtime::CompilerGraph>* out) override {
    auto graph = graph::parse(text, ops::registry());
    if (!graph.ok()) return std::move(graph).status();
    *out = std::make_unique<GraphBuilder>(*std::move(graph));
    return {};
  }

  Status import_graph(std::string_view format, std::string_view path, std::unique_ptr<runtime::CompilerGraph>* out) override {
    if (!format.empty() && format != "pt2") {
      return unimplemented(concat("no importer for format `", format, "`; there is: pt2")).with("expected", "pt2").with("found", format);
    }
    const std::string file(path);
    TENON_ASSIGN_OR_RETURN(const FileIdentity identity, services_.env().identify(file));
    TENON_ASSIGN_OR_RETURN(const Blob bytes, services_.env().map_file(file));
    RememberedFiles remembered(services_.cache());
    import::ImportOptions options;
    options.identity = &identity;
    options.verified = &remembered;
    std::vector<std::string> notes;
    options.notes = &notes;
    auto graph = import::import_pt2(bytes, "", ops::registry(), options);
    if (!graph.ok()) return std::move(graph).status().prefixed(path).with("file", path);
    for (const std::string& note : notes) services_.log(Severity::kWarning, concat(path, ": ", note));
    *out = std::make_unique<GraphBuilder>(*std::move(graph));
    return {};
  }

  Status compile(const runtime::CompilerGraph& graph, const runtime::CompileOptions& options,
                 std::unique_ptr<runtime::FunctionCompiler>* out) override {
    const graph::Graph& source = static_cast<const GraphBuilder&>(graph).graph();
    TENON_RETURN_IF_ERROR(graph.verify());
    if (source.outputs().empty()) return invalid_argument(concat("graph ", source.name(), " has no outputs")).with("value", source.name());
    *out = make_function_compiler(services_, source, options);
    return {};
  }

  bool counter(std::string_view name, int64_t* out) const override { return services_.counter(name, out); }
  void destroy() override { delete this; }

 private:
  Services services_;
};

}  // namespace

}  // namespace tenon::compile

extern "C" __attribute__((visibility("default"))) tenon::StatusRecord* tenon_compiler_open(
    const char* build_id, const tenon::runtime::CompilerHost* host, tenon::runtime::Compiler** out) {
  if (std::string_view(build_id) != TENON_BUILD_ID) {
    return tenon::failed_precondition(tenon::concat("libtenon_compiler.so is of another build: expected ", build_id, ", found ", TENON_BUILD_ID))
        .with("expected", build_id)
        .with("found", TENON_BUILD_ID)
        .release();
  }
  *out = new tenon::compile::CompilerImpl(*host);
  return nullptr;
}
