// Runs an artifact of fused loops on the vm, on this thread, without inputs: the compiler folds constants with it, so that a
// folded value has the bits that the program would have computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/blob.hpp"
#include "support/status.hpp"
#include "target/target_info.hpp"

namespace tenon::runtime {

// outputs[i]: the row-major bytes of output i. Errors: UNIMPLEMENTED (inputs, states or templates), what the program itself
// reports (an index out of range), DATA_LOSS (malformed).
Status run_once(std::span<const uint8_t> artifact, std::span<const Blob> sources, const target::TargetInfo& target,
                std::vector<std::vector<uint8_t>>* outputs);

}  // namespace tenon::runtime
