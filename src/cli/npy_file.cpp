#include "npy_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>

namespace tenon::cli {

namespace {

struct ElementCode {
  std::string_view text;
  DType dtype;
};
constexpr ElementCode kCodes[] = {{"|b1", DType::kBool}, {"|u1", DType::kU8}, {"|i1", DType::kI8}, {"<i2", DType::kI16},
                           {"<i4", DType::kI32}, {"<i8", DType::kI64}, {"<f2", DType::kF16}, {"|V2", DType::kBF16},
                           {"<V2", DType::kBF16}, {"<f4", DType::kF32}, {"<f8", DType::kF64}, {"<u2", DType::kU16},
                           {"<u4", DType::kU32}, {"<u8", DType::kU64}};

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

// The text after `key` in the header's dictionary; "" when absent.
std::string_view after(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  return at == std::string_view::npos ? std::string_view() : header.substr(at + key.size());
}

// Where element `index` (row-major) lies, in elements.
int64_t place_of(const Tensor& tensor, int64_t index) {
  if (tensor.strides().empty()) return index;
  int64_t place = 0;
  for (size_t axis = tensor.dims().size(); axis-- > 0;) {
    place += index % tensor.dims()[axis] * tensor.strides()[axis];
    index /= tensor.dims()[axis];
  }
  return place;
}

double from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double size = exponent == 31  ? (mantissa != 0 ? std::nan("") : INFINITY)
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

double element(const Tensor& tensor, int64_t index) {
  const std::byte* at = static_cast<const std::byte*>(tensor.data()) + place_of(tensor, index) * size_bytes(tensor.dtype());
  switch (tensor.dtype()) {
    case DType::kBool:
    case DType::kU8: return load<uint8_t>(at);
    case DType::kI8: return load<int8_t>(at);
    case DType::kI16: return load<int16_t>(at);
    case DType::kI32: return load<int32_t>(at);
    case DType::kI64: return double(load<int64_t>(at));
    case DType::kU16: return load<uint16_t>(at);
    case DType::kU32: return load<uint32_t>(at);
    case DType::kU64: return double(load<uint64_t>(at));
    case DType::kF16: return from_half(load<uint16_t>(at));
    case DType::kBF16: {
      const uint32_t wide = uint32_t(load<uint16_t>(at)) << 16;
      return load<float>(reinterpret_cast<const std::byte*>(&wide));
    }
    case DType::kF32: return load<float>(at);
    case DType::kF64: return load<double>(at);
    default: return 0;
  }
}

Result<Array> read_npy(const std::string& path) {
  const auto broken = [&](std::string_view why) { return Status(Code::kDataLoss, fmt::format("{}: {}", path, why)); };
  File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return Status(Code::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  unsigned char start[12] = {};
  if (std::fread(start, 1, 10, file.get()) != 10 || std::memcmp(start, "\x93NUMPY", 6) != 0) return broken("no .npy file");
  size_t header_bytes = start[8] + 256u * start[9];
  if (start[6] >= 2) {
    if (std::fread(start + 10, 1, 2, file.get()) != 2) return broken("cut short");
    header_bytes += 65536u * start[10] + 16777216u * start[11];
  }
  if (header_bytes > 1 << 20) return broken("its header is larger than 1 MiB");
  std::string header(header_bytes, '\0');
  if (std::fread(header.data(), 1, header_bytes, file.get()) != header_bytes) return broken("cut short in its header");

  Array out;
  std::string_view descr = after(header, "'descr': '");
  descr = descr.substr(0, descr.find('\''));
  bool known = false;
  for (const ElementCode& code : kCodes) {
    if (code.text == descr) out.dtype = code.dtype, known = true;
  }
  if (!known) return Status(Code::kUnimplemented, fmt::format("{}: elements of type '{}'", path, descr));
  const bool fortran = after(header, "'fortran_order': ").starts_with("True");
  std::string_view shape = after(header, "'shape': (");
  if (shape.empty()) return broken("no shape in its header");
  int64_t elements = 1;
  while (!shape.empty() && shape.front() != ')') {
    if (shape.front() < '0' || shape.front() > '9') {
      shape.remove_prefix(1);
      continue;
    }
    int64_t dim = 0;
    for (; !shape.empty() && shape.front() >= '0' && shape.front() <= '9'; shape.remove_prefix(1)) {
      if (__builtin_mul_overflow(dim, int64_t(10), &dim) || __builtin_add_overflow(dim, int64_t(shape.front() - '0'), &dim)) {
        return broken("a size is too large");
      }
    }
    if (__builtin_mul_overflow(elements, dim, &elements)) return broken("its sizes are too large");
    out.dims.push_back(dim);
  }
  const int64_t width = size_bytes(out.dtype);
  const long data_at = std::ftell(file.get());
  std::fseek(file.get(), 0, SEEK_END);
  if (elements > (std::ftell(file.get()) - data_at) / width) return broken("cut short in its data");
  std::fseek(file.get(), data_at, SEEK_SET);
  out.bytes.resize(size_t(elements * width));
  if (std::fread(out.bytes.data(), 1, out.bytes.size(), file.get()) != out.bytes.size()) return broken("cut short in its data");
  if (fortran && out.dims.size() > 1) {
    std::vector<int64_t> strides(out.dims.size());
    int64_t stride = 1;
    for (size_t axis = 0; axis < out.dims.size(); ++axis) strides[axis] = std::exchange(stride, stride * out.dims[axis]);
    const Tensor turned = Tensor::lend(out.bytes.data(), out.dtype, out.dims, strides);
    std::vector<std::byte> bytes(out.bytes.size());
    for (int64_t i = 0; i < elements; ++i) {
      std::memcpy(bytes.data() + i * width, out.bytes.data() + place_of(turned, i) * width, size_t(width));
    }
    out.bytes = std::move(bytes);
  }
  return out;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  std::string_view descr;
  for (const ElementCode& code : kCodes) {
    if (code.dtype == tensor.dtype() && descr.empty()) descr = code.text;
  }
  std::string dims;
  for (int64_t dim : tensor.dims()) dims += fmt::format("{}, ", dim);
  if (dims.size() > 2 && tensor.dims().size() > 1) dims.resize(dims.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto failed = [&] { return Status(Code::kUnavailable, fmt::format("{}: {}", path, std::strerror(errno))); };
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return failed();
  const unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size() % 256), uint8_t(header.size() / 256)};
  bool good = std::fwrite(start, 1, 10, file.get()) == 10 && std::fwrite(header.data(), 1, header.size(), file.get()) == header.size();
  const size_t width = size_t(size_bytes(tensor.dtype())), count = size_t(tensor.elements());
  const std::byte* data = static_cast<const std::byte*>(tensor.data());
  if (tensor.row_major()) {
    good = good && std::fwrite(data, width, count, file.get()) == count;
  } else {
    for (size_t i = 0; i < count && good; ++i) {
      good = std::fwrite(data + size_t(place_of(tensor, int64_t(i))) * width, width, 1, file.get()) == 1;
    }
  }
  if (std::fclose(file.release()) != 0 || !good) return failed();
  return {};
}

}  // namespace tenon::cli
