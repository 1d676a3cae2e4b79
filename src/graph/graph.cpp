// Construction: symbols, leaves, nodes, outputs.
#include "graph/graph.hpp"

#include "graph/argument_check.hpp"
#include "graph/text_names.hpp"
#include "support/format.hpp"

namespace tenon::graph {

Graph::Graph(std::string name, std::shared_ptr<const OperatorRegistry> registry)
    : name_(std::move(name)),
      registry_(std::move(registry)),
      pool_(std::make_unique<symbolic::Pool>()),
      facts_(*pool_) {}

Graph::~Graph() = default;

Result<Expr> Graph::declare_symbol(std::string_view name, int64_t min, int64_t max, int64_t divisor) {
  if (!is_identifier(name) || is_reserved_word(name))
    return invalid_argument(concat("symbol ", json_quoted(name), ": expected an identifier that means nothing else"))
        .with("symbol", name);
  if (pool_->find_symbol(name))
    return Status(Code::kAlreadyExists, concat("symbol ", name, " is declared already")).with("symbol", name);
  if (min > max)
    return invalid_argument(concat("symbol ", name, ": the range [", min, ", ", max, "] is empty")).with("symbol", name);
  if (divisor < 1)
    return invalid_argument(concat("symbol ", name, ": expected a divisor of at least 1, found ", divisor))
        .with("symbol", name);
  const symbolic::SymbolId symbol = pool_->symbol(name, symbolic::SymbolKind::kSize);
  symbols_.push_back({symbol, DimKind::kDeclared, min, max, divisor});
  facts_.set_range(symbol, {min, max});
  if (divisor != 1) facts_.set_divisor(symbol, divisor);
  return pool_->of(symbol);
}

Expr Graph::auto_symbol() {
  const symbolic::SymbolId symbol = pool_->fresh_symbol("auto", symbolic::SymbolKind::kSize);
  GraphSymbol declared;
  declared.symbol = symbol;
  declared.kind = DimKind::kAuto;
  symbols_.push_back(declared);
  facts_.set_range(symbol, {declared.min, declared.max});
  return pool_->of(symbol);
}

const GraphSymbol* Graph::find(symbolic::SymbolId symbol) const {
  for (const GraphSymbol& known : symbols_) {
    if (known.symbol == symbol) return &known;
  }
  return nullptr;
}

ValueId Graph::add_value(Type type, ValueSource source, NodeId node, size_t index, std::string_view name) {
  Value value;
  value.type = std::move(type);
  value.source = source;
  value.node = node;
  value.index = uint32_t(index);
  value.name = name;
  values_.push_back(std::move(value));
  return ValueId(values_.size() - 1);
}

Status Graph::claim_leaf_name(std::string_view name) {
  if (leaf_names_.emplace(name).second) return {};
  return Status(Code::kAlreadyExists,
                concat("the name ", json_quoted(name), " is taken by another input, constant or state"))
      .with("value", name);
}

// A leaf's name in the text format: its own where that can be written, made unlike the others.
std::string Graph::free_value_name(std::string_view wanted) {
  std::string name;
  for (char c : wanted) name += is_name_char(c) || c == '.' ? c : '_';
  if (!is_value_name(name)) return "";
  std::string free = name;
  for (int number = 2; !value_names_.insert(free).second; ++number) free = concat(name, "_", number);
  return free;
}

void Graph::set_value_name(ValueId value, std::string_view name) {
  std::string& own = values_[value].name;
  if (own == name) return;
  if (!own.empty()) value_names_.erase(own);
  own = is_value_name(name) && value_names_.emplace(name).second ? name : std::string_view();
}

Result<ValueId> Graph::add_input(std::string_view name, Type type) {
  TENON_RETURN_IF_ERROR(claim_leaf_name(name));
  normalize_strides(*pool_, type);
  const ValueId value = add_value(std::move(type), ValueSource::kInput, 0, inputs_.size(), free_value_name(name));
  inputs_.push_back({std::string(name), value});
  return value;
}

namespace {

// Bytes from the start that dims and strides reach; nullopt when that does not fit int64 or a size is negative.
std::optional<int64_t> reached_bytes(const Constant& constant, int64_t element_bytes) {
  int64_t last = 0;
  for (size_t dim = 0; dim < constant.dims.size(); ++dim) {
    if (constant.dims[dim] < 0 || constant.strides[dim] < 0) return std::nullopt;
  }
  for (size_t dim = 0; dim < constant.dims.size(); ++dim) {
    if (constant.dims[dim] == 0) return 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(constant.dims[dim] - 1, constant.strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  if (__builtin_add_overflow(last, int64_t{1}, &last) || __builtin_mul_overflow(last, element_bytes, &last) ||
      __builtin_add_overflow(last, constant.offset_bytes, &last))
    return std::nullopt;
  return last;
}

}  // namespace

Result<ValueId> Graph::add_constant(Constant constant, DType dtype) {
  const auto refuse = [&](std::string_view expected, std::string_view found) {
    return invalid_argument(
               concat("constant ", json_quoted(constant.name), ": expected ", expected, ", found ", found))
        .with("value", constant.name)
        .with("expected", expected)
        .with("found", found);
  };
  if (constant.strides.empty()) {
    constant.strides.resize(constant.dims.size());
    int64_t stride = 1;
    for (size_t dim = constant.dims.size(); dim-- > 0;) {
      constant.strides[dim] = stride;
      if (__builtin_mul_overflow(stride, constant.dims[dim], &stride)) return refuse("a size in int64", "a larger one");
    }
  }
  if (constant.strides.size() != constant.dims.size())
    return refuse(concat(constant.dims.size(), " strides"), concat(constant.strides.size()));
  const auto reached = reached_bytes(constant, int64_t(size_bytes(dtype)));
  if (!reached || constant.offset_bytes < 0) return refuse("sizes, strides and offset that are not negative", "others");
  if (!constant.bytes.empty() && uint64_t(*reached) > constant.bytes.size())
    return refuse(concat(*reached, " bytes"), concat(constant.bytes.size()));
  TENON_RETURN_IF_ERROR(claim_leaf_name(constant.name));

  Type type;
  type.dtype = dtype;
  for (int64_t size : constant.dims) type.dims.push_back(pool_->constant(size));
  for (int64_t stride : constant.strides) type.strides.push_back(pool_->constant(stride));
  normalize_strides(*pool_, type);
  constant.value = add_value(std::move(type), ValueSource::kConstant, 0, constants_.size(),
                             free_value_name(constant.name));
  constants_.push_back(std::move(constant));
  return constants_.back().value;
}

Result<ValueId> Graph::add_state(std::string_view name, Type type, Blob initial) {
  TENON_RETURN_IF_ERROR(claim_leaf_name(name));
  normalize_strides(*pool_, type);
  const ValueId value = add_value(std::move(type), ValueSource::kState, 0, states_.size(), free_value_name(name));
  states_.push_back({std::string(name), value, std::move(initial)});
  return value;
}

Result<const Operator*> Graph::operator_named(std::string_view name) const {
  const std::string canonical = canonical_operator_name(name);
  if (const Operator* op = registry_->find(canonical)) return op;
  return not_found(concat("no operator is called ", canonical)).with("operator", canonical);
}

namespace {

bool is_list(const SchemaReturn& result) { return result.type == ArgumentType::kTensorList; }

ValueKind kind_of(const SchemaReturn& result) {
  return result.type == ArgumentType::kTensor || is_list(result) ? ValueKind::kTensor : ValueKind::kScalar;
}

// Results whose types nobody knows yet.
Result<std::vector<Type>> pending_results(const Schema& schema, std::optional<size_t> count) {
  size_t lists = 0;
  for (const SchemaReturn& result : schema.returns) lists += is_list(result) ? 1 : 0;
  if (lists > 0 && (!count || lists > 1))
    return failed_precondition(
               concat(schema.name, ": how many tensors it gives depends on a type that is not known yet"))
        .with("operator", schema.name);
  std::vector<Type> types;
  for (const SchemaReturn& result : schema.returns) {
    const size_t others = schema.returns.size() - 1;
    const size_t repeat = !is_list(result) ? 1 : *count >= others ? *count - others : 0;
    types.insert(types.end(), repeat, pending_type(kind_of(result)));
  }
  return types;
}

}  // namespace

Result<std::vector<Type>> Graph::infer_types(const Operator& op, const std::vector<Argument>& arguments,
                                             std::optional<size_t> results) {
  std::vector<ValueId> uses;
  for (const Argument& argument : arguments) append_uses(argument, uses);
  for (ValueId value : uses) {
    if (values_[value].type.pending) return pending_results(op.schema, results);
  }
  if (op.infer == nullptr)
    return internal_error(concat(op.schema.name, " has no type inference")).with("operator", op.schema.name);
  InferContext context(*this, op, arguments, facts_);
  Result<std::vector<Type>> types = op.infer(context);
  if (types.ok()) return types;
  if (types.status().code() == Code::kUnavailable) return pending_results(op.schema, results);
  Status status = std::move(types).status();
  if (status.field("operator").empty()) status.with("operator", op.schema.name);
  return status;
}

NodeId Graph::push_node(Node node, std::vector<Type> types) {
  const NodeId id = NodeId(nodes_.size());
  for (size_t index = 0; index < types.size(); ++index) {
    normalize_strides(*pool_, types[index]);
    node.results.push_back(add_value(std::move(types[index]), ValueSource::kNode, id, index, ""));
  }
  nodes_.push_back(std::move(node));
  (region_ != nullptr ? region_->nodes : order_).push_back(id);
  return id;
}

Result<NodeId> Graph::append(const Operator& op, std::vector<Argument> arguments, std::optional<size_t> results) {
  Node node;
  node.op = &op;
  TENON_ASSIGN_OR_RETURN(node.arguments, check_arguments(*this, op, std::move(arguments)));
  TENON_ASSIGN_OR_RETURN(std::vector<Type> types, infer_types(op, node.arguments, results));
  size_t lists = 0;
  for (const SchemaReturn& result : op.schema.returns) lists += is_list(result) ? 1 : 0;
  const size_t declared = op.schema.returns.size();
  const bool matches = lists > 0 ? types.size() + lists >= declared : types.size() == declared;
  if (!matches)
    return internal_error(concat(op.schema.name, ": its schema has ", declared, " results, its inference gave ",
                                 types.size()))
        .with("operator", op.schema.name);
  return push_node(std::move(node), std::move(types));
}

Result<NodeId> Graph::add_node(const Operator& op, std::vector<Argument> arguments) {
  return append(op, std::move(arguments), std::nullopt);
}

Result<NodeId> Graph::add_node(std::string_view op, std::vector<Argument> arguments) {
  TENON_ASSIGN_OR_RETURN(const Operator* found, operator_named(op));
  return append(*found, std::move(arguments), std::nullopt);
}

Result<NodeId> Graph::add_node_named(std::string_view op, std::vector<Argument> positional,
                                     std::vector<NamedArgument> named, std::optional<size_t> results) {
  TENON_ASSIGN_OR_RETURN(const Operator* found, operator_named(op));
  TENON_ASSIGN_OR_RETURN(std::vector<Argument> arguments,
                         bind_arguments(*this, *found, std::move(positional), std::move(named)));
  return append(*found, std::move(arguments), results);
}

Result<ValueId> Graph::call(std::string_view op, std::vector<Argument> arguments) {
  TENON_ASSIGN_OR_RETURN(const NodeId node, add_node(op, std::move(arguments)));
  if (nodes_[node].results.size() == 1) return nodes_[node].results.front();
  return internal_error(concat(op, ": expected one result, found ", nodes_[node].results.size()))
      .with("operator", op);
}

void Graph::add_output(std::string_view name, Argument argument) {
  outputs_.push_back({std::string(name), std::move(argument)});
}

void Graph::add_write_back(ValueId target, ValueId value) { write_backs_.push_back({target, value}); }

NodeId Graph::add_region_node(const Operator& op, std::vector<Argument> arguments,
                              std::vector<std::unique_ptr<Region>> regions, std::vector<Type> types) {
  Node node;
  node.op = &op;
  node.arguments = std::move(arguments);
  node.regions = std::move(regions);
  return push_node(std::move(node), std::move(types));
}

ValueId Graph::add_region_input(Region& region, std::string_view name, Type type) {
  normalize_strides(*pool_, type);
  const ValueId value = add_value(std::move(type), ValueSource::kRegionInput, 0, region.inputs.size(),
                                  is_value_name(name) ? name : std::string_view());
  region.inputs.push_back(value);
  return value;
}

Region* Graph::enter(Region* region) { return std::exchange(region_, region); }

Result<ValueId> DecomposeContext::call(std::string_view op, std::vector<Argument> arguments) {
  auto made = into_.call(op, std::move(arguments));
  if (made.ok()) return made;
  return internal_error(concat("decomposition of ", node_.op->schema.name, ": ", made.status().message()))
      .with("operator", node_.op->schema.name);
}

}  // namespace tenon::graph
