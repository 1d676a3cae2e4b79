#include "support/posix_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "support/format.hpp"
#include "support/system_error.hpp"

namespace tenon {

namespace {

// Child descriptors are 0, 1, 2 and 3 + i; ours stay above, so that placing one never overwrites another, even in a
// host that closed its standard streams.
constexpr int kLowestDescriptor = 64;

class Descriptor {
 public:
  Descriptor() = default;
  // Takes `raw` and moves it above the child's range.
  static Descriptor take(int raw) {
    Descriptor descriptor;
    if (raw >= 0 && raw < kLowestDescriptor) {
      const int moved = fcntl(raw, F_DUPFD_CLOEXEC, kLowestDescriptor);
      const int error_number = errno;
      close(raw);
      errno = error_number;
      raw = moved;
    }
    descriptor.value_ = raw;
    return descriptor;
  }
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (value_ >= 0) close(value_);
    value_ = -1;
  }
  int release() { return std::exchange(value_, -1); }
  int get() const { return value_; }
  bool ok() const { return value_ >= 0; }

 private:
  int value_ = -1;
};

struct Pipe {
  Descriptor read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "make a pipe", "");
  Pipe made{Descriptor::take(ends[0]), Descriptor::take(ends[1])};
  if (!made.read.ok() || !made.write.ok()) return system_error(errno, "make a pipe", "");
  // Only our end: the child expects a blocking one.
  if (fcntl(made.read.get(), F_SETFL, O_NONBLOCK) != 0) return system_error(errno, "make a pipe", "");
  return made;
}

