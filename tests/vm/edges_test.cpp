// What random programs do not reach: memory that must not be touched, failures, empty axes, threads.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>

#include "runtime/vm/vm.hpp"
#include "vm/program_case.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;
using runtime::vm::Program;

struct Scratch {
  explicit Scratch(size_t bytes) : memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free) {}
  std::unique_ptr<void, decltype(&std::free)> memory;
};

Program prepare(const KernelProgram& program, const target::TargetInfo& target) {
  auto made = Program::prepare(program, target);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

// Memory whose last byte is followed, and whose first is preceded, by a page that cannot be touched.
class GuardedPages {
 public:
  explicit GuardedPages(size_t bytes) : page_(size_t(sysconf(_SC_PAGESIZE))), inside_((bytes + page_ - 1) / page_ * page_) {
    base_ = static_cast<char*>(mmap(nullptr, inside_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, inside_, PROT_READ | PROT_WRITE);
  }
  ~GuardedPages() { munmap(base_, inside_ + 2 * page_); }
  char* first() { return base_ + page_; }
  char* end() { return base_ + page_ + inside_; }

 private:
  size_t page_, inside_;
  char* base_;
};

Address along(int axis, int64_t stride = 1, int64_t base = 0) { return {{base, -1}, {{axis, {stride, -1}}}, -1}; }

TEST(Edges, NothingPastTheBuffersIsTouched) {
  for (const target::TargetInfo& target : host_targets()) {
    for (DType dtype : {DType::kF32, DType::kF64, DType::kU8, DType::kI16}) {
      for (long n : {1L, 5L, 31L, 63L, 64L, 65L, 511L, 513L, 700L}) {
        const size_t bytes = size_t(n) * size_bytes(dtype);
        GuardedPages in(bytes), out(bytes);
        std::memset(in.first(), 1, size_t(in.end() - in.first()));
        KernelProgram p;
        p.parameters = {{ParameterKind::kBuffer, dtype, false, {}}, {ParameterKind::kBuffer, dtype, true, {}}};
        Stage stage;
        stage.axes = {{{n, -1}, false, 0, -1}};
        stage.body = {load_op(dtype, 0, along(0)), value_op(ScalarOp::kAdd, dtype, 0, 0)};
        stage.stores = {{1, along(0), 1}};
        p.stages = {stage};
        const Program program = prepare(p, target);
        Scratch scratch(program.scratch_bytes(nullptr));
        long failure[3] = {};
        for (bool at_end : {false, true}) {
          void* buffers[] = {at_end ? in.end() - bytes : in.first(), at_end ? out.end() - bytes : out.first()};
          const tenon_kernel_args args{buffers, nullptr, failure};
          program.run(&args, 0, 1, scratch.memory.get());
        }
        EXPECT_EQ(failure[0], 0);
      }
    }
  }
}

TEST(Edges, MaskedLoadsTouchNoMemoryWhereThePredicateIsFalse) {
  // y[i] = 0 <= i - 3 < m ? x[i - 3] : 9, with nothing mapped around x.
  for (const target::TargetInfo& target : host_targets()) {
    for (long m : {0L, 1L, 60L, 512L, 1024L}) {
      GuardedPages in(size_t(m) * 4 + 1);
      float* x = reinterpret_cast<float*>(in.end()) - m;
      for (long i = 0; i < m; ++i) x[i] = float(i);
      const long n = m + 7;
      std::vector<float> y(size_t(n), -1.0f);
      KernelProgram p;
      p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}}, {ParameterKind::kBuffer, DType::kF32, true, {}}};
      p.size_count = 1;
      Stage stage;
      stage.axes = {{{n, -1}, false, 0, -1}};
      BodyOp index = value_op(ScalarOp::kIndex, DType::kI64), size = value_op(ScalarOp::kSize, DType::kI64);
      size.size = {0, 0};
      BodyOp load = load_op(DType::kF32, 0, along(0, 1, -3));
      load.op = ScalarOp::kMaskedLoad;
      load.a = 6;
      load.b = 7;
      stage.body = {index,
                    constant_op(DType::kI64, 3),
                    value_op(ScalarOp::kSub, DType::kI64, 0, 1),
                    size,
                    value_op(ScalarOp::kLt, DType::kBool, 2, 3),
                    value_op(ScalarOp::kGe, DType::kBool, 0, 1),
                    value_op(ScalarOp::kAnd, DType::kBool, 4, 5),
                    constant_op(DType::kF32, 9),
                    load};
      stage.stores = {{1, along(0), 8}};
      p.stages = {stage};
      const Program program = prepare(p, target);
      Scratch scratch(program.scratch_bytes(&m));
      void* buffers[] = {x, y.data()};
      long failure[3] = {};
      const tenon_kernel_args args{buffers, &m, failure};
      program.run(&args, 0, 1, scratch.memory.get());
      for (long i = 0; i < n; ++i) ASSERT_EQ(y[size_t(i)], i >= 3 && i - 3 < m ? float(i - 3) : 9.0f) << m << " " << i;
    }
  }
}

