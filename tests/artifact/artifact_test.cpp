#include "artifact/artifact.hpp"

#include <gtest/gtest.h>

#include <random>

#include "artifact/container.hpp"
#include "artifact/sample_artifact.hpp"
#include "support/fingerprint.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;

void sign(std::vector<uint8_t>& bytes) {
  const Fingerprint print = Fingerprint::of(bytes.data() + kHeaderBytes, bytes.size() - kHeaderBytes);
  put_word(bytes.data() + kSizeAt, bytes.size() - kHeaderBytes, 8);
  put_word(bytes.data() + kFingerprintAt, print.high, 8);
  put_word(bytes.data() + kFingerprintAt + 8, print.low, 8);
}

TEST(Artifact, SampleIsValid) {
  const Status status = verify(sample_artifact());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Artifact, WritesAndReadsEveryField) {
  const Artifact a = sample_artifact();
  const std::vector<uint8_t> bytes = write(a);
  auto back = read(bytes);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(write(*back), bytes);  // equal bytes: every field that write() knows came back
  EXPECT_EQ(back->graph_name, a.graph_name);
  EXPECT_EQ(back->isa, a.isa);
  EXPECT_EQ(back->programs, a.programs);
  EXPECT_EQ(back->symbols, a.symbols);
  ASSERT_EQ(back->inputs.size(), 3u);
  EXPECT_EQ(back->inputs[1].name, "n");
  EXPECT_TRUE(back->inputs[1].scalar);
  EXPECT_FALSE(back->inputs[0].rank_required);
  EXPECT_TRUE(back->inputs[0].dtype_required);
  EXPECT_TRUE(back->inputs[2].mutated);
  ASSERT_EQ(back->outputs.size(), 4u);
  EXPECT_EQ(back->outputs[1].alias_input, 2);
  EXPECT_EQ(back->outputs[0].alias_input, -1);
  EXPECT_EQ(back->outputs[1].strides, a.outputs[1].strides);
  EXPECT_EQ(back->outputs[1].offset, 3u);
  EXPECT_EQ(back->outputs[2].integer, -5);
  EXPECT_EQ(back->outputs[3].real, 0.25);
  ASSERT_EQ(back->constants.size(), 3u);
  EXPECT_EQ(back->constants[0].key, "crc:1234:64");
  EXPECT_EQ(back->constants[0].form, ConstantDecl::Form::kGemmPanels);
  EXPECT_EQ(back->constants[0].columns, 16);
  EXPECT_EQ(back->constants[0].batch, 1);
  EXPECT_EQ(back->constants[1].inline_bytes, a.constants[1].inline_bytes);
  EXPECT_EQ(back->states[1].dims, a.states[1].dims);
  EXPECT_EQ(back->states[0].initial_source, -1);
  ASSERT_EQ(back->buffers.size(), 7u);
  EXPECT_EQ(back->buffers[4].reuses, 3);
  EXPECT_EQ(back->buffers[4].last, 2u);
  ASSERT_EQ(back->instructions.size(), 4u);
  EXPECT_EQ(back->instructions[0].origins, a.instructions[0].origins);
  EXPECT_EQ(back->instructions[3].opcode, Opcode::kCopy);
  EXPECT_EQ(back->instructions[3].bytes, 4u);
  EXPECT_EQ(back->guards[0].text, "s0 != s1");
  EXPECT_EQ(back->guards[0].relation, GuardRelation::kNe);
  EXPECT_EQ(back->size_ops[2].value, 4);
  EXPECT_EQ(back->sites[1].what, "index out of range");
  EXPECT_EQ(back->images[0].bytes, a.images[0].bytes);
  EXPECT_EQ(back->images[0].programs, a.images[0].programs);
  EXPECT_EQ(back->listing, a.listing);
}

TEST(Artifact, EmptyOneAndUnalignedBytes) {
  const std::vector<uint8_t> bytes = write(Artifact{});
  EXPECT_TRUE(read(bytes).ok());
  const std::vector<uint8_t> sample = write(sample_artifact());
  for (size_t shift = 0; shift < 8; ++shift) {
    std::vector<uint8_t> moved(shift, 0);
    moved.insert(moved.end(), sample.begin(), sample.end());
    EXPECT_TRUE(read(std::span(moved).subspan(shift)).ok());
  }
}

