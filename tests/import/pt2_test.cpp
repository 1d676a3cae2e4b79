#include "import/pt2.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "graph/print.hpp"
#include "graph/verify.hpp"
#include "import/json_view.hpp"
#include "import/zip_archive.hpp"
#include "import/zip_writer.hpp"
#include "ops/registry.hpp"

namespace tenon::import {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(TENON_SOURCE_DIR) / "tests/fixtures/pt2";
const fs::path kGolden = fs::path(TENON_SOURCE_DIR) / "tests/import/golden";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<fs::path> fixtures() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(kFixtures)) {
    if (entry.path().extension() == ".pt2") all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

Result<std::unique_ptr<graph::Graph>> import_bytes(std::string bytes, ImportOptions options = {}) {
  return import_pt2(Blob::own(std::move(bytes)), "", ops::registry(), options);
}
Result<std::unique_ptr<graph::Graph>> import_fixture(std::string_view name, ImportOptions options = {}) {
  return import_bytes(read(kFixtures / (std::string(name) + ".pt2")), options);
}

// Each file golden/NAME.graph is the printed form of fixtures/pt2/NAME.pt2.
TEST(Pt2, GraphsAreTheGoldenOnes) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    const std::string name = entry.path().stem().string();
    std::vector<std::string> notes;
    ImportOptions options;
    options.notes = &notes;
    const auto graph = import_fixture(name, options);
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.status().message();
    EXPECT_EQ(graph::print(**graph), read(entry.path())) << name;
    EXPECT_TRUE(graph::verify(**graph).ok()) << name;
    for (const std::string& note : notes) EXPECT_EQ(note.find("the tensor '"), std::string::npos) << name << ": " << note;
    ++count;
  }
  EXPECT_GE(count, 8u);
}

TEST(Pt2, WeightsAreTheFilesMemory) {
  const Blob file = Blob::own(read(kFixtures / "weight_views.pt2"));
  const auto graph = import_pt2(file, "model", ops::registry(), {});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto archive = ZipArchive::open(file);
  const auto& constants = (*graph)->constants();
  ASSERT_EQ(constants.size(), 6u);
  for (const graph::Constant& constant : constants) {
    const bool alone = constant.name == "alone";
    const auto stored = archive->stored(alone ? "weight_views/data/weights/weight_1" : "weight_views/data/weights/weight_0");
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(constant.bytes.data(), stored->bytes.data()) << constant.name;
    EXPECT_EQ(constant.bytes.size(), stored->bytes.size()) << constant.name;
    EXPECT_TRUE(constant.key.starts_with("crc32:")) << constant.key;
  }
  EXPECT_EQ(constants[3].name, "turned");
  EXPECT_EQ(constants[3].offset_bytes, 48);
  EXPECT_EQ(constants[3].strides, (std::vector<int64_t>{1, 6}));
}

TEST(Pt2, OneErrorListsEveryUnsupportedOperator) {
  // Of a registry with no operators everything is unsupported.
  const auto none = std::make_shared<graph::OperatorRegistry>();
  const auto graph = import_pt2(Blob::own(read(kFixtures / "scalars.pt2")), "", none, {});
  ASSERT_EQ(graph.status().code(), Code::kUnimplemented);
  EXPECT_EQ(graph.status().field("found"),
            "aten.add.Tensor (6), aten.mul.Tensor (4), aten.div.Tensor (1), aten.pow.Tensor_Scalar (1), "
            "aten.reciprocal (1), aten.rsub.Scalar (1)");
  EXPECT_NE(graph.status().message().find("6 unsupported operators in 14 calls"), std::string_view::npos)
      << graph.status().message();
  EXPECT_EQ(import_fixture("svd").status().field("found"), "aten.linalg_svd (1)");
  // The bodies are looked at too.
  const auto cond = import_pt2(Blob::own(read(kFixtures / "cond.pt2")), "", none, {});
  EXPECT_NE(cond.status().field("found").find("higher_order.cond (1)"), std::string_view::npos);
  EXPECT_NE(cond.status().field("found").find("aten.sub.Tensor (1)"), std::string_view::npos);
}

