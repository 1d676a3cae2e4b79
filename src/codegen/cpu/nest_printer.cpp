#include "codegen/cpu/nest_printer.hpp"

#include "codegen/cpu/body_printer.hpp"
#include "support/format.hpp"
#include "target/target_info.hpp"

namespace tenon::codegen::cpu {

using artifact::Combiner;
using artifact::KernelProgram;
using artifact::Reduction;
using artifact::Stage;

namespace {

std::string identity(const Reduction& reduction) {
  const DType type = reduction.dtype;
  switch (reduction.combiner) {
    case Combiner::kSum: return is_floating(type) ? "-0.0" : "0";
    case Combiner::kProd: return "1";
    case Combiner::kAny: return "false";
    case Combiner::kAll: return "true";
    default: break;
  }
  const bool lowest = reduction.combiner == Combiner::kMax || reduction.combiner == Combiner::kArgMax;
  switch (type) {
    case DType::kF32: return lowest ? "-__builtin_inff()" : "__builtin_inff()";
    case DType::kF64: return lowest ? "-__builtin_inf()" : "__builtin_inf()";
    case DType::kBool: return lowest ? "false" : "true";
    case DType::kI8: return lowest ? "-128" : "127";
    case DType::kI16: return lowest ? "-32768" : "32767";
    case DType::kI32: return lowest ? "(-0x7fffffff - 1)" : "0x7fffffff";
    case DType::kI64: return lowest ? "(-0x7fffffffffffffffL - 1)" : "0x7fffffffffffffffL";
    case DType::kU8: return lowest ? "0" : "255";
    case DType::kU16: return lowest ? "0" : "65535";
    case DType::kU32: return lowest ? "0" : "0xffffffffu";
    case DType::kU64: return lowest ? "0" : "0xfffffffffffffffful";
    default: return "0";
  }
}

std::string identity_vector(const Reduction& reduction) {
  if (reduction.dtype == DType::kBool) return concat("tenon_splat_mask(", identity(reduction), ")");
  return concat("tenon_splat((", scalar_type(reduction.dtype), ")", identity(reduction), ")");
}

// a combined with b; as vectors or scalars.
std::string combine(const Reduction& reduction, const std::string& a, const std::string& b) {
  switch (reduction.combiner) {
    case Combiner::kSum: return concat(a, " + ", b);
    case Combiner::kProd: return concat(a, " * ", b);
    case Combiner::kAny: return concat(a, " | ", b);
    case Combiner::kAll: return concat(a, " & ", b);
    case Combiner::kMax:
    case Combiner::kArgMax: return concat(is_floating(reduction.dtype) ? "tenon_max(" : "tenon_int_max(", a, ", ", b, ")");
    case Combiner::kMin:
    case Combiner::kArgMin: return concat(is_floating(reduction.dtype) ? "tenon_min(" : "tenon_int_min(", a, ", ", b, ")");
  }
  return a;
}

bool is_position(const Reduction& reduction) {
  return reduction.combiner == Combiner::kArgMax || reduction.combiner == Combiner::kArgMin;
}

// Chunks bound the rounding error of long sums; integers have none.
bool has_chunks(const Reduction& reduction) { return reduction.combiner == Combiner::kSum && is_floating(reduction.dtype); }

std::string fold(const Reduction& reduction, const std::string& lanes) {
  switch (reduction.combiner) {
    case Combiner::kSum: return concat("tenon_sum_lanes(", lanes, ")");
    case Combiner::kProd: return concat("tenon_product_lanes(", lanes, ")");
    case Combiner::kMax: return concat("tenon_max_lanes(", lanes, ")");
    case Combiner::kMin: return concat("tenon_min_lanes(", lanes, ")");
    // Masks are 0 and -1.
    case Combiner::kAny: return concat("tenon_min_lanes(", lanes, ") != 0");
    case Combiner::kAll: return concat("tenon_max_lanes(", lanes, ") != 0");
    default: return lanes;
  }
}

class StagePrinter {
 public:
  StagePrinter(const KernelProgram& program, const target::TargetInfo& target, const Stage& stage, size_t number, std::string& out)
      : program_(program), stage_(stage), number_(number), out_(out), names_(make_names()), body_(program, target, stage.body, names_) {}

