#include "runtime/guard_check.hpp"

#include <algorithm>

#include "artifact/checked_arithmetic.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

using artifact::GuardRelation;
using artifact::SizeGuard;
using artifact::SizeOp;
using artifact::SizeOpKind;

namespace {

bool compare(GuardRelation relation, int64_t a, int64_t b) {
  switch (relation) {
    case GuardRelation::kEq:
      return a == b;
    case GuardRelation::kNe:
      return a != b;
    case GuardRelation::kLt:
      return a < b;
    case GuardRelation::kLe:
      return a <= b;
  }
  return false;
}

const char* text_of(GuardRelation relation) {
  switch (relation) {
    case GuardRelation::kEq:
      return "";
    case GuardRelation::kNe:
      return "not ";
    case GuardRelation::kLt:
      return "less than ";
    case GuardRelation::kLe:
      return "at most ";
  }
  return "";
}

bool reads_call(const SizeOp& op) { return op.kind == SizeOpKind::kInputDim || op.kind == SizeOpKind::kInputStride; }

}  // namespace

GuardCheck::GuardCheck(const artifact::Artifact& a) : register_count_(a.size_ops.size()) {
  for (const artifact::InputDecl& input : a.inputs) {
    inputs_.push_back({int32_t(input.dtype), input.rank, input.dtype_required, input.rank_required});
  }
  std::vector<bool> needed(a.size_ops.size(), false);
  for (const SizeGuard& guard : a.required) add(a, guard, true, needed);
  for (const SizeGuard& guard : a.guards) add(a, guard, false, needed);
  for (size_t i = a.size_ops.size(); i-- > 0;) {
    const SizeOp& op = a.size_ops[i];
    if (op.kind == SizeOpKind::kFact) fact_count_ = std::max(fact_count_, op.a + 1);
    if (!needed[i] || op.kind < SizeOpKind::kAdd) continue;
    needed[op.a] = needed[op.b] = true;
  }
  for (size_t i = 0; i < a.size_ops.size(); ++i) {
    const SizeOp& op = a.size_ops[i];
    if (!needed[i]) continue;
    if (op.kind == SizeOpKind::kConstant) {
      constants_.push_back({uint32_t(i), op.value});
    } else {
      ops_.push_back({op.kind, uint32_t(i), op.a, op.b});
    }
  }
}

void GuardCheck::add(const artifact::Artifact& a, const SizeGuard& guard, bool required, std::vector<bool>& needed) {
  const SizeOp& left = a.size_ops[guard.a];
  const SizeOp& right = a.size_ops[guard.b];
  const bool constant_first = left.kind == SizeOpKind::kConstant;
  const SizeOp& read = constant_first ? right : left;
  const SizeOp& constant = constant_first ? left : right;
  if (reads_call(read) && constant.kind == SizeOpKind::kConstant) {
    if (guard.relation == GuardRelation::kEq) {
      Equals& equals = required ? required_equals_ : guard_equals_;
      (read.kind == SizeOpKind::kInputDim ? equals.dims : equals.strides).push_back({read.a, read.b, constant.value});
      return;
    }
    direct_.push_back({read.a, uint8_t(read.b), read.kind == SizeOpKind::kInputStride, required, constant_first,
                       guard.relation, constant.value});
    return;
  }
  compares_.push_back({guard.a, guard.b, guard.relation, required});
  needed[guard.a] = needed[guard.b] = true;
}

// No branch a comparison: nearly always all hold, or the suspect tells.
bool GuardCheck::Equals::hold(const CallShape& shape) const {
  const uint32_t first = suspect.load(std::memory_order_relaxed);
  if (first < dims.size() && shape.dims[dims[first].input][dims[first].axis] != dims[first].value) return false;
  int64_t different = 0;
  for (const Equal& e : dims) different |= shape.dims[e.input][e.axis] ^ e.value;
  if (different != 0) {
    for (uint32_t i = 0; i < dims.size(); ++i) {
      if (shape.dims[dims[i].input][dims[i].axis] != dims[i].value) suspect.store(i, std::memory_order_relaxed);
    }
    return false;
  }
  for (const Equal& e : strides) different |= shape.strides[e.input][e.axis] ^ e.value;
  return different == 0;
}

