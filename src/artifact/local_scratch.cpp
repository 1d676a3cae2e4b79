#include "artifact/local_scratch.hpp"

namespace tenon::artifact {

size_t local_bytes(const Parameter& parameter, const long* sizes) {
  if (parameter.kind != ParameterKind::kLocal) return 0;
  const long extent = resolve(parameter.local_extent, sizes);
  if (extent <= 0) return 0;
  return (size_t(extent) * size_bytes(parameter.dtype) + kLocalAlignment - 1) / kLocalAlignment * kLocalAlignment;
}

size_t local_scratch(const KernelProgram& program, const long* sizes) {
  size_t bytes = 0;
  for (const Parameter& parameter : program.parameters) bytes += local_bytes(parameter, sizes);
  return bytes;
}

}  // namespace tenon::artifact
