#include "handles.hpp"

using namespace tenon;
using namespace tenon::capi;

namespace {

Status check_type(const tenon_type_t& type) {
  if (type.rank < 0 || type.rank > TENON_MAX_RANK) {
    return invalid_argument(concat("`type`: rank out of range, found ", type.rank))
        .with("input", "type")
        .with("expected", "0 to 16")
        .with("found", concat(type.rank));
  }
  const bool needs_dims = type.rank > 0 && (type.flags & TENON_TYPE_AUTO_RANK) == 0;
  if (needs_dims && type.dims == nullptr) return null_argument("type->dims");
  return {};
}

Status check_tensor(const tenon_tensor_t& tensor, std::string_view name) {
  runtime::BoundTensor checked;
  bool changed = false;
  TENON_RETURN_IF_ERROR(checked.bind(tensor, "input", name, &changed));
  if (tensor.data == nullptr && checked.elements() != 0) return null_argument(concat(name, "->data"));
  return {};
}

// Makes a graph with the compiler that `make` fills in.
template <typename Make>
tenon_status_t* make_graph(tenon_context_t* context, tenon_graph_t** out_graph, Make make) {
  return guarded([&]() -> Status {
    if (out_graph != nullptr) *out_graph = nullptr;
    TENON_REQUIRE(context);
    TENON_REQUIRE(out_graph);
    auto handle = std::make_unique<tenon_graph>();
    handle->context = context->context;
    TENON_RETURN_IF_ERROR(make(*context->context, &handle->graph));
    *out_graph = handle.release();
    return {};
  });
}

}  // namespace

