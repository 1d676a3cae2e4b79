#include "runtime/hand_made.hpp"

#include <bit>

#include "codegen/templates/template_abi.h"

namespace tenon::tests {

using namespace tenon::artifact;

SizeRegister ArtifactBuilder::constant(int64_t value) {
  a.size_ops.push_back({SizeOpKind::kConstant, 0, 0, value});
  return uint32_t(a.size_ops.size() - 1);
}
SizeRegister ArtifactBuilder::dim(uint32_t input, uint32_t axis) { return op(SizeOpKind::kInputDim, input, axis); }
SizeRegister ArtifactBuilder::stride(uint32_t input, uint32_t axis) {
  return op(SizeOpKind::kInputStride, input, axis);
}
SizeRegister ArtifactBuilder::op(SizeOpKind kind, SizeRegister x, SizeRegister y) {
  a.size_ops.push_back({kind, x, y, 0});
  return uint32_t(a.size_ops.size() - 1);
}

uint32_t ArtifactBuilder::input(std::string name, DType dtype, int32_t rank, bool mutated) {
  InputDecl decl;
  decl.name = std::move(name);
  decl.dtype = dtype;
  decl.rank = rank;
  decl.mutated = mutated;
  a.inputs.push_back(decl);
  a.buffers.push_back({BufferKind::kInput, uint32_t(a.inputs.size() - 1)});
  return uint32_t(a.buffers.size() - 1);
}

uint32_t ArtifactBuilder::output(std::string name, DType dtype, std::vector<SizeRegister> dims) {
  SizeRegister bytes = constant(int64_t(size_bytes(dtype)));
  for (SizeRegister dim : dims) bytes = mul(bytes, dim);
  a.buffers.push_back({BufferKind::kOutput, uint32_t(a.outputs.size()), bytes});
  OutputDecl decl;
  decl.name = std::move(name);
  decl.dtype = dtype;
  decl.dims = std::move(dims);
  decl.buffer = uint32_t(a.buffers.size() - 1);
  a.outputs.push_back(decl);
  return decl.buffer;
}

uint32_t ArtifactBuilder::arena(SizeRegister bytes, uint32_t first, uint32_t last, int32_t reuses) {
  a.buffers.push_back({BufferKind::kArena, 0, bytes, first, last, reuses});
  return uint32_t(a.buffers.size() - 1);
}

uint32_t ArtifactBuilder::weight(ConstantDecl decl) {
  a.constants.push_back(std::move(decl));
  a.buffers.push_back({BufferKind::kConstant, uint32_t(a.constants.size() - 1)});
  return uint32_t(a.buffers.size() - 1);
}

uint32_t ArtifactBuilder::state(std::string name, DType dtype, std::vector<int64_t> dims, int32_t initial) {
  a.states.push_back({std::move(name), dtype, std::move(dims), initial});
  a.buffers.push_back({BufferKind::kState, uint32_t(a.states.size() - 1)});
  return uint32_t(a.buffers.size() - 1);
}

void ArtifactBuilder::guard(GuardRelation relation, SizeRegister x, SizeRegister y, std::string text,
                            std::string origin, bool required) {
  (required ? a.required : a.guards).push_back({relation, x, y, std::move(text), std::move(origin)});
}

void ArtifactBuilder::guard_row_major(uint32_t input) {
  SizeRegister expected = constant(1);
  for (int32_t axis = a.inputs[input].rank; axis-- > 0;) {
    guard(GuardRelation::kEq, stride(input, uint32_t(axis)), expected, "contiguous(" + a.inputs[input].name + ")",
          "layout");
    // An empty dim counts as one of size 1.
    const SizeRegister extent = op(SizeOpKind::kMax, dim(input, uint32_t(axis)), constant(1));
    expected = mul(expected, extent);
  }
}

uint32_t ArtifactBuilder::launch(KernelProgram program, std::vector<uint32_t> buffers, std::vector<SizeRegister> sizes,
                                 std::string origin) {
  Instruction instruction;
  instruction.program = uint32_t(a.programs.size());
  a.programs.push_back(std::move(program));
  instruction.buffers = std::move(buffers);
  instruction.sizes = std::move(sizes);
  instruction.cost = instruction.sizes.size() > 1 ? instruction.sizes[1] : constant(1);
  instruction.origins = {std::move(origin)};
  a.instructions.push_back(std::move(instruction));
  return uint32_t(a.instructions.size() - 1);
}

void ArtifactBuilder::copy(uint32_t to, uint32_t from, SizeRegister bytes) {
  Instruction instruction;
  instruction.opcode = Opcode::kCopy;
  instruction.buffers = {to, from};
  instruction.bytes = bytes;
  a.instructions.push_back(std::move(instruction));
}

namespace {

SizeValue slot(int32_t number) { return {0, number}; }
SizeValue fixed(int64_t value) { return {value, -1}; }

BodyOp load(int32_t parameter, Address address, DType dtype = DType::kF32) {
  BodyOp op;
  op.op = ScalarOp::kLoad;
  op.dtype = dtype;
  op.parameter = parameter;
  op.address = std::move(address);
  return op;
}
BodyOp value(ScalarOp kind, int a = -1, int b = -1, DType dtype = DType::kF32) {
  BodyOp op;
  op.op = kind;
  op.dtype = dtype;
  op.a = a;
  op.b = b;
  return op;
}
BodyOp number(float value) {
  BodyOp op;
  op.op = ScalarOp::kConstant;
  op.bits = std::bit_cast<uint32_t>(value);
  return op;
}

// in[i, j] of row-major memory with `columns` in size slot 1.
Address row_major() { return {fixed(0), {{0, slot(1)}, {1, fixed(1)}}, -1}; }

}  // namespace

KernelProgram pointwise_program(std::string name, float scale, float bias) {
  KernelProgram p;
  p.name = std::move(name);
  p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}}, {ParameterKind::kBuffer, DType::kF32, true, {}}};
  p.size_count = 2;
  p.outer = {slot(0)};
  Stage stage;
  stage.axes = {{slot(1), false, 0, -1}};
  stage.body = {load(0, row_major()), number(scale), value(ScalarOp::kMul, 0, 1), number(bias),
                value(ScalarOp::kAdd, 2, 3)};
  stage.stores = {{1, row_major(), 4}};
  p.stages = {stage};
  return p;
}

