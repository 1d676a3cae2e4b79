#include "npy_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace {

using namespace tenon;
using namespace tenon::cli;
using ::testing::ElementsAre;

class NpyFile : public ::testing::Test {
 protected:
  std::string path_ = (std::filesystem::path(::testing::TempDir()) /
                       (std::string("npy_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy")).string();
  ~NpyFile() override { std::filesystem::remove(path_); }

  void write_text(const std::string& header, const std::string& data) {
    std::ofstream file(path_, std::ios::binary);
    file << "\x93NUMPY" << '\1' << '\0' << char(header.size()) << '\0' << header << data;
  }
};

TEST_F(NpyFile, ReadsWhatItWrote) {
  int64_t data[] = {1, -2, 3, INT64_MAX, 5, 6};
  ASSERT_TRUE(write_npy(path_, Tensor::of(data, {2, 3, 1})).ok());
  Array array = read_npy(path_).or_die();
  EXPECT_EQ(array.dtype, DType::kI64);
  EXPECT_THAT(array.dims, ElementsAre(2, 3, 1));
  EXPECT_THAT(array.tensor().values<int64_t>(), ElementsAre(1, -2, 3, INT64_MAX, 5, 6));
  EXPECT_EQ(std::filesystem::file_size(path_) % 64, 48u);  // NumPy aligns the data to 64 bytes
}

TEST_F(NpyFile, ScalarsAndOneDim) {
  ASSERT_TRUE(write_npy(path_, Tensor::number(1.5)).ok());
  EXPECT_TRUE(read_npy(path_).or_die().dims.empty());
  float data[] = {1, 2, 3};
  ASSERT_TRUE(write_npy(path_, Tensor::of(data, {3})).ok());
  EXPECT_THAT(read_npy(path_).or_die().dims, ElementsAre(3));
}

TEST_F(NpyFile, WritesStridedTensorsInRowMajorOrder) {
  float data[] = {0, 1, 2, 3, 4, 5};
  const int64_t dims[] = {3, 2}, strides[] = {1, 3};
  ASSERT_TRUE(write_npy(path_, Tensor::lend(data, DType::kF32, dims, strides)).ok());
  Array array = read_npy(path_).or_die();
  EXPECT_THAT(array.tensor().values<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(NpyFile, TurnsFortranOrder) {
  write_text("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", std::string("\1\4\2\5\3\6", 6));
  Array array = read_npy(path_).or_die();
  EXPECT_THAT(array.tensor().values<uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(NpyFile, RefusesBrokenFiles) {
  EXPECT_EQ(read_npy(path_).status().code(), Code::kNotFound);
  const std::string shape = "'fortran_order': False, 'shape': (4,), }";
  write_text("{'descr': '<f4', " + shape, std::string(15, 'x'));
  EXPECT_EQ(read_npy(path_).status().code(), Code::kDataLoss);
  write_text("{'descr': '<c8', " + shape, std::string(32, 'x'));
  EXPECT_EQ(read_npy(path_).status().code(), Code::kUnimplemented);
  write_text("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", "");
  EXPECT_EQ(read_npy(path_).status().code(), Code::kDataLoss);
  write_text("{'descr': '<f4', 'fortran_order': False}", "");
  EXPECT_EQ(read_npy(path_).status().code(), Code::kDataLoss);
  std::ofstream(path_) << "not an array";
  EXPECT_EQ(read_npy(path_).status().code(), Code::kDataLoss);
}

TEST_F(NpyFile, HalfNumbersHaveTheirValues) {
  const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7c00};
  const int64_t dims[] = {4};
  const Tensor tensor = Tensor::lend(const_cast<uint16_t*>(half), DType::kF16, dims);
  EXPECT_EQ(element(tensor, 0), 1);
  EXPECT_EQ(element(tensor, 1), -2);
  EXPECT_EQ(element(tensor, 2), 0x1p-24);
  EXPECT_EQ(element(tensor, 3), INFINITY);
  const uint16_t brain[] = {0x3f80, 0xc000, 0, 0};
  EXPECT_EQ(element(Tensor::lend(const_cast<uint16_t*>(brain), DType::kBF16, dims), 1), -2);
}

}  // namespace