TEST(Pt2, ChangedBuffersAreStates) {
  for (const std::string_view name : {"counter", "counter_decomposed"}) {
    const auto graph = import_fixture(name);
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.status().message();
    ASSERT_EQ((*graph)->states().size(), 2u) << name;
    EXPECT_EQ((*graph)->states()[0].name, "calls");
    EXPECT_TRUE((*graph)->constants().empty());
    EXPECT_EQ((*graph)->write_backs().size(), name == "counter" ? 0u : 2u);
    EXPECT_EQ((*graph)->outputs().size(), 2u);
  }
}

TEST(Pt2, TiedWeightsAreOneConstant) {
  const auto graph = import_fixture("tied_weights");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ((*graph)->constants().size(), 1u);
}

TEST(Pt2, SizesHaveRanges) {
  const auto graph = import_fixture("size_math");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const graph::Type& x = (*graph)->type((*graph)->inputs()[0].value);
  const symbolic::Range rows = (*graph)->facts().range(x.dims[0]), columns = (*graph)->facts().range(x.dims[1]);
  EXPECT_EQ(rows.min, 2);
  EXPECT_EQ(rows.max, 16);
  EXPECT_EQ(columns.min, 4);
  EXPECT_EQ(columns.max, 40);
  EXPECT_EQ((*graph)->facts().known_divisor(x.dims[1]), 2);
  EXPECT_TRUE((*graph)->facts().guards().empty());
}

// The archive of fixture mlp with other guards.
Result<std::unique_ptr<graph::Graph>> import_with_guards(std::string_view guards, std::vector<std::string>& notes) {
  const auto archive = ZipArchive::open(Blob::own(read(kFixtures / "mlp.pt2")));
  ZipWriter writer;
  for (const ZipEntry& entry : archive->entries()) {
    std::string text = *archive->read_text(entry.name);
    constexpr std::string_view kNone = "\"guards_code\": []";
    if (const size_t at = text.find(kNone); at != std::string::npos && entry.name.ends_with("model.json")) {
      text.replace(at, kNone.size(), "\"guards_code\": " + std::string(guards));
    }
    writer.add(entry.name, text);
  }
  ImportOptions options;
  options.notes = &notes;
  return import_bytes(writer.finish(), options);
}

TEST(Pt2, GuardsBecomeTermsOfSymbols) {
  std::vector<std::string> notes;
  const auto graph = import_with_guards(
      R"(["3 <= L['x'].size()[0] and L['x'].size()[0] < 61", "L['x'].size()[0] % 4 == 0", "L['x'].size()[1] == 12"])", notes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(notes.empty()) << notes[0];
  const graph::GraphSymbol& symbol = (*graph)->symbols()[0];
  EXPECT_EQ(symbol.min, 3);
  EXPECT_EQ(symbol.max, 60);
  EXPECT_EQ(symbol.divisor, 4);
  const auto range = (*graph)->facts().symbol_range(symbol.symbol);
  EXPECT_EQ(range.max, 60);
  EXPECT_EQ((*graph)->facts().divisor(symbol.symbol), 4);
}

TEST(Pt2, GuardsThatSayMoreAreNotes) {
  std::vector<std::string> notes;
  const auto graph = import_with_guards(R"(["L['x'].size()[0] * L['x'].size()[0] < 100", "L['y'] is None"])", notes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("size()[0] < 100"), std::string::npos) << notes[0];
  EXPECT_FALSE(import_with_guards(R"(["65 <= L['x'].size()[0]"])", notes).ok()) << "an empty range";
}

class Memory : public VerifiedFiles {
 public:
  bool already_verified(const FileIdentity& identity) override { return known && identity == *known; }
  void remember(const FileIdentity& identity) override { known = identity; }
  std::optional<FileIdentity> known;
};

TEST(Pt2, WeightsAreReadThroughOnceForAFile) {
  std::string bytes = read(kFixtures / "tied_weights.pt2");
  const auto archive = ZipArchive::open(Blob::copy_of(bytes));
  const ZipEntry* entry = archive->find("tied_weights/data/weights/weight_0");
  ASSERT_NE(entry, nullptr);
  const FileIdentity identity{1, 2, bytes.size(), 3, false};
  Memory memory;
  ImportOptions options;
  options.identity = &identity;
  options.verified = &memory;
  EXPECT_TRUE(import_bytes(bytes, options).ok());
  EXPECT_EQ(memory.known, identity);
  bytes[entry->offset] ^= 1;
  EXPECT_TRUE(import_bytes(bytes, options).ok()) << "the same file is not read again";
  const FileIdentity newer{1, 2, bytes.size(), 4, false};
  options.identity = &newer;
  const Status status = import_bytes(bytes, options).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.field("value"), "tied_weights/data/weights/weight_0");
  EXPECT_EQ(memory.known, identity);
}

