// Hand-made artifacts through Function and Call, on the vm, with one thread and two.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "codegen/templates/template_abi.h"
#include "runtime/hand_made.hpp"
#include "target/pack.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;
using runtime::Call;
using runtime::Function;

class Execute : public testing::TestWithParam<int> {
 protected:
  std::shared_ptr<runtime::Context> context_ = make_context(uint32_t(GetParam()));
  FakeCompiler fake_;

  Status run(Function& function, std::vector<HostTensor*> inputs, std::vector<HostTensor*> outputs) {
    std::vector<tenon_tensor_t> in, out;
    for (HostTensor* t : inputs) in.push_back(t->tensor());
    for (HostTensor* t : outputs) out.push_back(t->tensor());
    return function.run(0, in, out);
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, Execute, testing::Values(1, 2));

TEST_P(Execute, PointwiseOfManyShapesThroughOneEntry) {
  auto function = make_function(context_, pointwise_artifact(), fake_);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {4, 16}, {600, 1000}, {0, 5}, {3, 0}, {4, 16}}) {
    HostTensor x = HostTensor::floats({rows, columns}, [](size_t i) { return float(i % 97) - 40; }),
               y(DType::kF32, {rows, columns});
    const Status status = run(*function, {&x}, {&y});
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < y.elements(); ++i) ASSERT_EQ(y.f32()[i], x.f32()[i] * 2 + 1) << i;
  }
  EXPECT_EQ(fake_.specializations.load(), 1);
}

TEST_P(Execute, RowSumsAfterPointwiseThroughTheArena) {
  ArtifactBuilder b;
  const uint32_t x = b.input("x", DType::kF32, 2);
  const SizeRegister rows = b.dim(0, 0), columns = b.dim(0, 1);
  const uint32_t y = b.output("y", DType::kF32, {rows});
  const uint32_t middle = b.arena(b.mul(b.mul(rows, columns), b.constant(4)), 0, 1);
  b.launch(pointwise_program("k0", 2, 1), {x, middle}, {rows, columns}, "aten.add");
  b.launch(row_sum_program("k1"), {middle, y}, {rows, columns}, "aten.sum");
  auto function = make_function(context_, std::move(b.a), fake_);
  HostTensor in = HostTensor::floats({300, 700}, [](size_t i) { return float(i % 7); }), out(DType::kF32, {300});
  const Status status = run(*function, {&in}, {&out});
  ASSERT_TRUE(status.ok()) << status.message();
  for (int64_t i = 0; i < 300; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 700; ++j) sum += in.f32()[i * 700 + j] * 2.0 + 1;
    ASSERT_EQ(out.f32()[i], float(sum)) << i;  // small integers: exact in any order
  }
}

