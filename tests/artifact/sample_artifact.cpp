#include "artifact/sample_artifact.hpp"

namespace tenon::tests {

using namespace tenon::artifact;

namespace {

BodyOp op(ScalarOp kind, DType dtype, int a = -1, int b = -1, int c = -1, int64_t bits = 0) {
  BodyOp out;
  out.op = kind;
  out.dtype = dtype;
  out.a = a;
  out.b = b;
  out.c = c;
  out.bits = bits;
  return out;
}

BodyOp load(DType dtype, int parameter, Address address) {
  BodyOp out = op(ScalarOp::kLoad, dtype);
  out.parameter = parameter;
  out.address = std::move(address);
  return out;
}

KernelProgram softmax_like() {
  KernelProgram p;
  p.name = "k0";
  p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kI64, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, true, {}},
                  {ParameterKind::kLocal, DType::kF32, true, {0, 1}}};
  p.size_count = 2;
  p.row_count = 2;
  p.row_types = {DType::kF32, DType::kF32};
  p.outer = {{0, 0}};
  const Address whole{{}, {{0, {0, 1}}, {1, {1, -1}}}, -1}, local{{}, {{1, {1, -1}}}, -1};
  Stage first;
  first.axes = {{{0, 1}, true, 0, -1}};
  BodyOp gather = load(DType::kF32, 0, {{}, {{1, {1, -1}}}, 2});
  BodyOp rows = op(ScalarOp::kSize, DType::kI64);
  rows.size = {0, 0};
  first.body = {load(DType::kI64, 1, {{}, {{0, {1, -1}}}, -1}), rows, op(ScalarOp::kWrapIndex, DType::kI64, 0, 1, -1, 1), gather,
                op(ScalarOp::kExp, DType::kF32, 3)};
  first.stores = {{3, local, 4}};
  Reduction sum;
  sum.value = 4;
  sum.row = 0;
  first.reductions = {sum};
  Stage scalar;
  scalar.body = {op(ScalarOp::kRow, DType::kF32), op(ScalarOp::kReciprocal, DType::kF32, 0)};
  scalar.rows = {{1, 1}};
  Stage last;
  last.axes = {{{0, 1}, false, 64, 0}};
  last.body = {op(ScalarOp::kRow, DType::kF32, -1, -1, -1, 1), load(DType::kF32, 3, local), op(ScalarOp::kMul, DType::kF32, 0, 1)};
  last.stores = {{2, whole, 2}};
  Stage column;
  column.axes = {{{3, -1}, true, 0, -1}, {{0, 1}, false, 0, -1}};
  column.body = {load(DType::kF32, 0, {{}, {{1, {0, 1}}, {2, {1, -1}}}, -1})};
  Reduction biggest;
  biggest.combiner = Combiner::kMax;
  biggest.parameter = 2;
  biggest.address = {{}, {{0, {0, 1}}, {2, {1, -1}}}, -1};
  column.reductions = {biggest};
  p.stages = {first, scalar, last, column};
  return p;
}

KernelProgram gemm_like() {
  KernelProgram p;
  p.kind = ProgramKind::kGemm;
  p.name = "g1";
  p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, true, {}}};
  p.size_count = kGemmSizes;
  p.packed_b = true;
  const Address whole{{4, -1}, {{1, {0, 1}}, {2, {1, -1}}}, -1};
  p.init.body = {op(ScalarOp::kConstant, DType::kF32, -1, -1, -1, 0x3fc00000)};
  p.init.yield = 0;
  p.prologue_a.body = {load(DType::kF32, 0, {{}, {{1, {0, 2}}, {2, {1, -1}}}, -1})};
  p.prologue_a.yield = 0;
  p.epilogue.body = {op(ScalarOp::kAccumulator, DType::kF32), op(ScalarOp::kTanh, DType::kF32, 0)};
  p.epilogue.stores = {{2, whole, 1}};
  return p;
}

KernelProgram attention_like() {
  KernelProgram p;
  p.kind = ProgramKind::kAttention;
  p.name = "a2";
  for (int i = 0; i < 4; ++i) p.parameters.push_back({ParameterKind::kBuffer, DType::kF32, i == 3, {}});
  p.size_count = kAttentionSizes;
  p.score.body = {op(ScalarOp::kAccumulator, DType::kF32), op(ScalarOp::kNeg, DType::kF32, 0)};
  p.score.yield = 1;
  p.store.body = {op(ScalarOp::kAccumulator, DType::kF32)};
  p.store.stores = {{3, {{}, {{3, {1, -1}}}, -1}, 0}};
  return p;
}

}  // namespace

