// Artifacts written by hand, and a compiler that hands them out: what the runtime is tested with when nothing else is
// there.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "artifact/artifact.hpp"
#include "runtime/call.hpp"
#include "runtime/compiler_interface.hpp"
#include "runtime/context.hpp"
#include "runtime/function.hpp"
#include "target/target_info.hpp"

namespace tenon::tests {

// Registers and buffers of an artifact under construction.
class ArtifactBuilder {
 public:
  explicit ArtifactBuilder(target::Isa isa = target::detect_host().isa) { a.isa = isa; }

  artifact::SizeRegister constant(int64_t value);
  artifact::SizeRegister dim(uint32_t input, uint32_t axis);
  artifact::SizeRegister stride(uint32_t input, uint32_t axis);
  artifact::SizeRegister op(artifact::SizeOpKind kind, artifact::SizeRegister x, artifact::SizeRegister y);
  artifact::SizeRegister mul(artifact::SizeRegister x, artifact::SizeRegister y) {
    return op(artifact::SizeOpKind::kMul, x, y);
  }

  uint32_t input(std::string name, DType dtype, int32_t rank, bool mutated = false);  // the buffer
  uint32_t output(std::string name, DType dtype, std::vector<artifact::SizeRegister> dims);
  uint32_t arena(artifact::SizeRegister bytes, uint32_t first, uint32_t last, int32_t reuses = -1);
  uint32_t weight(artifact::ConstantDecl decl);
  uint32_t state(std::string name, DType dtype, std::vector<int64_t> dims, int32_t initial = -1);
  void guard(artifact::GuardRelation relation, artifact::SizeRegister x, artifact::SizeRegister y, std::string text,
             std::string origin, bool required = false);
  // Guards that ask for a row-major input.
  void guard_row_major(uint32_t input);
  uint32_t launch(artifact::KernelProgram program, std::vector<uint32_t> buffers,
                  std::vector<artifact::SizeRegister> sizes, std::string origin);
  void copy(uint32_t to, uint32_t from, artifact::SizeRegister bytes);

  artifact::Artifact a;
};

// out[i, j] = in[i, j] * scale + bias over sizes (rows, columns).
artifact::KernelProgram pointwise_program(std::string name, float scale, float bias);
// out[i] = sum over j of in[i, j]; sizes (rows, columns).
artifact::KernelProgram row_sum_program(std::string name);
// out[i, j] = table[index[i], j]; sizes (rows, columns, table rows); failure site 0.
artifact::KernelProgram gather_program(std::string name);
// out[b, m, n] = acc + bias[n]; row-major result; hook sizes: n, m * n. B is panels.
artifact::KernelProgram gemm_program(std::string name);
artifact::KernelProgram attention_program(std::string name);

// x[s0, s1] -> x * 2 + 1, guarded to be row-major.
artifact::Artifact pointwise_artifact();
// The same for one size only: guards dims.
artifact::Artifact fixed_pointwise_artifact(int64_t rows, int64_t columns);

// An FunctionCompiler that makes artifacts with a function.
struct FakeCompiler {
  using Specialize = std::function<Status(const runtime::CallSignature&, artifact::Artifact*, std::vector<Blob>*)>;
  using StartKernels = std::function<std::unique_ptr<runtime::KernelBuild>(const artifact::Artifact&)>;

  Specialize specialize;
  StartKernels start_kernels;  // empty: nothing to come
  runtime::FunctionInterface interface;
  std::atomic<int> specializations{0};
};
std::unique_ptr<runtime::FunctionCompiler> make_function_compiler(FakeCompiler& fake);

runtime::FunctionInterface interface_of(const artifact::Artifact& artifact);

std::shared_ptr<runtime::Context> make_context(uint32_t threads, uint32_t flags = 0);
std::shared_ptr<runtime::Function> make_function(std::shared_ptr<runtime::Context> context, FakeCompiler& fake,
                                                 runtime::FunctionOptions options = {});
// A function that always gets this artifact.
std::shared_ptr<runtime::Function> make_function(std::shared_ptr<runtime::Context> context, artifact::Artifact artifact,
                                                 FakeCompiler& fake, std::vector<Blob> sources = {});

// A tensor over memory of its own.
struct HostTensor {
  HostTensor(DType dtype, std::vector<int64_t> dims);
  static HostTensor floats(std::vector<int64_t> dims, std::function<float(size_t)> value);
  tenon_tensor_t tensor();
  float* f32() { return reinterpret_cast<float*>(bytes.data()); }
  int64_t* i64() { return reinterpret_cast<int64_t*>(bytes.data()); }
  size_t elements() const;

  DType dtype;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};

}  // namespace tenon::tests
