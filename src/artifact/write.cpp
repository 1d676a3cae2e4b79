#include <cstring>

#include "artifact/artifact.hpp"
#include "artifact/artifact_generated.h"
#include "artifact/container.hpp"
#include "support/fingerprint.hpp"

namespace tenon::artifact {

namespace {

using flatbuffers::Offset;

class Writer {
 public:
  std::vector<uint8_t> write(const Artifact& artifact) {
    const auto root = artifact_table(artifact);
    b_.Finish(root, stored::ArtifactIdentifier());
    const size_t size = b_.GetSize();
    std::vector<uint8_t> out(kHeaderBytes + size);
    const Fingerprint print = Fingerprint::of(b_.GetBufferPointer(), size);
    std::memcpy(out.data(), kMagic, sizeof kMagic);
    put_word(out.data() + kVersionAt, kFormatVersion, 4);
    put_word(out.data() + kSizeAt, size, 8);
    put_word(out.data() + kFingerprintAt, print.high, 8);
    put_word(out.data() + kFingerprintAt + 8, print.low, 8);
    std::memcpy(out.data() + kHeaderBytes, b_.GetBufferPointer(), size);
    return out;
  }

 private:
  // Vectors that are empty are left out.
  template <typename Stored, typename List, typename Convert>
  auto tables(const List& list, Convert convert) {
    std::vector<Offset<Stored>> offsets;
    offsets.reserve(list.size());
    for (const auto& element : list) offsets.push_back(convert(element));
    return offsets.empty() ? Offset<flatbuffers::Vector<Offset<Stored>>>() : b_.CreateVector(offsets);
  }
  template <typename Stored, typename List, typename Convert>
  auto structs(const List& list, Convert convert) {
    std::vector<Stored> values;
    values.reserve(list.size());
    for (const auto& element : list) values.push_back(convert(element));
    return values.empty() ? Offset<flatbuffers::Vector<const Stored*>>() : b_.CreateVectorOfStructs(values);
  }
  template <typename T>
  auto numbers(const std::vector<T>& list) {
    return list.empty() ? Offset<flatbuffers::Vector<T>>() : b_.CreateVector(list);
  }
  // Blobs start at 16-byte boundaries of the payload.
  auto aligned_bytes(const std::vector<uint8_t>& bytes) {
    if (bytes.empty()) return Offset<flatbuffers::Vector<uint8_t>>();
    b_.ForceVectorAlignment(bytes.size(), 1, 16);
    return b_.CreateVector(bytes);
  }
  auto string(const std::string& text) {
    return text.empty() ? Offset<flatbuffers::String>() : b_.CreateString(text);
  }

  static stored::SizeValue value(const SizeValue& v) { return {v.constant, v.slot}; }

  auto address(const Address& a) {
    const auto terms = structs<stored::AddressTerm>(
        a.terms, [](const AddressTerm& t) { return stored::AddressTerm(value(t.coefficient), t.axis); });
    const stored::SizeValue base = value(a.base);
    return stored::CreateAddress(b_, &base, terms, a.dynamic);
  }

  auto body(const std::vector<BodyOp>& ops) {
    return tables<stored::BodyOp>(ops, [&](const BodyOp& op) {
      const bool memory = op.op == ScalarOp::kLoad || op.op == ScalarOp::kMaskedLoad || !(op.address == Address{});
      const auto at = memory ? address(op.address) : Offset<stored::Address>();
      const stored::SizeValue size = value(op.size);
      return stored::CreateBodyOp(b_, uint8_t(op.op), int32_t(op.dtype), op.a, op.b, op.c, op.bits,
                                  op.size == SizeValue{} ? nullptr : &size, op.parameter, at);
    });
  }

  auto stores(const std::vector<Store>& list) {
    return tables<stored::Store>(list, [&](const Store& s) {
      const auto at = address(s.address);
      return stored::CreateStore(b_, s.parameter, at, s.value);
    });
  }

  Offset<stored::Hook> hook(const Hook& h) {
    if (h == Hook{}) return {};
    const auto ops = body(h.body);
    const auto to = stores(h.stores);
    return stored::CreateHook(b_, ops, to, h.yield);
  }

  auto stage(const Stage& s) {
    const auto axes = structs<stored::StageAxis>(s.axes, [](const StageAxis& a) {
      return stored::StageAxis(value(a.extent), a.block, a.outer_axis, a.reduced);
    });
    const auto ops = body(s.body);
    const auto to = stores(s.stores);
    const auto reductions = tables<stored::Reduction>(s.reductions, [&](const Reduction& r) {
      const auto at = address(r.address);
      return stored::CreateReduction(b_, uint8_t(r.combiner), int32_t(r.dtype), r.value, r.row, r.parameter, at);
    });
    const auto rows =
        structs<stored::RowValue>(s.rows, [](const RowValue& r) { return stored::RowValue(r.row, r.value); });
    return stored::CreateStage(b_, axes, ops, to, reductions, rows);
  }

