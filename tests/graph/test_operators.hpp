// A few operators with plain inference, so that graph tests rest on nothing above graph.
#pragma once

#include <memory>

#include "graph/graph.hpp"

namespace tenon::graph {

std::shared_ptr<const OperatorRegistry> test_registry();

}  // namespace tenon::graph
