#include "runtime/compiler_library.hpp"

#include <dlfcn.h>

#include <vector>

#include "support/format.hpp"

#ifndef TENON_BUILD_ID
#error "TENON_BUILD_ID comes from the build rules"
#endif

extern "C" {
// Defined when the compiler is linked into the same binary (static archives), else null.
__attribute__((weak, visibility("hidden"))) tenon::StatusRecord* tenon_compiler_open(
    const char* build_id, const tenon::runtime::CompilerHost* host, tenon::runtime::Compiler** out);
}

namespace tenon::runtime {

namespace {

constexpr const char* kLibrary = "libtenon_compiler.so";
constexpr const char* kSymbol = "tenon_compiler_open";

// Beside the binary that this code is in, then wherever the loader looks.
std::vector<std::string> candidates() {
  std::vector<std::string> out;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&candidates), &info) != 0 && info.dli_fname != nullptr) {
    const std::string ours = info.dli_fname;
    const size_t slash = ours.rfind('/');
    if (slash != std::string::npos) out.push_back(concat(ours.substr(0, slash + 1), kLibrary));
  }
  out.push_back(kLibrary);
  return out;
}

void* load(std::string* tried) {
  for (const std::string& path : candidates()) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* error = dlerror();
    if (tried != nullptr)
      append(*tried, concat(tried->empty() ? "" : "; ", path, " (", error == nullptr ? "?" : error, ")"));
  }
  return nullptr;
}

}  // namespace

const char* build_id() { return TENON_BUILD_ID; }

Result<std::unique_ptr<CompilerLibrary>> CompilerLibrary::open(const CompilerHost& host) {
  std::unique_ptr<CompilerLibrary> library(new CompilerLibrary);
  CompilerOpenFn open_compiler = &tenon_compiler_open;
  if (open_compiler == nullptr) {
    std::string tried;
    library->handle_ = load(&tried);
    if (library->handle_ == nullptr) {
      return unimplemented(concat("this needs the compiler, which was not found; looked for ", tried))
          .with("file", kLibrary);
    }
    open_compiler = reinterpret_cast<CompilerOpenFn>(dlsym(library->handle_, kSymbol));
    if (open_compiler == nullptr) {
      return failed_precondition(concat(kLibrary, " is there but has no ", kSymbol)).with("file", kLibrary);
    }
  }
  TENON_RETURN_IF_ERROR(Status::adopt(open_compiler(build_id(), &host, &library->compiler_)));
  return library;
}

std::unique_ptr<CompilerLibrary> CompilerLibrary::adopt(Compiler* compiler) {
  std::unique_ptr<CompilerLibrary> library(new CompilerLibrary);
  library->compiler_ = compiler;
  return library;
}

CompilerLibrary::~CompilerLibrary() {
  if (compiler_ != nullptr) compiler_->destroy();
  if (handle_ != nullptr) dlclose(handle_);
}

bool CompilerLibrary::is_there() {
  if (&tenon_compiler_open != nullptr) return true;
  void* handle = load(nullptr);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

}  // namespace tenon::runtime
