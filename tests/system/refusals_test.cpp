// What a host may get wrong: damaged files, wrong tensors, unknown names, sizes past all bounds. A status names what, where,
// what was expected and what came, and the process lives on.
#include <gtest/gtest.h>

#include "system/host_program.hpp"

namespace tenon::tests {
namespace {

ContextOptions vm_only() { return {.threads = 1, .no_cache = true, .no_compiler = true}; }

class Refusals : public ::testing::Test {
 protected:
  Context context_ = Context::create(vm_only()).or_die();
  Function function_ = function_of(context_, kSmallGraph, MissPolicy::kVm).or_die();

  Status run(const Tensor& x) {
    auto y = function_.run({x});
    return y.ok() ? Status() : std::move(y).status();
  }
};

// The status is this code, about input x, and says what was expected and found.
void expect_about(const Status& status, Code code, std::string_view input, std::string_view expected, std::string_view found) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(code_name(status.code()), code_name(code)) << status.message();
  EXPECT_EQ(status.field("input"), input) << status.message();
  EXPECT_NE(status.field("expected").find(expected), std::string_view::npos) << status.field("expected");
  EXPECT_NE(status.field("found").find(found), std::string_view::npos) << status.field("found");
  EXPECT_NE(status.message().find(found), std::string_view::npos) << status.message();
}

TEST_F(Refusals, AnotherElementType) {
  const HostArray x(DType::kF64, {2, 33});
  expect_about(run(x.tensor()), Code::kInvalidArgument, "x", "f32", "f64");
}

TEST_F(Refusals, AnotherRank) {
  const HostArray x(DType::kF32, {33});
  expect_about(run(x.tensor()), Code::kInvalidArgument, "x", "2", "1");
}

TEST_F(Refusals, AnotherFixedSize) {
  const HostArray x(DType::kF32, {2, 34});
  expect_about(run(x.tensor()), Code::kInvalidArgument, "x", "33", "34");
}

TEST_F(Refusals, ASizeOutsideItsRange) {
  const HostArray large(DType::kF32, {65, 33});
  expect_about(run(large.tensor()), Code::kInvalidArgument, "x", "64", "65");
  const HostArray none(DType::kF32, {0, 33});
  expect_about(run(none.tensor()), Code::kInvalidArgument, "x", "1", "0");
}

TEST_F(Refusals, AnotherDevice) {
  HostArray data = small_input();
  tenon_tensor_t x = data.tensor().to_c(), y = {};
  const int64_t dims[] = {5, 33};
  x.dims = dims;
  x.device_kind = TENON_DEVICE_CUDA;
  const Status status(tenon_function_run(function_.get(), nullptr, &x, 1, &y, 1));
  expect_about(status, Code::kInvalidArgument, "x", "cpu", "cuda");
}

TEST_F(Refusals, MalformedTensors) {
  HostArray data = small_input();
  static const int64_t dims[] = {5, 33}, negative[] = {-5, 33}, huge[] = {int64_t(1) << 62, 33};
  tenon_tensor_t good = data.tensor().to_c();
  good.dims = dims;
  struct Case {
    const char* what;
    void (*spoil)(tenon_tensor_t&);
  };
  const Case cases[] = {
      {"no data", [](tenon_tensor_t& t) { t.data = nullptr; }},
      {"no dims", [](tenon_tensor_t& t) { t.dims = nullptr; }},
      {"rank below 0", [](tenon_tensor_t& t) { t.rank = -1; }},
      {"rank too large", [](tenon_tensor_t& t) { t.rank = TENON_MAX_RANK + 1; }},
      {"unknown element type", [](tenon_tensor_t& t) { t.dtype = 99; }},
      {"unknown device", [](tenon_tensor_t& t) { t.device_kind = 77; }},
      {"unknown flags", [](tenon_tensor_t& t) { t.flags = 1u << 30; }},
      {"reserved", [](tenon_tensor_t& t) { t.reserved = 5; }},
      {"negative size", [](tenon_tensor_t& t) { t.dims = negative; }},
      {"overflowing size", [](tenon_tensor_t& t) { t.dims = huge; }},
  };
  for (const Case& c : cases) {
    tenon_tensor_t x = good, y = {};
    c.spoil(x);
    const Status status(tenon_function_run(function_.get(), nullptr, &x, 1, &y, 1));
    EXPECT_FALSE(status.ok()) << c.what;
    EXPECT_EQ(code_name(status.code()), "INVALID_ARGUMENT") << c.what << ": " << status.message();
    EXPECT_NE(status.field("input"), "") << c.what << ": " << status.message();
    EXPECT_EQ(y.owner, nullptr) << c.what;
  }
  tenon_tensor_t y = {};
  EXPECT_EQ(tenon_function_run(function_.get(), nullptr, &good, 1, &y, 1), nullptr) << "the good one still runs";
  tenon_buffer_release(y.owner);
}

TEST_F(Refusals, OutputsOfTheWrongKind) {
  const HostArray x = small_input();
  const std::vector<Tensor> in = {x.tensor()};
  for (const HostArray& wrong : {HostArray(DType::kF64, {5, 33}), HostArray(DType::kF32, {5, 32}), HostArray(DType::kF32, {165})}) {
    std::vector<Tensor> out = {wrong.tensor()};
    const Status status = function_.run_into(in, out);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(code_name(status.code()), "INVALID_ARGUMENT") << status.message();
    EXPECT_NE(status.field("expected"), "") << status.message();
    EXPECT_NE(status.field("found"), "") << status.message();
  }
  // An output on top of its input.
  std::vector<Tensor> out = {x.tensor()};
  const Status status = function_.run_into(in, out);
  ASSERT_FALSE(status.ok()) << "an output that overlaps an input must be refused";
  EXPECT_EQ(code_name(status.code()), "INVALID_ARGUMENT") << status.message();
}

struct TextCase {
  const char* what;
  const char* graph;
  const char* mention;  // in the message or a field
};
void PrintTo(const TextCase& c, std::ostream* out) { *out << c.what; }
class Texts : public ::testing::TestWithParam<TextCase> {};

TEST_P(Texts, AreRefusedWithAReason) {
  auto context = Context::create(vm_only()).or_die();
  auto graph = context.parse(GetParam().graph);
  Status status = graph.ok() ? graph->verify() : std::move(graph).status();
  std::string when = "parse or verify";
  if (status.ok()) {
    when = "compile";
    auto function = context.compile(*graph, {.miss_policy = MissPolicy::kVm});
    status = function.ok() ? Status() : std::move(function).status();
    if (status.ok()) {
      when = "run";
      HostArray x(DType::kF32, {4, 4});
      auto y = function->run({x.tensor()});
      status = y.ok() ? Status() : std::move(y).status();
    }
  }
  ASSERT_FALSE(status.ok()) << GetParam().graph;
  EXPECT_NE(code_name(status.code()), "INTERNAL") << status.message();
  std::string all(status.message());
  for (const char* key : {"operator", "value", "input", "expected", "found"}) all += " | " + std::string(status.field(key));
  EXPECT_NE(all.find(GetParam().mention), std::string::npos) << when << " said: " << all;
}

constexpr TextCase kTexts[] = {
    {"UnknownOperator", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.frobnicate(%x) : f32[4, 4]\n  return %0\n}\n", "aten.frobnicate"},
    {"UnknownOverload", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.add.Bogus(%x, %x) : f32[4, 4]\n  return %0\n}\n", "aten.add.Bogus"},
    {"UnknownAttribute", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.relu(%x, colour=3) : f32[4, 4]\n  return %0\n}\n", "colour"},
    {"TooManyArguments", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.relu(%x, 3, 4) : f32[4, 4]\n  return %0\n}\n", "relu"},
    {"MissingArgument", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.mul.Tensor(%x) : f32[4, 4]\n  return %0\n}\n", "other"},
    {"WrongKindOfArgument", "graph @g(%x: f32[4, 4]) -> (y: f32[4]) on cpu {\n  %0 = aten.softmax.int(%x, \"one\") : f32[4, 4]\n  return %0\n}\n", "dim"},
    {"UnknownValue", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.relu(%nobody) : f32[4, 4]\n  return %0\n}\n", "nobody"},
    {"ValueBeforeItsMaker", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.relu(%1) : f32[4, 4]\n  %1 = aten.relu(%x) : f32[4, 4]\n  return %0\n}\n", "1"},
    {"WrongType", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 5]) on cpu {\n  %0 = aten.relu(%x) : f32[4, 5]\n  return %0\n}\n", "f32[4, 5]"},
    {"ShapesThatDoNotMatch", "graph @g(%x: f32[4, 4], %z: f32[3, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.add.Tensor(%x, %z) : f32[4, 4]\n  return %0\n}\n", "add"},
    {"ProductThatDoesNotMatch", "graph @g(%x: f32[4, 4], %z: f32[3, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.mm(%x, %z) : f32[4, 4]\n  return %0\n}\n", "mm"},
    {"DimOutOfRange", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.softmax.int(%x, 7) : f32[4, 4]\n  return %0\n}\n", "7"},
    {"ViewOfAnotherSize", "graph @g(%x: f32[4, 4]) -> (y: f32[5, 4]) on cpu {\n  %0 = aten.view(%x, [5, 4]) : f32[5, 4]\n  return %0\n}\n", "view"},
    {"OverflowingView", "graph @g(%x: f32[4, 4]) -> (y: f32[4611686018427387904, 8]) on cpu {\n  %0 = aten.expand(%x, [4611686018427387904, 4, 4]) : f32[4611686018427387904, 4, 4]\n  return %0\n}\n", ""},
    {"OverflowingFull", "graph @g(%x: f32[4, 4]) -> (y: f32[3037000500, 3037000500]) on cpu {\n  %0 = aten.full([3037000500, 3037000500], 1.0, dtype=f32) : f32[3037000500, 3037000500]\n  return %0\n}\n", ""},
    {"NegativeSize", "graph @g(%x: f32[4, 4]) -> (y: f32[4]) on cpu {\n  %0 = aten.full([-4], 1.0, dtype=f32) : f32[4]\n  return %0\n}\n", "-4"},
    {"UnknownSymbol", "graph @g(%x: f32[q, 4]) -> (y: f32[q, 4]) on cpu {\n  %0 = aten.relu(%x) : f32[q, 4]\n  return %0\n}\n", "q"},
    {"EmptyRange", "graph @g(%x: f32[s0, 4]) -> (y: f32[s0, 4]) on cpu where s0 in [9, 3] {\n  %0 = aten.relu(%x) : f32[s0, 4]\n  return %0\n}\n", "s0"},
    {"TwoInputsOfOneName", "graph @g(%x: f32[4, 4], %x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  return %x\n}\n", "x"},
    {"FewerOutputs", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4], z: f32[4, 4]) on cpu {\n  return %x\n}\n", "1"},
    {"NothingAtAll", "", ""},
    {"HalfAGraph", "graph @g(%x: f32[4, 4]) -> (y: f32[4, 4]) on cpu {\n  %0 = aten.relu(%x", ""},
    {"NoGraph", "\x01\x02\xff\xfe hello", ""},
    {"RankTooLarge", "graph @g(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) -> (y: f32[]) on cpu {\n  %0 = aten.sum(%x) : f32[]\n  return %0\n}\n", ""},
};
INSTANTIATE_TEST_SUITE_P(Graphs, Texts, ::testing::ValuesIn(kTexts), [](const auto& info) { return std::string(info.param.what); });

