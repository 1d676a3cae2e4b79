#include <algorithm>

#include "schedule/body.hpp"
#include "schedule/emit.hpp"
#include "schedule/group.hpp"

namespace tenon::schedule {

using artifact::KernelProgram;
using artifact::ParameterKind;
using artifact::ScalarOp;
using artifact::Stage;
using loop::Axis;
using loop::Nest;
using loop::ScalarId;
using symbolic::SymbolId;

namespace {

// Elements of a stage that one tile takes when a kernel has a single axis.
constexpr int64_t kSplitBlock = 1024;

// A nest on its way into a stage.
struct Piece {
  const Nest* nest = nullptr;
  ScalarId value;
  Expr store;                   // where the result of a point goes in its buffer
  Expr base;                    // the part of `store` that the outer point gives
  Expr width;                   // elements for one outer point
  bool is_reduction() const { return nest->combiner.has_value(); }
};

enum class StageKind : uint8_t {
  kMap,     // nothing is reduced
  kRow,     // pieces reduce over all axes, or store at every point
  kColumn,  // all axes but the last are reduced
};

struct StagePlan {
  StageKind kind = StageKind::kMap;
  std::vector<Axis> axes;  // vector axis last
  std::vector<Piece> pieces;
};

class NestEmitter {
 public:
  NestEmitter(Module& module, const Group& group, const std::vector<bool>& outside)
      : module_(module), group_(group), outside_(outside), frame_(module) {}

  Result<Launch> run() {
    collect();
    merge_outer();
    if (!group_.outer_is_fixed) take_vector_axis();
    for (StagePlan& stage : stages_) merge_stage_axes(stage);
    return emit();
  }

 private:
  symbolic::Pool& pool() { return module_.scalars.pool(); }
  symbolic::Facts& facts() { return module_.scalars.facts(); }

  // One set of outer symbols for all nests; nests over the same points share a stage.
  void collect() {
    const Nest& first = *module_.statements[group_.statements[0]].nest;
    const size_t shared = group_.outer_is_fixed ? group_.outer.size() : first.mapped.size();
    outer_.assign(first.mapped.begin(), first.mapped.begin() + long(shared));
    for (uint32_t index : group_.statements) {
      const Nest& nest = *module_.statements[index].nest;
      Piece piece;
      piece.nest = &nest;
      std::vector<SymbolId> from;
      std::vector<Expr> to;
      Expr position = pool().constant(0);
      for (size_t d = 0; d < shared; ++d) {
        from.push_back(nest.mapped[d].symbol);
        to.push_back(pool().of(outer_[d].symbol));
        position = pool().add(pool().mul(position, nest.mapped[d].extent), to.back());
      }
      piece.width = pool().constant(1);
      Expr inner = pool().constant(0);
      const std::vector<Axis> own(nest.mapped.begin() + long(shared), nest.mapped.end());
      for (const Axis& axis : own) {
        piece.width = pool().mul(piece.width, axis.extent);
        inner = pool().add(pool().mul(inner, axis.extent), pool().of(axis.symbol));
      }
      piece.base = facts().simplify(pool().mul(position, piece.width));
      piece.store = facts().simplify(pool().add(piece.base, inner));
      piece.value = module_.scalars.substitute(nest.value, from, to);
      StageKind kind = StageKind::kMap;
      std::vector<Axis> axes = own;
      if (nest.combiner) {
        kind = own.empty() ? StageKind::kRow : StageKind::kColumn;
        axes = nest.reduced;
        axes.insert(axes.end(), own.begin(), own.end());
      }
      if (!join_last(piece, kind, axes)) stages_.push_back({kind, std::move(axes), {std::move(piece)}});
    }
  }

