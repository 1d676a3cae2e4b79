#include "graph/regions.hpp"

namespace tenon::graph {

std::span<const std::string_view> region_words(const Operator& op) {
  static constexpr std::string_view kCond[] = {"then", "else"};
  static constexpr std::string_view kWhileLoop[] = {"cond", "body"};
  static constexpr std::string_view kScan[] = {"body"};
  if (op.schema.name == "higher_order.cond") return kCond;
  if (op.schema.name == "higher_order.while_loop") return kWhileLoop;
  if (op.schema.name == "higher_order.scan") return kScan;
  return {};
}

}  // namespace tenon::graph
