// The value of one schema argument of a node.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/type.hpp"

namespace tenon::graph {

using ValueId = uint32_t;
using NodeId = uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;  // an absent Tensor? in a list

enum class MemoryFormat : uint8_t { kContiguous, kChannelsLast, kChannelsLast3d, kPreserve };
enum class Layout : uint8_t { kStrided };

struct ValueRef {
  ValueId id = kNoValue;
  friend bool operator==(ValueRef, ValueRef) = default;
};

// Integers are expressions, so that a size may stand wherever an int may. A Tensor slot may hold a number (bool, Expr
// or double): a wrapped scalar, which takes part in promotion weakly. A scalar slot may hold an SSA scalar (ValueRef).
// vector<ValueId> is Tensor[] or Tensor?[].
using Argument = std::variant<std::monostate,          // None
                              bool, Expr, double, std::string, DType, Device, MemoryFormat, Layout, ValueRef,
                              std::vector<ValueId>, std::vector<Expr>, std::vector<double>, std::vector<bool>>;

inline bool is_none(const Argument& a) { return std::holds_alternative<std::monostate>(a); }

// Equality by bits: nan equals nan, -0.0 differs from 0.0.
bool same_argument(const Argument& a, const Argument& b);
// Values that it refers to, in order, absent ones left out.
void append_uses(const Argument& argument, std::vector<ValueId>& uses);

}  // namespace tenon::graph
