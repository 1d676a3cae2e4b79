#include <gtest/gtest.h>

#include "ops/one_call.hpp"

namespace tenon::ops {
namespace {

struct Row {
  const char* inputs;
  const char* call;
  const char* types;
  const char* guards = "";
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Outcome outcome = infer({row.inputs, row.call, "s0 in [1, 64], s1 in [1, 512]"});
    EXPECT_EQ(outcome.types, row.types) << row.call << " on " << row.inputs;
    EXPECT_EQ(outcome.guards, row.guards) << row.call << " on " << row.inputs;
  }
}

// Part of the message of a refused call.
void refused(const char* inputs, const char* call, const char* part) {
  const Outcome outcome = infer({inputs, call, "s0 in [1, 64], s1 in [1, 512]"});
  EXPECT_NE(outcome.types.find(part), std::string::npos) << call << ": " << outcome.types;
}

TEST(Infer, ViewsKeepSymbolsWithoutGuards) {
  check({
      {"x: f32[s0, s1, 384]", "%y = aten.view(%x, [s0, s1, 12, 32])", "f32[s0, s1, 12, 32]"},
      {"x: f32[s0, s1, 384]", "%y = aten.view(%x, [s0, s1, -1, 32])", "f32[s0, s1, 12, 32]"},
      {"x: f32[s0, s1, 384]", "%y = aten.reshape(%x, [-1, 384])", "f32[s0*s1, 384]"},
      {"x: f32[s0*s1, 384]", "%y = aten.view(%x, [s0, s1, 384])", "f32[s0, s1, 384]"},
      {"x: f32[s0, s1, 12, 32]", "%y = aten.transpose.int(%x, 1, -2)", "f32[s0, 12, s1, 32]"},
      {"x: f32[s0, s1, 384]", "%y = aten.permute(%x, [2, 0, 1])", "f32[384, s0, s1]"},
      {"x: f32[s0, s1]", "%y = aten.unsqueeze(%x, -1)", "f32[s0, s1, 1]"},
      {"x: f32[s0, 1, s1]", "%y = aten.squeeze.dim(%x, 1)", "f32[s0, s1]"},
      {"x: f32[s0, 1, 1, s1]", "%y = aten.expand(%x, [-1, 12, s1, -1])", "f32[s0, 12, s1, s1]"},
      {"x: f32[s0, s1, 384]", "%y = aten.flatten.using_ints(%x, 0, 1)", "f32[s0*s1, 384]"},
      {"x: f32[384, 8]", "%y = aten.t(%x)", "f32[8, 384]"},
  });
}

TEST(Infer, Products) {
  check({
      {"x: f32[s0, s1, 384], w: f32[64, 384], b: f32[64]", "%y = aten.linear(%x, %w, %b)", "f32[s0, s1, 64]"},
      {"x: f32[384], w: f32[64, 384]", "%y = aten.linear(%x, %w)", "f32[64]"},
      {"b: f32[8], x: f32[s0, 4], w: f32[4, 8]", "%y = aten.addmm(%b, %x, %w)", "f32[s0, 8]"},
      {"a: f32[s0, 12, s1, 32], b: f32[s0, 12, 32, s1]", "%y = aten.matmul(%a, %b)", "f32[s0, 12, s1, s1]"},
      {"a: f32[4], b: f32[s0, 4, 3]", "%y = aten.matmul(%a, %b)", "f32[s0, 3]"},
      {"a: f32[5, 1, 2, 4], b: f32[3, 4, 6]", "%y = aten.matmul(%a, %b)", "f32[5, 3, 2, 6]"},
      {"q: f32[s0, 12, s1, 32], m: bool[s0, 1, 1, s1]",
       "%y = aten.scaled_dot_product_attention(%q, %q, %q, %m)", "f32[s0, 12, s1, 32]"},
      {"q: f32[s0, 8, s1, 32], k: f32[s0, 2, s1, 32]",
       "%y = aten.scaled_dot_product_attention(%q, %k, %k, none, 0.0, true, enable_gqa=true)", "f32[s0, 8, s1, 32]"},
  });
  refused("x: f32[2, 3], w: f32[4, 5]", "%y = aten.linear(%x, %w)", "argument weight: expected size 3, found 5");
  refused("x: f32[2, 3], w: f32[4, 3]", "%y = aten.mm(%x, %w)", "argument mat2: expected size 3, found 4");
  refused("x: f32[2, 3], w: f64[3, 4]", "%y = aten.mm(%x, %w)", "argument mat2: expected f32, found f64");
}

TEST(Infer, SlicesAndJoins) {
  check({
      {"x: f32[s0, 4], y: f32[s1, 4]", "%z = aten.cat([%x, %y])", "f32[s0 + s1, 4]"},
      {"x: i64[1, 512]", "%z = aten.slice.Tensor(%x, 1, 0, s1)", "i64[1, s1]"},
      {"x: f32[s0, s1, 8]", "%z = aten.slice.Tensor(%x, 1, 0, 9223372036854775807)", "f32[s0, s1, 8]"},
      {"x: f32[s0, 8]", "%z = aten.slice.Tensor(%x, 1, -3, none, 2)", "f32[s0, 2]"},
      {"x: f32[8]", "%z = aten.slice.Tensor(%x, 0, 6, 2)", "f32[0]"},
      {"x: f32[s0, s1, 8]", "%z = aten.select.int(%x, 1, 0)", "f32[s0, 8]"},
      {"x: f32[s0, 7]", "%a, %b, %c = aten.split.Tensor(%x, 3, 1)", "f32[s0, 3]; f32[s0, 3]; f32[s0, 1]"},
      {"x: f32[s0, 6]", "%a, %b = aten.chunk(%x, 2, -1)", "f32[s0, 3]; f32[s0, 3]"},
      {"x: f32[2, s0]", "%a, %b = aten.unbind.int(%x)", "f32[s0]; f32[s0]"},
      {"x: f32[s0, 3], y: i64[s0, 3]", "%z = aten.stack([%x, %y], 1)", "f32[s0, 2, 3]"},
      {"w: f32[100, 8], i: i64[s0, s1]", "%z = aten.embedding(%w, %i)", "f32[s0, s1, 8]"},
      {"x: bool[s0, s1], i: i64[s0, 1, 1, 1], j: i64[s1]", "%z = aten.index.Tensor(%x, [%i, %j])",
       "bool[s0, 1, 1, s1]"},
      {"x: f32[3, 4, 5], i: i64[2]", "%z = aten.index.Tensor(%x, [%i, none, %i])", "f32[2, 4]"},
      {"x: f32[s0, s1]", "%z = aten.constant_pad_nd(%x, [1, 2])", "f32[s0, 3 + s1]"},
      {"x: f32[s0, 3]", "%z = aten.repeat(%x, [2, 1, 4])", "f32[2, s0, 12]"},
  });
  refused("x: f32[2, 3], y: f32[2, 4]", "%z = aten.cat([%x, %y])", "argument tensors: expected size 3, found 4");
  refused("x: f32[2, 3]", "%z = aten.select.int(%x, 1, 3)", "argument index: expected an index in [-3, 3), found 3");
  refused("x: f32[2, 3]", "%z = aten.view(%x, [4, -1])", "argument size: expected sizes with as many elements");
  refused("x: f32[2, 3]", "%z = aten.transpose.int(%x, 0, 2)", "argument dim1: expected a dim in [-2, 2), found 2");
}

TEST(Infer, ReductionsAndCreation) {
  check({
      {"x: i32[s0, s1]", "%y = aten.sum(%x)", "i64[]"},
      {"x: bool[s0, s1]", "%y = aten.sum.dim_IntList(%x, [-1], true)", "i64[s0, 1]"},
      {"x: f16[s0, s1, 4]", "%y = aten.mean.dim(%x, [1])", "f16[s0, 4]"},
      {"x: u8[s0]", "%y = aten.any(%x)", "u8[]"},
      {"x: f32[s0, s1]", "%v, %i = aten.max.dim(%x, 1)", "f32[s0]; i64[s0]"},
      {"x: f32[s0, s1]", "%y = aten.argmax(%x, none, true)", "i64[1, 1]"},
      {"x: f32[s0, s1, 384], w: f32[384]", "%a, %m, %r = aten.native_layer_norm(%x, [384], %w, %w, 1e-05)",
       "f32[s0, s1, 384]; f32[s0, s1, 1]; f32[s0, s1, 1]"},
      {"x: f32[s0, s1]", "%y = aten.arange(s1)", "i64[s1]"},
      {"x: f32[s0]", "%y = aten.arange.start_step(1, 8, 3)", "i64[3]"},
      {"x: f32[s0]", "%y = aten.arange(2.5)", "f32[3]"},
      {"x: f32[s0]", "%y = aten.full([s0, s1], true)", "bool[s0, s1]"},
      {"x: f16[s0]", "%y = aten.new_zeros(%x, [2])", "f16[2]"},
  });
  refused("x: f32[2, 0]", "%y = aten.amax(%x, [1])", "argument self: expected a size above 0 in dim 1, found 0");
  refused("x: i64[2]", "%y = aten.mean(%x)", "argument self: expected a floating dtype, found i64");
  refused("x: f32[2]", "%y = aten.dropout(%x, 0.1, true)", "train=true and p above 0 is not supported");
}

}  // namespace
}  // namespace tenon::ops