KernelProgram row_sum_program(std::string name) {
  KernelProgram p;
  p.name = std::move(name);
  p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}}, {ParameterKind::kBuffer, DType::kF32, true, {}}};
  p.size_count = 2;
  p.row_count = 1;
  p.row_types = {DType::kF32};
  p.outer = {slot(0)};
  Stage reduce;
  reduce.axes = {{slot(1), true, 0, -1}};
  reduce.body = {load(0, row_major())};
  reduce.reductions = {{Combiner::kSum, DType::kF32, 0, 0, -1, {}}};
  Stage store;
  store.body = {value(ScalarOp::kRow)};
  store.stores = {{1, {fixed(0), {{0, fixed(1)}}, -1}, 0}};
  p.stages = {reduce, store};
  return p;
}

KernelProgram gather_program(std::string name) {
  KernelProgram p;
  p.name = std::move(name);
  p.parameters = {{ParameterKind::kBuffer, DType::kI64, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, true, {}}};
  p.size_count = 3;
  p.outer = {slot(0)};
  Stage stage;
  stage.axes = {{slot(1), false, 0, -1}};
  BodyOp rows = value(ScalarOp::kSize, -1, -1, DType::kI64);
  rows.size = slot(2);
  BodyOp columns = rows;
  columns.size = slot(1);
  stage.body = {load(0, {fixed(0), {{0, fixed(1)}}, -1}, DType::kI64),
                rows,
                value(ScalarOp::kCheckIndex, 0, 1, DType::kI64),
                columns,
                value(ScalarOp::kMul, 2, 3, DType::kI64),
                load(1, {fixed(0), {{1, fixed(1)}}, 4})};
  stage.stores = {{2, row_major(), 5}};
  p.stages = {stage};
  return p;
}