extern "C" {

TENON_API tenon_status_t* tenon_graph_create(tenon_context_t* context, tenon_str_t name, tenon_graph_t** out_graph) {
  return make_graph(context, out_graph, [&](auto& c, auto* graph) -> Status {
    TENON_TEXT(text, name);
    TENON_ASSIGN_OR_RETURN(runtime::Compiler * compiler, c.compiler());
    return compiler->create_graph(text, graph);
  });
}

TENON_API tenon_status_t* tenon_graph_parse(tenon_context_t* context, tenon_str_t text, tenon_graph_t** out_graph) {
  return make_graph(context, out_graph, [&](auto& c, auto* graph) -> Status {
    TENON_TEXT(source, text);
    TENON_ASSIGN_OR_RETURN(runtime::Compiler * compiler, c.compiler());
    return compiler->parse_graph(source, graph);
  });
}

TENON_API tenon_status_t* tenon_graph_import(tenon_context_t* context, tenon_str_t format, tenon_str_t path,
                                             tenon_graph_t** out_graph) {
  return make_graph(context, out_graph, [&](auto& c, auto* graph) -> Status {
    TENON_TEXT(kind, format);
    TENON_TEXT(file, path);
    TENON_ASSIGN_OR_RETURN(runtime::Compiler * compiler, c.compiler());
    return compiler->import_graph(kind, file, graph);
  });
}

TENON_API void tenon_graph_release(tenon_graph_t* graph) { delete graph; }

TENON_API tenon_status_t* tenon_graph_symbol(tenon_graph_t* graph, tenon_str_t name, int64_t min, int64_t max,
                                             int64_t divisor, tenon_dim_t* out_dim) {
  return guarded([&]() -> Status {
    if (out_dim != nullptr) *out_dim = 0;
    TENON_REQUIRE(graph);
    TENON_REQUIRE(out_dim);
    TENON_TEXT(text, name);
    if (min < 0 || max < min) {
      return invalid_argument(concat("`max`: the range [", min, ", ", max, "] is empty or negative"))
          .with("input", "max");
    }
    if (divisor < 1)
      return invalid_argument(concat("`divisor`: expected 1 or more, found ", divisor)).with("input", "divisor");
    return graph->graph->symbol(text, min, max, divisor, out_dim);
  });
}

TENON_API tenon_status_t* tenon_graph_dim(tenon_graph_t* graph, tenon_str_t expression, tenon_dim_t* out_dim) {
  return guarded([&]() -> Status {
    if (out_dim != nullptr) *out_dim = 0;
    TENON_REQUIRE(graph);
    TENON_REQUIRE(out_dim);
    TENON_TEXT(text, expression);
    return graph->graph->dim(text, out_dim);
  });
}

TENON_API tenon_status_t* tenon_graph_input(tenon_graph_t* graph, tenon_str_t name, const tenon_type_t* type,
                                            tenon_value_t* out_value) {
  return guarded([&]() -> Status {
    if (out_value != nullptr) *out_value = 0;
    TENON_REQUIRE(graph);
    TENON_REQUIRE(type);
    TENON_REQUIRE(out_value);
    TENON_TEXT(text, name);
    TENON_RETURN_IF_ERROR(check_type(*type));
    return graph->graph->input(text, *type, out_value);
  });
}

TENON_API tenon_status_t* tenon_graph_state(tenon_graph_t* graph, tenon_str_t name, const tenon_type_t* type,
                                            const tenon_tensor_t* initial, tenon_value_t* out_value) {
  return guarded([&]() -> Status {
    if (out_value != nullptr) *out_value = 0;
    TENON_REQUIRE(graph);
    TENON_REQUIRE(type);
    TENON_REQUIRE(out_value);
    TENON_TEXT(text, name);
    TENON_RETURN_IF_ERROR(check_type(*type));
    if (initial != nullptr) TENON_RETURN_IF_ERROR(check_tensor(*initial, "initial"));
    return graph->graph->state(text, *type, initial, out_value);
  });
}

TENON_API tenon_status_t* tenon_graph_constant(tenon_graph_t* graph, tenon_str_t name, const tenon_tensor_t* data,
                                               uint32_t flags, tenon_value_t* out_value) {
  return guarded([&]() -> Status {
    if (out_value != nullptr) *out_value = 0;
    TENON_REQUIRE(graph);
    TENON_REQUIRE(data);
    TENON_REQUIRE(out_value);
    TENON_TEXT(text, name);
    if ((flags & ~TENON_CONSTANT_BORROW) != 0) {
      return invalid_argument(concat("`flags`: unknown bits ", flags))
          .with("input", "flags")
          .with("found", concat(flags));
    }
    TENON_RETURN_IF_ERROR(check_tensor(*data, "data"));
    return graph->graph->constant(text, *data, flags, out_value);
  });
}

TENON_API tenon_status_t* tenon_graph_node(tenon_graph_t* graph, tenon_str_t op, const tenon_value_t* inputs,
                                           size_t n_inputs, const tenon_attr_t* attrs, size_t n_attrs,
                                           tenon_value_t* outputs, size_t n_outputs) {
  return guarded([&]() -> Status {
    if (n_outputs > 0) TENON_REQUIRE(outputs);
    for (size_t i = 0; i < n_outputs; ++i) outputs[i] = TENON_VALUE_NONE;
    TENON_REQUIRE(graph);
    TENON_TEXT(name, op);
    if (n_inputs > 0) TENON_REQUIRE(inputs);
    if (n_attrs > 0) TENON_REQUIRE(attrs);
    for (size_t i = 0; i < n_attrs; ++i) {
      std::string_view attr_name;
      TENON_RETURN_IF_ERROR(text_of(attrs[i].name, concat("attrs[", i, "].name"), &attr_name));
      if (attrs[i].kind < TENON_ATTR_NONE || attrs[i].kind > TENON_ATTR_MEMORY_FORMAT) {
        return invalid_argument(concat("`attrs`: attribute `", attr_name, "` is of unknown kind ", attrs[i].kind))
            .with("input", "attrs")
            .with("found", concat(attrs[i].kind));
      }
      if (attrs[i].kind != TENON_ATTR_NONE && attrs[i].count > 0 && attrs[i].values == nullptr) {
        return null_argument(concat("attrs[", i, "].values"));
      }
    }
    return graph->graph->node(name, {inputs, n_inputs}, {attrs, n_attrs}, {outputs, n_outputs});
  });
}

TENON_API tenon_status_t* tenon_graph_output(tenon_graph_t* graph, tenon_str_t name, tenon_value_t value) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(graph);
    TENON_TEXT(text, name);
    return graph->graph->output(text, value);
  });
}

TENON_API tenon_status_t* tenon_graph_type(const tenon_graph_t* graph, tenon_value_t value, tenon_type_t* out_type) {
  return guarded([&]() -> Status {
    if (out_type != nullptr) *out_type = tenon_type_t{};
    TENON_REQUIRE(graph);
    TENON_REQUIRE(out_type);
    return graph->graph->type(value, out_type);
  });
}

TENON_API tenon_status_t* tenon_graph_verify(const tenon_graph_t* graph) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(graph);
    return graph->graph->verify();
  });
}

TENON_API tenon_status_t* tenon_graph_print(const tenon_graph_t* graph, tenon_write_fn write, void* user) {
  return guarded([&]() -> Status {
    TENON_REQUIRE(graph);
    TENON_REQUIRE(write);
    return graph->graph->print(write, user);
  });
}

}  // extern "C"
