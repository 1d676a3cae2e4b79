#include "runtime/weight_store.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tenon::runtime {
namespace {

using artifact::ConstantDecl;

ConstantDecl matrix(std::string key, int64_t rows, int64_t columns) {
  ConstantDecl c;
  c.name = key;
  c.key = std::move(key);
  c.dims = {rows, columns};
  c.strides = {columns, 1};
  return c;
}
ConstantDecl panels(std::string key, int64_t k, int64_t n, int32_t columns) {
  ConstantDecl c = matrix(std::move(key), k, n);
  c.form = ConstantDecl::Form::kGemmPanels;
  c.k = k;
  c.n = n;
  c.k_stride = n;
  c.n_stride = 1;
  c.columns = columns;
  return c;
}

struct Store : testing::Test {
  std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  std::shared_ptr<WeightStore> store = std::make_shared<WeightStore>(memory);
  std::vector<float> values = std::vector<float>(12);
  std::vector<Blob> sources;
  Store() {
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    sources = {Blob::copy_of({reinterpret_cast<const char*>(values.data()), values.size() * 4})};
  }
};

TEST_F(Store, RawFormsPointIntoTheSource) {
  auto weight = store->bind(matrix("a", 3, 4), sources);
  ASSERT_TRUE(weight.ok());
  EXPECT_EQ((*weight)->data(), sources[0].data());
  EXPECT_EQ(store->private_bytes(), 0);
  EXPECT_EQ(store->mapped_bytes(), 48);
}

TEST_F(Store, APackedFormIsMadeOnceAndFreedWithItsLastUser) {
  auto first = store->bind(panels("a", 3, 4, 8), sources), second = store->bind(panels("a", 3, 4, 8), sources);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(store->private_bytes(), 3 * 8 * 4);
  const float* p = static_cast<const float*>((*first)->data());
  EXPECT_EQ(uintptr_t(p) % 64, 0u);
  EXPECT_EQ(p[8 + 3], 7.0f);
  EXPECT_EQ(p[8 + 4], 0.0f);                                 // padding
  auto other = store->bind(panels("a", 3, 4, 16), sources);  // another layout is another form
  EXPECT_NE(*other, *first);
  first = Status();
  second = Status();
  other = Status();
  EXPECT_EQ(store->private_bytes(), 0);
  EXPECT_EQ(memory->bytes(), 0);
}

TEST_F(Store, ContiguousCopiesOfStridedSources) {
  ConstantDecl c = matrix("t", 4, 3);
  c.strides = {1, 4};
  c.form = ConstantDecl::Form::kContiguous;
  auto weight = store->bind(c, sources);
  ASSERT_TRUE(weight.ok());
  const float* p = static_cast<const float*>((*weight)->data());
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(p[i * 3 + j], float(j * 4 + i));
  }
}

TEST_F(Store, InlineBytesAreAligned) {
  ConstantDecl c = matrix("", 1, 2);
  c.inline_bytes = {0, 0, 128, 63, 0, 0, 0, 64};
  auto weight = store->bind(c, {});
  ASSERT_TRUE(weight.ok());
  EXPECT_EQ(uintptr_t((*weight)->data()) % 64, 0u);
  EXPECT_EQ(static_cast<const float*>((*weight)->data())[1], 2.0f);
}

TEST_F(Store, ReachingOutsideTheSourceIsDataLoss) {
  for (ConstantDecl c : {matrix("b", 4, 4), panels("b", 4, 4, 8)})
    EXPECT_EQ(store->bind(c, sources).status().code(), Code::kDataLoss);
  ConstantDecl moved = matrix("b", 3, 4);
  moved.offset_bytes = 4;
  EXPECT_EQ(store->bind(moved, sources).status().code(), Code::kDataLoss);
  moved.offset_bytes = 0;
  moved.source = 1;
  EXPECT_EQ(store->bind(moved, sources).status().code(), Code::kDataLoss);
}

TEST_F(Store, ConcurrentUsersGetOneForm) {
  std::vector<std::shared_ptr<const Weight>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      auto weight = store->bind(panels("a", 3, 4, 8), sources);
      if (weight.ok()) mine = *weight;
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& mine : got) EXPECT_EQ(mine, got[0]);
  EXPECT_NE(got[0], nullptr);
}

}  // namespace
}  // namespace tenon::runtime