TEST(Building, UnknownNamesAndDanglingValues) {
  auto context = Context::create(vm_only()).or_die();
  {
    auto graph = context.graph("g").or_die();
    graph.op("aten.no_such_operator", {});
    EXPECT_EQ(graph.status().field("operator"), "aten.no_such_operator") << graph.status().message();
  }
  {
    auto graph = context.graph("g").or_die();
    const Value x = graph.input("x", {DType::kF32, {4}});
    graph.op("aten.mul.Scalar", {x}, attr("other", 2.0), attr("colour", 1));
    EXPECT_FALSE(graph.status().ok());
    EXPECT_NE(graph.status().message().find("colour"), std::string_view::npos) << graph.status().message();
    EXPECT_EQ(graph.status().field("operator"), "aten.mul.Scalar") << graph.status().message();
  }
  {
    auto graph = context.graph("g").or_die();
    graph.input("x", {DType::kF32, {4}});
    graph.op("aten.relu", {Value{12345}});
    EXPECT_FALSE(graph.status().ok());
    EXPECT_NE(graph.status().message().find("12345"), std::string_view::npos) << graph.status().message();
  }
  {
    auto graph = context.graph("g").or_die();
    graph.output("y", Value{7});
    EXPECT_FALSE(graph.status().ok());
  }
  {
    auto graph = context.graph("g").or_die();
    const Value x = graph.input("x", {DType::kF32, {4}});
    graph.op("aten.softmax.int", {x}, attr("dim", "one"));
    EXPECT_FALSE(graph.status().ok());
    EXPECT_NE(graph.status().message().find("dim"), std::string_view::npos) << graph.status().message();
  }
  {
    auto graph = context.graph("g").or_die();
    graph.input("x", {DType::kF32, {int64_t(1) << 62, int64_t(1) << 62}});
    auto function = context.compile(graph);
    EXPECT_FALSE(graph.status().ok() && function.ok() && function->run({Tensor()}).ok());
  }
}

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string fixture(const std::string& name) { return TENON_SOURCE_DIR "/tests/fixtures/pt2/" + name + ".pt2"; }

