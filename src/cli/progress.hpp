// A bar on standard error while a function compiles, when that is a terminal.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tenon/tenon.hpp"

namespace tenon::cli {

// Draws from its construction to its destruction, by looking at the function's counters from a thread of its own.
class Progress {
 public:
  // wanted: false draws nothing, nor does a standard error that is no terminal.
  Progress(const Function& function, bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void draw_until_done();

  Function function_;
  std::mutex mutex_;
  std::condition_variable done_signal_;
  bool done_ = false;
  std::thread thread_;
};

// "[#####.....] 5/10 kernels": width characters between the brackets. total 0: the plan is still being made.
std::string bar(int64_t finished, int64_t total, int width);

}  // namespace tenon::cli