GuardCheck::Verdict GuardCheck::check(const CallShape& shape, int64_t* registers) const {
  int32_t different = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    different |= (shape.inputs[i].dtype ^ inputs_[i].dtype) | (shape.inputs[i].rank ^ inputs_[i].rank);
  }
  if (different != 0) [[unlikely]] {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InputCheck& want = inputs_[i];
      if (shape.inputs[i].dtype != want.dtype) return want.dtype_required ? Verdict::kError : Verdict::kMiss;
      if (shape.inputs[i].rank != want.rank) return want.rank_required ? Verdict::kError : Verdict::kMiss;
    }
  }
  if (shape.facts.size() < fact_count_) return Verdict::kMiss;
  if (!required_equals_.hold(shape)) return Verdict::kError;
  if (!guard_equals_.hold(shape)) return Verdict::kMiss;
  for (const Direct& d : direct_) {
    const int64_t value = (d.stride ? shape.strides : shape.dims)[d.input][d.axis];
    const bool holds = d.constant_first ? compare(d.relation, d.value, value) : compare(d.relation, value, d.value);
    if (!holds) return d.required ? Verdict::kError : Verdict::kMiss;
  }
  if (compares_.empty()) return Verdict::kHit;
  for (const auto& [where, value] : constants_) registers[where] = value;
  for (const Op& op : ops_) {
    int64_t& out = registers[op.out];
    const auto a = [&] { return registers[op.a]; };
    const auto b = [&] { return registers[op.b]; };
    bool fits = true;
    switch (op.kind) {
      case SizeOpKind::kConstant:
        break;
      case SizeOpKind::kInputDim:
        out = shape.dims[op.a][op.b];
        break;
      case SizeOpKind::kInputStride:
        out = shape.strides[op.a][op.b];
        break;
      case SizeOpKind::kInputScalar:
        out = shape.scalars[op.a];
        break;
      case SizeOpKind::kFact:
        out = shape.facts[op.a];
        break;
      case SizeOpKind::kAdd:
        fits = artifact::checked_add(a(), b(), &out);
        break;
      case SizeOpKind::kMul:
        fits = artifact::checked_mul(a(), b(), &out);
        break;
      case SizeOpKind::kFloorDiv:
        fits = b() != 0 && artifact::checked_floor_div(a(), b(), &out);
        break;
      case SizeOpKind::kMod:
        fits = b() != 0;
        if (fits) out = artifact::floor_mod(a(), b());
        break;
      case SizeOpKind::kMin:
        out = std::min(a(), b());
        break;
      case SizeOpKind::kMax:
        out = std::max(a(), b());
        break;
    }
    if (!fits) return Verdict::kMiss;
  }
  for (const Compare& c : compares_) {
    if (!compare(c.relation, registers[c.a], registers[c.b])) return c.required ? Verdict::kError : Verdict::kMiss;
  }
  return Verdict::kHit;
}

std::string GuardReport::text() const {
  std::string out = concat("guard `", guard, "`");
  if (!origin.empty()) append(out, concat(" (asked by ", origin, ")"));
  append(out, concat(" expected ", expected, ", found ", found));
  return out;
}

Status GuardReport::status() const {
  Status status = invalid_argument(concat(input.empty() ? std::string() : concat("input `", input, "`: "), guard,
                                          ": expected ", expected, ", found ", found));
  if (!input.empty()) status.with("input", input);
  if (!origin.empty()) status.with("operator", origin);
  status.with("guard", guard).with("expected", expected).with("found", found);
  return status;
}

GuardReport explain_guards(const artifact::Artifact& a, const CallShape& shape) {
  GuardReport report;
  report.holds = false;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const artifact::InputDecl& want = a.inputs[i];
    const tenon_tensor_t& have = shape.inputs[i];
    report.input = want.name;
    if (have.dtype != int32_t(want.dtype)) {
      report.is_error = want.dtype_required;
      report.guard = concat("dtype of `", want.name, "`");
      report.expected = name(want.dtype);
      report.found = name(DType(have.dtype));
      return report;
    }
    if (have.rank != want.rank) {
      report.is_error = want.rank_required;
      report.guard = concat("rank of `", want.name, "`");
      report.expected = concat(want.rank);
      report.found = concat(have.rank);
      return report;
    }
  }
  report.input.clear();
  uint32_t facts = 0;
  for (const SizeOp& op : a.size_ops) {
    if (op.kind == SizeOpKind::kFact) facts = std::max(facts, op.a + 1);
  }
  if (shape.facts.size() < facts) {
    report.guard = "number of facts";
    report.expected = concat("at least ", facts);
    report.found = concat(shape.facts.size());
    return report;
  }
  std::vector<int64_t> registers(a.size_ops.size());
  const Status evaluated = artifact::evaluate_sizes(a.size_ops, shape.sizes(), registers);
  if (!evaluated.ok()) {
    report.guard = "size program";
    report.expected = "sizes that can be computed";
    report.found = evaluated.message();
    return report;
  }
  for (const auto* list : {&a.required, &a.guards}) {
    for (const SizeGuard& guard : *list) {
      if (artifact::holds(guard, registers)) continue;
      report.is_error = list == &a.required;
      report.guard = guard.text;
      report.origin = guard.origin;
      // The side that is read from an input is what was found.
      const SizeOp& left = a.size_ops[guard.a];
      const SizeOp& right = a.size_ops[guard.b];
      const bool from_right = left.kind == SizeOpKind::kConstant;
      const SizeOp& source = from_right ? right : left;
      if (source.kind == SizeOpKind::kInputDim || source.kind == SizeOpKind::kInputStride ||
          source.kind == SizeOpKind::kInputScalar) {
        report.input = a.inputs[source.a].name;
      }
      const int64_t bound = registers[from_right ? guard.a : guard.b];
      report.found = concat(registers[from_right ? guard.b : guard.a]);
      const char* words = text_of(guard.relation);
      if (from_right && guard.relation == GuardRelation::kLt) words = "more than ";
      if (from_right && guard.relation == GuardRelation::kLe) words = "at least ";
      report.expected = concat(words, bound);
      return report;
    }
  }
  report.holds = true;
  return report;
}

}  // namespace tenon::runtime
