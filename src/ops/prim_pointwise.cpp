// Pointwise primitives: operands have one dtype (numbers adopt it), dims broadcast, the result is computed element by
// element. add, sub, mul, neg, abs of integers wrap around. max and min give NaN when an operand is NaN. div of
// integers truncates, floor_div rounds down, fmod has the dividend's sign, remainder the divisor's; an integer divisor
// of 0 is a run-time status. floor_div of floats is fmod-corrected (Python's //). round is half to even.
// sign(NaN) is 0. shr of signed integers is arithmetic.
#include "ops/infer.hpp"
#include "ops/registry.hpp"

namespace tenon::ops {
namespace {

enum class Domain : uint8_t { kAny, kNumeric, kFloat, kBits, kBool };

bool accepts(Domain domain, DType dtype) {
  switch (domain) {
    case Domain::kAny: return true;
    case Domain::kNumeric: return dtype != DType::kBool;
    case Domain::kFloat: return is_floating(dtype);
    case Domain::kBits: return !is_floating(dtype);
    case Domain::kBool: return dtype == DType::kBool;
  }
  return false;
}

std::string_view describe_domain(Domain domain) {
  switch (domain) {
    case Domain::kAny: return "any dtype";
    case Domain::kNumeric: return "a numeric dtype";
    case Domain::kFloat: return "a floating dtype";
    case Domain::kBits: return "an integer dtype or bool";
    case Domain::kBool: return "bool";
  }
  return "";
}

// Arguments from `first` on have one dtype; `types` may begin with others that only broadcast.
Types infer_same_dtype(InferContext& context, size_t first, Domain domain, bool compares) {
  std::vector<Type> types;
  types.reserve(context.size());
  std::optional<DType> dtype;
  graph::Device device;
  for (size_t i = 0; i < context.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(Type type, context.type(i));
    if (!type.is_scalar()) {
      device = type.device;
      if (i >= first) {
        const std::string& argument = context.op().schema.arguments[i].name;
        if (!accepts(domain, type.dtype)) return context.error(argument, describe_domain(domain), name(type.dtype));
        if (dtype && *dtype != type.dtype) return context.error(argument, name(*dtype), name(type.dtype));
        dtype = type.dtype;
      }
    }
    types.push_back(std::move(type));
  }
  if (!dtype) return context.error(context.op().schema.arguments[first].name, "a tensor", "a number");
  const DType result = compares ? DType::kBool : *dtype;
  if (types.size() == 1) return one(graph::tensor_type(result, std::move(types[0].dims), device));
  TENON_ASSIGN_OR_RETURN(Dims dims, context.broadcast(types));
  return one(graph::tensor_type(result, std::move(dims), device));
}

template <Domain kDomain, bool kCompares = false>
Types infer(InferContext& context) {
  return infer_same_dtype(context, 0, kDomain, kCompares);
}

Types infer_where(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(const Type condition, context.type(0));
  if (condition.is_scalar() || condition.dtype != DType::kBool) {
    return context.error("cond", "a bool tensor", describe(context.pool(), condition));
  }
  return infer_same_dtype(context, 1, Domain::kAny, false);
}

// float to integer truncates, out of range wraps as the CPU does; anything to bool is != 0.
Types infer_convert(InferContext& context) {
  TENON_ASSIGN_OR_RETURN(Type type, context.type(0));
  if (type.is_scalar()) return context.error("x", "a tensor", "a number");
  return one(graph::tensor_type(std::get<DType>(context.argument(1)), std::move(type.dims), type.device));
}

struct Family {
  std::initializer_list<std::string_view> names;
  std::string_view signature;
  graph::InferFn infer;
};

}  // namespace

void register_prim_pointwise(graph::OperatorRegistry& registry) {
  constexpr std::string_view kUnary = "(Tensor x) -> Tensor";
  constexpr std::string_view kBinary = "(Tensor a, Tensor b) -> Tensor";
  const Family families[] = {
      {{"neg", "abs", "sign"}, kUnary, infer<Domain::kNumeric>},
      {{"floor", "ceil", "round", "trunc"}, kUnary, infer<Domain::kFloat>},
      {{"exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal"},
       kUnary, infer<Domain::kFloat>},
      {{"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"},
       kUnary, infer<Domain::kFloat>},
      {{"erf", "erfc", "sigmoid"}, kUnary, infer<Domain::kFloat>},
      {{"isnan", "isinf"}, kUnary, infer<Domain::kFloat, true>},
      {{"logical_not"}, kUnary, infer<Domain::kBool>},
      {{"bitwise_not"}, kUnary, infer<Domain::kBits>},
      {{"add", "sub", "mul", "div", "floor_div", "fmod", "remainder", "pow"}, kBinary, infer<Domain::kNumeric>},
      {{"atan2"}, kBinary, infer<Domain::kFloat>},
      {{"max", "min"}, kBinary, infer<Domain::kAny>},
      {{"bitwise_and", "bitwise_or", "bitwise_xor"}, kBinary, infer<Domain::kBits>},
      {{"shl", "shr"}, kBinary, infer<Domain::kBits>},
      {{"eq", "ne", "lt", "le", "gt", "ge"}, kBinary, infer<Domain::kAny, true>},
      {{"where"}, "(Tensor cond, Tensor a, Tensor b) -> Tensor", infer_where},
      {{"fma"}, "(Tensor a, Tensor b, Tensor c) -> Tensor", infer<Domain::kFloat>},
      {{"convert"}, "(Tensor x, ScalarType dtype) -> Tensor", infer_convert},
  };
  for (const Family& family : families) {
    for (std::string_view name : family.names) {
      std::string schema = "prim::";
      schema += name;
      schema += family.signature;
      graph::Operator& op = registry.add(schema, family.infer);
      op.primitive = true;
      op.pointwise = true;
    }
  }
}

}  // namespace tenon::ops
