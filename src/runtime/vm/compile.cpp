#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/vm/code.hpp"
#include "support/format.hpp"

namespace tenon::runtime::vm {

namespace {

using artifact::Address;
using artifact::BodyOp;
using artifact::ScalarOp;

uint32_t align(uint32_t value) { return (value + 63) / 64 * 64; }

// Block registers of one width. Bodies run one after another, so each begins with all of them free.
class Registers {
 public:
  explicit Registers(uint32_t& storage) : storage_(storage) {}

  void release_all() {
    for (auto& [bytes, pool] : pools_) pool.free = pool.all;
  }
  uint32_t take(uint32_t bytes) {
    Pool& pool = pools_[bytes];
    if (pool.free.empty()) {
      pool.all.push_back(storage_);
      storage_ = align(storage_ + bytes * uint32_t(kBlock));
      return pool.all.back();
    }
    const uint32_t home = pool.free.back();  // the one used last is in the cache
    pool.free.pop_back();
    return home;
  }
  void give(uint32_t bytes, uint32_t home) { pools_[bytes].free.push_back(home); }

 private:
  struct Pool {
    std::vector<uint32_t> all, free;
  };
  uint32_t& storage_;
  std::map<uint32_t, Pool> pools_;
};

class Compiler {
 public:
  Compiler(const artifact::KernelProgram& program, Code& code)
      : p_(program), code_(code), registers_(code.storage_bytes) {}

  Status compile() {
    code_.kind = p_.kind;
    code_.parameters = p_.parameters;
    code_.outer = p_.outer;
    code_.packed_b = p_.packed_b;
    for (uint32_t i = 0; i < p_.row_count; ++i) rows_.push_back(take_slot());
    code_.stages.resize(p_.stages.size());
    for (size_t i = 0; i < p_.stages.size(); ++i) TENON_RETURN_IF_ERROR(compile_stage(p_.stages[i], code_.stages[i]));
    code_.has_init = p_.init.present();
    code_.has_prologue = p_.prologue_a.present();
    code_.has_score = p_.score.present();
    TENON_RETURN_IF_ERROR(compile_hook(p_.init, 3, code_.init));
    TENON_RETURN_IF_ERROR(compile_hook(p_.prologue_a, 3, code_.prologue));
    TENON_RETURN_IF_ERROR(compile_hook(p_.epilogue, 3, code_.epilogue));
    TENON_RETURN_IF_ERROR(compile_hook(p_.score, 4, code_.score));
    TENON_RETURN_IF_ERROR(compile_hook(p_.store, 4, code_.store));

    const auto room = [](size_t count, size_t size) { return (count * size + 63) / 64 * 64; };
    code_.at_offset = 0;
    code_.places_offset = code_.at_offset + room(code_.values.size(), sizeof(char*));
    code_.terms_offset = code_.places_offset + room(code_.places.size(), sizeof(Place));
    code_.parameters_offset = code_.terms_offset + room(code_.terms.size(), sizeof(long));
    code_.storage_offset = code_.parameters_offset + room(code_.parameters.size(), sizeof(char*));
    code_.fixed_bytes = code_.storage_offset + align(code_.storage_bytes);
    return {};
  }

 private:
  uint32_t take_slot() {
    const uint32_t home = code_.storage_bytes;
    code_.storage_bytes += kSlotBytes;
    return home;
  }
  uint32_t take_value(uint32_t home, bool constant = false) {
    code_.values.push_back({home, constant});
    return uint32_t(code_.values.size() - 1);
  }

  // Axes of the body under way: [0, outer) outer, [outer, axes - 1) of the stage, the last one the vector axis if
  // there is one.
  struct Axes {
    int outer = 0, all = 0;
    bool vector = false;
    Level level(int axis) const {
      if (axis < outer) return kOuter;
      return vector && axis == all - 1 ? kEach : kRow;
    }
  };

  int32_t add_place(int32_t parameter, const Address& address, const Axes& axes, Body& body) {
    PlaceCode place;
    place.parameter = parameter;
    place.base = address.base;
    place.first_term = place.outer_end = place.inner_end = uint32_t(code_.terms.size());
    for (const artifact::AddressTerm& term : address.terms) {  // ascending: outer ones first
      if (axes.level(term.axis) == kEach) {
        place.stride = term.coefficient;
        continue;
      }
      code_.terms.push_back({term.axis, term.coefficient});
      place.inner_end = uint32_t(code_.terms.size());
      if (axes.level(term.axis) == kOuter) place.outer_end = place.inner_end;
    }
    const int32_t index = int32_t(code_.places.size());
    code_.places.push_back(place);
    if (place.inner_end > place.outer_end) body.row_places.push_back(uint32_t(index));
    return index;
  }