TEST(Pt2, ModelsAreChosenByName) {
  const Blob file = Blob::own(read(kFixtures / "mlp.pt2"));
  const Status status = import_pt2(file, "other", ops::registry(), {}).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.field("found"), "'model'");
}

TEST(Pt2, CutFilesGiveAStatus) {
  for (const fs::path& path : fixtures()) {
    const std::string bytes = read(path);
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i) {
      // Mostly near the end, where the directory is.
      const size_t cut = i < 30 ? size_t(i) + 1 : random() % bytes.size() + 1;
      EXPECT_FALSE(import_bytes(bytes.substr(0, bytes.size() - cut)).ok()) << path << " without " << cut;
    }
  }
}

TEST(Pt2, FlippedBytesGiveAStatusOrTheSameProgram) {
  for (const fs::path& path : fixtures()) {
    const std::string bytes = read(path);
    const auto whole = import_bytes(bytes);
    const std::string expected = whole.ok() ? graph::print(**whole) : std::string(whole.status().message());
    std::mt19937 random(11);
    for (int i = 0; i < 120; ++i) {
      std::string flipped = bytes;
      const size_t from_end = random() % (i % 2 == 0 ? std::min<size_t>(bytes.size(), 2500) : bytes.size());
      flipped[bytes.size() - 1 - from_end] ^= char(1 + random() % 255);
      const auto graph = import_bytes(flipped);
      if (graph.ok()) {
        EXPECT_EQ(graph::print(**graph), expected) << path << " at " << from_end;
      }
    }
  }
}

// The directory and the local header name an entry twice.
TEST(Pt2, DifferentNamesOfAnEntryAreDamage) {
  std::string bytes = read(kFixtures / "mlp.pt2");
  const size_t last = bytes.rfind("model.json");
  ASSERT_NE(last, std::string::npos);
  bytes[last] = 'n';
  const Status status = import_bytes(bytes).status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("the name in its local header"), std::string_view::npos) << status.message();
}

// Damage that the CRC does not see: the texts are changed and the archive is written again.
TEST(Pt2, ChangedTextsNeverCrash) {
  size_t imported = 0, refused = 0;
  for (const std::string_view name : {"size_math", "weight_views", "pytree", "counter_decomposed", "cond", "scalars"}) {
    const auto archive = ZipArchive::open(Blob::own(read(kFixtures / (std::string(name) + ".pt2"))));
    ASSERT_TRUE(archive.ok());
    std::mt19937 random(13);
    for (int i = 0; i < 120; ++i) {
      ZipWriter writer;
      for (const ZipEntry& entry : archive->entries()) {
        std::string text = *archive->read_text(entry.name);
        if (entry.name.ends_with(".json") && text.size() > 20) {
          for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
            const size_t at = random() % text.size(), other = random() % text.size();
            switch (random() % 5) {
              case 0: text[at] = char(random()); break;
              case 1: text[at] = "0123456789-\"{}[],:"[random() % 18]; break;
              case 2: text.erase(at, random() % 12); break;
              case 3: text.insert(at, text.substr(other, random() % 40)); break;
              default: {  // a number becomes another
                const size_t digit = text.find_first_of("0123456789", at);
                if (digit == std::string::npos) break;
                const char* const kNumbers[] = {"-1", "0", "9223372036854775807", "4611686018427387904", "1e300", "null"};
                text.replace(digit, 1, kNumbers[random() % 6]);
              }
            }
          }
        }
        writer.add(entry.name, text);
      }
      const auto graph = import_bytes(writer.finish());
      if (graph.ok()) {
        ++imported;
        EXPECT_FALSE(graph::print(**graph).empty());
      } else {
        ++refused;
        EXPECT_FALSE(graph.status().message().empty());
      }
    }
  }
  EXPECT_GT(imported + refused, 700u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace tenon::import
