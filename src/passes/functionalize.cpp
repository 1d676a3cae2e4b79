#include "passes/functionalize.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/inspect.hpp"
#include "passes/view_kinds.hpp"
#include "support/format.hpp"

namespace tenon::passes {

using graph::Argument;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueRef;
using symbolic::Expr;

namespace {

constexpr NodeId kIdentity = UINT32_MAX;

// How a value of the original program lies in its parent: result `index` of the view `node`, or the parent itself.
struct Alias {
  ValueId parent = graph::kNoValue;
  NodeId node = kIdentity;
  size_t index = 0;
};

// The value that stands for another one while the root has this version.
struct Cached {
  ValueId value = graph::kNoValue;
  uint32_t version = 0;
};

// Memory: the current value of all of it, and how often it was written.
struct Root {
  ValueId current = graph::kNoValue;
  uint32_t version = 0;
};

bool mutates(const Graph& graph, const std::vector<NodeId>& order) {
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.op->schema.mutates() || std::any_of(node.regions.begin(), node.regions.end(), [&](const auto& region) {
             return mutates(graph, region->nodes);
           });
  });
}

class Functionalizer {
 public:
  explicit Functionalizer(Graph& graph) : graph_(graph) {}

  Result<bool> run() {
    const std::vector<NodeId> order = graph_.order();
    if (!mutates(graph_, order)) return false;
    note_leaves();
    note_last_uses(order);
    std::vector<NodeId> done;
    const auto flush = [&] {
      done.insert(done.end(), graph_.order().begin(), graph_.order().end());
      graph_.set_order({});
    };
    graph_.set_order({});
    for (position_ = 0; position_ < order.size(); ++position_) {
      const NodeId id = order[position_];
      TENON_RETURN_IF_ERROR(visit(id).status());
      flush();
      if (!graph_.node(id).erased) done.push_back(id);
    }
    TENON_RETURN_IF_ERROR(finish());
    flush();
    graph_.set_order(std::move(done));
    return true;
  }

 private:
  void note_leaves() {
    const auto note = [&](ValueId value) {
      const graph::Type& type = graph_.type(value);
      if (!type.pending && type.strides.empty()) row_major_.insert(value);
    };
    for (const graph::Input& input : graph_.inputs()) note(input.value);
    for (const graph::Constant& constant : graph_.constants()) note(constant.value);
    for (const graph::State& state : graph_.states()) note(state.value);
  }

  void note_last_uses(const std::vector<NodeId>& order) {
    std::vector<ValueId> uses;
    for (size_t position = 0; position < order.size(); ++position) {
      for (ValueId use : Graph::uses(graph_.node(order[position]))) last_use_[use] = position;
    }
    for (const graph::Output& output : graph_.outputs()) append_uses(output.argument, uses);
    for (const Graph::WriteBack& write : graph_.write_backs()) uses.push_back(write.value);
    for (ValueId use : uses) last_use_[use] = order.size();
  }

  // The memory that a value of the original program lies in.
  ValueId root_of(ValueId value) const {
    while (true) {
      const auto found = aliases_.find(value);
      if (found == aliases_.end()) return value;
      value = found->second.parent;
    }
  }

  Root& root(ValueId value) { return roots_.try_emplace(value, Root{value, 0}).first->second; }

  // What a value of the original program is now.
  Result<ValueId> now(ValueId value) {
    const auto found = aliases_.find(value);
    if (found == aliases_.end()) return root(value).current;
    const uint32_t version = root(root_of(value)).version;
    if (const auto cached = cache_.find(value); cached != cache_.end() && cached->second.version == version) {
      return cached->second.value;
    }
    const Alias alias = found->second;
    TENON_ASSIGN_OR_RETURN(const ValueId parent, now(alias.parent));
    if (alias.node == kIdentity) return parent;
    const graph::Operator& op = *graph_.node(alias.node).op;
    const std::vector<ValueId> results = graph_.node(alias.node).results;
    std::vector<Argument> arguments = graph_.node(alias.node).arguments;
    arguments[0] = ValueRef{parent};
    TENON_ASSIGN_OR_RETURN(const NodeId again, graph_.add_node(op, std::move(arguments)));
    graph_.node(again).origin = graph_.node(alias.node).origin;
    for (size_t index = 0; index < results.size(); ++index) {
      cache_[results[index]] = {graph_.node(again).results[index], version};
    }
    return graph_.node(again).results[alias.index];
  }