TEST(DamagedArchives, AMissingFileAndOnesThatAreNone) {
  auto context = Context::create(vm_only()).or_die();
  auto graph = context.import("/nonexistent/model.pt2");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(code_name(graph.status().code()), "NOT_FOUND") << graph.status().message();
  EXPECT_NE(graph.status().message().find("/nonexistent/model.pt2"), std::string_view::npos) << graph.status().message();
  const TemporaryFolder folder;
  for (const std::string& content : {std::string(), std::string("PK"), std::string(5000, 'x'), std::string("\x7f" "ELF")}) {
    auto none = context.import(folder.write("m.pt2", content));
    EXPECT_FALSE(none.ok());
    EXPECT_NE(none.status().message().find("m.pt2"), std::string_view::npos) << none.status().message();
  }
  EXPECT_FALSE(context.import(folder.path()).ok()) << "a folder";
  EXPECT_FALSE(context.import(fixture("mlp"), "no such format").ok());
}

TEST(DamagedArchives, CutAnywhere) {
  auto context = Context::create(vm_only()).or_die();
  const std::string whole = read_all(fixture("tied_weights"));
  ASSERT_GT(whole.size(), 1000u);
  const TemporaryFolder folder;
  ASSERT_TRUE(context.import(folder.write("whole.pt2", whole)).ok());
  for (size_t size = 0; size < whole.size(); size += size < 64 || size + 64 > whole.size() ? 1 : whole.size() / 60) {
    auto graph = context.import(folder.write("cut.pt2", whole.substr(0, size)));
    ASSERT_FALSE(graph.ok()) << "cut at " << size << " of " << whole.size();
    EXPECT_NE(code_name(graph.status().code()), "INTERNAL") << graph.status().message();
  }
}

