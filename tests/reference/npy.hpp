// NumPy's .npy files, for expected values. Reads and writes dense little-endian arrays; Fortran order is turned into C order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/dtype.hpp"
#include "support/status.hpp"

namespace tenon::testing {

struct Array {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;  // row-major

  static Array zeros(DType dtype, std::vector<int64_t> dims);
  int64_t elements() const;
  template <typename T>
  T* as() { return reinterpret_cast<T*>(bytes.data()); }
  template <typename T>
  const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }
  double at(int64_t index) const;  // any element type but half ones
};

Result<Array> read_npy(const std::string& path);
Status write_npy(const std::string& path, const Array& array);

}  // namespace tenon::testing
