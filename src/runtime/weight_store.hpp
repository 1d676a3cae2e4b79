// The constants of compiled programs, each form of each content once: raw forms are places in the files' mappings,
// packed ones are made when they are first asked for. Shared by all entries and functions of a context. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "artifact/artifact.hpp"
#include "runtime/memory.hpp"
#include "support/blob.hpp"
#include "support/status.hpp"

namespace tenon::runtime {

class WeightStore;

// One form of one constant; immutable. `data` is 64-byte aligned unless it points into a mapping.
class Weight {
 public:
  ~Weight();
  const void* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  bool is_private() const { return owned_ != nullptr; }

 private:
  friend class WeightStore;
  std::shared_ptr<WeightStore> store_;
  Blob source_;  // raw forms
  std::shared_ptr<void> owned_;
  const void* data_ = nullptr;
  size_t size_bytes_ = 0;
};

class WeightStore : public std::enable_shared_from_this<WeightStore> {
 public:
  explicit WeightStore(std::shared_ptr<Memory> memory) : memory_(std::move(memory)), weights_(*memory_) {}

  // The constant in the form that it declares. `sources` are the blobs beside the artifact; those of packed constants
  // may go afterwards. DATA_LOSS: the declaration reaches outside its blob; RESOURCE_EXHAUSTED: no memory.
  Result<std::shared_ptr<const Weight>> bind(const artifact::ConstantDecl& constant, std::span<const Blob> sources);

  int64_t private_bytes() const { return private_bytes_.load(std::memory_order_relaxed); }
  int64_t mapped_bytes() const { return mapped_bytes_.load(std::memory_order_relaxed); }

 private:
  friend class Weight;
  // A form that is made or being made: the slot's lock is held meanwhile, so that others wait for this one only.
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<const Weight> weight;
  };
  Result<std::shared_ptr<const Weight>> make(const artifact::ConstantDecl& constant, std::span<const Blob> sources);

  std::shared_ptr<Memory> memory_;
  WeightMemory weights_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Slot>> slots_;
  std::atomic<int64_t> private_bytes_{0}, mapped_bytes_{0};
};

}  // namespace tenon::runtime
