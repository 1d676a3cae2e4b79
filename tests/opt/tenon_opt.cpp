// Runs passes or a stage on the text of a graph:
//
//   tenon_opt --pass=NAME[,NAME] FILE        FILE "-" is standard input; prints the graph after the passes
//   tenon_opt --stage=decompose|lower|schedule FILE      the whole way to that stage, printed
//   tenon_opt --pt2 ...                      FILE is a .pt2 archive instead of text
//   tenon_opt --update FILE...               rewrites the expectations of golden files
//   tenon_opt --list                         the names of the passes
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "graph/parse.hpp"
#include "import/pt2.hpp"
#include "ops/registry.hpp"
#include "support/format.hpp"
#include "text/golden_check.hpp"
#include "text/steps.hpp"

namespace tenon::text {
namespace {

struct Options {
  std::vector<std::string> steps;
  std::vector<std::string> files;
  bool update = false, pt2 = false, list = false;
};

int fail(std::string_view message) {
  std::fprintf(stderr, "tenon_opt: %.*s\n", int(message.size()), message.data());
  return 1;
}

std::optional<std::string> read_file(const std::string& path) {
  std::stringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  text << in.rdbuf();
  return text.str();
}

void add_steps(Options& options, std::string_view list) {
  while (true) {
    const size_t comma = list.find(',');
    options.steps.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

bool parse_options(int count, char** words, Options& options) {
  for (int word = 1; word < count; ++word) {
    const std::string_view text = words[word];
    if (text.starts_with("--pass=")) add_steps(options, text.substr(7));
    else if (text == "--stage=decompose") add_steps(options, "functionalize,decompose,clean_up");
    else if (text == "--stage=lower") add_steps(options, "functionalize,decompose,clean_up,match_attention,clean_up,lower");
    else if (text == "--stage=schedule") add_steps(options, "functionalize,decompose,clean_up,match_attention,clean_up,schedule");
    else if (text == "--update") options.update = true;
    else if (text == "--pt2") options.pt2 = true;
    else if (text == "--list") options.list = true;
    else if (text.starts_with("--")) return false;
    else options.files.emplace_back(text);
  }
  return options.list || !options.files.empty();
}

int update(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return fail(concat("cannot read ", path));
  auto file = parse_golden(*text);
  if (!file.ok()) return fail(concat(path, ": ", file.status().message()));
  for (Section& section : file->sections) section = updated(file->steps, section);
  const std::string printed = print_golden(*file);
  if (printed == *text) return 0;
  std::ofstream(path, std::ios::binary) << printed;
  std::printf("%s\n", path.c_str());
  return 0;
}

int run(const Options& options, const std::string& path) {
  const auto text = read_file(path);
  if (!text) return fail(concat("cannot read ", path));
  auto graph = options.pt2 ? import::import_pt2(Blob::copy_of(*text), "", ops::registry(), {})
                           : graph::parse(*text, ops::registry());
  if (!graph.ok()) return fail(graph.status().message());
  const auto outcome = run_steps(options.steps, **graph);
  if (!outcome.ok()) return fail(concat(code_name(outcome.status().code()), ": ", outcome.status().message()));
  std::fwrite(outcome->text.data(), 1, outcome->text.size(), stdout);
  return 0;
}

int main_of(int count, char** words) {
  Options options;
  if (!parse_options(count, words, options)) {
    return fail("usage: tenon_opt [--pt2] --pass=NAME[,NAME] | --stage=NAME | --update | --list FILE...");
  }
  if (options.list) {
    for (std::string_view name : pass_names()) std::printf("%.*s\n", int(name.size()), name.data());
  }
  for (const std::string& file : options.files) {
    if (const int code = options.update ? update(file) : run(options, file)) return code;
  }
  return 0;
}

}  // namespace
}  // namespace tenon::text

int main(int count, char** words) { return tenon::text::main_of(count, words); }
