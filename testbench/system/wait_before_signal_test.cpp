// Wait before signal, through weft-sim: waits that the host ends later, the verdict when it is asked for, and limits.
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "testbench/system/test_device.hpp"

using namespace weft::test;
using Catch::Contains;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// Hang reports of a test go here, so that it sees whether there are any.
class Reports {
 public:
  Reports() {
    char name[] = "/tmp/weft-signal-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    require_ok(weft_set_report_folder(name));
  }
  ~Reports() {
    (void)!weft_set_report_folder(nullptr);
    std::filesystem::remove_all(folder_);
  }
  size_t count() const {
    size_t texts = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) texts += file.path().extension() == ".txt";
    return texts;
  }

 private:
  std::string folder_;
};

constexpr milliseconds kPause(200);
constexpr milliseconds kSoon(20000);  // for what happens at once, on a busy machine

}  // namespace

TEST_CASE("several threads wait for what the host signals 200 ms later, and leave no report") {
  const Reports reports;
  Device d;
  const auto queue = d.queue();
  const auto s = d.semaphore();
  const auto first = wait(queue, s, 2), behind = nop(queue);
  std::array<weft_status, 4> ends{};
  ends.fill(WEFT_ERROR_INTERNAL);
  std::array<Clock::duration, 4> times{};
  const auto begin = Clock::now();
  std::vector<std::thread> waiters;
  for (size_t i = 0; i < ends.size(); i++) {
    waiters.emplace_back([&, i] {
      if (i == 0) ends[i] = weft_semaphore_wait(s.get(), 1, nullptr);
      if (i == 1) ends[i] = weft_semaphore_wait(s.get(), 2, nullptr);
      if (i == 2) ends[i] = end_of(first);
      if (i == 3) ends[i] = end_of(behind);
      times[i] = Clock::now() - begin;
    });
  }
  std::this_thread::sleep_for(kPause);
  require_ok(weft_semaphore_signal(s.get(), 1));
  waiters[0].join();
  std::this_thread::sleep_for(kPause);
  require_ok(weft_semaphore_signal(s.get(), 2));
  for (size_t i = 1; i < ends.size(); i++) waiters[i].join();
  for (size_t i = 0; i < ends.size(); i++) {
    INFO(i);
    CHECK(ends[i] == WEFT_ERROR_OK);
    CHECK(times[i] >= (i == 0 ? kPause : 2 * kPause));
  }
  CHECK(reports.count() == 0);
}

TEST_CASE("a wait for a command that another thread's submission sets free goes on") {
  const Reports reports;
  Device d;
  const auto one = d.queue(), two = d.queue();
  const auto s = d.semaphore();
  const auto waiter = wait(one, s, 1);
  std::thread submitter([&] {
    std::this_thread::sleep_for(kPause);
    (void)!weft_signal(two.get(), s.get(), 1, nullptr, nullptr);
  });
  const weft_status end = end_of(waiter);
  submitter.join();
  CHECK(end == WEFT_ERROR_OK);
  CHECK(reports.count() == 0);
}

TEST_CASE("a deadlock that is asked for ends at once with its report, and one that nobody could end does by itself") {
  const Reports reports;
  Device d;
  const auto one = d.queue(), two = d.queue();
  auto a = d.semaphore(), b = d.semaphore();
  const auto first = wait(one, a, 1);
  require_ok(weft_signal(one.get(), b.get(), 1, nullptr, nullptr));
  const auto second = wait(two, b, 1);
  require_ok(weft_signal(two.get(), a.get(), 1, nullptr, nullptr));
  const auto begin = Clock::now();
  const weft_wait_options options = until_idle();
  CHECK(weft_event_wait(first.get(), &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(driver_message(WEFT_ERROR_TIMEOUT_WAIT), Contains("nothing is pending on the device") &&
                                                          Contains("waits for semaphore 1 to reach 1") &&
                                                          Contains("waits for semaphore 2 to reach 1"));
  CHECK(reports.count() == 1);
  a.reset();
  b.reset();
  CHECK(end_of(second) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(Clock::now() - begin < kSoon);
  CHECK(reports.count() == 2);
  require_ok(weft_event_cancel(first.get()));
  CHECK(end_of(first) == WEFT_ERROR_CANCELLED);
  CHECK(end_of(second) == WEFT_ERROR_OK);  // the signal behind the cancelled wait went on
}

TEST_CASE("the limits of a wait hold on a device that stands still") {
  Device d;
  const auto s = d.semaphore();
  weft_device_info device = WEFT_INIT(weft_device_info);
  require_ok(weft_device_get_info(d.device.get(), &device));
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  SECTION("guard_ms") { options.guard_ms = 150; }
  SECTION("timeout_ms") { options.timeout_ms = 150; }
  SECTION("deadline_cycles, at the rate of the clock") { options.deadline_cycles = device.clock_hz * 15 / 100; }
  const auto begin = Clock::now();
  CHECK(weft_semaphore_wait(s.get(), 1, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(Clock::now() - begin >= milliseconds(140));
  CHECK(Clock::now() - begin < kSoon);
  std::thread signaller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    (void)!weft_semaphore_signal(s.get(), 1);
  });
  const weft_status end = weft_semaphore_wait(s.get(), 1, &options);  // and what comes in time is in time
  signaller.join();
  CHECK(end == WEFT_ERROR_OK);
}

TEST_CASE("signals that race with waits are never missed") {
  Device d;
  const auto queue = d.queue();
  const auto s = d.semaphore();
  for (uint64_t i = 1; i <= 100; i++) {
    const auto waiter = wait(queue, s, i);
    std::thread signaller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(1000 + i * 53 % 3000));  // the verdict comes after 2 ms
      (void)!weft_semaphore_signal(s.get(), i);
    });
    const weft_status by_value = weft_semaphore_wait(s.get(), i, nullptr), by_event = end_of(waiter);
    signaller.join();
    INFO(i);
    REQUIRE(by_value == WEFT_ERROR_OK);
    REQUIRE(by_event == WEFT_ERROR_OK);
  }
}

