// The sentence model's archives, its inputs and LibTorch's answers.
#pragma once

#include "examples/npy.h"
#include "system/host_program.hpp"

namespace tenon::tests {

inline std::string model_path(const std::string& variant) { return TENON_DEPS_DIR "/models/minilm_" + variant + ".pt2"; }

// tests/run.sh makes the models; without them these tests have nothing to say, which is a failure.
inline bool models_are_there() {
  for (const char* variant : {"sdpa", "eager", "decomposed"}) {
    if (!std::filesystem::exists(model_path(variant))) {
      ADD_FAILURE() << model_path(variant) << " is missing: run third_party/install.sh --models, then examples/models/export_minilm.py";
      return false;
    }
  }
  return true;
}

inline HostArray data(const std::string& name, const char* kind, DType dtype) {
  npy_t raw;
  HostArray out;
  if (npy_read((TENON_SOURCE_DIR "/tests/models/data/" + name + ".npy").c_str(), kind, &raw) == 0) {
    ADD_FAILURE() << name;
    return out;
  }
  out = HostArray(dtype, {raw.dims, raw.dims + raw.rank});
  std::memcpy(out.bytes.data(), raw.data, out.bytes.size());
  std::free(raw.data);
  return out;
}
inline HostArray data_i64(const std::string& name) { return data(name, "<i8", DType::kI64); }
inline HostArray data_f32(const std::string& name) { return data(name, "<f4", DType::kF32); }
inline HostArray data_f64(const std::string& name) { return data(name, "<f8", DType::kF64); }

inline Result<Function> model(const Context& context, const std::string& variant, MissPolicy policy = MissPolicy::kCompileNow) {
  TENON_TRY_ASSIGN(Graph graph, context.import(model_path(variant)));
  CompileOptions options;
  options.miss_policy = policy;
  options.fallback_is_error = policy == MissPolicy::kCompileNow;
  return context.compile(graph, options);
}

}  // namespace tenon::tests
