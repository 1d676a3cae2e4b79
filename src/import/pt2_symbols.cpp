#include "import/pt2_symbols.hpp"

#include <algorithm>
#include <numeric>

#include "import/pt2_schema.hpp"
#include "support/format.hpp"

namespace tenon::import {
namespace {

using symbolic::Expr;
using symbolic::Predicate;
using symbolic::Range;
using symbolic::Relation;
using symbolic::Truth;

bool is_name(std::string_view text) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), is_word);
}

// PyTorch writes no bound as null, and some as sys.maxsize - 1.
Result<Range> read_range(JsonView value) {
  Range range;
  if (const auto min = value.find("min_val")) {
    TENON_ASSIGN_OR_RETURN(range.min, min->integer());
  }
  if (const auto max = value.find("max_val")) {
    TENON_ASSIGN_OR_RETURN(range.max, max->integer());
  }
  if (range.max >= symbolic::kUnbounded - 1) range.max = symbolic::kUnbounded;
  if (range.min <= -(symbolic::kUnbounded - 1)) range.min = -symbolic::kUnbounded;
  if (range.min > range.max) {
    return value.error("a range that is not empty", concat("[", range.min, ", ", range.max, "]"));
  }
  return range;
}

// "L['pair'][0].size()[1]" at text[at]: gives input "pair_0", dim 1 and the end; nothing when it is something else.
struct SizeOfInput {
  std::string input;
  size_t dim = 0;
  size_t end = 0;
};
std::optional<SizeOfInput> parse_size_of_input(std::string_view text, size_t at) {
  SizeOfInput result;
  ++at;  // L
  while (at < text.size() && text[at] == '[') {
    const size_t close = text.find(']', at);
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view part = text.substr(at + 1, close - at - 1);
    if (part.size() >= 2 && (part.front() == '\'' || part.front() == '"') && part.back() == part.front()) {
      part = part.substr(1, part.size() - 2);
    }
    if (!result.input.empty()) result.input += '_';
    result.input += part;
    at = close + 1;
  }
  constexpr std::string_view kSize = ".size()[";
  if (text.substr(at, kSize.size()) != kSize) return std::nullopt;
  at += kSize.size();
  const size_t close = text.find(']', at);
  if (close == std::string_view::npos) return std::nullopt;
  const auto dim = parse_uint64(text.substr(at, close - at));
  if (!dim) return std::nullopt;
  result.dim = *dim;
  result.end = close + 1;
  return result;
}

class Guards {
 public:
  Guards(symbolic::Facts& facts, const std::map<std::string, std::vector<Expr>>& dims) : facts_(facts), dims_(dims) {}

  // The predicate of "a == b" and its like; nothing when some part of the text is beyond this.
  std::optional<Predicate> parse(std::string_view text) const {
    struct Operator {
      std::string_view text;
      Relation relation;
      bool swapped;
    };
    static constexpr Operator kOperators[] = {
        {"==", Relation::kEq, false}, {"!=", Relation::kNe, false}, {"<=", Relation::kLe, false},
        {">=", Relation::kLe, true},  {"<", Relation::kLt, false},  {">", Relation::kLt, true},
    };
    for (const Operator& candidate : kOperators) {
      const size_t at = text.find(candidate.text);
      if (at == std::string_view::npos) continue;
      std::optional<Expr> a = expression(text.substr(0, at));
      std::optional<Expr> b = expression(text.substr(at + candidate.text.size()));
      if (!a || !b) return std::nullopt;
      if (candidate.swapped) std::swap(a, b);
      return Predicate{candidate.relation, *a, *b};
    }
    return std::nullopt;
  }

 private:
  std::optional<Expr> expression(std::string_view text) const {
    std::string plain;
    for (size_t at = 0; at < text.size();) {
      const bool starts_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '(' || text[at - 1] == '*' ||
                               text[at - 1] == '+' || text[at - 1] == '-' || text[at - 1] == '/';
      if (text[at] == 'L' && starts_word && at + 1 < text.size() && text[at + 1] == '[') {
        const auto size = parse_size_of_input(text, at);
        if (!size) return std::nullopt;
        const auto found = dims_.find(size->input);
        if (found == dims_.end() || size->dim >= found->second.size()) return std::nullopt;
        append(plain, '(');
        append(plain, facts_.pool().print(found->second[size->dim]));
        append(plain, ')');
        at = size->end;
      } else {
        plain.push_back(text[at++]);
      }
    }
    Result<Expr> parsed = facts_.pool().parse(plain);
    if (!parsed.ok()) return std::nullopt;
    return *parsed;
  }

  symbolic::Facts& facts_;
  const std::map<std::string, std::vector<Expr>>& dims_;
};

