#include <string>
#include <vector>

#include "toolchain/system_compiler.hpp"

namespace tenon::toolchain {

namespace {

const char* architecture_flag(target::Isa isa) {
  switch (isa) {
    case target::Isa::kX86V2: return "-march=x86-64-v2";
    case target::Isa::kX86V3: return "-march=x86-64-v3";
    case target::Isa::kX86V4: return "-march=x86-64-v4";
    case target::Isa::kNeon: return "-march=armv8-a";
  }
  return "";
}

}  // namespace

std::vector<std::string> compile_flags(target::Isa isa, CompilerKind kind) {
  std::vector<std::string> flags = {
      "-std=c++20", "-O2", architecture_flag(isa), "-fPIC", "-fvisibility=hidden", "-w",
      // Nothing that needs a run-time library or tables.
      "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables", "-fno-threadsafe-statics",
      // Some distributions switch these on; they call out of the image or slow large frames.
      "-fno-stack-protector", "-fno-stack-clash-protection",
      // Integers wrap, any memory has any type, and a product is never contracted with a sum unless the text says so.
      "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
      // Only frees sqrt and friends from setting errno through a call; values stay the same.
      "-fno-math-errno"};
  switch (kind) {
    case CompilerKind::kGcc:
      flags.insert(flags.end(), {"-fno-tree-loop-distribute-patterns", "-fno-semantic-interposition", "-fno-ident"});
      break;
    case CompilerKind::kClang:
      flags.insert(flags.end(), {"-fno-builtin", "-Qunused-arguments"});
      break;
  }
  if (isa != target::Isa::kNeon) flags.push_back("-fcf-protection=none");
  return flags;
}

std::vector<std::string> link_flags(target::Isa isa) {
  std::vector<std::string> flags = {
      "-shared", "-nostdlib", "-Wl,-s", "-Wl,--build-id=none", "-Wl,--hash-style=gnu", "-Wl,-z,norelro",
      "-Wl,-z,noexecstack", "-Wl,-z,noseparate-code", "-Wl,-Bsymbolic",
      // An undefined symbol is the linker's error, with its name, rather than the loader's.
      "-Wl,-z,defs"};
  // Pages of AArch64 may have 64 KiB, so the linker's own choice stands there.
  if (isa != target::Isa::kNeon) flags.push_back("-Wl,-z,max-page-size=4096");
  return flags;
}

}  // namespace tenon::toolchain
