#include <bit>

#include "codegen/templates/template_abi.h"
#include "schedule/body.hpp"
#include "schedule/emit.hpp"

namespace tenon::schedule {

using artifact::Hook;
using artifact::KernelProgram;
using symbolic::SymbolId;

namespace {

void finish(KernelFrame& frame, Launch& launch) {
  for (size_t i = 0; i < frame.buffers().size(); ++i) {
    artifact::Parameter parameter;
    parameter.dtype = frame.module().buffers[frame.buffers()[i]].dtype;
    parameter.written = frame.written()[i];
    launch.program.parameters.push_back(parameter);
  }
  launch.program.size_count = uint32_t(frame.sizes().size());
  launch.buffers = frame.buffers();
  launch.sizes = frame.sizes();
  launch.written = frame.written();
}

void emit_stores(KernelFrame& frame, const loop::Template& t, const std::vector<SymbolId>& axes, Hook& hook) {
  BodyEmitter emitter(frame, axes, nullptr, hook.body);
  for (const loop::StoreTo& store : t.stores) {
    const int32_t value = emitter.emit(store.value);
    const int32_t parameter = frame.buffer_parameter(store.buffer);
    frame.mark_written(store.buffer);
    hook.stores.push_back({parameter, emitter.address(store.offset), value});
  }
}

Result<Launch> emit_matmul(Module& module, const loop::Template& t) {
  const loop::MatMul& p = *t.matmul;
  auto& pool = module.scalars.pool();
  Launch launch;
  launch.program.kind = artifact::ProgramKind::kGemm;
  launch.program.packed_b = p.constant_b;
  launch.matmul = &p;
  KernelFrame frame(module);
  std::vector<Expr> sizes(TENON_GEMM_FIRST_HOOK_SIZE, pool.constant(0));
  sizes[TENON_GEMM_M] = p.m;
  sizes[TENON_GEMM_N] = p.n;
  sizes[TENON_GEMM_K] = p.k;
  sizes[TENON_GEMM_BATCH] = pool.mul(p.batch_outer, p.batch_inner);
  sizes[TENON_GEMM_BATCH_INNER] = p.batch_inner;
  sizes[TENON_GEMM_A_OFFSET] = p.a.offset;
  sizes[TENON_GEMM_A_OUTER_STRIDE] = p.a.strides[0];
  sizes[TENON_GEMM_A_INNER_STRIDE] = p.a.strides[1];
  sizes[TENON_GEMM_A_ROW_STRIDE] = p.a.strides[2];
  sizes[TENON_GEMM_A_K_STRIDE] = p.a.strides[3];
  if (!p.constant_b) {
    sizes[TENON_GEMM_B_OFFSET] = p.b.offset;
    sizes[TENON_GEMM_B_OUTER_STRIDE] = p.b.strides[0];
    sizes[TENON_GEMM_B_INNER_STRIDE] = p.b.strides[1];
    sizes[TENON_GEMM_B_K_STRIDE] = p.b.strides[2];
    sizes[TENON_GEMM_B_N_STRIDE] = p.b.strides[3];
  }
  frame.reserve_sizes(std::move(sizes));
  frame.reserve_buffers({p.a.buffer, p.b.buffer});
  emit_stores(frame, t, {p.axis_batch, p.axis_m, p.axis_n}, launch.program.epilogue);
  launch.cost = pool.mul(pool.mul(pool.constant(2), p.k), pool.mul(p.m, p.n));
  finish(frame, launch);
  return launch;
}

Result<Launch> emit_attention(Module& module, const loop::Template& t) {
  const loop::Attention& p = *t.attention;
  auto& pool = module.scalars.pool();
  Launch launch;
  launch.program.kind = artifact::ProgramKind::kAttention;
  KernelFrame frame(module);
  std::vector<Expr> sizes(TENON_ATTENTION_FIRST_HOOK_SIZE, pool.constant(0));
  sizes[TENON_ATTENTION_BATCH] = p.batch;
  sizes[TENON_ATTENTION_HEADS] = p.heads;
  sizes[TENON_ATTENTION_KV_HEADS] = p.kv_heads;
  sizes[TENON_ATTENTION_QUERIES] = p.queries;
  sizes[TENON_ATTENTION_KEYS] = p.keys;
  sizes[TENON_ATTENTION_DEPTH] = p.depth;
  sizes[TENON_ATTENTION_V_DEPTH] = p.value_depth;
  const loop::Operand* operands[] = {&p.q, &p.k, &p.v};
  const int first[] = {TENON_ATTENTION_Q_OFFSET, TENON_ATTENTION_K_OFFSET, TENON_ATTENTION_V_OFFSET};
  for (int i = 0; i < 3; ++i) {
    sizes[size_t(first[i])] = operands[i]->offset;
    for (int level = 0; level < 3; ++level) sizes[size_t(first[i] + 1 + level)] = operands[i]->strides[size_t(level)];
  }
  sizes[TENON_ATTENTION_CAUSAL] = pool.constant(p.causal);
  sizes[TENON_ATTENTION_SCALE_BITS] = pool.constant(int64_t(std::bit_cast<uint32_t>(float(p.scale))));
  sizes[TENON_ATTENTION_SAFE] = pool.constant(p.safe);
  frame.reserve_sizes(std::move(sizes));
  frame.reserve_buffers({p.q.buffer, p.k.buffer, p.v.buffer});
  if (p.score.valid()) {
    BodyEmitter emitter(frame, {p.axis_b, p.axis_h, p.axis_q, p.axis_k}, nullptr, launch.program.score.body);
    launch.program.score.yield = emitter.emit(p.score);
  }
  emit_stores(frame, t, {p.axis_b, p.axis_h, p.axis_q, p.axis_d}, launch.program.store);
  launch.cost = pool.mul(pool.mul(pool.constant(2), p.queries), pool.mul(p.keys, pool.add(p.depth, p.value_depth)));
  finish(frame, launch);
  return launch;
}

}  // namespace

Result<Launch> emit_template(Module& module, const Group& group) {
  const loop::Template& t = *module.statements[group.statements[0]].tmpl;
  auto launch = t.matmul ? emit_matmul(module, t) : emit_attention(module, t);
  if (launch.ok()) launch->origin = t.origin;
  return launch;
}

}  // namespace tenon::schedule