TEST_P(Execute, MatrixProductWithPackedWeights) {
  const int64_t k = 70, n = 45;
  HostTensor w = HostTensor::floats({k, n}, [](size_t i) { return float(i % 11) - 5; });
  ArtifactBuilder b;
  const uint32_t x = b.input("x", DType::kF32, 2), bias = b.input("bias", DType::kF32, 1);
  ConstantDecl decl;
  decl.name = "w";
  decl.key = "w";
  decl.dims = {k, n};
  decl.strides = {n, 1};
  decl.form = ConstantDecl::Form::kGemmPanels;
  decl.k = k;
  decl.n = n;
  decl.k_stride = n;
  decl.n_stride = 1;
  decl.batch_stride = k * n;
  decl.columns = context_->target().gemm_columns();
  const uint32_t panels = b.weight(decl);
  const SizeRegister rows = b.dim(0, 0), zero = b.constant(0), one = b.constant(1), rn = b.constant(n),
                     rk = b.constant(k);
  const uint32_t y = b.output("y", DType::kF32, {rows, rn});
  std::vector<SizeRegister> sizes(TENON_GEMM_FIRST_HOOK_SIZE + 2, zero);
  sizes[TENON_GEMM_M] = rows;
  sizes[TENON_GEMM_N] = rn;
  sizes[TENON_GEMM_K] = rk;
  sizes[TENON_GEMM_BATCH] = sizes[TENON_GEMM_BATCH_INNER] = sizes[TENON_GEMM_A_K_STRIDE] = one;
  sizes[TENON_GEMM_A_ROW_STRIDE] = rk;
  sizes[TENON_GEMM_FIRST_HOOK_SIZE] = rn;
  sizes[TENON_GEMM_FIRST_HOOK_SIZE + 1] = b.mul(rows, rn);
  b.launch(gemm_program("mm"), {x, panels, bias, y}, sizes, "aten.addmm");
  auto function = make_function(context_, std::move(b.a), fake_, {Blob::copy_of({w.bytes.data(), w.bytes.size()})});

  HostTensor c = HostTensor::floats({n}, [](size_t i) { return float(i); });
  for (int64_t m : {1, 7, 300}) {
    HostTensor a = HostTensor::floats({m, k}, [](size_t i) { return float(i % 13) - 6; }), out(DType::kF32, {m, n});
    const Status status = run(*function, {&a, &c}, {&out});
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += a.f32()[i * k + l] * w.f32()[l * n + j];
        ASSERT_EQ(out.f32()[i * n + j], sum + c.f32()[j]) << i << " " << j;
      }
    }
  }
  EXPECT_EQ(context_->weights().private_bytes(),
            int64_t(target::packed_gemm_b_floats(k, n, context_->target().gemm_columns()) * 4));
}

TEST_P(Execute, Attention) {
  const int64_t batch = 2, heads = 3, keys = 70, depth = 16;
  ArtifactBuilder b;
  const uint32_t q = b.input("q", DType::kF32, 4), k = b.input("k", DType::kF32, 4), v = b.input("v", DType::kF32, 4);
  const SizeRegister zero = b.constant(0), one = b.constant(1), rd = b.constant(depth);
  const SizeRegister rb = b.dim(0, 0), rh = b.dim(0, 1), rq = b.dim(0, 2), rk = b.dim(1, 2);
  const uint32_t y = b.output("y", DType::kF32, {rb, rh, rq, rd});
  std::vector<SizeRegister> sizes(TENON_ATTENTION_FIRST_HOOK_SIZE + 3, zero);
  sizes[TENON_ATTENTION_BATCH] = rb;
  sizes[TENON_ATTENTION_HEADS] = sizes[TENON_ATTENTION_KV_HEADS] = rh;
  sizes[TENON_ATTENTION_QUERIES] = rq;
  sizes[TENON_ATTENTION_KEYS] = rk;
  sizes[TENON_ATTENTION_DEPTH] = sizes[TENON_ATTENTION_V_DEPTH] = rd;
  const SizeRegister q_head = b.mul(rq, rd), q_batch = b.mul(q_head, rh), k_head = b.mul(rk, rd),
                     k_batch = b.mul(k_head, rh);
  sizes[TENON_ATTENTION_Q_BATCH_STRIDE] = q_batch;
  sizes[TENON_ATTENTION_Q_HEAD_STRIDE] = q_head;
  sizes[TENON_ATTENTION_K_BATCH_STRIDE] = sizes[TENON_ATTENTION_V_BATCH_STRIDE] = k_batch;
  sizes[TENON_ATTENTION_K_HEAD_STRIDE] = sizes[TENON_ATTENTION_V_HEAD_STRIDE] = k_head;
  sizes[TENON_ATTENTION_Q_ROW_STRIDE] = sizes[TENON_ATTENTION_K_ROW_STRIDE] = sizes[TENON_ATTENTION_V_ROW_STRIDE] = rd;
  const float scale = 0.25f;
  int32_t bits;
  std::memcpy(&bits, &scale, sizeof bits);
  sizes[TENON_ATTENTION_SCALE_BITS] = b.constant(bits);
  sizes[TENON_ATTENTION_SAFE] = one;
  const int32_t hook = TENON_ATTENTION_FIRST_HOOK_SIZE;
  sizes[hook] = q_batch;
  sizes[hook + 1] = q_head;
  sizes[hook + 2] = rd;
  b.launch(attention_program("attn"), {q, k, v, y}, sizes, "aten.scaled_dot_product_attention");
  auto function = make_function(context_, std::move(b.a), fake_);
  const int64_t queries = 33;
  const auto wave = [](float f) { return [f](size_t i) { return std::sin(float(i) * f); }; };
  HostTensor tq = HostTensor::floats({batch, heads, queries, depth}, wave(0.37f)),
             tk = HostTensor::floats({batch, heads, keys, depth}, wave(0.11f)),
             tv = HostTensor::floats({batch, heads, keys, depth}, wave(0.23f)),
             out(DType::kF32, {batch, heads, queries, depth});
  const Status status = run(*function, {&tq, &tk, &tv}, {&out});
  ASSERT_TRUE(status.ok()) << status.message();
  for (int64_t bh = 0; bh < batch * heads; ++bh) {
    for (int64_t i = 0; i < queries; ++i) {
      std::vector<double> p(keys);
      double total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        double dot = 0;
        for (int64_t d = 0; d < depth; ++d)
          dot += double(tq.f32()[(bh * queries + i) * depth + d]) * tk.f32()[(bh * keys + j) * depth + d];
        total += p[size_t(j)] = std::exp(dot * scale);
      }
      for (int64_t d = 0; d < depth; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) sum += p[size_t(j)] / total * tv.f32()[(bh * keys + j) * depth + d];
        ASSERT_NEAR(out.f32()[(bh * queries + i) * depth + d], sum, 1e-5);
      }
    }
  }
}