// y[i] = table[check(index[i], bound)]
KernelProgram gather(long n, ScalarOp check) {
  KernelProgram p;
  p.parameters = {{ParameterKind::kBuffer, DType::kI64, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, false, {}},
                  {ParameterKind::kBuffer, DType::kF32, true, {}}};
  p.outer = {{4, -1}};
  Stage stage;
  stage.axes = {{{n, -1}, false, 0, -1}};
  BodyOp checked = value_op(check, DType::kI64, 0, 1);
  checked.bits = 6;
  Address at;
  at.dynamic = 2;
  const Address own{{}, {{0, {n, -1}}, {1, {1, -1}}}, -1};
  stage.body = {load_op(DType::kI64, 0, own), constant_op(DType::kI64, 10), checked, load_op(DType::kF32, 1, at)};
  stage.stores = {{2, own, 3}};
  p.stages = {stage};
  return p;
}

TEST(Edges, IndexChecksSetTheFailureWordOnce) {
  for (const target::TargetInfo& target : host_targets()) {
    const long n = 300;
    for (ScalarOp check : {ScalarOp::kCheckIndex, ScalarOp::kWrapIndex}) {
      const Program program = prepare(gather(n, check), target);
      Scratch scratch(program.scratch_bytes(nullptr));
      std::vector<long> index(size_t(4 * n), 4);
      std::vector<float> table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y(size_t(4 * n));
      void* buffers[] = {index.data(), table.data(), y.data()};
      const auto run = [&](long first, long last) {
        std::array<long, 3> failure{};
        const tenon_kernel_args args{buffers, nullptr, failure.data()};
        program.run(&args, first, last, scratch.memory.get());
        return failure;
      };
      using Word = std::array<long, 3>;
      EXPECT_EQ(run(0, 4), (Word{0, 0, 0}));
      index[700] = -1;
      if (check == ScalarOp::kWrapIndex) {
        EXPECT_EQ(run(0, 4), (Word{0, 0, 0}));
        EXPECT_EQ(y[700], 9.0f);
        index[700] = -11;
        EXPECT_EQ(run(0, 4), (Word{7, -11, 10}));
      } else {
        EXPECT_EQ(run(0, 4), (Word{7, -1, 10}));
      }
      EXPECT_EQ(run(0, 2), (Word{0, 0, 0}));  // not among these tiles
      for (long bad : {10L, std::numeric_limits<long>::max(), std::numeric_limits<long>::min()}) {
        index[700] = bad;
        EXPECT_EQ(run(1, 3), (Word{7, bad, 10}));
      }
      // An earlier failure stays.
      std::array<long, 3> failure{3, 1, 2};
      const tenon_kernel_args args{buffers, nullptr, failure.data()};
      program.run(&args, 0, 4, scratch.memory.get());
      EXPECT_EQ(failure, (Word{3, 1, 2}));
    }
  }
}

TEST(Edges, EmptyAxesGiveIdentitiesAndTouchNothing) {
  for (const target::TargetInfo& target : host_targets()) {
    for (Combiner combiner : {Combiner::kSum, Combiner::kProd, Combiner::kMax, Combiner::kMin}) {
      for (bool column : {false, true}) {
        KernelProgram p;
        p.parameters = {{ParameterKind::kBuffer, DType::kF32, false, {}}, {ParameterKind::kBuffer, DType::kF32, true, {}}};
        p.size_count = 1;
        Stage stage;
        stage.axes = {{{0, 0}, true, 0, -1}, {{5, -1}, !column, 0, -1}};
        // A load that does not depend on an axis is hoisted; not if there is no point.
        stage.body = {load_op(DType::kF32, 0, {}), load_op(DType::kF32, 0, along(1)), value_op(ScalarOp::kAdd, DType::kF32, 0, 1)};
        Reduction r;
        r.combiner = combiner;
        r.value = 2;
        if (column) {
          r.parameter = 1;
          r.address = along(1);
        } else {
          r.row = 0;
          p.row_count = 1;
          p.row_types = {DType::kF32};
        }
        stage.reductions = {r};
        p.stages = {stage};
        if (!column) {
          Stage scalar;
          BodyOp row = value_op(ScalarOp::kRow, DType::kF32);
          scalar.body = {row};
          scalar.stores = {{1, {}, 0}};
          p.stages.push_back(scalar);
        }
        const Program program = prepare(p, target);
        const long zero = 0;
        Scratch scratch(program.scratch_bytes(&zero));
        std::vector<float> y(5, 77.0f);
        void* buffers[] = {nullptr, y.data()};
        long failure[3] = {};
        const tenon_kernel_args args{buffers, &zero, failure};
        program.run(&args, 0, 1, scratch.memory.get());
        const float infinity = std::numeric_limits<float>::infinity();
        const float expected = combiner == Combiner::kSum ? -0.0f : combiner == Combiner::kProd ? 1 : combiner == Combiner::kMax ? -infinity : infinity;
        for (int i = 0; i < (column ? 5 : 1); ++i) EXPECT_EQ(y[size_t(i)], expected);
      }
    }
  }
}

