#include "runtime/context.hpp"

#include "runtime/run_once.hpp"

#include "device/cpu/inline_executor.hpp"
#include "device/cpu/thread_pool.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

Result<std::shared_ptr<Context>> Context::create(const tenon_context_options_t& options) {
  return create(options, nullptr);
}

Result<std::shared_ptr<Context>> Context::create(const tenon_context_options_t& options, Compiler* compiler) {
  const auto text = [](tenon_str_t s) {
    return std::string(s.data == nullptr ? "" : s.data, s.data == nullptr ? 0 : s.size);
  };
  target::TargetInfo target = target::detect_host();
  if (const std::string isa = text(options.isa); !isa.empty()) {
    const auto parsed = target::parse_isa(isa);
    if (!parsed) {
      return invalid_argument(concat("`isa`: unknown instruction set ", isa)).with("input", "isa").with("found", isa);
    }
    if (!target::host_runs(*parsed)) {
      return failed_precondition(concat("`isa`: this machine does not run ", isa))
          .with("input", "isa")
          .with("found", isa);
    }
    if (*parsed != target.isa) target = target::make_target(*parsed);
  }
  constexpr uint32_t kKnownFlags = TENON_CONTEXT_NO_CACHE | TENON_CONTEXT_NO_COMPILER | TENON_CONTEXT_NO_THREADS;
  if ((options.flags & ~kKnownFlags) != 0) {
    return invalid_argument(concat("`flags`: unknown bits ", options.flags & ~kKnownFlags)).with("input", "flags");
  }

  std::shared_ptr<Context> context(new Context);
  Context& c = *context;
  c.flags_ = options.flags;
  c.device_.context = &c;
  c.target_ = target;
  if (options.executor == nullptr) {
    if ((options.flags & TENON_CONTEXT_NO_THREADS) != 0) {
      c.executor_ = std::make_unique<device::cpu::InlineExecutor>();
    } else {
      TENON_ASSIGN_OR_RETURN(c.executor_, device::cpu::ThreadPool::create(options.threads));
    }
  }
  TENON_RETURN_IF_ERROR(c.services_.copy_from(options));
  // From here on nothing fails: the host's structs belong to the context.
  if (options.executor != nullptr) c.executor_ = std::make_unique<HostExecutor>(*c.services_.executor());
  c.threads_ = c.executor_->width();
  if (options.threads != 0) c.threads_ = std::min(c.threads_, options.threads);
  c.logger_ = c.services_.logger();
  c.memory_ = std::make_shared<Memory>(c.services_.allocator(), &c.device_);
  c.arena_memory_ = std::make_shared<Memory>(c.services_.allocator(), &c.device_);
  c.weights_ = std::make_shared<WeightStore>(c.memory_);
  c.background_ = std::make_shared<BackgroundJobs>(*c.executor_);

  CompilerHost& host = c.compiler_host_;
  host.env = &posix_env();
  host.logger = &c.logger_;
  host.target = target;
  host.cache_directory = text(options.cache_directory);
  host.use_cache = (options.flags & TENON_CONTEXT_NO_CACHE) == 0;
  host.use_system_compiler = c.may_compile();
  host.compiler_path = text(options.compiler);
  host.compile_jobs = std::max(c.threads_, 1u);
  host.cache_store = c.services_.cache_store();
  host.run_once = run_once;
  if (compiler != nullptr) c.compiler_ = CompilerLibrary::adopt(compiler);
  return context;
}

Context::~Context() {
  // Objects of the compiler die before it is unloaded, and everything before the host's services are released.
  if (background_ != nullptr) background_->stop();
  executor_.reset();
  weights_.reset();
  compiler_.reset();
}

Result<Compiler*> Context::compiler() {
  std::lock_guard lock(compiler_mutex_);
  if (compiler_ == nullptr) {
    TENON_ASSIGN_OR_RETURN(compiler_, CompilerLibrary::open(compiler_host_));
  }
  return &compiler_->compiler();
}

Context::Span::Span(Context& context, std::string_view name) : tracer_(context.services_.tracer()), name_(name) {
  if (tracer_ == nullptr) return;
  id_ = context.next_span_.fetch_add(1, std::memory_order_relaxed);
  tracer_->begin(tracer_->user, {name_.data(), name_.size()}, id_);
}

Context::Span::~Span() {
  if (tracer_ != nullptr) tracer_->end(tracer_->user, {name_.data(), name_.size()}, id_);
}

int64_t Context::poll(int64_t budget_ns) {
  const int64_t begin = now_ns();
  const int64_t deadline = budget_ns > INT64_MAX - begin ? INT64_MAX : begin + budget_ns;
  return background_->poll([this] { return now_ns(); }, deadline);
}

bool Context::counter(std::string_view name, int64_t* out) {
  if (name == "private_weight_bytes") return *out = weights_->private_bytes(), true;
  if (name == "mapped_weight_bytes") return *out = weights_->mapped_bytes(), true;
  if (name == "arena_bytes") return *out = arena_memory_->bytes(), true;
  if (name == "threads") return *out = threads_, true;
  std::lock_guard lock(compiler_mutex_);
  if (compiler_ != nullptr) return compiler_->compiler().counter(name, out);
  for (std::string_view known :
       {"cache_hits", "cache_misses", "cache_errors", "cache_writes", "compiles", "compile_failures"}) {
    if (name == known) return *out = 0, true;
  }
  return false;
}

}  // namespace tenon::runtime