  Level address_level(const Address& address, const std::vector<Level>& levels, const Axes& axes) const {
    Level level = address.dynamic >= 0 ? levels[address.dynamic] : kCall;
    for (const artifact::AddressTerm& term : address.terms) level = std::max(level, axes.level(term.axis));
    return level;
  }

  std::vector<Level> find_levels(const std::vector<BodyOp>& ops, const Axes& axes) const {
    std::vector<Level> levels;
    for (const BodyOp& op : ops) {
      Level level = kCall;
      for (int32_t operand : {op.a, op.b, op.c}) {
        if (operand >= 0) level = std::max(level, levels[operand]);
      }
      switch (op.op) {
        case ScalarOp::kIndex: level = axes.level(int(op.bits)); break;
        case ScalarOp::kRow: level = kOuter; break;
        case ScalarOp::kAccumulator: level = kEach; break;
        case ScalarOp::kLoad:
        case ScalarOp::kMaskedLoad: level = std::max({level, kOuter, address_level(op.address, levels, axes)}); break;
        default:
          // What can fail waits until it is known that the stage has points at all.
          if (op.a >= 0 && artifact::can_fail(op.op, ops[op.a].dtype)) level = std::max(level, kOuter);
          break;
      }
      levels.push_back(level);
    }
    return levels;
  }

  struct Uses {
    const std::vector<artifact::Store>* stores = nullptr;
    std::vector<int32_t> blocks;  // values that reductions and yields want as blocks
  };

