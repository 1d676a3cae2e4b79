// Turns expressions into a size program, each distinct subexpression once.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "artifact/size_program.hpp"
#include "symbolic/expr.hpp"
#include "symbolic/facts.hpp"

namespace tenon::symbolic {

class SizeEmitter {
 public:
  explicit SizeEmitter(const Pool& pool) : pool_(pool) {}

  // Where a symbol comes from; must be called before an expression that holds the symbol is emitted.
  void bind(SymbolId symbol, artifact::SizeOp source);
  // An operation of its own, deduplicated.
  artifact::SizeRegister operation(const artifact::SizeOp& op);
  artifact::SizeRegister constant(int64_t value);
  // The register that holds e. Errors: INTERNAL when a symbol is not bound.
  Result<artifact::SizeRegister> emit(Expr e);
  Result<artifact::SizeGuard> emit(const Facts& facts, const Guard& guard);

  // Ends the emitter: gives the program away and forgets what was emitted (registers given out index the program taken).
  std::vector<artifact::SizeOp> take() {
    bound_.clear();
    emitted_.clear();
    operations_.clear();
    return std::exchange(ops_, {});
  }
  const std::vector<artifact::SizeOp>& ops() const { return ops_; }

 private:
  struct OpHash {
    size_t operator()(const artifact::SizeOp& op) const;
  };
  struct OpEqual {
    bool operator()(const artifact::SizeOp& x, const artifact::SizeOp& y) const;
  };

  const Pool& pool_;
  std::vector<artifact::SizeOp> ops_;
  std::unordered_map<SymbolId, artifact::SizeRegister> bound_;
  std::unordered_map<uint32_t, artifact::SizeRegister> emitted_;
  std::unordered_map<artifact::SizeOp, artifact::SizeRegister, OpHash, OpEqual> operations_;
};

}  // namespace tenon::symbolic
