// Every section of every file below this folder is a test case of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/format.hpp"
#include "text/golden_check.hpp"

namespace tenon::text {
namespace {

class GoldenSection : public testing::Test {
 public:
  GoldenSection(std::string file, std::vector<std::string> steps, Section section)
      : file_(std::move(file)), steps_(std::move(steps)), section_(std::move(section)) {}

  void TestBody() override {
    const std::string problem = check_section(steps_, section_);
    EXPECT_EQ(problem, "") << file_ << ":" << section_.line << ": " << section_.title;
  }

 private:
  std::string file_;
  std::vector<std::string> steps_;
  Section section_;
};

class UnreadableFile : public testing::Test {
 public:
  explicit UnreadableFile(std::string problem) : problem_(std::move(problem)) {}
  void TestBody() override { FAIL() << problem_; }

 private:
  std::string problem_;
};

std::string test_name(std::string_view title) {
  std::string name;
  for (char c : title) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

void register_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const std::string suite = "Golden_" + test_name(path.stem().string());
  const auto file = parse_golden(text.str());
  if (!file.ok()) {
    const std::string problem = concat(path.string(), ": ", file.status().message());
    testing::RegisterTest(suite.c_str(), "Reads", nullptr, nullptr, __FILE__, __LINE__,
                          [problem]() -> testing::Test* { return new UnreadableFile(problem); });
    return;
  }
  for (const Section& section : file->sections) {
    const std::string name = concat(test_name(section.title), "_line", section.line);
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path, steps = file->steps, section]() -> testing::Test* {
                            return new GoldenSection(path.string(), steps, section);
                          });
  }
}

const bool kRegistered = [] {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENON_SOURCE_DIR "/tests/text")) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) register_file(path);
  return true;
}();

TEST(GoldenFormat, PrintsWhatItReads) {
  const std::string text =
      "// pass: one, two\n\n==== first\na\n---- expect\nb\n==== second\nc\n---- unchanged\n==== third\nd\n---- same-as\n"
      "e\n==== fourth\nf\n---- error INTERNAL \"g\"\n";
  const auto file = parse_golden(text);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->steps, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(file->sections.size(), 4u);
  EXPECT_EQ(file->sections[1].line, 7);
  EXPECT_EQ(print_golden(*file), text);
}

TEST(GoldenFormat, RefusesSectionsWithoutExpectation) {
  EXPECT_FALSE(parse_golden("// pass: one\n==== first\na\n==== second\nb\n---- unchanged\n").ok());
  EXPECT_FALSE(parse_golden("// pass: one\n==== first\na\n---- perhaps\n").ok());
  EXPECT_FALSE(parse_golden("==== first\na\n---- unchanged\n").ok());
}

// A section that states something wrong must be found out.
TEST(GoldenCheck, SeesEachKindOfDifference) {
  const std::string graph = "graph @g(%x: f32[4]) -> (y: f32[4]) on cpu {\n  %0 = prim.exp(%x) : f32[4]\n  return %x\n}\n";
  const std::string swept = "graph @g(%x: f32[4]) -> (y: f32[4]) on cpu {\n  return %x\n}\n";
  const std::vector<std::string> steps{"eliminate_dead_code"};
  Section section{"", 1, graph, Expectation::kExpect, swept};
  EXPECT_EQ(check_section(steps, section), "");
  section.expected = graph;
  EXPECT_NE(check_section(steps, section), "");
  section.expectation = Expectation::kUnchanged;
  EXPECT_NE(check_section(steps, section), "");
  section = {"", 1, swept, Expectation::kExpect, swept};
  EXPECT_NE(check_section(steps, section), "") << "the pass reports no change";
  section = {"", 1, swept, Expectation::kError, "INTERNAL \"\""};
  EXPECT_NE(check_section(steps, section), "");
  section = {"", 1, graph, Expectation::kSameAs, "graph @g(%x: f32[4]) -> (y: f32[4]) on cpu {\n  %0 = prim.exp(%x) : f32[4]\n  return %0\n}\n"};
  EXPECT_NE(check_section(steps, section), "");
}

}  // namespace
}  // namespace tenon::text
