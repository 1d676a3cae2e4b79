#include "runtime/state.hpp"

#include <cstring>

#include "runtime/strided_copy.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

State::~State() {
  for (const auto& tensor : tensors_) context_->memory()->deallocate(tensor->data, tensor->bytes);
}

const State::Tensor* State::find(std::string_view name) const {
  for (const auto& tensor : tensors_) {
    if (tensor->name == name) return tensor.get();
  }
  return nullptr;
}

State::Tensor* State::find(std::string_view name) {
  return const_cast<Tensor*>(static_cast<const State&>(*this).find(name));
}

Status State::unknown(std::string_view name) const {
  std::string names;
  for (const auto& tensor : tensors_) append(names, concat(names.empty() ? "" : ", ", tensor->name));
  return not_found(concat("no state is named `", name, "`"))
      .with("value", name)
      .with("expected", names)
      .with("found", name);
}

Status State::declare(std::string name, DType dtype, std::vector<int64_t> dims) {
  auto tensor = std::make_unique<Tensor>();
  int64_t bytes = int64_t(size_bytes(dtype));
  tensor->strides.assign(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 0;) {
    tensor->strides[d] = bytes == 0 ? 1 : bytes / int64_t(size_bytes(dtype));
    if (dims[d] < 0 || __builtin_mul_overflow(bytes, dims[d], &bytes)) {
      return out_of_range(concat("state `", name, "` has impossible dims ", describe_dims(dims)));
    }
  }
  tensor->data = context_->memory()->allocate(size_t(bytes));
  if (tensor->data == nullptr) return Status::out_of_memory();
  tensor->bytes = size_t(bytes);
  tensor->name = std::move(name);
  tensor->dtype = dtype;
  tensor->dims = std::move(dims);
  tensors_.push_back(std::move(tensor));
  return {};
}

bool State::is_initialized(std::string_view name) const {
  const Tensor* tensor = find(name);
  return tensor != nullptr && tensor->initialized;
}

Status State::initialize(std::string_view name, const Blob& initial) {
  Tensor* tensor = find(name);
  if (tensor == nullptr) return unknown(name);
  if (tensor->initialized) return {};
  if (initial.empty()) {
    std::memset(tensor->data, 0, tensor->bytes);
  } else if (initial.size() < tensor->bytes) {
    return data_loss(
        concat("state `", name, "` has an initial value of ", initial.size(), " bytes instead of ", tensor->bytes));
  } else {
    std::memcpy(tensor->data, initial.data(), tensor->bytes);
  }
  tensor->initialized = true;
  return {};
}

Status State::get(std::string_view name, tenon_tensor_t* out) {
  Tensor* tensor = find(name);
  if (tensor == nullptr) return unknown(name);
  if (!tensor->initialized) {
    return failed_precondition(
               concat("state `", name, "` has no value before the function has been compiled for a first call"))
        .with("value", name);
  }
  *out = tenon_tensor_t{};
  out->data = tensor->data;
  out->dtype = int32_t(tensor->dtype);
  out->device_kind = TENON_DEVICE_CPU;
  out->rank = int32_t(tensor->dims.size());
  out->dims = tensor->dims.data();
  out->strides = tensor->strides.data();
  return {};
}

Status State::set(std::string_view name, const tenon_tensor_t& from) {
  Tensor* tensor = find(name);
  if (tensor == nullptr) return unknown(name);
  BoundTensor source;
  bool changed = false;
  TENON_RETURN_IF_ERROR(source.bind(from, "value", name, &changed));
  tenon_tensor_t to{};
  to.dtype = int32_t(tensor->dtype);
  to.rank = int32_t(tensor->dims.size());
  to.dims = tensor->dims.data();
  const bool same = source.tensor.dtype == to.dtype && source.tensor.rank == to.rank &&
                    std::equal(tensor->dims.begin(), tensor->dims.end(), source.dims);
  if (!same) {
    const std::string expected = describe(to), found = describe(source.tensor);
    return invalid_argument(concat("state `", name, "` is ", expected, ", found ", found))
        .with("value", name)
        .with("expected", expected)
        .with("found", found);
  }
  if (tensor->bytes > 0) {
    if (from.data == nullptr) return invalid_argument(concat("state `", name, "`: data is NULL")).with("value", name);
    copy_to_row_major(source.tensor, tensor->data);
  }
  tensor->initialized = true;
  return {};
}

Status State::bind(const Executable& executable, std::vector<void*>& places) {
  const std::vector<artifact::StateDecl>& states = executable.artifact().states;
  places.assign(states.size(), nullptr);
  for (size_t i = 0; i < states.size(); ++i) {
    const artifact::StateDecl& want = states[i];
    if (find(want.name) == nullptr) {
      if (!tensors_.empty()) return unknown(want.name);
      // Nothing was declared, since only a call could tell the types: take this executable's.
      for (const artifact::StateDecl& state : states)
        TENON_RETURN_IF_ERROR(declare(state.name, state.dtype, state.dims));
    }
    Tensor& have = *find(want.name);
    if (have.dtype != want.dtype || have.dims != want.dims) {
      const std::string expected = concat(tenon::name(want.dtype), describe_dims(want.dims));
      const std::string found = concat(tenon::name(have.dtype), describe_dims(have.dims));
      return invalid_argument(concat("state `", want.name, "` is ", found, ", the function needs ", expected))
          .with("value", want.name)
          .with("expected", expected)
          .with("found", found);
    }
    TENON_RETURN_IF_ERROR(initialize(want.name, executable.initial_state(uint32_t(i))));
    places[i] = have.data;
  }
  return {};
}

void State::acquire() {
  while (!try_acquire()) busy_.wait(true, std::memory_order_relaxed);
}

void State::release() {
  busy_.store(false, std::memory_order_release);
  busy_.notify_one();
}

}  // namespace tenon::runtime
