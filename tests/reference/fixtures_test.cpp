// Every fixture program, decomposed and run by the interpreter, against LibTorch's answers: a check of all inference
// and decompositions that the fixtures reach, without lowering and kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compile/specialize.hpp"
#include "graph/verify.hpp"
#include "import/pt2.hpp"
#include "ops/registry.hpp"
#include "passes/decompose.hpp"
#include "passes/functionalize.hpp"
#include "reference/interpreter.hpp"
#include "support/format.hpp"

namespace tenon::testing {
namespace {

namespace fs = std::filesystem;

const std::string kFolder = std::string(TENON_SOURCE_DIR) + "/tests/fixtures/pt2/";

struct Program {
  std::string fixture;  // whose answers
  std::string archive;
};

void PrintTo(const Program& program, std::ostream* out) { *out << program.archive; }

std::vector<Program> programs() {
  std::vector<Program> all;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".pt2") continue;
    const std::string archive = entry.path().stem().string();
    std::string fixture = archive;
    for (const std::string_view end : {"_torch2_11", "_torch2_14", "_decomposed"}) {
      if (fixture.ends_with(end)) fixture.resize(fixture.size() - end.size());
    }
    all.push_back({fixture, archive});
  }
  std::sort(all.begin(), all.end(), [](const Program& a, const Program& b) { return a.archive < b.archive; });
  return all;
}

