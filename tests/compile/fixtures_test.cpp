// Every archive of tests/fixtures: imported, compiled, run on the vm and as compiled code. The two agree bit for bit and
// with LibTorch's answers.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "compile/artifact_runner.hpp"
#include "compile/pipeline.hpp"
#include "import/pt2.hpp"
#include "ops/registry.hpp"
#include "support/env.hpp"
#include "support/format.hpp"

namespace tenon::testing {
namespace {

struct Fixture {
  std::string name, file;
  int inputs = 0, outputs = 0, cases = 0;
  bool mutates = false;
};

std::string folder() { return TENON_SOURCE_DIR "/tests/fixtures/pt2/"; }

std::vector<Fixture> fixtures() {
  std::vector<Fixture> list;
  std::ifstream index(folder() + "index.txt");
  for (std::string line; std::getline(index, line);) {
    std::istringstream words(line);
    Fixture fixture;
    std::string word, files;
    words >> fixture.name;
    while (words >> word) {
      const std::string value = word.substr(word.find('=') + 1);
      if (word.starts_with("inputs=")) fixture.inputs = std::stoi(value);
      if (word.starts_with("outputs=")) fixture.outputs = std::stoi(value);
      if (word.starts_with("cases=")) fixture.cases = std::stoi(value);
      if (word.starts_with("mutates=")) fixture.mutates = value != "-";
      if (word.starts_with("files=")) files = value;
    }
    std::istringstream names(files);
    while (std::getline(names, fixture.file, ',')) list.push_back(fixture);
  }
  return list;
}

// Programs that are refused, and the word that says why.
const std::map<std::string, std::string> kRefused = {
    {"svd", "linalg_svd"}, {"cond", "cond"}, {"while_loop", "while_loop"}, {"data_dependent", ""},
    {"lstm", "lstm"},        {"conv_net", "conv"}, {"many_results", "topk"}};

class Fixtures : public ::testing::TestWithParam<Fixture> {};

TEST_P(Fixtures, VmAndCompiledCodeAgreeWithLibTorch) {
  const Fixture& fixture = GetParam();
  if (fixture.mutates) return;  // their state is the runtime's: see tests/capi
  auto blob = posix_env().map_file(folder() + fixture.file + ".pt2");
  ASSERT_TRUE(blob.ok());
  auto graph = import::import_pt2(*blob, "", ops::registry(), {});
  if (auto refused = kRefused.find(fixture.name); refused != kRefused.end() && !graph.ok()) {
    EXPECT_NE(graph.status().message().find(refused->second), std::string::npos) << graph.status().message();
    return;
  }
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const target::TargetInfo target = target::detect_host();
  for (int c = 0; c < fixture.cases; ++c) {
    const std::string prefix = concat(folder(), fixture.name, ".", char('a' + c), ".");
    std::vector<Array> inputs;
    for (int i = 0; i < 64 && inputs.size() < (*graph)->inputs().size(); ++i) {
      if (auto array = read_npy(concat(prefix, "in", i, ".npy")); array.ok()) inputs.push_back(*std::move(array));
    }
    std::vector<tenon_tensor_t> tensors;
    for (Array& input : inputs) {
      tenon_tensor_t tensor = {};
      tensor.data = input.bytes.data();
      tensor.dtype = int32_t(input.dtype);
      tensor.device_kind = TENON_DEVICE_CPU;
      tensor.rank = int32_t(input.dims.size());
      tensor.dims = input.dims.data();
      tensors.push_back(tensor);
    }
    runtime::CallSignature signature;
    signature.inputs = tensors;
    compile::DimHistory history;
    compile::PipelineOptions options;
    options.target = target;
    options.verify = true;
    auto result = compile::run_pipeline(**graph, signature, history, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const artifact::Artifact& artifact = result->assembled.artifact;
    const Status valid = artifact::verify(artifact);
    ASSERT_TRUE(valid.ok()) << valid.message();
    auto vm = run_artifact(artifact, result->assembled.sources, inputs, target, nullptr);
    ASSERT_TRUE(vm.ok()) << vm.status().message();
    auto kernels = NativeKernels::compile(artifact, target);
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    auto native = run_artifact(artifact, result->assembled.sources, inputs, target, kernels->get());
    ASSERT_TRUE(native.ok()) << native.status().message();
    for (size_t b = 0; b < vm->buffers.size(); ++b) {
      EXPECT_EQ(vm->buffers[b], native->buffers[b]) << "buffer " << b << " of case " << c;
    }
    size_t next = 0;
    for (int o = 0; o < 64 && next < vm->outputs.size(); ++o) {
      auto expected = read_npy(concat(prefix, "out", o, ".npy"));
      if (!expected.ok()) continue;
      while (next < artifact.outputs.size() && artifact.outputs[next].kind != artifact::OutputDecl::Kind::kBuffer) ++next;
      ASSERT_LT(next, vm->outputs.size());
      const Array& found = native->outputs[next++];
      ASSERT_EQ(found.dtype, expected->dtype);
      ASSERT_EQ(found.dims, expected->dims);
      double spread = 1e-30;
      for (int64_t i = 0; i < expected->elements(); ++i) {
        if (std::isfinite(expected->at(i))) spread = std::max(spread, std::abs(expected->at(i)));
      }
      for (int64_t i = 0; i < expected->elements(); ++i) {
        const double e = expected->at(i), f = found.at(i);
        if (std::isnan(e)) {
          EXPECT_TRUE(std::isnan(f)) << "output " << o << "[" << i << "]";
        } else if (!std::isfinite(e)) {
          EXPECT_EQ(e, f) << "output " << o << "[" << i << "]";
        } else {
          ASSERT_NEAR(f, e, 2e-5 * spread) << "output " << o << "[" << i << "] of case " << c;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pt2, Fixtures, ::testing::ValuesIn(fixtures()),
                         [](const ::testing::TestParamInfo<Fixture>& info) { return info.param.file; });

}  // namespace
}  // namespace tenon::testing
