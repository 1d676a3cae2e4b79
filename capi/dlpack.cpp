// Tensors from and to DLPack 1.x. The layout is public and fixed; it is declared here so that no header of it is
// needed.
#include <algorithm>

#include "handles.hpp"
#include "runtime/call_shape.hpp"

namespace tenon::capi::dlpack {

struct Version {
  uint32_t major, minor;
};
struct Device {
  int32_t type;  // 1 cpu, 2 cuda
  int32_t id;
};
struct DataType {
  uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

}  // namespace tenon::capi::dlpack

struct DLManagedTensorVersioned {
  tenon::capi::dlpack::Version version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  tenon::capi::dlpack::Tensor dl_tensor;
};
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

namespace {

using namespace tenon;
using namespace tenon::capi;

constexpr uint32_t kMajor = 1, kMinor = 0;
constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6;

constexpr struct {
  DType dtype;
  uint8_t code, bits;
} kTypes[] = {{DType::kBool, kBool, 8},   {DType::kU8, kUInt, 8},    {DType::kU16, kUInt, 16},
              {DType::kU32, kUInt, 32},   {DType::kU64, kUInt, 64},  {DType::kI8, kInt, 8},
              {DType::kI16, kInt, 16},    {DType::kI32, kInt, 32},   {DType::kI64, kInt, 64},
              {DType::kF16, kFloat, 16},  {DType::kF32, kFloat, 32}, {DType::kF64, kFloat, 64},
              {DType::kBF16, kBfloat, 16}};

struct Exported {
  DLManagedTensorVersioned managed;
  tenon_buffer* owner;
  int64_t shape[TENON_MAX_RANK], strides[TENON_MAX_RANK];
};

void delete_exported(DLManagedTensorVersioned* self) {
  auto* exported = static_cast<Exported*>(self->manager_ctx);
  exported->owner->release();
  delete exported;
}

void delete_imported(void* user) {
  auto* managed = static_cast<DLManagedTensorVersioned*>(user);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

extern "C" {

TENON_API tenon_status_t* tenon_tensor_from_dlpack(tenon_context_t* context, struct DLManagedTensorVersioned* managed,
                                                   tenon_tensor_t* out_tensor) {
  return guarded([&]() -> Status {
    if (out_tensor != nullptr) *out_tensor = tenon_tensor_t{};
    TENON_REQUIRE(context);
    TENON_REQUIRE(managed);
    TENON_REQUIRE(out_tensor);
    const auto bad = [](std::string_view problem, std::string_view expected, std::string_view found) {
      return invalid_argument(concat("`managed`: ", problem, ", found ", found))
          .with("input", "managed")
          .with("expected", expected)
          .with("found", found);
    };
    if (managed->version.major != kMajor) {
      return bad("unknown DLPack version", "1.x", concat(managed->version.major, ".", managed->version.minor));
    }
    const dlpack::Tensor& from = managed->dl_tensor;
    if (from.device.type != 1) return bad("the tensor is not on the CPU", "device type 1", concat(from.device.type));
    const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) {
      return t.code == from.dtype.code && t.bits == from.dtype.bits && from.dtype.lanes == 1;
    });
    if (type == std::end(kTypes)) {
      return bad(
          "unknown element type", "one of tenon_dtype",
          concat("code ", int(from.dtype.code), ", ", int(from.dtype.bits), " bits, ", from.dtype.lanes, " lanes"));
    }
    if (from.ndim < 0 || from.ndim > TENON_MAX_RANK) return bad("rank out of range", "0 to 16", concat(from.ndim));
    if (from.ndim > 0 && from.shape == nullptr) return bad("the shape is missing", "an array", "NULL");

    tenon_tensor_t tensor{};
    tensor.data = static_cast<char*>(from.data) + from.byte_offset;
    if (from.data == nullptr) tensor.data = nullptr;
    tensor.dtype = int32_t(type->dtype);
    tensor.device_kind = TENON_DEVICE_CPU;
    tensor.rank = from.ndim;
    tensor.dims = from.shape;
    tensor.strides = from.strides;
    runtime::BoundTensor checked;
    bool changed = false;
    TENON_RETURN_IF_ERROR(checked.bind(tensor, "input", "managed", &changed));
    if (tensor.data == nullptr && checked.elements() != 0) return bad("the data is missing", "a pointer", "NULL");

    const size_t bytes = size_t(checked.elements()) * size_bytes(type->dtype);
    tenon_buffer* owner = tenon_buffer::wrap(context->context, tensor.data, bytes, delete_imported, managed);
    if (owner == nullptr) return Status::out_of_memory();
    std::copy(checked.dims, checked.dims + tensor.rank, owner->dims);
    std::copy(checked.strides, checked.strides + tensor.rank, owner->strides);
    tensor.dims = owner->dims;
    tensor.strides = owner->strides;
    tensor.owner = owner;
    *out_tensor = tensor;
    return {};
  });
}

TENON_API tenon_status_t* tenon_tensor_to_dlpack(const tenon_tensor_t* tensor,
                                                 struct DLManagedTensorVersioned** out_managed) {
  return guarded([&]() -> Status {
    if (out_managed != nullptr) *out_managed = nullptr;
    TENON_REQUIRE(tensor);
    TENON_REQUIRE(out_managed);
    if (tensor->owner == nullptr) return null_argument("tensor->owner");
    runtime::BoundTensor checked;
    bool changed = false;
    TENON_RETURN_IF_ERROR(checked.bind(*tensor, "input", "tensor", &changed));
    auto exported = std::make_unique<Exported>();
    std::copy(checked.dims, checked.dims + tensor->rank, exported->shape);
    std::copy(checked.strides, checked.strides + tensor->rank, exported->strides);
    DLManagedTensorVersioned& managed = exported->managed;
    managed.version = {kMajor, kMinor};
    managed.manager_ctx = exported.get();
    managed.deleter = delete_exported;
    managed.flags = 0;
    const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const auto& t) { return int32_t(t.dtype) == tensor->dtype; });
    managed.dl_tensor = {tensor->data,      {1, 0}, tensor->rank, {type->code, type->bits, 1}, exported->shape,
                         exported->strides, 0};
    exported->owner = tensor->owner;
    exported->owner->retain();
    *out_managed = &exported.release()->managed;
    return {};
  });
}

}  // extern "C"