  Status refresh(Argument& argument) {
    if (auto* ref = std::get_if<ValueRef>(&argument)) {
      TENON_ASSIGN_OR_RETURN(ref->id, now(ref->id));
    }
    if (auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
      for (ValueId& value : *list) {
        if (value == graph::kNoValue) continue;
        TENON_ASSIGN_OR_RETURN(value, now(value));
      }
    }
    return {};
  }

  // `value` becomes `made`, and with it all that shares its memory.
  Status write(ValueId value, ValueId made) {
    const auto found = aliases_.find(value);
    if (found == aliases_.end()) {
      Root& memory = root(value);
      memory.current = made;
      ++memory.version;
      return {};
    }
    const Alias alias = found->second;
    if (alias.node == kIdentity) return write(alias.parent, made);
    TENON_ASSIGN_OR_RETURN(const ValueId base, now(alias.parent));
    Node view;  // a copy, as new nodes move the others in memory
    view.op = graph_.node(alias.node).op;
    view.arguments = graph_.node(alias.node).arguments;
    view.results = graph_.node(alias.node).results;
    TENON_ASSIGN_OR_RETURN(const ValueId whole, put_back(graph_, view, alias.index, base, made));
    TENON_RETURN_IF_ERROR(write(alias.parent, whole));
    cache_[value] = {made, root(root_of(value)).version};
    return {};
  }

  Result<bool> visit(NodeId id) {
    for (const auto& region : graph_.node(id).regions) {
      if (!mutates(graph_, region->nodes)) continue;
      return unimplemented(concat(graph_.node(id).op->schema.name, ": in-place operators inside a region"))
          .with("operator", graph_.node(id).op->schema.name);
    }
    const std::vector<Argument> before = graph_.node(id).arguments;
    std::vector<Argument> arguments = before;
    for (Argument& argument : arguments) TENON_RETURN_IF_ERROR(refresh(argument));
    if (graph_.node(id).op->schema.mutates()) {
      TENON_RETURN_IF_ERROR(in_place(id, before, std::move(arguments)));
      return true;
    }
    TENON_ASSIGN_OR_RETURN(const bool hoisted, select_of_expand(id, before));
    if (hoisted) return true;
    graph_.node(id).arguments = std::move(arguments);
    share(id, before);
    return false;
  }

  bool is_row_major(const std::vector<ValueId>& values) const {
    return std::all_of(values.begin(), values.end(), [&](ValueId value) { return row_major_.contains(value); });
  }

  // Records what memory the results of a functional node lie in.
  void share(NodeId id, const std::vector<Argument>& before) {
    const Node& node = graph_.node(id);
    Sharing sharing = sharing_of(graph_, node);
    const auto* base = node.arguments.empty() ? nullptr : std::get_if<ValueRef>(&before[0]);
    bool other_format = false;
    for (const Argument& argument : node.arguments) {
      const auto* format = std::get_if<graph::MemoryFormat>(&argument);
      other_format = other_format || (format != nullptr && *format != graph::MemoryFormat::kPreserve &&
                                      *format != graph::MemoryFormat::kContiguous);
    }
    if (sharing == Sharing::kMaybe && base != nullptr && row_major_.contains(base->id) && !other_format) {
      sharing = Sharing::kView;
    }
    if (sharing == Sharing::kMaybe) {
      for (ValueId result : node.results) perhaps_shared_.emplace_back(base->id, result);
      return;
    }
    if (sharing == Sharing::kFresh) {
      std::vector<ValueId> uses;
      for (const Argument& argument : before) append_uses(argument, uses);
      if (other_format || !is_row_major(uses)) return;
      row_major_.insert(node.results.begin(), node.results.end());
      return;
    }
    const uint32_t version = root(root_of(base->id)).version;
    const bool row_major = row_major_.contains(base->id) && keeps_row_major(graph_, node);
    for (size_t index = 0; index < node.results.size(); ++index) {
      const ValueId result = node.results[index];
      aliases_[result] = {base->id, id, index};
      cache_[result] = {result, version};
      if (row_major) row_major_.insert(result);
    }
  }

