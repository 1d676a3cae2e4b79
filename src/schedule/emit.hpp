// Turns groups into kernel programs: axes numbered, loops merged, addresses split into affine and computed parts, buffers
// that live inside one kernel made local.
#pragma once

#include "schedule/plan.hpp"

namespace tenon::schedule {

// `outside[b]`: buffer b is read by another group or leaves the program, so it needs memory.
Result<Launch> emit_nests(Module& module, const Group& group, const std::vector<bool>& outside);
Result<Launch> emit_template(Module& module, const Group& group);

// The whole schedule: epilogues, dead statements, groups, one launch for each group, in order.
Result<std::vector<Launch>> schedule(Module& module);

}  // namespace tenon::schedule
