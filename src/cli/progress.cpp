#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace tenon::cli {

std::string bar(int64_t finished, int64_t total, int width) {
  if (total <= 0) return "planning";
  const int full = int(std::clamp<int64_t>(finished, 0, total) * width / total);
  return fmt::format("[{:#<{}}{:.<{}}] {}/{} kernels", "", full, "", width - full, finished, total);
}

Progress::Progress(const Function& function, bool wanted) : function_(function) {
  if (wanted && isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { draw_until_done(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_signal_.notify_one();
  thread_.join();
}

void Progress::draw_until_done() {
  const auto start = std::chrono::steady_clock::now();
  bool drawn = false;
  std::unique_lock lock(mutex_);
  // The first wait keeps short compiles silent.
  while (!done_signal_.wait_for(lock, std::chrono::milliseconds(100), [this] { return done_; })) {
    const Result<int64_t> kernels = function_.counter("kernels"), pending = function_.counter("pending_kernels");
    if (!kernels.ok() || !pending.ok()) continue;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print(stderr, "\rcompiling {} {:.1f} s\033[K", bar(*kernels - *pending, *kernels, 30), seconds);
    std::fflush(stderr);
    drawn = true;
  }
  if (drawn) fmt::print(stderr, "\r\033[K");
}

}  // namespace tenon::cli
