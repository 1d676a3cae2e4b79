#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.hpp"

namespace {

using namespace tenon;
using ::testing::ElementsAre;

TEST(Tensor, LendsTheCallersElements) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::of(data, {2, 3});
  EXPECT_EQ(tensor.data(), data);
  EXPECT_EQ(tensor.dtype(), DType::kF32);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 3));
  EXPECT_THAT(tensor.values<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(tensor.values<int32_t>().empty());
}

TEST(Tensor, IsEmptyWhenElementsAndDimsDisagree) {
  std::vector<int64_t> data(5);
  EXPECT_EQ(Tensor::of(data, {2, 3}).data(), nullptr);
  const std::vector<int64_t> deep(TENON_MAX_RANK + 1, 1);
  EXPECT_EQ(Tensor::lend(data.data(), DType::kI64, deep).data(), nullptr);
}

TEST(Tensor, StridesDecideRowMajor) {
  float data[6] = {};
  const int64_t dims[] = {2, 3}, row_major[] = {3, 1}, turned[] = {1, 2}, one[] = {1, 3}, any[] = {7, 1};
  EXPECT_TRUE(Tensor::lend(data, DType::kF32, dims, row_major).row_major());
  EXPECT_FALSE(Tensor::lend(data, DType::kF32, dims, turned).row_major());
  EXPECT_TRUE(Tensor::lend(data, DType::kF32, one, any).row_major());
  EXPECT_TRUE(Tensor::lend(data, DType::kF32, dims, turned).values<float>().empty());
}

TEST(Tensor, ANumberLivesInsideItsCopies) {
  const Tensor copy = [] { return Tensor::number(2.5); }();
  EXPECT_EQ(copy.dims().size(), 0u);
  EXPECT_THAT(copy.values<double>(), ElementsAre(2.5));
  EXPECT_EQ(copy.to_c().data, copy.data());
  EXPECT_EQ(Tensor::number(int64_t(7)).dtype(), DType::kI64);
  EXPECT_EQ(Tensor::number(true).dtype(), DType::kBool);
}

TEST(Tensor, CopiesShareTheLibrarysMemory) {
  const Context context = Context::create({.no_cache = true}).or_die();
  const int64_t dims[] = {4, 8};
  Tensor first = context.allocate(DType::kF32, dims).or_die();
  ASSERT_EQ(first.values<float>().size(), 32u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 64, 0u);
  first.values<float>()[31] = 5;
  const Tensor second = first;
  first = Tensor();
  EXPECT_EQ(second.values<float>()[31], 5);
  const int64_t negative[] = {-1}, large[] = {INT64_MAX, 16};
  EXPECT_EQ(context.allocate(DType::kF32, negative).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(context.allocate(DType::kF32, large).status().code(), Code::kInvalidArgument);
}

TEST(Attr, KindsFollowTheCppType) {
  const auto kind = [](const Attr& a) { return a.to_c().kind; };
  EXPECT_EQ(kind(attr("a", 1)), TENON_ATTR_I64);
  EXPECT_EQ(kind(attr("a", true)), TENON_ATTR_BOOL);
  EXPECT_EQ(kind(attr("a", 1.5f)), TENON_ATTR_F64);
  EXPECT_EQ(kind(attr("a", "tanh")), TENON_ATTR_STR);
  EXPECT_EQ(kind(attr("a", DType::kI32)), TENON_ATTR_DTYPE);
  EXPECT_EQ(kind(attr("a", none)), TENON_ATTR_NONE);
  EXPECT_EQ(kind(attr("a", MemoryFormat::kPreserve)), TENON_ATTR_MEMORY_FORMAT);
  EXPECT_EQ(kind(attr("a", {Value{3}})), TENON_ATTR_VALUES);
  const Attr list = attr("dims", {0, 2, 1});
  const tenon_attr_t raw = list.to_c();
  EXPECT_EQ(raw.kind, TENON_ATTR_I64);
  EXPECT_EQ(raw.flags, TENON_ATTR_LIST);
  EXPECT_THAT(std::span(static_cast<const int64_t*>(raw.values), raw.count), ElementsAre(0, 2, 1));
}

}  // namespace
