#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "model.hpp"

namespace tenon::cli {

namespace {

// The same numbers on every machine (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  double in_minus_one_to_one() { return double(next() >> 11) * 0x1p-52 - 1; }

 private:
  uint64_t state_;
};

template <typename T>
void store(Array& array, size_t index, T value) {
  std::memcpy(array.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

// Floats in [-1, 1), whole numbers 0 or 1 (they may be indices or masks).
void fill_random(Array& array, Random& random) {
  const size_t width = size_t(size_bytes(array.dtype)), count = array.bytes.size() / width;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = random.next();
    switch (array.dtype) {
      case DType::kF32: store(array, i, float(random.in_minus_one_to_one())); break;
      case DType::kF64: store(array, i, random.in_minus_one_to_one()); break;
      // Sign, one of the five exponents below 1, mantissa.
      case DType::kF16: store(array, i, uint16_t((bits & 0x83ff) | (10 + (bits >> 32) % 5) << 10)); break;
      case DType::kBF16: store(array, i, uint16_t((bits & 0x807f) | (122 + (bits >> 32) % 5) << 7)); break;
      default: array.bytes[i * width] = std::byte(bits >> 40 & 1);
    }
  }
}

void fill_ones(Array& array) {
  const size_t width = size_t(size_bytes(array.dtype)), count = array.bytes.size() / width;
  for (size_t i = 0; i < count; ++i) {
    switch (array.dtype) {
      case DType::kF32: store(array, i, 1.0f); break;
      case DType::kF64: store(array, i, 1.0); break;
      case DType::kF16: store(array, i, uint16_t(0x3c00)); break;
      case DType::kBF16: store(array, i, uint16_t(0x3f80)); break;
      default: array.bytes[i * width] = std::byte(1);
    }
  }
}

struct Sizes {
  std::map<std::string, int64_t> by_symbol;
  std::map<std::pair<std::string, size_t>, int64_t> by_axis;
};

Result<Sizes> parse_dims(const Function& function, const ModelOptions& options) {
  Sizes out;
  for (const std::string& text : options.dims) {
    const size_t equals = text.find('=');
    int64_t size = -1;
    const char* end = text.data() + text.size();
    const auto parsed = equals == std::string::npos ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                                    : std::from_chars(text.data() + equals + 1, end, size);
    if (parsed.ec != std::errc() || parsed.ptr != end || size < 0) {
      return Status(Code::kInvalidArgument, fmt::format("--dim {}: expected SYMBOL=SIZE or INPUT.AXIS=SIZE", text));
    }
    const std::string name = text.substr(0, equals);
    bool known = false;
    for (size_t i = 0; i < function.symbols(); ++i) {
      TENON_TRY_ASSIGN(const Function::Symbol symbol, function.symbol(i));
      if (symbol.name == name) out.by_symbol[name] = size, known = true;
    }
    for (size_t i = 0; i < function.inputs() && !known; ++i) {
      TENON_TRY_ASSIGN(const Function::Argument input, function.input(i));
      for (size_t axis = 0; axis < input.type.dims.size(); ++axis) {
        if (name != fmt::format("{}.{}", input.name, axis)) continue;
        known = true;
        out.by_axis[{input.name, axis}] = size;
        if (input.type.dims[axis] >= 0 && input.type.dims[axis] != size) {
          return Status(Code::kInvalidArgument, fmt::format("--dim {}: that size is always {}", text, input.type.dims[axis]));
        }
        const int64_t symbol = input.type.dims[axis] - Function::kFirstSymbolDim;
        if (input.type.dims[axis] >= 0 || symbol < 0 || symbol >= int64_t(function.symbols())) continue;
        TENON_TRY_ASSIGN(const Function::Symbol shared, function.symbol(size_t(symbol)));
        out.by_symbol[shared.name] = size;
      }
    }
    if (!known) {
      TENON_TRY_ASSIGN(const std::string interface, describe_interface(function));
      return Status(Code::kNotFound, fmt::format("--dim {}: no size has that name; the model has\n{}", text, interface));
    }
  }
  return out;
}

// The input that NAME=FILE names; a file alone goes to the first input without one.
Result<std::vector<std::optional<std::string>>> parse_files(const Function& function, const ModelOptions& options) {
  std::vector<std::optional<std::string>> out(function.inputs());
  for (const std::string& text : options.inputs) {
    std::optional<size_t> place;
    std::string path = text;
    for (size_t i = 0; i < out.size(); ++i) {
      TENON_TRY_ASSIGN(const Function::Argument input, function.input(i));
      if (!text.starts_with(input.name + "=")) continue;
      place = i;
      path = text.substr(input.name.size() + 1);
    }
    for (size_t i = 0; i < out.size() && !place && text.find('=') == std::string::npos; ++i) {
      if (!out[i]) place = i;
    }
    if (!place || out[*place]) {
      TENON_TRY_ASSIGN(const std::string interface, describe_interface(function));
      return Status(Code::kNotFound, fmt::format("--input {}: no input left for it; the model has\n{}", text, interface));
    }
    out[*place] = path;
  }
  return out;
}

}  // namespace

Result<std::vector<Array>> make_inputs(const Function& function, const ModelOptions& options) {
  TENON_TRY_ASSIGN(Sizes sizes, parse_dims(function, options));
  TENON_TRY_ASSIGN(const std::vector<std::optional<std::string>> files, parse_files(function, options));
  std::vector<Array> out(function.inputs());
  const auto symbol_of = [&](Dim dim) -> std::string {
    const int64_t index = dim - Function::kFirstSymbolDim;
    if (dim >= 0 || index < 0 || index >= int64_t(function.symbols())) return "";
    Result<Function::Symbol> symbol = function.symbol(size_t(index));
    return symbol.ok() ? symbol->name : "";
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (!files[i]) continue;
    TENON_TRY_ASSIGN(out[i], read_npy(*files[i]));
    TENON_TRY_ASSIGN(const Function::Argument input, function.input(i));
    for (size_t axis = 0; axis < input.type.dims.size() && axis < out[i].dims.size(); ++axis) {
      const std::string symbol = symbol_of(input.type.dims[axis]);
      if (!symbol.empty()) sizes.by_symbol.emplace(symbol, out[i].dims[axis]);
    }
  }
  Random random(options.seed);
  for (size_t i = 0; i < out.size(); ++i) {
    if (files[i]) continue;
    TENON_TRY_ASSIGN(const Function::Argument input, function.input(i));
    if (input.type.auto_rank || input.type.dtype == DType::kAuto) {
      return Status(Code::kInvalidArgument, fmt::format("input {} takes any type: give it a file (--input {}=FILE)", input.name, input.name));
    }
    out[i].dtype = input.type.dtype;
    size_t bytes = size_t(size_bytes(input.type.dtype));
    for (size_t axis = 0; axis < input.type.dims.size(); ++axis) {
      const std::string symbol = symbol_of(input.type.dims[axis]);
      int64_t size = input.type.dims[axis];
      if (const auto found = sizes.by_axis.find({input.name, axis}); found != sizes.by_axis.end()) size = found->second;
      if (const auto found = sizes.by_symbol.find(symbol); found != sizes.by_symbol.end() && size < 0) size = found->second;
      if (size < 0) {
        return Status(Code::kInvalidArgument,
                      fmt::format("input {}: {} has no size for axis {}; give --input {}=FILE or --dim {}=SIZE", input.name,
                                  describe(input.type, function), axis, input.name,
                                  symbol.empty() ? fmt::format("{}.{}", input.name, axis) : symbol));
      }
      if (__builtin_mul_overflow(bytes, size_t(size), &bytes) || bytes > size_t(1) << 40) {
        return Status(Code::kInvalidArgument, fmt::format("input {}: more than 1 TiB", input.name));
      }
      out[i].dims.push_back(size);
    }
    out[i].bytes.resize(bytes);
    if (options.fill == "random") fill_random(out[i], random);
    if (options.fill == "ones") fill_ones(out[i]);
  }
  return out;
}

}  // namespace tenon::cli