TEST_P(Execute, AFailedIndexCheckNamesOperatorIndexAndBound) {
  ArtifactBuilder b;
  const uint32_t index = b.input("ids", DType::kI64, 1), table = b.input("table", DType::kF32, 2);
  const SizeRegister count = b.dim(0, 0), rows = b.dim(1, 0), columns = b.dim(1, 1);
  const uint32_t y = b.output("y", DType::kF32, {count, columns});
  b.a.sites = {{"aten.embedding", "index out of range"}};
  KernelProgram gather = gather_program("g");
  gather.stages[0].body[2].bits = 0;
  b.launch(std::move(gather), {index, table, y}, {count, columns, rows}, "aten.embedding");
  auto function = make_function(context_, std::move(b.a), fake_);
  HostTensor ids(DType::kI64, {1000}), weights = HostTensor::floats({30, 64}, [](size_t i) { return float(i); }),
                                       out(DType::kF32, {1000, 64});
  for (int64_t i = 0; i < 1000; ++i) ids.i64()[i] = i % 30;
  ASSERT_TRUE(run(*function, {&ids, &weights}, {&out}).ok());
  EXPECT_EQ(out.f32()[31 * 64 + 5], float(1 * 64 + 5));

  ids.i64()[700] = 31;
  ids.i64()[100] = -5;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Status status = run(*function, {&ids, &weights}, {&out});
    ASSERT_EQ(status.code(), Code::kOutOfRange);
    EXPECT_EQ(status.field("operator"), "aten.embedding");
    EXPECT_EQ(status.field("found"), "-5");  // the lowest, however the work was split
    EXPECT_NE(status.message().find("30"), std::string_view::npos) << status.message();
  }
  ids.i64()[700] = ids.i64()[100] = 0;
  EXPECT_TRUE(run(*function, {&ids, &weights}, {&out}).ok());  // the failure does not stay
}

