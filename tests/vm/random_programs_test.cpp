// Random nests: any mixture of stages, axes, strides, sizes, locals and row values must give the evaluator's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "artifact/artifact.hpp"
#include "runtime/vm/vm.hpp"
#include "vm/evaluator.hpp"
#include "vm/program_case.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;

constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kI64, DType::kI32, DType::kBool,
                            DType::kU8,  DType::kI8,  DType::kI16, DType::kU16, DType::kU32, DType::kU64};
constexpr long kLengths[] = {1, 2, 7, 16, 31, 32, 33, 63, 64, 65, 100, 128, 255, 511, 512, 513, 640, 1000, 1024, 1061};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  ProgramCase make() {
    KernelProgram& p = test_.program;
    p.name = "random";
    const int outer = int(pick(3));
    for (int i = 0; i < outer; ++i) {
      extents_.push_back(1 + long(pick(4)));
      p.outer.push_back(test_.size(extents_.back(), random_));
    }
    const int stages = 1 + int(pick(4));
    for (int i = 0; i < stages; ++i) add_stage();
    // Locals come after the buffers; their numbers were given from 1000 on.
    const int buffers = int(p.parameters.size());
    for (const Parameter& local : locals_) p.parameters.push_back(local);
    const auto fix = [&](int32_t& number) {
      if (number >= 1000) number += buffers - 1000;
    };
    for (Stage& stage : p.stages) {
      for (BodyOp& op : stage.body) fix(op.parameter);
      for (Store& store : stage.stores) fix(store.parameter);
      for (Reduction& r : stage.reductions) fix(r.parameter);
    }
    return std::move(test_);
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }
  DType type() { return kTypes[pick(std::size(kTypes))]; }

  // A row-major address over a random order of `axes` (the plain order when `dense`), some broadcast; gives the
  // elements it spans.
  Address address(const std::vector<int>& axes, const std::vector<long>& extents, bool dense, long& elements) {
    std::vector<int> order = axes;
    if (!dense && pick(3) == 0) std::shuffle(order.begin(), order.end(), random_);
    std::vector<AddressTerm> terms;
    elements = 1;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!dense && pick(4) == 0) continue;
      terms.push_back({*it, test_.size(elements, random_)});
      elements *= extents[size_t(*it)];
    }
    std::sort(terms.begin(), terms.end(), [](const AddressTerm& a, const AddressTerm& b) { return a.axis < b.axis; });
    Address out;
    out.terms = terms;
    if (!dense) {
      const long base = long(pick(5));
      out.base = test_.size(base, random_);
      elements += base;
    }
    return out;
  }

  int find(const Stage& stage, DType dtype) {
    std::vector<int> found;
    for (size_t i = 0; i < stage.body.size(); ++i) {
      if (stage.body[i].dtype == dtype) found.push_back(int(i));
    }
    return found.empty() ? -1 : found[pick(found.size())];
  }

  void add_stage() {
    KernelProgram& p = test_.program;
    const size_t outer = p.outer.size();
    Stage stage;
    const int kind = int(pick(4));  // map, reduce, column, scalar
    std::vector<long> extents = extents_;
    const int own = kind == 3 ? 0 : kind == 2 ? 2 + int(pick(2)) : 1 + int(pick(3));
    for (int i = 0; i < own; ++i) {
      const bool vector = i == own - 1;
      StageAxis axis;
      axis.reduced = kind == 1 || (kind == 2 && !vector);
      long extent = vector ? kLengths[pick(own == 1 ? std::size(kLengths) : 15)] : 1 + long(pick(own == 2 ? 5 : 3));
      if (kind == 2 && own == 2 && !vector && pick(3) == 0) extent = 120 + long(pick(20)) * 10, axis.extent = {};
      if (kind == 1 && own == 1 && outer == 0 && pick(3) == 0) extent = 4000 + long(pick(5000));
      axis.extent = test_.size(extent, random_);
      if (vector && outer > 0 && pick(3) == 0 && kind != 3) {  // split over an outer axis
        const int over = int(pick(outer));
        axis.outer_axis = over;
        axis.block = std::max<int64_t>(1, (extent + extents_[size_t(over)] - 1) / extents_[size_t(over)]);
        if (kind == 1) axis.block = (axis.block + 31) / 32 * 32;
      }
      extents.push_back(extent);
      stage.axes.push_back(axis);
    }
    std::vector<int> axes(outer + size_t(own));
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = int(i);
    // Axes that a result has: column results have no reduced ones.
    std::vector<int> kept;
    for (int axis : axes) {
      if (size_t(axis) < outer || !stage.axes[size_t(axis) - outer].reduced) kept.push_back(axis);
    }

    const int loads = 1 + int(pick(4));
    for (int i = 0; i < loads; ++i) {
      const DType dtype = type();
      long elements;
      const Address a = address(axes, extents, false, elements);
      stage.body.push_back(load_op(dtype, test_.add_buffer(dtype, size_t(elements), false, random_), a));
    }
    for (const auto& [row, dtype] : rows_) {
      if (pick(2)) continue;
      BodyOp op = value_op(ScalarOp::kRow, dtype);
      op.bits = row;
      stage.body.push_back(op);
    }
    if (!axes.empty() && pick(2)) {
      BodyOp op = value_op(ScalarOp::kIndex, DType::kI64);
      op.bits = axes[pick(axes.size())];
      stage.body.push_back(op);
    }
    if (pick(3) == 0) {
      BodyOp op = value_op(ScalarOp::kSize, DType::kI64);
      op.size = test_.size(17, random_);
      stage.body.push_back(op);
    }
    for (const auto& [number, from] : local_axes_) {  // a local that an earlier stage wrote in the same index space
      if (from != extents || pick(2)) continue;
      const DType dtype = locals_[size_t(number)].dtype;
      stage.body.push_back(load_op(dtype, 1000 + number, local_address(extents, outer)));
    }
    const int ops = 1 + int(pick(10));
    for (int i = 0; i < ops; ++i) add_op(stage, axes, extents);

    const int values = int(stage.body.size());
    if (kind == 0 || kind == 3 || pick(4) == 0) {
      const int stores = 1 + int(pick(3));
      for (int i = 0; i < stores; ++i) {
        const int value = i == 0 ? values - 1 : int(pick(uint64_t(values)));
        const DType dtype = stage.body[size_t(value)].dtype;
        long elements;
        const bool whole = std::none_of(stage.axes.begin(), stage.axes.end(), [](const StageAxis& a) { return a.block > 0; });
        if (kind == 0 && whole && pick(4) == 0) {
          const int number = int(locals_.size());
          long extent = 1;
          for (size_t k = outer; k < extents.size(); ++k) extent *= extents[k];
          locals_.push_back({ParameterKind::kLocal, dtype, true, test_.size(extent, random_)});
          local_axes_.push_back({number, extents});
          stage.stores.push_back({1000 + number, local_address(extents, outer), value});
        } else {
          const Address a = address(axes, extents, true, elements);
          stage.stores.push_back({test_.add_buffer(dtype, size_t(elements), true, random_), a, value});
        }
      }
    }
    if (kind == 1 || kind == 2) {
      const int count = 1 + int(pick(3));
      for (int i = 0; i < count; ++i) {
        Reduction r;
        r.value = i == 0 ? values - 1 : int(pick(uint64_t(values)));
        r.dtype = stage.body[size_t(r.value)].dtype;
        if (r.dtype == DType::kF16 || r.dtype == DType::kBF16) continue;
        r.combiner = r.dtype == DType::kBool ? Combiner(int(Combiner::kMax) + int(pick(6))) : Combiner(pick(6));
        if (r.dtype != DType::kBool && r.combiner >= Combiner::kAny) {
          r.combiner = pick(2) ? Combiner::kArgMax : Combiner::kArgMin;
        }
        const DType result = r.combiner >= Combiner::kArgMax ? DType::kI64 : r.dtype;
        if (kind == 1) {
          r.row = new_row(result);
        } else {
          long elements;
          r.address = address(kept, extents, true, elements);
          r.parameter = test_.add_buffer(result, size_t(elements), true, random_);
        }
        stage.reductions.push_back(r);
      }
    }
    if (kind == 3 && pick(2)) {
      const int value = int(pick(uint64_t(values)));
      stage.rows.push_back({new_row(stage.body[size_t(value)].dtype), value});
    }
    p.stages.push_back(stage);
  }

  Address local_address(const std::vector<long>& extents, size_t outer) {
    Address out;
    long stride = 1;
    for (size_t k = extents.size(); k-- > outer;) {
      out.terms.insert(out.terms.begin(), {int(k), {stride, -1}});
      stride *= extents[k];
    }
    return out;
  }

  int new_row(DType dtype) {
    KernelProgram& p = test_.program;
    p.row_types.push_back(dtype);
    rows_.push_back({int(p.row_count), dtype});
    return int(p.row_count++);
  }

  void add_op(Stage& stage, const std::vector<int>& axes, const std::vector<long>& extents) {
    std::vector<BodyOp>& body = stage.body;
    const int a = int(pick(body.size()));
    const DType dtype = body[size_t(a)].dtype;
    const int b = find(stage, dtype), c = find(stage, dtype), condition = find(stage, DType::kBool);
    const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
    const bool real = dtype == DType::kF32 || dtype == DType::kF64;
    static constexpr ScalarOp kAny[] = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMax, ScalarOp::kMin};
    static constexpr ScalarOp kCompare[] = {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt,
                                            ScalarOp::kLe, ScalarOp::kGt, ScalarOp::kGe};
    static constexpr ScalarOp kReal[] = {ScalarOp::kNeg,  ScalarOp::kAbs,   ScalarOp::kSqrt, ScalarOp::kFloor,
                                         ScalarOp::kCeil, ScalarOp::kRound, ScalarOp::kTrunc, ScalarOp::kSign};
    static constexpr ScalarOp kInteger[] = {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kXor};
    switch (pick(9)) {
      case 0:
      case 1:
        if (!half) body.push_back(value_op(kAny[pick(4)], dtype, a, b));
        break;
      case 2:
        if (!half) body.push_back(value_op(kCompare[pick(6)], DType::kBool, a, b));
        break;
      case 3:
        if (real) body.push_back(value_op(kReal[pick(8)], dtype, a));
        else if (!half) body.push_back(value_op(kInteger[pick(3)], dtype, a, b));
        break;
      case 4:
        if (real) body.push_back(value_op(ScalarOp::kFma, dtype, a, b, c));
        else if (condition >= 0) body.push_back(value_op(ScalarOp::kSelect, dtype, condition, a, b));
        break;
      case 5:
        if (condition >= 0) body.push_back(value_op(ScalarOp::kSelect, dtype, condition, a, b));
        break;
      case 6: {
        // Floats become integers only where they are known to be small.
        const DType to = pick(6) == 0 ? DType::kF16 : pick(6) == 0 ? DType::kBF16 : type();
        if (!(real || half) || is_floating(to) || to == DType::kBool) {
          body.push_back(value_op(ScalarOp::kConvert, to, a));
        }
        break;
      }
      case 7:
        if (dtype != DType::kBool && !half) {
          body.push_back(constant_op(dtype, 1 + double(pick(9))));
          body.push_back(value_op(pick(2) ? ScalarOp::kDiv : ScalarOp::kRemainder, dtype, a, int(body.size()) - 1));
        }
        break;
      case 8: {
        // A gather through an index, kept in range by a remainder, or a masked load.
        long elements;
        const Address plain = address(axes, extents, false, elements);
        const int index = find(stage, DType::kI64);
        const DType of = type();
        const bool masked = condition >= 0 && pick(2);
        if (!masked && index < 0) break;
        BodyOp load = load_op(of, 0, plain);
        if (masked) {
          body.push_back(constant_op(of, 1));
          load.op = ScalarOp::kMaskedLoad;
          load.a = condition;
          load.b = int(body.size()) - 1;
        }
        if (index >= 0) {
          body.push_back(constant_op(DType::kI64, 13));
          body.push_back(value_op(ScalarOp::kRemainder, DType::kI64, index, int(body.size()) - 1));
          if (pick(2)) {
            BodyOp check = value_op(pick(2) ? ScalarOp::kCheckIndex : ScalarOp::kWrapIndex, DType::kI64,
                                    int(body.size()) - 1, int(body.size()) - 2);
            check.bits = 3;
            body.push_back(check);
          }
          load.address.dynamic = int(body.size()) - 1;
          elements += 13;
        }
        load.parameter = test_.add_buffer(of, size_t(elements), false, random_);
        body.push_back(load);
        break;
      }
    }
  }

  std::mt19937_64 random_;
  ProgramCase test_;
  std::vector<long> extents_;
  std::vector<Parameter> locals_;
  std::vector<std::pair<int, std::vector<long>>> local_axes_;
  std::vector<std::pair<int, DType>> rows_;
};

TEST(RandomPrograms, GiveTheEvaluatorsBits) {
  const auto targets = host_targets();
  const char* more = std::getenv("TENON_TEST_PROGRAMS");
  const uint64_t count = more ? std::strtoull(more, nullptr, 10) : 1500;
  int ran = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const ProgramCase test = Generator(seed).make();
    const Status status = verify(test.program, 100);
    ASSERT_TRUE(status.ok()) << status.message() << "\n" << print(test.program);
    ASSERT_EQ(compare_with_evaluator(test, targets[seed % targets.size()]), "") << "seed " << seed;
    ++ran;
  }
  EXPECT_EQ(ran, int(count));
}

}  // namespace
}  // namespace tenon::tests