Artifact sample_artifact() {
  Artifact a;
  a.graph_name = "sample";
  a.isa = target::Isa::kX86V3;
  a.inputs = {{"x", DType::kF32, 2, false, true, false, false}, {"n", DType::kI64, 0, true, false, true, false}, {"cache", DType::kF32, 1, false, true, true, true}};
  a.size_ops = {{SizeOpKind::kInputDim, 0, 0, 0}, {SizeOpKind::kInputDim, 0, 1, 0}, {SizeOpKind::kConstant, 0, 0, 4},
                {SizeOpKind::kMul, 0, 1, 0},      {SizeOpKind::kMul, 2, 3, 0},      {SizeOpKind::kInputScalar, 1, 0, 0},
                {SizeOpKind::kFact, 2, 0, 0},     {SizeOpKind::kFloorDiv, 3, 2, 0}, {SizeOpKind::kInputStride, 0, 1, 0}};
  a.symbols = {{"s0", 0}, {"s1", 1}};
  a.required = {{GuardRelation::kLe, 2, 0, "4 <= s0", "declared"}};
  a.guards = {{GuardRelation::kNe, 0, 1, "s0 != s1", "aten.add"}, {GuardRelation::kEq, 8, 2, "stride", ""}};
  a.outputs.resize(4);
  a.outputs[0].name = "y";
  a.outputs[0].dims = {0, 1};
  a.outputs[0].buffer = 1;
  a.outputs[1].name = "view";
  a.outputs[1].alias_input = 2;
  a.outputs[1].dims = {1};
  a.outputs[1].strides = {2};
  a.outputs[1].offset = 3;
  a.outputs[2].kind = OutputDecl::Kind::kInt;
  a.outputs[2].integer = -5;
  a.outputs[3].kind = OutputDecl::Kind::kFloat;
  a.outputs[3].real = 0.25;
  a.states = {{"steps", DType::kI64, {}, -1}, {"moment", DType::kF32, {3, 4}, 1}};
  a.constants.resize(3);
  a.constants[0].name = "w";
  a.constants[0].key = "crc:1234:64";
  a.constants[0].dims = {4, 8};
  a.constants[0].strides = {8, 1};
  a.constants[0].offset_bytes = 128;
  a.constants[0].source = 2;
  a.constants[0].form = ConstantDecl::Form::kGemmPanels;
  a.constants[0].k = 4;
  a.constants[0].n = 8;
  a.constants[0].k_stride = 8;
  a.constants[0].n_stride = 1;
  a.constants[0].columns = 16;
  a.constants[1].name = "table";
  a.constants[1].dtype = DType::kI16;
  a.constants[1].dims = {3};
  a.constants[1].strides = {1};
  a.constants[1].inline_bytes = {1, 2, 3, 4, 5, 6};
  a.constants[2].name = "bias";
  a.constants[2].dims = {8};
  a.constants[2].strides = {1};
  a.constants[2].form = ConstantDecl::Form::kContiguous;
  a.buffers = {{BufferKind::kInput, 0, 0, 0, 0, -1},    {BufferKind::kOutput, 0, 4, 0, 0, -1}, {BufferKind::kConstant, 0, 0, 0, 0, -1},
               {BufferKind::kArena, 0, 4, 0, 1, -1},    {BufferKind::kArena, 0, 4, 1, 2, 3},   {BufferKind::kState, 1, 0, 0, 0, -1},
               {BufferKind::kInput, 2, 0, 0, 0, -1}};
  a.programs = {softmax_like(), gemm_like(), attention_like()};
  a.instructions.resize(4);
  a.instructions[0] = {Opcode::kLaunch, 0, {0, 6, 3}, {0, 1}, 0, 3, {"layer.0: aten.softmax", "aten.embedding"}};
  a.instructions[1] = {Opcode::kLaunch, 1, {3, 2, 4}, std::vector<SizeRegister>(kGemmSizes, 2), 0, 4, {"aten.addmm"}};
  a.instructions[2] = {Opcode::kLaunch, 2, {4, 0, 0, 1}, std::vector<SizeRegister>(kAttentionSizes, 1), 0, 4, {}};
  a.instructions[3] = {Opcode::kCopy, 0, {6, 0}, {}, 4, 0, {"write back"}};
  a.sites = {{"aten.div", "integer division by zero"}, {"aten.embedding", "index out of range"}};
  a.images = {{std::vector<uint8_t>(300, 0x5a), {0, 1}}};
  a.listing = "plan @sample\n";
  return a;
}

}  // namespace tenon::tests
