// The loop IR of one program: buffers and statements in order. A nest computes every element of its output buffers
// from loads; a template is a matrix product or attention with hooks. Data flow is by buffers only: a statement may read what
// earlier statements wrote. Each buffer is written by one statement.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/scalar.hpp"

namespace tenon::loop {

using artifact::Combiner;

enum class BufferRole : uint8_t { kInput, kConstant, kState, kTemporary };

// Elements lie row-major over `dims` unless `strides` says otherwise (inputs, constants).
struct BufferInfo {
  std::string name;
  BufferRole role = BufferRole::kTemporary;
  uint32_t index = 0;          // of the graph's input, constant or state
  DType dtype = DType::kF32;
  std::vector<Expr> dims;
  std::vector<Expr> strides;   // one for each dim
};

struct Axis {
  SymbolId symbol = 0;
  Expr extent;
};

// for each point of `mapped`: combine `value` over `reduced` (or take it, when there is none) and store it into `output`
// at the row-major position. `combiner` has a meaning only with reduced axes.
struct Nest {
  std::vector<Axis> mapped, reduced;
  std::optional<Combiner> combiner;
  ScalarId value;
  BufferId output = 0;
  std::string origin;          // operators it computes, for messages
};

// A strided read of a buffer: offset + sum(stride * axis).
struct Operand {
  BufferId buffer = 0;
  Expr offset;
  std::vector<Expr> strides;   // matmul A: outer, inner, m, k; B: outer, inner, k, n. attention: b, h, s, d
};

struct MatMul {
  Expr batch_outer, batch_inner;  // batch = outer * inner; one batch dim: inner is 1
  Expr m, n, k;
  Operand a, b;
  bool constant_b = false;     // b is a constant that may be packed at load
  // epilogue over axes (batch, m, n): each value is stored into its buffer at `offset`; kAccumulator is the sum.
  SymbolId axis_batch, axis_m, axis_n;
};

struct Attention {
  Expr batch, heads, kv_heads, queries, keys, depth, value_depth;
  Operand q, k, v;
  double scale = 1;
  bool causal = false, safe = true;
  SymbolId axis_b, axis_h, axis_q, axis_k, axis_d;
  ScalarId score;              // over (b, h, q, k); kAccumulator is the scaled score; invalid: as it is
};

struct StoreTo {
  BufferId buffer = 0;
  Expr offset;
  ScalarId value;
};

struct Template {
  std::optional<MatMul> matmul;
  std::optional<Attention> attention;
  std::vector<StoreTo> stores;  // epilogue over the template's output axes
  std::string origin;
};

struct Statement {
  std::optional<Nest> nest;
  std::optional<Template> tmpl;
};

struct Module {
  explicit Module(symbolic::Pool& pool, symbolic::Facts& facts) : scalars(pool, facts) {}
  Scalars scalars;
  std::vector<BufferInfo> buffers;
  std::vector<Statement> statements;
  std::vector<BufferId> outputs;                             // of the graph outputs that are tensors, in order; may repeat or name an input
  std::vector<std::pair<BufferId, BufferId>> write_backs;    // (target input or state, buffer)
  std::vector<std::pair<std::string, std::string>> sites;    // operator, what: of index checks and integer divisions
};

}  // namespace tenon::loop
