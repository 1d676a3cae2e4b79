#include "codegen/cpu/printer.hpp"

#include "codegen/cpu/body_printer.hpp"
#include "codegen/cpu/nest_printer.hpp"
#include "support/format.hpp"

namespace tenon::embedded {
extern const char kText_kernel_abi_h[];
extern const char kText_template_abi_h[];
extern const char kText_prelude_inc[];
extern const char kText_math_sequences_inc[];
extern const char kText_kernel_support_inc[];
extern const char kText_gemm_tile_inc[];
extern const char kText_gemm_inc[];
extern const char kText_attention_inc[];
}  // namespace tenon::embedded

namespace tenon::codegen::cpu {

using artifact::Hook;
using artifact::KernelProgram;
using artifact::ProgramKind;

namespace {

// Defines p.. and z.. inside a hook from args.
std::string hook_opening(const KernelProgram& program) {
  std::string out;
  print_parameters(program, "  ", out);
  return out;
}

// The epilogue of a matrix product: a function of one vector of columns.
std::string print_gemm_hook(const KernelProgram& program, const target::TargetInfo& target, const Hook& hook, const std::string& name) {
  BodyNames names;
  names.axes = {"b", "m", "n"};
  names.vector_axis = 2;
  names.accumulator = "acc";
  const BodyPrinter body(program, target, hook.body, names);
  std::string out = concat("static inline __attribute__((always_inline)) void ", name,
                           "(const tenon_kernel_args* args, long b, long m, long n, long count, VF acc) {\n");
  append(out, hook_opening(program));
  body.print_uniform(out, "  ");
  append(out, "  if (count == TENON_VL) {\n");
  body.print_varying(out, "    ", "");
  for (const artifact::Store& store : hook.stores) body.print_store(out, "    ", store.parameter, store.address, store.value, "");
  append(out, "  } else {\n");
  body.print_varying(out, "    ", "count");
  for (const artifact::Store& store : hook.stores) body.print_store(out, "    ", store.parameter, store.address, store.value, "count");
  append(out, "  }\n}\n");
  return out;
}

// Hooks of attention work on a row in memory. `first_axis` is the value of the vector axis at element 0 of the row.
std::string print_row_hook(const KernelProgram& program, const target::TargetInfo& target, const Hook& hook, const std::string& name,
                           const std::string& vector_axis, const std::string& first) {
  BodyNames names;
  names.axes = {"b", "h", "q", vector_axis};
  names.vector_axis = 3;
  names.accumulator = "tenon_load(row + j)";
  const BodyPrinter body(program, target, hook.body, names);
  std::string out = concat("static inline void ", name, "(const tenon_kernel_args* args, float* row, long b, long h, long q, long ", first,
                           ", long length) {\n");
  append(out, hook_opening(program));
  body.print_uniform(out, "  ");
  auto block = [&](const std::string& indent, const std::string& count) {
    append(out, concat(indent, "const long ", vector_axis, " = ", first, " + j;\n"));
    append(out, concat(indent, "(void)", vector_axis, ";\n"));
    body.print_varying(out, indent, count);
    if (hook.yield >= 0) append(out, concat(indent, "tenon_store(row + j, ", body.vector(hook.yield), ");\n"));
    for (const artifact::Store& store : hook.stores) body.print_store(out, indent, store.parameter, store.address, store.value, count);
  };
  append(out, "  long j = 0;\n  for (; j + TENON_VL <= length; j += TENON_VL) {\n");
  block("    ", "");
  append(out, "  }\n  if (j < length) {\n    const long count = length - j;\n    (void)count;\n");
  block("    ", "count");
  append(out, "  }\n}\n");
  return out;
}

std::string print_gemm(const KernelProgram& program, const target::TargetInfo& target) {
  const std::string hook = program.name + "_store";
  std::string out = print_gemm_hook(program, target, program.epilogue, hook);
  append(out, concat("#define TENON_GEMM_NAME ", program.name, "\n"));
  append(out, "#define TENON_GEMM_INIT(args, b, m, n, count) VF{}\n");
  append(out, concat("#define TENON_GEMM_STORE(args, b, m, n, count, acc) ", hook, "(args, b, m, n, count, acc)\n"));
  append(out, concat("#define TENON_GEMM_B_PANELS ", program.packed_b ? 1 : 0, "\n"));
  return out;
}

std::string print_attention(const KernelProgram& program, const target::TargetInfo& target) {
  std::string out;
  const std::string score = program.name + "_score", store = program.name + "_store";
  if (program.score.present()) out += print_row_hook(program, target, program.score, score, "k", "k0");
  out += print_row_hook(program, target, program.store, store, "d", "d0");
  append(out, concat("#define TENON_ATTENTION_NAME ", program.name, "\n"));
  if (program.score.present()) {
    append(out, concat("#define TENON_ATTENTION_SCORE_ROW(args, row, b, h, q, k0, count) ", score, "(args, row, b, h, q, k0, count)\n"));
  } else {
    append(out, "#define TENON_ATTENTION_SCORE_ROW(args, row, b, h, q, k0, count)\n");
  }
  append(out, concat("#define TENON_ATTENTION_STORE_ROW(args, row, b, h, q, count) ", store, "(args, row, b, h, q, 0, count)\n"));
  return out;
}

}  // namespace

std::string print_kernel(const KernelProgram& program, const target::TargetInfo& target) {
  switch (program.kind) {
    case ProgramKind::kNest: return print_nest(program, target);
    case ProgramKind::kGemm: return print_gemm(program, target);
    case ProgramKind::kAttention: return print_attention(program, target);
  }
  return {};
}

std::string print_unit(std::span<const KernelProgram* const> programs, const target::TargetInfo& target) {
  using namespace embedded;
  bool templates = false, gemm = false, attention = false;
  for (const KernelProgram* program : programs) {
    gemm = gemm || program->kind == ProgramKind::kGemm;
    attention = attention || program->kind == ProgramKind::kAttention;
  }
  templates = gemm || attention;
  auto text = [](const char* embedded) {
    // `#pragma once` warns in a main file.
    std::string out = embedded;
    if (const size_t at = out.find("#pragma once"); at != std::string::npos) out.erase(at, 12);
    return out;
  };
  std::string out = text(kText_kernel_abi_h);
  if (templates) out += text(kText_template_abi_h);
  out += kText_prelude_inc;
  out += kText_math_sequences_inc;
  out += kText_kernel_support_inc;
  if (templates) out += kText_gemm_tile_inc;
  for (const KernelProgram* program : programs) {
    out += print_kernel(*program, target);
    if (program->kind == ProgramKind::kGemm) out += kText_gemm_inc;
    if (program->kind == ProgramKind::kAttention) out += kText_attention_inc;
  }
  return out;
}

}  // namespace tenon::codegen::cpu