  // Puts a piece into the last stage when both run over the same points and it needs no result that is complete only
  // after that stage. What the stage stores is then used while it is at hand.
  bool join_last(Piece& piece, StageKind kind, std::span<const Axis> axes) {
    if (stages_.empty()) return false;
    StagePlan& stage = stages_.back();
    if (kind == StageKind::kColumn || stage.kind == StageKind::kColumn || stage.axes.size() != axes.size()) return false;
    if (axes.empty() && group_.outer_is_fixed) return false;  // scalar stages stand alone: they give row values
    std::vector<SymbolId> from;
    std::vector<Expr> to;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (!facts().provably_equal(stage.axes[d].extent, axes[d].extent)) return false;
      from.push_back(axes[d].symbol);
      to.push_back(pool().of(stage.axes[d].symbol));
    }
    Piece moved = piece;
    substitute(moved, from, to);
    for (const Piece& before : stage.pieces) {
      const BufferId buffer = before.nest->output;
      bool reads = false, at_hand = !before.is_reduction();
      for (ScalarId id : module_.scalars.postorder(std::span(&moved.value, 1))) {
        const loop::Scalar& s = module_.scalars[id];
        if ((s.op != ScalarOp::kLoad && s.op != ScalarOp::kMaskedLoad) || s.buffer != buffer) continue;
        reads = true;
        at_hand = at_hand && s.op == ScalarOp::kLoad && facts().provably_equal(s.index, before.store);
      }
      if (!reads) continue;
      if (!at_hand) return false;
      moved.value = module_.scalars.replace_loads(moved.value, buffer, before.value);
    }
    if (kind == StageKind::kRow) stage.kind = StageKind::kRow;
    stage.pieces.push_back(std::move(moved));
    return true;
  }

  // Every index expression of a piece.
  void add_indices(const Piece& piece, std::vector<Expr>& list) {
    for (ScalarId id : module_.scalars.postorder(std::span(&piece.value, 1))) {
      const loop::Scalar& s = module_.scalars[id];
      if (s.op == ScalarOp::kIndex || s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) list.push_back(s.index);
    }
    list.push_back(piece.store);
    list.push_back(piece.base);
  }

  // Can (outer, inner) run as one axis? Where both occur, the outer step must be the inner one times its extent.
  bool mergeable(const Axis& outer, const Axis& inner, std::span<const Expr> indices) {
    const SymbolId symbols[] = {outer.symbol, inner.symbol};
    for (Expr index : indices) {
      auto affine = pool().affine(index, symbols);
      if (!affine) return false;
      const Expr whole = pool().mul(affine->coefficients[1], inner.extent);
      if (!facts().provably_equal(affine->coefficients[0], whole)) return false;
    }
    return true;
  }

  void substitute(Piece& piece, std::span<const SymbolId> from, std::span<const Expr> to) {
    piece.value = module_.scalars.substitute(piece.value, from, to);
    piece.store = facts().simplify(pool().substitute(piece.store, from, to));
    piece.base = facts().simplify(pool().substitute(piece.base, from, to));
  }

  Axis merged_axis(const Axis& outer, const Axis& inner) {
    Axis merged;
    merged.extent = pool().mul(outer.extent, inner.extent);
    merged.symbol = pool().fresh_symbol("i", symbolic::SymbolKind::kIndex);
    facts().set_index_bound(merged.symbol, merged.extent);
    return merged;
  }

  void merge_outer() {
    for (size_t d = outer_.size(); d-- > 1;) {
      std::vector<Expr> indices;
      for (const StagePlan& stage : stages_) {
        for (const Piece& piece : stage.pieces) add_indices(piece, indices);
      }
      if (!mergeable(outer_[d - 1], outer_[d], indices)) continue;
      const Axis merged = merged_axis(outer_[d - 1], outer_[d]);
      const SymbolId from[] = {outer_[d - 1].symbol, outer_[d].symbol};
      const Expr to[] = {pool().constant(0), pool().of(merged.symbol)};
      for (StagePlan& stage : stages_) {
        for (Piece& piece : stage.pieces) substitute(piece, from, to);
      }
      outer_[d - 1] = merged;
      outer_.erase(outer_.begin() + long(d));
    }
  }

  void merge_stage_axes(StagePlan& stage) {
    for (const Piece& piece : stage.pieces) {
      // The position along each reduced axis is their result.
      if (piece.nest->combiner == artifact::Combiner::kArgMax || piece.nest->combiner == artifact::Combiner::kArgMin) return;
    }
    for (size_t d = stage.axes.size(); d-- > 1;) {
      if (stage.kind == StageKind::kColumn && d == stage.axes.size() - 1) continue;
      std::vector<Expr> indices;
      for (const Piece& piece : stage.pieces) add_indices(piece, indices);
      if (!mergeable(stage.axes[d - 1], stage.axes[d], indices)) continue;
      const Axis merged = merged_axis(stage.axes[d - 1], stage.axes[d]);
      const SymbolId from[] = {stage.axes[d - 1].symbol, stage.axes[d].symbol};
      const Expr to[] = {pool().constant(0), pool().of(merged.symbol)};
      for (Piece& piece : stage.pieces) substitute(piece, from, to);
      stage.axes[d - 1] = merged;
      stage.axes.erase(stage.axes.begin() + long(d));
    }
  }

