#include <gtest/gtest.h>

#include "ops/one_call.hpp"

namespace tenon::ops {
namespace {

struct Row {
  const char* inputs;
  const char* call;
  const char* prims;
};

TEST(Decompose, GoldenForms) {
  const Row rows[] = {
      {"x: f32[s0, 4], w: f32[8, 4], b: f32[8]", "%y = aten.linear(%x, %w, %b)",
       "  %0 = prim.permute(%w, [1, 0]) : f32[4, 8]\n"
       "  %1 = prim.matmul(%x, %0) : f32[s0, 8]\n"
       "  %2 = prim.add(%1, %b) : f32[s0, 8]\n"},
      {"x: bf16[4], y: bf16[4]", "%z = aten.add.Tensor(%x, %y, alpha=2)",
       "  %0 = prim.convert(%x, f32) : f32[4]\n"
       "  %1 = prim.convert(%y, f32) : f32[4]\n"
       "  %2 = prim.mul(2, %1) : f32[4]\n"
       "  %3 = prim.add(%0, %2) : f32[4]\n"
       "  %4 = prim.convert(%3, bf16) : bf16[4]\n"},
      {"x: bf16[1]", "%z = aten.eq.Scalar(%x, 3.14)",
       "  %0 = prim.convert(%x, f32) : f32[1]\n"
       "  %1 = prim.eq(%0, 3.140625) : bool[1]\n"},
      {"x: i64[4], s: f64", "%z = aten.mul.Scalar(%x, %s)",
       "  %0 = prim.convert(%x, f32) : f32[4]\n"
       "  %1 = prim.full([], %s, f32) : f32[]\n"
       "  %2 = prim.mul(%0, %1) : f32[4]\n"},
      {"x: i64[s0, 4]", "%z = aten.div.Tensor(%x, 2)",
       "  %0 = prim.convert(%x, f32) : f32[s0, 4]\n"
       "  %1 = prim.div(%0, 2) : f32[s0, 4]\n"},
      {"x: f32[s0, s1]", "%z = aten.mean.dim(%x, [-1], true)",
       "  %0 = prim.sum(%x, [1], true) : f32[s0, 1]\n"
       "  %1 = prim.div(%0, s1) : f32[s0, 1]\n"},
      {"w: f32[100, 8], i: i64[s0]", "%z = aten.embedding(%w, %i)",
       "  %0 = prim.take(%w, %i, 0, false) : f32[s0, 8]\n"},
      {"x: f32[8, 4], i: i64[s0]", "%z = aten.index.Tensor(%x, [none, %i])",
       "  %0 = prim.take(%x, %i, 1, true) : f32[8, s0]\n"},
      {"x: f32[s0, 8]", "%z = aten.slice.Tensor(%x, 1, -3, none, 2)",
       "  %0 = prim.slice(%x, 1, 5, 8, 2) : f32[s0, 2]\n"},
      {"x: f32[s0, 6]", "%a, %b = aten.split.Tensor(%x, 3, 1)",
       "  %0 = prim.slice(%x, 1, 0, 3, 1) : f32[s0, 3]\n"
       "  %1 = prim.slice(%x, 1, 3, 6, 1) : f32[s0, 3]\n"},
      {"x: f32[4]", "%z = aten.pow.Tensor_Scalar(%x, 3.0)",
       "  %0 = prim.mul(%x, %x) : f32[4]\n"
       "  %1 = prim.mul(%0, %x) : f32[4]\n"},
      {"q: f32[s0, 12, s1, 32]", "%z = aten.scaled_dot_product_attention(%q, %q, %q, none, 0.0, false, scale=0.5)",
       "  %0 = prim.attention(%q, %q, %q, none, 0.5, false, true) : f32[s0, 12, s1, 32]\n"},
      {"x: f32[s0]", "%z = aten.arange.start_step(1, 8, 3)",
       "  %0 = prim.iota(3, i64) : i64[3]\n"
       "  %1 = prim.mul(%0, 3) : i64[3]\n"
       "  %2 = prim.add(%1, 1) : i64[3]\n"},
      {"x: f32[s0, 4]", "%z = aten.dropout(%x, 0.1, false)", ""},
      {"x: f32[s0, 4]", "aten._assert_tensor_metadata(%x, none, none, f32)", ""},
      {"x: f32[3]", "%z = aten.clamp(%x, 0, none)", "  %0 = prim.max(%x, 0) : f32[3]\n"},
      {"x: bool[3], y: f32[3]", "%z = aten.where.ScalarOther(%x, %y, -1.0)",
       "  %0 = prim.where(%x, %y, -1.0) : f32[3]\n"},
      {"a: f32[5, 1, 2, 4], b: f32[3, 4, 6]", "%z = aten.matmul(%a, %b)",
       "  %0 = prim.expand(%a, [5, 3, 2, 4]) : f32[5, 3, 2, 4]\n"
       "  %1 = prim.expand(%b, [5, 3, 4, 6]) : f32[5, 3, 4, 6]\n"
       "  %2 = prim.matmul(%0, %1) : f32[5, 3, 2, 6]\n"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(decompose({row.inputs, row.call, "s0 in [1, 64], s1 in [1, 512]"}), row.prims) << row.call;
  }
}

}  // namespace
}  // namespace tenon::ops
