#include "text/golden_file.hpp"

#include "support/format.hpp"

namespace tenon::text {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    names.emplace_back(trimmed(list.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return names;
}

Status error_at(size_t line, std::string_view problem) {
  return invalid_argument(concat("line ", line + 1, ": ", problem));
}

}  // namespace

Result<GoldenFile> parse_golden(std::string_view text) {
  GoldenFile file;
  std::string* into = nullptr;
  bool has_expectation = true;
  const auto lines = lines_of(text);
  for (size_t number = 0; number < lines.size(); ++number) {
    std::string_view line = lines[number];
    if (take(line, "====")) {
      if (!has_expectation) return error_at(number, "the section before has no expectation");
      Section section;
      section.title = trimmed(line);
      section.line = int(number) + 1;
      file.sections.push_back(std::move(section));
      into = &file.sections.back().input;
      has_expectation = false;
    } else if (take(line, "----")) {
      if (has_expectation) return error_at(number, "an expectation without a section");
      has_expectation = true;
      Section& section = file.sections.back();
      std::string_view word = trimmed(line);
      into = &section.expected;
      if (word == "expect") section.expectation = Expectation::kExpect;
      else if (word == "unchanged") section.expectation = Expectation::kUnchanged;
      else if (word == "same-as") section.expectation = Expectation::kSameAs;
      else if (take(word, "error ")) {
        section.expectation = Expectation::kError;
        section.expected = trimmed(word);
        into = nullptr;
      } else {
        return error_at(number, "expected expect, unchanged, same-as or error");
      }
    } else if (into != nullptr) {
      append(*into, line);
      append(*into, '\n');
    } else if (file.sections.empty()) {
      file.comment.emplace_back(line);
      if (take(line, "// pass:") || take(line, "// stage:")) file.steps = names_of(line);
    } else if (!trimmed(line).empty()) {
      return error_at(number, "text after an error expectation");
    }
  }
  if (!has_expectation) return error_at(lines.size(), "the last section has no expectation");
  if (file.steps.empty()) return error_at(0, "expected a line \"// pass:\" or \"// stage:\" before the first section");
  return file;
}

std::string print_golden(const GoldenFile& file) {
  std::string out;
  for (const std::string& line : file.comment) append(out, concat(line, "\n"));
  for (const Section& section : file.sections) {
    append(out, concat("==== ", section.title, "\n", section.input, "---- "));
    switch (section.expectation) {
      case Expectation::kExpect: append(out, concat("expect\n", section.expected)); break;
      case Expectation::kUnchanged: append(out, "unchanged\n"); break;
      case Expectation::kSameAs: append(out, concat("same-as\n", section.expected)); break;
      case Expectation::kError: append(out, concat("error ", section.expected, "\n")); break;
    }
  }
  return out;
}

}  // namespace tenon::text
