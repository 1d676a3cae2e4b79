// The entries of a function as readers see them: an immutable list behind an atomic pointer. Readers take no lock; a
// writer replaces the list and frees old ones when no reader is inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/executable.hpp"
#include "runtime/kernel_job.hpp"

namespace tenon::runtime {

// One executable behind its guards.
struct Entry {
  std::shared_ptr<Executable> executable;
  std::shared_ptr<KernelJob> job;  // null: all kernels were there, or none are to come
  std::vector<int64_t> facts;      // it is made for these
  // Kept apart, so that uses by a call that still holds an evicted entry are counted.
  const std::shared_ptr<std::atomic<int64_t>> use_count = std::make_shared<std::atomic<int64_t>>(0);
  std::atomic<int64_t>& uses = *use_count;
  std::atomic<int64_t> uses_at_eviction{0};  // how many there were when an entry was last evicted

  int tier() const { return executable->native_kernels() == executable->kernels() ? 1 : 0; }
};

class EntryList {
 public:
  using Entries = std::vector<std::shared_ptr<Entry>>;

  EntryList() : current_(new Entries) {}
  ~EntryList() { delete current_.load(); }
  EntryList(const EntryList&) = delete;
  EntryList& operator=(const EntryList&) = delete;

  // The list stays valid while this lives.
  class Reading {
   public:
    explicit Reading(const EntryList& list) : list_(list) {
      list_.readers_.fetch_add(1, std::memory_order_seq_cst);
      entries_ = list_.current_.load(std::memory_order_seq_cst);
    }
    ~Reading() { list_.readers_.fetch_sub(1, std::memory_order_seq_cst); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    const Entries& entries() const { return *entries_; }

   private:
    const EntryList& list_;
    const Entries* entries_;
  };

  // One writer at a time.
  void replace(Entries entries) {
    const Entries* old = current_.exchange(new Entries(std::move(entries)), std::memory_order_seq_cst);
    retired_.emplace_back(old);
    // Whoever comes in from now on sees the new list, so when nobody is inside nobody has an old one.
    if (readers_.load(std::memory_order_seq_cst) == 0) retired_.clear();
  }

 private:
  std::atomic<const Entries*> current_;
  mutable std::atomic<int64_t> readers_{0};
  std::vector<std::unique_ptr<const Entries>> retired_;
};

}  // namespace tenon::runtime