KernelProgram gemm_program(std::string name) {
  KernelProgram p;
  p.kind = ProgramKind::kGemm;
  p.name = std::move(name);
  p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, true, {}}};
  p.size_count = TENON_GEMM_FIRST_HOOK_SIZE + 2;
  p.packed_b = true;
  BodyOp accumulator = value(ScalarOp::kAccumulator);
  p.epilogue.body = {accumulator, load(2, {fixed(0), {{2, fixed(1)}}, -1}), value(ScalarOp::kAdd, 0, 1)};
  p.epilogue.stores = {
      {3,
       {fixed(0),
        {{0, slot(TENON_GEMM_FIRST_HOOK_SIZE + 1)}, {1, slot(TENON_GEMM_FIRST_HOOK_SIZE)}, {2, fixed(1)}},
        -1},
       2}};
  return p;
}

KernelProgram attention_program(std::string name) {
  KernelProgram p;
  p.kind = ProgramKind::kAttention;
  p.name = std::move(name);
  p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, true, {}}};
  // hook sizes: strides of b, h, q in the result
  p.size_count = TENON_ATTENTION_FIRST_HOOK_SIZE + 3;
  p.store.body = {value(ScalarOp::kAccumulator)};
  const int32_t first = TENON_ATTENTION_FIRST_HOOK_SIZE;
  p.store.stores = {
      {3, {fixed(0), {{0, slot(first)}, {1, slot(first + 1)}, {2, slot(first + 2)}, {3, fixed(1)}}, -1}, 0}};
  return p;
}

Artifact pointwise_artifact() {
  ArtifactBuilder b;
  b.a.graph_name = "pointwise";
  const uint32_t x = b.input("x", DType::kF32, 2);
  const SizeRegister rows = b.dim(0, 0), columns = b.dim(0, 1);
  b.a.symbols = {{"s0", rows}, {"s1", columns}};
  const uint32_t y = b.output("y", DType::kF32, {rows, columns});
  b.guard_row_major(0);
  b.launch(pointwise_program("k0", 2, 1), {x, y}, {rows, columns}, "aten.add");
  return std::move(b.a);
}

Artifact fixed_pointwise_artifact(int64_t rows, int64_t columns) {
  ArtifactBuilder b;
  b.a.graph_name = "pointwise";
  const uint32_t x = b.input("x", DType::kF32, 2);
  const SizeRegister s0 = b.constant(rows), s1 = b.constant(columns);
  const uint32_t y = b.output("y", DType::kF32, {s0, s1});
  b.guard(GuardRelation::kEq, b.dim(0, 0), s0, "dim 0 of `x` == " + std::to_string(rows), "aten.add");
  b.guard(GuardRelation::kEq, b.dim(0, 1), s1, "dim 1 of `x` == " + std::to_string(columns), "aten.view");
  b.guard_row_major(0);
  b.launch(pointwise_program("k0", 2, 1), {x, y}, {s0, s1}, "aten.add");
  return std::move(b.a);
}

namespace {

class FakeFunctionCompiler final : public runtime::FunctionCompiler {
 public:
  explicit FakeFunctionCompiler(FakeCompiler& fake) : fake_(fake) {}
  const runtime::FunctionInterface& interface() const override { return fake_.interface; }
  Status specialize(const runtime::CallSignature& signature, runtime::Specialization* out) override {
    fake_.specializations.fetch_add(1);
    artifact::Artifact artifact;
    TENON_RETURN_IF_ERROR(fake_.specialize(signature, &artifact, &out->sources));
    out->artifact = write(artifact);
    out->pipeline_ns = 1234;
    return {};
  }
  Status start_kernels(std::span<const uint8_t> bytes, std::unique_ptr<runtime::KernelBuild>* out) override {
    if (fake_.start_kernels == nullptr) return {};
    TENON_ASSIGN_OR_RETURN(const artifact::Artifact artifact, read(bytes));
    *out = fake_.start_kernels(artifact);
    return {};
  }
  Status explain(std::string_view what, runtime::WriteFn write, void* user) override {
    write(user, {what.data(), what.size()});
    return {};
  }

