#include <cstring>
#include <memory>
#include <type_traits>

#include "artifact/artifact.hpp"
#include "artifact/artifact_generated.h"
#include "artifact/container.hpp"
#include "support/fingerprint.hpp"
#include "support/format.hpp"

namespace tenon::artifact {

namespace {

class Reader {
 public:
  explicit Reader(size_t payload_bytes) : budget_(payload_bytes) {}

  void read(const stored::Artifact& s, Artifact& a) {
    string(s.graph_name(), a.graph_name);
    a.isa = target::Isa(s.isa());
    list(s.inputs(), a.inputs, [&](const stored::InputDecl* t, InputDecl& i) {
      string(t->name(), i.name);
      i.dtype = DType(t->dtype());
      i.rank = t->rank();
      i.scalar = t->scalar();
      i.dtype_required = t->dtype_required();
      i.rank_required = t->rank_required();
      i.mutated = t->mutated();
    });
    list(s.outputs(), a.outputs, [&](const stored::OutputDecl* t, OutputDecl& o) {
      string(t->name(), o.name);
      o.kind = OutputDecl::Kind(t->kind());
      o.dtype = DType(t->dtype());
      numbers(t->dims(), o.dims);
      o.buffer = t->buffer();
      o.alias_input = t->alias_input();
      numbers(t->strides(), o.strides);
      o.offset = t->offset();
      o.integer = t->integer();
      o.real = t->real();
    });
    list(s.states(), a.states, [&](const stored::StateDecl* t, StateDecl& d) {
      string(t->name(), d.name);
      d.dtype = DType(t->dtype());
      numbers(t->dims(), d.dims);
      d.initial_source = t->initial_source();
    });
    list(s.constants(), a.constants, [&](const stored::ConstantDecl* t, ConstantDecl& c) { constant(*t, c); });
    list(s.size_ops(), a.size_ops, [&](const stored::SizeOp* t, SizeOp& op) {
      op = {SizeOpKind(t->kind()), t->a(), t->b(), t->value()};
    });
    list(s.symbols(), a.symbols, [&](const stored::Symbol* t, std::pair<std::string, SizeRegister>& symbol) {
      string(t->name(), symbol.first);
      symbol.second = t->size_register();
    });
    guards(s.required(), a.required);
    guards(s.guards(), a.guards);
    list(s.buffers(), a.buffers, [&](const stored::Buffer* t, Buffer& b) {
      b = {BufferKind(t->kind()), t->index(), t->bytes(), t->first(), t->last(), t->reuses()};
    });
    list(s.instructions(), a.instructions, [&](const stored::Instruction* t, Instruction& i) {
      i.opcode = Opcode(t->opcode());
      i.program = t->program();
      numbers(t->buffers(), i.buffers);
      numbers(t->sizes(), i.sizes);
      i.bytes = t->bytes();
      i.cost = t->cost();
      list(t->origins(), i.origins, [&](const flatbuffers::String* text, std::string& to) { string(text, to); });
    });
    list(s.programs(), a.programs, [&](const stored::KernelProgram* t, KernelProgram& p) { program(*t, p); });
    list(s.sites(), a.sites, [&](const stored::CheckSite* t, CheckSite& site) {
      string(t->op(), site.op);
      string(t->what(), site.what);
    });
    list(s.images(), a.images, [&](const stored::Image* t, Image& i) {
      numbers(t->bytes(), i.bytes);
      numbers(t->programs(), i.programs);
    });
    string(s.listing(), a.listing);
  }

  bool sound() const { return !spent_; }

 private:
  // In a payload that write() made no two references share a vector, so all vectors together fit in it. A crafted one
  // could refer to one large vector a million times.
  bool take(uint64_t bytes) {
    if (spent_ || bytes > budget_) spent_ = true;
    if (!spent_) budget_ -= bytes;
    return !spent_;
  }

