// Decides "p >= 0" for polynomials over atoms with known bounds. Sound, incomplete, bounded in time.
//
// In order: intervals; shifting each atom to its lower bound, so that a sum of products of nonnegative things is seen;
// k*floordiv(x, k) lies in [x - k + 1, x]; min and max are one of their operands; what is linear in a bounded atom is
// least at one of its ends (the upper end of a loop variable is symbolic: extent - 1); differences from facts learnt.
#pragma once

#include <optional>

#include "symbolic/facts.hpp"
#include "symbolic/inline_vector.hpp"

namespace tenon::symbolic {

class Prover {
 public:
  explicit Prover(const Facts& facts) : facts_(facts), pool_(facts.pool()) {}

  bool nonnegative(Expr p);  // remembered in the facts' cache
  bool positive(Expr p) { return nonnegative(pool_.sub(p, pool_.constant(1))); }
  // 0 <= x < k
  bool within(Expr x, Expr k);

 private:
  using AtomList = InlineVector<Expr, 8>;
  struct Split {
    Expr coefficient, rest;  // p == coefficient * atom + rest
  };

  bool search(Expr p, int depth);
  Expr divided_by_content(Expr p);
  bool may_be_nonnegative_when_shifted(Expr p);
  bool nonnegative_when_shifted(Expr p);
  bool through_floor_div(Expr p, Expr atom, int depth);
  bool through_extremum(Expr p, Expr atom, int depth);
  // What the atom is at most; nullopt when that is not known.
  std::optional<Expr> upper_bound(Expr atom);
  bool through_known(Expr p, int depth);
  std::optional<Split> split(Expr p, Expr atom);
  void collect_atoms(Expr p, AtomList& atoms);
  int sign(Expr p, int depth);  // 1: >= 0, -1: <= 0, 0: not known
  Expr at(const Split& split, Expr value) { return pool_.add(pool_.mul(split.coefficient, value), split.rest); }

  const Facts& facts_;
  Pool& pool_;
  int budget_ = 0;
  InlineVector<Expr, 8> running_;  // upper bounds of loop variables met: >= 0, since their loops run
};

}  // namespace tenon::symbolic
