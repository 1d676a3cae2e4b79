#include "runtime/weight_store.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/format.hpp"
#include "target/pack.hpp"

namespace tenon::runtime {

using artifact::ConstantDecl;

namespace {

// Everything besides the content that the bytes of a form depend on.
std::string slot_key(const ConstantDecl& c) {
  std::string key = concat(c.key.size(), ":", c.key, "|", int(c.form), "|", int(c.dtype), "|", c.offset_bytes);
  if (c.form == ConstantDecl::Form::kGemmPanels) {
    append(key, concat("|", c.batch, ",", c.k, ",", c.n, "|", c.batch_stride, ",", c.k_stride, ",", c.n_stride, "|",
                       c.columns));
  } else {
    for (size_t d = 0; d < c.dims.size(); ++d) append(key, concat("|", c.dims[d], "/", c.strides[d]));
  }
  return key;
}

// Elements from the first to one past the last; 0 when there is none.
int64_t reach_elements(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0) return 0;
    last += (dims[d] - 1) * strides[d];
  }
  return last + 1;
}

void copy_row_major(const ConstantDecl& c, const char* from, char* to) {
  const size_t element = size_bytes(c.dtype), rank = c.dims.size();
  int64_t count = 1;
  for (int64_t dim : c.dims) count *= dim;
  std::vector<int64_t> at(rank, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset += at[d] * c.strides[d];
    std::memcpy(to + size_t(i) * element, from + size_t(offset) * element, element);
    for (size_t d = rank; d-- > 0 && ++at[d] == c.dims[d];) at[d] = 0;
  }
}

}  // namespace

Weight::~Weight() {
  if (store_ == nullptr) return;
  if (owned_ != nullptr) {
    owned_.reset();
    store_->private_bytes_.fetch_sub(int64_t(size_bytes_), std::memory_order_relaxed);
  } else {
    store_->mapped_bytes_.fetch_sub(int64_t(size_bytes_), std::memory_order_relaxed);
  }
}

Result<std::shared_ptr<const Weight>> WeightStore::bind(const ConstantDecl& constant, std::span<const Blob> sources) {
  if (!constant.inline_bytes.empty() || constant.key.empty()) return make(constant, sources);
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& found = slots_[slot_key(constant)];
    if (found == nullptr) found = std::make_shared<Slot>();
    slot = found;
  }
  std::lock_guard lock(slot->mutex);
  if (std::shared_ptr<const Weight> weight = slot->weight.lock()) return weight;
  auto made = make(constant, sources);
  if (made.ok()) slot->weight = *made;
  return made;
}

Result<std::shared_ptr<const Weight>> WeightStore::make(const ConstantDecl& c, std::span<const Blob> sources) {
  auto weight = std::make_shared<Weight>();
  const int64_t element = int64_t(size_bytes(c.dtype));
  const bool panels = c.form == ConstantDecl::Form::kGemmPanels;
  int64_t count = 1;
  for (int64_t dim : c.dims) count *= dim;

  const char* from = nullptr;
  Blob source;
  if (!c.inline_bytes.empty()) {
    from = reinterpret_cast<const char*>(c.inline_bytes.data());
  } else {
    int64_t reach = reach_elements(c.dims, c.strides);
    if (panels) {
      const int64_t dims[] = {c.batch, c.k, c.n}, strides[] = {c.batch_stride, c.k_stride, c.n_stride};
      reach = reach_elements(dims, strides);
    }
    if (reach > 0) {
      if (c.source >= sources.size()) return data_loss(concat("constant `", c.name, "` has no source ", c.source));
      source = sources[c.source];
      const int64_t size = int64_t(source.size());
      if (c.offset_bytes > size || reach > (size - c.offset_bytes) / element) {
        return data_loss(concat("constant `", c.name, "` reaches ", reach * element, " bytes from ", c.offset_bytes,
                                " on, its source has ", size))
            .with("value", c.name);
      }
      from = reinterpret_cast<const char*>(source.data()) + c.offset_bytes;
    }
  }

  if (c.form == ConstantDecl::Form::kRaw && c.inline_bytes.empty()) {
    const int64_t reach = reach_elements(c.dims, c.strides);
    weight->data_ = from;
    weight->size_bytes_ = size_t(reach * element);
    weight->source_ = std::move(source);
    weight->store_ = shared_from_this();
    mapped_bytes_.fetch_add(int64_t(weight->size_bytes_), std::memory_order_relaxed);
    return std::shared_ptr<const Weight>(std::move(weight));
  }

  int64_t panel_floats = 0;
  size_t bytes = size_t(count * element);
  if (panels) {
    panel_floats = target::packed_gemm_b_floats(c.k, c.n, c.columns);
    bytes = size_t(c.batch * panel_floats) * sizeof(float);
  }
  weight->owned_ = weights_.allocate(bytes);
  void* owned = weight->owned_.get();
  if (owned == nullptr) return Status::out_of_memory();
  weight->data_ = owned;
  weight->size_bytes_ = bytes;
  weight->store_ = shared_from_this();
  private_bytes_.fetch_add(int64_t(bytes), std::memory_order_relaxed);
  if (panels) {
    for (int64_t i = 0; i < c.batch && from != nullptr; ++i) {
      target::pack_gemm_b(reinterpret_cast<const float*>(from) + i * c.batch_stride, c.k, c.n, c.k_stride, c.n_stride,
                          c.columns, static_cast<float*>(owned) + i * panel_floats);
    }
  } else if (!c.inline_bytes.empty()) {
    std::memcpy(owned, from, bytes);
  } else if (count > 0) {
    copy_row_major(c, from, static_cast<char*>(owned));
  }
  return std::shared_ptr<const Weight>(std::move(weight));
}

}  // namespace tenon::runtime