TEST(Artifact, EveryFlippedBitIsNoticed) {
  const std::vector<uint8_t> bytes = write(sample_artifact());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<uint8_t> broken = bytes;
    broken[at] ^= uint8_t(1u << (at % 8));
    const bool padding = (at >= kVersionAt + 4 && at < kSizeAt) || (at >= kFingerprintAt + 16 && at < kHeaderBytes);
    if (padding) continue;
    ASSERT_EQ(read(broken).status().code(), Code::kDataLoss) << at;
  }
  for (size_t size = 0; size < bytes.size(); size += 7) {
    ASSERT_EQ(read(std::span(bytes).first(size)).status().code(), Code::kDataLoss) << size;
  }
}

// With the checksum put right again, so that the structure is verified: DATA_LOSS or a valid artifact, never a crash.
TEST(Artifact, SignedDamageIsRefusedOrHarmless) {
  const std::vector<uint8_t> bytes = write(sample_artifact());
  std::mt19937_64 random(5);
  size_t refused = 0, accepted = 0;
  const auto check = [&](std::vector<uint8_t>& broken) {
    sign(broken);
    auto back = read(broken);
    if (!back.ok()) {
      ASSERT_EQ(back.status().code(), Code::kDataLoss);
      ++refused;
      return;
    }
    ++accepted;
    ASSERT_TRUE(verify(*back).ok());
    for (const KernelProgram& p : back->programs) ASSERT_FALSE(print(p).empty());
    ASSERT_FALSE(write(*back).empty());
  };
  for (size_t at = kHeaderBytes; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; bit += 1 + int(at % 3)) {
      std::vector<uint8_t> broken = bytes;
      broken[at] ^= uint8_t(1u << bit);
      check(broken);
    }
  }
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> broken = bytes;
    const size_t changes = 1 + random() % 6;
    for (size_t k = 0; k < changes; ++k) {
      const size_t at = kHeaderBytes + random() % (broken.size() - kHeaderBytes);
      static constexpr uint8_t kNasty[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
      broken[at] = random() % 2 ? kNasty[random() % 6] : uint8_t(random());
    }
    if (random() % 4 == 0) broken.resize(kHeaderBytes + random() % (broken.size() - kHeaderBytes));
    check(broken);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(accepted, 1000u);  // images, names, numbers
}

// One thing wrong at a time, each named.
TEST(Artifact, VerifierNamesWhatIsWrong) {
  const auto message = [](auto change) {
    Artifact a = sample_artifact();
    change(a);
    const Status status = verify(a);
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_EQ(read(write(a)).status().code(), Code::kDataLoss);
    return std::string(status.message());
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
  };
  has(message([](Artifact& a) { a.isa = target::Isa(9); }), "instruction set");
  has(message([](Artifact& a) { a.size_ops[3].a = 3; }), "size operation 3");
  has(message([](Artifact& a) { a.size_ops[0].b = 2; }), "size operation 0");
  has(message([](Artifact& a) { a.size_ops[5].a = 0; }), "size operation 5");
  has(message([](Artifact& a) { a.guards[0].b = 99; }), "guard 0");
  has(message([](Artifact& a) { a.symbols[1].second = 99; }), "symbol s1");
  has(message([](Artifact& a) { a.outputs[0].buffer = 7; }), "output 0");
  has(message([](Artifact& a) { a.outputs[1].strides.clear(); }), "output 1");
  has(message([](Artifact& a) { a.states[1].dims[0] = -1; }), "state 1");
  has(message([](Artifact& a) { a.constants[1].inline_bytes.push_back(1); }), "constant 1");
  has(message([](Artifact& a) { a.constants[0].columns = 0; }), "constant 0");
  has(message([](Artifact& a) { a.constants[2].dims[0] = int64_t{1} << 60; }), "constant 2");
  has(message([](Artifact& a) { a.buffers[3].last = 4; }), "buffer 3");
  has(message([](Artifact& a) { a.buffers[4].reuses = 4; }), "buffer 4");
  has(message([](Artifact& a) { a.buffers[2].index = 3; }), "buffer 2");
  has(message([](Artifact& a) { a.instructions[0].buffers.pop_back(); }), "instruction 0");
  has(message([](Artifact& a) { a.instructions[0].buffers[2] = 2; }), "writes a constant");
  has(message([](Artifact& a) { a.instructions[2].buffers[1] = 3; }), "outside its life");
  has(message([](Artifact& a) { a.instructions[1].program = 3; }), "instruction 1");
  has(message([](Artifact& a) { a.instructions[3].buffers[0] = 2; }), "writes a constant");
  has(message([](Artifact& a) { a.images[0].programs[1] = 3; }), "image 0");
  has(message([](Artifact& a) { a.sites.pop_back(); }), "site out of range");
  const auto program = [&](auto change) { return message([&](Artifact& a) { change(a.programs[0]); }); };
  has(program([](KernelProgram& p) { p.stages[0].body[4].a = 4; }), "operation 4");
  has(program([](KernelProgram& p) { p.stages[0].body[4].op = ScalarOp(200); }), "operation 4");
  has(program([](KernelProgram& p) { p.stages[0].body[4].dtype = DType(14); }), "operation 4");
  has(program([](KernelProgram& p) { p.stages[0].body[4].dtype = DType::kF64; }), "wrong types");
  has(program([](KernelProgram& p) { p.stages[0].body[3].address.dynamic = 3; }), "computed address");
  has(program([](KernelProgram& p) { p.stages[0].body[3].address.terms[0].axis = 2; }), "axis out of range");
  has(program([](KernelProgram& p) { p.stages[0].body[1].size.slot = 2; }), "size slot");
  has(program([](KernelProgram& p) { p.stages[0].reductions[0].row = 2; }), "row value");
  has(program([](KernelProgram& p) { p.stages[0].reductions[0].combiner = Combiner::kAny; }), "wrong type");
  has(program([](KernelProgram& p) { p.stages[1].rows[0].value = 2; }), "row value");
  has(program([](KernelProgram& p) { std::swap(p.stages[1], p.stages[2]); }), "row value that is not there");
  has(program([](KernelProgram& p) { p.stages[2].axes[0].outer_axis = 1; }), "outer axis");
  has(program([](KernelProgram& p) { p.stages[2].stores[0].parameter = 0; }), "store goes");
  has(program([](KernelProgram& p) { p.stages[3].reductions[0].address.terms[1].axis = 1; }), "reduced axis");
  has(program([](KernelProgram& p) { std::swap(p.parameters[2], p.parameters[3]); }), "local");
  has(message([](Artifact& a) { a.programs[1].epilogue.stores.clear(); }), "stores nothing");
  has(message([](Artifact& a) { a.programs[1].init.body[0].op = ScalarOp::kAccumulator; }), "accumulator");
  has(message([](Artifact& a) { a.programs[2].size_count = 3; }), "sizes are missing");
}

