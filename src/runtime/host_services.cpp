#include "runtime/host_services.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "support/format.hpp"

namespace tenon::runtime {

namespace {

constexpr int kMaxChain = 64;

struct Head {
  size_t struct_size;
  const tenon_chain_t* next;
};

Status missing(std::string_view what, std::string_view callback) {
  return invalid_argument(concat(what, ": the callback `", callback, "` is missing")).with("expected", callback);
}

}  // namespace

Status copy_options(const void* from, void* to, size_t known_size, std::string_view what) {
  Head head;
  std::memcpy(&head.struct_size, from, sizeof head.struct_size);
  if (head.struct_size < sizeof(Head) || head.struct_size > 65536) {
    return invalid_argument(concat("`", what, "`: struct_size is ", head.struct_size, ", expected ", known_size,
                                   " (set the struct with its INIT macro)"))
        .with("input", what)
        .with("expected", concat(known_size))
        .with("found", concat(head.struct_size));
  }
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (size_t at = known_size; at < head.struct_size; ++at) {
    if (bytes[at] != 0) {
      return invalid_argument(concat("`", what, "`: it has fields that this version of the library does not know"))
          .with("input", what)
          .with("expected", concat(known_size))
          .with("found", concat(head.struct_size));
    }
  }
  std::memset(to, 0, known_size);
  std::memcpy(to, from, std::min(known_size, head.struct_size));
  std::memcpy(to, &known_size, sizeof known_size);
  std::memcpy(&head, from, sizeof head);
  int count = 0;
  for (const tenon_chain_t* link = head.next; link != nullptr; link = link->next) {
    const bool well_formed = link->struct_size >= sizeof(tenon_chain_t) && ++count <= kMaxChain;
    if (!well_formed || (link->flags & TENON_CHAIN_OPTIONAL) == 0) {
      return invalid_argument(concat("`", what,
                                     "`: ", well_formed ? "unknown kind in the chain: " : "malformed chain at kind ",
                                     link->kind))
          .with("input", concat(what, ".next"))
          .with("found", concat(link->kind));
    }
  }
  return {};
}

Status HostServices::copy_from(const tenon_context_options_t& options) {
  if (options.allocator != nullptr) {
    TENON_RETURN_IF_ERROR(copy_options(options.allocator, &allocator_, "allocator"));
    if (allocator_.allocate == nullptr) return missing("allocator", "allocate");
    if (allocator_.deallocate == nullptr) return missing("allocator", "deallocate");
  }
  if (options.executor != nullptr) {
    TENON_RETURN_IF_ERROR(copy_options(options.executor, &executor_, "executor"));
    if (executor_.width == nullptr) return missing("executor", "width");
    if (executor_.parallel_for == nullptr) return missing("executor", "parallel_for");
  }
  if (options.logger != nullptr) {
    TENON_RETURN_IF_ERROR(copy_options(options.logger, &logger_, "logger"));
    if (logger_.write == nullptr) return missing("logger", "write");
  }
  if (options.tracer != nullptr) {
    TENON_RETURN_IF_ERROR(copy_options(options.tracer, &tracer_, "tracer"));
    if (tracer_.begin == nullptr) return missing("tracer", "begin");
    if (tracer_.end == nullptr) return missing("tracer", "end");
  }
  if (options.clock != nullptr) {
    TENON_RETURN_IF_ERROR(copy_options(options.clock, &clock_, "clock"));
    if (clock_.now_ns == nullptr) return missing("clock", "now_ns");
  }
  if (options.cache_store != nullptr) {
    TENON_RETURN_IF_ERROR(copy_options(options.cache_store, &cache_store_, "cache_store"));
    if (cache_store_.get == nullptr) return missing("cache_store", "get");
    if (cache_store_.put == nullptr) return missing("cache_store", "put");
  }
  owned_ = true;
  return {};
}

HostServices::~HostServices() {
  if (!owned_) return;
  const auto release = [](auto& service) {
    if (service.release != nullptr) service.release(service.user);
  };
  release(cache_store_);
  release(clock_);
  release(tracer_);
  release(executor_);
  release(allocator_);
  release(logger_);
}

Logger HostServices::logger() const {
  if (has(logger_) == nullptr) return {};
  const auto sink = [](void* user, Severity severity, std::string_view message) {
    const auto& logger = *static_cast<const tenon_logger_t*>(user);
    logger.write(logger.user, int32_t(severity), {message.data(), message.size()});
  };
  return Logger(sink, const_cast<tenon_logger_t*>(&logger_), Severity::kDebug);
}

int64_t HostServices::now_ns() const {
  if (has(clock_) != nullptr) return clock_.now_ns(clock_.user);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint32_t HostExecutor::width() const { return std::max(host_.width(host_.user), 1u); }

bool HostExecutor::submit(Job job, void* data) {
  if (host_.submit == nullptr) return false;
  host_.submit(host_.user, job, data);
  return true;
}

}  // namespace tenon::runtime
