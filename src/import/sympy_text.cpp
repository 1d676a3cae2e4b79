#include "import/sympy_text.hpp"

#include <optional>
#include <string>
#include <utility>

#include "support/format.hpp"

namespace tenon::import {
namespace {

using symbolic::Expr;
using symbolic::Predicate;
using symbolic::Relation;

constexpr int kDeepest = 200;
constexpr int64_t kLargestExponent = 16;
constexpr size_t kMostTerms = size_t(1) << 16;
constexpr size_t kLargestProduct = 1024;  // terms of a sum that multiplying out makes

// One call of the text: Name(argument, ...), a number, or quoted text.
struct Term {
  std::string_view name;    // of the function; "" for a literal
  std::string_view literal;
  std::vector<Term> arguments;
};

class TermParser {
 public:
  explicit TermParser(std::string_view text) : text_(text) {}

  Result<Term> parse_all() {
    TENON_ASSIGN_OR_RETURN(Term term, parse_term(0));
    skip_blanks();
    if (at_ != text_.size()) return malformed("the end");
    return term;
  }

 private:
  Status malformed(std::string_view expected) const {
    return invalid_argument(concat("size expression \"", text_, "\": expected ", expected, " at byte ", at_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }

  Result<Term> parse_term(int depth) {
    if (depth > kDeepest) return invalid_argument(concat("a size expression is nested deeper than ", kDeepest));
    if (++terms_ > kMostTerms) return invalid_argument(concat("a size expression has more than ", kMostTerms, " parts"));
    skip_blanks();
    Term term;
    if (take('\'')) {
      const size_t start = at_;
      while (at_ < text_.size() && text_[at_] != '\'') ++at_;
      term.literal = text_.substr(start, at_ - start);
      if (!take('\'')) return malformed("'");
      return term;
    }
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) return malformed("a name or number");
    if (!take('(')) {
      term.literal = word;
      return term;
    }
    term.name = word;
    if (take(')')) return term;
    do {
      if (skip_assumption()) continue;
      TENON_ASSIGN_OR_RETURN(Term argument, parse_term(depth + 1));
      term.arguments.push_back(std::move(argument));
    } while (take(','));
    if (!take(')')) return malformed("')'");
    return term;
  }

  // "positive=True" among the arguments.
  bool skip_assumption() {
    skip_blanks();
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    if (end == at_ || end >= text_.size() || text_[end] != '=') return false;
    ++end;
    while (end < text_.size() && is_word(text_[end])) ++end;
    at_ = end;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t terms_ = 0;
};

class Builder {
 public:
  Builder(std::string_view text, symbolic::Facts& facts, const ResolveSymbol& resolve)
      : text_(text), facts_(facts), pool_(facts.pool()), resolve_(resolve) {}

  Result<Expr> integer(const Term& term) {
    const auto& arguments = term.arguments;
    if (term.name.empty()) return wrong(term, "a function");
    if (term.name == "Symbol") {
      if (arguments.size() != 1 || arguments[0].literal.empty()) return wrong(term, "a symbol's name");
      return resolve_(arguments[0].literal);
    }
    if (term.name == "Integer") {
      const auto value = arguments.size() == 1 ? parse_int64(arguments[0].literal) : std::nullopt;
      if (!value) return wrong(term, "an integer of 64 bits");
      return pool_.constant(*value);
    }
    if (term.name == "One") return pool_.constant(1);
    if (term.name == "Zero") return pool_.constant(0);
    if (term.name == "NegativeOne") return pool_.constant(-1);
    if (term.name == "Pow" || term.name == "PowByNatural") return power(term);
    if (term.name == "FloorToInt" || term.name == "CeilToInt" || term.name == "floor" || term.name == "ceiling") {
      return rounded_quotient(term);
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Expr> operands, integers(arguments));
    if (term.name == "Add" || term.name == "Mul" || term.name == "Max" || term.name == "Min") {
      if (operands.empty()) return wrong(term, "operands");
      Expr result = operands[0];
      for (size_t i = 1; i < operands.size(); ++i) {
        if (term.name == "Add") result = pool_.add(result, operands[i]);
        if (term.name == "Mul") {
          if (!small_product(result, operands[i])) return wrong(term, "a smaller product");
          result = pool_.mul(result, operands[i]);
        }
        if (term.name == "Max") result = pool_.max(result, operands[i]);
        if (term.name == "Min") result = pool_.min(result, operands[i]);
      }
      return result;
    }
    if (operands.size() == 2) {
      const bool divides = term.name == "FloorDiv" || term.name == "CleanDiv" || term.name == "CeilDiv" ||
                           term.name == "Mod" || term.name == "PythonMod";
      if (divides && pool_.is_constant(operands[1], 0)) return wrong(term, "a divisor other than 0");
      if (term.name == "FloorDiv" || term.name == "CleanDiv") return pool_.floor_div(operands[0], operands[1]);
      if (term.name == "CeilDiv") return pool_.ceil_div(operands[0], operands[1]);
      if (term.name == "Mod" || term.name == "PythonMod") return pool_.mod(operands[0], operands[1]);
    }
    if (term.name == "ModularIndexing" && operands.size() == 3) {
      if (pool_.is_constant(operands[1], 0) || pool_.is_constant(operands[2], 0)) {
        return wrong(term, "divisors other than 0");
      }
      return pool_.mod(pool_.floor_div(operands[0], operands[1]), operands[2]);
    }
    if (term.name == "Abs" && operands.size() == 1 && facts_.range(operands[0]).min >= 0) return operands[0];
    return unknown(term);
  }

  Result<std::vector<Predicate>> condition(const Term& term, bool negated) {
    const auto& arguments = term.arguments;
    if (term.name.empty() && (term.literal == "true" || term.literal == "false")) {
      if ((term.literal == "true") != negated) return std::vector<Predicate>{};
      return std::vector<Predicate>{{Relation::kEq, pool_.constant(0), pool_.constant(1)}};
    }
    if (term.name == "Not" && arguments.size() == 1) return condition(arguments[0], !negated);
    if ((term.name == "And" && !negated) || (term.name == "Or" && negated)) {
      std::vector<Predicate> all;
      for (const Term& argument : arguments) {
        TENON_ASSIGN_OR_RETURN(std::vector<Predicate> part, condition(argument, negated));
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    }
    struct Comparison {
      std::string_view name;
      Relation relation;
      bool swapped;
    };
    static constexpr Comparison kComparisons[] = {
        {"Equality", Relation::kEq, false},    {"Eq", Relation::kEq, false},
        {"Unequality", Relation::kNe, false},  {"Ne", Relation::kNe, false},
        {"GreaterThan", Relation::kLe, true},  {"StrictGreaterThan", Relation::kLt, true},
        {"LessThan", Relation::kLe, false},    {"StrictLessThan", Relation::kLt, false},
    };
    for (const Comparison& comparison : kComparisons) {
      if (term.name != comparison.name) continue;
      if (arguments.size() != 2) return wrong(term, "two operands");
      TENON_ASSIGN_OR_RETURN(Expr a, integer(arguments[0]));
      TENON_ASSIGN_OR_RETURN(Expr b, integer(arguments[1]));
      if (comparison.swapped) std::swap(a, b);
      const Predicate predicate{comparison.relation, a, b};
      return std::vector<Predicate>{negated ? negate(predicate) : predicate};
    }
    return unknown(term);
  }

 private:
  static Predicate negate(const Predicate& predicate) {
    switch (predicate.relation) {
      case Relation::kEq: return {Relation::kNe, predicate.a, predicate.b};
      case Relation::kNe: return {Relation::kEq, predicate.a, predicate.b};
      case Relation::kLt: return {Relation::kLe, predicate.b, predicate.a};
      case Relation::kLe: return {Relation::kLt, predicate.b, predicate.a};
    }
    return predicate;
  }

  Status wrong(const Term& term, std::string_view expected) const {
    return invalid_argument(concat("size expression \"", text_, "\": expected ", expected, " in '",
                                   term.name.empty() ? term.literal : term.name, "'"));
  }
  Status unknown(const Term& term) const {
    const std::string_view name = term.name.empty() ? term.literal : term.name;
    Status status = unimplemented(concat("size expression \"", text_, "\": the function ", name, " of ",
                                         term.arguments.size(), " operands is not supported"));
    status.with("found", name);
    return status;
  }

  Result<std::vector<Expr>> integers(const std::vector<Term>& terms) {
    std::vector<Expr> all;
    for (const Term& term : terms) {
      TENON_ASSIGN_OR_RETURN(const Expr value, integer(term));
      all.push_back(value);
    }
    return all;
  }

  size_t addends(Expr e) const { return pool_.kind(e) == symbolic::Kind::kAdd ? pool_.operands(e).size() : 1; }
  bool small_product(Expr a, Expr b) const { return addends(a) * addends(b) <= kLargestProduct; }

  Result<Expr> power(const Term& term) {
    if (term.arguments.size() != 2) return wrong(term, "two operands");
    TENON_ASSIGN_OR_RETURN(const Expr base, integer(term.arguments[0]));
    TENON_ASSIGN_OR_RETURN(const Expr exponent, integer(term.arguments[1]));
    const auto count = pool_.as_constant(exponent);
    if (!count || *count < 0 || *count > kLargestExponent) {
      return wrong(term, concat("a constant exponent from 0 to ", kLargestExponent));
    }
    Expr result = pool_.constant(1);
    for (int64_t i = 0; i < *count; ++i) {
      if (!small_product(result, base)) return wrong(term, "a smaller power");
      result = pool_.mul(result, base);
    }
    return result;
  }

  // FloorToInt(IntTrueDiv(a, b)) and its like, where no float survives.
  Result<Expr> rounded_quotient(const Term& term) {
    if (term.arguments.size() != 1) return wrong(term, "one operand");
    const Term& inner = term.arguments[0];
    if (inner.name == "ToFloat" && inner.arguments.size() == 1) return integer(inner.arguments[0]);
    if (inner.name != "IntTrueDiv" || inner.arguments.size() != 2) return unknown(inner);
    TENON_ASSIGN_OR_RETURN(const Expr a, integer(inner.arguments[0]));
    TENON_ASSIGN_OR_RETURN(const Expr b, integer(inner.arguments[1]));
    if (pool_.is_constant(b, 0)) return wrong(inner, "a divisor other than 0");
    const bool down = term.name == "FloorToInt" || term.name == "floor";
    return down ? pool_.floor_div(a, b) : pool_.ceil_div(a, b);
  }

  std::string_view text_;
  symbolic::Facts& facts_;
  symbolic::Pool& pool_;
  const ResolveSymbol& resolve_;
};

}  // namespace

Result<Expr> parse_sympy_integer(std::string_view text, symbolic::Facts& facts, const ResolveSymbol& resolve) {
  TENON_ASSIGN_OR_RETURN(const Term term, TermParser(text).parse_all());
  return Builder(text, facts, resolve).integer(term);
}

Result<std::vector<Predicate>> parse_sympy_condition(std::string_view text, symbolic::Facts& facts,
                                                     const ResolveSymbol& resolve) {
  TENON_ASSIGN_OR_RETURN(const Term term, TermParser(text).parse_all());
  return Builder(text, facts, resolve).condition(term, false);
}

}  // namespace tenon::import
