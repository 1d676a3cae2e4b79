#include "import/pt2_weights.hpp"

#include <algorithm>
#include <cstring>

#include "support/format.hpp"

namespace tenon::import {
namespace {

// Elements from the view's first to its last, both counted; 0 for an empty view. Nothing on overflow.
std::optional<int64_t> reach(const StaticTensor& view) {
  int64_t last = 0;
  for (size_t i = 0; i < view.dims.size(); ++i) {
    if (view.dims[i] == 0) return 0;
    int64_t step = 0;
    if (__builtin_mul_overflow(view.dims[i] - 1, view.strides[i], &step) || __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  if (__builtin_add_overflow(last, 1, &last)) return std::nullopt;
  return last;
}

int64_t element_count(const StaticTensor& view) {
  int64_t count = 1;
  for (const int64_t dim : view.dims) count *= dim;
  return count;
}

template <typename Range>
std::string joined(const Range& numbers) {
  std::string text;
  for (const auto& number : numbers) {
    if (!text.empty()) append(text, ',');
    append(text, number);
  }
  return text;
}

}  // namespace

bool Weight::is_row_major() const {
  int64_t expected = 1;
  for (size_t i = view.dims.size(); i-- > 0;) {
    if (view.dims[i] == 0) return true;
    if (view.dims[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.dims[i];
  }
  return true;
}

Blob Weight::row_major() const {
  const size_t element = size_bytes(view.dtype);
  const size_t count = size_t(element_count(view));
  const uint8_t* start = bytes.data() + size_t(view.offset) * element;
  if (count == 0) return {};
  if (is_row_major()) return bytes.slice(size_t(view.offset) * element, count * element);
  std::vector<uint8_t> copy(count * element);
  std::vector<int64_t> index(view.dims.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * view.strides[d];
    std::memcpy(copy.data() + i * element, start + size_t(from) * element, element);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.dims[d]) break;
      index[d] = 0;
    }
  }
  return Blob::own(std::move(copy));
}

Status WeightIndex::read_config(const std::string& folder, const std::string& suffix, const std::string& model) {
  const std::string name = concat(root_, "/data/", folder, "/", model, suffix);
  if (archive_->find(name) == nullptr) return {};
  TENON_ASSIGN_OR_RETURN(const std::string text, archive_->read_text(name));
  TENON_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::parse(text, name));
  TENON_ASSIGN_OR_RETURN(const JsonView config, document.root().member("config"));
  TENON_ASSIGN_OR_RETURN(const auto members, config.members());
  for (const auto& [weight, place] : members) {
    if (!places_.emplace(std::string(weight), Place{folder, place}).second) {
      return place.error("each tensor's name once", "it again");
    }
  }
  documents_.push_back(std::move(document));
  return {};
}

Result<WeightIndex> WeightIndex::read(const ZipArchive& archive, const std::string& root, const std::string& model) {
  WeightIndex index;
  index.archive_ = &archive;
  index.root_ = root;
  TENON_RETURN_IF_ERROR(index.read_config("weights", "_weights_config.json", model));
  TENON_RETURN_IF_ERROR(index.read_config("constants", "_constants_config.json", model));
  return index;
}

Result<Weight> WeightIndex::find(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) {
    Status status = not_found(concat("the archive holds no tensor for '", name, "'"));
    status.with("value", name);
    return status;
  }
  const JsonView config = found->second.config;
  if (const auto pickled = config.find("use_pickle")) {
    TENON_ASSIGN_OR_RETURN(const bool is_pickled, pickled->boolean());
    if (is_pickled) return unimplemented(concat("the tensor '", name, "' is stored as a Python pickle"));
  }
  TENON_ASSIGN_OR_RETURN(const JsonView path, config.member("path_name"));
  TENON_ASSIGN_OR_RETURN(const std::string_view file, path.text());
  if (file.starts_with("custom_obj_") || file.starts_with("opaque_obj_")) {
    return unimplemented(concat("'", name, "' is an object of Python or C++, not a tensor"));
  }
  Weight weight;
  weight.file = concat(root_, "/data/", found->second.folder, "/", file);
  TENON_ASSIGN_OR_RETURN(const JsonView meta, config.member("tensor_meta"));
  TENON_ASSIGN_OR_RETURN(weight.view, read_static_tensor(meta));
  TENON_ASSIGN_OR_RETURN(ZipArchive::Stored stored, archive_->stored(weight.file));
  weight.bytes = stored.bytes;

  const size_t element = size_bytes(weight.view.dtype);
  const std::optional<int64_t> span = reach(weight.view);
  int64_t end = 0, end_bytes = 0;
  const bool fits = span && !__builtin_add_overflow(weight.view.offset, *span, &end) &&
                    !__builtin_mul_overflow(end, int64_t(element), &end_bytes) &&
                    (*span == 0 || uint64_t(end_bytes) <= weight.bytes.size());
  if (!fits) {
    Status status = data_loss(concat("the tensor '", name, "' reaches past the end of '", weight.file,
                                     "': expected at most ", weight.bytes.size(), " bytes, found ",
                                     span ? concat(end_bytes) : std::string("more than 2^63")));
    status.with("value", name);
    return status;
  }
  if (*span == 0) weight.view.offset = 0;
  const uint64_t crc_and_size[] = {stored.entry->crc, stored.entry->size_bytes};
  weight.key = concat("crc32:", joined(crc_and_size), ":", tenon::name(weight.view.dtype), "[",
                      joined(weight.view.dims), "]{", joined(weight.view.strides), "}+", weight.view.offset);
  // Archives of PyTorch align every entry to 64 bytes; one that was packed again may not.
  if (reinterpret_cast<uintptr_t>(weight.bytes.data()) % element != 0) {
    weight.bytes = Blob::copy_of(weight.bytes.text());
  }
  return weight;
}

}  // namespace tenon::import
