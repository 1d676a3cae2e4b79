// Finds, loads and unloads libtenon_compiler.so.
#pragma once

#include <memory>

#include "runtime/compiler_interface.hpp"

namespace tenon::runtime {

// A loaded compiler; unloads when it is destroyed, after the Compiler itself.
class CompilerLibrary {
 public:
  // Beside our own library, then by its plain name; a compiler linked into the same binary comes first. UNIMPLEMENTED
  // says where it was looked for; FAILED_PRECONDITION: it is of another build. `host` outlives the result.
  static Result<std::unique_ptr<CompilerLibrary>> open(const CompilerHost& host);
  // One that the caller made (tests); nothing is unloaded.
  static std::unique_ptr<CompilerLibrary> adopt(Compiler* compiler);
  ~CompilerLibrary();
  CompilerLibrary(const CompilerLibrary&) = delete;
  CompilerLibrary& operator=(const CompilerLibrary&) = delete;

  Compiler& compiler() { return *compiler_; }
  // Without making a compiler: can the library be loaded?
  static bool is_there();

 private:
  CompilerLibrary() = default;
  void* handle_ = nullptr;
  Compiler* compiler_ = nullptr;
};

const char* build_id();

}  // namespace tenon::runtime
