#include "runtime/launch.hpp"

#include <algorithm>
#include <cstring>

namespace tenon::runtime {

namespace {

constexpr double kSerialNs = 20'000;   // below this, waking others costs more than they save
constexpr double kCancelNs = 200'000;  // how long one thread works between looks at the cancel flag
constexpr long kChunksPerThread = 6;

constexpr uint32_t kMaxMembers = 64;

// Each member begins with a range of its own: neighbouring launches cut their rows alike, so what a core wrote in one it reads
// in the next. Who is done helps the others.
struct Range {
  alignas(64) std::atomic<long> next;
  long end;
};

struct Work {
  const Launch& launch;
  const Crew& crew;
  tenon_kernel_fn native;
  long first, last, chunk;
  uint32_t members;
  Range* ranges;
};

void run_chunk(const Work& work, long begin, long end, uint32_t member) {
  FailureWord& failure = work.crew.failures[member];
  const tenon_kernel_args args{work.launch.buffers, work.launch.sizes, failure.word};
  void* scratch = work.crew.scratch + size_t(member) * work.crew.scratch_stride;
  if (work.native != nullptr) {
    work.native(&args, begin, end, scratch);
  } else {
    work.launch.slot->interpreted->run(&args, begin, end, scratch);
  }
  if (failure.word[0] == 0) [[likely]]
    return;
  if (failure.first[0] == 0 || begin < failure.first_tile) {
    std::memcpy(failure.first, failure.word, sizeof failure.word);
    failure.first_tile = begin;
  }
  std::memset(failure.word, 0, sizeof failure.word);
}

bool cancelled(const Crew& crew) { return crew.cancelled->load(std::memory_order_relaxed); }

// One member of the crew; members claim chunks, so any of them can do all.
void run_member(void* data, size_t index, uint32_t) {
  Work& work = *static_cast<Work*>(data);
  for (uint32_t turn = 0; turn < work.members; ++turn) {
    Range& range = work.ranges[(index + turn) % work.members];
    while (!cancelled(work.crew)) {
      const long begin = range.next.fetch_add(work.chunk, std::memory_order_relaxed);
      if (begin >= range.end) break;
      run_chunk(work, begin, std::min(range.end, begin + work.chunk), uint32_t(index));
    }
  }
}

}  // namespace

bool run_tiles(const Launch& launch, long first, long last, const Crew& crew, long* failure) {
  if (first >= last) return true;
  const tenon_kernel_fn native = launch.slot->native.load(std::memory_order_acquire);
  const long tiles = last - first;
  const double part = double(tiles) / double(std::max(launch.tiles, 1L));
  const double work_ns = (native != nullptr ? launch.native_ns : launch.interpreted_ns) * part;

  Work work{launch, crew, native, first, last, tiles, 1, nullptr};
  uint32_t members = 1;
  if (crew.threads > 1 && tiles > 1 && work_ns >= kSerialNs) {
    const long chunks = std::min<long>(tiles, kChunksPerThread * long(crew.threads));
    // The geometry has cut a template's tiles for this many threads already.
    const bool single = launch.is_template && tiles <= 2 * kChunksPerThread * long(crew.threads);
    work.chunk = single ? 1 : (tiles + chunks - 1) / chunks;
    members = uint32_t(std::min<long>(std::min(crew.threads, kMaxMembers), (tiles + work.chunk - 1) / work.chunk));
  } else if (work_ns > kCancelNs) {
    work.chunk = std::max(1L, long(double(tiles) * kCancelNs / work_ns));
  }
  if (members > 1) {
    Range ranges[kMaxMembers];
    const long chunks = (tiles + work.chunk - 1) / work.chunk;
    for (uint32_t i = 0; i < members; ++i) {
      ranges[i].next.store(first + chunks * long(i) / long(members) * work.chunk, std::memory_order_relaxed);
      ranges[i].end = std::min(last, first + chunks * long(i + 1) / long(members) * work.chunk);
    }
    work.members = members;
    work.ranges = ranges;
    crew.executor->parallel_for(members, run_member, &work);
  } else if (work.chunk == tiles) {
    run_chunk(work, first, last, 0);
  } else {
    Range whole;
    whole.next.store(first, std::memory_order_relaxed);
    whole.end = last;
    work.ranges = &whole;
    run_member(&work, 0, 0);
  }

  const FailureWord* found = nullptr;
  for (uint32_t i = 0; i < members; ++i) {
    const FailureWord& word = crew.failures[i];
    if (word.first[0] != 0 && (found == nullptr || word.first_tile < found->first_tile)) found = &word;
  }
  if (found == nullptr) [[likely]]
    return true;
  std::memcpy(failure, found->first, sizeof found->first);
  for (uint32_t i = 0; i < members; ++i) crew.failures[i] = FailureWord{};
  return false;
}

}  // namespace tenon::runtime
