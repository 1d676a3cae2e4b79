#include "passes/fold_constants.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "passes/inspect.hpp"
#include "support/format.hpp"

namespace tenon::passes {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Type;
using graph::ValueId;

namespace {

// Sizes of a static type; nullopt with symbols.
std::optional<std::vector<int64_t>> static_dims(const Graph& graph, const Type& type) {
  if (type.pending || type.is_scalar()) return std::nullopt;
  std::vector<int64_t> dims;
  for (symbolic::Expr size : type.dims) {
    const auto known = graph.pool().as_constant(size);
    if (!known) return std::nullopt;
    dims.push_back(*known);
  }
  return dims;
}

// Bytes of a dense tensor; nullopt beyond int64.
std::optional<int64_t> bytes_of(const std::vector<int64_t>& dims, DType dtype) {
  int64_t bytes = int64_t(size_bytes(dtype));
  for (int64_t size : dims) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

// The elements of a constant in row-major order, shared where they lie so.
Blob row_major_bytes(const graph::Constant& constant, const Type& type, int64_t bytes) {
  const size_t width = size_bytes(type.dtype);
  if (type.strides.empty()) return constant.bytes.slice(size_t(constant.offset_bytes), size_t(bytes));
  std::vector<uint8_t> out(static_cast<size_t>(bytes));
  const size_t rank = constant.dims.size();
  std::vector<int64_t> index(rank, 0);
  for (size_t at = 0; at < out.size(); at += width) {
    int64_t element = 0;
    for (size_t dim = 0; dim < rank; ++dim) element += index[dim] * constant.strides[dim];
    std::memcpy(out.data() + at, constant.bytes.data() + constant.offset_bytes + element * int64_t(width), width);
    for (size_t dim = rank; dim-- > 0;) {
      if (++index[dim] < constant.dims[dim]) break;
      index[dim] = 0;
    }
  }
  return Blob::own(std::move(out));
}

class Folding {
 public:
  Folding(Graph& graph, Evaluator& evaluator) : graph_(graph), evaluator_(evaluator) {}

  Result<bool> run() {
    const std::vector<NodeId> order = graph_.order();
    for (NodeId id : order) visit(id);
    note_readers();
    for (NodeId id : order) {
      if (folded_.contains(id)) TENON_RETURN_IF_ERROR(replace(id));
    }
    std::vector<NodeId> kept;
    for (NodeId id : order) {
      if (!graph_.node(id).erased) kept.push_back(id);
    }
    if (changed_) graph_.set_order(std::move(kept));
    return changed_;
  }

 private:
  // A node that may be computed: from constants, or a small full or iota.
  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    const graph::Operator& op = *node.op;
    if (!op.primitive || op.random || op.effect || op.schema.mutates() || !node.regions.empty()) return;
    int64_t result_bytes = 0;
    for (ValueId result : node.results) {
      const Type& type = graph_.type(result);
      const auto dims = static_dims(graph_, type);
      if (!dims) return;
      const auto bytes = bytes_of(*dims, type.dtype);
      if (!bytes || __builtin_add_overflow(result_bytes, *bytes, &result_bytes)) return;
    }
    std::vector<ValueId> uses = Graph::uses(node);
    if (uses.empty() && result_bytes > kFoldedBytes) return;
    int64_t operand_bytes = 0;
    bool large = false;
    for (ValueId use : uses) {
      const auto bytes = known_bytes(use);
      if (!bytes) return;
      operand_bytes += *bytes;
      large = large || *bytes > kFoldedBytes;
    }
    if (result_bytes > kFoldedBytes && result_bytes > operand_bytes) return;
    if (large && moves_elements(node)) return;
    evaluate(id, uses);
  }

  static bool moves_elements(const Node& node) {
    constexpr std::string_view kMoves[] = {"prim.reshape", "prim.permute", "prim.expand", "prim.slice",
                                           "prim.flip",    "prim.convert", "prim.cat",    "prim.pad"};
    return std::find(std::begin(kMoves), std::end(kMoves), node.op->schema.name) != std::end(kMoves);
  }

  // Size of a value that is known (or is a constant that can be read); nullopt when it is not.
  std::optional<int64_t> known_bytes(ValueId value) const {
    if (const auto found = known_.find(value); found != known_.end()) return int64_t(found->second.bytes.size());
    const graph::Value& leaf = graph_.value(value);
    if (leaf.source != graph::ValueSource::kConstant) return std::nullopt;
    const graph::Constant& constant = graph_.constants()[leaf.index];
    const auto bytes = bytes_of(constant.dims, leaf.type.dtype);
    if (!bytes || (constant.bytes.empty() && *bytes > 0)) return std::nullopt;
    return bytes;
  }

  const KnownTensor& read(ValueId value) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    const graph::Value& leaf = graph_.value(value);
    const graph::Constant& constant = graph_.constants()[leaf.index];
    KnownTensor tensor{leaf.type.dtype, constant.dims, {}};
    tensor.bytes = row_major_bytes(constant, leaf.type, *bytes_of(constant.dims, leaf.type.dtype));
    return known_.emplace(value, std::move(tensor)).first->second;
  }

