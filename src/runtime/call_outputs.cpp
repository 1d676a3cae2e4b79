// A call's outputs: their types for these sizes, where they go, and how they are handed out.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/call.hpp"
#include "runtime/strided_copy.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

using artifact::OutputDecl;

namespace {

struct OutputShape {
  int32_t dtype = 0, rank = 0;
  bool scalar = false;
  int64_t dims[TENON_MAX_RANK], strides[TENON_MAX_RANK];
  int64_t bytes = 0;
};

Result<OutputShape> shape_of(const OutputDecl& decl, std::span<const int64_t> registers) {
  OutputShape shape;
  switch (decl.kind) {
    case OutputDecl::Kind::kNone:
      return shape;
    case OutputDecl::Kind::kBool:
    case OutputDecl::Kind::kInt:
    case OutputDecl::Kind::kFloat:
      shape.dtype = int32_t(decl.kind == OutputDecl::Kind::kBool  ? DType::kBool
                            : decl.kind == OutputDecl::Kind::kInt ? DType::kI64
                                                                  : DType::kF64);
      shape.scalar = true;
      shape.bytes = int64_t(size_bytes(DType(shape.dtype)));
      return shape;
    case OutputDecl::Kind::kBuffer:
      break;
  }
  shape.dtype = int32_t(decl.dtype);
  shape.rank = int32_t(decl.dims.size());
  if (shape.rank > TENON_MAX_RANK) {
    return out_of_range(concat("output `", decl.name, "` has rank ", shape.rank)).with("value", decl.name);
  }
  int64_t dense = 1;
  for (size_t d = decl.dims.size(); d-- > 0;) {
    shape.dims[d] = registers[decl.dims[d]];
    shape.strides[d] = decl.alias_input >= 0 ? registers[decl.strides[d]] : dense;
    if (shape.dims[d] < 0 || __builtin_mul_overflow(dense, std::max<int64_t>(shape.dims[d], 1), &dense)) {
      return out_of_range(concat("output `", decl.name, "` has impossible dims")).with("value", decl.name);
    }
  }
  normalize_strides({shape.dims, size_t(shape.rank)}, {shape.strides, size_t(shape.rank)});
  const bool empty = std::find(shape.dims, shape.dims + shape.rank, 0) != shape.dims + shape.rank;
  if (!empty && __builtin_mul_overflow(dense, int64_t(size_bytes(decl.dtype)), &shape.bytes)) {
    return out_of_range(concat("output `", decl.name, "` has impossible dims")).with("value", decl.name);
  }
  return shape;
}

int64_t number_of(const OutputDecl& decl) {
  switch (decl.kind) {
    case OutputDecl::Kind::kBool:
      return decl.integer != 0;
    case OutputDecl::Kind::kFloat:
      return std::bit_cast<int64_t>(decl.real);
    default:
      return decl.integer;
  }
}

}  // namespace

Status Call::lay_out_outputs() {
  const artifact::Artifact& a = entry_->executable->artifact();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = *outputs_[i];
    const OutputDecl& decl = a.outputs[i];
    const std::string& name = function_.interface().outputs[i].name;
    TENON_ASSIGN_OR_RETURN(const OutputShape shape, shape_of(decl, frame_.registers()));
    std::copy(shape.dims, shape.dims + shape.rank, output.dims);
    std::copy(shape.strides, shape.strides + shape.rank, output.strides);
    output.bytes = shape.bytes;
    output.number = number_of(decl);
    output.is_view = decl.kind == OutputDecl::Kind::kBuffer && decl.alias_input >= 0;
    tenon_tensor_t& result = output.result;
    result = tenon_tensor_t{};
    result.dtype = shape.dtype;
    result.rank = shape.rank;
    result.device_kind = TENON_DEVICE_CPU;
    result.flags = shape.scalar ? TENON_TYPE_SCALAR : 0;
    result.dims = output.dims;
    result.strides = output.strides;

    if (output.caller.bound) {
      const tenon_tensor_t& given = output.caller.tensor;
      const size_t rank = size_t(given.rank);
      const bool fits = decl.kind != OutputDecl::Kind::kNone && given.dtype == shape.dtype &&
                        given.rank == shape.rank && std::equal(output.dims, output.dims + shape.rank, given.dims) &&
                        is_row_major({given.dims, rank}, {given.strides, rank});
      if (!fits || (given.data == nullptr && shape.bytes > 0)) {
        tenon_tensor_t row_major = result;
        row_major.strides = nullptr;
        const std::string expected = decl.kind == OutputDecl::Kind::kNone ? "none" : describe(row_major);
        const std::string found = given.data == nullptr && fits ? "data NULL" : describe(given);
        return invalid_argument(concat("output `", name, "` is ", expected, ", row-major; found ", found))
            .with("output", name)
            .with("expected", expected)
            .with("found", found);
      }
      result.data = given.data;
    } else if (decl.kind == OutputDecl::Kind::kBuffer && !output.is_view) {
      if (output.own == nullptr || output.own->size_bytes() < size_t(shape.bytes) || output.own->is_shared()) {
        if (output.own != nullptr) output.own->release();
        output.own = tenon_buffer::create(function_.shared_context(), size_t(shape.bytes));
        if (output.own == nullptr) return Status::out_of_memory();
      }
      result.data = output.own->data();
    } else if (shape.scalar) {
      result.data = &output.number;
    }
    output_places_[i] = result.data;
  }
  outputs_changed_ = false;
  pointers_changed_ = true;
  return {};
}

