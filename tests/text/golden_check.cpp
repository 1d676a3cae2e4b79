#include "text/golden_check.hpp"

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "ops/registry.hpp"
#include "support/format.hpp"
#include "text/steps.hpp"

namespace tenon::text {
namespace {

// The graph as the printer writes it.
Result<std::string> canonical(std::string_view text) {
  TENON_ASSIGN_OR_RETURN(const auto graph, graph::parse(text, ops::registry()));
  return graph::print(*graph);
}

std::string check_error(const Status& status, const std::string& expected) {
  const size_t quote = expected.find('"');
  const std::string code = expected.substr(0, expected.find(' '));
  size_t position = quote;
  const auto part = quote == std::string::npos ? std::optional<std::string>("") : parse_json_string(expected, position);
  if (!part) return concat("cannot read the message in: ", expected);
  if (status.ok()) return concat("no error; expected ", expected);
  const std::string found = concat(code_name(status.code()), " ", json_quoted(status.message()));
  if (code != code_name(status.code()) || status.message().find(*part) == std::string_view::npos) {
    return concat("found    ", found, "\nexpected ", expected);
  }
  return "";
}

std::string difference(std::string_view found, std::string_view expected) {
  return found == expected ? "" : concat("found\n", found, "expected\n", expected);
}

}  // namespace

std::string check_section(const std::vector<std::string>& steps, const Section& section) {
  const auto outcome = run_steps(steps, section.input);
  if (section.expectation == Expectation::kError) return check_error(outcome.status(), section.expected);
  if (!outcome.ok()) return concat(code_name(outcome.status().code()), ": ", outcome.status().message());
  switch (section.expectation) {
    case Expectation::kExpect:
      if (!outcome->changed) return "the pass reports no change";
      return difference(outcome->text, section.expected);
    case Expectation::kUnchanged: {
      if (outcome->changed) return concat("the pass reports a change:\n", outcome->text);
      const auto before = canonical(section.input);
      return difference(outcome->text, *before);
    }
    case Expectation::kSameAs: {
      const auto other = run_steps(steps, section.expected);
      if (!other.ok()) return concat("the second graph: ", other.status().message());
      return difference(outcome->text, other->text);
    }
    case Expectation::kError: break;
  }
  return "";
}

Section updated(const std::vector<std::string>& steps, const Section& section) {
  Section made = section;
  if (section.expectation == Expectation::kSameAs) return made;
  const auto outcome = run_steps(steps, section.input);
  if (!outcome.ok()) {
    made.expectation = Expectation::kError;
    const bool was_error = section.expectation == Expectation::kError;
    if (was_error && check_error(outcome.status(), section.expected).empty()) return made;
    made.expected = concat(code_name(outcome.status().code()), " ", json_quoted(outcome.status().message()));
    return made;
  }
  made.expectation = outcome->changed ? Expectation::kExpect : Expectation::kUnchanged;
  made.expected = outcome->changed ? outcome->text : "";
  return made;
}

}  // namespace tenon::text
