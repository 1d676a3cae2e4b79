// print(parse(print(graph))) == print(graph), and texts that must be refused.
#include <gtest/gtest.h>

#include <random>

#include "graph/parse.hpp"
#include "graph/print.hpp"
#include "test_operators.hpp"
#include "graph/verify.hpp"

namespace tenon::graph {
namespace {

// Parses, verifies, clones; gives the canonical text.
std::string canonical(const std::string& text) {
  auto graph = parse(text, test_registry());
  EXPECT_TRUE(graph.ok()) << text << "\n" << graph.status().message();
  if (!graph.ok()) return "";
  const Status verified = verify(**graph);
  EXPECT_TRUE(verified.ok()) << text << "\n" << verified.message();
  const std::string printed = print(**graph);
  const auto copy = (*graph)->clone();
  EXPECT_TRUE(verify(*copy).ok());
  EXPECT_EQ(print(*copy), printed);
  return printed;
}

// Texts in canonical form.
const char* const kCanonical[] = {
    R"(graph @mlp(%x: f32[s0, 64], %scale: f64) -> (y: f32[s0], calls: i64[]) on cpu where s0 in [1, 4096] {
  %w = constant "fc.weight" : f32[128, 64]
  %n = state "calls" : i64[]
  %0 = aten.t(%w) : f32[64, 128]{1, 64}
  %1 = aten.mm(%x, %0) : f32[s0, 128]
  %2 = aten.relu(%1) : f32[s0, 128]
  %3 = aten.mul.Scalar(%2, %scale) : f32[s0, 128]
  %4 = aten.sum.dim_IntList(%3, [1]) : f32[s0]
  %5 = aten.add_.Scalar(%n, 1) : i64[]
  return %4, %5
}
)",
    R"(graph @symbols(%x: f32[s0, 2*s1]) -> (y: f32[2*s0*s1], r: i64[s0]) on cpu where s0 in [0, inf], s1 in [8, 64] multiple of 8 {
  %0 = aten.view(%x, [2*s0*s1]) : f32[2*s0*s1]
  %1 = aten.arange(s0) : i64[s0]
  return %0, %1
}
)",
    R"(graph @data(%x: f32[2]) -> (y: f32[2]) on cpu {
  %c = constant "c" = [1.0, -0.0] : f32[2]
  %m = constant "m" = [1, 2, 3, 4, 5, 6] : i32[2, 3]{1, 2}
  %h = constant "h" = [0.33325195, 65504.0, inf, nan] : f16[4]
  %b = constant "b" = [true, false] : bool[2]
  %u = constant "u" = [18446744073709551615] : u64[]
  %e = constant "e" : f32[0, 3]
  %step = state "step" = [7] : i64[]
  %0 = aten.add.Tensor(%x, %c, alpha=2.5) : f32[2]
  %1 = aten.add.Tensor(%x, 1.5) : f32[2]
  write %step = %step
  return %0
}
)",
    R"(graph @autos(%x: f32[?, 64], %y: f32[?, ?0]) -> (z: f32[??]) on cpu {
  %0 = aten.sum.dim_IntList(%x, [1], true) : f32[??, 1]
  %1 = aten.view(%y, [?0*?1]) : f32[??]
  %2 = aten.arange(?1, dtype=i32) : i32[??]
  return %1
}
)",
    R"(graph @literals(%x: f32[4, 4]) -> (a: none, b: i64, c: f64, d: bool, e: f32[4, 4], f: f64) on cpu {
  %0 = aten.gelu(%x, approximate="tanh \"x\"\n") : f32[4, 4]
  %1 = aten.index(%0, [none, %x, none], channels_last, -0.0) : f32[4, 4]
  %2 = aten.index(%1, [], none, inf) : f32[4, 4]
  %3 = aten.pool(%2, [3, 3], [], [1, 2], [1.0, 2.5], [true, false, true]) : f32[4, 4]
  %4 = aten.arange(4, dtype=f16, layout=strided, device=cpu, pin_memory=false) : f16[4]
  %5 = aten.dropout(%3) : f32[4, 4]
  test.assert(%5, "why")
  test.assert(%5)
  return none, -9223372036854775808, -inf, true, %5, nan
}
)",
    R"(graph @several(%x: f32[6, 3]) -> (y: f32[6], i: i64[6], n: i64[u0, 2], s: f32) on cpu {
  %0, %1 = aten.max.dim(%x, 1) : f32[6], i64[6]
  %2, %3 = aten.split_with_sizes(%x, [2, 4]) : f32[2, 3], f32[4, 3]
  %named = aten.cat([%2, %3]) : f32[6, 3]
  %4 = aten.nonzero(%named) : i64[u0, 2]
  %5 = aten.nonzero(%x) : i64[u1, 2]
  %6 = aten.cat([%4, %5]) : i64[u0 + u1, 2]
  %7 = aten.item(%0) : f32
  %8 = aten.mul.Scalar(%x, %7) : f32[6, 3]
  return %0, %1, %4, %7
}
)",
    R"(graph @"odd name"(%0: f32[2], %a "b c": ??) -> ("x y": f32[2]) on cuda:1 {
  %host = constant "host" = [1.0] : f32[1] on cpu
  %1 = aten.relu(%0) : f32[2]
  %2 = aten.relu(%a) : ??
  return %1
}
)",
    R"(graph @regions(%p: bool[], %x: f32[s0]) -> (y: f32[s0], z: f32[s0]) on cpu where s0 in [1, 8] {
  %0 = higher_order.cond(%p, [%x]) then (%a: f32[s0]) {
    %1 = aten.relu(%a) : f32[s0]
    yield %1
  } else (%a: f32[s0]) {
    %2 = higher_order.while_loop([%a]) cond (%3: f32[s0]) {
      %c = aten.sum.dim_IntList(%3, [0], dtype=bool) : bool[]
      yield %c
    } body (%4: f32[s0]) {
      yield %4
    } : f32[s0]
    yield %2
  } : f32[s0]
  return %0, %x
}
)",
    R"(graph @empty() -> () on cpu {
  return
}
)",
};

