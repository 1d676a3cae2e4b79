#include "runtime/memory.hpp"

#include <algorithm>
#include <cstdlib>

#include <sys/mman.h>

namespace tenon::runtime {

void* Memory::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  bytes = whole_lines(std::max<size_t>(bytes, 1));
  void* data = allocator_ != nullptr ? allocator_->allocate(allocator_->user, device_, bytes, kAlignment, nullptr)
                                     : std::aligned_alloc(kAlignment, bytes);
  if (data != nullptr) bytes_.fetch_add(int64_t(bytes), std::memory_order_relaxed);
  return data;
}

void Memory::deallocate(void* data, size_t bytes) {
  if (data == nullptr) return;
  bytes = whole_lines(std::max<size_t>(bytes, 1));
  bytes_.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
  if (allocator_ != nullptr) {
    allocator_->deallocate(allocator_->user, device_, data, bytes, nullptr);
  } else {
    std::free(data);
  }
}

// One mapping; blocks hold it, so it goes when the last of them does.
struct WeightMemory::Slab {
  char* mapping = nullptr;
  size_t mapped = 0;
  char* start = nullptr;  // on a huge page's border
  size_t size = 0, used = 0;

  ~Slab() {
    if (mapping != nullptr) munmap(mapping, mapped);
  }
};

namespace {
constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kSlabBytes = size_t(64) << 20;  // of address space: pages come when they are written
constexpr size_t kSmallest = size_t(16) << 10;   // smaller blocks are not worth a slab
}  // namespace

std::shared_ptr<void> WeightMemory::allocate(size_t bytes) {
  const auto plain = [&]() -> std::shared_ptr<void> {
    void* data = memory_.allocate(bytes);
    if (data == nullptr) return nullptr;
    return std::shared_ptr<void>(data, [memory = &memory_, bytes](void* block) { memory->deallocate(block, bytes); });
  };
  if (memory_.is_hosts() || bytes < kSmallest || bytes > SIZE_MAX / 2 - kSlabBytes) return plain();
  const size_t wanted = whole_lines(bytes);
  const std::lock_guard lock(mutex_);
  if (slab_ == nullptr || slab_->size - slab_->used < wanted) {
    auto slab = std::make_shared<Slab>();
    slab->size = std::max(kSlabBytes, (wanted + kHugePage - 1) / kHugePage * kHugePage);
    slab->mapped = slab->size + kHugePage;
    void* mapping = mmap(nullptr, slab->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return plain();
    slab->mapping = static_cast<char*>(mapping);
    const size_t past = reinterpret_cast<uintptr_t>(mapping) % kHugePage;
    slab->start = slab->mapping + (past == 0 ? 0 : kHugePage - past);
    (void)madvise(slab->start, slab->size, MADV_HUGEPAGE);  // small pages do as well, slower
    slab_ = std::move(slab);
  }
  void* block = slab_->start + slab_->used;
  slab_->used += wanted;
  return std::shared_ptr<void>(slab_, block);
}

bool Arena::reserve(size_t bytes) {
  if (bytes <= capacity_) return true;
  clear();
  data_ = static_cast<char*>(memory_.allocate(bytes));
  if (data_ == nullptr) return false;
  capacity_ = bytes;
  return true;
}

void Arena::clear() {
  memory_.deallocate(data_, capacity_);
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace tenon::runtime
