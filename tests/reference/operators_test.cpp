// Calls of ATen operators (operators.txt, written by make_operators.py with PyTorch's answers): inferred, decomposed and
// interpreted, with static sizes and with every size a symbol.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "compile/specialize.hpp"
#include "graph/parse.hpp"
#include "graph/verify.hpp"
#include "ops/registry.hpp"
#include "passes/decompose.hpp"
#include "passes/functionalize.hpp"
#include "reference/interpreter.hpp"
#include "support/format.hpp"

namespace tenon::testing {
namespace {

struct Case {
  size_t line = 0;
  std::string call;
  std::vector<Dense> inputs, results;
};

// "f32[2, 3] = 1.0 2.0 ..."
Dense parse_tensor(const std::string& text) {
  const size_t bracket = text.find('['), close = text.find(']');
  const auto dtype = parse_dtype(text.substr(0, bracket));
  EXPECT_TRUE(dtype) << text;
  std::vector<int64_t> dims;
  std::string sizes = text.substr(bracket + 1, close - bracket - 1);
  for (char& c : sizes) c = c == ',' ? ' ' : c;
  std::istringstream in_brackets(sizes);
  for (int64_t dim; in_brackets >> dim;) dims.push_back(dim);
  Dense tensor = zeros(dtype.value_or(DType::kF32), dims);
  std::istringstream values(text.substr(std::min(text.size(), close + 4)));
  std::string word;
  for (size_t i = 0; i < tensor.size(); ++i) {
    EXPECT_TRUE(values >> word) << text;
    if (tensor.is_real()) tensor.reals[i] = std::strtod(word.c_str(), nullptr);
    else tensor.integers[i] = std::strtoll(word.c_str(), nullptr, 10);
  }
  EXPECT_FALSE(values >> word) << text;
  return tensor;
}

std::vector<Case> read_cases() {
  std::ifstream file(std::string(TENON_SOURCE_DIR) + "/tests/reference/operators.txt");
  std::vector<Case> cases;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    if (line.starts_with("aten.")) cases.push_back({number, line, {}, {}});
    else if (line.starts_with("-> ")) cases.back().results.push_back(parse_tensor(line.substr(3)));
    else cases.back().inputs.push_back(parse_tensor(line.substr(4)));
  }
  return cases;
}

enum class Sizes : uint8_t { kStatic, kSymbols };

std::string program(const Case& one, Sizes kind) {
  std::string text = "graph @test(";
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    append(text, concat(i ? ", %" : "%", std::string(1, char('a' + i)), ": ", name(one.inputs[i].dtype), "["));
    for (size_t d = 0; d < one.inputs[i].dims.size(); ++d) {
      append(text, d ? ", " : "");
      append(text, kind == Sizes::kSymbols ? std::string("?") : std::to_string(one.inputs[i].dims[d]));
    }
    append(text, "]");
  }
  std::string outputs, results, types;
  for (size_t i = 0; i < one.results.size(); ++i) {
    const char* comma = i ? ", " : "";
    append(outputs, concat(comma, "y", i, ": ?" "?"));
    append(results, concat(comma, "%", i));
    append(types, concat(comma, "?" "?"));
  }
  return concat(text, ") -> (", outputs, ") on cpu {\n  ", results, " = ", one.call, " : ", types, "\n  return ", results, "\n}\n");
}

struct Limits {
  double relative, of_spread;
};
Limits limits(DType dtype) {
  if (dtype == DType::kBF16) return {1.0 / 128, 1e-5};  // one unit in the last place
  if (dtype == DType::kF16) return {1.0 / 1024, 3e-4};  // PyTorch rounds between the steps of logsumexp
  return {4e-6, 1e-6};
}

std::string compare(const Dense& found, const Dense& expected) {
  if (found.dtype != expected.dtype) return concat("dtype ", name(expected.dtype), ", found ", name(found.dtype));
  if (found.dims != expected.dims) return concat("other dims, ", found.dims.size(), " of them, ", found.size(), " elements");
  double low = 0, high = 0;
  for (const double value : expected.reals) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const Limits limit = limits(expected.dtype);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected.is_real()) {
      if (found.integers[i] != expected.integers[i]) {
        return concat("element ", i, ": ", expected.integers[i], ", found ", found.integers[i]);
      }
      continue;
    }
    const double a = found.reals[i], b = expected.reals[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::fabs(a - b) <= limit.relative * std::fabs(b) + limit.of_spread * (high - low)) continue;
    return concat("element ", i, ": ", std::to_string(b), ", found ", std::to_string(a));
  }
  return "";
}

// What is wrong, or "".
std::string check(const Case& one, Sizes kind) {
  auto parsed = graph::parse(program(one, kind), ops::registry());
  if (!parsed.ok()) return concat("parse: ", parsed.status().message());
  std::vector<tenon_tensor_t> tensors;
  for (const Dense& input : one.inputs) {
    tenon_tensor_t tensor{};
    tensor.dtype = int32_t(input.dtype);
    tensor.rank = int32_t(input.dims.size());
    tensor.dims = input.dims.data();
    tensors.push_back(tensor);
  }
  compile::DimHistory history;
  auto specialized = compile::specialize(**parsed, {tensors, {}, false}, TENON_AUTO_DIMS_DYNAMIC, history);
  if (!specialized.ok()) return concat("specialize: ", specialized.status().message());
  graph::Graph& graph = *specialized->graph;
  const auto functional = passes::functionalize(graph);
  if (!functional.ok()) return concat("functionalize: ", functional.status().message());
  const auto decomposed = passes::decompose(graph);
  if (!decomposed.ok()) return concat("decompose: ", decomposed.status().message());
  if (const Status status = graph::verify(graph); !status.ok()) return concat("verify: ", status.message());
  std::vector<int64_t> sizes;
  for (symbolic::SymbolId symbol = 0; symbol < graph.pool().symbol_count(); ++symbol) {
    sizes.push_back(graph.facts().hint(symbol).value_or(INT64_MIN));
  }
  const auto answers = interpret(graph, one.inputs, {}, sizes, Precision::kStorage);
  if (!answers.ok()) return concat("interpret: ", answers.status().message());
  for (size_t i = 0; i < one.results.size(); ++i) {
    const std::string wrong = compare(answers->outputs[i], one.results[i]);
    if (!wrong.empty()) return concat("result ", i, ": expected ", wrong);
  }
  const bool in_place = one.call.find("_(") != std::string::npos || one.call.find("_.") != std::string::npos;
  if (in_place) {
    if (answers->write_backs.size() != 1) return concat(answers->write_backs.size(), " write-backs");
    const std::string wrong = compare(answers->write_backs[0], one.results[0]);
    if (!wrong.empty()) return concat("write-back: expected ", wrong);
  }
  return "";
}

void check_all(Sizes kind) {
  const std::vector<Case> cases = read_cases();
  EXPECT_GT(cases.size(), 1000u);
  for (const Case& one : cases) {
    const std::string wrong = check(one, kind);
    EXPECT_EQ(wrong, "") << "operators.txt:" << one.line << ": " << one.call << "\n" << program(one, kind);
  }
}

TEST(Operators, AgreeWithPyTorch) { check_all(Sizes::kStatic); }
TEST(Operators, AgreeWithPyTorchWhenSizesAreSymbols) { check_all(Sizes::kSymbols); }

}  // namespace
}  // namespace tenon::testing
