#include "model.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace tenon::cli {

Result<Model> open_model(const ModelOptions& options) {
  std::ifstream file(options.path, std::ios::binary);
  char first[4] = {};
  if (!file.read(first, 1)) return Status(Code::kNotFound, fmt::format("{}: cannot be read", options.path));
  ContextOptions context_options;
  context_options.threads = options.threads;
  context_options.no_cache = options.no_cache;
  context_options.isa = options.isa;
  context_options.cache_directory = options.cache_directory;
  TENON_TRY_ASSIGN(Context context, Context::create(context_options));
  if (options.path.ends_with(".tenon")) {
    TENON_TRY_ASSIGN(Function function, context.load(options.path));
    return Model{std::move(context), std::move(function)};
  }
  CompileOptions compile_options;
  compile_options.miss_policy = options.policy == "vm"       ? MissPolicy::kVm
                                : options.policy == "behind" ? MissPolicy::kCompileBehind
                                                             : MissPolicy::kCompileNow;
  compile_options.disabled_passes = options.disabled_passes;
  const bool archive = options.path.ends_with(".pt2") || first[0] == 'P';  // a zip archive starts with PK
  std::string text;
  if (!archive) {
    file.seekg(0);
    std::stringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  TENON_TRY_ASSIGN(Graph graph, archive ? context.import(options.path, "pt2") : context.parse(text));
  TENON_TRY_ASSIGN(Function function, context.compile(graph, compile_options));
  return Model{std::move(context), std::move(function)};
}

std::string describe(const Type& type, const Function& function) {
  std::string out(name_of(type.dtype));
  if (type.scalar) return out;
  if (type.auto_rank) return out + "[...]";
  out += '[';
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    const Dim dim = type.dims[axis];
    if (axis > 0) out += ", ";
    if (dim >= 0) {
      out += fmt::format("{}", dim);
      continue;
    }
    const int64_t symbol = dim - Function::kFirstSymbolDim;
    Result<Function::Symbol> known = symbol >= 0 && symbol < int64_t(function.symbols())
                                         ? function.symbol(size_t(symbol))
                                         : Result<Function::Symbol>(Status(Code::kNotFound, ""));
    out += known.ok() ? known->name : "?";
  }
  return out + ']';
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.dtype()), fmt::join(tensor.dims(), ", "));
}

Result<std::string> describe_interface(const Function& function) {
  std::string out;
  for (size_t i = 0; i < function.inputs(); ++i) {
    TENON_TRY_ASSIGN(const Function::Argument input, function.input(i));
    out += fmt::format("input {}: {}\n", input.name, describe(input.type, function));
  }
  for (size_t i = 0; i < function.outputs(); ++i) {
    TENON_TRY_ASSIGN(const Function::Argument output, function.output(i));
    out += fmt::format("output {}: {}\n", output.name, describe(output.type, function));
  }
  for (size_t i = 0; i < function.symbols(); ++i) {
    TENON_TRY_ASSIGN(const Function::Symbol symbol, function.symbol(i));
    out += fmt::format("size {} in [{}, {}]", symbol.name, symbol.min, symbol.max == INT64_MAX ? "any" : fmt::to_string(symbol.max));
    out += symbol.divisor > 1 ? fmt::format(", a multiple of {}\n", symbol.divisor) : "\n";
  }
  return out;
}

}  // namespace tenon::cli
