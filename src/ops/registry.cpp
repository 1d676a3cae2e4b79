#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

std::shared_ptr<const graph::OperatorRegistry> build() {
  auto registry = std::make_shared<graph::OperatorRegistry>();
  for (auto* add_family :
       {register_prim_pointwise, register_prim_structure, register_prim_reduce, register_prim_heavy, register_unary,
        register_arithmetic, register_power, register_compare, register_logic, register_select, register_clamp,
        register_activation, register_convert, register_create, register_view, register_slice, register_index,
        register_join, register_rearrange, register_reduce, register_moments, register_softmax, register_norm,
        register_matmul, register_attention, register_dropout, register_effect}) {
    add_family(*registry);
  }
  return registry;
}

}  // namespace

std::shared_ptr<const graph::OperatorRegistry> registry() {
  static const std::shared_ptr<const graph::OperatorRegistry> instance = build();
  return instance;
}

}  // namespace tenon::ops
