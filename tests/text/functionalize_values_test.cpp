// Programs with mutation against what eager PyTorch gives for them: functionalized, decomposed, cleaned up, evaluated.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "ops/registry.hpp"
#include "text/small_evaluator.hpp"
#include "text/steps.hpp"

namespace tenon::text {
namespace {

using passes::KnownTensor;
using Values = std::vector<double>;

// Outputs, then written-back targets, of a program.
std::vector<Values> run(std::string_view text, std::vector<KnownTensor> inputs, std::vector<KnownTensor> states = {}) {
  auto graph = graph::parse(text, ops::registry());
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  std::optional<std::vector<KnownTensor>> first;
  for (const char* pass : {"functionalize", "decompose", "clean_up"}) {
    auto changed = run_pass(pass, **graph);
    EXPECT_TRUE(changed.ok()) << pass << ": " << changed.status().message();
    if (!changed.ok()) return {};
    if (std::string_view(pass) == "functionalize") continue;
    // The clean-ups change no value.
    const auto made = evaluate_graph(**graph, inputs, states);
    EXPECT_TRUE(made.has_value()) << graph::print(**graph);
    if (!made) return {};
    if (first) {
      for (size_t i = 0; i < made->size(); ++i) {
        EXPECT_EQ(values_of((*made)[i]), values_of((*first)[i])) << graph::print(**graph);
      }
    }
    first = made;
  }
  std::vector<Values> values;
  for (const KnownTensor& tensor : *first) values.push_back(values_of(tensor));
  return values;
}

KnownTensor f32(std::vector<int64_t> dims, const Values& values) {
  return tensor_of(DType::kF32, std::move(dims), values);
}
KnownTensor i64(std::vector<int64_t> dims, const Values& values) {
  return tensor_of(DType::kI64, std::move(dims), values);
}

// known_bugs: an in-place write of a flipped self beside a row reduction.
TEST(FunctionalizeValues, FlippedSelfIsReadBeforeItIsWritten) {
  const auto made = run(R"(graph @g(%x: f32[3, 3], %y: f32[3, 3]) -> (out: f32[3, 3]) on cpu {
  %0 = aten.flip(%x, [1]) : f32[3, 3]
  %1 = aten.copy_(%x, %0) : f32[3, 3]
  %2 = aten.sum.dim_IntList(%y, [1]) : f32[3]
  %3 = aten.add_.Tensor(%y, %2) : f32[3, 3]
  %4 = aten.add.Tensor(%x, %y) : f32[3, 3]
  return %4
})", {f32({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}), f32({3, 3}, Values(9, 1))});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0], (Values{6, 5, 4, 9, 8, 7, 12, 11, 10}));
  EXPECT_EQ(made[1], (Values{2, 1, 0, 5, 4, 3, 8, 7, 6}));
  EXPECT_EQ(made[2], Values(9, 4));
}

// known_bugs: a copy of all of an input, then the source changes.
TEST(FunctionalizeValues, CopyKeepsWhatTheSourceWas) {
  const auto made = run(R"(graph @g(%d: f32[3, 4], %s: f32[3, 4]) -> (out: f32[3, 4]) on cpu {
  %0 = aten.slice.Tensor(%s, 0, 0) : f32[3, 4]
  %1 = aten.slice.Tensor(%d, 0, 0) : f32[3, 4]
  %2 = aten.copy_(%1, %0) : f32[3, 4]
  %3 = aten.add_.Scalar(%s, 1) : f32[3, 4]
  return %d
})", {f32({3, 4}, Values(12, 0)), f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0], (Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(made[1], made[0]);
  EXPECT_EQ(made[2], (Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

// known_bugs: a write through a view with stride 0.
TEST(FunctionalizeValues, ElementOfExpandedValueIsSeenInEveryRow) {
  const auto made = run(R"(graph @g(%x: i64[6]) -> (y: i64[2, 6]) on cpu {
  %0 = aten.expand(%x, [2, 6]) : i64[2, 6]
  %1 = aten.select.int(%0, 0, 0) : i64[6]
  %2 = aten.select.int(%1, 0, 0) : i64[]
  %3 = aten.fill_.Scalar(%2, 5) : i64[]
  return %0
})", {i64({6}, {0, 1, 2, 3, 4, 5})});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0], (Values{5, 1, 2, 3, 4, 5, 5, 1, 2, 3, 4, 5}));
  EXPECT_EQ(made[1], (Values{5, 1, 2, 3, 4, 5}));
}

// One write of 10, 20, ... through a view of x = 0, 1, ..., 5 as [2, 3]: what x is afterwards.
struct ViewCase {
  const char* name;
  const char* views;  // lines that define %part
  const char* type;   // of %part
  Values x;
};

void PrintTo(const ViewCase& one, std::ostream* out) { *out << one.name; }

class WriteThroughView : public testing::TestWithParam<ViewCase> {};

TEST_P(WriteThroughView, ChangesTheBase) {
  const ViewCase& one = GetParam();
  const std::string text = std::string("graph @g(%x: f32[2, 3]) -> (y: f32[2, 3], z: ") + one.type + ") on cpu {\n" + one.views +
                           "  %other = aten.alias(%part) : " + one.type + "\n" +
                           "  %w = aten.mul_.Scalar(%part, 10) : " + one.type + "\n  return %x, %other\n}\n";
  const auto made = run(text, {f32({2, 3}, {0, 1, 2, 3, 4, 5})});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0], one.x);
  EXPECT_EQ(made[2], one.x);
  // What another view of the same memory shows: the changed elements, whichever they are.
  Values changed;
  for (double value : one.x) {
    if (value >= 10 || value == 0) changed.push_back(value);
  }
  Values seen = made[1];
  std::sort(seen.begin(), seen.end());
  for (double value : seen) EXPECT_NE(std::find(changed.begin(), changed.end(), value), changed.end()) << value;
}