  void print() {
    line(2, "{");
    if (stage_.axes.empty()) {
      print_scalar();
    } else if (stage_.reductions.empty()) {
      print_loops(0, stage_.axes.size() - 1, 4);
      print_map(indent_of(4 + 2 * (int(stage_.axes.size()) - 1)));
      close_loops(stage_.axes.size() - 1, 4);
    } else if (stage_.axes.back().reduced) {
      print_rows();
    } else {
      print_columns();
    }
    line(2, "}");
  }

 private:
  static std::string indent_of(int spaces) { return std::string(size_t(spaces), ' '); }
  void line(int spaces, const std::string& text) { append(out_, concat(indent_of(spaces), text, "\n")); }
  std::string axis_name(size_t stage_axis) const { return concat("a", program_.outer.size() + stage_axis); }

  BodyNames make_names() const {
    BodyNames names;
    names.prefix = concat("s", number_, "_");
    for (size_t a = 0; a < program_.outer.size() + stage_.axes.size(); ++a) names.axes.push_back(concat("a", a));
    if (!stage_.axes.empty()) names.vector_axis = int32_t(names.axes.size()) - 1;
    for (const Reduction& reduction : stage_.reductions) {
      if (is_position(reduction)) names.vector_axis = -1;  // one element at a time
    }
    return names;
  }

  std::string low(size_t axis) const {
    const artifact::StageAxis& a = stage_.axes[axis];
    return a.block > 0 ? concat("a", a.outer_axis, " * ", a.block, "L") : "0";
  }
  std::string high(size_t axis) const {
    const artifact::StageAxis& a = stage_.axes[axis];
    const std::string extent = body_.size(a.extent);
    return a.block > 0 ? concat("tenon_min_long(", extent, ", (a", a.outer_axis, " + 1) * ", a.block, "L)") : extent;
  }

  void print_loops(size_t first, size_t last, int spaces) {
    for (size_t d = first; d < last; ++d, spaces += 2) {
      const std::string a = axis_name(d);
      line(spaces, concat("for (long ", a, " = ", low(d), ", e", d, " = ", high(d), "; ", a, " < e", d, "; ++", a, ") {"));
    }
  }
  void close_loops(size_t count, int spaces) {
    for (size_t d = count; d-- > 0;) line(spaces + 2 * int(d), "}");
  }

  void print_scalar() {
    body_.print_uniform(out_, indent_of(4));
    for (const artifact::Store& store : stage_.stores) body_.print_store(out_, indent_of(4), store.parameter, store.address, store.value, "");
    for (const artifact::RowValue& row : stage_.rows) line(4, concat("r", row.row, " = ", body_.scalar(row.value), ";"));
  }

  void print_stores(const std::string& indent, const std::string& count) {
    for (const artifact::Store& store : stage_.stores) body_.print_store(out_, indent, store.parameter, store.address, store.value, count);
  }

  void print_map(const std::string& indent) {
    const size_t last = stage_.axes.size() - 1;
    const std::string v = axis_name(last);
    append(out_, concat(indent, "const long end = ", high(last), ";\n", indent, "long ", v, " = ", low(last), ";\n"));
    append(out_, concat(indent, "if (", v, " < end) {\n"));
    const std::string inner = indent + "  ";
    // Uniform values never depend on the vector axis' variable, but addresses print it: its first lane is added there.
    body_.print_uniform(out_, inner);
    append(out_, concat(inner, "for (; ", v, " + TENON_VL <= end; ", v, " += TENON_VL) {\n"));
    body_.print_varying(out_, inner + "  ", "");
    print_stores(inner + "  ", "");
    append(out_, concat(inner, "}\n", inner, "if (", v, " < end) {\n", inner, "  const long count = end - ", v, ";\n"));
    body_.print_varying(out_, inner + "  ", "count");
    print_stores(inner + "  ", "count");
    append(out_, concat(inner, "}\n", indent, "}\n"));
  }

