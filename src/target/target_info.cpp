#include "target/target_info.hpp"

namespace tenon::target {

int32_t TargetInfo::gemm_rows() const {
  switch (isa) {
    case Isa::kX86V2: return 4;
    case Isa::kX86V3: return 6;
    case Isa::kX86V4: return 8;
    case Isa::kNeon: return 8;
  }
  return 4;
}

int32_t TargetInfo::gemm_columns() const {
  switch (isa) {
    case Isa::kX86V2: return 8;
    case Isa::kX86V3: return 16;
    case Isa::kX86V4: return 32;
    case Isa::kNeon: return 8;
  }
  return 8;
}

TargetInfo make_target(Isa isa) {
  TargetInfo info;
  info.isa = isa;
  info.vector_bytes = isa == Isa::kX86V4 ? 64 : isa == Isa::kX86V3 ? 32 : 16;
  info.has_fma = isa != Isa::kX86V2;
  if (isa == Isa::kX86V4) info.l2_bytes = 1 << 20;
  return info;
}

bool host_runs(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kX86V2: return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    case Isa::kX86V3:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    case Isa::kX86V4:
      return host_runs(Isa::kX86V3) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case Isa::kNeon: return false;
  }
  return false;
#elif defined(__aarch64__)
  return isa == Isa::kNeon;
#else
  return false;
#endif
}

TargetInfo detect_host() {
  for (Isa isa : {Isa::kX86V4, Isa::kX86V3, Isa::kX86V2, Isa::kNeon}) {
    if (host_runs(isa)) return make_target(isa);
  }
  return make_target(Isa::kX86V2);
}

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::kX86V2: return "x86-64-v2";
    case Isa::kX86V3: return "x86-64-v3";
    case Isa::kX86V4: return "x86-64-v4";
    case Isa::kNeon: return "neon";
  }
  return "?";
}

std::optional<Isa> parse_isa(std::string_view text) {
  for (Isa isa : {Isa::kX86V2, Isa::kX86V3, Isa::kX86V4, Isa::kNeon}) {
    if (name(isa) == text) return isa;
  }
  return std::nullopt;
}

}  // namespace tenon::target
