// Random programs of views, in-place and fresh operators against a model of eager execution: real memory with strides.
#include <gtest/gtest.h>

#include <random>

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "ops/registry.hpp"
#include "support/format.hpp"
#include "text/small_evaluator.hpp"
#include "text/steps.hpp"

namespace tenon::text {
namespace {

using Index = std::vector<int64_t>;

// A tensor of eager execution.
struct Eager {
  size_t memory = 0;
  Index dims, strides;
  int64_t offset = 0;
};

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {
    add_input("x", {2, 3});
    add_input("y", {6});
    add_input("z", {3, 2, 2});
  }

  void grow(int steps) {
    for (int step = 0; step < steps; ++step) {
      switch (pick(9)) {
        case 0: transpose(); break;
        case 1: select(); break;
        case 2: slice(); break;
        case 3: unsqueeze(); break;
        case 4: flatten(); break;
        case 5: split(); break;
        case 6: fresh(); break;
        case 7: update_by_number(); break;
        case 8: update_by_tensor(); break;
      }
    }
  }

  std::string text() const {
    std::string head = "graph @g(%x: f32[2, 3], %y: f32[6], %z: f32[3, 2, 2]) -> (", tail;
    for (size_t value = 0; value < values_.size(); ++value) {
      append(head, concat(value == 0 ? "" : ", ", "o", value, ": ", type(values_[value].dims)));
      append(tail, concat(value == 0 ? "" : ", ", "%", names_[value]));
    }
    return concat(head, ") on cpu {\n", lines_, "  return ", tail, "\n}\n");
  }

  std::vector<passes::KnownTensor> inputs() const {
    std::vector<passes::KnownTensor> made;
    for (size_t input = 0; input < 3; ++input) {
      made.push_back(tensor_of(DType::kF32, values_[input].dims, initial_[input]));
    }
    return made;
  }

  size_t value_count() const { return values_.size(); }
  std::vector<double> read(size_t value) const { return read(values_[value]); }
  const std::vector<double>& memory(size_t input) const { return memories_[input]; }

 private:
  int64_t pick(int64_t count) { return std::uniform_int_distribution<int64_t>(0, count - 1)(random_); }
  size_t any_value() { return size_t(pick(int64_t(values_.size()))); }

  static std::string list(const Index& dims) {
    std::string text;
    for (int64_t size : dims) append(text, concat(text.empty() ? "" : ", ", size));
    return concat("[", text, "]");
  }
  static std::string type(const Index& dims) { return concat("f32", list(dims)); }

  static int64_t count(const Index& dims) {
    int64_t count = 1;
    for (int64_t size : dims) count *= size;
    return count;
  }
  static Index row_major(const Index& dims) {
    Index strides(dims.size());
    int64_t stride = 1;
    for (size_t dim = dims.size(); dim-- > 0; stride *= dims[dim]) strides[dim] = stride;
    return strides;
  }

  // Places of the elements in row-major order.
  static std::vector<int64_t> places(const Eager& tensor) {
    std::vector<int64_t> places;
    Index index(tensor.dims.size(), 0);
    for (int64_t element = 0; element < count(tensor.dims); ++element) {
      int64_t place = tensor.offset;
      for (size_t dim = 0; dim < index.size(); ++dim) place += index[dim] * tensor.strides[dim];
      places.push_back(place);
      for (size_t dim = index.size(); dim-- > 0;) {
        if (++index[dim] < tensor.dims[dim]) break;
        index[dim] = 0;
      }
    }
    return places;
  }
  std::vector<double> read(const Eager& tensor) const {
    std::vector<double> values;
    for (int64_t place : places(tensor)) values.push_back(memories_[tensor.memory][size_t(place)]);
    return values;
  }

  void add_input(const char* name, Index dims) {
    std::vector<double> values;
    for (int64_t element = 0; element < count(dims); ++element) values.push_back(double(next_value_++));
    names_.push_back(name);
    add_memory(std::move(dims), values);
    initial_.push_back(values);
  }
  void add_memory(Index dims, std::vector<double> values) {
    Index strides = row_major(dims);
    values_.push_back({memories_.size(), std::move(dims), std::move(strides), 0});
    memories_.push_back(std::move(values));
  }
  void add_line(std::string_view call, const Eager& result) {
    names_.push_back(concat("v", names_.size()));
    append(lines_, concat("  %", names_.back(), " = ", call, " : ", type(result.dims), "\n"));
  }
  void add_view(std::string_view call, Eager result) {
    add_line(call, result);
    values_.push_back(std::move(result));
  }

