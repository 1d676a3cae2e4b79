// Golden files: sections of text in, expectation out.
//
//   // pass: fold_constants, eliminate_dead_code      (or: stage: decompose | lower | schedule)
//   ==== two constants are folded
//   <graph>
//   ---- expect                     canonical text; a pass must report that it changed something
//   <text>
//   ==== a random operator is not folded
//   <graph>
//   ---- unchanged                  the same text, and the pass must report that it changed nothing
//   ==== both orders give the same form
//   <graph>
//   ---- same-as                    the steps give the same text for both
//   <graph>
//   ==== a constant is not written to
//   <graph>
//   ---- error INVALID_ARGUMENT "part of the message"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/status.hpp"

namespace tenon::text {

enum class Expectation : uint8_t { kExpect, kUnchanged, kSameAs, kError };

struct Section {
  std::string title;
  int line = 0;                  // of the title, from 1
  std::string input;
  Expectation expectation = Expectation::kExpect;
  std::string expected;          // kExpect, kSameAs: text; kError: code and quoted part of the message
};

struct GoldenFile {
  std::vector<std::string> comment;  // lines before the first section
  std::vector<std::string> steps;    // names of passes, or one stage
  std::vector<Section> sections;
};

Result<GoldenFile> parse_golden(std::string_view text);
std::string print_golden(const GoldenFile& file);

}  // namespace tenon::text