  void evaluate(NodeId id, const std::vector<ValueId>& uses) {
    std::vector<KnownTensor> operands;
    for (ValueId use : uses) operands.push_back(read(use));
    const Node& node = graph_.node(id);
    auto results = evaluator_.evaluate(graph_, node, operands);
    if (!results) return;
    TENON_CHECK(results->size() == node.results.size());
    for (size_t index = 0; index < results->size(); ++index) {
      const Type& type = graph_.type(node.results[index]);
      const KnownTensor& made = (*results)[index];
      TENON_CHECK(made.dtype == type.dtype && made.dims == *static_dims(graph_, type));
      TENON_CHECK(int64_t(made.bytes.size()) == *bytes_of(made.dims, made.dtype));
      known_.emplace(node.results[index], made);
    }
    if (!is_call(node, "prim.full") && !is_call(node, "prim.iota")) folded_.insert(id);
  }

  // Values that outputs, write-backs and nodes that stay read.
  void note_readers() {
    std::vector<ValueId> uses;
    for (const graph::Output& output : graph_.outputs()) append_uses(output.argument, uses);
    for (const Graph::WriteBack& write : graph_.write_backs()) uses.push_back(write.value);
    for (NodeId id : graph_.order()) {
      if (folded_.contains(id)) continue;
      for (const graph::Argument& argument : graph_.node(id).arguments) append_uses(argument, uses);
    }
    read_.insert(uses.begin(), uses.end());
  }

  Status replace(NodeId id) {
    const std::vector<ValueId> results = graph_.node(id).results;
    for (ValueId result : results) {
      if (!read_.contains(result)) continue;
      TENON_ASSIGN_OR_RETURN(const ValueId constant, add_constant(known_.at(result)));
      graph_.replace_uses(result, constant);
    }
    graph_.node(id).erased = true;
    changed_ = true;
    return {};
  }

  Result<ValueId> add_constant(const KnownTensor& tensor) {
    while (true) {
      graph::Constant constant;
      constant.name = concat("folded.", next_name_++);
      constant.dims = tensor.dims;
      constant.bytes = tensor.bytes;
      auto made = graph_.add_constant(std::move(constant), tensor.dtype);
      if (made.ok() || made.status().code() != Code::kAlreadyExists) return made;
    }
  }

  Graph& graph_;
  Evaluator& evaluator_;
  std::unordered_map<ValueId, KnownTensor> known_;
  std::unordered_set<NodeId> folded_;
  std::unordered_set<ValueId> read_;
  int64_t next_name_ = 0;
  bool changed_ = false;
};

}  // namespace

Result<bool> fold_constants(Graph& graph, Evaluator& evaluator) { return Folding(graph, evaluator).run(); }

}  // namespace tenon::passes