TEST(Print, KernelPrograms) {
  const Artifact a = sample_artifact();
  EXPECT_EQ(print(a.programs[0]),
            "nest @k0(%0: f32, %1: i64, %2: f32 out, %3: f32 local[s1]) sizes 2 rows r0: f32, r1: f32 [a0: s0] {\n"
            "  reduce [a1 over s1] {\n"
            "    v0 = load %1[a0] : i64\n"
            "    v1 = size s0 : i64\n"
            "    v2 = wrap v0, v1 site 1 : i64\n"
            "    v3 = load %0[a1 + v2] : f32\n"
            "    v4 = exp v3 : f32\n"
            "    store %3[a1], v4\n"
            "    r0 = sum v4 : f32\n"
            "  }\n"
            "  scalar [] {\n"
            "    v0 = row r0 : f32\n"
            "    v1 = reciprocal v0 : f32\n"
            "    r1 = v1\n"
            "  }\n"
            "  map [a1: s1 part a0 of 64] {\n"
            "    v0 = row r1 : f32\n"
            "    v1 = load %3[a1] : f32\n"
            "    v2 = mul v0, v1 : f32\n"
            "    store %2[s1*a0 + a1], v2\n"
            "  }\n"
            "  column [a1 over 3, a2: s1] {\n"
            "    v0 = load %0[s1*a1 + a2] : f32\n"
            "    %2[s1*a0 + a2] = max v0 : f32\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(print(a.programs[1]),
            "gemm @g1(%0: f32, %1: f32, %2: f32 out) sizes 17 packed_b {\n"
            "  init (a0: batch, a1: m, a2: n) {\n"
            "    v0 = const 1.5 : f32\n"
            "    yield v0\n"
            "  }\n"
            "  prologue_a (a0: batch, a1: m, a2: k) {\n"
            "    v0 = load %0[s2*a1 + a2] : f32\n"
            "    yield v0\n"
            "  }\n"
            "  epilogue (a0: batch, a1: m, a2: n) {\n"
            "    v0 = acc : f32\n"
            "    v1 = tanh v0 : f32\n"
            "    store %2[s1*a1 + a2 + 4], v1\n"
            "  }\n"
            "}\n");
}

}  // namespace
}  // namespace tenon::tests
