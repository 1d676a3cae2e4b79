// All operators: the primitives that lowering knows ("prim.*") and ATen's, which decompose into them.
#pragma once

#include <memory>

#include "graph/operators.hpp"

namespace tenon::ops {

// Built on the first call, immutable; thread-safe.
std::shared_ptr<const graph::OperatorRegistry> registry();

// Primitives.
void register_prim_pointwise(graph::OperatorRegistry& registry);
void register_prim_structure(graph::OperatorRegistry& registry);
void register_prim_reduce(graph::OperatorRegistry& registry);
void register_prim_heavy(graph::OperatorRegistry& registry);

// ATen's families.
void register_unary(graph::OperatorRegistry& registry);
void register_arithmetic(graph::OperatorRegistry& registry);
void register_power(graph::OperatorRegistry& registry);
void register_compare(graph::OperatorRegistry& registry);
void register_logic(graph::OperatorRegistry& registry);
void register_select(graph::OperatorRegistry& registry);
void register_clamp(graph::OperatorRegistry& registry);
void register_activation(graph::OperatorRegistry& registry);
void register_convert(graph::OperatorRegistry& registry);
void register_create(graph::OperatorRegistry& registry);
void register_view(graph::OperatorRegistry& registry);
void register_slice(graph::OperatorRegistry& registry);
void register_index(graph::OperatorRegistry& registry);
void register_join(graph::OperatorRegistry& registry);
void register_rearrange(graph::OperatorRegistry& registry);
void register_reduce(graph::OperatorRegistry& registry);
void register_moments(graph::OperatorRegistry& registry);
void register_softmax(graph::OperatorRegistry& registry);
void register_norm(graph::OperatorRegistry& registry);
void register_matmul(graph::OperatorRegistry& registry);
void register_attention(graph::OperatorRegistry& registry);
void register_dropout(graph::OperatorRegistry& registry);
void register_effect(graph::OperatorRegistry& registry);

}  // namespace tenon::ops
