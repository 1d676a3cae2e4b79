#include "reference/npy.hpp"

#include <cstring>
#include <fstream>
#include <sstream>

#include "support/format.hpp"

namespace tenon::testing {

namespace {

struct Code {
  const char* text;
  DType dtype;
};
constexpr Code kCodes[] = {{"|b1", DType::kBool}, {"|u1", DType::kU8}, {"|i1", DType::kI8}, {"<i2", DType::kI16}, {"<i4", DType::kI32},
                           {"<i8", DType::kI64}, {"<f2", DType::kF16}, {"<f4", DType::kF32}, {"<f8", DType::kF64},
                           {"<u2", DType::kU16}, {"<u4", DType::kU32}, {"<u8", DType::kU64}};

}  // namespace

Array Array::zeros(DType dtype, std::vector<int64_t> dims) {
  Array array;
  array.dtype = dtype;
  array.dims = std::move(dims);
  array.bytes.assign(size_t(array.elements()) * size_bytes(dtype), 0);
  return array;
}

int64_t Array::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

double Array::at(int64_t i) const {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8: return as<uint8_t>()[i];
    case DType::kI8: return as<int8_t>()[i];
    case DType::kI16: return as<int16_t>()[i];
    case DType::kI32: return as<int32_t>()[i];
    case DType::kI64: return double(as<int64_t>()[i]);
    case DType::kU16: return as<uint16_t>()[i];
    case DType::kU32: return as<uint32_t>()[i];
    case DType::kU64: return double(as<uint64_t>()[i]);
    case DType::kF32: return as<float>()[i];
    case DType::kF64: return as<double>()[i];
    default: return 0;
  }
}

Result<Array> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  if (text.size() < 12 || text.compare(0, 6, "\x93NUMPY") != 0) return data_loss(concat(path, " is no .npy file")).with("file", path);
  const bool wide = text[6] >= 2;
  const size_t start = wide ? 12 : 10;
  size_t length = uint8_t(text[8]) + 256u * uint8_t(text[9]);
  if (wide) length += (size_t(uint8_t(text[10])) << 16) + (size_t(uint8_t(text[11])) << 24);
  if (start + length > text.size()) return data_loss(concat(path, ": the header is cut off")).with("file", path);
  const std::string header = text.substr(start, length);
  Array array;
  bool known = false;
  for (const Code& code : kCodes) {
    if (header.find(concat("'", code.text, "'")) == std::string::npos) continue;
    array.dtype = code.dtype;
    known = true;
  }
  if (!known) return unimplemented(concat(path, ": element type of ", header)).with("file", path);
  const bool fortran = header.find("'fortran_order': True") != std::string::npos;
  size_t at = header.find("'shape': (");
  if (at == std::string::npos) return data_loss(concat(path, ": no shape")).with("file", path);
  for (at += 10; at < header.size() && header[at] != ')'; ++at) {
    if (header[at] < '0' || header[at] > '9') continue;
    int64_t dim = 0;
    while (at < header.size() && header[at] >= '0' && header[at] <= '9') dim = dim * 10 + (header[at++] - '0');
    array.dims.push_back(dim);
    --at;
  }
  const size_t bytes = size_t(array.elements()) * size_bytes(array.dtype);
  if (start + length + bytes > text.size()) return data_loss(concat(path, ": the data is cut off")).with("file", path);
  array.bytes.assign(text.begin() + long(start + length), text.begin() + long(start + length + bytes));
  if (fortran && array.dims.size() > 1) {
    const std::vector<uint8_t> columns = array.bytes;
    const size_t width = size_bytes(array.dtype);
    for (int64_t i = 0; i < array.elements(); ++i) {
      int64_t rest = i, source = 0;
      std::vector<int64_t> index(array.dims.size());
      for (size_t d = array.dims.size(); d-- > 0;) {
        index[d] = rest % array.dims[d];
        rest /= array.dims[d];
      }
      for (size_t d = array.dims.size(); d-- > 0;) source = source * array.dims[d] + index[d];
      std::memcpy(array.bytes.data() + size_t(i) * width, columns.data() + size_t(source) * width, width);
    }
  }
  return array;
}

Status write_npy(const std::string& path, const Array& array) {
  std::string header = "{'descr': '";
  for (const Code& code : kCodes) {
    if (code.dtype == array.dtype) header += code.text;
  }
  header += "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : array.dims) append(header, concat(dim, ","));
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << char(header.size() & 255) << char(header.size() >> 8) << header;
  file.write(reinterpret_cast<const char*>(array.bytes.data()), long(array.bytes.size()));
  return file.good() ? Status() : unavailable(concat("cannot write ", path));
}

}  // namespace tenon::testing
