// Finds attention that was written as matrix products and a softmax, and makes it one primitive.
//
//   %0 = prim.permute(%k, [0, 1, 3, 2])
//   %1 = prim.matmul(%q, %0)
//   %2 = prim.mul(%1, 0.125)                  ->   %5 = prim.attention(%q, %k, %v, %mask, 0.125, false, false)
//   %3 = prim.add(%2, %mask)
//   %4 = prim.softmax(%3, 3)
//   %5 = prim.matmul(%4, %v)
//
// Forms: the scale as a factor or divisor of scores, q or k (several multiply); no mask, an added one that broadcasts to
// the scores, or where(mask, scores, -inf); 4 dims [batch, heads, rows, depth], or 3 without heads. The right operand of
// the first product is read as k transposed, whatever view made it.
// A row that is masked altogether: plain softmax gives NaN (`safe` false). Where the program replaces such rows by 0
// (scores == -inf everywhere, as the decomposition of scaled_dot_product_attention does), `safe` is true.
// A mask by a finite number, where(mask, scores, -3.4e38), is not matched: such a row gives the mean of the values.
// Conditions: f32, constant depths of at most kMaxAttentionDepth, no other reader of scores or probabilities. The order
// of roundings is the primitive's; scores that overflow where the program's did not may differ.
//
// Requires: canonicalize_views and simplify_algebra have run, so that views are single and numbers are literals.
// Leaves unread nodes behind. Stands after the clean-ups and before a second round of them.
#pragma once

#include "graph/graph.hpp"

namespace tenon::passes {

inline constexpr int64_t kMaxAttentionDepth = 256;

Result<bool> match_attention(graph::Graph& graph);

}  // namespace tenon::passes