 private:
  FakeCompiler& fake_;
};

}  // namespace

std::unique_ptr<runtime::FunctionCompiler> make_function_compiler(FakeCompiler& fake) {
  return std::make_unique<FakeFunctionCompiler>(fake);
}

runtime::FunctionInterface interface_of(const Artifact& a) {
  runtime::FunctionInterface out;
  for (const InputDecl& input : a.inputs) {
    runtime::FunctionInterface::Tensor t;
    t.name = input.name;
    t.dtype = input.dtype;
    t.scalar = input.scalar;
    t.dims.resize(size_t(input.rank));
    for (auto& dim : t.dims) dim.automatic = true;
    out.inputs.push_back(t);
  }
  for (const OutputDecl& output : a.outputs) {
    runtime::FunctionInterface::Tensor t;
    t.name = output.name;
    t.dtype = output.dtype;
    t.dims.resize(output.dims.size());
    for (auto& dim : t.dims) dim.automatic = true;
    out.outputs.push_back(t);
  }
  for (const StateDecl& state : a.states) {
    runtime::FunctionInterface::Tensor t;
    t.name = state.name;
    t.dtype = state.dtype;
    for (int64_t dim : state.dims) t.dims.push_back({dim, -1, false});
    out.states.push_back(t);
  }
  return out;
}

std::shared_ptr<runtime::Context> make_context(uint32_t threads, uint32_t flags) {
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  options.flags = flags;
  auto context = runtime::Context::create(options);
  TENON_CHECK(context.ok());
  return *context;
}

std::shared_ptr<runtime::Function> make_function(std::shared_ptr<runtime::Context> context, FakeCompiler& fake,
                                                 runtime::FunctionOptions options) {
  auto compiler = make_function_compiler(fake);
  return std::make_shared<runtime::Function>(std::move(context), std::move(compiler), fake.interface, options);
}

std::shared_ptr<runtime::Function> make_function(std::shared_ptr<runtime::Context> context, Artifact artifact,
                                                 FakeCompiler& fake, std::vector<Blob> sources) {
  fake.interface = interface_of(artifact);
  fake.specialize = [artifact, sources](const runtime::CallSignature&, artifact::Artifact* out,
                                        std::vector<Blob>* blobs) -> Status {
    *out = artifact;
    *blobs = sources;
    return {};
  };
  return make_function(std::move(context), fake);
}

HostTensor::HostTensor(DType dtype, std::vector<int64_t> dims) : dtype(dtype), dims(std::move(dims)) {
  bytes.reserve(elements() * size_bytes(dtype) + 1);  // an empty tensor has a place too: NULL asks for memory
  bytes.resize(elements() * size_bytes(dtype));
}
HostTensor HostTensor::floats(std::vector<int64_t> dims, std::function<float(size_t)> value) {
  HostTensor out(DType::kF32, std::move(dims));
  for (size_t i = 0; i < out.elements(); ++i) out.f32()[i] = value(i);
  return out;
}
size_t HostTensor::elements() const {
  size_t count = 1;
  for (int64_t dim : dims) count *= size_t(dim);
  return count;
}
tenon_tensor_t HostTensor::tensor() {
  tenon_tensor_t t{};
  t.data = bytes.data();
  t.dtype = int32_t(dtype);
  t.device_kind = TENON_DEVICE_CPU;
  t.rank = int32_t(dims.size());
  t.dims = dims.data();
  return t;
}

}  // namespace tenon::tests
