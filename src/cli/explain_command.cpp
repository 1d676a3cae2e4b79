#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "progress.hpp"

namespace tenon::cli {

Status explain_command(const ExplainOptions& options) {
  TENON_TRY_ASSIGN(Model model, open_model(options.model));
  const auto needs_entry = [](const std::string& what) { return what != "graph" && what != "interface"; };
  if (std::any_of(options.what.begin(), options.what.end(), needs_entry)) {
    // Guards, plan and source are those of an entry: it is compiled for these inputs.
    TENON_TRY_ASSIGN(std::vector<Array> arrays, make_inputs(model.function, options.model));
    std::vector<Tensor> inputs;
    for (Array& array : arrays) inputs.push_back(array.tensor());
    const Progress progress(model.function, !options.model.quiet);
    TENON_TRY(model.function.prepare(inputs));
  }
  for (const std::string& what : options.what) {
    TENON_TRY_ASSIGN(const std::string text, what == "interface" ? describe_interface(model.function) : model.function.explain(what));
    if (options.what.size() > 1) fmt::print("==== {}\n", what);
    fmt::print("{}{}", text, text.empty() || text.back() == '\n' ? "" : "\n");
  }
  return {};
}

}  // namespace tenon::cli
