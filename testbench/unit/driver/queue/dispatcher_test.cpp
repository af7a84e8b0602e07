// The dispatcher beside threads that wait: whoever stops leading hands the lead on, to the dispatcher too.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;

namespace {

/// No wake-up is left to the slow poll: one that is missed is missed for good, and a test that waits for it ends the
/// program.
constexpr int kNoPoll = 3'600'000;

void count_call(weft_event*, weft_status, void* user) { (*static_cast<std::atomic<int>*>(user))++; }

void await_calls(const std::atomic<int>& calls, int wanted, const char* what) {
  constexpr std::chrono::seconds kPatience(30);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (calls != wanted) {
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "FAILED: callback %d has not come: %s\n", calls.load() + 1, what);
      std::_Exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

TEST_CASE("a callback comes although the thread that led has just left") {
  MockDevice device({.paused = true}, kNoPoll);
  weft_queue* queue = device.queue();
  std::atomic<int> calls{0};
  constexpr int kTrials = 200;
  for (int trial = 1; trial <= kTrials; trial++) {
    weft_event *waited = nop(queue), *called = nop(queue);
    REQUIRE_OK(weft_event_set_callback(called, count_call, &calls));
    weft_status ended = WEFT_ERROR_INTERNAL;
    std::thread leader([&] {
      do ended = weft_event_wait(waited, nullptr);
      while (ended == WEFT_ERROR_TIMEOUT_WAIT);  // the paused mock calls itself idle if this thread is late by 2 ms
    });
    if (trial % 4 != 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * (trial % 9)));
    device.mock().run(1);
    leader.join();
    REQUIRE(ended == WEFT_ERROR_OK);
    device.mock().run(1);
    await_calls(calls, trial, "nobody leads after the thread that did has left");
    weft_event_release(waited);
    weft_event_release(called);
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a callback of an event that has ended comes although another thread leads") {
  MockDevice device({.paused = true, .complete_on_alarm = false}, kNoPoll);
  weft_queue* queue = device.queue();
  std::atomic<int> calls{0}, never{0};
  weft_event *ended = nop(queue), *waited = nop(queue), *open = nop(queue);
  device.mock().run(1);
  while (query(ended).done == 0) std::this_thread::yield();
  REQUIRE_OK(weft_event_set_callback(open, count_call, &never));  // the dispatcher listens from here on
  std::thread leader([&] { (void)!weft_event_wait(waited, nullptr); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  REQUIRE_OK(weft_event_set_callback(ended, count_call, &calls));
  await_calls(calls, 1, "the dispatcher sleeps behind the leader");
  device.mock().run(2);
  leader.join();
  await_calls(never, 1, "nobody leads after the thread that did has left");
  for (weft_event* event : {ended, waited, open}) weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("many threads that come and go leave no completion behind") {
  MockDevice device({.paused = true}, kNoPoll);
  weft_queue* queue = device.queue();
  std::atomic<bool> stop{false};
  std::thread pace([&] {
    while (!stop) device.mock().run(1);
  });
  std::atomic<int> calls{0};
  constexpr int kThreads = 3, kEach = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; i++) {
        weft_event* event = nullptr;
        while (weft_nop(queue, nullptr, &event) == WEFT_ERROR_QUEUE_FULL) std::this_thread::yield();
        (void)!weft_event_set_callback(event, count_call, &calls);
        if (i % 2 == 0) (void)!weft_event_wait(event, nullptr);
        weft_event_release(event);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  await_calls(calls, kThreads * kEach, "the threads have left");
  stop = true;
  pace.join();
  REQUIRE_OK(weft_queue_release(queue));
}
