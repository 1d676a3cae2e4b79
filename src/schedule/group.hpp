// Fuses nests into groups: the stages of one kernel, which run one after another for each point of shared outer axes.
// A nest joins the latest group that makes something it reads, when the point it needs is the point at hand; so softmax and
// layer_norm become one kernel, with their pointwise producers and consumers.
#pragma once

#include "schedule/plan.hpp"

namespace tenon::schedule {

// Groups in execution order; every statement is in one.
std::vector<Group> group_statements(Module& module);

// A reduction whose last mapped axis is the contiguous one: it is done for a run of results at once ("column" stage).
bool is_column_reduction(const Module& module, const loop::Nest& nest);
// How many mapped axes are outer when the nest fixes them (it reduces).
size_t outer_count(const Module& module, const loop::Nest& nest);

}  // namespace tenon::schedule
