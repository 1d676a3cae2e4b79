#include "graph/schema.hpp"

#include <gtest/gtest.h>

namespace tenon::graph {
namespace {

struct TypeCase {
  const char* text;
  ArgumentType type;
  bool optional = false;
  int32_t list_size = 0;
  char alias = 0;
  bool mutates = false;
};

TEST(Schema, ReadsEveryArgumentType) {
  const TypeCase cases[] = {
      {"Tensor", ArgumentType::kTensor},
      {"Tensor?", ArgumentType::kTensor, true},
      {"Tensor(a)", ArgumentType::kTensor, false, 0, 'a'},
      {"Tensor(a!)", ArgumentType::kTensor, false, 0, 'a', true},
      {"Tensor(b!)?", ArgumentType::kTensor, true, 0, 'b', true},
      {"Tensor(a -> *)", ArgumentType::kTensor, false, 0, 'a'},
      {"Tensor[]", ArgumentType::kTensorList},
      {"Tensor[]?", ArgumentType::kTensorList, true},
      {"Tensor(a!)[]", ArgumentType::kTensorList, false, 0, 'a', true},
      {"Tensor?[]", ArgumentType::kOptionalTensorList},
      {"Scalar", ArgumentType::kScalar},
      {"Scalar?", ArgumentType::kScalar, true},
      {"Scalar[]", ArgumentType::kScalarList},
      {"int", ArgumentType::kInt},
      {"int?", ArgumentType::kInt, true},
      {"SymInt", ArgumentType::kInt},
      {"SymInt?", ArgumentType::kInt, true},
      {"int[]", ArgumentType::kIntList},
      {"int[2]", ArgumentType::kIntList, false, 2},
      {"int[1]?", ArgumentType::kIntList, true, 1},
      {"SymInt[3]", ArgumentType::kIntList, false, 3},
      {"SymInt[]?", ArgumentType::kIntList, true},
      {"float", ArgumentType::kFloat},
      {"float?", ArgumentType::kFloat, true},
      {"float[]?", ArgumentType::kFloatList, true},
      {"bool", ArgumentType::kBool},
      {"bool?", ArgumentType::kBool, true},
      {"bool[3]", ArgumentType::kBoolList, false, 3},
      {"str", ArgumentType::kString},
      {"str?", ArgumentType::kString, true},
      {"ScalarType", ArgumentType::kDType},
      {"ScalarType?", ArgumentType::kDType, true},
      {"Device?", ArgumentType::kDevice, true},
      {"Layout?", ArgumentType::kLayout, true},
      {"MemoryFormat?", ArgumentType::kMemoryFormat, true},
      {"Generator?", ArgumentType::kGenerator, true},
  };
  for (const TypeCase& expected : cases) {
    const auto schema = parse_schema(std::string("aten::op(") + expected.text + " x) -> Tensor");
    ASSERT_TRUE(schema.ok()) << expected.text << ": " << schema.status().message();
    ASSERT_EQ(schema->arguments.size(), 1u);
    const SchemaArgument& argument = schema->arguments[0];
    EXPECT_EQ(argument.type, expected.type) << expected.text;
    EXPECT_EQ(argument.optional, expected.optional) << expected.text;
    EXPECT_EQ(argument.list_size, expected.list_size) << expected.text;
    EXPECT_EQ(argument.alias, expected.alias) << expected.text;
    EXPECT_EQ(argument.mutates, expected.mutates) << expected.text;
    EXPECT_EQ(schema->mutates(), expected.mutates) << expected.text;
    EXPECT_EQ(argument.name, "x");
  }
}

TEST(Schema, ReadsNamesKeywordsAndReturns) {
  const auto schema = parse_schema(
      "aten::native_batch_norm(Tensor input, Tensor? weight, *, float eps=1e-05, int[2] size=[0, 1], str mode='a,b)') "
      "-> (Tensor(a!) out, Tensor, Tensor(b)[] rest)");
  ASSERT_TRUE(schema.ok()) << schema.status().message();
  EXPECT_EQ(schema->name, "aten.native_batch_norm");
  ASSERT_EQ(schema->arguments.size(), 5u);
  EXPECT_FALSE(schema->arguments[1].keyword_only);
  EXPECT_FALSE(schema->arguments[1].has_default);
  EXPECT_TRUE(schema->arguments[2].keyword_only);
  EXPECT_EQ(schema->arguments[2].default_text, "1e-05");
  EXPECT_EQ(schema->arguments[3].default_text, "[0, 1]");
  EXPECT_EQ(schema->arguments[4].default_text, "'a,b)'");
  ASSERT_EQ(schema->returns.size(), 3u);
  EXPECT_EQ(schema->returns[0].name, "out");
  EXPECT_TRUE(schema->returns[0].mutates);
  EXPECT_EQ(schema->returns[2].type, ArgumentType::kTensorList);
  EXPECT_EQ(schema->find("eps"), 2);
  EXPECT_EQ(schema->find("epsilon"), -1);
  EXPECT_TRUE(parse_schema("aten::f() -> ()").ok());
}

TEST(Schema, RefusesMalformedText) {
  const char* cases[] = {
      "", "aten", "aten::", "aten::f", "aten::f(", "aten::f()", "aten::f() ->", "aten::f() -> ()x", "f() -> Tensor",
      "aten::f(Tensor) -> Tensor", "aten::f(Tensr x) -> Tensor", "aten::f(Tensor x,) -> Tensor",
      "aten::f(Tensor x Tensor y) -> Tensor", "aten::f(Tensor x, Tensor x) -> Tensor",
      "aten::f(*, *, int x) -> Tensor", "aten::f(int[0] x) -> Tensor", "aten::f(int[99999999999999999999] x) -> Tensor",
      "aten::f(int[][] x) -> Tensor", "aten::f(int?? x) -> Tensor", "aten::f(int?[] x) -> Tensor",
      "aten::f(str[] x) -> Tensor", "aten::f(int x=) -> Tensor", "aten::f(int[2] x=[1) -> Tensor",
      "aten::f(str x='a) -> Tensor", "aten::f(Tensor(!) x) -> Tensor", "aten::f(Tensor(a! x) -> Tensor",
      "aten::f(Tensor x) -> (Tensor", "aten..f() -> ()", "aten::f::g() -> ()", "aten::f(Tensor x) Tensor",
  };
  for (const char* text : cases) {
    const auto schema = parse_schema(text);
    EXPECT_FALSE(schema.ok()) << text;
    if (!schema.ok()) {
      EXPECT_EQ(schema.status().code(), Code::kInvalidArgument) << text;
    }
  }
}

TEST(Schema, CanonicalNames) {
  EXPECT_EQ(canonical_operator_name("torch.ops.aten.add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(canonical_operator_name("aten::add.Tensor"), "aten.add.Tensor");
  EXPECT_EQ(canonical_operator_name("aten.linear.default"), "aten.linear");
  EXPECT_EQ(canonical_operator_name("torch.ops.aten.linear.default"), "aten.linear");
  EXPECT_EQ(canonical_operator_name("aten.linear"), "aten.linear");
  EXPECT_EQ(canonical_operator_name(""), "");
}

Result<Argument> read(const char* declaration, symbolic::Pool& pool) {
  auto schema = parse_schema(std::string("aten::op(") + declaration + ") -> Tensor");
  if (!schema.ok()) return schema.status();
  return default_argument(schema->arguments[0], pool);
}

TEST(Schema, DefaultsHaveTheSlotsForm) {
  symbolic::Pool pool;
  const Expr zero = pool.constant(0), one = pool.constant(1), two = pool.constant(2);
  const struct {
    const char* declaration;
    Argument expected;
  } cases[] = {
      {"int x=1", one},
      {"int reduction=Mean", one},
      {"SymInt x=2", two},
      {"int? x=None", std::monostate{}},
      {"Tensor? x=None", std::monostate{}},
      {"Scalar alpha=1", one},
      {"Scalar alpha=1.0", 1.0},
      {"Scalar alpha=True", true},
      {"float eps=1e-05", 1e-05},
      {"float p=2", 2.0},
      {"int[2] stride=1", std::vector<Expr>{one, one}},
      {"int[2] stride=[]", std::vector<Expr>{}},
      {"int[2] stride=[0,1]", std::vector<Expr>{zero, one}},
      {"int[] stride=[ 2 ]", std::vector<Expr>{two}},
      {"bool[3] mask=True", std::vector<bool>{true, true, true}},
      {"bool keepdim=False", false},
      {"str mode='none'", std::string("none")},
      {"str mode=\"\"", std::string()},
      {"ScalarType dtype=long", DType::kI64},
      {"ScalarType dtype=float", DType::kF32},
      {"MemoryFormat? memory_format=contiguous_format", MemoryFormat::kContiguous},
      {"Layout layout=strided", Layout::kStrided},
      {"Device device=cpu", Device{}},
      {"float[]? scales=[1.5, 2]", std::vector<double>{1.5, 2.0}},
      {"Tensor[] rest=[]", std::vector<ValueId>{}},
  };
  for (const auto& expected : cases) {
    const auto value = read(expected.declaration, pool);
    ASSERT_TRUE(value.ok()) << expected.declaration << ": " << value.status().message();
    EXPECT_TRUE(same_argument(*value, expected.expected)) << expected.declaration;
  }
  for (const char* wrong : {"int x", "int x=one", "int[] x=1", "int[2] x=[1,]", "bool x=1", "str x=a",
                            "MemoryFormat x=strided", "ScalarType x=number", "float x=0x1", "int x=1.5"})
    EXPECT_FALSE(read(wrong, pool).ok()) << wrong;
}

TEST(Schema, ArgumentsCompareByBits) {
  EXPECT_FALSE(same_argument(0.0, -0.0));
  EXPECT_TRUE(same_argument(std::vector<double>{__builtin_nan("")}, std::vector<double>{__builtin_nan("")}));
  EXPECT_FALSE(same_argument(std::vector<double>{0.0}, std::vector<double>{-0.0}));
  EXPECT_FALSE(same_argument(true, 1.0));
}

}  // namespace
}  // namespace tenon::graph