TEST_CASE("a wait ends when the queue that owes its signal is reset or halted, and tells what was lost") {
  const bool halt = GENERATE(false, true);
  CAPTURE(halt);
  const Reports reports;
  Device d;
  const auto one = d.queue(), two = d.queue();
  const auto gate = d.semaphore(), owed = d.semaphore();
  const auto first = wait(one, gate, 1);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = 77;
  require_ok(weft_signal(one.get(), owed.get(), 1, &options, nullptr));
  const auto behind = wait(two, owed, 1);
  weft_status by_value = WEFT_ERROR_OK, by_event = WEFT_ERROR_OK;
  std::string said;
  weft_wait_options limits = WEFT_INIT(weft_wait_options);
  limits.timeout_ms = 20000;
  std::thread value([&] { by_value = weft_semaphore_wait(owed.get(), 1, &limits); });
  std::thread event([&] {
    by_event = weft_event_wait(behind.get(), &limits);
    weft_error_info info = WEFT_INIT(weft_error_info);
    if (weft_last_error(&info) == WEFT_ERROR_OK) said = info.message;
  });
  std::this_thread::sleep_for(kPause);
  if (halt) {
    d.inject(WEFT_INJECTED_FAULT_DOORBELL_VALUE, id_of(one), 1, 0x7fffffff);
    weft_event* last = nullptr;
    CHECK(weft_nop(one.get(), nullptr, &last) == WEFT_ERROR_OK);  // and nothing else calls the driver for it
    event.join();
    value.join();
    CHECK(end_of(Handle<weft_event>(last)) == WEFT_ERROR_BAD_DOORBELL);
  } else {
    weft_reset_report report = WEFT_INIT(weft_reset_report);
    CHECK(weft_reset(d.device.get(), one.get(), WEFT_RESET_LEVEL_QUEUE, &report) == WEFT_ERROR_OK);
    uint64_t now = 0;
    CHECK(weft_semaphore_get_value(owed.get(), &now) == WEFT_ERROR_DEPENDENCY_FAILED);  // as soon as it is over
    event.join();
    value.join();
  }
  CHECK(by_value == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK(by_event == WEFT_ERROR_DEPENDENCY_FAILED);
  CHECK_THAT(said, Contains("(tag 77) of queue 1 failed first, with " +
                            std::string(halt ? "BAD_DOORBELL" : "ABORTED_BY_RESET")));
  CHECK(end_of(first) == (halt ? WEFT_ERROR_BAD_DOORBELL : WEFT_ERROR_ABORTED_BY_RESET));
  CHECK(reports.count() == 0);
}

TEST_CASE("close and reset end waits that the host could still have ended") {
  const bool close = GENERATE(true, false);
  Device d;
  auto queue = d.queue();
  const auto s = d.semaphore();
  const auto waiter = wait(queue, s, 1);
  weft_status by_value = WEFT_ERROR_OK, by_event = WEFT_ERROR_OK;
  std::thread one([&] { by_value = weft_semaphore_wait(s.get(), 1, nullptr); });
  std::thread two([&] { by_event = end_of(waiter); });
  std::this_thread::sleep_for(kPause);
  const auto begin = Clock::now();
  if (close) {
    d.device.reset();
  } else {
    require_ok(weft_device_reset(d.device.get()));
  }
  one.join();
  two.join();
  CHECK(Clock::now() - begin < kSoon);
  CHECK(by_value == (close ? WEFT_ERROR_CANCELLED : WEFT_ERROR_ABORTED_BY_RESET));
  CHECK(by_event == (close ? WEFT_ERROR_CANCELLED : WEFT_ERROR_ABORTED_BY_RESET));
}

TEST_CASE("a command that waits is let alone while others work for millions of cycles") {
  const Reports reports;
  Device d;
  const auto waiting = d.queue(), busy = d.queue();
  const auto s = d.semaphore();
  constexpr uint64_t kBytes = 16u << 20;
  const auto hbm = d.buffer(WEFT_MEMORY_HBM, kBytes);
  const auto waiter = wait(waiting, s, 1);
  weft_status end = WEFT_ERROR_INTERNAL;
  std::thread thread([&] { end = end_of(waiter); });
  uint64_t begin = 0, now = 0;
  require_ok(weft_device_cycle(d.device.get(), &begin));
  for (now = begin; now - begin < 20'000'000;) {  // five times what counts as standing still
    weft_event* fill = nullptr;
    require_ok(weft_fill(busy.get(), hbm.get(), 0, kBytes, 7, nullptr, &fill));
    const Handle<weft_event> filled(fill);
    require_ok(end_of(filled));
    require_ok(weft_device_cycle(d.device.get(), &now));
  }
  CHECK(info_of(waiter).done == 0);
  require_ok(weft_semaphore_signal(s.get(), 1));
  thread.join();
  CHECK(end == WEFT_ERROR_OK);
  CHECK(reports.count() == 0);
}
