// One call of an interpreted kernel: the frame in its scratch, and how bodies are run.
#pragma once

#include "artifact/local_scratch.hpp"
#include "runtime/vm/code.hpp"

namespace tenon::runtime::vm {

using artifact::resolve;

// Scratch of a template beyond the frame and the locals: defined in run_template.cpp.
size_t template_scratch_bytes(const Code& code, const long* sizes);

class Execution {
 public:
  // Lays out the frame and runs what does not depend on the outer point.
  Execution(const Code& code, const tenon_kernel_args* args, void* scratch);

  void run_nest(long first, long last);
  void run_gemm(long first, long last);
  void run_attention(long first, long last);

 private:
  void begin_body(const Body& body);  // operations that run once a call
  void run_stage(const StageCode& stage);
  void run_rows(const StageCode& stage);
  void run_columns(const StageCode& stage);
  void reduce_row(const StageCode& stage, long position);
  void finish_rows(const StageCode& stage);
  void accumulate(const StageCode& stage, const ReductionCode& r, void (*step)(Accumulator&, long), long count);
  // False when an index check failed.
  bool run_slots(const std::vector<Op>& ops);
  bool run_block(const Body& body, long count);
  bool begin_point(const Body& body);  // outer axes are set
  bool begin_row(const Body& body);    // and all others but the vector axis
  void set_indices(const std::vector<IndexCode>& indices);
  void set_slot(uint32_t home, long value);
  bool next_row(const StageCode& stage);
  Accumulator accumulator(const ReductionCode& r);

  // A hook over a row of `count` elements from `position` on of the last axis; `accumulator` is the template's row.
  bool run_hook_row(const Body& body, long position, long count, float* accumulator, float* result);

  static void attention_score(void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t k0, int64_t count);
  static void attention_store(void* user, float* row, int64_t b, int64_t h, int64_t q, int64_t count);

  const Code& code_;
  const tenon_kernel_args* args_;
  Frame frame_;
  long* terms_;
  char** parameters_;
  char* rest_;  // scratch after the frame and the locals
  long axis_[kMaxAxes];
  long begin_[kMaxAxes], end_[kMaxAxes];  // of the stage's axes
};

}  // namespace tenon::runtime::vm
