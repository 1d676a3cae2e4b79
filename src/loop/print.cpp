#include "loop/print.hpp"

#include <bit>
#include <unordered_map>

#include "support/format.hpp"

namespace tenon::loop {
namespace {

// Index symbols (axes, gathered positions) as i0, i1, ... or as the value that computes them; sizes keep their names.
class Printer {
 public:
  Printer(const Module& module, std::string_view name) : module_(module), scalars_(module.scalars) {
    append(out_, concat("loops @", name, " {\n"));
    names_buffers();
  }

  std::string run() {
    for (BufferId id = 0; id < module_.buffers.size(); ++id) {
      const BufferInfo& info = module_.buffers[id];
      if (info.role == BufferRole::kTemporary) continue;
      append(out_, concat("  ", buffer(id), ": ", type(info), " = ", role(info.role), " ", info.index, "\n"));
    }
    for (const Statement& statement : module_.statements) {
      if (statement.nest) print(*statement.nest);
      if (statement.tmpl) print(*statement.tmpl);
    }
    for (const auto& [target, value] : module_.write_backs) {
      append(out_, concat("  write ", buffer(target), " = ", buffer(value), "\n"));
    }
    append(out_, "  return");
    for (size_t index = 0; index < module_.outputs.size(); ++index) {
      append(out_, concat(index == 0 ? " " : ", ", buffer(module_.outputs[index])));
    }
    append(out_, "\n}\n");
    return std::move(out_);
  }

 private:
  static std::string_view role(BufferRole role) {
    switch (role) {
      case BufferRole::kInput: return "input";
      case BufferRole::kConstant: return "constant";
      case BufferRole::kState: return "state";
      case BufferRole::kTemporary: return "temporary";
    }
    return "";
  }

  // Leaves keep their names, temporaries are numbered; a name that is taken gets its number, too.
  void names_buffers() {
    std::unordered_map<std::string, BufferId> taken;
    for (BufferId id = 0; id < module_.buffers.size(); ++id) {
      const BufferInfo& info = module_.buffers[id];
      std::string name = info.role == BufferRole::kTemporary || info.name.empty() ? concat("t", id) : info.name;
      if (!taken.emplace(name, id).second) append(name, concat(".", id));
      names_.push_back(std::move(name));
    }
  }

  std::string buffer(BufferId id) const { return id < names_.size() ? concat("%", names_[id]) : concat("%!", id); }

  std::string list(const std::vector<Expr>& exprs) {
    std::string text;
    for (Expr e : exprs) append(text, concat(text.empty() ? "" : ", ", index(e)));
    return text;
  }

  std::string type(const BufferInfo& info) {
    std::string text = concat(tenon::name(info.dtype), "[", list(info.dims), "]");
    symbolic::Pool& pool = scalars_.pool();
    Expr stride = pool.constant(1);
    bool row_major = true;
    for (size_t dim = info.dims.size(); dim-- > 0 && dim < info.strides.size();) {
      row_major = row_major && info.strides[dim] == stride;
      stride = pool.mul(stride, info.dims[dim]);
    }
    if (!row_major) append(text, concat("{", list(info.strides), "}"));
    return text;
  }

  std::string axis(SymbolId symbol) {
    const auto [found, added] = axes_.try_emplace(symbol, axes_.size());
    return concat("i", found->second);
  }

  std::string axes(const std::vector<Axis>& axes) {
    std::string text;
    for (const Axis& one : axes) {
      append(text, concat(text.empty() ? "" : ", ", axis(one.symbol)));
      append(text, concat(": ", index(one.extent)));
    }
    return text;
  }

  // An index expression with loop variables and gathered positions under their names here.
  std::string index(Expr e) {
    symbolic::Pool& pool = scalars_.pool();
    const std::string text = pool.print(e);
    std::string renamed;
    for (size_t at = 0; at < text.size();) {
      if (!is_name(text[at])) {
        renamed += text[at++];
        continue;
      }
      size_t end = at;
      while (end < text.size() && is_name(text[end])) ++end;
      append(renamed, symbol_text(std::string_view(text).substr(at, end - at)));
      at = end;
    }
    return renamed;
  }

  static bool is_name(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
  }

  std::string symbol_text(std::string_view name) {
    const auto symbol = scalars_.pool().find_symbol(name);
    if (!symbol || scalars_.pool().symbol_kind(*symbol) != symbolic::SymbolKind::kIndex) return std::string(name);
    if (const auto definition = scalars_.definition(*symbol)) return concat("%", number(*definition));
    return axis(*symbol);
  }

  std::string number(ScalarId id) const {
    const auto found = numbers_.find(id.id);
    return found == numbers_.end() ? concat("!", id.id) : concat(found->second);
  }

  std::string operand(ScalarId id) {
    const Scalar& scalar = scalars_[id];
    if (scalar.op != ScalarOp::kConstant) return concat("%", number(id));
    switch (scalar.dtype) {
      case DType::kF32: return concat(std::bit_cast<float>(uint32_t(scalar.bits)));
      case DType::kF64: return concat(std::bit_cast<double>(scalar.bits));
      case DType::kBool: return scalar.bits != 0 ? "true" : "false";
      case DType::kU64: return concat(uint64_t(scalar.bits));
      case DType::kF16:
      case DType::kBF16: return concat("bits ", scalar.bits);
      default: return concat(scalar.bits);
    }
  }