  // Elementwise groups have one stage: the last axis is what it runs over; a single axis is cut into tiles.
  void take_vector_axis() {
    if (outer_.empty()) return;
    const Axis vector = outer_.back();
    outer_.pop_back();
    for (StagePlan& stage : stages_) stage.axes = {vector};
    if (outer_.empty()) split_ = vector.extent;
  }

  Result<Launch> emit() {
    Launch launch;
    if (split_) {
      const Expr tiles = pool().ceil_div(*split_, pool().constant(kSplitBlock));
      launch.program.outer.push_back(frame_.size(facts().simplify(tiles)));
      outer_symbols_.push_back(pool().fresh_symbol("o", symbolic::SymbolKind::kIndex));
    }
    for (const Axis& axis : outer_) {
      launch.program.outer.push_back(frame_.size(axis.extent));
      outer_symbols_.push_back(axis.symbol);
    }
    launch.cost = pool().constant(0);
    for (StagePlan& stage : stages_) emit_stage(launch, stage);
    number_parameters(launch.program);
    launch.program.size_count = uint32_t(frame_.sizes().size());
    launch.buffers = frame_.buffers();
    launch.sizes = frame_.sizes();
    launch.written = frame_.written();
    return launch;
  }

  void emit_stage(Launch& launch, const StagePlan& plan) {
    KernelProgram& program = launch.program;
    Stage stage;
    std::vector<Stage> after;  // scalar stages that put row results into memory
    std::vector<SymbolId> axes = outer_symbols_;
    for (size_t d = 0; d < plan.axes.size(); ++d) {
      artifact::StageAxis axis;
      axis.extent = frame_.size(plan.axes[d].extent);
      axis.reduced = plan.kind == StageKind::kRow || (plan.kind == StageKind::kColumn && d + 1 < plan.axes.size());
      if (split_) {
        axis.block = kSplitBlock;
        axis.outer_axis = 0;
      }
      stage.axes.push_back(axis);
      axes.push_back(plan.axes[d].symbol);
    }
    BodyEmitter emitter(frame_, axes, &locals_, stage.body);
    std::vector<std::pair<BufferId, LocalBuffer>> made;  // visible to later stages only
    for (const Piece& piece : plan.pieces) {
      const BufferId buffer = piece.nest->output;
      const DType dtype = module_.buffers[buffer].dtype;
      const int32_t value = emitter.emit(piece.value);
      LocalBuffer local;
      local.base = piece.base;
      if (piece.is_reduction() && plan.kind == StageKind::kRow) {
        local.row = new_row(program, dtype);
        artifact::Reduction reduction;
        reduction.combiner = *piece.nest->combiner;
        reduction.dtype = stage.body[size_t(value)].dtype;
        reduction.value = value;
        reduction.row = local.row;
        stage.reductions.push_back(std::move(reduction));
        if (outside_[buffer]) after.push_back(store_row(buffer, dtype, local.row, piece.store));
        made.emplace_back(buffer, local);
      } else if (plan.axes.empty() && group_.outer_is_fixed) {
        local.row = new_row(program, dtype);
        stage.rows.push_back({local.row, value});
        if (outside_[buffer]) {
          frame_.mark_written(buffer);
          stage.stores.push_back({frame_.buffer_parameter(buffer), emitter.address(piece.store), value});
        }
        made.emplace_back(buffer, local);
      } else {
        int32_t parameter;
        artifact::Address address;
        if (outside_[buffer]) {
          frame_.mark_written(buffer);
          parameter = frame_.buffer_parameter(buffer);
          address = emitter.address(piece.store);
        } else if (!read_later(piece)) {
          continue;  // used only while it was at hand
        } else {
          local.parameter = int32_t(local_parameters_.size());
          artifact::Parameter scratch;
          scratch.kind = ParameterKind::kLocal;
          scratch.dtype = dtype;
          scratch.written = true;
          scratch.local_extent = frame_.size(piece.width);
          local_parameters_.push_back(scratch);
          parameter = kLocalParameterBase + local.parameter;
          address = emitter.address(facts().simplify(pool().sub(piece.store, piece.base)));
          made.emplace_back(buffer, local);
        }
        if (piece.is_reduction()) {
          artifact::Reduction reduction;
          reduction.combiner = *piece.nest->combiner;
          reduction.dtype = stage.body[size_t(value)].dtype;
          reduction.value = value;
          reduction.parameter = parameter;
          reduction.address = std::move(address);
          stage.reductions.push_back(std::move(reduction));
        } else {
          stage.stores.push_back({parameter, std::move(address), value});
        }
      }
      if (!launch.origin.empty() && !piece.nest->origin.empty()) launch.origin += ", ";
      launch.origin += piece.nest->origin;
    }
    Expr points = pool().constant(int64_t(stage.body.size()));
    for (const Axis& axis : plan.axes) {
      points = pool().mul(points, split_ ? pool().min(axis.extent, pool().constant(kSplitBlock)) : axis.extent);
    }
    launch.cost = pool().add(launch.cost, points);
    program.stages.push_back(std::move(stage));
    for (Stage& store : after) program.stages.push_back(std::move(store));
    for (auto& [buffer, local] : made) locals_.emplace(buffer, local);
  }