int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class PosixProcess final : public Process {
 public:
  PosixProcess(pid_t id, const ProcessSpec& spec, Descriptor output, Descriptor errors)
      : id_(id), output_limit_(spec.output_limit_bytes), output_(std::move(output)), errors_(std::move(errors)) {
    if (spec.timeout_ns > 0) deadline_ns_ = monotonic_ns() + spec.timeout_ns;
#ifdef SYS_pidfd_open
    exit_event_ = Descriptor::take(int(syscall(SYS_pidfd_open, id, 0)));  // -1 on old kernels: then we nap
    if (exit_event_.ok()) fcntl(exit_event_.get(), F_SETFD, FD_CLOEXEC);
#endif
  }

  ~PosixProcess() override {
    if (getpid() != owner_) return;  // after a fork it is our parent's child, not ours
    kill();
    reap(0);
  }

  bool poll(int64_t wait_ns) override {
    if (ended_) return true;
    const int64_t until = wait_ns < 0 ? INT64_MAX : monotonic_ns() + wait_ns;
    for (;;) {
      drain();
      if (reap(WNOHANG)) return true;
      const int64_t now = monotonic_ns();
      if (now >= deadline_ns_) {
        result_.timed_out = true;
        kill();
        reap(0);
        return true;
      }
      if (now >= until) return false;
      wait_for_event(std::min(until, deadline_ns_) - now);
    }
  }

  const ProcessResult& result() const override { return result_; }

  void kill() override {
    // Never after the child is reaped: its number may belong to somebody else by then.
    if (!ended_) ::kill(-id_, SIGKILL);
  }

 private:
  void wait_for_event(int64_t wait_ns) {
    if (!exit_event_.ok()) wait_ns = std::min<int64_t>(wait_ns, 2'000'000);
    pollfd events[3];
    nfds_t count = 0;
    for (const Descriptor* descriptor : {&exit_event_, &output_, &errors_}) {
      if (descriptor->ok()) events[count++] = {descriptor->get(), POLLIN, 0};
    }
    const int64_t seconds = std::min<int64_t>(wait_ns / 1'000'000'000, 1'000'000);
    const timespec time{time_t(seconds), long(wait_ns % 1'000'000'000)};
    ppoll(events, count, &time, nullptr);
  }

  void drain() {
    drain(output_, result_.output);
    drain(errors_, result_.errors);
  }

  void drain(Descriptor& descriptor, std::string& text) {
    if (!descriptor.ok()) return;
    char chunk[4096];
    // Bounded, so that a child that never stops writing cannot keep us here past its deadline.
    for (int round = 0; round < 64; ++round) {
      const ssize_t got = read(descriptor.get(), chunk, sizeof chunk);
      if (got > 0) {
        text.append(chunk, std::min(size_t(got), output_limit_ - std::min(output_limit_, text.size())));
      } else if (got == 0) {
        descriptor.reset();
        return;
      } else if (errno != EINTR) {
        if (errno != EAGAIN) descriptor.reset();
        return;
      }
    }
  }

  bool reap(int options) {
    if (ended_) return true;
    int status = 0;
    pid_t got;
    do {
      got = waitpid(id_, &status, options);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    ended_ = true;
    if (got == id_) {
      // Whatever it left running in its group goes too.
      ::kill(-id_, SIGKILL);
      if (WIFEXITED(status)) {
        result_.exited = true;
        result_.exit_code = WEXITSTATUS(status);
      } else if (WIFSIGNALED(status)) {
        result_.signal = WTERMSIG(status);
      }
    }
    drain();
    output_.reset();
    errors_.reset();
    exit_event_.reset();
    return true;
  }

  const pid_t owner_ = getpid();
  const pid_t id_;
  const size_t output_limit_;
  int64_t deadline_ns_ = INT64_MAX;
  bool ended_ = false;
  Descriptor output_, errors_, exit_event_;
  ProcessResult result_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// What the child needs between its birth and the program, prepared by the parent: the child must not allocate.
struct ChildPlan {
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;       // null keeps ours
  std::vector<int> descriptors;          // [i] becomes the child's descriptor i
  uint64_t memory_limit_bytes = 0;
  volatile int error_number = 0;         // the child's, when it never became the program
};

// Runs on the parent's memory while the parent waits: system calls only.
[[noreturn]] void become_program(ChildPlan& plan) {
  // A group of its own, to be killed as one; the host's ignored and blocked signals are not the program's business.
  setpgid(0, 0);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &standard, nullptr);
  const int count = int(plan.descriptors.size());
  bool fine = true;
  for (int target = 0; fine && target < count; ++target) fine = dup2(plan.descriptors[size_t(target)], target) >= 0;
#ifdef SYS_close_range
  if (fine) syscall(SYS_close_range, count, ~0u, 0);  // older kernels: only ours are closed, by close-on-exec
#endif
  if (fine && plan.directory != nullptr) fine = chdir(plan.directory) == 0;
  if (fine && plan.memory_limit_bytes != 0) {
    const rlimit limit{plan.memory_limit_bytes, plan.memory_limit_bytes};
    fine = setrlimit(RLIMIT_AS, &limit) == 0;
  }
  if (fine) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(plan.arguments[0], plan.arguments, plan.environment);
  }
  plan.error_number = errno;
  _exit(127);
}

// Like posix_spawn, which cannot set a resource limit: set from outside it may come after the program's first child.
[[gnu::noinline]] pid_t spawn(ChildPlan& plan) {
  sigset_t all, before;
  sigfillset(&all);
  // No handler of the host may run in the child while it uses our memory.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t id = vfork();
  if (id == 0) become_program(plan);
  const int error_number = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error_number;
  return id;
}

Result<Descriptor> open_input(const ProcessSpec& spec) {
  if (spec.input.empty()) {
    Descriptor null = Descriptor::take(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (null.ok()) return null;
    // A chroot may have no /dev: an empty memory file reads the same.
  }
  Descriptor memory = Descriptor::take(memfd_create("tenon-input", MFD_CLOEXEC));
  if (!memory.ok()) return system_error(errno, "make a memory file", "");
  TENON_RETURN_IF_ERROR(write_all(memory.get(), spec.input, "standard input"));
  if (lseek(memory.get(), 0, SEEK_SET) != 0) return system_error(errno, "rewind", "standard input");
  return memory;
}

}  // namespace

Status write_all(int descriptor, std::string_view bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_error(written == 0 ? ENOSPC : errno, "write", path);
    bytes.remove_prefix(size_t(written));
  }
  return {};
}

Result<std::unique_ptr<MemoryFile>> make_posix_memory_file() {
  Descriptor descriptor = Descriptor::take(memfd_create("tenon", MFD_CLOEXEC));
  if (!descriptor.ok()) return system_error(errno, "make a memory file", "");
  return std::make_unique<MemoryFile>(descriptor.release());
}

Result<std::unique_ptr<Process>> start_posix_process(const ProcessSpec& spec) {
  if (spec.arguments.empty()) return invalid_argument("a process needs a program");
  const std::string& program = spec.arguments[0];
  if (spec.files.size() > size_t(kLowestDescriptor - 4)) return invalid_argument("too many files for a child process");
  TENON_ASSIGN_OR_RETURN(Descriptor input, open_input(spec));
  TENON_ASSIGN_OR_RETURN(Pipe output, make_pipe());
  TENON_ASSIGN_OR_RETURN(Pipe errors, make_pipe());

  const std::vector<char*> arguments = pointers(spec.arguments);
  const std::vector<char*> environment = pointers(spec.environment);
  ChildPlan plan;
  plan.arguments = arguments.data();
  plan.environment = environment.data();
  plan.directory = spec.directory.empty() ? nullptr : spec.directory.c_str();
  plan.descriptors = {input.get(), output.write.get(), errors.write.get()};
  for (const MemoryFile* file : spec.files) plan.descriptors.push_back(file->descriptor());
  plan.memory_limit_bytes = spec.memory_limit_bytes;

  const pid_t id = spawn(plan);
  if (id < 0) return system_error(errno, "run", program);
  if (plan.error_number != 0) {
    int status;
    while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    return system_error(plan.error_number, "run", program);
  }
  return std::unique_ptr<Process>(
      std::make_unique<PosixProcess>(id, spec, std::move(output.read), std::move(errors.read)));
}

}  // namespace tenon
