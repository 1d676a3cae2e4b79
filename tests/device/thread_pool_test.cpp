#include "device/cpu/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "device/allocation_count.hpp"
#include "device/cpu/inline_executor.hpp"

namespace tenon::device::cpu {
namespace {

template <typename F>
void run(Executor& executor, size_t count, F body) {
  executor.parallel_for(
      count, [](void* data, size_t index, uint32_t worker) { (*static_cast<F*>(data))(index, worker); }, &body);
}

std::unique_ptr<ThreadPool> make_pool(uint32_t width, int64_t spin_ns = 50'000) {
  return *ThreadPool::create(width, spin_ns);
}

void nap_us(int64_t duration) { std::this_thread::sleep_for(std::chrono::microseconds(duration)); }

TEST(InlineExecutor, RunsAllInOrderOnTheCaller) {
  InlineExecutor executor;
  std::vector<size_t> seen;
  run(executor, 4, [&](size_t index, uint32_t worker) {
    EXPECT_EQ(worker, 0u);
    seen.push_back(index);
  });
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_FALSE(executor.submit([](void*) {}, nullptr));
}

TEST(ThreadPool, RunsEveryTaskOnceForAllWidthsAndCounts) {
  for (const uint32_t width : {1u, 2u, 3u, 8u}) {
    for (const int64_t spin_ns : {int64_t(0), int64_t(50'000)}) {
      const auto pool = make_pool(width, spin_ns);
      EXPECT_EQ(pool->width(), width);
      for (const size_t count : {0, 1, 2, 3, 7, 64, 1000}) {
        std::vector<std::atomic<int>> ran(count);
        for (int round = 0; round < 20; ++round) {
          run(*pool, count, [&](size_t index, uint32_t worker) {
            EXPECT_LT(worker, width);
            ran[index].fetch_add(1);
          });
          for (const auto& times : ran) ASSERT_EQ(times.load(), round + 1);
        }
      }
    }
  }
}

TEST(ThreadPool, ManyShortCallsLoseNothing) {
  const auto pool = make_pool(4, 2'000);
  uint64_t plain[8] = {};
  for (uint64_t round = 1; round <= 20000; ++round) {
    // Plain memory: the end of a call must order all of its tasks before what follows.
    run(*pool, 8, [&](size_t index, uint32_t) { ++plain[index]; });
    for (const uint64_t value : plain) ASSERT_EQ(value, round);
  }
}

TEST(ThreadPool, WorkersNumbersAreExclusiveWithinACall) {
  const auto pool = make_pool(4);
  std::atomic<int> busy[4] = {};
  for (int round = 0; round < 50; ++round) {
    run(*pool, 16, [&](size_t, uint32_t worker) {
      EXPECT_EQ(busy[worker].fetch_add(1), 0);
      nap_us(20);
      busy[worker].fetch_sub(1);
    });
  }
}

TEST(ThreadPool, OthersTakePart) {
  const auto pool = make_pool(2);
  std::atomic<uint32_t> seen{0};
  // Each task waits until the other has begun: alone, the caller would never get through.
  run(*pool, 2, [&](size_t, uint32_t) {
    seen.fetch_add(1);
    while (seen.load() != 2) std::this_thread::yield();
  });
  EXPECT_EQ(seen.load(), 2u);
}

TEST(ThreadPool, CallerSleepsThroughALongTaskAndIsWoken) {
  const auto pool = make_pool(2, 1'000);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> begun{0}, ended{0};
    run(*pool, 2, [&](size_t, uint32_t worker) {
      begun.fetch_add(1);
      while (begun.load() != 2) std::this_thread::yield();
      if (worker != 0) nap_us(30'000);
      ended.fetch_add(1);
    });
    EXPECT_EQ(ended.load(), 2);
  }
}

TEST(ThreadPool, DoesNotWaitForAWorkerThatHasNotArrived) {
  const auto pool = make_pool(2);
  std::atomic<bool> hold{true}, held{false};
  // A first caller keeps the only worker busy; a second one must get through alone.
  std::thread first([&] {
    run(*pool, 2, [&](size_t, uint32_t worker) {
      if (worker == 0) {
        while (!held.load()) std::this_thread::yield();
        return;
      }
      held = true;
      while (hold.load()) std::this_thread::yield();
    });
  });
  while (!held.load()) std::this_thread::yield();
  std::atomic<int> ran{0};
  run(*pool, 10, [&](size_t, uint32_t worker) {
    EXPECT_EQ(worker, 0u);
    ran.fetch_add(1);
  });
  EXPECT_EQ(ran.load(), 10);
  hold = false;
  first.join();
}

TEST(ThreadPool, NestedCallsRunInline) {
  const auto pool = make_pool(4);
  std::atomic<int> inner{0};
  run(*pool, 8, [&](size_t, uint32_t) {
    const auto self = std::this_thread::get_id();
    run(*pool, 5, [&](size_t, uint32_t worker) {
      EXPECT_EQ(worker, 0u);
      EXPECT_EQ(std::this_thread::get_id(), self);
      inner.fetch_add(1);
    });
  });
  EXPECT_EQ(inner.load(), 40);
}

TEST(ThreadPool, ManyCallersShareTheWorkers) {
  const auto pool = make_pool(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (uint64_t round = 1; round <= 500; ++round) {
        std::atomic<uint64_t> sum{0};
        run(*pool, 16, [&](size_t index, uint32_t) { sum.fetch_add(index * round); });
        EXPECT_EQ(sum.load(), 120 * round);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(ThreadPool, CallsAllocateNothing) {
  const auto pool = make_pool(3);
  std::atomic<int> ran{0};
  const auto body = [&](size_t, uint32_t) { ran.fetch_add(1); };
  run(*pool, 8, body);
  const uint64_t before = tests::allocation_count();
  for (int round = 0; round < 100; ++round) run(*pool, 8, body);
  EXPECT_EQ(tests::allocation_count(), before);
  EXPECT_EQ(ran.load(), 808);
}

TEST(ThreadPool, JobsRunInOrderAndBeforeTheEnd) {
  std::vector<int> order;
  struct Item {
    std::vector<int>* order;
    int number;
  };
  std::vector<Item> items;
  for (int number = 0; number < 50; ++number) items.push_back({&order, number});
  {
    const auto pool = make_pool(1);
    const auto caller = std::this_thread::get_id();
    for (Item& item : items) {
      ASSERT_TRUE(pool->submit(
          [](void* data) {
            auto& mine = *static_cast<Item*>(data);
            nap_us(100);
            mine.order->push_back(mine.number);
          },
          &item));
    }
    EXPECT_EQ(std::this_thread::get_id(), caller);
  }
  ASSERT_EQ(order.size(), 50u);
  for (int number = 0; number < 50; ++number) EXPECT_EQ(order[size_t(number)], number);
}

TEST(ThreadPool, AJobMayUseTheWorkers) {
  struct State {
    ThreadPool* pool;
    std::atomic<int> ran{0};
  } state;
  auto pool = make_pool(3);
  state.pool = pool.get();
  ASSERT_TRUE(pool->submit(
      [](void* data) {
        auto& mine = *static_cast<State*>(data);
        run(*mine.pool, 10, [&](size_t, uint32_t) { mine.ran.fetch_add(1); });
      },
      &state));
  pool.reset();
  EXPECT_EQ(state.ran.load(), 10);
}

TEST(ThreadPool, AChildAfterForkRunsInlineAndEndsCleanly) {
  auto pool = make_pool(4);
  std::atomic<int> ran{0};
  run(*pool, 8, [&](size_t, uint32_t) { ran.fetch_add(1); });
  ASSERT_TRUE(pool->submit([](void*) { nap_us(200'000); }, nullptr));
  // Also while other threads are in the middle of calls.
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load()) run(*pool, 8, [](size_t, uint32_t) { nap_us(10); });
  });
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // a hang ends as a signal
      int in_child = 0;
      run(*pool, 8, [&](size_t, uint32_t worker) { in_child += worker == 0 ? 1 : 100; });
      const bool refused = !pool->submit([](void*) {}, nullptr);
      const bool narrow = pool->width() == 1;
      pool.reset();
      _exit(in_child == 8 && refused && narrow ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  other.join();
  run(*pool, 8, [&](size_t, uint32_t) { ran.fetch_add(1); });
  EXPECT_EQ(ran.load(), 16);
}

TEST(ThreadPool, CanBeMadeAndDestroyedManyTimes) {
  for (int round = 0; round < 100; ++round) {
    const auto pool = make_pool(4, round % 2 == 0 ? 0 : 50'000);
    if (round % 3 == 0) run(*pool, 4, [](size_t, uint32_t) {});
  }
  EXPECT_EQ(ThreadPool::create(100'000).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tenon::device::cpu
