// Builds a generated translation unit with the system compiler, as the toolchain does, and loads it for a test.
#pragma once

#include <string>
#include <vector>

#include "artifact/kernel_abi.h"
#include "codegen/templates/builtin_kernels.hpp"
#include "target/target_info.hpp"

namespace tenon::templates_test {

// The template texts joined in the order a printer pastes them; `more` follows (hooks, gemm.inc again ...).
std::string read_template(const std::string& name);  // a file of src/codegen/templates or src/artifact
std::string paste(const std::vector<std::string>& names);

// What an image must not have: lines "undefined <symbol>" and "relocation section <name>".
std::string image_faults(const std::string& path);

class GeneratedImage {
 public:
  // Compiles (aborts the test program with the compiler's message if that fails) and loads. Never unloaded.
  GeneratedImage(const std::string& text, target::Isa isa, bool hosted = false);

  void* symbol(const char* name) const;
  tenon_kernel_fn kernel(const char* name) const { return reinterpret_cast<tenon_kernel_fn>(symbol(name)); }
  std::string faults() const;

 private:
  std::string path_;
  void* handle_ = nullptr;
};

// Runs a command; its exit status, and its output in `output`.
int run_command(const std::string& command, std::string* output);
std::string compile_flags(target::Isa isa);
std::string temporary_folder();  // one for the test program

// The x86 levels this machine runs.
std::vector<target::Isa> host_levels();

// The built-in kernels of a level, compiled as the runtime compiles them.
const codegen::BuiltinKernels& builtin_kernels(target::Isa isa);

// 64-byte aligned memory of a worker, filled with NaN; the destructor checks that nothing past it was written.
struct Scratch {
  explicit Scratch(int64_t bytes);
  ~Scratch();
  char* memory;
  int64_t size;
};

std::vector<float> random_floats(size_t count, uint32_t seed);  // in [-1, 1)
// Bit for bit; a fatal failure names the first difference.
void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what);

}  // namespace tenon::templates_test
