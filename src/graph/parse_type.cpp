// Types: given ones (leaves, regions) and stated ones (results), which are compared with what was inferred.
#include "graph/parser.hpp"
#include "graph/print.hpp"
#include "support/format.hpp"

namespace tenon::graph {

Result<Type> Parser::type(NewSymbols allowed) {
  if (peek().kind == TokenKind::kPending) {
    take();
    return pending_type();
  }
  const auto dtype = peek().kind == TokenKind::kName ? parse_dtype(peek().text) : std::nullopt;
  if (!dtype) return expected("a type");
  take();
  if (!accept("[")) return scalar_type(*dtype);
  new_symbols_ = allowed;
  Type type = tensor_type(*dtype, {}, device_);
  auto dims = sizes("]");
  if (dims.ok() && accept("{")) {
    const Token& brace = peek();
    auto strides = sizes("}");
    if (!strides.ok()) return std::move(strides).status();
    if (strides->size() != dims->size())
      return syntax_error(brace.line, brace.column, concat(dims->size(), " strides"), concat(strides->size()));
    type.strides = *std::move(strides);
  }
  new_symbols_ = NewSymbols::kNone;
  if (!dims.ok()) return std::move(dims).status();
  type.dims = *std::move(dims);
  if (accept_word("on")) {
    TENON_ASSIGN_OR_RETURN(type.device, device());
  }
  return type;
}

Result<std::vector<Expr>> Parser::sizes(std::string_view close) {
  std::vector<Expr> sizes;
  if (accept(close)) return sizes;
  while (true) {
    const Token& first = peek();
    TENON_ASSIGN_OR_RETURN(const Expr size, expression());
    const auto value = graph_->pool().as_constant(size);
    if (value && *value < 0) return syntax_error(first.line, first.column, "a size that is not negative", concat(*value));
    sizes.push_back(size);
    if (accept(close)) return sizes;
    if (!accept(",")) return expected(concat("',' or '", close, "'"));
  }
}

bool Parser::same_size(Expr a, Expr b) { return a == b || graph_->facts().provably_equal(a, b); }

// Nothing stands for "??". A name nobody knows yet names the unbacked symbol that inference made there.
Result<std::vector<std::optional<Expr>>> Parser::stated_sizes(const Type& known, bool strides,
                                                              std::string_view close) {
  std::vector<std::optional<Expr>> sizes;
  if (accept(close)) return sizes;
  const std::vector<Expr>& inferred = strides ? known.strides : known.dims;
  while (true) {
    const bool alone = at(",", 1) || at(close, 1);
    if (alone && peek().kind == TokenKind::kPending) {
      take();
      sizes.push_back(std::nullopt);
    } else if (alone && peek().kind == TokenKind::kName && !symbols_.contains(peek().text) &&
               (known.pending || sizes.size() < inferred.size())) {
      std::optional<Expr> size;
      if (!known.pending) {
        size = inferred[sizes.size()];
        const bool is_symbol = graph_->pool().kind(*size) == symbolic::Kind::kSymbol;
        const bool is_unbacked = is_symbol && graph_->pool().symbol_kind(graph_->pool().symbol_of(*size)) ==
                                                  symbolic::SymbolKind::kUnbacked;
        for (const auto& [name, symbol] : symbols_) {
          if (symbol == *size) return expected(concat("the size ", name));
        }
        if (!is_unbacked) return expected(concat("the size ", graph_->pool().print(*size)));
        symbols_.emplace(peek().text, *size);
      }
      take();
      sizes.push_back(size);
    } else {
      TENON_ASSIGN_OR_RETURN(const Expr size, expression());
      sizes.push_back(size);
    }
    if (accept(close)) return sizes;
    if (!accept(",")) return expected(concat("',' or '", close, "'"));
  }
}

Status Parser::stated_type(const Type& known, std::string_view what) {
  const size_t first = position_;
  if (peek().kind == TokenKind::kPending) {
    take();
    return {};
  }
  const auto dtype = peek().kind == TokenKind::kName ? parse_dtype(peek().text) : std::nullopt;
  if (!dtype) return expected("a type");
  take();
  bool matches = *dtype == known.dtype;
  if (accept("[")) {
    TENON_ASSIGN_OR_RETURN(const auto dims, stated_sizes(known, false, "]"));
    matches = matches && !known.is_scalar() && dims.size() == known.dims.size();
    for (size_t dim = 0; dim < dims.size() && matches && !known.pending; ++dim)
      matches = !dims[dim] || same_size(*dims[dim], known.dims[dim]);
    if (accept("{")) {
      Type with_strides = known;
      if (!known.pending && known.strides.empty())
        with_strides.strides = row_major_strides(graph_->pool(), known.dims);
      TENON_ASSIGN_OR_RETURN(const auto strides, stated_sizes(with_strides, true, "}"));
      matches = matches && strides.size() == with_strides.strides.size();
      for (size_t dim = 0; dim < strides.size() && matches && !known.pending; ++dim)
        matches = !strides[dim] || same_size(*strides[dim], with_strides.strides[dim]);
    } else {
      matches = matches && known.strides.empty();
    }
    Device stated = device_;
    if (accept_word("on")) {
      TENON_ASSIGN_OR_RETURN(stated, device());
    }
    matches = matches && stated == known.device;
  } else {
    matches = matches && known.is_scalar();
  }
  if (matches || known.pending) return {};
  std::string inferred = print(graph_->pool(), known);
  if (!known.is_scalar() && known.device != device_) inferred += concat(" on ", print(known.device));
  const Token& token = tokens_[first];
  const std::string found = source_from(first);
  return invalid_argument(concat(token.line, ":", token.column, ": ", what, ": expected type ", inferred, ", found ",
                                 found))
      .with("line", concat(token.line))
      .with("column", concat(token.column))
      .with("value", what)
      .with("expected", inferred)
      .with("found", found);
}

}  // namespace tenon::graph
