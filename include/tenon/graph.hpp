// Tensor programs: operator calls with PyTorch's names over values.
#pragma once

#include <memory>
#include <variant>

#include "tensor.hpp"

namespace tenon {
inline namespace api_v0 {

// A value of one graph: a number, free to copy.
struct Value {
  tenon_value_t id = TENON_VALUE_NONE;
  bool valid() const { return id != TENON_VALUE_NONE; }
};
inline constexpr Value kAbsent = {};  // for a Tensor? argument that is left out

// A named argument of an operator that is no tensor: attr("dim", 1), attr("keepdim", true), attr("alpha", 0.5),
// attr("dims", {0, 2, 1}), attr("dtype", DType::kF32), attr("approximate", "tanh"), attr("tensors", {a, b}), attr("min", none).
// A number may stand in a tensor's place: attr("other", 2.0). The name is lent until the operator was added.
struct None {};
inline constexpr None none = {};
enum class MemoryFormat : int32_t { kContiguous = 0, kChannelsLast = 1, kChannelsLast3d = 2, kPreserve = 3 };

class Attr {
 public:
  template <typename T>
  Attr(std::string_view name, T value) : name_(name) {
    if constexpr (std::is_same_v<T, None>) set(TENON_ATTR_NONE, std::monostate());
    else if constexpr (std::is_same_v<T, bool>) set(TENON_ATTR_BOOL, std::vector<uint8_t>{uint8_t(value)});
    else if constexpr (std::is_same_v<T, DType>) set(TENON_ATTR_DTYPE, std::vector<int32_t>{int32_t(value)});
    else if constexpr (std::is_same_v<T, MemoryFormat>) set(TENON_ATTR_MEMORY_FORMAT, std::vector<int32_t>{int32_t(value)});
    else if constexpr (std::is_same_v<T, Value>) set(TENON_ATTR_VALUES, std::vector<tenon_value_t>{value.id});
    else if constexpr (std::is_integral_v<T>) set(TENON_ATTR_I64, std::vector<Dim>{Dim(value)});
    else if constexpr (std::is_floating_point_v<T>) set(TENON_ATTR_F64, std::vector<double>{double(value)});
    else set(TENON_ATTR_STR, std::vector<tenon_str_t>{tenon::to_c(std::string_view(value))});
  }
  // Lists, also of one element or none.
  Attr(std::string_view name, std::vector<Dim> list) : name_(name) { set(TENON_ATTR_I64, std::move(list), TENON_ATTR_LIST); }
  Attr(std::string_view name, std::vector<double> list) : name_(name) { set(TENON_ATTR_F64, std::move(list), TENON_ATTR_LIST); }
  Attr(std::string_view name, const std::vector<Value>& list) : name_(name) {
    std::vector<tenon_value_t> ids;
    for (Value value : list) ids.push_back(value.id);
    set(TENON_ATTR_VALUES, std::move(ids), TENON_ATTR_LIST);
  }

  // Points into this.
  tenon_attr_t to_c() const {
    tenon_attr_t out = {};
    out.name = tenon::to_c(name_);
    out.kind = kind_;
    out.flags = flags_;
    std::visit(
        [&](const auto& list) {
          if constexpr (!std::is_same_v<decltype(list), const std::monostate&>) {
            out.count = uint32_t(list.size());
            out.values = list.data();
          }
        },
        list_);
    return out;
  }

 private:
  template <typename List>
  void set(int32_t kind, List list, uint32_t flags = 0) {
    kind_ = kind;
    flags_ = flags;
    list_ = std::move(list);
  }

  std::string_view name_;
  int32_t kind_ = TENON_ATTR_NONE;
  uint32_t flags_ = 0;
  std::variant<std::monostate, std::vector<uint8_t>, std::vector<Dim>, std::vector<double>, std::vector<tenon_str_t>,
               std::vector<int32_t>, std::vector<tenon_value_t>> list_;
};

template <typename T>
Attr attr(std::string_view name, T value) { return Attr(name, std::move(value)); }
inline Attr attr(std::string_view name, std::initializer_list<Dim> list) { return Attr(name, std::vector<Dim>(list)); }
inline Attr attr(std::string_view name, std::initializer_list<int> list) { return Attr(name, std::vector<Dim>(list.begin(), list.end())); }
inline Attr attr(std::string_view name, std::initializer_list<double> list) { return Attr(name, std::vector<double>(list)); }
inline Attr attr(std::string_view name, std::initializer_list<Value> list) { return Attr(name, std::vector<Value>(list)); }

// A tensor program under construction. One thread at a time.
//
// Building keeps the first error and goes on without doing anything, so that a graph is written as plain lines: look at
// status() once at the end. Context::compile gives that error too.
class Graph {
 public:
  explicit Graph(tenon_graph_t* taken) : graph_(taken) {}

  // A named size in [min, max] that is a multiple of divisor.
  Dim symbol(std::string_view name, int64_t min = 0, int64_t max = INT64_MAX, int64_t divisor = 1) {
    Dim out = kPendingDim;
    keep([&] { return tenon_graph_symbol(get(), to_c(name), min, max, divisor, &out); });
    return out;
  }
  Dim dim(std::string_view expression) {  // "2*batch + 1"
    Dim out = kPendingDim;
    keep([&] { return tenon_graph_dim(get(), to_c(expression), &out); });
    return out;
  }
  Value input(std::string_view name, const Type& type) {
    Value out;
    const tenon_type_t raw = type.to_c();
    keep([&] { return tenon_graph_input(get(), to_c(name), &raw, &out.id); });
    return out;
  }
  // A named mutable tensor; without an initial value zeros. The bytes are copied.
  Value state(std::string_view name, const Type& type, const Tensor* initial = nullptr) {
    Value out;
    const tenon_type_t raw = type.to_c();
    const tenon_tensor_t bytes = initial != nullptr ? initial->to_c() : tenon_tensor_t{};
    keep([&] { return tenon_graph_state(get(), to_c(name), &raw, initial != nullptr ? &bytes : nullptr, &out.id); });
    return out;
  }
  Value constant(std::string_view name, const Tensor& data) { return constant(name, data, 0); }
  // The bytes stay the caller's: valid and unchanged until the graph and its functions are gone.
  Value borrowed_constant(std::string_view name, const Tensor& data) { return constant(name, data, TENON_CONSTANT_BORROW); }

  // Adds one operator call with one result: op("aten.add.Tensor", {x, y}, attr("alpha", 2)).
  template <typename... Attrs>
  Value op(std::string_view name, std::initializer_list<Value> inputs, const Attrs&... attrs) {
    Value out;
    op_into(name, {inputs.begin(), inputs.size()}, std::initializer_list<Attr>{attrs...}, {&out, 1});
    return out;
  }
  // The same with several results: as many as `outputs` has room for, at most those that the operator has.
  void op_into(std::string_view name, std::span<const Value> inputs, std::initializer_list<Attr> attrs, std::span<Value> outputs) {
    std::vector<tenon_attr_t> raw;
    for (const Attr& a : attrs) raw.push_back(a.to_c());
    static_assert(sizeof(Value) == sizeof(tenon_value_t));
    keep([&] {
      return tenon_graph_node(get(), to_c(name), reinterpret_cast<const tenon_value_t*>(inputs.data()), inputs.size(), raw.data(),
                              raw.size(), reinterpret_cast<tenon_value_t*>(outputs.data()), outputs.size());
    });
  }
  void output(std::string_view name, Value value) {
    keep([&] { return tenon_graph_output(get(), to_c(name), value.id); });
  }

  // The first thing that went wrong, also reported by verify, print, type_of and compile.
  const Status& status() const { return first_; }
  Status verify() const {
    if (!first_.ok()) return first_copy();
    return Status(tenon_graph_verify(get()));
  }
  Result<Type> type_of(Value value) const {
    if (!first_.ok()) return first_copy();
    tenon_type_t type;
    if (Status status(tenon_graph_type(get(), value.id, &type)); !status.ok()) return status;
    return Type(type);
  }
  Result<std::string> print() const;
  tenon_graph_t* get() const { return graph_.get(); }
  Status first_copy() const { return first_.ok() ? Status() : Status(first_.code(), first_.message()); }

 private:
  struct Release {
    void operator()(tenon_graph_t* graph) const { tenon_graph_release(graph); }
  };

  template <typename Step>
  void keep(Step&& step) {
    if (first_.ok()) first_ = Status(step());
  }
  Value constant(std::string_view name, const Tensor& data, uint32_t flags) {
    Value out;
    const tenon_tensor_t bytes = data.to_c();
    keep([&] { return tenon_graph_constant(get(), to_c(name), &bytes, flags, &out.id); });
    return out;
  }

  std::unique_ptr<tenon_graph_t, Release> graph_;
  Status first_;
};

// Appends chunks to a std::string: `user` of every function that writes text.
inline void append_chunk(void* user, tenon_str_t chunk) { static_cast<std::string*>(user)->append(chunk.data, chunk.size); }

inline Result<std::string> Graph::print() const {
  if (!first_.ok()) return first_copy();
  std::string out;
  if (Status status(tenon_graph_print(get(), append_chunk, &out)); !status.ok()) return status;
  return out;
}

}  // namespace api_v0
}  // namespace tenon