TEST(RoundTrip, CanonicalTextStaysAsItIs) {
  for (const std::string text : kCanonical) EXPECT_EQ(canonical(text), text);
}

TEST(RoundTrip, FreeTextBecomesCanonical) {
  const std::string text = R"(// a comment
graph @g(%x:f32[s1,s0]{s0,1},%y : f32 [ 1 , 4 ]{9,1}) -> (o: ??) where s1 in [2, 8] , s0 in [2,8] { // another
  %9 = aten.add.Tensor(%x, other=%x, alpha=1) : ??
  %7 = aten.view(%9, [s0*s1*1 + 0]) : f32[s1*s0]
  %w = constant "w" = [1, 2] : f32[2]
  %8 = aten.sum.dim_IntList(%7, 0, keepdim=false) : f32[]
  %5 = aten.view(%x, [(s0 + 2)*(s1 - 1) - 2*s1 + 2]) : ??
  return %8 })";
  EXPECT_EQ(canonical(text),
            R"(graph @g(%x: f32[s1, s0], %y: f32[1, 4]) -> (o: f32[]) on cpu where s1 in [2, 8], s0 in [2, 8] {
  %w = constant "w" = [1.0, 2.0] : f32[2]
  %0 = aten.add.Tensor(%x, %x) : f32[s1, s0]
  %1 = aten.view(%0, [s1*s0]) : f32[s1*s0]
  %2 = aten.sum.dim_IntList(%1, [0]) : f32[]
  %3 = aten.view(%x, [s1*s0 - s0]) : f32[s1*s0 - s0]
  return %2
}
)");
}

TEST(RoundTrip, UnbackedNamesFollowTheOrderOfTheText) {
  const std::string text = R"(graph @g(%x: f32[u0, 3]) -> (n: i64[u7, 2]) where u0 in [1, 9] {
  %0 = aten.nonzero(%x) : i64[u7, 2]
  %1 = aten.view(%0, [2*u7]) : i64[2*u7]
  return %0
})";
  EXPECT_EQ(canonical(text), R"(graph @g(%x: f32[u0, 3]) -> (n: i64[u1, 2]) on cpu where u0 in [1, 9] {
  %0 = aten.nonzero(%x) : i64[u1, 2]
  %1 = aten.view(%0, [2*u1]) : i64[2*u1]
  return %0
}
)");
}