  void transpose() {
    const size_t from = any_value();
    Eager view = values_[from];
    if (view.dims.size() < 2) return;
    const size_t a = size_t(pick(int64_t(view.dims.size()))), b = size_t(pick(int64_t(view.dims.size())));
    std::swap(view.dims[a], view.dims[b]);
    std::swap(view.strides[a], view.strides[b]);
    add_view(concat("aten.transpose.int(%", names_[from], ", ", a, ", ", b, ")"), view);
  }
  void select() {
    const size_t from = any_value();
    Eager view = values_[from];
    if (view.dims.empty()) return;
    const size_t dim = size_t(pick(int64_t(view.dims.size())));
    if (view.dims[dim] == 0) return;
    const int64_t index = pick(view.dims[dim]);
    view.offset += index * view.strides[dim];
    const int64_t written = pick(2) == 0 ? index : index - view.dims[dim];
    view.dims.erase(view.dims.begin() + long(dim));
    view.strides.erase(view.strides.begin() + long(dim));
    add_view(concat("aten.select.int(%", names_[from], ", ", dim, ", ", written, ")"), view);
  }
  void slice() {
    const size_t from = any_value();
    Eager view = values_[from];
    if (view.dims.empty()) return;
    const size_t dim = size_t(pick(int64_t(view.dims.size())));
    const int64_t start = pick(view.dims[dim] + 1), end = start + pick(view.dims[dim] - start + 1), step = 1 + pick(2);
    view.offset += start * view.strides[dim];
    view.dims[dim] = (end - start + step - 1) / step;
    view.strides[dim] *= step;
    add_view(concat("aten.slice.Tensor(%", names_[from], ", ", dim, ", ", start, ", ", end, ", ", step, ")"), view);
  }
  void unsqueeze() {
    const size_t from = any_value();
    Eager view = values_[from];
    if (view.dims.size() > 3) return;
    const size_t dim = size_t(pick(int64_t(view.dims.size()) + 1));
    view.dims.insert(view.dims.begin() + long(dim), 1);
    view.strides.insert(view.strides.begin() + long(dim), 1);
    add_view(concat("aten.unsqueeze(%", names_[from], ", ", dim, ")"), view);
  }
  // reshape to one dim: a view where one stride reaches all elements, else a copy.
  void flatten() {
    const size_t from = any_value();
    const Eager& source = values_[from];
    if (source.dims.empty()) return;
    Eager view{source.memory, {count(source.dims)}, {1}, source.offset};
    bool is_view = true;
    int64_t next = -1;
    for (size_t dim = source.dims.size(); dim-- > 0;) {
      if (source.dims[dim] == 1) continue;
      if (next < 0) view.strides[0] = source.strides[dim];
      else is_view = is_view && source.strides[dim] == next;
      next = source.strides[dim] * source.dims[dim];
    }
    const std::string call = concat("aten.reshape(%", names_[from], ", ", list(view.dims), ")");
    if (is_view || count(source.dims) == 0) return add_view(call, view);
    add_line(call, view);
    add_memory(view.dims, read(source));
  }
  void split() {
    const size_t from = any_value();
    const Eager source = values_[from];
    if (source.dims.empty() || source.dims[0] != 3) return;
    Eager first = source, second = source;
    first.dims[0] = 2;
    second.dims[0] = 1;
    second.offset += 2 * source.strides[0];
    const size_t number = names_.size();
    names_.push_back(concat("v", number));
    names_.push_back(concat("v", number + 1));
    append(lines_, concat("  %v", number, ", %v", number + 1, " = aten.split.Tensor(%", names_[from], ", 2) : ",
                          type(first.dims), ", ", type(second.dims), "\n"));
    values_.push_back(first);
    values_.push_back(second);
  }
  // Strides of a fresh result follow those of the operand where they are dense; the program cannot tell but by reshape.
  void fresh() {
    const size_t from = any_value();
    std::vector<double> values = read(from);
    for (double& value : values) value = -value;
    Eager result = values_[from];
    add_line(concat("aten.neg(%", names_[from], ")"), result);
    const bool dense = result.strides == row_major(result.dims);
    add_memory(result.dims, values);
    if (dense || result.dims.size() != 2) return;
    // A transposed operand gives a transposed result.
    Eager& made = values_.back();
    const Index& strides = values_[from].strides;
    if (strides[0] < strides[1]) {
      made.strides = {1, made.dims[0]};
      std::vector<double>& memory = memories_.back();
      const auto where = places(made);
      for (size_t element = 0; element < where.size(); ++element) memory[size_t(where[element])] = values[element];
    }
  }
  void update_by_number() {
    const size_t target = any_value();
    const bool adds = pick(2) == 0;
    const Eager tensor = values_[target];
    for (int64_t place : places(tensor)) {
      double& value = memories_[tensor.memory][size_t(place)];
      value = adds ? value + 100 : value * 2;
    }
    const std::string call = concat(adds ? "aten.add_" : "aten.mul_", ".Scalar(%", names_[target], adds ? ", 100)" : ", 2)");
    add_view(call, tensor);
  }
  // copy_ or add_ of a tensor with the same sizes, read as a whole before the write.
  void update_by_tensor() {
    const size_t target = any_value();
    std::vector<size_t> sources;
    for (size_t value = 0; value < values_.size(); ++value) {
      if (values_[value].dims == values_[target].dims) sources.push_back(value);
    }
    const size_t source = sources[size_t(pick(int64_t(sources.size())))];
    const bool adds = pick(2) == 0;
    const Eager tensor = values_[target];
    const std::vector<double> values = read(source), old = read(target);
    const auto where = places(tensor);
    for (size_t element = 0; element < where.size(); ++element) {
      memories_[tensor.memory][size_t(where[element])] = adds ? old[element] + values[element] : values[element];
    }
    add_view(concat(adds ? "aten.add_.Tensor(%" : "aten.copy_(%", names_[target], ", %", names_[source], ")"), tensor);
  }