  Offset<stored::KernelProgram> program(const KernelProgram& p) {
    const auto name = string(p.name);
    const auto parameters = structs<stored::Parameter>(p.parameters, [](const Parameter& q) {
      return stored::Parameter(value(q.local_extent), int32_t(q.dtype), uint8_t(q.kind), q.written);
    });
    std::vector<int32_t> row_types;
    for (DType dtype : p.row_types) row_types.push_back(int32_t(dtype));
    const auto types = numbers(row_types);
    const auto outer = structs<stored::SizeValue>(p.outer, [](const SizeValue& v) { return value(v); });
    const auto stages = tables<stored::Stage>(p.stages, [&](const Stage& s) { return stage(s); });
    const auto init = hook(p.init), epilogue = hook(p.epilogue), prologue = hook(p.prologue_a);
    const auto score = hook(p.score), store = hook(p.store);
    return stored::CreateKernelProgram(b_, uint8_t(p.kind), name, parameters, p.size_count, p.row_count, types, outer,
                                       stages, init, epilogue, prologue, p.packed_b, score, store);
  }

  auto guards(const std::vector<SizeGuard>& list) {
    return tables<stored::SizeGuard>(list, [&](const SizeGuard& g) {
      const auto text = string(g.text), origin = string(g.origin);
      return stored::CreateSizeGuard(b_, uint8_t(g.relation), g.a, g.b, text, origin);
    });
  }

  auto constant(const ConstantDecl& c) {
    const auto name = string(c.name), key = string(c.key);
    const auto dims = numbers(c.dims), strides = numbers(c.strides);
    const auto bytes = aligned_bytes(c.inline_bytes);
    return stored::CreateConstantDecl(b_, name, key, int32_t(c.dtype), dims, strides, c.offset_bytes, c.source,
                                      uint8_t(c.form), c.batch, c.k, c.n, c.batch_stride, c.k_stride, c.n_stride,
                                      c.columns, bytes);
  }

  Offset<stored::Artifact> artifact_table(const Artifact& a) {
    const auto graph_name = string(a.graph_name);
    const auto inputs = tables<stored::InputDecl>(a.inputs, [&](const InputDecl& i) {
      const auto name = string(i.name);
      return stored::CreateInputDecl(b_, name, int32_t(i.dtype), i.rank, i.scalar, i.dtype_required, i.rank_required,
                                     i.mutated);
    });
    const auto outputs = tables<stored::OutputDecl>(a.outputs, [&](const OutputDecl& o) {
      const auto name = string(o.name);
      const auto dims = numbers(o.dims), strides = numbers(o.strides);
      return stored::CreateOutputDecl(b_, name, uint8_t(o.kind), int32_t(o.dtype), dims, o.buffer, o.alias_input,
                                      strides, o.offset, o.integer, o.real);
    });
    const auto states = tables<stored::StateDecl>(a.states, [&](const StateDecl& s) {
      const auto name = string(s.name);
      const auto dims = numbers(s.dims);
      return stored::CreateStateDecl(b_, name, int32_t(s.dtype), dims, s.initial_source);
    });
    const auto constants = tables<stored::ConstantDecl>(a.constants, [&](const ConstantDecl& c) { return constant(c); });
    const auto size_ops = structs<stored::SizeOp>(
        a.size_ops, [](const SizeOp& op) { return stored::SizeOp(op.value, uint8_t(op.kind), op.a, op.b); });
    const auto symbols = tables<stored::Symbol>(a.symbols, [&](const std::pair<std::string, SizeRegister>& s) {
      const auto name = string(s.first);
      return stored::CreateSymbol(b_, name, s.second);
    });
    const auto required = guards(a.required), guard_list = guards(a.guards);
    const auto buffers = structs<stored::Buffer>(a.buffers, [](const Buffer& f) {
      return stored::Buffer(uint8_t(f.kind), f.index, f.bytes, f.first, f.last, f.reuses);
    });
    const auto instructions = tables<stored::Instruction>(a.instructions, [&](const Instruction& i) {
      const auto buffer_list = numbers(i.buffers), sizes = numbers(i.sizes);
      const auto origins = tables<flatbuffers::String>(i.origins, [&](const std::string& s) { return b_.CreateString(s); });
      return stored::CreateInstruction(b_, uint8_t(i.opcode), i.program, buffer_list, sizes, i.bytes, i.cost, origins);
    });
    const auto programs = tables<stored::KernelProgram>(a.programs, [&](const KernelProgram& p) { return program(p); });
    const auto sites = tables<stored::CheckSite>(a.sites, [&](const CheckSite& s) {
      const auto op = string(s.op), what = string(s.what);
      return stored::CreateCheckSite(b_, op, what);
    });
    const auto images = tables<stored::Image>(a.images, [&](const Image& i) {
      const auto bytes = aligned_bytes(i.bytes);
      const auto list = numbers(i.programs);
      return stored::CreateImage(b_, bytes, list);
    });
    const auto listing = string(a.listing);
    return stored::CreateArtifact(b_, graph_name, int32_t(a.isa), inputs, outputs, states, constants, size_ops, symbols,
                                  required, guard_list, buffers, instructions, programs, sites, images, listing);
  }

  flatbuffers::FlatBufferBuilder b_;
};

}  // namespace

std::vector<uint8_t> write(const Artifact& artifact) { return Writer().write(artifact); }

}  // namespace tenon::artifact