  std::string type(const Reduction& reduction) const { return vector_type(reduction.dtype); }

  void print_rows() {
    for (const Reduction& reduction : stage_.reductions) {
      if (is_position(reduction)) return print_positions();
    }
    const size_t last = stage_.axes.size() - 1;
    const std::string v = axis_name(last);
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(4, concat("TenonLanesOf<", type(r), "> t", i, ";"));
      line(4, concat("for (int u = 0; u < 32 / TENON_VL; ++u) t", i, ".v[u] = ", identity_vector(r), ";"));
    }
    print_loops(0, last, 4);
    const int at = 4 + 2 * int(last);
    line(at, concat("const long end = ", high(last), ";"));
    line(at, concat("long ", v, " = ", low(last), ";"));
    line(at, concat("if (", v, " < end) {"));
    body_.print_uniform(out_, indent_of(at + 2));
    line(at + 2, concat("while (", v, " < end) {"));
    line(at + 4, concat("const long stop = tenon_min_long(end, ", v, " + ", target::kReduceChunk, "L);"));
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(at + 4, concat("TenonLanesOf<", type(r), "> c", i, ";"));
      line(at + 4, concat("for (int u = 0; u < 32 / TENON_VL; ++u) c", i, ".v[u] = ", has_chunks(r) ? identity_vector(r) : concat("t", i, ".v[u]"), ";"));
    }
    line(at + 4, concat("for (; ", v, " + 32 <= stop;) {"));
    line(at + 4, "#pragma GCC unroll 8");
    line(at + 6, concat("for (int u = 0; u < 32 / TENON_VL; ++u, ", v, " += TENON_VL) {"));
    body_.print_varying(out_, indent_of(at + 8), "");
    print_stores(indent_of(at + 8), "");
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      const std::string c = concat("c", i, ".v[u]");
      line(at + 8, concat(c, " = ", combine(r, c, body_.vector(r.value)), ";"));
    }
    line(at + 6, "}");
    line(at + 4, "}");
    line(at + 4, "#pragma GCC unroll 8");
    line(at + 4, concat("for (int u = 0; u < 32 / TENON_VL; ++u, ", v, " += TENON_VL) {"));
    line(at + 6, concat("if (", v, " >= stop) break;"));
    line(at + 6, concat("const long count = tenon_min_long(TENON_VL, stop - ", v, ");"));
    body_.print_varying(out_, indent_of(at + 6), "count");
    print_stores(indent_of(at + 6), "count");
    line(at + 6, "const VI32 live = tenon_iota(0) < (int)count;");
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      const std::string c = concat("c", i, ".v[u]");
      const std::string value = concat("tenon_select(live, ", body_.vector(r.value), ", ", identity_vector(r), ")");
      line(at + 6, concat(c, " = ", combine(r, c, value), ";"));
    }
    line(at + 4, "}");
    line(at + 4, concat(v, " = stop;"));
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      const std::string t = concat("t", i, ".v[u]"), c = concat("c", i, ".v[u]");
      line(at + 4, concat("for (int u = 0; u < 32 / TENON_VL; ++u) ", t, " = ", has_chunks(r) ? combine(r, t, c) : c, ";"));
    }
    line(at + 2, "}");
    line(at, "}");
    close_loops(last, 4);
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(4, concat("r", r.row, " = ", fold(r, concat("t", i)), ";"));
    }
  }

  // Positions of extremes, and whatever else the stage reduces, element by element.
  void print_positions() {
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(4, concat(scalar_type(r.dtype), " best", i, " = ", identity(r), ";"));
      line(4, concat("long where", i, " = -1;"));
    }
    line(4, "long position = 0;");
    const size_t count = stage_.axes.size();
    print_loops(0, count, 4);
    const int at = 4 + 2 * int(count);
    body_.print_uniform(out_, indent_of(at));
    for (const artifact::Store& store : stage_.stores) body_.print_store(out_, indent_of(at), store.parameter, store.address, store.value, "");
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      const std::string x = body_.scalar(r.value), best = concat("best", i), where = concat("where", i);
      if (!is_position(r)) {
        line(at, concat(best, " = ", combine(r, best, x), ";"));
        continue;
      }
      // The first NaN wins over all, then the first extreme.
      const char* better = r.combiner == Combiner::kArgMax ? " > " : " < ";
      line(at, concat("if (", where, " < 0 || (", x, better, best, " && ", best, " == ", best, ") || (", x, " != ", x, " && ", best, " == ", best,
                      ")) { ", best, " = ", x, "; ", where, " = position; }"));
    }
    line(at, "++position;");
    close_loops(count, 4);
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(4, concat("r", r.row, " = ", is_position(r) ? "where" : "best", i, ";"));
    }
  }

  void print_columns() {
    const size_t last = stage_.axes.size() - 1;
    const std::string v = axis_name(last);
    line(4, concat("const long end = ", high(last), ";"));
    line(4, concat("long ", v, "0 = ", low(last), ";"));
    line(4, concat("for (; ", v, "0 + 4 * TENON_VL <= end; ", v, "0 += 4 * TENON_VL) {"));
    print_column_block(4, "", 6);
    line(4, "}");
    line(4, concat("for (; ", v, "0 + TENON_VL <= end; ", v, "0 += TENON_VL) {"));
    print_column_block(1, "", 6);
    line(4, "}");
    line(4, concat("if (", v, "0 < end) {"));
    line(6, concat("const long count = end - ", v, "0;"));
    print_column_block(1, "count", 6);
    line(4, "}");
  }

  // `vectors` runs of VL columns at once.
  void print_column_block(int vectors, const std::string& count, int at) {
    const size_t last = stage_.axes.size() - 1;
    const std::string v = axis_name(last);
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(at, concat(type(r), " t", i, "[", vectors, "];"));
      line(at, concat("for (int u = 0; u < ", vectors, "; ++u) t", i, "[u] = ", identity_vector(r), ";"));
    }
    // The innermost reduced axis is cut into chunks.
    print_loops(0, last - 1, at);
    int inner = at + 2 * int(last - 1);
    const std::string k = axis_name(last - 1);
    line(inner, concat("for (long ", k, "0 = ", low(last - 1), ", ", k, "1 = ", high(last - 1), "; ", k, "0 < ", k, "1; ", k, "0 += ",
                       target::kSerialReduceChunk, "L) {"));
    inner += 2;
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      line(inner, concat(type(r), " c", i, "[", vectors, "];"));
      line(inner, concat("for (int u = 0; u < ", vectors, "; ++u) c", i, "[u] = ", has_chunks(r) ? identity_vector(r) : concat("t", i, "[u]"), ";"));
    }
    line(inner, concat("for (long ", k, " = ", k, "0, stop = tenon_min_long(", k, "1, ", k, "0 + ", target::kSerialReduceChunk, "L); ", k, " < stop; ++", k, ") {"));
    body_.print_uniform(out_, indent_of(inner + 2));
    line(inner + 2, "#pragma GCC unroll 4");
    line(inner + 2, concat("for (int u = 0; u < ", vectors, "; ++u) {"));
    line(inner + 4, concat("const long ", v, " = ", v, "0 + u * TENON_VL;"));
    line(inner + 4, concat("(void)", v, ";"));
    body_.print_varying(out_, indent_of(inner + 4), count);
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      const std::string c = concat("c", i, "[u]");
      line(inner + 4, concat(c, " = ", combine(r, c, body_.vector(r.value)), ";"));
    }
    line(inner + 2, "}");
    line(inner, "}");
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      const std::string t = concat("t", i, "[u]"), c = concat("c", i, "[u]");
      line(inner, concat("for (int u = 0; u < ", vectors, "; ++u) ", t, " = ", has_chunks(r) ? combine(r, t, c) : c, ";"));
    }
    inner -= 2;
    line(inner, "}");
    close_loops(last - 1, at);
    line(at, concat("for (int u = 0; u < ", vectors, "; ++u) {"));
    line(at + 2, concat("const long ", v, " = ", v, "0 + u * TENON_VL;"));
    for (size_t i = 0; i < stage_.reductions.size(); ++i) {
      const Reduction& r = stage_.reductions[i];
      body_.print_store_text(out_, indent_of(at + 2), r.parameter, r.address, concat("t", i, "[u]"), r.dtype, count);
    }
    line(at, "}");
  }

  const KernelProgram& program_;
  const Stage& stage_;
  size_t number_;
  std::string& out_;
  BodyNames names_;
  BodyPrinter body_;
};

}  // namespace