TEST_P(Execute, WriteBackToAMutatedInputAndAView) {
  ArtifactBuilder b;
  const uint32_t x = b.input("x", DType::kF32, 2, true);
  const SizeRegister rows = b.dim(0, 0), columns = b.dim(0, 1), bytes = b.mul(b.mul(rows, columns), b.constant(4));
  const uint32_t fresh = b.arena(bytes, 0, 1);
  b.launch(pointwise_program("k0", 2, 1), {x, fresh}, {rows, columns}, "aten.mul_");
  b.copy(x, fresh, bytes);
  OutputDecl view;
  view.name = "y";
  view.alias_input = 0;
  view.dims = {columns};
  view.strides = {b.stride(0, 1)};
  view.offset = columns;  // the second row
  b.a.outputs.push_back(view);
  auto function = make_function(context_, std::move(b.a), fake_);
  HostTensor in = HostTensor::floats({3, 4}, [](size_t i) { return float(i); });
  tenon_tensor_t input = in.tensor(), output{};
  const Status status = function->run(0, {&input, 1}, {&output, 1});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(in.f32()[11], 23);
  EXPECT_EQ(output.data, in.f32() + 4);  // the input itself, not a copy
  ASSERT_EQ(output.rank, 1);
  EXPECT_EQ(output.dims[0], 4);
  ASSERT_NE(output.owner, nullptr);
  output.owner->release();

  HostTensor copied(DType::kF32, {4});
  ASSERT_TRUE(run(*function, {&in}, {&copied}).ok());
  EXPECT_EQ(copied.f32()[0], 2 * 9 + 1);
}

TEST_P(Execute, StepsGiveTheSameBitsAsOneRun) {
  ArtifactBuilder b;
  const uint32_t x = b.input("x", DType::kF32, 2);
  const SizeRegister rows = b.dim(0, 0), columns = b.dim(0, 1);
  const uint32_t y = b.output("y", DType::kF32, {rows});
  const uint32_t middle = b.arena(b.mul(b.mul(rows, columns), b.constant(4)), 0, 1);
  b.launch(pointwise_program("k0", 1.5f, 0.1f), {x, middle}, {rows, columns}, "aten.add");
  b.launch(row_sum_program("k1"), {middle, y}, {rows, columns}, "aten.sum");
  auto function = make_function(context_, std::move(b.a), fake_);
  HostTensor in = HostTensor::floats({2000, 300}, [](size_t i) { return std::sin(float(i)); }),
             whole(DType::kF32, {2000}), parts(DType::kF32, {2000});
  ASSERT_TRUE(run(*function, {&in}, {&whole}).ok());
  Call call(*function, function);
  const tenon_tensor_t input = in.tensor(), output = parts.tensor();
  ASSERT_TRUE(call.bind_input(0, input).ok());
  ASSERT_TRUE(call.bind_output(0, &output).ok());
  int steps = 0;
  for (bool done = false; !done; ++steps) {
    ASSERT_TRUE(call.step(1, &done).ok());
    if (!done) {
      EXPECT_EQ(call.bind_input(0, input).code(), Code::kFailedPrecondition);
    }
    ASSERT_LT(steps, 100000);
  }
  EXPECT_GT(steps, 3);
  EXPECT_EQ(std::memcmp(whole.bytes.data(), parts.bytes.data(), whole.bytes.size()), 0);
  // A cancelled one ends, and the call can be used again.
  bool done = false;
  ASSERT_TRUE(call.step(1, &done).ok());
  ASSERT_FALSE(done);
  call.cancel();
  EXPECT_EQ(call.step(1, &done).code(), Code::kCancelled);
  EXPECT_TRUE(call.run().ok());
}

TEST_P(Execute, OverlapIsRefused) {
  auto function = make_function(context_, pointwise_artifact(), fake_);
  HostTensor memory(DType::kF32, {8, 8});
  tenon_tensor_t input = memory.tensor(), output = memory.tensor();
  const int64_t dims[] = {4, 8};
  input.dims = output.dims = dims;
  output.data = memory.f32() + 31;
  const Status status = function->run(0, {&input, 1}, {&output, 1});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.field("output"), "y");
  output.data = memory.f32() + 32;
  EXPECT_TRUE(function->run(0, {&input, 1}, {&output, 1}).ok());
}

