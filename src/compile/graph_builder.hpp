// tenon_graph_t: builds a graph from plain C data. Symbolic dims are numbers near INT64_MIN that name expressions of
// this graph.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"
#include "runtime/compiler_interface.hpp"

namespace tenon::compile {

class GraphBuilder final : public runtime::CompilerGraph {
 public:
  explicit GraphBuilder(std::unique_ptr<graph::Graph> graph) : graph_(std::move(graph)) {}

  const graph::Graph& graph() const { return *graph_; }

  Status symbol(std::string_view name, int64_t min, int64_t max, int64_t divisor, tenon_dim_t* out_dim) override;
  Status dim(std::string_view expression, tenon_dim_t* out_dim) override;
  Status input(std::string_view name, const tenon_type_t& type, tenon_value_t* out_value) override;
  Status state(std::string_view name, const tenon_type_t& type, const tenon_tensor_t* initial, tenon_value_t* out_value) override;
  Status constant(std::string_view name, const tenon_tensor_t& data, uint32_t flags, tenon_value_t* out_value) override;
  Status node(std::string_view op, std::span<const tenon_value_t> inputs, std::span<const tenon_attr_t> attributes,
              std::span<tenon_value_t> outputs) override;
  Status output(std::string_view name, tenon_value_t value) override;
  Status type(tenon_value_t value, tenon_type_t* out_type) override;
  Status verify() const override;
  Status print(runtime::WriteFn write, void* user) const override;

 private:
  Result<graph::Type> make_type(const tenon_type_t& type, std::string_view name);
  Result<symbolic::Expr> make_dim(tenon_dim_t dim);
  tenon_dim_t dim_number(symbolic::Expr e);
  Result<graph::Argument> make_argument(const tenon_attr_t& attribute, const graph::SchemaArgument& slot);
  Status check_value(tenon_value_t value) const;

  std::unique_ptr<graph::Graph> graph_;
  std::vector<symbolic::Expr> dims_;                      // by number
  std::unordered_map<uint32_t, tenon_dim_t> dim_numbers_;  // by expression
  std::vector<tenon_dim_t> lent_dims_, lent_strides_;
};

}  // namespace tenon::compile