  int32_t new_row(KernelProgram& program, DType dtype) {
    program.row_types.push_back(dtype);
    return int32_t(program.row_count++);
  }

  Stage store_row(BufferId buffer, DType dtype, int32_t row, Expr offset) {
    Stage stage;
    artifact::BodyOp op;
    op.op = ScalarOp::kRow;
    op.dtype = dtype;
    op.bits = row;
    stage.body.push_back(op);
    BodyEmitter emitter(frame_, outer_symbols_, &locals_, stage.body);
    frame_.mark_written(buffer);
    stage.stores.push_back({frame_.buffer_parameter(buffer), emitter.address(offset), 0});
    return stage;
  }

  // Does any stage load the piece's buffer? (Loads within its own stage are gone already.)
  bool read_later(const Piece& piece) {
    for (const StagePlan& stage : stages_) {
      for (const Piece& other : stage.pieces) {
        for (ScalarId id : module_.scalars.postorder(std::span(&other.value, 1))) {
          const loop::Scalar& s = module_.scalars[id];
          if ((s.op == ScalarOp::kLoad || s.op == ScalarOp::kMaskedLoad) && s.buffer == piece.nest->output) return true;
        }
      }
    }
    return false;
  }

  // Buffer parameters first, then local ones.
  void number_parameters(KernelProgram& program) {
    for (size_t i = 0; i < frame_.buffers().size(); ++i) {
      artifact::Parameter parameter;
      parameter.dtype = module_.buffers[frame_.buffers()[i]].dtype;
      parameter.written = frame_.written()[i];
      program.parameters.push_back(parameter);
    }
    const int32_t first_local = int32_t(program.parameters.size());
    program.parameters.insert(program.parameters.end(), local_parameters_.begin(), local_parameters_.end());
    auto renumber = [&](int32_t& parameter) {
      if (parameter >= kLocalParameterBase) parameter += first_local - kLocalParameterBase;
    };
    for (Stage& stage : program.stages) {
      for (artifact::BodyOp& op : stage.body) renumber(op.parameter);
      for (artifact::Store& store : stage.stores) renumber(store.parameter);
      for (artifact::Reduction& reduction : stage.reductions) renumber(reduction.parameter);
    }
  }

  Module& module_;
  const Group& group_;
  const std::vector<bool>& outside_;
  KernelFrame frame_;
  std::vector<Axis> outer_;
  std::vector<SymbolId> outer_symbols_;
  std::optional<Expr> split_;
  std::vector<StagePlan> stages_;
  std::vector<artifact::Parameter> local_parameters_;
  std::unordered_map<BufferId, LocalBuffer> locals_;
};

}  // namespace

Result<Launch> emit_nests(Module& module, const Group& group, const std::vector<bool>& outside) {
  return NestEmitter(module, group, outside).run();
}

}  // namespace tenon::schedule