INSTANTIATE_TEST_SUITE_P(
    Views, WriteThroughView,
    testing::Values(
        ViewCase{"view", "  %part = aten.view(%x, [3, 2]) : f32[3, 2]\n", "f32[3, 2]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"t", "  %part = aten.t(%x) : f32[3, 2]\n", "f32[3, 2]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"slice", "  %part = aten.slice.Tensor(%x, 1, 1, 3) : f32[2, 2]\n", "f32[2, 2]", {0, 10, 20, 3, 40, 50}},
        ViewCase{"slice_step", "  %part = aten.slice.Tensor(%x, 1, 0, 3, 2) : f32[2, 2]\n", "f32[2, 2]", {0, 1, 20, 30, 4, 50}},
        ViewCase{"slice_negative", "  %part = aten.slice.Tensor(%x, 1, -1) : f32[2, 1]\n", "f32[2, 1]", {0, 1, 20, 3, 4, 50}},
        ViewCase{"select", "  %part = aten.select.int(%x, 1, 1) : f32[2]\n", "f32[2]", {0, 10, 2, 3, 40, 5}},
        ViewCase{"select_negative", "  %part = aten.select.int(%x, 0, -1) : f32[3]\n", "f32[3]", {0, 1, 2, 30, 40, 50}},
        ViewCase{"narrow", "  %part = aten.narrow(%x, 1, 1, 1) : f32[2, 1]\n", "f32[2, 1]", {0, 10, 2, 3, 40, 5}},
        ViewCase{"narrow_negative", "  %part = aten.narrow(%x, 1, -2, 2) : f32[2, 2]\n", "f32[2, 2]", {0, 10, 20, 3, 40, 50}},
        ViewCase{"unsqueeze", "  %part = aten.unsqueeze(%x, 1) : f32[2, 1, 3]\n", "f32[2, 1, 3]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"split", "  %a, %part = aten.split.Tensor(%x, 2, 1) : f32[2, 2], f32[2, 1]\n", "f32[2, 1]", {0, 1, 20, 3, 4, 50}},
        ViewCase{"split_with_sizes", "  %a, %part = aten.split_with_sizes(%x, [1, 2], 1) : f32[2, 1], f32[2, 2]\n", "f32[2, 2]", {0, 10, 20, 3, 40, 50}},
        ViewCase{"chunk", "  %a, %part = aten.chunk(%x, 2) : f32[1, 3], f32[1, 3]\n", "f32[1, 3]", {0, 1, 2, 30, 40, 50}},
        ViewCase{"unbind", "  %a, %part, %b = aten.unbind.int(%x, 1) : f32[2], f32[2], f32[2]\n", "f32[2]", {0, 10, 2, 3, 40, 5}},
        ViewCase{"movedim", "  %a = aten.unsqueeze(%x, 0) : f32[1, 2, 3]\n  %part = aten.movedim.int(%a, 2, 0) : f32[3, 1, 2]\n", "f32[3, 1, 2]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"permute_select", "  %a = aten.permute(%x, [1, 0]) : f32[3, 2]\n  %part = aten.select.int(%a, 0, 2) : f32[2]\n", "f32[2]", {0, 1, 20, 3, 4, 50}},
        ViewCase{"flatten", "  %part = aten.flatten.using_ints(%x) : f32[6]\n", "f32[6]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"expand_of_new_dim_of_1", "  %part = aten.expand(%x, [1, 2, 3]) : f32[1, 2, 3]\n", "f32[1, 2, 3]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"detach", "  %part = aten.detach(%x) : f32[2, 3]\n", "f32[2, 3]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"to_its_own_dtype", "  %part = aten.to.dtype(%x, f32) : f32[2, 3]\n", "f32[2, 3]", {0, 10, 20, 30, 40, 50}},
        ViewCase{"squeeze", "  %a = aten.unsqueeze(%x, 0) : f32[1, 2, 3]\n  %part = aten.squeeze.dim(%a, 0) : f32[2, 3]\n", "f32[2, 3]", {0, 10, 20, 30, 40, 50}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FunctionalizeValues, CopiesDoNotShare) {
  const auto made = run(R"(graph @g(%x: f32[2]) -> (a: f32[2], b: f32[2], c: f32[2]) on cpu {
  %0 = aten.clone(%x) : f32[2]
  %1 = aten.to.dtype(%x, f32, copy=true) : f32[2]
  %2 = aten.exp(%x) : f32[2]
  %3 = aten.zero_(%0) : f32[2]
  %4 = aten.fill_.Scalar(%1, 7) : f32[2]
  return %x, %0, %1
})", {f32({2}, {1, 2})});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0], (Values{1, 2}));
  EXPECT_EQ(made[1], (Values{0, 0}));
  EXPECT_EQ(made[2], (Values{7, 7}));
}

TEST(FunctionalizeValues, StatesAreWrittenBack) {
  const auto made = run(R"(graph @g(%x: f32[2]) -> (y: f32[2]) on cpu {
  %n = state "n" = [3.0, 4.0] : f32[2]
  %0 = aten.mul_.Scalar(%n, 2) : f32[2]
  %1 = aten.add.Tensor(%n, %x) : f32[2]
  %2 = aten.copy_(%n, %1) : f32[2]
  return %0
})", {f32({2}, {1, 1})}, {f32({2}, {3, 4})});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0], (Values{7, 9}));
  EXPECT_EQ(made[1], (Values{7, 9}));
}

// Two overlapping views, written in turn, each seen through the other.
TEST(FunctionalizeValues, OverlappingViewsSeeEachOther) {
  const auto made = run(R"(graph @g(%x: f32[4]) -> (a: f32[3], b: f32[3]) on cpu {
  %0 = aten.slice.Tensor(%x, 0, 0, 3) : f32[3]
  %1 = aten.slice.Tensor(%x, 0, 1, 4) : f32[3]
  %2 = aten.add_.Scalar(%0, 10) : f32[3]
  %3 = aten.mul_.Scalar(%1, 2) : f32[3]
  %4 = aten.add_.Tensor(%0, %1) : f32[3]
  return %0, %1
})", {f32({4}, {0, 1, 2, 3})});
  // x: 10 11 12 3 -> 10 22 24 6 -> 32 46 30 6
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0], (Values{32, 46, 30}));
  EXPECT_EQ(made[1], (Values{46, 30, 6}));
  EXPECT_EQ(made[2], (Values{32, 46, 30, 6}));
}

}  // namespace
}  // namespace tenon::text