TEST(RoundTrip, ScanInfersNothingAndKeepsItsTypes) {
  const std::string text = R"(graph @g(%c: f32[?], %xs: f32[5, ?0]) -> (y: f32[??], ys: f32[5, ??]) on cpu {
  %0, %1 = higher_order.scan([%c], [%xs]) body (%2: f32[?0], %3: f32[?0]) {
    %4 = aten.add.Tensor(%2, %3) : f32[??]
    yield %4, %4
  } : f32[?0], f32[5, ?0]
  return %0, %1
}
)";
  EXPECT_EQ(canonical(text), text);
}

struct Wrong {
  const char* body;     // statements of a graph with %x: f32[s0, 4], %p: bool[], %k: i64
  const char* message;  // a part of the error
};

TEST(Parse, RefusesWithPlaceExpectedAndFound) {
  const Wrong cases[] = {
      {"return %y", "2:8: expected a value defined above, found %y"},
      {"%0 = aten.relu(%1) : f32[s0, 4] %1 = aten.relu(%x) : f32[s0, 4] return %0", "2:16: expected a value defined"},
      {"%0 = aten.nope(%x) : f32[2] return", "2:6: expected an operator, found 'aten.nope'"},
      {"%0 = aten.relu(%x) return", "expected ':', found 'return'"},
      {"%0 = aten.relu(%x) : f32[s0, 5] return", "%0: expected type f32[s0, 4], found f32[s0, 5]"},
      {"%0 = aten.relu(%x) : f64[s0, 4] return", "%0: expected type f32[s0, 4], found f64[s0, 4]"},
      {"%0 = aten.relu(%x) : f32[s0] return", "%0: expected type f32[s0, 4], found f32[s0]"},
      {"%0 = aten.relu(%x) : f32 return", "%0: expected type f32[s0, 4], found f32"},
      {"%0 = aten.relu(%x) : f32[s0, 4]{1, s0} return", "%0: expected type f32[s0, 4], found f32[s0, 4]{1, s0}"},
      {"%0 = aten.t(%x) : f32[4, s0] return", "expected type f32[4, s0]{1, 4}, found f32[4, s0]"},
      {"%0 = aten.relu(%x) : f32[s0, 4] on cuda:0 return", "expected type f32[s0, 4]"},
      {"%0 = aten.relu(%x) : f32[s9, 4] return", "expected the size s0, found 's9'"},
      {"%0 = aten.relu(%x) : f32[2*s9, 4] return", "expected a symbol that `where` declares, found 's9'"},
      {"%0, %1 = aten.relu(%x) : f32[s0, 4] return", "expected 1 results of aten.relu, found 2"},
      {"aten.relu(%x) return", "expected 1 results of aten.relu, found 0"},
      {"%0 = test.assert(%x) return", "expected 0 results of test.assert, found 1"},
      {"%x = aten.relu(%x) : ?? return", "expected a new name, found %x, which is defined above"},
      {"%0 = aten.relu() : ?? return", "aten.relu: argument self: expected a tensor, found nothing"},
      {"%0 = aten.relu(%x, %x) : ?? return", "expected at most 1 positional arguments, found 2"},
      {"%0 = aten.add.Tensor(%x, %x, 2) : ?? return", "expected at most 2 positional arguments, found 3"},
      {"%0 = aten.add.Tensor(%x, %x, beta=2) : ?? return", "argument beta: expected one of self, other, alpha"},
      {"%0 = aten.add.Tensor(%x, self=%x) : ?? return", "argument self: expected one value, found a second one"},
      {"%0 = aten.add.Tensor(other=%x, %x) : ?? return", "expected a named argument"},
      {"%0 = aten.relu([%x]) : ?? return", "argument self: expected a tensor, found a list of tensors"},
      {"%0 = aten.relu(none) : ?? return", "argument self: expected a tensor, found none"},
      {"%0 = aten.cat(%x) : ?? return", "argument tensors: expected a list of tensors, found a tensor f32[s0, 4]"},
      {"%0 = aten.cat([%x, none]) : ?? return", "expected a list of tensors, found a list of tensors or none"},
      {"%0 = aten.cat([%x, 1]) : ?? return", "expected elements of one kind"},
      {"%0 = aten.cat([[%x]]) : ?? return", "expected no list in a list"},
      {"%0 = aten.cat([%x], 2) : ?? return", "argument dim: expected a dim in [-2, 2), found 2"},
      {"%0 = aten.cat([%x], 1.0) : ?? return", "argument dim: expected an integer, found the float 1.0"},
      {"%0 = aten.cat([%x], %p) : ?? return", "argument dim: expected an integer, found a tensor bool[]"},
      {"%0 = aten.mul.Scalar(%x, %x) : ?? return", "argument other: expected a number, found a tensor f32[s0, 4]"},
      {"%0 = aten.view(%x, 4) : ?? return", "argument size: expected a list of integers, found the integer 4"},
      {"%0 = aten.gelu(%x, approximate=none) : ?? return", "argument approximate: expected a string, found none"},
      {"%0 = aten.dropout(%x, s0) : ?? return", "argument p: expected a float, found the integer s0"},
      {"%0 = aten.sum.dim_IntList(%x, [1, -1]) : ?? return", "argument dim: expected each dim once, found 1 twice"},
      {"%0 = aten.mm(%x, %x) : ?? return %0 } {", "expected the end"},
      {"%c = constant \"c\" : f32[s0] return", "expected a tensor type with constant sizes"},
      {"%c = constant \"c\" : f32[-1] return", "expected a size that is not negative, found -1"},
      {"%c = constant \"c\" : f32[?] return", "expected a size, found '?'"},
      {"%c = constant \"c\" = [1.0] : f32[2] return", "expected 2 elements, found 1"},
      {"%c = constant \"c\" = [300] : u8[1] return", "expected an element of type u8, found 300"},
      {"%c = constant \"c\" = [1.5] : i64[1] return", "expected an element of type i64, found 1.5"},
      {"%c = constant \"c\" = [1] : f32[1]{1} %d = constant \"c\" : f32[1] return", "the name \"c\" is taken"},
      {"%c = constant \"c\" = [1, 1] : f32[2]{4611686018427387904} return", "strides that stay within 1 MiB"},
      {"%c = constant \"c\" : f32[9223372036854775807, 9223372036854775807] return", "size"},
      {"%c = constant \"c\" : f32[99999999999999999999] return", "expected an integer that fits 64 bits"},
      {"write %q = %x return", "expected a value defined above, found %q"},
      {"%0 = aten.relu(%x) : ?? write %0 = %x return", "expected an input or a state, found %0"},
      {"write %x = %x %0 = aten.relu(%x) : ?? return", "expected 'write' or 'return'"},
      {"yield %x", "expected an operator"},
      {"%0 = higher_order.cond(%p, [%x]) then (%a: f32[s0, 4]) { yield %x } else () { yield } : f32[s0, 4] return",
       "expected a value of this region, found %x"},
      {"%0 = higher_order.cond(%p, [%x]) then (%a: f32[s0, 4]) { yield %a } : f32[s0, 4] return", "expected 'else'"},
      {"%0 = higher_order.cond(%p, [%x]) : f32[s0, 4] return", "expected 'then', found ':'"},
      {"return %x, 1.0, s1", "expected a symbol that `where` declares, found 's1'"},
      {"return [1]", "expected a value, none or a number"},
      {"return 1e999", "expected a number that fits a double"},
      {"return 1x", "expected a number, found \"1x\""},
      {"return 1 + floordiv(s0, 0)", "expected a divisor other than 0"},
      {"return \"a", "expected a string with JSON's escapes"},
      {"%0a = aten.relu(%x) : ?? return", "expected a value name, found %0a"},
      {"return $", "expected a token, found \"$\""},
      {"return %x", "expected 0 outputs"},
  };
  for (const Wrong& wrong : cases) {
    std::string text = "graph @g(%x: f32[s0, 4], %p: bool[], %k: i64) -> () where s0 in [2, 8] {\n";
    text += wrong.body;
    text += "\n}\n";
    const auto graph = parse(text, test_registry());
    if (std::string_view(wrong.message) == "expected 0 outputs") {
      ASSERT_FALSE(graph.ok());
      EXPECT_EQ(graph.status().message(), "1:51: expected 1 outputs, as `return` has, found 0");
      continue;
    }
    ASSERT_FALSE(graph.ok()) << wrong.body;
    EXPECT_EQ(graph.status().code(), Code::kInvalidArgument) << wrong.body;
    EXPECT_NE(graph.status().message().find(wrong.message), std::string_view::npos)
        << wrong.body << "\n  " << graph.status().message();
    EXPECT_NE(graph.status().field("line"), "") << wrong.body;
  }
}

