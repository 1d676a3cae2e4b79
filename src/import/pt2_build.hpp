// Builds a graph from the JSON of an exported program.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "import/pt2_arguments.hpp"
#include "import/pt2_operators.hpp"
#include "import/pt2_schema.hpp"
#include "import/pt2_symbols.hpp"
#include "import/pt2_weights.hpp"

namespace tenon::import {

class ProgramBuilder {
 public:
  // All must outlive the builder.
  ProgramBuilder(JsonView program, const WeightIndex& weights, graph::Graph& graph, std::vector<std::string>& notes);

  // Once. Leaves, nodes, outputs and write-backs, in this order. After an error the graph is of no use.
  Status build();

 private:
  // A parameter, buffer or constant of the archive, before it becomes a leaf of the graph.
  struct WeightLeaf {
    std::string value;  // its name among the values of the archive's graph
    std::string name;   // its name in the module
    Weight weight;
    bool changes = false;
    std::string view() const { return weight.file + " " + weight.key; }
  };

  // pt2_build.cpp: leaves and outputs.
  Status declare_symbols();
  Status plan_weights();
  Status check_shared_memory() const;
  Status add_leaves();
  Status add_weight(const WeightLeaf& leaf);
  Status add_user_input(JsonView argument);
  Status add_outputs();
  Result<graph::ValueId> mutation_target(std::string_view kind, JsonView spec);
  Result<std::vector<std::string>> names_of_outputs(size_t count) const;

  // pt2_nodes.cpp
  Status add_nodes(JsonView graph, Scope& scope);
  Status add_node(JsonView node, Scope& scope);
  Status add_operator(JsonView node, const graph::Operator& op, Scope& scope);
  Status add_inlined(JsonView node, Scope& scope);
  Status check_assertion(JsonView node, const Scope& scope);
  Status bind_results(JsonView node, const std::vector<graph::ValueId>& results, Scope& scope);
  Status bind_result(JsonView tagged, graph::ValueId value, Scope& scope);
  void compare(std::string_view name, JsonView meta, const graph::Type& type);

  ArgumentReader reader(const Scope& scope) const { return ArgumentReader(sizes_, scope, notes_); }

  JsonView program_;
  JsonView graph_module_;  // a member of program_
  JsonView source_;        // the outermost graph, a member of graph_module_
  const WeightIndex& weights_;
  graph::Graph& graph_;
  std::vector<std::string>& notes_;
  SizeReader sizes_;
  SymbolTable symbols_;
  Scope scope_;
  std::vector<WeightLeaf> leaves_;
  std::map<std::string, graph::ValueId, std::less<>> by_module_name_;  // parameters and buffers
  std::map<std::string, graph::ValueId> by_view_;
};

}  // namespace tenon::import