  void string(const flatbuffers::String* text, std::string& to) {
    if (text != nullptr && take(text->size())) to.assign(text->data(), text->size());
  }

  // FlatBuffers' verifier does not look at the alignment of elements.
  template <typename T>
  bool aligned(const void* elements) {
    if (reinterpret_cast<uintptr_t>(elements) % alignof(T) != 0) spent_ = true;
    return !spent_;
  }

  template <typename T>
  void numbers(const flatbuffers::Vector<T>* from, std::vector<T>& to) {
    if (from == nullptr || !aligned<T>(from->Data()) || !take(uint64_t(from->size()) * sizeof(T))) return;
    to.reserve(from->size());
    if constexpr (sizeof(T) == 1) {
      to.assign(from->data(), from->data() + from->size());
    } else {
      for (T value : *from) to.push_back(value);
    }
  }

  template <typename Stored, typename T, typename Convert>
  void list(const flatbuffers::Vector<Stored>* from, std::vector<T>& to, Convert convert) {
    if (from == nullptr || !take(uint64_t(from->size()) * 4)) return;
    if constexpr (std::is_pointer_v<Stored>) {
      if (!aligned<std::remove_pointer_t<Stored>>(from->Data())) return;
    }
    to.reserve(from->size());
    for (uint32_t i = 0; i < from->size() && !spent_; ++i) convert(from->Get(i), to.emplace_back());
  }

  static SizeValue value(const stored::SizeValue* v) {
    return v == nullptr ? SizeValue{} : SizeValue{v->constant(), v->slot()};
  }

  void address(const stored::Address* t, Address& a) {
    if (t == nullptr) return;
    a.base = value(t->base());
    a.dynamic = t->dynamic();
    list(t->terms(), a.terms, [&](const stored::AddressTerm* from, AddressTerm& term) {
      term = {from->axis(), value(&from->coefficient())};
    });
  }

  template <typename Ops>
  void body(const Ops* from, std::vector<BodyOp>& to) {
    list(from, to, [&](const stored::BodyOp* t, BodyOp& op) {
      op.op = ScalarOp(t->op());
      op.dtype = DType(t->dtype());
      op.a = t->a();
      op.b = t->b();
      op.c = t->c();
      op.bits = t->bits();
      op.size = value(t->size());
      op.parameter = t->parameter();
      address(t->address(), op.address);
    });
  }

  template <typename Stores>
  void stores(const Stores* from, std::vector<Store>& to) {
    list(from, to, [&](const stored::Store* t, Store& s) {
      s.parameter = t->parameter();
      address(t->address(), s.address);
      s.value = t->value();
    });
  }

  void hook(const stored::Hook* t, Hook& h) {
    if (t == nullptr) return;
    body(t->body(), h.body);
    stores(t->stores(), h.stores);
    h.yield = t->yield();
  }

  void stage(const stored::Stage& t, Stage& s) {
    list(t.axes(), s.axes, [&](const stored::StageAxis* from, StageAxis& axis) {
      axis = {value(&from->extent()), from->reduced(), from->block(), from->outer_axis()};
    });
    body(t.body(), s.body);
    stores(t.stores(), s.stores);
    list(t.reductions(), s.reductions, [&](const stored::Reduction* from, Reduction& r) {
      r.combiner = Combiner(from->combiner());
      r.dtype = DType(from->dtype());
      r.value = from->value();
      r.row = from->row();
      r.parameter = from->parameter();
      address(from->address(), r.address);
    });
    list(t.rows(), s.rows, [&](const stored::RowValue* from, RowValue& row) { row = {from->row(), from->value()}; });
  }