  // A part of an expanded value along a dim that was expanded lies in one place in memory: it is taken from the value
  // before expansion, so that it can be written to.
  Result<bool> select_of_expand(NodeId id, const std::vector<Argument>& before) {
    if (graph_.node(id).op->schema.name != "aten.select.int") return false;
    ValueId expanded = std::get<ValueRef>(before[0]).id;
    auto found = aliases_.find(expanded);
    while (found != aliases_.end() && found->second.node == kIdentity) {
      expanded = found->second.parent;
      found = aliases_.find(expanded);
    }
    if (found == aliases_.end()) return false;
    const std::string_view view = graph_.node(found->second.node).op->schema.name;
    if (view != "aten.expand" && view != "aten.expand_as" && view != "aten.broadcast_to") return false;
    const ValueId result = graph_.node(id).results[0], source = found->second.parent;
    if (graph_.type(result).pending) return false;
    const std::vector<Expr> from = graph_.type(source).dims, to = graph_.type(expanded).dims;
    const int64_t rank = int64_t(to.size());
    int64_t dim = constant_integer(graph_, before[1]).value_or(0);
    dim = (dim < 0 ? dim + rank : dim) - (rank - int64_t(from.size()));
    ValueId part = source;
    symbolic::Pool& pool = graph_.pool();
    if (dim >= 0) {
      const bool was_one = pool.is_constant(from[size_t(dim)], 1);
      const Argument index = was_one ? Argument(pool.constant(0)) : before[2];
      TENON_ASSIGN_OR_RETURN(part, view_of(source, "aten.select.int", {pool.constant(dim), index}));
    }
    if (!same_dims(graph_, graph_.type(part).dims, graph_.type(result).dims)) {
      TENON_ASSIGN_OR_RETURN(part, view_of(part, "aten.expand", {graph_.type(result).dims}));
    }
    aliases_[result] = {part, kIdentity, 0};
    graph_.node(id).erased = true;
    return true;
  }