  // Compiles `ops` into `body`; `values` maps operations to values, blocks[i] is the block form of uses.blocks[i].
  Status compile_body(const std::vector<BodyOp>& ops, const Axes& axes, const Uses& uses, Body& body,
                      std::vector<uint32_t>& values, std::vector<uint32_t>& blocks) {
    registers_.release_all();
    body.first_place = uint32_t(code_.places.size());
    const std::vector<Level> levels = find_levels(ops, axes);
    // Where a block register is needed for the last time: an operation, or the end.
    const size_t end = ops.size();
    std::vector<size_t> last(ops.size(), 0);
    for (size_t i = 0; i < ops.size(); ++i) {
      for (int32_t operand : {ops[i].a, ops[i].b, ops[i].c, ops[i].address.dynamic}) {
        if (operand >= 0) last[operand] = i;
      }
    }
    std::vector<int> stored(ops.size(), 0);
    for (const artifact::Store& store : *uses.stores) {
      last[store.value] = end;
      ++stored[store.value];
      if (store.address.dynamic >= 0) last[store.address.dynamic] = end;
    }
    for (int32_t value : uses.blocks) last[value] = end;

    values.assign(ops.size(), 0);
    for (size_t i = 0; i < ops.size(); ++i) {
      const BodyOp& op = ops[i];
      const uint32_t bytes = uint32_t(size_bytes(op.dtype));
      const bool each = levels[i] == kEach;
      if (op.op == ScalarOp::kConstant) {
        values[i] = take_value(uint32_t(code_.constants.size()), true);
        Slot& slot = code_.constants.emplace_back();
        std::memcpy(slot.bytes, &op.bits, bytes);
        if (op.dtype == DType::kBool) slot.bytes[0] = op.bits != 0;
        code_.level->splat(slot.bytes, int(bytes));
        continue;
      }
      if (op.op == ScalarOp::kRow) {
        values[i] = take_value(rows_[op.bits]);
        continue;
      }
      if (op.op == ScalarOp::kAccumulator) {
        values[i] = take_value(0);
        body.accumulators.push_back(values[i]);
        continue;
      }
      Op out;
      out.bytes = uint8_t(bytes);
      out.bits = op.bits;
      const int32_t operands[] = {op.a, op.b, op.c};
      for (int k = 0; k < 3; ++k) {
        if (operands[k] < 0) continue;
        out.operand[k] = values[operands[k]];
        if (levels[operands[k]] == kEach) out.varies |= 1u << k;
      }
      if (op.address.dynamic >= 0) set_computed(out, op.address.dynamic, levels, values);
      // Registers of operands that end here may take the result: loops read an element before they write it.
      if (each) release_dead(ops, levels, last, i);
      out.home = each ? registers_.take(bytes) : take_slot();
      home_[i] = out.home;
      values[i] = out.value = take_value(out.home);
      switch (op.op) {
        case ScalarOp::kSize: body.sizes.push_back({op.size, out.home}); continue;
        case ScalarOp::kIndex:
          if (!each) {
            body.indices[levels[i] == kRow].push_back({int(op.bits), out.home});
            continue;
          }
          out.run = code_.level->find(op.op, op.dtype, op.dtype);
          break;
        case ScalarOp::kLoad:
          out.place = add_place(op.parameter, op.address, axes, body);
          out.run = code_.level->find_load(int(bytes));
          // A block read in place must not change before it is used: stores of other values come first.
          out.in_place = each && (stored[i] == 0 || uses.stores->size() == 1);
          break;
        case ScalarOp::kMaskedLoad:
          out.place = add_place(op.parameter, op.address, axes, body);
          out.run = code_.level->find_masked_load(int(bytes));
          break;
        default: {
          const DType operand = op.a >= 0 && op.op != ScalarOp::kSelect ? ops[op.a].dtype : op.dtype;
          out.run = code_.level->find(op.op, op.dtype, operand);
          out.can_fail = artifact::can_fail(op.op, operand);
          break;
        }
      }
      if (out.run == nullptr) {
        return unimplemented(concat("vm: `", name(op.op), "` of ", name(op.dtype), " in kernel program `", p_.name, "`"));
      }
      body.ops[levels[i]].push_back(out);
    }
    home_.clear();

    // Slots that are wanted as blocks.
    std::vector<uint32_t> store_values;
    for (const artifact::Store& store : *uses.stores) {
      store_values.push_back(axes.vector ? block_of(store.value, ops, levels, values, body) : values[store.value]);
    }
    blocks.clear();
    for (int32_t value : uses.blocks) blocks.push_back(block_of(value, ops, levels, values, body));

    for (size_t i = 0; i < uses.stores->size(); ++i) {
      const artifact::Store& store = (*uses.stores)[i];
      Op out;
      out.bytes = uint8_t(size_bytes(ops[store.value].dtype));
      out.value = store_values[i];
      out.place = add_place(store.parameter, store.address, axes, body);
      out.run = code_.level->find_store(out.bytes);
      if (store.address.dynamic >= 0) set_computed(out, store.address.dynamic, levels, values);
      body.stores.push_back(out);
    }
    if (uses.blocks.empty()) aim_last(body);
    body.last_place = uint32_t(code_.places.size());
    return {};
  }

  static void set_computed(Op& out, int32_t dynamic, const std::vector<Level>& levels,
                           const std::vector<uint32_t>& values) {
    out.computed = true;
    out.operand[2] = values[dynamic];
    if (levels[dynamic] == kEach) out.varies |= 4;
  }

  void release_dead(const std::vector<BodyOp>& ops, const std::vector<Level>& levels, const std::vector<size_t>& last,
                    size_t at) {
    int32_t seen[4];
    int count = 0;
    for (int32_t operand : {ops[at].a, ops[at].b, ops[at].c, ops[at].address.dynamic}) {
      if (operand < 0 || levels[operand] != kEach || last[operand] != at) continue;
      if (std::find(seen, seen + count, operand) != seen + count) continue;
      seen[count++] = operand;
      const auto found = home_.find(size_t(operand));
      if (found != home_.end()) registers_.give(uint32_t(size_bytes(ops[operand].dtype)), found->second);
    }
  }

  uint32_t block_of(int32_t value, const std::vector<BodyOp>& ops, const std::vector<Level>& levels,
                    const std::vector<uint32_t>& values, Body& body) {
    if (levels[value] == kEach) return values[value];
    Op out;
    out.bytes = uint8_t(size_bytes(ops[value].dtype));
    out.operand[0] = values[value];
    out.home = registers_.take(out.bytes);
    out.value = take_value(out.home);
    out.run = code_.level->find_fill(out.bytes);
    body.ops[kEach].push_back(out);
    return out.value;
  }