  void program(const stored::KernelProgram& t, KernelProgram& p) {
    p.kind = ProgramKind(t.kind());
    string(t.name(), p.name);
    list(t.parameters(), p.parameters, [&](const stored::Parameter* from, Parameter& q) {
      q = {ParameterKind(from->kind()), DType(from->dtype()), from->written(), value(&from->local_extent())};
    });
    p.size_count = t.size_count();
    p.row_count = t.row_count();
    std::vector<int32_t> types;
    numbers(t.row_types(), types);
    for (int32_t type : types) p.row_types.push_back(DType(type));
    list(t.outer(), p.outer, [&](const stored::SizeValue* from, SizeValue& v) { v = value(from); });
    list(t.stages(), p.stages, [&](const stored::Stage* from, Stage& s) { stage(*from, s); });
    hook(t.init(), p.init);
    hook(t.epilogue(), p.epilogue);
    hook(t.prologue_a(), p.prologue_a);
    p.packed_b = t.packed_b();
    hook(t.score(), p.score);
    hook(t.store(), p.store);
  }

  void constant(const stored::ConstantDecl& t, ConstantDecl& c) {
    string(t.name(), c.name);
    string(t.key(), c.key);
    c.dtype = DType(t.dtype());
    numbers(t.dims(), c.dims);
    numbers(t.strides(), c.strides);
    c.offset_bytes = t.offset_bytes();
    c.source = t.source();
    c.form = ConstantDecl::Form(t.form());
    c.batch = t.batch();
    c.k = t.k();
    c.n = t.n();
    c.batch_stride = t.batch_stride();
    c.k_stride = t.k_stride();
    c.n_stride = t.n_stride();
    c.columns = t.columns();
    numbers(t.inline_bytes(), c.inline_bytes);
  }

  template <typename Guards>
  void guards(const Guards* from, std::vector<SizeGuard>& to) {
    list(from, to, [&](const stored::SizeGuard* t, SizeGuard& g) {
      g.relation = GuardRelation(t->relation());
      g.a = t->a();
      g.b = t->b();
      string(t->text(), g.text);
      string(t->origin(), g.origin);
    });
  }

  uint64_t budget_;
  bool spent_ = false;
};

}  // namespace

Result<Artifact> read(std::span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return data_loss("not an artifact: the header is missing");
  }
  const uint64_t version = get_word(bytes.data() + kVersionAt, 4);
  if (version != kFormatVersion) {
    return data_loss(concat("artifact of format version ", version, ", this library reads ", kFormatVersion));
  }
  const uint8_t* payload = bytes.data() + kHeaderBytes;
  const size_t size = bytes.size() - kHeaderBytes;
  if (get_word(bytes.data() + kSizeAt, 8) != size) {
    return data_loss(concat("artifact holds ", size, " bytes, its header says ", get_word(bytes.data() + kSizeAt, 8)));
  }
  const Fingerprint stated{get_word(bytes.data() + kFingerprintAt, 8), get_word(bytes.data() + kFingerprintAt + 8, 8)};
  if (Fingerprint::of(payload, size) != stated) return data_loss("artifact's checksum does not match its content");

  std::unique_ptr<uint64_t[]> aligned;  // FlatBuffers reads numbers in place
  if (reinterpret_cast<uintptr_t>(payload) % alignof(uint64_t) != 0) {
    aligned.reset(new uint64_t[size / sizeof(uint64_t) + 1]);
    std::memcpy(aligned.get(), payload, size);
    payload = reinterpret_cast<const uint8_t*>(aligned.get());
  }
  // A table takes at least 8 bytes with the reference to it.
  flatbuffers::Verifier verifier(payload, size, 64, flatbuffers::uoffset_t(size / 8 + 8));
  if (size >= FLATBUFFERS_MAX_BUFFER_SIZE || !stored::VerifyArtifactBuffer(verifier)) {
    return data_loss("artifact's tables are malformed");
  }
  Artifact artifact;
  Reader reader(size);
  reader.read(*stored::GetArtifact(payload), artifact);
  if (!reader.sound()) return data_loss("artifact's tables overlap or are not aligned");
  TENON_RETURN_IF_ERROR(verify(artifact));
  return artifact;
}

}  // namespace tenon::artifact
