#include "symbolic/expr_rep.hpp"

namespace tenon::symbolic {
namespace {

const char* function_name(Kind kind) {
  switch (kind) {
    case Kind::kFloorDiv: return "floordiv";
    case Kind::kMod: return "mod";
    case Kind::kMin: return "min";
    case Kind::kMax: return "max";
    case Kind::kConstant:
    case Kind::kSymbol:
    case Kind::kAdd:
    case Kind::kMul:
      break;
  }
  return "";
}

struct Printer {
  const Pool& pool;
  std::string out;

  void sum(Expr e) {
    if (pool.kind(e) != Kind::kAdd) return term(e, pool.coefficient(e));
    bool first = true;
    for (Expr operand : pool.operands(e)) {
      int64_t coefficient = pool.coefficient(operand);
      if (!first && coefficient < 0 && coefficient != INT64_MIN) {
        out += " - ";
        coefficient = -coefficient;
      } else if (!first) {
        out += " + ";
      }
      term(operand, coefficient);
      first = false;
    }
  }

  void term(Expr e, int64_t coefficient) {
    std::span<const Expr> factors = pool.factors(e);
    if (factors.empty()) {
      out += std::to_string(coefficient);
      return;
    }
    if (coefficient == -1) {
      out += "-";
    } else if (coefficient != 1) {
      out += std::to_string(coefficient);
      out += "*";
    }
    for (size_t i = 0; i < factors.size(); ++i) {
      if (i > 0) out += "*";
      atom(factors[i]);
    }
  }

  void atom(Expr e) {
    Kind kind = pool.kind(e);
    if (kind == Kind::kSymbol) {
      out += pool.symbol_name(pool.symbol_of(e));
      return;
    }
    std::span<const Expr> operands = pool.operands(e);
    if (kind == Kind::kMul) {  // an unexpanded product: the outer parentheses keep its two operands together
      out += "((";
      sum(operands[0]);
      out += ")*(";
      sum(operands[1]);
      out += "))";
      return;
    }
    out += function_name(kind);
    out += "(";
    sum(operands[0]);
    out += ", ";
    sum(operands[1]);
    out += ")";
  }
};

}  // namespace

std::string Pool::print(Expr e) const {
  Printer printer{*this, {}};
  printer.sum(e);
  return std::move(printer.out);
}

}  // namespace tenon::symbolic