  std::string element(const Scalar& scalar) { return concat(buffer(scalar.buffer), "[", index(scalar.index), "]"); }

  std::string line(const Scalar& scalar) {
    switch (scalar.op) {
      case ScalarOp::kIndex: return concat("index ", index(scalar.index));
      case ScalarOp::kLoad: return concat("load ", element(scalar));
      case ScalarOp::kMaskedLoad:
        return concat("load ", element(scalar), " if ", operand(scalar.a), " else ", operand(scalar.b));
      default: break;
    }
    std::string text = artifact::name(scalar.op);
    const ScalarId operands[] = {scalar.a, scalar.b, scalar.c};
    for (int one = 0; one < artifact::operand_count(scalar.op); ++one) {
      append(text, concat(one == 0 ? " " : ", ", operand(operands[one])));
    }
    return text;
  }

  void body(ScalarId root, std::string_view indent) {
    numbers_.clear();
    const ScalarId roots[] = {root};
    for (ScalarId id : scalars_.postorder(roots)) {
      const Scalar& scalar = scalars_[id];
      if (scalar.op == ScalarOp::kConstant) continue;
      const size_t next = numbers_.size();
      const std::string text = line(scalar);
      numbers_.emplace(id.id, next);
      append(out_, concat(indent, "%", next, " = ", text, " : ", tenon::name(scalar.dtype), "\n"));
    }
    append(out_, concat(indent, "yield ", operand(root), "\n"));
  }

  void print(const Nest& nest) {
    axes_.clear();
    const BufferInfo& info = module_.buffers[nest.output];
    append(out_, concat("  ", buffer(nest.output), ": ", type(info), " = "));
    if (nest.reduced.empty()) {
      append(out_, concat("map [", axes(nest.mapped), "] {\n"));
    } else {
      append(out_, concat("reduce ", nest.combiner ? artifact::name(*nest.combiner) : "?", " [", axes(nest.mapped)));
      append(out_, concat("] over [", axes(nest.reduced), "] {\n"));
    }
    body(nest.value, "    ");
    append(out_, "  }\n");
  }

  std::string strided(const Operand& operand) {
    return concat(buffer(operand.buffer), "[", index(operand.offset), "; ", list(operand.strides), "]");
  }

  void print_axes(std::initializer_list<SymbolId> symbols) {
    std::string text;
    for (SymbolId symbol : symbols) append(text, concat(text.empty() ? "[" : ", ", axis(symbol)));
    append(out_, concat(text, "] {\n"));
  }

  void print(const Template& one) {
    axes_.clear();
    if (one.matmul) {
      const MatMul& m = *one.matmul;
      append(out_, concat("  template matmul(", strided(m.a), ", ", strided(m.b), ") {outer = ", index(m.batch_outer)));
      append(out_, concat(", inner = ", index(m.batch_inner), ", m = ", index(m.m), ", n = ", index(m.n), ", k = "));
      append(out_, concat(index(m.k), m.constant_b ? ", constant_b" : "", "} "));
      print_axes({m.axis_batch, m.axis_m, m.axis_n});
    }
    if (one.attention) {
      const Attention& a = *one.attention;
      append(out_, concat("  template attention(", strided(a.q), ", ", strided(a.k), ", ", strided(a.v), ") {"));
      append(out_, concat("batch = ", index(a.batch), ", heads = ", index(a.heads)));
      append(out_, concat(", kv_heads = ", index(a.kv_heads)));
      append(out_, concat(", queries = ", index(a.queries), ", keys = ", index(a.keys), ", depth = ", index(a.depth)));
      append(out_, concat(", value_depth = ", index(a.value_depth), ", scale = ", a.scale, ", causal = ", a.causal));
      append(out_, concat(", safe = ", a.safe, "} "));
      print_axes({a.axis_b, a.axis_h, a.axis_q, a.axis_k, a.axis_d});
      if (a.score.valid()) {
        append(out_, "    score {\n");
        body(a.score, "      ");
        append(out_, "    }\n");
      }
    }
    for (const StoreTo& store : one.stores) {
      append(out_, concat("    store ", buffer(store.buffer), ": ", type(module_.buffers[store.buffer]), " at ["));
      append(out_, concat(index(store.offset), "] {\n"));
      body(store.value, "      ");
      append(out_, "    }\n");
    }
    append(out_, "  }\n");
  }

  const Module& module_;
  const Scalars& scalars_;
  std::string out_;
  std::vector<std::string> names_;
  std::unordered_map<SymbolId, size_t> axes_;    // of the statement that is printed
  std::unordered_map<uint32_t, size_t> numbers_;  // of the body that is printed
};

}  // namespace

std::string print(const Module& module, std::string_view name) { return Printer(module, name).run(); }

}  // namespace tenon::loop