  std::mt19937 random_;
  int next_value_ = 1;
  std::vector<std::string> names_;
  std::vector<Eager> values_;  // of each name
  std::vector<std::vector<double>> memories_, initial_;
  std::string lines_;
};

TEST(FunctionalizeRandom, EqualsEagerExecution) {
  int compared = 0, refused = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    Program program(seed);
    program.grow(4 + int(seed % 9));
    SCOPED_TRACE(concat("seed ", seed, "\n", program.text()));
    auto graph = graph::parse(program.text(), ops::registry());
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto changed = run_pass("functionalize", **graph);
    if (!changed.ok()) {
      // The one thing that it may not know: whether a reshape copies.
      const std::string_view message = changed.status().message();
      ASSERT_NE(message.find("strides that are not known"), std::string_view::npos) << message;
      ++refused;
      continue;
    }
    const std::string functional = graph::print(**graph);
    ASSERT_TRUE(run_pass("decompose", **graph).ok());
    ASSERT_TRUE(run_pass("clean_up", **graph).ok());
    const auto made = evaluate_graph(**graph, program.inputs());
    ASSERT_TRUE(made.has_value()) << graph::print(**graph);
    for (size_t value = 0; value < program.value_count(); ++value) {
      ASSERT_EQ(values_of((*made)[value]), program.read(value)) << "value " << value << "\n" << functional;
    }
    std::vector<bool> written(3, false);
    for (size_t write = 0; write < (*graph)->write_backs().size(); ++write) {
      const uint32_t input = (*graph)->value((*graph)->write_backs()[write].target).index;
      written[input] = true;
      ASSERT_EQ(values_of((*made)[program.value_count() + write]), program.memory(input)) << functional;
    }
    for (size_t input = 0; input < 3; ++input) {
      if (!written[input]) {
        ASSERT_EQ(values_of(program.inputs()[input]), program.memory(input)) << functional;
      }
    }
    ++compared;
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace tenon::text
