#include "compile/assemble.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "compile/listing.hpp"
#include "support/fingerprint.hpp"
#include "support/format.hpp"
#include "symbolic/size_emitter.hpp"

namespace tenon::compile {

using artifact::Artifact;
using artifact::SizeOp;
using artifact::SizeOpKind;
using artifact::SizeRegister;
using loop::BufferId;
using loop::BufferRole;
using symbolic::Expr;

namespace {

class Assembler {
 public:
  Assembler(const Specialized& specialized, const loop::Module& module, const std::vector<schedule::Launch>& launches,
            const target::TargetInfo& target)
      : specialized_(specialized), graph_(*specialized.graph), module_(module), launches_(launches), target_(target),
        emitter_(graph_.pool()) {}

  Result<Assembled> run() {
    a().graph_name = graph_.name();
    a().isa = target_.isa;
    TENON_RETURN_IF_ERROR(bind_symbols());
    declare_inputs();
    TENON_RETURN_IF_ERROR(add_conditions());
    declare_states();
    TENON_RETURN_IF_ERROR(declare_outputs());
    for (const schedule::Launch& launch : launches_) TENON_RETURN_IF_ERROR(add_launch(launch));
    TENON_RETURN_IF_ERROR(add_write_backs());
    set_lifetimes();
    for (const auto& [op, what] : module_.sites) a().sites.push_back({op, what});
    a().size_ops = emitter_.take();
    a().listing = print_plan(a(), register_texts(a()));
    return std::move(out_);
  }

 private:
  Artifact& a() { return out_.artifact; }
  symbolic::Pool& pool() { return graph_.pool(); }
  Result<SizeRegister> reg(Expr e) { return emitter_.emit(graph_.facts().simplify(e)); }

  Status bind_symbols() {
    for (const SymbolSource& source : specialized_.sources) {
      SizeOp dim{SizeOpKind::kInputDim, source.input, source.dim, 0};
      if (source.factor != 1 || source.offset != 0) {
        const SizeRegister size = emitter_.operation(dim);
        const SizeRegister shifted = emitter_.operation({SizeOpKind::kAdd, size, emitter_.constant(-source.offset), 0});
        dim = {SizeOpKind::kFloorDiv, shifted, emitter_.constant(source.factor), 0};
      }
      emitter_.bind(source.symbol, dim);
      const Expr self = pool().of(source.symbol);
      // The key of a call's sizes: symbols that the program still depends on.
      if (graph_.facts().simplify(self) == self) {
        TENON_ASSIGN_OR_RETURN(const SizeRegister value, emitter_.emit(self));
        a().symbols.emplace_back(pool().symbol_name(source.symbol), value);
      }
    }
    return {};
  }

  void declare_inputs() {
    std::vector<bool> mutated(graph_.value_count(), false);
    for (const auto& write_back : graph_.write_backs()) mutated[write_back.target] = true;
    for (const graph::Input& input : graph_.inputs()) {
      const graph::Type& type = graph_.type(input.value);
      artifact::InputDecl decl;
      decl.name = input.name;
      decl.dtype = type.dtype;
      decl.rank = int32_t(type.rank());
      decl.scalar = type.is_scalar();
      decl.mutated = mutated[input.value];
      a().inputs.push_back(std::move(decl));
    }
  }

  Status add_conditions() {
    for (const Condition& condition : specialized_.conditions) {
      artifact::SizeGuard guard;
      guard.relation = artifact::GuardRelation(uint8_t(condition.predicate.relation));
      if (condition.input >= 0) {
        guard.a = emitter_.operation({condition.stride ? SizeOpKind::kInputStride : SizeOpKind::kInputDim, uint32_t(condition.input), uint32_t(condition.dim), 0});
        TENON_ASSIGN_OR_RETURN(guard.b, reg(condition.predicate.b));
      } else {
        // The symbol itself, not what specialization replaced it by.
        TENON_ASSIGN_OR_RETURN(guard.a, emitter_.emit(condition.predicate.a));
        TENON_ASSIGN_OR_RETURN(guard.b, emitter_.emit(condition.predicate.b));
      }
      guard.text = condition.text;
      guard.origin = condition.origin;
      (condition.required ? a().required : a().guards).push_back(std::move(guard));
    }
    for (const symbolic::Guard& assumed : graph_.facts().guards()) {
      TENON_ASSIGN_OR_RETURN(artifact::SizeGuard guard, emitter_.emit(graph_.facts(), assumed));
      a().guards.push_back(std::move(guard));
    }
    return {};
  }