// Puts a predicate over one symbol and numbers into its terms.
bool absorb(symbolic::Facts& facts, const Predicate& predicate, std::map<std::string, SymbolTerms>& bound) {
  symbolic::Pool& pool = facts.pool();
  const auto terms_of = [&](Expr e) -> SymbolTerms* {
    if (pool.kind(e) != symbolic::Kind::kSymbol) return nullptr;
    const auto found = bound.find(std::string(pool.symbol_name(pool.symbol_of(e))));
    return found == bound.end() ? nullptr : &found->second;
  };
  SymbolTerms* a = terms_of(predicate.a);
  SymbolTerms* b = terms_of(predicate.b);
  const auto a_number = pool.as_constant(predicate.a), b_number = pool.as_constant(predicate.b);
  const bool strict = predicate.relation == Relation::kLt;
  if (strict || predicate.relation == Relation::kLe) {
    if (a != nullptr && b_number) {
      a->max = std::min(a->max, *b_number - int64_t(strict && *b_number > INT64_MIN));
      return true;
    }
    if (b != nullptr && a_number) {
      b->min = std::max(b->min, *a_number + int64_t(strict && *a_number < INT64_MAX));
      return true;
    }
  }
  if (predicate.relation == Relation::kEq && b_number == 0 && pool.kind(predicate.a) == symbolic::Kind::kMod) {
    SymbolTerms* divided = terms_of(pool.operands(predicate.a)[0]);
    const auto divisor = pool.as_constant(pool.operands(predicate.a)[1]);
    if (divided != nullptr && divisor && *divisor > 0 && *divisor < (int64_t(1) << 31) &&
        divided->divisor < (int64_t(1) << 31)) {
      divided->divisor = std::lcm(divided->divisor, *divisor);
      return true;
    }
  }
  return false;
}

// Guards are Python text; a conjunction is several.
std::vector<std::string_view> conjuncts(std::string_view text) {
  std::vector<std::string_view> parts;
  constexpr std::string_view kAnd = " and ";
  for (size_t at = text.find(kAnd); at != std::string_view::npos; at = text.find(kAnd)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + kAnd.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

Result<SymbolTable> read_symbols(JsonView program, const std::vector<InputSizes>& inputs,
                                 std::vector<std::string>& notes) {
  SymbolTable table;
  for (const InputSizes& input : inputs) {
    TENON_ASSIGN_OR_RETURN(const auto sizes, input.sizes.elements());
    for (const JsonView& size : sizes) {
      for (const std::string& name : symbol_names(size)) table.bound.try_emplace(name);
    }
  }
  symbolic::Pool pool;  // guards are judged here, so that nothing of them stays in the graph's pool
  symbolic::Facts facts(pool);
  SizeReader reader(facts);
  for (const auto& [name, terms] : table.bound) reader.bind(name, pool.of(pool.symbol(name, symbolic::SymbolKind::kSize)));

  std::vector<std::pair<std::string_view, Range>> derived;
  if (const auto constraints = program.find("range_constraints")) {
    TENON_ASSIGN_OR_RETURN(const auto members, constraints->members());
    for (const auto& [key, value] : members) {
      TENON_ASSIGN_OR_RETURN(const Range range, read_range(value));
      const auto found = table.bound.find(std::string(key));
      if (found != table.bound.end()) {
        if (range.max < 0) return value.error("a range with sizes of at least 0", concat("up to ", range.max));
        found->second.min = std::max<int64_t>(range.min, 0);
        found->second.max = range.max;
      } else if (is_name(key)) {
        table.other.emplace(std::string(key), range);
      } else {
        derived.emplace_back(key, range);
      }
    }
  }
  for (const auto& [name, terms] : table.bound) facts.set_range(*pool.find_symbol(name), {terms.min, terms.max});

  // The range of an expression ("2*s77") follows from its symbols' ranges, or is said of nothing else.
  for (const auto& [key, range] : derived) {
    const Result<Expr> parsed = pool.parse(key);
    if (!parsed.ok()) {
      notes.push_back(concat("the range of the size ", key, " is not used: ", parsed.status().message()));
      continue;
    }
    const Range known = facts.range(*parsed);
    if (known.min < range.min || known.max > range.max) {
      notes.push_back(concat("the range [", range.min, ", ", range.max, "] of the size ", key, " is not checked"));
    }
  }

  std::map<std::string, std::vector<Expr>> dims;
  for (const InputSizes& input : inputs) {
    TENON_ASSIGN_OR_RETURN(dims[input.name], reader.sizes(input.sizes));
  }
  if (const auto guards = program.find("guards_code")) {
    const Guards parser(facts, dims);
    TENON_ASSIGN_OR_RETURN(const auto texts, guards->elements());
    for (const JsonView& element : texts) {
      TENON_ASSIGN_OR_RETURN(const std::string_view text, element.text());
      for (const std::string_view part : conjuncts(text)) {
        const auto predicate = parser.parse(part);
        if (predicate && facts.prove(*predicate) == Truth::kTrue) continue;
        if (predicate && absorb(facts, *predicate, table.bound)) continue;
        notes.push_back(concat("the archive's condition is not checked: ", part));
      }
    }
  }
  for (const auto& [name, terms] : table.bound) {
    if (terms.min > terms.max) {
      return invalid_argument(concat("the range of the size ", name, " is empty: [", terms.min, ", ", terms.max, "]"));
    }
  }
  return table;
}

}  // namespace tenon::import
