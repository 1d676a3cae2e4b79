#include "runtime/vm/execute.hpp"

#include <cstring>

namespace tenon::runtime::vm {

Execution::Execution(const Code& code, const tenon_kernel_args* args, void* scratch) : code_(code), args_(args) {
  char* base = static_cast<char*>(scratch);
  frame_.at = reinterpret_cast<char**>(base + code.at_offset);
  frame_.places = reinterpret_cast<Place*>(base + code.places_offset);
  frame_.storage = base + code.storage_offset;
  frame_.position = 0;
  frame_.failure = args->failure;
  frame_.failed = false;
  terms_ = reinterpret_cast<long*>(base + code.terms_offset);
  parameters_ = reinterpret_cast<char**>(base + code.parameters_offset);
  rest_ = base + code.fixed_bytes;

  size_t buffer = 0;
  for (size_t i = 0; i < code.parameters.size(); ++i) {
    const artifact::Parameter& p = code.parameters[i];
    if (p.kind == artifact::ParameterKind::kBuffer) {
      parameters_[i] = static_cast<char*>(args->buffers[buffer++]);
    } else {
      parameters_[i] = rest_;
      rest_ += artifact::local_bytes(p, args->sizes);
    }
  }
  for (size_t i = 0; i < code.terms.size(); ++i) terms_[i] = resolve(code.terms[i].coefficient, args->sizes);
  for (size_t i = 0; i < code.places.size(); ++i) {
    const PlaceCode& from = code.places[i];
    const long start = resolve(from.base, args->sizes);
    frame_.places[i] = {parameters_[from.parameter], start, start, start, resolve(from.stride, args->sizes)};
  }
  for (size_t i = 0; i < code.values.size(); ++i) {
    const Code::Value& v = code.values[i];
    frame_.at[i] = v.constant ? const_cast<char*>(code.constants[v.home].bytes) : frame_.storage + v.home;
  }
}

void Execution::set_slot(uint32_t home, long value) {
  std::memcpy(frame_.storage + home, &value, sizeof value);
  code_.level->splat(frame_.storage + home, sizeof value);
}

void Execution::set_indices(const std::vector<IndexCode>& indices) {
  for (const IndexCode& index : indices) set_slot(index.home, axis_[index.axis]);
}

bool Execution::run_slots(const std::vector<Op>& ops) {
  for (const Op& op : ops) {
    op.run(frame_, op, 1);
    if (op.can_fail && frame_.failed) return false;
    code_.level->splat(frame_.at[op.value], op.bytes);
  }
  return true;
}

bool Execution::run_block(const Body& body, long count) {
  for (const Op& op : body.ops[kEach]) {
    op.run(frame_, op, count);
    if (op.can_fail && frame_.failed) return false;
  }
  return true;
}

void Execution::begin_body(const Body& body) {
  for (const SizeCode& size : body.sizes) set_slot(size.home, resolve(size.size, args_->sizes));
  run_slots(body.ops[kCall]);
}

bool Execution::begin_point(const Body& body) {
  set_indices(body.indices[0]);
  return run_slots(body.ops[kOuter]);
}

bool Execution::begin_row(const Body& body) {
  for (const uint32_t i : body.row_places) {
    const PlaceCode& place = code_.places[i];
    long offset = frame_.places[i].outer;
    for (uint32_t t = place.outer_end; t < place.inner_end; ++t) offset += terms_[t] * axis_[code_.terms[t].axis];
    frame_.places[i].offset = offset;
  }
  set_indices(body.indices[1]);
  return run_slots(body.ops[kRow]);
}

void Execution::run_nest(long first, long last) {
  if (first >= last) return;
  for (const StageCode& stage : code_.stages) begin_body(stage.body);
  const int outer = int(code_.outer.size());
  long extent[kMaxAxes];
  long rest = first;
  for (int i = outer - 1; i >= 0; --i) {
    extent[i] = resolve(code_.outer[i], args_->sizes);
    axis_[i] = extent[i] > 0 ? rest % extent[i] : 0;
    rest = extent[i] > 0 ? rest / extent[i] : 0;
  }
  for (long tile = first; tile < last && !frame_.failed; ++tile) {
    for (const StageCode& stage : code_.stages) {
      run_stage(stage);
      if (frame_.failed) return;
    }
    for (int i = outer - 1; i >= 0 && ++axis_[i] >= extent[i]; --i) axis_[i] = 0;
  }
}

void Execution::run_stage(const StageCode& stage) {
  const int outer = int(code_.outer.size()), count = int(stage.axes.size());
  for (uint32_t i = stage.body.first_place; i < stage.body.last_place; ++i) {
    const PlaceCode& place = code_.places[i];
    long offset = frame_.places[i].base;
    for (uint32_t t = place.first_term; t < place.outer_end; ++t) offset += terms_[t] * axis_[code_.terms[t].axis];
    frame_.places[i].outer = frame_.places[i].offset = offset;
  }
  bool empty = false;
  for (int i = 0; i < count; ++i) {
    const artifact::StageAxis& axis = stage.axes[i];
    long begin = 0, end = resolve(axis.extent, args_->sizes);
    if (axis.block > 0) {
      begin = axis_[axis.outer_axis] * axis.block;
      end = end < begin + axis.block ? end : begin + axis.block;
    }
    begin_[i] = axis_[outer + i] = begin;
    end_[i] = end;
    empty = empty || end <= begin;
  }
  frame_.position = 0;
  if (empty) {
    // Nothing to evaluate; reductions give their identities.
    if (stage.kind == StageKind::kReduce) {
      for (const ReductionCode& r : stage.reductions) accumulate(stage, r, r.reducer.begin, 0);
      finish_rows(stage);
    } else if (stage.kind == StageKind::kColumn && end_[count - 1] > begin_[count - 1]) {
      run_columns(stage);
    }
    return;
  }
  if (!begin_point(stage.body)) return;
  switch (stage.kind) {
    case StageKind::kScalar:
      for (const Op& store : stage.body.stores) store.run(frame_, store, 1);
      for (const RowCode& row : stage.rows) {
        if (frame_.at[row.value] != frame_.storage + row.row) {
          std::memcpy(frame_.storage + row.row, frame_.at[row.value], kSlotBytes);
        }
      }
      break;
    case StageKind::kMap:
    case StageKind::kReduce: run_rows(stage); break;
    case StageKind::kColumn: run_columns(stage); break;
  }
}

// Steps the stage's axes but the last, row-major; false after the last row.
bool Execution::next_row(const StageCode& stage) {
  const int outer = int(code_.outer.size());
  for (int i = int(stage.axes.size()) - 2; i >= 0; --i) {
    if (++axis_[outer + i] < end_[i]) return true;
    axis_[outer + i] = begin_[i];
  }
  return false;
}

Accumulator Execution::accumulator(const ReductionCode& r) {
  return {frame_.storage + r.total, frame_.storage + r.part, reinterpret_cast<long*>(frame_.storage + r.index)};
}

void Execution::accumulate(const StageCode&, const ReductionCode& r, void (*step)(Accumulator&, long), long count) {
  if (step == nullptr) return;
  Accumulator to = accumulator(r);
  step(to, count);
}

void Execution::finish_rows(const StageCode& stage) {
  for (const ReductionCode& r : stage.reductions) {
    Accumulator to = accumulator(r);
    r.reducer.finish(to, frame_.storage + r.row);
    code_.level->splat(frame_.storage + r.row, int(r.bytes));
  }
}

void Execution::run_rows(const StageCode& stage) {
  const int outer = int(code_.outer.size()), vector = int(stage.axes.size()) - 1;
  const bool reduces = stage.kind == StageKind::kReduce;
  const long begin = begin_[vector], end = end_[vector];
  constexpr long kBlocksPerChunk = target::kReduceChunk / kBlock;
  static_assert(target::kReduceChunk % kBlock == 0 && kBlock % target::kReduceLanes == 0);
  if (reduces) {
    for (const ReductionCode& r : stage.reductions) accumulate(stage, r, r.reducer.begin, 0);
  }
  do {
    frame_.position = begin;
    if (!begin_row(stage.body)) return;
    long row_position = 0;  // of the row's first point along the reduced axes
    if (reduces) {
      for (int i = 0; i <= vector; ++i) {
        row_position = row_position * resolve(stage.axes[i].extent, args_->sizes) + (i < vector ? axis_[outer + i] : begin);
      }
    }
    long blocks = 0;
    for (long at = begin; at < end; at += kBlock) {
      const long count = end - at < kBlock ? end - at : kBlock;
      frame_.position = at;
      if (!run_block(stage.body, count)) return;
      if (reduces) {
        const bool chunk_ends = ++blocks % kBlocksPerChunk == 0 || at + kBlock >= end;
        for (const ReductionCode& r : stage.reductions) {
          Accumulator to = accumulator(r);
          r.reducer.add(to, frame_.at[r.value], count, row_position + (at - begin));
          if (chunk_ends && r.reducer.chunk != nullptr) r.reducer.chunk(to, count);
        }
      }
      for (const Op& store : stage.body.stores) store.run(frame_, store, count);
    }
  } while (next_row(stage));
  if (reduces) finish_rows(stage);
}

void Execution::run_columns(const StageCode& stage) {
  const int outer = int(code_.outer.size()), vector = int(stage.axes.size()) - 1;
  bool empty = false;
  for (int i = 0; i < vector; ++i) empty = empty || end_[i] <= begin_[i];
  for (long at = begin_[vector]; at < end_[vector]; at += kBlock) {
    const long count = end_[vector] - at < kBlock ? end_[vector] - at : kBlock;
    for (const ReductionCode& r : stage.reductions) accumulate(stage, r, r.reducer.begin, count);
    if (!empty) {
      long chunk = 0;
      do {
        frame_.position = at;
        if (!begin_row(stage.body) || !run_block(stage.body, count)) return;
        long position = 0;
        for (int i = 0; i < vector; ++i) {
          position = position * resolve(stage.axes[i].extent, args_->sizes) + axis_[outer + i];
        }
        const bool chunk_ends = ++chunk == target::kSerialReduceChunk || axis_[outer + vector - 1] + 1 == end_[vector - 1];
        if (chunk_ends) chunk = 0;
        for (const ReductionCode& r : stage.reductions) {
          Accumulator to = accumulator(r);
          r.reducer.add(to, frame_.at[r.value], count, position);
          if (chunk_ends && r.reducer.chunk != nullptr) r.reducer.chunk(to, count);
        }
        for (const Op& store : stage.body.stores) store.run(frame_, store, count);
      } while (next_row(stage));
    }
    frame_.position = at;
    for (const ReductionCode& r : stage.reductions) {
      if (empty && r.positions) std::memset(frame_.storage + r.index, 0, size_t(count) * sizeof(long));
      r.store.run(frame_, r.store, count);
    }
  }
}

}  // namespace tenon::runtime::vm
