// Copies of whole tensors, for places where a call's memory is not the program's: states that are set, views copied
// out.
#pragma once

#include "tenon.h"

namespace tenon::runtime {

// Elements in row-major order to `to`. dims and strides are set; memory does not overlap (or is the same, row-major).
void copy_to_row_major(const tenon_tensor_t& from, void* to);

}  // namespace tenon::runtime