// A flipped bit is found or does no harm: never a crash, never an endless loop, never an error of our own.
TEST(DamagedArchives, OneBitFlipped) {
  auto context = Context::create(vm_only()).or_die();
  const std::string whole = read_all(fixture("tied_weights"));
  const TemporaryFolder folder;
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = whole;
    const size_t byte = random() % damaged.size();
    damaged[byte] = char(damaged[byte] ^ (1 << (random() % 8)));
    auto graph = context.import(folder.write("flipped.pt2", damaged));
    if (graph.ok()) continue;
    ++refused;
    EXPECT_NE(code_name(graph.status().code()), "INTERNAL") << "byte " << byte << ": " << graph.status().message();
  }
  EXPECT_GT(refused, 100);
}

constexpr std::string_view kLookup = R"(graph @lookup(%table: f32[10, 4], %ids: i64[n]) -> (y: f32[n, 4]) on cpu where n in [1, 100000] {
  %0 = aten.embedding(%table, %ids) : f32[n, 4]
  %1 = aten.mul.Scalar(%0, 2.0) : f32[n, 4]
  return %1
}
)";

// A bad index ends the call with a status, on each tier and however many threads work.
TEST(Indices, OutOfRangeIsAStatusAndTheProcessLives) {
  for (const bool compiled : {false, true}) {
    auto context = Context::create({.threads = 2, .no_cache = true}).or_die();
    auto function = function_of(context, kLookup, compiled ? MissPolicy::kCompileNow : MissPolicy::kVm).or_die();
    HostArray table(DType::kF32, {10, 4});
    for (int i = 0; i < 40; ++i) table.as<float>()[i] = float(i);
    for (const int64_t count : {int64_t(3), int64_t(60000)}) {
      HostArray ids(DType::kI64, {count});
      for (int64_t i = 0; i < count; ++i) ids.as<int64_t>()[i] = i % 10;
      for (const int64_t bad : {int64_t(10), int64_t(-1), INT64_MAX, INT64_MIN}) {
        ids.as<int64_t>()[count - 2] = bad;
        auto y = function.run({table.tensor(), ids.tensor()});
        ASSERT_FALSE(y.ok()) << bad;
        EXPECT_EQ(code_name(y.status().code()), "OUT_OF_RANGE") << y.status().message();
        EXPECT_NE(std::string(y.status().field("operator")).find("embedding"), std::string::npos)
            << y.status().message() << " | " << y.status().field("operator");
        EXPECT_NE(y.status().message().find(std::to_string(bad)), std::string_view::npos) << y.status().message();
        ids.as<int64_t>()[count - 2] = 7;
        auto again = function.run({table.tensor(), ids.tensor()});
        ASSERT_TRUE(again.ok()) << text(again.status());
        EXPECT_EQ((*again)[0].values<float>()[(count - 2) * 4], 56);
      }
    }
  }
}

