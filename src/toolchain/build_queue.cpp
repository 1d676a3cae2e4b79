#include "toolchain/build_queue.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tenon::toolchain {

namespace {

// How long one compiler is waited for before the next is looked at.
constexpr int64_t kSliceNs = 500'000;

struct Build {
  BuildId id = 0;
  CompileRequest request;
  BuildQueue::Done done;
  std::unique_ptr<CompileJob> job;
};

}  // namespace

struct BuildQueue::State {
  Env& env;
  SystemCompiler& compiler;
  const size_t parallel;

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Build> waiting;
  std::unordered_set<BuildId> live;       // waiting or running, or its Done has not returned
  std::unordered_set<BuildId> cancelled;  // live ones that shall end
  BuildId next_id = 1;
  bool driven = false;  // somebody is in drive(); `running` is his

  std::vector<Build> running;

  State(Env& environment, SystemCompiler& used, uint32_t limit)
      : env(environment), compiler(used), parallel(std::max(1u, limit)) {}

  // `lock` is held on entry and exit, released in between. Moves builds on until `stop()`, asked with the lock held;
  // waits for each compiler at most `slice_ns` at a time.
  template <typename Stop>
  void drive(std::unique_lock<std::mutex>& lock, int64_t slice_ns, Stop stop) {
    driven = true;
    do {
      end_cancelled(lock);
      start_waiting(lock);
      lock.unlock();
      look_at_running(slice_ns);
      lock.lock();
    } while (!stop());
    driven = false;
    changed.notify_all();
  }

  void end_cancelled(std::unique_lock<std::mutex>& lock) {
    std::vector<Build> ended;
    const auto take = [&](auto& builds) {
      for (auto build = builds.begin(); build != builds.end();) {
        if (cancelled.erase(build->id) == 0) {
          ++build;
          continue;
        }
        ended.push_back(std::move(*build));
        build = builds.erase(build);
      }
    };
    if (cancelled.empty()) return;
    take(waiting);
    take(running);
    lock.unlock();
    for (Build& build : ended) {
      build.job.reset();
      end(build, Status(Code::kCancelled, "compilation cancelled"));
    }
    lock.lock();
  }

  void start_waiting(std::unique_lock<std::mutex>& lock) {
    while (running.size() < parallel && !waiting.empty()) {
      Build build = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      Result<std::unique_ptr<CompileJob>> job = compiler.start(build.request);
      if (job.ok()) {
        build.request.source.clear();
        build.job = *std::move(job);
        running.push_back(std::move(build));
      } else {
        end(build, job.status());
      }
      lock.lock();
    }
  }

  void look_at_running(int64_t slice_ns) {
    for (size_t index = 0; index < running.size();) {
      if (!running[index].job->poll(slice_ns)) {
        ++index;
        continue;
      }
      Build build = std::move(running[index]);
      running.erase(running.begin() + ptrdiff_t(index));
      Result<Blob> image = build.job->take();
      build.job.reset();
      end(build, std::move(image));
      return;  // a place is free: fill it before looking further
    }
  }

  void end(Build& build, Result<Blob> image) {
    if (build.done) build.done(std::move(image));
    {
      std::lock_guard lock(mutex);
      live.erase(build.id);
      cancelled.erase(build.id);
    }
    changed.notify_all();
  }

  // Until `finished()`, moving builds on here or waiting for whoever does.
  template <typename Finished>
  void wait_until(Finished finished) {
    std::unique_lock lock(mutex);
    while (!finished()) {
      if (driven) changed.wait(lock);
      else drive(lock, kSliceNs, finished);
    }
  }
};

BuildQueue::BuildQueue(Env& env, SystemCompiler& compiler, uint32_t parallel)
    : state_(std::make_unique<State>(env, compiler, parallel)) {}

BuildQueue::~BuildQueue() {
  {
    std::lock_guard lock(state_->mutex);
    for (const BuildId id : state_->live) state_->cancelled.insert(id);
  }
  wait_all();
}

BuildId BuildQueue::enqueue(CompileRequest request, Done done, bool urgent) {
  std::lock_guard lock(state_->mutex);
  Build build;
  build.id = state_->next_id++;
  build.request = std::move(request);
  build.done = std::move(done);
  const BuildId id = build.id;
  state_->live.insert(id);
  if (urgent) state_->waiting.push_front(std::move(build));
  else state_->waiting.push_back(std::move(build));
  return id;
}

size_t BuildQueue::poll(int64_t budget_ns) {
  const int64_t until = state_->env.now_ns() + budget_ns;
  std::unique_lock lock(state_->mutex);
  const auto stop = [&] { return state_->live.empty() || state_->env.now_ns() >= until; };
  bool looked = false;
  while (!state_->live.empty() && !(looked && stop())) {
    if (!state_->driven) {
      state_->drive(lock, std::clamp<int64_t>(budget_ns, 0, kSliceNs), stop);
    } else if (budget_ns > 0) {
      const int64_t left = std::max<int64_t>(0, until - state_->env.now_ns());
      state_->changed.wait_for(lock, std::chrono::nanoseconds(left));
    }
    looked = true;
  }
  return state_->live.size();
}

void BuildQueue::wait(BuildId id) {
  state_->wait_until([&] { return state_->live.count(id) == 0; });
}

void BuildQueue::wait_all() {
  state_->wait_until([&] { return state_->live.empty(); });
}

bool BuildQueue::cancel(BuildId id) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->live.count(id) == 0) return false;
    state_->cancelled.insert(id);
  }
  poll(0);
  return true;
}

size_t BuildQueue::pending() const {
  std::lock_guard lock(state_->mutex);
  return state_->live.size();
}

}  // namespace tenon::toolchain
