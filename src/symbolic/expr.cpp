#include "symbolic/expr.hpp"

#include <algorithm>

#include "symbolic/expr_rep.hpp"

namespace tenon::symbolic {
namespace {

constexpr size_t kChunkExprs = 4096;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

}  // namespace

Pool::Rep::Rep() {
  table.resize(1024);
  nodes.reserve(512);
  zero = constant(0);
  one = constant(1);
  minus_one = constant(-1);
}

Expr Pool::Rep::constant(int64_t value) { return intern(Kind::kConstant, value, {}); }

Expr Pool::Rep::intern(Kind kind, int64_t value, std::span<const Expr> operands, bool opaque) {
  uint64_t hash = mix(static_cast<uint64_t>(kind) * 2 + opaque, static_cast<uint64_t>(value));
  for (Expr operand : operands) hash = mix(hash, operand.id);
  size_t mask = table.size() - 1;
  size_t slot = hash & mask;
  for (; table[slot] != 0; slot = (slot + 1) & mask) {
    const Node& other = nodes[table[slot] - 1];
    if (other.hash == hash && other.kind == kind && other.value == value && other.opaque == opaque &&
        std::ranges::equal(operands, std::span(other.operands, other.count))) {
      return {table[slot] - 1};
    }
  }

  Node node;
  node.hash = hash;
  node.kind = kind;
  node.value = value;
  node.opaque = opaque;
  node.count = static_cast<uint32_t>(operands.size());
  uint32_t id = static_cast<uint32_t>(nodes.size());
  node.monomial = id;
  if (kind == Kind::kConstant && value != 1) node.monomial = one.id;
  if (kind == Kind::kSymbol) node.symbol_mask = uint64_t{1} << (value & 63);
  if (!operands.empty()) {
    if (chunks.empty() || chunk_used + operands.size() > chunk_size) {
      chunk_size = std::max(kChunkExprs, operands.size());
      chunks.push_back(std::make_unique<Expr[]>(chunk_size));
      chunk_used = 0;
    }
    Expr* copy = chunks.back().get() + chunk_used;
    chunk_used += operands.size();
    std::ranges::copy(operands, copy);
    node.operands = copy;
    for (Expr operand : operands) node.symbol_mask |= nodes[operand.id].symbol_mask;
  }
  nodes.push_back(node);
  table[slot] = id + 1;
  if (nodes.size() * 2 > table.size()) {
    std::vector<uint32_t> larger(table.size() * 2);
    size_t larger_mask = larger.size() - 1;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      size_t at = nodes[i].hash & larger_mask;
      while (larger[at] != 0) at = (at + 1) & larger_mask;
      larger[at] = i + 1;
    }
    table = std::move(larger);
  }
  return {id};
}

Pool::Pool() : rep_(std::make_unique<Rep>()) {}
Pool::~Pool() = default;

SymbolId Pool::symbol(std::string_view name, SymbolKind kind) {
  auto [at, created] = rep_->names.try_emplace(std::string(name), static_cast<SymbolId>(rep_->symbols.size()));
  if (created) {
    Expr expr = rep_->intern(Kind::kSymbol, at->second, {});
    rep_->symbols.push_back({std::string(name), kind, expr});
  }
  TENON_CHECK(rep_->symbols[at->second].kind == kind);
  return at->second;
}

SymbolId Pool::fresh_symbol(std::string_view prefix, SymbolKind kind) {
  uint64_t& next = rep_->next_number[std::string(prefix)];
  std::string name;
  do {
    name = std::string(prefix) + std::to_string(next++);
  } while (rep_->names.contains(name));
  return symbol(name, kind);
}

std::optional<SymbolId> Pool::find_symbol(std::string_view name) const {
  auto at = rep_->names.find(std::string(name));
  if (at == rep_->names.end()) return std::nullopt;
  return at->second;
}

std::string_view Pool::symbol_name(SymbolId symbol) const { return rep_->symbols[symbol].name; }
SymbolKind Pool::symbol_kind(SymbolId symbol) const { return rep_->symbols[symbol].kind; }
size_t Pool::symbol_count() const { return rep_->symbols.size(); }

Expr Pool::constant(int64_t value) { return rep_->constant(value); }
Expr Pool::of(SymbolId symbol) { return rep_->symbols[symbol].expr; }

Kind Pool::kind(Expr e) const { return rep_->node(e).kind; }
std::span<const Expr> Pool::operands(Expr e) const { return rep_->operands(e); }

int64_t Pool::value(Expr e) const {
  TENON_CHECK(rep_->is_constant(e));
  return rep_->node(e).value;
}

SymbolId Pool::symbol_of(Expr e) const {
  TENON_CHECK(kind(e) == Kind::kSymbol);
  return static_cast<SymbolId>(rep_->node(e).value);
}

std::optional<int64_t> Pool::as_constant(Expr e) const {
  if (!rep_->is_constant(e)) return std::nullopt;
  return rep_->node(e).value;
}

bool Pool::is_constant(Expr e, int64_t value) const { return rep_->is_constant(e) && rep_->node(e).value == value; }

uint64_t Pool::symbol_mask(Expr e) const { return rep_->node(e).symbol_mask; }
int64_t Pool::coefficient(Expr term) const { return rep_->term(term).coefficient; }

std::span<const Expr> Pool::factors(const Expr& term) const {
  const Node& node = rep_->node(term);
  if (node.kind == Kind::kConstant) return {};
  if (node.kind != Kind::kMul || node.opaque) return {&term, 1};
  return rep_->operands(term).subspan(node.value == 1 ? 0 : 1);
}

std::span<const Expr> Pool::terms(const Expr& e) const {
  if (is_constant(e, 0)) return {};
  if (kind(e) == Kind::kAdd) return operands(e);
  return {&e, 1};
}

}  // namespace tenon::symbolic