// Integer division: known_bugs 15. The quotient that does not exist is a status, the one that overflows wraps.
TEST(Division, OfIntegersKillsNobody) {
  constexpr std::string_view kDivide =
      "graph @d(%a: i32[n], %b: i32[n]) -> (q: i32[n], r: i32[n]) on cpu where n in [1, 100] {\n"
      "  %0 = aten.floor_divide(%a, %b) : i32[n]\n  %1 = aten.remainder.Tensor(%a, %b) : i32[n]\n  return %0, %1\n}\n";
  for (const bool compiled : {false, true}) {
    auto context = Context::create({.threads = 1, .no_cache = true}).or_die();
    auto function = function_of(context, kDivide, compiled ? MissPolicy::kCompileNow : MissPolicy::kVm).or_die();
    HostArray a(DType::kI32, {5}), b(DType::kI32, {5});
    const int32_t left[] = {-7, 7, -7, 7, INT32_MIN}, right[] = {2, -2, -2, 2, -1};
    std::memcpy(a.bytes.data(), left, sizeof left);
    std::memcpy(b.bytes.data(), right, sizeof right);
    auto y = function.run({a.tensor(), b.tensor()});
    ASSERT_TRUE(y.ok()) << text(y.status());
    const int32_t quotients[] = {-4, -4, 3, 3, INT32_MIN}, remainders[] = {1, -1, -1, 1, 0};
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ((*y)[0].values<int32_t>()[i], quotients[i]) << i;
      EXPECT_EQ((*y)[1].values<int32_t>()[i], remainders[i]) << i;
    }
    b.as<int32_t>()[1] = 0;
    y = function.run({a.tensor(), b.tensor()});
    EXPECT_FALSE(y.ok()) << "division by zero must be told";
    if (!y.ok()) {
      EXPECT_EQ(code_name(y.status().code()), "INVALID_ARGUMENT") << y.status().message();
    }
  }
}

}  // namespace
}  // namespace tenon::tests
