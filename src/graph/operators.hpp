// The registry of operators: schema, inference, decomposition and traits of each. Filled once by the ops room
// (ops/registry.hpp), immutable afterwards, shared by all graphs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/schema.hpp"
#include "symbolic/facts.hpp"

namespace tenon::graph {

class Graph;
class Rewriter;
class InferContext;
class DecomposeContext;

// Types of all results. An error is a user's error (names the argument, expected and found) or a needed fact that is
// pending: InferContext::pending().
using InferFn = Result<std::vector<Type>> (*)(InferContext&);
// Rebuilds the node from simpler operators; gives one value a result.
using DecomposeFn = Result<std::vector<ValueId>> (*)(DecomposeContext&);

struct Operator {
  Schema schema;
  InferFn infer = nullptr;
  DecomposeFn decompose = nullptr;   // null for a primitive
  bool primitive = false;            // lower knows it
  bool pointwise = false;            // one result, element by element with broadcasting of all tensor operands
  bool view = false;                 // the result aliases the first argument
  bool random = false;               // never folded, merged or dropped by equality
  bool effect = false;               // kept although nothing reads it (assertions)
  std::string functional;            // for an in-place operator: the functional one with the same arguments
};

class OperatorRegistry {
 public:
  // `schema` is ATen notation. Aborts on a malformed or repeated schema: our own mistake.
  Operator& add(std::string_view schema, InferFn infer, DecomposeFn decompose = nullptr);
  const Operator* find(std::string_view canonical_name) const;
  std::vector<const Operator*> all() const;  // sorted by name

 private:
  std::vector<std::unique_ptr<Operator>> operators_;
  std::unordered_map<std::string_view, const Operator*> by_name_;
};

// What an inference function sees: arguments in schema order, facts to decide with.
class InferContext {
 public:
  InferContext(const Graph& graph, const Operator& op, std::span<const Argument> arguments, symbolic::Facts& facts)
      : graph_(graph), op_(op), arguments_(arguments), facts_(facts) {}

  const Operator& op() const { return op_; }
  symbolic::Facts& facts() const { return facts_; }
  symbolic::Pool& pool() const { return facts_.pool(); }
  size_t size() const { return arguments_.size(); }
  const Argument& argument(size_t index) const { return arguments_[index]; }
  const Argument& argument(std::string_view name) const;  // aborts when the schema has no such argument
  bool absent(size_t index) const { return is_none(arguments_[index]); }

  // Type of a Tensor argument given as a value (or of the SSA scalar); for a wrapped number a scalar type
  // (bool, i64 or f64).
  Result<Type> type(size_t index) const;
  const Type& type_of(ValueId value) const;
  Result<std::vector<Type>> types(size_t index) const;   // of a Tensor[]
  Result<int64_t> constant_int(size_t index) const;      // a constant integer argument; else INVALID_ARGUMENT
  Result<Expr> integer(size_t index) const;              // constant or symbolic
  Result<std::vector<Expr>> integers(size_t index) const;  // a list, or one int standing for a list of one
  bool boolean(size_t index) const;                      // the schema has been checked: a bool literal
  // A dim argument in [-rank, rank) made non-negative. Errors name the argument and the range.
  Result<int64_t> dim(size_t index, size_t rank) const;
  Result<std::vector<int64_t>> dims(size_t index, size_t rank) const;  // several, each once

  // Decides a predicate or says "pending" (a status with code UNAVAILABLE that type inference turns into a pending type).
  Result<bool> decide(symbolic::Relation relation, Expr a, Expr b);
  static Status pending();

  // An error of this operator: INVALID_ARGUMENT with fields operator, input, expected, found.
  Status error(std::string_view argument, std::string_view expected, std::string_view found) const;

  // PyTorch's broadcasting of dims; decides equality and 1 through the facts.
  Result<std::vector<Expr>> broadcast(std::span<const Type> types);

 private:
  const Graph& graph_;
  const Operator& op_;
  std::span<const Argument> arguments_;
  symbolic::Facts& facts_;
};

}  // namespace tenon::graph