  // A view of a value of the original program, known as one from now on.
  Result<ValueId> view_of(ValueId value, std::string_view op, std::vector<Argument> rest) {
    TENON_ASSIGN_OR_RETURN(const ValueId base, now(value));
    std::vector<Argument> arguments{ValueRef{base}};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    TENON_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(op, std::move(arguments)));
    const ValueId result = graph_.node(made).results[0];
    aliases_[result] = {value, made, 0};
    cache_[result] = {result, root(root_of(value)).version};
    return result;
  }

  Status in_place(NodeId id, const std::vector<Argument>& before, std::vector<Argument> arguments) {
    const Node& node = graph_.node(id);
    const graph::Operator& op = *node.op;
    const std::vector<ValueId> results = node.results;
    const std::string origin = node.origin;
    if (op.functional.empty() || results.size() > 1) {
      return unimplemented(concat(op.schema.name, ": this in-place operator has no functional form"))
          .with("operator", op.schema.name);
    }
    const ValueId target = std::get<ValueRef>(before[0]).id;
    TENON_RETURN_IF_ERROR(check_target(op, target));
    const graph::Type type = graph_.type(target);
    TENON_ASSIGN_OR_RETURN(const NodeId call, graph_.add_node(op.functional, std::move(arguments)));
    graph_.node(call).origin = origin;
    ValueId made = graph_.node(call).results[0];
    if (graph_.type(made).dtype != type.dtype) {
      TENON_ASSIGN_OR_RETURN(made, graph_.call("aten.to.dtype", {ValueRef{made}, type.dtype}));
    }
    if (Status status = write(target, made); !status.ok()) return std::move(status).prefixed(op.schema.name);
    for (ValueId result : results) {
      aliases_[result] = {target, kIdentity, 0};
      if (row_major_.contains(target)) row_major_.insert(result);
    }
    graph_.node(id).erased = true;
    return {};
  }

  Status check_target(const graph::Operator& op, ValueId target) {
    const ValueId memory = root_of(target);
    const graph::Value& base = graph_.value(memory);
    if (graph_.type(target).pending) {
      return failed_precondition(concat(op.schema.name, ": the type of what it changes is not known"))
          .with("operator", op.schema.name);
    }
    if (base.source == graph::ValueSource::kConstant) {
      const std::string& name = graph_.constants()[base.index].name;
      return invalid_argument(concat(op.schema.name, " changes the constant ", json_quoted(name), ": expected a state"))
          .with("operator", op.schema.name)
          .with("value", name);
    }
    return check_unknown_sharing(op, memory);
  }

  // Memory that may or may not be the written one (a reshape of unknown strides) must not be looked at any more.
  Status check_unknown_sharing(const graph::Operator& op, ValueId memory) {
    if (perhaps_shared_.empty()) return {};
    std::unordered_set<ValueId> reached{memory};
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [source, result] : perhaps_shared_) {
        const ValueId a = root_of(source), b = root_of(result);
        if (reached.contains(a) != reached.contains(b)) grown = reached.insert(a).second || reached.insert(b).second;
      }
    }
    reached.erase(memory);
    if (reached.empty()) return {};
    const auto refuse = [&](ValueId value) {
      const Node* node = maker(graph_, value);
      return unimplemented(concat(op.schema.name, ": whether what it changes shares memory with ",
                                  node != nullptr ? concat("a result of ", node->op->schema.name) : "an input",
                                  " depends on strides that are not known"))
          .with("operator", op.schema.name);
    };
    ValueId seen = graph::kNoValue;  // the first, so that the message does not depend on hashing
    for (ValueId value : reached) {
      const graph::ValueSource source = graph_.value(value).source;
      const bool outlives = source == graph::ValueSource::kInput || source == graph::ValueSource::kState;
      if (outlives) seen = std::min(seen, value);
    }
    for (const auto& [value, last] : last_use_) {
      if (last > position_ && reached.contains(root_of(value))) seen = std::min(seen, value);
    }
    if (seen != graph::kNoValue) return refuse(seen);
    return {};
  }

  Status finish() {
    for (graph::Output& output : graph_.outputs()) TENON_RETURN_IF_ERROR(refresh(output.argument));
    std::unordered_set<ValueId> written;
    for (Graph::WriteBack& write : graph_.write_backs()) {
      TENON_ASSIGN_OR_RETURN(write.value, now(write.value));
      written.insert(write.target);
    }
    const auto store = [&](ValueId leaf) {
      const ValueId current = root(leaf).current;
      if (current != leaf && !written.contains(leaf)) graph_.add_write_back(leaf, current);
    };
    for (const graph::Input& input : graph_.inputs()) store(input.value);
    for (const graph::State& state : graph_.states()) store(state.value);
    return {};
  }

  Graph& graph_;
  size_t position_ = 0;  // in the original order
  std::unordered_map<ValueId, size_t> last_use_;
  std::unordered_map<ValueId, Alias> aliases_;
  std::unordered_map<ValueId, Root> roots_;
  std::unordered_map<ValueId, Cached> cache_;
  std::unordered_set<ValueId> row_major_;  // laid out so in eager execution, for all that is known
  std::vector<std::pair<ValueId, ValueId>> perhaps_shared_;
};

}  // namespace

Result<bool> functionalize(Graph& graph) { return Functionalizer(graph).run(); }

}  // namespace tenon::passes
