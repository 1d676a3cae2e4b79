// The inside of a Pool: nodes, the intern table, and polynomials as term lists. Only src/symbolic/expr*.cpp see it.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbolic/expr.hpp"
#include "symbolic/inline_vector.hpp"

namespace tenon::symbolic {

// coefficient * monomial. The monomial is the constant 1, an atom, or a kMul of atoms without a coefficient.
struct Term {
  int64_t coefficient;
  Expr monomial;
};
using Terms = InlineVector<Term, 12>;
using Atoms = InlineVector<Expr, 12>;

struct Node {
  uint64_t hash = 0;
  uint64_t symbol_mask = 0;         // bit (symbol mod 64) for each symbol inside: a quick "does not depend"
  int64_t value = 1;                // of a constant; the number of a symbol; the coefficient of a kMul; else 1
  const Expr* operands = nullptr;   // in the operand arena, stable
  uint32_t count = 0;
  uint32_t monomial = 0;            // id of this node without its coefficient
  Kind kind = Kind::kConstant;
  bool opaque = false;              // a kMul left unexpanded (its expansion would overflow or be huge): an atom
};

struct Pool::Rep {
  struct Symbol {
    std::string name;
    SymbolKind kind;
    Expr expr;
  };

  Rep();

  Expr intern(Kind kind, int64_t value, std::span<const Expr> operands, bool opaque = false);
  Expr constant(int64_t value);
  const Node& node(Expr e) const { return nodes[e.id]; }
  std::span<const Expr> operands(Expr e) const { return {nodes[e.id].operands, nodes[e.id].count}; }
  bool is_constant(Expr e) const { return nodes[e.id].kind == Kind::kConstant; }

  Term term(Expr e) const;  // of anything but a kAdd
  void append_terms(Expr e, Terms& out) const;
  // The atoms of a monomial; may refer to `monomial` itself, which must outlive the result.
  std::span<const Expr> atoms(const Expr& monomial) const;
  Expr monomial_of(std::span<const Expr> sorted_atoms);
  Expr multiply_monomials(Expr a, Expr b);
  Expr scaled(Term term);
  // One order for terms and factors: symbols by number, then floor_div, mod, min, max by structure.
  int compare(Expr a, Expr b) const;
  int compare_monomials(Expr a, Expr b) const;
  void sort_and_merge(Terms& terms) const;
  Expr sum(Terms& terms);                 // any order, merges
  Expr sum_sorted(const Terms& terms);    // sorted and merged already
  // quotient * divisor == dividend, as monomials and coefficients.
  bool divide(Term dividend, Term divisor, Term* quotient);
  Term leading(Expr polynomial) const;  // of the highest degree
  // The largest term that divides all terms of both; {1, 1} when there is none.
  Term common_factor(const Terms& a, const Terms& b);

  // Marks for one walk over the DAG.
  void begin_walk();
  bool visited(Expr e) const { return stamps[e.id] == stamp; }
  void visit(Expr e) { stamps[e.id] = stamp; }

  std::vector<Node> nodes;
  std::vector<uint32_t> table;  // open addressing, id + 1, 0 is empty
  std::vector<std::unique_ptr<Expr[]>> chunks;
  size_t chunk_used = 0, chunk_size = 0;
  std::deque<Symbol> symbols;  // names are lent, so they must not move
  std::unordered_map<std::string, SymbolId> names;
  std::unordered_map<std::string, uint64_t> next_number;
  Expr zero, one, minus_one;

  std::vector<uint32_t> stamps;
  std::vector<Expr> walk_results;
  std::vector<int64_t> walk_values;
  uint32_t stamp = 0;
};

}  // namespace tenon::symbolic