Status Call::collect_outputs() {
  const artifact::Artifact& a = entry_->executable->artifact();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = *outputs_[i];
    const OutputDecl& decl = a.outputs[i];
    if (decl.kind == OutputDecl::Kind::kNone) continue;
    if (decl.kind != OutputDecl::Kind::kBuffer) {
      output.number = number_of(decl);
      if (output.caller.bound) std::memcpy(output.caller.tensor.data, &output.number, size_t(output.bytes));
      continue;
    }
    if (output.is_view) {
      const tenon_tensor_t& input = input_tensors_[size_t(decl.alias_input)];
      tenon_tensor_t view = output.result;
      view.data = static_cast<char*>(input.data) + frame_.registers()[decl.offset] * int64_t(size_bytes(decl.dtype));
      if (output.caller.bound) {
        copy_to_row_major(view, output.caller.tensor.data);
      } else {
        output.result = view;
      }
      continue;
    }
    // A value that several outputs show, or that lives elsewhere (a state, a constant), is computed once and copied.
    const artifact::Buffer& buffer = a.buffers[decl.buffer];
    const bool in_place = buffer.kind == artifact::BufferKind::kOutput && buffer.index == i;
    if (!in_place && output.bytes > 0)
      std::memmove(output.result.data, frame_.buffer(decl.buffer), size_t(output.bytes));
  }
  return {};
}

Status Call::output(size_t index, tenon_tensor_t* out) const {
  if (index >= outputs_.size()) {
    return invalid_argument(concat("`index`: the function has ", outputs_.size(), " outputs, found ", index))
        .with("input", "index");
  }
  if (!has_results_) return failed_precondition("the call has not run to its end");
  *out = outputs_[index]->result;
  if (outputs_[index]->caller.bound) {
    // The caller's dims may go; ours stay.
    out->owner = outputs_[index]->caller.tensor.owner;
  }
  return {};
}

Status Call::take_output(size_t index, tenon_tensor_t* out) {
  TENON_RETURN_IF_ERROR(output(index, out));
  Output& output = *outputs_[index];
  if (output.caller.bound || out->dtype == 0) return {};
  tenon_buffer* owner = output.own;
  if (output.is_view) {
    const auto& decl = entry_->executable->artifact().outputs[index];
    owner = tenon_buffer::view(function_.shared_context(), out->data, size_t(output.bytes),
                               input_tensors_[size_t(decl.alias_input)].owner);
  } else if (owner == nullptr || (out->flags & TENON_TYPE_SCALAR) != 0) {
    owner = tenon_buffer::create(function_.shared_context(), size_t(output.bytes));
    if (owner != nullptr) {
      std::memcpy(owner->data(), &output.number, size_t(output.bytes));
      out->data = owner->data();
    }
  } else {
    output.own = nullptr;
    outputs_changed_ = true;
  }
  if (owner == nullptr) return Status::out_of_memory();
  std::copy(output.dims, output.dims + out->rank, owner->dims);
  std::copy(output.strides, output.strides + out->rank, owner->strides);
  out->dims = owner->dims;
  out->strides = owner->strides;
  out->owner = owner;
  return {};
}

Status Call::output_type(size_t index, tenon_type_t* out, std::vector<int64_t>& dims, std::vector<int64_t>& strides) {
  TENON_RETURN_IF_ERROR(not_running());
  TENON_RETURN_IF_ERROR(resolve(false));
  TENON_ASSIGN_OR_RETURN(const OutputShape shape,
                         shape_of(entry_->executable->artifact().outputs[index], frame_.registers()));
  dims.assign(shape.dims, shape.dims + shape.rank);
  strides.assign(shape.strides, shape.strides + shape.rank);
  *out = tenon_type_t{};
  out->dtype = shape.dtype;
  out->device_kind = TENON_DEVICE_CPU;
  out->rank = shape.rank;
  out->flags = shape.scalar ? TENON_TYPE_SCALAR : 0;
  out->dims = dims.data();
  out->strides = strides.data();
  return {};
}

}  // namespace tenon::runtime