Result<std::unique_ptr<graph::Graph>> import_archive(const std::string& archive) {
  std::ifstream stream(kFolder + archive + ".pt2", std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return import::import_pt2(Blob::own(std::move(bytes).str()), "", ops::registry(), {});
}

// The files of one kind, by the number of the leaf.
std::vector<std::pair<size_t, Array>> arrays(const std::string& prefix) {
  std::vector<std::pair<size_t, Array>> all;
  for (size_t i = 0; i < 16; ++i) {
    const std::string path = concat(kFolder, prefix, i, ".npy");
    if (!fs::exists(path)) continue;
    Result<Array> array = read_npy(path);
    EXPECT_TRUE(array.ok()) << array.status().message();
    if (array.ok()) all.emplace_back(i, std::move(*array));
  }
  return all;
}

// Of what LibTorch computes with: relative to the spread of the answer.
double tolerance(DType dtype) {
  if (dtype == DType::kBF16) return 2e-2;
  if (dtype == DType::kF16) return 3e-3;
  return 1e-5;
}

void compare(const Dense& found, const Dense& expected, DType computed_in, const std::string& what) {
  EXPECT_EQ(found.dtype, expected.dtype) << what;
  ASSERT_EQ(found.dims, expected.dims) << what;
  double low = 0, high = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = expected.number(i);
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double allowed = expected.is_real() ? tolerance(computed_in) * (high - low) : 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = found.number(i), b = expected.number(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed;
    ASSERT_TRUE(same) << what << " element " << i << ": expected " << b << ", found " << a;
  }
}

class Fixture : public ::testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    auto imported = import_archive(GetParam().archive);
    if (!imported.ok()) {
      ASSERT_EQ(imported.status().code(), Code::kUnimplemented) << imported.status().message();
      GTEST_SKIP() << imported.status().message();
    }
    graph_ = std::move(*imported);
    for (const graph::Constant& constant : graph_->constants()) {
      const DType dtype = graph_->type(constant.value).dtype;
      if (tolerance(dtype) > tolerance(lowest_)) lowest_ = dtype;
    }
  }

  void run(Precision precision) {
    std::vector<Dense> states;
    for (char name = 'a'; fs::exists(concat(kFolder, GetParam().fixture, ".", name, ".out0.npy")); ++name) {
      SCOPED_TRACE(concat("case ", name));
      run_case(concat(GetParam().fixture, ".", name), precision, states);
      if (HasFatalFailure()) return;
      ++cases_;
    }
    EXPECT_GT(cases_, 0u);
  }

 private:
  void run_case(const std::string& prefix, Precision precision, std::vector<Dense>& states) {
    const auto given = arrays(prefix + ".in");
    std::vector<Dense> inputs;
    std::vector<tenon_tensor_t> tensors;
    for (const auto& [leaf, array] : given) {
      inputs.push_back(dense_of(array));
      tenon_tensor_t tensor{};
      tensor.dtype = int32_t(array.dtype);
      tensor.rank = int32_t(array.dims.size());
      tensor.dims = array.dims.data();
      tensors.push_back(tensor);
    }
    runtime::CallSignature signature{tensors, {}, false};
    compile::DimHistory history;
    auto specialized = compile::specialize(*graph_, signature, TENON_AUTO_DIMS_DYNAMIC, history);
    ASSERT_TRUE(specialized.ok()) << specialized.status().message();
    graph::Graph& graph = *specialized->graph;
    const auto functional = passes::functionalize(graph);
    ASSERT_TRUE(functional.ok()) << functional.status().message();
    const auto decomposed = passes::decompose(graph);
    ASSERT_TRUE(decomposed.ok()) << decomposed.status().message();
    const Status verified = graph::verify(graph);
    ASSERT_TRUE(verified.ok()) << verified.message();

    std::vector<int64_t> sizes;
    for (symbolic::SymbolId symbol = 0; symbol < graph.pool().symbol_count(); ++symbol) {
      sizes.push_back(graph.facts().hint(symbol).value_or(INT64_MIN));
    }
    const auto answers = interpret(graph, inputs, states, sizes, precision);
    ASSERT_TRUE(answers.ok()) << answers.status().message();

    for (const auto& [leaf, expected] : arrays(prefix + ".out")) {
      ASSERT_LT(leaf, answers->outputs.size());
      compare(answers->outputs[leaf], dense_of(expected), lowest_, concat("output ", leaf));
    }
    if (states.empty()) {
      for (const graph::State& state : graph.states()) states.push_back(initial(graph, state));
    }
    std::vector<Dense> after = inputs;
    for (size_t i = 0; i < graph.write_backs().size(); ++i) {
      const graph::Value& target = graph.value(graph.write_backs()[i].target);
      (target.source == graph::ValueSource::kState ? states : after)[target.index] = answers->write_backs[i];
    }
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string path = concat(kFolder, prefix, ".after", given[i].first, ".npy");
      const Dense expected = fs::exists(path) ? dense_of(*read_npy(path)) : inputs[i];
      compare(after[i], expected, lowest_, concat("input ", i, " after the call"));
    }
    for (size_t i = 0; i < graph.states().size(); ++i) {
      const Result<Array> expected = read_npy(concat(kFolder, prefix, ".state.", graph.states()[i].name, ".npy"));
      ASSERT_TRUE(expected.ok()) << expected.status().message();
      compare(states[i], dense_of(*expected), lowest_, graph.states()[i].name);
    }
  }

  static Dense initial(const graph::Graph& graph, const graph::State& state) {
    const graph::Type& type = graph.type(state.value);
    std::vector<int64_t> dims;
    for (const graph::Expr dim : type.dims) dims.push_back(graph.pool().as_constant(dim).value_or(0));
    Array array = Array::zeros(type.dtype, dims);
    const auto bytes = state.initial.bytes();
    std::copy(bytes.begin(), bytes.end(), array.bytes.begin());
    return dense_of(array);
  }

  std::unique_ptr<graph::Graph> graph_;
  DType lowest_ = DType::kF32;
  size_t cases_ = 0;
};

TEST_P(Fixture, AgreesWithLibTorch) { run(Precision::kStorage); }
TEST_P(Fixture, AgreesWithLibTorchInDouble) { run(Precision::kDouble); }

INSTANTIATE_TEST_SUITE_P(Pt2, Fixture, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.archive; });

// Operators that are added must not be lost again: a fixture that is refused is named here.
TEST(Fixtures, OnlyTheseAreRefused) {
  const std::vector<std::string> refused = {"batch_norm_train", "cond", "conv_net", "data_dependent",
                                            "lstm", "many_results", "svd", "while_loop"};
  for (const Program& program : programs()) {
    const bool known = std::find(refused.begin(), refused.end(), program.fixture) != refused.end();
    const auto graph = import_archive(program.archive);
    EXPECT_TRUE(graph.ok() || known) << program.archive << ": " << graph.status().message();
  }
}

}  // namespace
}  // namespace tenon::testing
