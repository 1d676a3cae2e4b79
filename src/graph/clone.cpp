#include "graph/expr_map.hpp"
#include "graph/graph.hpp"

namespace tenon::graph {
namespace {

std::unique_ptr<Region> copy(const Region& region) { return std::make_unique<Region>(region); }

// Hints and guards come first: a guard is decided anew by its hints, which a range learnt from it would forestall.
void copy_facts(const symbolic::Facts& from, symbolic::Facts& source, symbolic::Facts& to, ExprMap& map) {
  const auto count = symbolic::SymbolId(from.pool().symbol_count());
  for (symbolic::SymbolId symbol = 0; symbol < count; ++symbol) {
    if (const auto hint = from.hint(symbol)) to.set_hint(symbol, *hint);
  }
  for (const symbolic::Guard& guard : from.guards())
    to.decide({guard.predicate.relation, map(guard.predicate.a), map(guard.predicate.b)}, guard.origin);
  for (symbolic::SymbolId symbol = 0; symbol < count; ++symbol) {
    if (const symbolic::Range range = from.symbol_range(symbol); range != symbolic::Range{}) to.set_range(symbol, range);
    if (from.divisor(symbol) != 1) to.set_divisor(symbol, from.divisor(symbol));
    const Expr bare = from.pool().of(symbol);
    const Expr known = source.simplify(bare);
    const Expr here = to.pool().of(symbol);
    if (known != bare && to.simplify(here) == here) to.set_equal(symbol, map(known));
  }
}

}  // namespace

std::unique_ptr<Graph> Graph::clone() const {
  auto made = std::make_unique<Graph>(name_, registry_);
  for (symbolic::SymbolId symbol = 0; symbol < pool_->symbol_count(); ++symbol) {
    const symbolic::SymbolId same = made->pool_->symbol(pool_->symbol_name(symbol), pool_->symbol_kind(symbol));
    TENON_CHECK(same == symbol);
  }
  ExprMap map(*pool_, *made->pool_);
  symbolic::Facts source = facts_;  // simplify() is not const
  copy_facts(facts_, source, made->facts_, map);
  made->symbols_ = symbols_;
  made->values_ = values_;
  for (Value& value : made->values_) value.type = map(value.type);
  made->nodes_.reserve(nodes_.size());
  for (const Node& node : nodes_) {
    Node same;
    same.op = node.op;
    same.results = node.results;
    same.origin = node.origin;
    same.source = node.source;
    same.erased = node.erased;
    same.arguments.reserve(node.arguments.size());
    for (const Argument& argument : node.arguments) same.arguments.push_back(map(argument));
    for (const auto& region : node.regions) same.regions.push_back(copy(*region));
    made->nodes_.push_back(std::move(same));
  }
  made->order_ = order_;
  made->inputs_ = inputs_;
  made->outputs_ = outputs_;
  for (Output& output : made->outputs_) output.argument = map(output.argument);
  made->constants_ = constants_;
  made->states_ = states_;
  made->write_backs_ = write_backs_;
  made->leaf_names_ = leaf_names_;
  made->value_names_ = value_names_;
  return made;
}

}  // namespace tenon::graph