TEST(Edges, LongSumsAreChunked) {
  std::mt19937_64 random(3);
  for (const target::TargetInfo& target : host_targets()) {
    for (long n : {4095L, 4096L, 4097L, 8192L, 12345L}) {
      for (DType dtype : {DType::kF32, DType::kF64}) {
        ProgramCase test;
        KernelProgram& p = test.program;
        const int x = test.add_buffer(dtype, size_t(3 * n), false, random);
        const int y = test.add_buffer(dtype, 1, true, random);
        if (dtype == DType::kF32) {
          float* values = reinterpret_cast<float*>(test.memory[size_t(x)].data());
          for (long i = 0; i < 3 * n; ++i) values[i] /= 7;
        }
        Stage stage;
        stage.axes = {{{3, -1}, true, 0, -1}, {{n, -1}, true, 0, -1}};
        stage.body = {load_op(dtype, x, {{}, {{0, {n, -1}}, {1, {1, -1}}}, -1}), value_op(ScalarOp::kMul, dtype, 0, 0)};
        Reduction r;
        r.dtype = dtype;
        r.value = 1;
        r.row = 0;
        stage.reductions = {r};
        p.row_count = 1;
        p.row_types = {dtype};
        Stage scalar;
        scalar.body = {value_op(ScalarOp::kRow, dtype)};
        scalar.stores = {{y, {}, 0}};
        p.stages = {stage, scalar};
        ASSERT_EQ(compare_with_evaluator(test, target), "") << n;
      }
    }
  }
}

TEST(Edges, SeveralStoresInPlace) {
  // a <- b, b <- a + b, all in place: each store sees the values from before.
  for (const target::TargetInfo& target : host_targets()) {
    for (long n : {10L, 64L, 512L, 1000L}) {
      KernelProgram p;
      p.parameters = {{ParameterKind::kBuffer, DType::kF32, true, {}}, {ParameterKind::kBuffer, DType::kF32, true, {}}};
      Stage stage;
      stage.axes = {{{n, -1}, false, 0, -1}};
      stage.body = {load_op(DType::kF32, 0, along(0)), load_op(DType::kF32, 1, along(0)), value_op(ScalarOp::kAdd, DType::kF32, 0, 1)};
      stage.stores = {{0, along(0), 1}, {1, along(0), 2}};
      p.stages = {stage};
      const Program program = prepare(p, target);
      Scratch scratch(program.scratch_bytes(nullptr));
      std::vector<float> a(size_t(n), 2.0f), b(size_t(n), 5.0f);
      void* buffers[] = {a.data(), b.data()};
      long failure[3] = {};
      const tenon_kernel_args args{buffers, nullptr, failure};
      program.run(&args, 0, 1, scratch.memory.get());
      for (long i = 0; i < n; ++i) {
        ASSERT_EQ(a[size_t(i)], 5.0f);
        ASSERT_EQ(b[size_t(i)], 7.0f);
      }
    }
  }
}

TEST(Edges, OneProgramRunsOnManyThreads) {
  const target::TargetInfo target = host_targets().back();
  const long n = 300;
  const Program program = prepare(gather(n, ScalarOp::kCheckIndex), target);
  std::vector<long> index(size_t(4 * n));
  for (size_t i = 0; i < index.size(); ++i) index[i] = long(i % 10);
  std::vector<float> table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y(size_t(4 * n));
  void* buffers[] = {index.data(), table.data(), y.data()};
  for (bool fails : {false, true}) {
    if (fails) index[150] = 70, index[1000] = 80;
    long failure[3] = {};
    const tenon_kernel_args args{buffers, nullptr, failure};
    std::vector<std::thread> threads;
    for (long tile = 0; tile < 4; ++tile) {
      threads.emplace_back([&, tile, shared = program] {
        Scratch scratch(shared.scratch_bytes(nullptr));
        for (int repeat = 0; repeat < 50; ++repeat) shared.run(&args, tile, tile + 1, scratch.memory.get());
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (fails) {
      EXPECT_EQ(failure[0], 7);
      EXPECT_TRUE(failure[1] == 70 || failure[1] == 80);
      EXPECT_EQ(failure[2], 10);
    } else {
      EXPECT_EQ(failure[0], 0);
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], float(i % 10));
    }
  }
}

TEST(Edges, MalformedProgramsAreRefused) {
  const target::TargetInfo target = host_targets().front();
  KernelProgram p = gather(10, ScalarOp::kCheckIndex);
  p.stages[0].body[3].address.dynamic = 9;
  EXPECT_EQ(Program::prepare(p, target).status().code(), Code::kDataLoss);
  p = gather(10, ScalarOp::kCheckIndex);
  p.stages[0].body.push_back(value_op(ScalarOp::kExp, DType::kI64, 0));
  EXPECT_EQ(Program::prepare(p, target).status().code(), Code::kDataLoss);
#if defined(__x86_64__)
  EXPECT_EQ(Program::prepare(gather(10, ScalarOp::kCheckIndex), target::make_target(target::Isa::kNeon)).status().code(),
            Code::kUnimplemented);
#endif
}

}  // namespace
}  // namespace tenon::tests