void print_parameters(const KernelProgram& program, const std::string& indent, std::string& out) {
  size_t buffer = 0;
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    const artifact::Parameter& parameter = program.parameters[p];
    if (parameter.kind != artifact::ParameterKind::kBuffer) continue;
    const char* type = memory_type(parameter.dtype);
    append(out, concat(indent, parameter.written ? "" : "const ", type, "* __restrict p", p, " = (", parameter.written ? "" : "const ", type,
                       "*)args->buffers[", buffer++, "];\n"));
  }
  for (uint32_t z = 0; z < program.size_count; ++z) append(out, concat(indent, "const long z", z, " = args->sizes[", z, "];\n"));
}

std::string print_nest(const KernelProgram& program, const target::TargetInfo& target) {
  std::string out = concat("TENON_KERNEL void ", program.name, "(const tenon_kernel_args* args, long first, long last, void* scratch) {\n");
  print_parameters(program, "  ", out);
  append(out, "  char* local = (char*)scratch;\n");
  for (size_t p = 0; p < program.parameters.size(); ++p) {
    const artifact::Parameter& parameter = program.parameters[p];
    if (parameter.kind != artifact::ParameterKind::kLocal) continue;
    const char* type = memory_type(parameter.dtype);
    const std::string extent = parameter.local_extent.is_constant() ? concat(parameter.local_extent.constant, "L") : concat("z", parameter.local_extent.slot);
    append(out, concat("  ", type, "* __restrict p", p, " = (", type, "*)local;\n"));
    append(out, concat("  local += (", extent, " * ", size_bytes(parameter.dtype), "L + 63L) & -64L;\n"));
  }
  append(out, "  (void)local;\n  for (long tile = first; tile < last; ++tile) {\n");
  // Row-major position -> axis values.
  const size_t axes = program.outer.size();
  auto extent_of = [&](size_t axis) {
    return program.outer[axis].is_constant() ? concat(program.outer[axis].constant, "L") : concat("z", program.outer[axis].slot);
  };
  if (axes == 1) append(out, "    const long a0 = tile;\n");
  if (axes > 1) {
    append(out, "    long rest = tile;\n");
    for (size_t axis = axes; axis-- > 1;) {
      append(out, concat("    const long a", axis, " = rest % ", extent_of(axis), ";\n    rest /= ", extent_of(axis), ";\n"));
    }
    append(out, "    const long a0 = rest;\n");
  }
  for (uint32_t row = 0; row < program.row_count; ++row) append(out, concat("    ", scalar_type(program.row_types[row]), " r", row, ";\n"));
  for (size_t s = 0; s < program.stages.size(); ++s) StagePrinter(program, target, program.stages[s], s, out).print();
  append(out, "  }\n}\n");
  return out;
}

}  // namespace tenon::codegen::cpu