  // The last operation writes straight to where its value is stored. Earlier ones must not: what they overwrite might
  // be read by those after them.
  void aim_last(Body& body) {
    std::vector<Op>& ops = body.ops[kEach];
    if (ops.empty()) return;
    Op& last = ops.back();
    const Op* to = nullptr;
    for (const Op& store : body.stores) {
      if (store.value != last.value) continue;
      if (to != nullptr || store.computed) return;
      to = &store;
    }
    if (to == nullptr) return;
    if (last.place >= 0 && body.stores.size() > 1) return;
    last.aimed = true;
    Op aim;
    aim.run = code_.level->aim;
    aim.value = last.value;
    aim.home = last.home;
    aim.bytes = last.bytes;
    aim.place = to->place;
    ops.insert(ops.end() - 1, aim);
  }

  Status compile_stage(const artifact::Stage& stage, StageCode& out) {
    out.axes = stage.axes;
    out.kind = stage.axes.empty()           ? StageKind::kScalar
               : stage.axes.back().reduced  ? StageKind::kReduce
               : stage.axes.front().reduced ? StageKind::kColumn
                                            : StageKind::kMap;
    Axes axes{int(p_.outer.size()), int(p_.outer.size() + stage.axes.size()), !stage.axes.empty()};
    if (axes.all > kMaxAxes) return unimplemented(concat("vm: more than ", kMaxAxes, " axes in `", p_.name, "`"));
    Uses uses{&stage.stores, {}};
    for (const artifact::Reduction& r : stage.reductions) uses.blocks.push_back(r.value);
    std::vector<uint32_t> values, blocks;
    TENON_RETURN_IF_ERROR(compile_body(stage.body, axes, uses, out.body, values, blocks));
    const bool column = out.kind == StageKind::kColumn;
    for (size_t i = 0; i < stage.reductions.size(); ++i) {
      const artifact::Reduction& r = stage.reductions[i];
      ReductionCode code;
      code.reducer = column ? code_.level->find_column_reducer(r.combiner, r.dtype)
                            : code_.level->find_row_reducer(r.combiner, r.dtype);
      if (code.reducer.add == nullptr) {
        return unimplemented(concat("vm: reduction ", name(r.combiner), " of ", name(r.dtype), " in `", p_.name, "`"));
      }
      code.value = blocks[i];
      code.positions = r.combiner == artifact::Combiner::kArgMax || r.combiner == artifact::Combiner::kArgMin;
      code.bytes = code.positions ? 8 : uint32_t(size_bytes(r.dtype));
      const uint32_t lanes = column ? uint32_t(kBlock) : 32;
      for (uint32_t* home : {&code.total, &code.part, &code.index}) {
        *home = code_.storage_bytes;
        code_.storage_bytes += align(lanes * 8);
      }
      if (column) {
        code.store.bytes = uint8_t(code.bytes);
        code.store.value = take_value(code.positions ? code.index : code.total);
        code.store.place = add_place(r.parameter, r.address, axes, out.body);
        code.store.run = code_.level->find_store(code.store.bytes);
        out.body.last_place = uint32_t(code_.places.size());
      } else {
        code.row = rows_[r.row];
      }
      out.reductions.push_back(code);
    }
    for (const artifact::RowValue& row : stage.rows) out.rows.push_back({values[row.value], rows_[row.row]});
    return {};
  }

  Status compile_hook(const artifact::Hook& hook, int axis_count, Body& out) {
    if (!hook.present()) return {};
    const Axes axes{0, axis_count, true};
    Uses uses{&hook.stores, {}};
    if (hook.yield >= 0) uses.blocks.push_back(hook.yield);
    std::vector<uint32_t> values, blocks;
    TENON_RETURN_IF_ERROR(compile_body(hook.body, axes, uses, out, values, blocks));
    if (hook.yield >= 0) out.yield = blocks[0];
    return {};
  }

  const artifact::KernelProgram& p_;
  Code& code_;
  Registers registers_;
  std::vector<uint32_t> rows_;          // homes of the row slots
  std::map<size_t, uint32_t> home_;     // of the body's values so far
};

}  // namespace

Status compile(const artifact::KernelProgram& program, Code& code) { return Compiler(program, code).compile(); }

}  // namespace tenon::runtime::vm
