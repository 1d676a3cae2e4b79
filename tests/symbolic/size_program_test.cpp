// Size programs by themselves, and what the emitter shares.

#include "artifact/size_program.hpp"

#include <gtest/gtest.h>

#include "symbolic/size_emitter.hpp"

namespace tenon::symbolic {
namespace {

using artifact::SizeOp;
using artifact::SizeOpKind;

TEST(SizeProgram, ReadsEverySource) {
  const SizeOp program[] = {{SizeOpKind::kInputDim, 1, 2, 0}, {SizeOpKind::kInputStride, 0, 1, 0},
                            {SizeOpKind::kInputScalar, 1, 0, 0}, {SizeOpKind::kFact, 2, 0, 0},
                            {SizeOpKind::kConstant, 0, 0, -7}};
  const int64_t dims0[] = {1, 2}, dims1[] = {3, 4, 5}, strides0[] = {20, 10};
  const int64_t* dims[] = {dims0, dims1};
  const int64_t* strides[] = {strides0, nullptr};
  const int64_t scalars[] = {6, 66}, facts[] = {7, 77, 777};
  int64_t registers[5] = {};
  ASSERT_TRUE(artifact::evaluate_sizes(program, {dims, strides, scalars, facts}, registers).ok());
  EXPECT_EQ(std::vector<int64_t>(registers, registers + 5), (std::vector<int64_t>{5, 10, 66, 777, -7}));
}

TEST(SizeProgram, FailuresNameTheOperationAndItsOperands) {
  int64_t registers[3] = {};
  for (auto [kind, a, b, code] : {std::tuple(SizeOpKind::kAdd, INT64_MAX, int64_t{1}, Code::kOutOfRange),
                                  {SizeOpKind::kMul, INT64_MIN, int64_t{-1}, Code::kOutOfRange},
                                  {SizeOpKind::kFloorDiv, INT64_MIN, int64_t{-1}, Code::kOutOfRange},
                                  {SizeOpKind::kFloorDiv, int64_t{5}, int64_t{0}, Code::kInvalidArgument},
                                  {SizeOpKind::kMod, int64_t{5}, int64_t{0}, Code::kInvalidArgument}}) {
    const SizeOp program[] = {{SizeOpKind::kConstant, 0, 0, a}, {SizeOpKind::kConstant, 0, 0, b}, {kind, 0, 1, 0}};
    Status status = artifact::evaluate_sizes(program, {}, registers);
    EXPECT_EQ(status.code(), code);
    std::string operands = "(" + std::to_string(a) + ", " + std::to_string(b) + ")";
    EXPECT_NE(status.message().find(operands), std::string_view::npos) << status.message();
  }
  const SizeOp extreme_mod[] = {{SizeOpKind::kConstant, 0, 0, INT64_MIN}, {SizeOpKind::kConstant, 0, 0, -1},
                                {SizeOpKind::kMod, 0, 1, 0}};
  ASSERT_TRUE(artifact::evaluate_sizes(extreme_mod, {}, registers).ok());
  EXPECT_EQ(registers[2], 0);
}

TEST(SizeProgram, VerifyRefusesWhatAProgramMayNotRead) {
  const uint32_t ranks[] = {2, 0};
  artifact::SizeInputCounts counts{ranks, 1, 1};
  const SizeOp fine[] = {{SizeOpKind::kInputDim, 0, 1, 0}, {SizeOpKind::kAdd, 0, 0, 0}};
  EXPECT_TRUE(artifact::verify_sizes(fine, counts).ok());
  for (SizeOp op : {SizeOp{SizeOpKind::kInputDim, 2, 0, 0}, SizeOp{SizeOpKind::kInputDim, 0, 2, 0},
                    SizeOp{SizeOpKind::kInputStride, 1, 0, 0}, SizeOp{SizeOpKind::kInputScalar, 1, 0, 0},
                    SizeOp{SizeOpKind::kFact, 1, 0, 0}, SizeOp{SizeOpKind::kAdd, 0, 0, 0},
                    SizeOp{static_cast<SizeOpKind>(99), 0, 0, 0}}) {
    EXPECT_EQ(artifact::verify_sizes({&op, 1}, counts).code(), Code::kDataLoss);
  }
}

TEST(SizeProgram, GuardsHoldByTheirRelation) {
  const int64_t registers[] = {3, 4};
  using enum artifact::GuardRelation;
  for (auto [relation, a, b, expected] : {std::tuple(kEq, 0u, 0u, true), {kEq, 0u, 1u, false}, {kNe, 0u, 1u, true},
                                          {kNe, 1u, 1u, false}, {kLt, 0u, 1u, true}, {kLt, 0u, 0u, false},
                                          {kLt, 1u, 0u, false}, {kLe, 0u, 0u, true}, {kLe, 1u, 0u, false}}) {
    EXPECT_EQ(artifact::holds({relation, a, b, "", ""}, registers), expected);
  }
}

TEST(SizeEmitter, EmitsEachSubexpressionOnce) {
  Pool pool;
  Facts facts(pool);
  SymbolId s0 = pool.symbol("s0", SymbolKind::kSize), s1 = pool.symbol("s1", SymbolKind::kSize);
  SizeEmitter emitter(pool);
  emitter.bind(s0, {SizeOpKind::kInputDim, 0, 0, 0});
  emitter.bind(s1, {SizeOpKind::kInputDim, 0, 1, 0});
  Expr product = pool.mul(pool.of(s0), pool.of(s1));
  artifact::SizeRegister first = *emitter.emit(pool.floor_div(product, pool.constant(8)));
  size_t count = emitter.ops().size();
  EXPECT_EQ(*emitter.emit(pool.floor_div(product, pool.constant(8))), first);
  EXPECT_EQ(emitter.ops().size(), count);
  ASSERT_TRUE(emitter.emit(product).ok());
  EXPECT_EQ(emitter.ops().size(), count);
  Guard guard{{Relation::kLe, pool.of(s0), pool.constant(8)}, "aten.view"};
  Result<artifact::SizeGuard> emitted = emitter.emit(facts, guard);
  ASSERT_TRUE(emitted.ok());
  EXPECT_EQ(emitter.ops().size(), count);
  EXPECT_EQ(emitted->text, "s0 <= 8");
  EXPECT_EQ(emitted->origin, "aten.view");
}

TEST(SizeEmitter, UnboundSymbolIsAnError) {
  Pool pool;
  SizeEmitter emitter(pool);
  Expr e = pool.of(pool.symbol("u0", SymbolKind::kUnbacked));
  Result<artifact::SizeRegister> at = emitter.emit(pool.add(e, pool.constant(1)));
  EXPECT_EQ(at.status().code(), Code::kInternal);
  EXPECT_NE(at.status().message().find("u0"), std::string_view::npos);
}

}  // namespace
}  // namespace tenon::symbolic
