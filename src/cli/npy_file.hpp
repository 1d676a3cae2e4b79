// NumPy's .npy files. bf16, which NumPy does not have, is the two-byte void type "|V2".
#pragma once

#include <string>
#include <vector>

#include "tenon/tenon.hpp"

namespace tenon::cli {

// A tensor that owns its bytes: row-major.
struct Array {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;

  Tensor tensor() { return Tensor::lend(bytes.data(), dtype, dims); }
};

// Versions 1 to 3, little-endian; Fortran order is turned into row-major. NOT_FOUND: the file cannot be opened;
// DATA_LOSS: it is no such file or is cut short; UNIMPLEMENTED: an element type that Tenon does not have.
Result<Array> read_npy(const std::string& path);
// Any strides. UNAVAILABLE: the file cannot be written.
Status write_npy(const std::string& path, const Tensor& tensor);

// Element `index` in row-major order, whatever the strides, as a number.
double element(const Tensor& tensor, int64_t index);

}  // namespace tenon::cli