TEST_P(Execute, WrongOutputsAndInputsAreNamed) {
  auto function = make_function(context_, pointwise_artifact(), fake_);
  HostTensor x(DType::kF32, {4, 8}), wrong(DType::kF32, {4, 9}), wrong_type(DType::kI64, {4, 8}),
      y(DType::kF32, {4, 8});
  Status status = run(*function, {&x}, {&wrong});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.field("expected"), "f32[4, 8]");
  EXPECT_EQ(status.field("found"), "f32[4, 9]");
  status = run(*function, {&wrong_type}, {&y});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.field("input"), "x");
  EXPECT_EQ(status.field("expected"), "f32");
  EXPECT_EQ(status.field("found"), "i64");
  tenon_tensor_t null = x.tensor(), out = y.tensor();
  null.data = nullptr;
  EXPECT_EQ(function->run(0, {&null, 1}, {&out, 1}).field("input"), "x");
  Call call(*function, function);
  EXPECT_EQ(call.run().field("input"), "x");  // not bound
}

TEST_P(Execute, StatesKeepTheirValuesAndBindByName) {
  // n' = n * 2 + 1, written back; y = n'.
  const auto program = [&] {
    ArtifactBuilder b;
    const SizeRegister one = b.constant(1), three = b.constant(3), bytes = b.constant(12);
    const uint32_t n = b.state("n", DType::kF32, {3}, 0);
    const uint32_t y = b.output("y", DType::kF32, {three});
    b.launch(pointwise_program("k0", 2, 1), {n, y}, {one, three}, "aten.add_");
    b.copy(n, y, bytes);
    return std::move(b.a);
  };
  const float initial[] = {0, 1, 2};
  const Blob blob = Blob::copy_of({reinterpret_cast<const char*>(initial), sizeof initial});
  auto function = make_function(context_, program(), fake_, {blob});
  HostTensor y(DType::kF32, {3});
  ASSERT_TRUE(run(*function, {}, {&y}).ok());
  ASSERT_TRUE(run(*function, {}, {&y}).ok());
  EXPECT_EQ(y.f32()[2], (2 * 2 + 1) * 2 + 1);

  // A state of its own starts from the initial values; another function shares it by name.
  auto state = function->make_state();
  ASSERT_TRUE(state.ok()) << state.status().message();
  FakeCompiler other_fake;
  auto other = make_function(context_, program(), other_fake, {blob});
  for (Function* f : {function.get(), other.get()}) {
    Call call(*f, f->shared_from_this());
    ASSERT_TRUE(call.bind_state(*state).ok());
    ASSERT_TRUE(call.run().ok());
  }
  tenon_tensor_t n;
  ASSERT_TRUE((*state)->get("n", &n).ok());
  EXPECT_EQ(static_cast<float*>(n.data)[1], (1 * 2 + 1) * 2 + 1);
  EXPECT_EQ((*state)->get("m", &n).code(), Code::kNotFound);
  HostTensor replaced = HostTensor::floats({3}, [](size_t) { return 5; }), wrong(DType::kF32, {4});
  EXPECT_TRUE((*state)->set("n", replaced.tensor()).ok());
  EXPECT_EQ((*state)->set("n", wrong.tensor()).field("expected"), "f32[3]");
  // One call at a time.
  ASSERT_TRUE((*state)->try_acquire());
  Call call(*function, function);
  ASSERT_TRUE(call.bind_state(*state).ok());
  EXPECT_EQ(call.run().code(), Code::kFailedPrecondition);
  (*state)->release();
  EXPECT_TRUE(call.run().ok());
}

}  // namespace
}  // namespace tenon::tests
