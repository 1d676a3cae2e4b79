#include "graph/argument.hpp"

#include <bit>

namespace tenon::graph {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

}  // namespace

bool same_argument(const Argument& a, const Argument& b) {
  if (a.index() != b.index()) return false;
  if (const double* value = std::get_if<double>(&a)) return same_bits(*value, std::get<double>(b));
  if (const auto* values = std::get_if<std::vector<double>>(&a)) {
    const auto& others = std::get<std::vector<double>>(b);
    if (values->size() != others.size()) return false;
    for (size_t index = 0; index < values->size(); ++index) {
      if (!same_bits((*values)[index], others[index])) return false;
    }
    return true;
  }
  return a == b;
}

void append_uses(const Argument& argument, std::vector<ValueId>& uses) {
  if (const auto* ref = std::get_if<ValueRef>(&argument)) uses.push_back(ref->id);
  if (const auto* list = std::get_if<std::vector<ValueId>>(&argument)) {
    for (ValueId value : *list) {
      if (value != kNoValue) uses.push_back(value);
    }
  }
}

}  // namespace tenon::graph
