// The guards of one artifact in a form made for speed: comparisons of dims and strides with constants come first and
// touch nothing else, then the part of the size program that the other guards need. Immutable, thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "artifact/artifact.hpp"
#include "runtime/call_shape.hpp"

namespace tenon::runtime {

class GuardCheck {
 public:
  enum class Verdict : uint8_t { kHit, kMiss, kError };

  explicit GuardCheck(const artifact::Artifact& artifact);

  // `registers`: room for register_count() values, overwritten. The number of inputs is right. Allocates nothing.
  Verdict check(const CallShape& shape, int64_t* registers) const;
  size_t register_count() const { return register_count_; }

 private:
  struct InputCheck {
    int32_t dtype, rank;
    bool dtype_required, rank_required;
  };
  struct Direct {
    uint32_t input;
    uint8_t axis;
    bool stride;
    bool required;
    bool constant_first;  // value relation dim, else dim relation value
    artifact::GuardRelation relation;
    int64_t value;
  };
  // dims[input][axis] == value, or strides
  struct Equal {
    uint32_t input, axis;
    int64_t value;
  };
  struct Equals {
    std::vector<Equal> dims, strides;
    // The dim that last told this entry from a call: it is looked at first. A hint only.
    mutable std::atomic<uint32_t> suspect{0};
    bool hold(const CallShape& shape) const;
  };
  struct Compare {
    uint32_t a, b;
    artifact::GuardRelation relation;
    bool required;
  };
  struct Op {
    artifact::SizeOpKind kind;
    uint32_t out, a, b;
  };
  void add(const artifact::Artifact& artifact, const artifact::SizeGuard& guard, bool required,
           std::vector<bool>& needed);

  std::vector<InputCheck> inputs_;
  Equals required_equals_, guard_equals_;
  std::vector<Direct> direct_;  // the other relations
  std::vector<std::pair<uint32_t, int64_t>> constants_;
  std::vector<Op> ops_;
  std::vector<Compare> compares_;
  uint32_t fact_count_ = 0;
  size_t register_count_ = 0;
};

// Why an artifact does not take a call, for people: which guard, who asked, expected, found. Slow.
struct GuardReport {
  bool holds = true;
  bool is_error = false;  // it contradicts what the graph declares
  std::string guard, origin, input, expected, found;

  std::string text() const;  // "guard `dim 1 of ids == 8` (asked by aten.view) expected 8, found 9"
  Status status() const;     // INVALID_ARGUMENT with fields
};
GuardReport explain_guards(const artifact::Artifact& artifact, const CallShape& shape);

}  // namespace tenon::runtime