TEST(Parse, RefusesBrokenHeaders) {
  const char* cases[] = {
      "", "graph", "graph @", "graph @g", "graph @g(", "graph @g() ->", "graph @g() -> () ", "graph @g() -> () {",
      "graph @g() -> () { return", "graph @g() -> () { return } x", "graph @g(%x) -> () { return }",
      "graph @g(x: f32) -> () { return }", "graph @g(%x: f31[2]) -> () { return }",
      "graph @g(%x: f32[s0]) -> () { return }", "graph @g(%x: f32[??]) -> () { return }",
      "graph @g(%x: f32, %x: f32) -> () { return }", "graph @g() -> () where s0 in [4, 2] { return }",
      "graph @g() -> () where s0 in [1, 2], s0 in [1, 2] { return }",
      "graph @g() -> () where s0 in [1, 2] multiple of 0 { return }",
      "graph @g() -> () where f32 in [1, 2] { return }", "graph @g() -> () on gpu { return }",
      "graph @g(%x: f32[2]{1, 1}) -> () { return }", "graph @g() -> (y: f32) { return 1 }",
      "graph @g() -> (y: i64, z: i64) { return 1 }", "graph @g() -> (y: none) { return 1 }",
      "graph @g(%x: f32[?9999999]) -> () { return }",
  };
  for (const char* text : cases) {
    const auto graph = parse(text, test_registry());
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_EQ(graph.status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(Parse, SurvivesHostileSizes) {
  const auto repeated = [](std::string_view piece, size_t count) {
    std::string text;
    for (size_t index = 0; index < count; ++index) text += piece;
    return text;
  };
  const std::string head = "graph @g(%p: bool[]) -> () where a in [1, 9], b in [1, 9], c in [1, 9] { ";
  const std::string texts[] = {
      head + "return " + repeated("(", 100000),
      head + "return " + repeated("-", 100000) + "1",
      head + "return " + repeated("[", 100000),
      head + "return " + repeated("floordiv(a, ", 100000),
      head + "return " + repeated("(a + b + c + 1)*", 60) + "1 }",
      head + "return " + repeated("a*", 100000) + "1 }",
      head + "return " + repeated("9", 100000) + " }",
      head + repeated("%0 = higher_order.cond(%p, []) then () { ", 10000),
      repeated("graph @g(", 10000),
      std::string(100000, '\0'),
      std::string(100000, '\xff'),
  };
  for (const std::string& text : texts) EXPECT_FALSE(parse(text, test_registry()).ok());
}

// Bytes changed, removed, doubled and swapped between texts: whatever comes out either is refused with a place, or
// prints to text that is a fixed point.
TEST(Parse, SurvivesMutatedText) {
  std::mt19937 random(20240611);
  const auto below = [&](size_t bound) { return size_t(random() % std::max<size_t>(bound, 1)); };
  const auto registry = test_registry();
  const std::string alphabet = "%x0123456789.[](){},:=?*+-/@\"\\ \nfsinoe";
  std::vector<std::string> pool;
  for (const char* text : kCanonical) pool.emplace_back(text);
  size_t accepted = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = pool[below(pool.size())];
    const size_t changes = 1 + below(2);
    for (size_t change = 0; change < changes && !text.empty(); ++change) {
      const size_t at = below(text.size());
      switch (below(8)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, text.substr(below(text.size()), below(24))); break;
        case 3: text[at] = char(below(256)); break;
        case 4:
        case 5:
        case 6:
          // A digit for a digit: often still a graph.
          for (size_t digit = at; digit < text.size(); ++digit) {
            if (text[digit] < '0' || text[digit] > '9') continue;
            text[digit] = char('0' + below(10));
            break;
          }
          break;
        default: {
          const std::string& other = pool[below(pool.size())];
          text.insert(at, other.substr(below(other.size()), below(40)));
          break;
        }
      }
    }
    const auto graph = parse(text, registry);
    if (!graph.ok()) {
      ++refused;
      EXPECT_NE(graph.status().field("line"), "") << text << "\n" << graph.status().message();
      continue;
    }
    ++accepted;
    const std::string printed = print(**graph);
    const auto again = parse(printed, registry);
    ASSERT_TRUE(again.ok()) << text << "\n----\n" << printed << "\n" << again.status().message();
    EXPECT_EQ(print(**again), printed) << text;
  }
  EXPECT_GT(accepted, 200u);
  EXPECT_GT(refused, 200u);
}

}  // namespace
}  // namespace tenon::graph
