// Random graphs of primitives: no clean-up changes a bit of what a graph computes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "ops/registry.hpp"
#include "support/format.hpp"
#include "text/small_evaluator.hpp"
#include "text/steps.hpp"

namespace tenon::text {
namespace {

using Dims = std::vector<int64_t>;
using passes::KnownTensor;

struct Known {
  std::string name;
  DType dtype;
  Dims dims;
};

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {
    values_ = {{"x", DType::kF32, {2, 3}},
               {"y", DType::kF32, {3}},
               {"i", DType::kI64, {2, 3}},
               {"p", DType::kBool, {2, 3}}};
  }

  void grow(int steps) {
    for (int step = 0; step < steps; ++step) pick(3) == 0 ? view() : pointwise();
  }

  std::string text() const {
    std::string head = "graph @g(%x: f32[2, 3], %y: f32[3], %i: i64[2, 3], %p: bool[2, 3]) -> (", tail;
    for (const Known& value : values_) {
      append(head, concat(tail.empty() ? "" : ", ", "o_", value.name, ": ", type(value)));
      append(tail, concat(tail.empty() ? "%" : ", %", value.name));
    }
    return concat(head, ") on cpu {\n", lines_, "  return ", tail, "\n}\n");
  }

 private:
  int64_t pick(int64_t count) { return std::uniform_int_distribution<int64_t>(0, count - 1)(random_); }
  template <size_t kCount>
  const char* one_of(const char* const (&words)[kCount]) {
    return words[size_t(pick(int64_t(kCount)))];
  }
  const Known& any() { return values_[size_t(pick(int64_t(values_.size())))]; }
  const Known& any(DType dtype) {
    while (true) {
      if (const Known& value = any(); value.dtype == dtype) return value;
    }
  }

  static std::string list(const Dims& dims) {
    std::string text;
    for (int64_t size : dims) append(text, concat(text.empty() ? "" : ", ", size));
    return concat("[", text, "]");
  }
  static std::string type(const Known& value) { return concat(name(value.dtype), list(value.dims)); }

  void add(std::string_view call, DType dtype, Dims dims) {
    Known made{concat("v", values_.size()), dtype, std::move(dims)};
    append(lines_, concat("  %", made.name, " = ", call, " : ", type(made), "\n"));
    values_.push_back(std::move(made));
  }

  static std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
    Dims made(std::max(a.size(), b.size()), 1);
    for (size_t dim = 0; dim < made.size(); ++dim) {
      const int64_t left = dim < a.size() ? a[a.size() - 1 - dim] : 1;
      const int64_t right = dim < b.size() ? b[b.size() - 1 - dim] : 1;
      if (left != right && left != 1 && right != 1) return std::nullopt;
      made[made.size() - 1 - dim] = left == 1 ? right : left;
    }
    return made;
  }

  std::string number(DType dtype) {
    if (dtype == DType::kBool) return one_of({"true", "false"});
    if (dtype == DType::kI64) return one_of({"0", "1", "-1", "2", "7", "4611686018427387904"});
    return one_of({"0.0", "-0.0", "1.0", "-1.0", "2.0", "inf", "nan", "0", "1"});
  }

  // A literal, or a value that broadcasts with `other`.
  std::pair<std::string, Dims> operand(const Known& other) {
    if (pick(3) == 0) return {number(other.dtype), {}};
    if (pick(4) == 0) {
      add(concat("prim.full([], ", number(other.dtype), ", ", name(other.dtype), ")"), other.dtype, {});
      return {concat("%", values_.back().name), {}};
    }
    for (int attempt = 0; attempt < 9; ++attempt) {
      const Known& value = any(other.dtype);
      if (broadcast(value.dims, other.dims)) return {concat("%", value.name), value.dims};
    }
    return {concat("%", other.name), other.dims};
  }