  void declare_states() {
    for (const graph::State& state : graph_.states()) {
      artifact::StateDecl decl;
      decl.name = graph_.value(state.value).name;
      decl.dtype = graph_.type(state.value).dtype;
      for (Expr dim : graph_.type(state.value).dims) decl.dims.push_back(pool().as_constant(dim).value_or(0));
      if (!state.initial.empty()) decl.initial_source = int32_t(add_source(state.initial));
      a().states.push_back(std::move(decl));
    }
  }

  uint32_t add_source(const Blob& blob) {
    for (size_t i = 0; i < out_.sources.size(); ++i) {
      if (out_.sources[i].data() == blob.data() && out_.sources[i].size() == blob.size()) return uint32_t(i);
    }
    out_.sources.push_back(blob);
    return uint32_t(out_.sources.size() - 1);
  }

  Status declare_outputs() {
    size_t next = 0;
    for (const graph::Output& output : graph_.outputs()) {
      artifact::OutputDecl decl;
      decl.name = output.name;
      if (const auto* ref = std::get_if<graph::ValueRef>(&output.argument)) {
        const graph::Type& type = graph_.type(ref->id);
        decl.dtype = type.dtype;
        for (Expr dim : type.dims) {
          TENON_ASSIGN_OR_RETURN(const SizeRegister size, reg(dim));
          decl.dims.push_back(size);
        }
        output_of_.emplace(module_.outputs[next++], uint32_t(a().outputs.size()));
      } else if (const auto* flag = std::get_if<bool>(&output.argument)) {
        decl.kind = artifact::OutputDecl::Kind::kBool;
        decl.integer = *flag;
      } else if (const auto* real = std::get_if<double>(&output.argument)) {
        decl.kind = artifact::OutputDecl::Kind::kFloat;
        decl.real = *real;
      } else if (const auto* integer = std::get_if<Expr>(&output.argument)) {
        const auto value = pool().as_constant(graph_.facts().simplify(*integer));
        if (!value) return unimplemented(concat("output `", output.name, "` is a size that depends on the call"));
        decl.kind = artifact::OutputDecl::Kind::kInt;
        decl.integer = *value;
      } else {
        decl.kind = artifact::OutputDecl::Kind::kNone;
      }
      a().outputs.push_back(std::move(decl));
    }
    for (const auto& [buffer, output] : output_of_) {
      TENON_ASSIGN_OR_RETURN(a().outputs[output].buffer, buffer_index(buffer));
    }
    return {};
  }

  Result<SizeRegister> buffer_bytes(const loop::BufferInfo& info) {
    return reg(pool().mul(pool().product(info.dims), pool().constant(int64_t(size_bytes(info.dtype)))));
  }

  Result<uint32_t> buffer_index(BufferId id) {
    if (auto it = buffers_.find(id); it != buffers_.end()) return it->second;
    const loop::BufferInfo& info = module_.buffers[id];
    artifact::Buffer buffer;
    switch (info.role) {
      case BufferRole::kInput:
        buffer.kind = artifact::BufferKind::kInput;
        buffer.index = info.index;
        break;
      case BufferRole::kState:
        buffer.kind = artifact::BufferKind::kState;
        buffer.index = info.index;
        break;
      case BufferRole::kConstant:
        buffer.kind = artifact::BufferKind::kConstant;
        buffer.index = add_constant(info.index);
        break;
      case BufferRole::kTemporary:
        if (auto output = output_of_.find(id); output != output_of_.end()) {
          buffer.kind = artifact::BufferKind::kOutput;
          buffer.index = output->second;
        }
        TENON_ASSIGN_OR_RETURN(buffer.bytes, buffer_bytes(info));
        break;
    }
    a().buffers.push_back(buffer);
    const uint32_t index = uint32_t(a().buffers.size() - 1);
    buffers_.emplace(id, index);
    return index;
  }

  artifact::ConstantDecl constant_decl(uint32_t index) {
    const graph::Constant& constant = graph_.constants()[index];
    artifact::ConstantDecl decl;
    decl.name = constant.name;
    decl.dtype = graph_.type(constant.value).dtype;
    decl.dims = constant.dims;
    decl.strides = constant.strides;
    decl.offset_bytes = constant.offset_bytes;
    decl.key = constant.key.empty() ? Fingerprint::of(constant.bytes.text()).hex() : constant.key;
    decl.source = add_source(constant.bytes);
    return decl;
  }

  uint32_t add_constant(uint32_t index) {
    a().constants.push_back(constant_decl(index));
    return uint32_t(a().constants.size() - 1);
  }

