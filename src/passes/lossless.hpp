// Which conversions keep every value.
#pragma once

#include "support/dtype.hpp"

namespace tenon::passes {

// Every value of `from` is one of `to` (bool as 0 and 1).
bool is_lossless(DType from, DType to);
// convert(convert(x: from, through), to) gives the bits of convert(x, to) for every x.
bool may_skip(DType from, DType through, DType to);

}  // namespace tenon::passes