  void pointwise() {
    const Known left = any();
    const std::string x = concat("%", left.name);
    const DType dtype = left.dtype;
    const bool is_bool = dtype == DType::kBool, is_float = dtype == DType::kF32;
    if (pick(4) == 0) {
      const DType to = one_dtype();
      const bool defined = !is_float || to != DType::kI64;
      if (pick(2) == 0 && defined) return add(concat("prim.convert(", x, ", ", name(to), ")"), to, left.dims);
      if (is_bool) return add(concat("prim.logical_not(", x, ")"), dtype, left.dims);
      return add(concat(one_of({"prim.neg(", "prim.abs("}), x, ")"), dtype, left.dims);
    }
    const auto [y, dims] = operand(left);
    const Dims result = *broadcast(left.dims, dims);
    const bool swapped = pick(2) == 0;
    const std::string both = swapped ? concat("(", y, ", ", x, ")") : concat("(", x, ", ", y, ")");
    if (pick(5) == 0) {
      const Known condition = any(DType::kBool);
      const auto whole = broadcast(condition.dims, result);
      if (!whole) return;
      return add(concat("prim.where(%", condition.name, ", ", both.substr(1)), dtype, *whole);
    }
    const bool compares = pick(4) == 0;
    const char* op = compares ? one_of({"eq", "ne", "lt", "le", "gt", "ge"})
                     : is_bool ? one_of({"bitwise_and", "bitwise_or", "bitwise_xor"})
                     : is_float ? one_of({"add", "sub", "mul", "div", "max", "min"})
                                : one_of({"add", "sub", "mul", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor"});
    add(concat("prim.", op, both), compares ? DType::kBool : dtype, result);
  }

  DType one_dtype() {
    constexpr DType kDTypes[] = {DType::kF32, DType::kI64, DType::kBool};
    return kDTypes[pick(3)];
  }

  void view() {
    const Known from = any();
    const std::string x = concat("(%", from.name);
    Dims dims = from.dims;
    const int64_t rank = int64_t(dims.size());
    int64_t elements = 1;
    for (int64_t size : dims) elements *= size;
    switch (pick(6)) {
      case 0: return add(concat("prim.reshape", x, ", [", elements, "])"), from.dtype, {elements});
      case 1:
        dims.insert(dims.begin() + pick(rank + 1), 1);
        return add(concat("prim.reshape", x, ", ", list(dims), ")"), from.dtype, dims);
      case 2: {
        Dims order(dims.size());
        for (size_t dim = 0; dim < order.size(); ++dim) order[dim] = int64_t(dim);
        std::shuffle(order.begin(), order.end(), random_);
        for (size_t dim = 0; dim < order.size(); ++dim) dims[dim] = from.dims[size_t(order[dim])];
        return add(concat("prim.permute", x, ", ", list(order), ")"), from.dtype, dims);
      }
      case 3:
        if (rank < 4) dims.insert(dims.begin(), 1 + pick(2));
        return add(concat("prim.expand", x, ", ", list(dims), ")"), from.dtype, dims);
      case 4: {
        if (rank == 0) return;
        const int64_t dim = pick(rank), start = pick(dims[size_t(dim)] + 1);
        const int64_t end = start + pick(dims[size_t(dim)] - start + 1), step = 1 + pick(2);
        dims[size_t(dim)] = (end - start + step - 1) / step;
        return add(concat("prim.slice", x, ", ", dim, ", ", start, ", ", end, ", ", step, ")"), from.dtype, dims);
      }
      default:
        if (rank == 0) return;
        return add(concat("prim.flip", x, ", [", pick(rank), "])"), from.dtype, dims);
    }
  }

  std::mt19937 random_;
  std::vector<Known> values_;
  std::string lines_;
};

// Equal bits; one NaN is as good as another.
bool same(const KnownTensor& a, const KnownTensor& b) {
  if (a.dtype != b.dtype || a.dims != b.dims) return false;
  if (a.dtype != DType::kF32) return a.bytes.text() == b.bytes.text();
  const auto left = values_of(a), right = values_of(b);
  for (size_t element = 0; element < left.size(); ++element) {
    if (std::isnan(left[element]) && std::isnan(right[element])) continue;
    if (left[element] != right[element] || std::signbit(left[element]) != std::signbit(right[element])) return false;
  }
  return true;
}

TEST(CleanUpRandom, KeepsEveryBit) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<KnownTensor> inputs{
      tensor_of(DType::kF32, {2, 3}, {0.0, -0.0, nan, infinity, -1.5, 3.0}),
      tensor_of(DType::kF32, {3}, {-0.0, -infinity, 0.25}),
      tensor_of(DType::kI64, {2, 3}, {0, 1, -1, -0x1p63, 0x1p62, 1000003}),
      tensor_of(DType::kBool, {2, 3}, {0, 1, 1, 0, 0, 1})};
  int simplified = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Program program(seed);
    program.grow(4 + int(seed % 24));
    SCOPED_TRACE(concat("seed ", seed, "\n", program.text()));
    auto graph = graph::parse(program.text(), ops::registry());
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto before = evaluate_graph(**graph, inputs);
    ASSERT_TRUE(before.has_value());
    for (const char* pass : {"canonicalize_views", "simplify_algebra", "fold_constants", "eliminate_common_subexpressions",
                             "eliminate_dead_code", "clean_up"}) {
      const std::string was = graph::print(**graph);
      const auto changed = run_pass(pass, **graph);
      ASSERT_TRUE(changed.ok()) << pass << ": " << changed.status().message();
      ASSERT_EQ(*changed, was != graph::print(**graph)) << pass;
      const auto after = evaluate_graph(**graph, inputs);
      ASSERT_TRUE(after.has_value()) << pass;
      ASSERT_EQ(after->size(), before->size());
      for (size_t output = 0; output < after->size(); ++output) {
        ASSERT_TRUE(same((*after)[output], (*before)[output]))
            << pass << ", output " << output << "\n" << graph::print(**graph);
      }
      if (*changed) ++simplified;
    }
    ASSERT_FALSE(*run_pass("clean_up", **graph)) << "no fixed point\n" << graph::print(**graph);
  }
  EXPECT_GT(simplified, 500);
}

}  // namespace
}  // namespace tenon::text
