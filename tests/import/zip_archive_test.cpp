#include "import/zip_archive.hpp"

#include <gtest/gtest.h>

#include "import/zip_writer.hpp"

namespace tenon::import {
namespace {

std::string sample() {
  ZipWriter writer;
  writer.add("m/weight", "0123456789abcdef");
  writer.add("m/text.json", std::string(1000, 'x') + "end", /*deflated=*/true);
  writer.add("m/empty", "");
  return writer.finish();
}

TEST(ZipArchive, LendsStoredEntriesAndUnpacksText) {
  const Blob file = Blob::own(sample());
  const auto archive = ZipArchive::open(file);
  ASSERT_TRUE(archive.ok()) << archive.status().message();
  ASSERT_EQ(archive->entries().size(), 3u);
  const auto weight = archive->stored("m/weight");
  ASSERT_TRUE(weight.ok());
  EXPECT_EQ(weight->bytes.text(), "0123456789abcdef");
  EXPECT_GE(weight->bytes.data(), file.data());
  EXPECT_LT(weight->bytes.data(), file.data() + file.size());
  EXPECT_TRUE(ZipArchive::verify_crc(*weight).ok());
  const auto text = archive->read_text("m/text.json");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, std::string(1000, 'x') + "end");
  EXPECT_EQ(*archive->read_text("m/empty"), "");
}

TEST(ZipArchive, RefusesCompressedWeightsByName) {
  const auto archive = ZipArchive::open(Blob::own(sample()));
  ASSERT_TRUE(archive.ok());
  const auto stored = archive->stored("m/text.json");
  EXPECT_EQ(stored.status().code(), Code::kUnimplemented);
  EXPECT_NE(stored.status().message().find("m/text.json"), std::string_view::npos);
  EXPECT_EQ(archive->stored("m/none").status().code(), Code::kNotFound);
}

TEST(ZipArchive, TellsWhichEntryIsDamaged) {
  std::string bytes = sample();
  bytes[bytes.find("0123456789")] = '1';
  const auto archive = ZipArchive::open(Blob::own(bytes));
  ASSERT_TRUE(archive.ok());
  const Status status = ZipArchive::verify_crc(*archive->stored("m/weight"));
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.field("value"), "m/weight");
  EXPECT_EQ(status.field("expected").size(), 8u);
  EXPECT_NE(status.field("expected"), status.field("found"));
  EXPECT_EQ(archive->read_text("m/weight").status().code(), Code::kDataLoss);
}

TEST(ZipArchive, NotAnArchiveAndCutAreDifferentErrors) {
  EXPECT_EQ(ZipArchive::open(Blob::own(std::string("hello"))).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ZipArchive::open(Blob()).status().code(), Code::kInvalidArgument);
  const std::string bytes = sample();
  for (size_t size = 4; size < bytes.size(); ++size) {
    const auto cut = ZipArchive::open(Blob::own(bytes.substr(0, size)));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.status().code(), Code::kDataLoss) << size << ": " << cut.status().message();
  }
}

}  // namespace
}  // namespace tenon::import
