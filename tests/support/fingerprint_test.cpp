#include "support/fingerprint.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tenon {
namespace {

TEST(Fingerprint, IsXxh3Of128Bits) {
  // The published value of the empty input.
  EXPECT_EQ(Fingerprint::of("").hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Fingerprint, HexRoundTrips) {
  const Fingerprint value = Fingerprint::of("some text");
  EXPECT_EQ(Fingerprint::parse(value.hex()), value);
  for (const char* bad : {"", "99aa", "99aa06d3014798d86001c324468d497g", "99AA06D3014798D86001C324468D497F",
                          "99aa06d3014798d86001c324468d497f0"}) {
    EXPECT_FALSE(Fingerprint::parse(bad)) << bad;
  }
}

Fingerprint of_builder(auto&&... values) {
  FingerprintBuilder builder;
  (builder.add(values), ...);
  return builder.finish();
}

TEST(Fingerprint, TypesAndBordersCount) {
  std::set<Fingerprint> seen;
  size_t count = 0;
  const auto expect_new = [&](const Fingerprint& value) {
    seen.insert(value);
    EXPECT_EQ(seen.size(), ++count);
  };
  expect_new(of_builder());
  expect_new(of_builder("ab", "c"));
  expect_new(of_builder("a", "bc"));
  expect_new(of_builder("abc"));
  expect_new(of_builder(""));
  expect_new(of_builder("", ""));
  expect_new(of_builder(1));
  expect_new(of_builder(1.0));
  expect_new(of_builder(true));
  expect_new(of_builder(-1));
  expect_new(of_builder(0.0));
  expect_new(of_builder(-0.0));
  FingerprintBuilder one_list, two_lists;
  one_list.add_all(std::vector<int>{1, 2}).add_all(std::vector<int>{});
  two_lists.add_all(std::vector<int>{1}).add_all(std::vector<int>{2});
  expect_new(one_list.finish());
  expect_new(two_lists.finish());
}

TEST(Fingerprint, IntegerWidthDoesNotCount) {
  EXPECT_EQ(of_builder(int8_t(-3)), of_builder(int64_t(-3)));
}

TEST(Fingerprint, FinishMayBeAskedInBetween) {
  FingerprintBuilder builder;
  builder.add("a");
  const Fingerprint first = builder.finish();
  EXPECT_EQ(builder.finish(), first);
  EXPECT_NE(builder.add("b").finish(), first);
  EXPECT_EQ(builder.finish(), of_builder("a", "b"));
}

}  // namespace
}  // namespace tenon
