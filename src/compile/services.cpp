#include "compile/services.hpp"

namespace tenon::compile {

namespace {

std::unique_ptr<toolchain::Cache> open_cache(const runtime::CompilerHost& host) {
  if (!host.use_cache) return nullptr;
  const Logger logger = host.logger != nullptr ? *host.logger : Logger();
  if (host.cache_store != nullptr && host.cache_store->get != nullptr && host.cache_store->put != nullptr) {
    toolchain::CacheStore store;
    store.user = const_cast<tenon_cache_store_t*>(host.cache_store);
    store.get = [](void* user, std::string_view key, void (*sink)(void*, std::string_view), void* sink_user) {
      const auto* host_store = static_cast<const tenon_cache_store_t*>(user);
      struct Relay {
        void (*sink)(void*, std::string_view);
        void* user;
      } relay{sink, sink_user};
      const auto write = [](void* to, tenon_str_t chunk) {
        auto* r = static_cast<Relay*>(to);
        r->sink(r->user, {chunk.data, chunk.size});
      };
      return host_store->get(host_store->user, {key.data(), key.size()}, write, &relay) == 1;
    };
    store.put = [](void* user, std::string_view key, std::string_view bytes) {
      const auto* host_store = static_cast<const tenon_cache_store_t*>(user);
      host_store->put(host_store->user, {key.data(), key.size()}, {bytes.data(), bytes.size()});
    };
    return toolchain::open_store_cache(store, logger);
  }
  toolchain::DiskCacheOptions options;
  options.directory = host.cache_directory;
  options.logger = logger;
  return toolchain::open_disk_cache(*host.env, options);
}

}  // namespace

Services::Services(const runtime::CompilerHost& host) : host_(host), cache_(open_cache(host)) {}

void Services::log(Severity severity, std::string_view message) const {
  if (host_.logger != nullptr) host_.logger->write(severity, message);
}

KernelBuildOptions Services::kernel_options() {
  const std::lock_guard lock(mutex_);
  if (!searched_) {
    searched_ = true;
    if (!host_.use_system_compiler) {
      compiler_status_ = unavailable("the context was created without a system compiler");
    } else {
      toolchain::SystemCompilerOptions options;
      options.path = host_.compiler_path;
      auto found = toolchain::SystemCompiler::find(env(), options);
      if (found.ok()) {
        compiler_ = *std::move(found);
      } else {
        compiler_status_ = std::move(found).status();
      }
    }
  }
  KernelBuildOptions options;
  options.env = host_.env;
  options.compiler = compiler_.get();
  options.compiler_status = compiler_status_;
  options.cache = cache_.get();
  options.target = host_.target;
  options.jobs = host_.compile_jobs;
  options.compiles = &compiles_;
  options.failures = &failures_;
  return options;
}

bool Services::counter(std::string_view name, int64_t* out) const {
  const toolchain::CacheCounters cache = cache_ != nullptr ? cache_->counters() : toolchain::CacheCounters();
  if (name == "cache_hits") *out = int64_t(cache.hits);
  else if (name == "cache_misses") *out = int64_t(cache.misses);
  else if (name == "cache_writes") *out = int64_t(cache.writes);
  else if (name == "cache_errors") *out = int64_t(cache.errors);
  else if (name == "cache_evictions") *out = int64_t(cache.evictions);
  else if (name == "compiles") *out = compiles_.load();
  else if (name == "compile_failures") *out = failures_.load();
  else return false;
  return true;
}

}  // namespace tenon::compile