  // The packed form of a matrix product's constant right-hand side.
  Result<uint32_t> panels_index(const schedule::Launch& launch) {
    const loop::BufferInfo& info = module_.buffers[launch.buffers[1]];
    const loop::MatMul& p = *launch.matmul;
    auto value = [&](Expr e) { return *pool().as_constant(graph_.facts().simplify(e)); };
    artifact::ConstantDecl decl = constant_decl(info.index);
    decl.form = artifact::ConstantDecl::Form::kGemmPanels;
    decl.k = value(p.k);
    decl.n = value(p.n);
    decl.k_stride = value(p.b.strides[2]);
    decl.n_stride = value(p.b.strides[3]);
    decl.offset_bytes += value(p.b.offset) * int64_t(size_bytes(decl.dtype));
    decl.columns = target_.gemm_columns();
    const std::string key = concat(decl.key, "/", decl.offset_bytes, "/", decl.k, "x", decl.n, "/", decl.k_stride, "/", decl.n_stride);
    if (auto it = panels_.find(key); it != panels_.end()) return it->second;
    a().constants.push_back(std::move(decl));
    artifact::Buffer buffer;
    buffer.kind = artifact::BufferKind::kConstant;
    buffer.index = uint32_t(a().constants.size() - 1);
    a().buffers.push_back(buffer);
    const uint32_t index = uint32_t(a().buffers.size() - 1);
    panels_.emplace(key, index);
    return index;
  }

  Status add_launch(const schedule::Launch& launch) {
    artifact::Instruction instruction;
    artifact::KernelProgram program = launch.program;
    program.name.clear();
    const std::string text = artifact::print(program);
    auto [it, added] = programs_.try_emplace(text, uint32_t(a().programs.size()));
    if (added) {
      // The name follows from the content, so that equal kernels have equal text in every program.
      program.name = "k" + Fingerprint::of(text).hex().substr(0, 16);
      a().programs.push_back(std::move(program));
    }
    instruction.program = it->second;
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      uint32_t index = 0;
      if (i == 1 && launch.program.kind == artifact::ProgramKind::kGemm && launch.program.packed_b) {
        TENON_ASSIGN_OR_RETURN(index, panels_index(launch));
      } else {
        TENON_ASSIGN_OR_RETURN(index, buffer_index(launch.buffers[i]));
      }
      instruction.buffers.push_back(index);
    }
    for (Expr size : launch.sizes) {
      TENON_ASSIGN_OR_RETURN(const SizeRegister value, reg(size));
      instruction.sizes.push_back(value);
    }
    TENON_ASSIGN_OR_RETURN(instruction.cost, reg(launch.cost));
    instruction.origins.push_back(launch.origin);
    a().instructions.push_back(std::move(instruction));
    return {};
  }

  Status add_write_backs() {
    for (const auto& [target, buffer] : module_.write_backs) {
      artifact::Instruction copy;
      copy.opcode = artifact::Opcode::kCopy;
      TENON_ASSIGN_OR_RETURN(const uint32_t to, buffer_index(target));
      TENON_ASSIGN_OR_RETURN(const uint32_t from, buffer_index(buffer));
      copy.buffers = {to, from};
      TENON_ASSIGN_OR_RETURN(copy.bytes, buffer_bytes(module_.buffers[buffer]));
      a().instructions.push_back(std::move(copy));
    }
    return {};
  }

  void set_lifetimes() {
    std::vector<bool> seen(a().buffers.size(), false);
    for (uint32_t i = 0; i < a().instructions.size(); ++i) {
      for (uint32_t b : a().instructions[i].buffers) {
        artifact::Buffer& buffer = a().buffers[b];
        if (!seen[b]) buffer.first = i;
        seen[b] = true;
        buffer.last = i;
      }
    }
  }

  const Specialized& specialized_;
  graph::Graph& graph_;
  const loop::Module& module_;
  const std::vector<schedule::Launch>& launches_;
  const target::TargetInfo& target_;
  symbolic::SizeEmitter emitter_;
  Assembled out_;
  std::unordered_map<BufferId, uint32_t> buffers_;
  std::map<BufferId, uint32_t> output_of_;
  std::unordered_map<std::string, uint32_t> panels_;
  std::unordered_map<std::string, uint32_t> programs_;
};

}  // namespace

Result<Assembled> assemble(const Specialized& specialized, const loop::Module& module, const std::vector<schedule::Launch>& launches,
                           const target::TargetInfo& target) {
  return Assembler(specialized, module, launches, target).run();
}

}  // namespace tenon::compile
