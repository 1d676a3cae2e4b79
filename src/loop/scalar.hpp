// Scalar expressions of loop bodies: an interned, immutable DAG. Equal expressions have equal ids, so common
// subexpressions are shared without a pass. Operations and their meaning: artifact/scalar_ops.inc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "artifact/kernel_program.hpp"
#include "symbolic/expr.hpp"
#include "symbolic/facts.hpp"

namespace tenon::loop {

using artifact::ScalarOp;
using symbolic::Expr;
using symbolic::SymbolId;
using BufferId = uint32_t;

struct ScalarId {
  uint32_t id = UINT32_MAX;
  bool valid() const { return id != UINT32_MAX; }
  friend bool operator==(ScalarId, ScalarId) = default;
};

struct Scalar {
  ScalarOp op = ScalarOp::kConstant;
  DType dtype = DType::kF32;
  ScalarId a, b, c;
  int64_t bits = 0;      // kConstant: value bits; kCheckIndex, kWrapIndex, integer division: site
  Expr index;            // kIndex: an i64 expression over axes, sizes and dynamic symbols; kLoad, kMaskedLoad: element offset
  BufferId buffer = 0;   // kLoad, kMaskedLoad
  friend bool operator==(const Scalar&, const Scalar&) = default;
};

// Interns scalars and the dynamic symbols: an index symbol whose value is an i64 scalar (a gathered row number).
// Folds operations over constants where the folded value equals what the executors would compute.
class Scalars {
 public:
  Scalars(symbolic::Pool& pool, symbolic::Facts& facts);
  ~Scalars();
  Scalars(const Scalars&) = delete;
  Scalars& operator=(const Scalars&) = delete;

  symbolic::Pool& pool() const { return pool_; }
  symbolic::Facts& facts() const { return facts_; }
  const Scalar& operator[](ScalarId id) const { return scalars_[id.id]; }
  size_t size() const { return scalars_.size(); }

  ScalarId intern(const Scalar& scalar);
  ScalarId constant(double value, DType dtype);      // rounded to dtype; integers from an integral double
  ScalarId constant_int(int64_t value, DType dtype);
  ScalarId index(Expr value);                        // i64
  ScalarId load(BufferId buffer, DType dtype, Expr offset);
  ScalarId masked_load(BufferId buffer, DType dtype, Expr offset, ScalarId predicate, ScalarId otherwise);
  ScalarId accumulator(DType dtype);
  ScalarId unary(ScalarOp op, ScalarId a);
  ScalarId binary(ScalarOp op, ScalarId a, ScalarId b);
  ScalarId select(ScalarId predicate, ScalarId a, ScalarId b);
  ScalarId fma(ScalarId a, ScalarId b, ScalarId c);
  ScalarId convert(ScalarId a, DType dtype);
  // An i64 scalar as part of index expressions. The same scalar gives the same symbol.
  Expr as_index(ScalarId value);
  std::optional<ScalarId> definition(SymbolId symbol) const;  // of a dynamic symbol

  // Rebuilds `root` with axes replaced in every index expression (also inside dynamic symbols).
  ScalarId substitute(ScalarId root, std::span<const SymbolId> symbols, std::span<const Expr> replacements);
  // Rebuilds `root` with every load of `buffer` replaced by `value`.
  ScalarId replace_loads(ScalarId root, BufferId buffer, ScalarId value);

  // Each scalar below root once, operands first; dynamic symbols' definitions included.
  std::vector<ScalarId> postorder(std::span<const ScalarId> roots) const;
  // Number of operations that cost something (no constants, indices), a rough measure for inlining.
  int cost(ScalarId root) const;

 private:
  std::optional<Expr> index_value(ScalarId id) const;
  std::optional<ScalarId> fold(ScalarOp op, ScalarId a, ScalarId b);
  ScalarId rebuild(ScalarId root, std::span<const SymbolId> symbols, std::span<const Expr> replacements, const BufferId* buffer,
                   ScalarId value, std::unordered_map<uint32_t, ScalarId>& memo);
  Expr rebuild_index(Expr e, std::span<const SymbolId> symbols, std::span<const Expr> replacements, const BufferId* buffer,
                     ScalarId value, std::unordered_map<uint32_t, ScalarId>& memo);

  struct Tables;  // hash tables, kept out of this header

  symbolic::Pool& pool_;
  symbolic::Facts& facts_;
  std::vector<Scalar> scalars_;
  std::unique_ptr<Tables> tables_;
};

}  // namespace tenon::loop
