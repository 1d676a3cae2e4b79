// Attention in programs as exporters write them. Skipped where the models are not there.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/pt2.hpp"
#include "ops/registry.hpp"
#include "text/steps.hpp"

namespace tenon::text {
namespace {

struct Model {
  const char* name;
  int attentions;
  bool safe;  // as scaled_dot_product_attention is
};

class ExportedModel : public testing::TestWithParam<Model> {};

TEST_P(ExportedModel, HasItsAttentions) {
  const std::string path = std::string(TENON_DEPS_DIR) + "/models/" + GetParam().name + ".pt2";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path;
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::filesystem::file_size(path), '\0');
  in.read(bytes.data(), std::streamsize(bytes.size()));
  auto graph = import::import_pt2(Blob::own(std::move(bytes)), "", ops::registry(), {});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const char* pass : {"functionalize", "decompose", "clean_up", "match_attention", "clean_up"}) {
    const auto changed = run_pass(pass, **graph);
    ASSERT_TRUE(changed.ok()) << pass << ": " << changed.status().message();
  }
  EXPECT_FALSE(*run_pass("clean_up", **graph)) << "the clean-ups reach a fixed point";
  int attentions = 0, softmaxes = 0;
  for (graph::NodeId id : (*graph)->order()) {
    const graph::Node& node = (*graph)->node(id);
    softmaxes += node.op->schema.name == "prim.softmax" ? 1 : 0;
    if (node.op->schema.name != "prim.attention") continue;
    ++attentions;
    EXPECT_EQ(std::get<bool>(node.arguments[6]), GetParam().safe);
    EXPECT_FALSE(graph::is_none(node.arguments[3])) << "the mask";
    EXPECT_NEAR(std::get<double>(node.arguments[4]), 1 / std::sqrt(GetParam().attentions == 6 ? 32.0 : 64.0), 1e-7);
  }
  EXPECT_EQ(attentions, GetParam().attentions);
  EXPECT_EQ(softmaxes, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, ExportedModel,
                         testing::Values(Model{"minilm_sdpa", 6, true}, Model{"minilm_eager", 6, false},
                                         Model{"minilm_decomposed", 6, true}, Model{"bert_base", 12, true},
                                         Model{"gpt2", 12, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::text
