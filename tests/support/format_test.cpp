#include "support/format.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <random>

#include "support/log.hpp"

namespace tenon {
namespace {

struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Format, PrintsDoublesSoThatTheyReadBackAsDoubles) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"}, {-0.0, "-0.0"}, {2.0, "2.0"}, {0.1, "0.1"}, {1e-7, "1e-07"}, {1e22, "1e+22"},
      {123456.0, "123456.0"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}, {NAN, "nan"}, {-NAN, "nan"},
      {DBL_MAX, "1.7976931348623157e+308"}, {5e-324, "5e-324"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(concat(value), text);
  EXPECT_EQ(concat(0.1f), "0.1");
  EXPECT_EQ(concat(double(0.1f)), "0.10000000149011612");
}

TEST(Format, RandomDoublesRoundTripByBits) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const double value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    const auto back = parse_double(concat(value));
    ASSERT_TRUE(back.has_value()) << concat(value);
    ASSERT_EQ(std::bit_cast<uint64_t>(*back), std::bit_cast<uint64_t>(value)) << concat(value);
  }
}

TEST(Format, NoLocaleChangesNumbers) {
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  EXPECT_EQ(concat(0.5, " ", 1234567, " ", -1234567.25), "0.5 1234567 -1234567.25");
  EXPECT_EQ(parse_double("0.5"), 0.5);
  EXPECT_EQ(parse_double("0,5"), std::nullopt);
  std::setlocale(LC_NUMERIC, "C");
  std::locale::global(before);
}

TEST(Format, ConcatenatesIntegersOfAllWidths) {
  EXPECT_EQ(concat(int8_t(-5), ' ', uint8_t(200), " ", INT64_MIN, " ", UINT64_MAX, true, std::string("x")),
            "-5 200 -9223372036854775808 18446744073709551615truex");
}

TEST(Format, ParsingTakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_uint64("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "+1", " 1", "1 ", "1x", "0x10", "9223372036854775808"}) EXPECT_FALSE(parse_int64(bad)) << bad;
  for (const char* bad : {"", "-", "+1.0", "1.0 ", "infinity", "INF", "nan(1)", "-nan", "0x1p3", "1e999", "."}) {
    EXPECT_FALSE(parse_double(bad)) << bad;
  }
  EXPECT_EQ(parse_double("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(*parse_double("nan")));
  EXPECT_EQ(parse_double("3"), 3.0);
}

TEST(Format, JsonStringsRoundTrip) {
  const std::string text = std::string("a\"b\\c\n\r\t\0\x01\x1f/", 12) + "\xc3\xa4\xf0\x9f\x98\x80";
  const std::string quoted = json_quoted(text);
  EXPECT_EQ(quoted.substr(0, 26), "\"a\\\"b\\\\c\\n\\r\\t\\u0000\\u0001");
  size_t position = 0;
  EXPECT_EQ(parse_json_string(quoted, position), text);
  EXPECT_EQ(position, quoted.size());
  position = 2;
  EXPECT_EQ(parse_json_string("x \"\\u00e4\\ud83d\\ude00\\/\" y", position), "\xc3\xa4\xf0\x9f\x98\x80/");
  EXPECT_EQ(position, 24u);
}

TEST(Format, JsonStringsThatAreMalformedAreRefused) {
  for (const std::string bad : {"", "x", "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"",
                                "\"\\ud800\\u0041\"", "\"\n\"", "\"\\ud800\\"}) {
    size_t position = 0;
    EXPECT_FALSE(parse_json_string(bad, position)) << bad;
    EXPECT_EQ(position, 0u);
  }
}

TEST(Log, BuildsMessagesOnlyAboveTheLeastSeverity) {
  std::string seen;
  const Logger logger([](void* user, Severity severity,
                         std::string_view message) { append(*static_cast<std::string*>(user), concat(severity_name(severity), ":", message, ";")); },
                      &seen, Severity::kWarning);
  logger.write(Severity::kInfo, "no");
  logger.write(Severity::kWarning, "took ", 0.25, " s");
  logger.write(Severity::kError, 3);
  EXPECT_EQ(seen, "warning:took 0.25 s;error:3;");
  Logger().write(Severity::kError, "nobody listens");
}

}  // namespace
}  // namespace tenon
