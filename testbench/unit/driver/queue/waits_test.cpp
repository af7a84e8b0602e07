// Wait before signal, against the mock: who could still signal, and the verdict when nobody can.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "driver/transport/pci.hpp"
#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// Hang reports of a test go here, so that it sees whether there are any.
class Reports {
 public:
  Reports() {
    char name[] = "/tmp/weft-waits-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    folder_ = name;
    REQUIRE_OK(weft_set_report_folder(name));
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

weft_semaphore* semaphore(MockDevice& device, uint64_t value = 0) {
  weft_semaphore* made = nullptr;
  REQUIRE_OK(weft_semaphore_create(device.handle(), value, &made));
  return made;
}

/// A command that waits for `wait` >= 1 and then raises `signal` to 1, either may be null.
weft_event* passes_on(weft_queue* queue, weft_semaphore* wait, weft_semaphore* signal) {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.wait_semaphore = wait;
  options.wait_value = 1;
  options.signal_semaphore = signal;
  options.signal_value = 1;
  weft_event* event = nullptr;
  REQUIRE_OK(weft_nop(queue, &options, &event));
  return event;
}

/// Waits in a thread; done() within a time tells whether it has ended.
class Waiting {
 public:
  explicit Waiting(weft_event* event)
      : thread_([this, event] {
          status_ = weft_event_wait(event, nullptr);
          message_ = status_ == WEFT_ERROR_OK ? "" : last_message();
          done_ = true;
        }) {}
  ~Waiting() {
    if (thread_.joinable()) thread_.join();
  }
  bool ends_within(milliseconds time) const {
    for (const auto end = Clock::now() + time; Clock::now() < end && !done_;)
      std::this_thread::sleep_for(milliseconds(1));
    return done_;
  }
  weft_status status() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }
  const std::string& message() const { return message_; }

 private:
  std::atomic<bool> done_{false};
  weft_status status_ = WEFT_ERROR_OK;
  std::string message_;
  std::thread thread_;
};

/// A device on which nothing ends by itself: the test says what the event waits for, and ends it while it is asked.
class Silence : public CompletionSource {
 public:
  size_t drain() override { return 0; }
  void settle() override {}
  void lost(const Status&) override {}
  void check_failed() override {}
  std::string blocked() override { return {}; }
  Hope hope_of(const Event& event) override { return judge(event); }
  std::function<Hope(const Event&)> judge;
};

constexpr milliseconds kSoon(20000);  // for what happens at once, on a busy machine
constexpr milliseconds kLater(150);   // longer than the grace period and a parked wait's pause
constexpr milliseconds kAWhile(30);

}  // namespace

TEST_CASE("a wait of the host for what the host signals later ends with OK, and leaves no report") {
  const Reports reports;
  MockDevice device;
  weft_semaphore* s = semaphore(device);
  weft_status status = WEFT_ERROR_INTERNAL;
  std::thread waiter([&] { status = weft_semaphore_wait(s, 1, nullptr); });
  std::this_thread::sleep_for(kLater);
  REQUIRE_OK(weft_semaphore_signal(s, 1));
  waiter.join();
  CHECK(status == WEFT_ERROR_OK);
  CHECK(reports.count() == 0);
  weft_semaphore_release(s);
}

TEST_CASE("a wait for a command behind a semaphore goes on until the host signals it") {
  const Reports reports;
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event *first = passes_on(queue, s, nullptr), *behind = nop(queue);
  Waiting one(behind), two(first);
  CHECK(!one.ends_within(kLater));
  REQUIRE_OK(weft_semaphore_signal(s, 1));
  CHECK(one.status() == WEFT_ERROR_OK);
  CHECK(two.status() == WEFT_ERROR_OK);
  CHECK(reports.count() == 0);
  weft_event_release(first);
  weft_event_release(behind);
  weft_semaphore_release(s);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("once nobody has the semaphore's handle, waits for commands behind it end, with a report") {
  const Reports reports;
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event* event = passes_on(queue, s, nullptr);
  Waiting waiting(event);
  CHECK(!waiting.ends_within(kLater));
  weft_semaphore_release(s);
  REQUIRE(waiting.ends_within(kSoon));
  CHECK(waiting.status() == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(waiting.message(), Contains("nothing is pending on the device") &&
                                    Contains("waits for semaphore 1 to reach 1, which stands at 0"));
  CHECK(reports.count() == 1);
  REQUIRE_OK(weft_event_cancel(event));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a command buffer can signal what it has recorded, as long as it exists") {
  const bool replayed = GENERATE(true, false);
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event* event = passes_on(one, s, nullptr);
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.signal_semaphore = s;
  options.signal_value = 1;
  weft_command command = WEFT_INIT(weft_command);
  command.opcode = WEFT_QUEUE_OPCODE_SIGNAL;
  command.options = &options;
  weft_command_buffer* buffer = nullptr;
  REQUIRE_OK(weft_command_buffer_create(device.handle(), &command, 1, &buffer));
  weft_semaphore_release(s);
  Waiting waiting(event);
  CHECK(!waiting.ends_within(kLater));
  if (replayed) REQUIRE_OK(weft_command_buffer_submit(two, buffer, nullptr));
  weft_command_buffer_release(buffer);
  REQUIRE(waiting.ends_within(kSoon));
  CHECK(waiting.status() == (replayed ? WEFT_ERROR_OK : WEFT_ERROR_TIMEOUT_WAIT));
  REQUIRE_OK(weft_event_cancel(event));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
}

TEST_CASE("a command in flight that signals later is hope as long as its own wait has some") {
  const bool signalled = GENERATE(true, false);
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore *a = semaphore(device), *b = semaphore(device);
  weft_event *last = passes_on(one, b, nullptr), *middle = passes_on(two, a, b);
  weft_semaphore_release(b);  // from here on only `middle` can signal it
  Waiting waiting(last);
  CHECK(!waiting.ends_within(kLater));
  if (signalled) REQUIRE_OK(weft_semaphore_signal(a, 1));
  weft_semaphore_release(a);
  REQUIRE(waiting.ends_within(kSoon));
  CHECK(waiting.status() == (signalled ? WEFT_ERROR_OK : WEFT_ERROR_TIMEOUT_WAIT));
  for (weft_event* event : {last, middle}) {
    REQUIRE_OK(weft_event_cancel(event));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
}

TEST_CASE("a command that would signal too little, or behind one that waits in vain, is no hope") {
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore *a = semaphore(device), *b = semaphore(device), *c = semaphore(device);
  weft_command_options options = WEFT_INIT(weft_command_options);
  weft_event *too_much = nullptr, *behind = nullptr;
  REQUIRE_OK(weft_wait(one, b, 2, &options, &too_much));  // `low` gives it 1
  weft_event *low = passes_on(two, a, b), *vain = passes_on(two, c, nullptr);
  options.signal_semaphore = b;
  options.signal_value = 5;
  REQUIRE_OK(weft_nop(two, &options, &behind));  // behind `vain`
  weft_semaphore_release(b);
  weft_semaphore_release(c);
  CHECK(weft_event_wait(too_much, nullptr) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(weft_event_wait(behind, nullptr) == WEFT_ERROR_TIMEOUT_WAIT);
  Waiting waiting(low);
  CHECK(!waiting.ends_within(kLater));
  REQUIRE_OK(weft_semaphore_signal(a, 1));
  CHECK(waiting.status() == WEFT_ERROR_OK);
  weft_semaphore_release(a);
  for (weft_event* event : {too_much, vain, behind, low}) {
    REQUIRE_OK(weft_event_cancel(event));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
}

TEST_CASE("commands that wait for each other have no hope without the host, and until_idle tells with it") {
  MockDevice device;
  weft_queue *one = device.queue(), *two = device.queue();
  weft_semaphore *a = semaphore(device), *b = semaphore(device);
  weft_event *first = passes_on(one, a, b), *second = passes_on(two, b, a);
  const weft_wait_options options = until_idle();
  const auto begin = Clock::now();
  CHECK(weft_event_wait(first, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(weft_semaphore_wait(a, 1, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(Clock::now() - begin < kSoon);
  weft_semaphore_release(a);
  weft_semaphore_release(b);
  CHECK(weft_event_wait(second, nullptr) == WEFT_ERROR_TIMEOUT_WAIT);
  for (weft_event* event : {first, second}) {
    REQUIRE_OK(weft_event_cancel(event));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(one));
  REQUIRE_OK(weft_queue_release(two));
}

TEST_CASE("the limits of a wait hold while somebody could still signal") {
  MockDevice device;
  weft_semaphore* s = semaphore(device);
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  std::string words;
  SECTION("guard") {
    options.guard_ms = 120;
    words = "no device cycle has passed for 120 ms";
  }
  SECTION("timeout") {
    options.timeout_ms = 120;
    words = "120 ms have passed";
  }
  const auto begin = Clock::now();
  CHECK(weft_semaphore_wait(s, 1, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(Clock::now() - begin >= milliseconds(120));
  CHECK(Clock::now() - begin < kSoon);
  CHECK_THAT(last_message(), Contains(words));
  weft_semaphore_release(s);
}

TEST_CASE("options of the form that ended with guard_ms are taken, and what lies behind them is not read") {
  MockDevice device;
  weft_semaphore* s = semaphore(device);
  weft_wait_options options;
  std::memset(&options, 0xff, sizeof options);
  options.size = 24;
  options.deadline_cycles = 0;
  options.guard_ms = 120;
  const auto begin = Clock::now();
  CHECK(weft_semaphore_wait(s, 1, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(Clock::now() - begin >= milliseconds(120));
  for (const size_t size : {size_t{0}, size_t{20}, size_t{25}, sizeof options - 1, sizeof options + 1}) {
    options.size = size;
    CHECK(weft_semaphore_wait(s, 1, &options) == WEFT_ERROR_INVALID_ARGUMENT);
    CHECK_THAT(last_message(), Contains("'options'.size is " + std::to_string(size)));
  }
  weft_semaphore_release(s);
}

TEST_CASE("a signal that races with the verdict is never missed") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_semaphore* s = semaphore(device);
  for (uint64_t i = 1; i <= 150; i++) {
    weft_event* event = nullptr;
    REQUIRE_OK(weft_wait(queue, s, i, nullptr, &event));
    std::thread signaller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(1000 + i * 37 % 2500));  // the alarm is armed after 2 ms
      (void)!weft_semaphore_signal(s, i);
    });
    const weft_status by_event = weft_event_wait(event, nullptr), by_value = weft_semaphore_wait(s, i, nullptr);
    signaller.join();
    weft_event_release(event);
    INFO(i);
    REQUIRE(by_event == WEFT_ERROR_OK);
    REQUIRE(by_value == WEFT_ERROR_OK);
  }
  weft_semaphore_release(s);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("the last handle that goes right after its signal takes no hope along") {
  MockDevice device;
  weft_queue* queue = device.queue();
  for (uint64_t i = 1; i <= 150; i++) {
    weft_semaphore* s = semaphore(device);
    weft_event* event = passes_on(queue, s, nullptr);
    std::thread signaller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(1000 + i * 37 % 2500));
      (void)!weft_semaphore_signal(s, 1);
      weft_semaphore_release(s);
    });
    const weft_status status = weft_event_wait(event, nullptr);
    signaller.join();
    weft_event_release(event);
    INFO(i);
    REQUIRE(status == WEFT_ERROR_OK);
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a close ends waits that somebody could still have ended") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event* event = passes_on(queue, s, nullptr);
  weft_status host = WEFT_ERROR_OK;
  Waiting waiting(event);
  std::thread waiter([&] { host = weft_semaphore_wait(s, 1, nullptr); });
  std::this_thread::sleep_for(kAWhile);
  const auto begin = Clock::now();
  device.close(600'000);
  CHECK(Clock::now() - begin < milliseconds(300'000));  // nobody can signal any more: the drain does not take its time
  waiter.join();
  CHECK(host == WEFT_ERROR_CANCELLED);
  CHECK(waiting.status() == WEFT_ERROR_CANCELLED);
  weft_event_release(event);
  weft_semaphore_release(s);
  (void)!weft_queue_release(queue);
}

TEST_CASE("the release of a queue does not wait for signals") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_semaphore* s = semaphore(device);
  weft_event* event = passes_on(queue, s, nullptr);
  CHECK(weft_queue_release(queue) == WEFT_ERROR_TIMEOUT_WAIT);
  REQUIRE_OK(weft_semaphore_signal(s, 1));  // the command goes on
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  weft_semaphore_release(s);
}

TEST_CASE(
    "a wait ends with OK if another thread has its completion when the device says that time is up or nothing is "
    "left") {
  const bool deadline = GENERATE(true, false);
  CAPTURE(deadline);
  Latch latch;
  auto transport = std::make_unique<MockTransport>(nano(), MockFaults{});
  MockTransport& mock = *transport;
  const auto device = Device::open(std::move(transport)).value();
  const auto queue = device->create_queue({8, 8}).value();
  mock.configure([](MockFaults& f) { f.paused = true; });
  Command command;
  command.opcode = WEFT_QUEUE_OPCODE_NOP;
  const auto first = std::make_shared<Event>(queue->id(), 0, command.opcode);
  const auto second = std::make_shared<Event>(queue->id(), 0, command.opcode);
  first->hold({latch.resource()});
  for (const auto& event : {first, second}) REQUIRE(device->submit(*queue, Submission{event, command}).ok());
  mock.run(2);
  std::thread taker([&] { device->poll(); });  // takes both, and is held up while it ends the first
  await(latch.reached);
  std::thread opener([&] {
    std::this_thread::sleep_for(kLater);
    latch.open = true;
  });
  WaitLimits limits;
  limits.deadline_cycles = deadline ? 1000 : 0;
  limits.until_idle = !deadline;
  const Status status = device->wait(*second, limits);
  CHECK(status.ok());
  CHECK(second->done());
  opener.join();
  taker.join();
  REQUIRE(device->close(0).ok());
}

TEST_CASE("an idle device is not believed while a signal is counted and its doorbell is still on its way") {
  MockTransport mock(nano());
  REQUIRE(prepare_pci(mock).ok());
  Interrupts interrupts;
  REQUIRE(interrupts.connect(mock).ok());
  Silence silence;
  Waits waits(mock, interrupts, silence, Waits::kSlowPollMs);
  Event event(1, 0, WEFT_QUEUE_OPCODE_NOP), other(1, 0, WEFT_QUEUE_OPCODE_NOP);
  int judged = 0;
  silence.judge = [&](const Event&) {
    if (++judged == 3) (void)event.complete({});
    return Hope::kNoSemaphore;  // the mirror has moved, and the completion is not written yet
  };
  {
    const Waits::Signalling on_its_way(waits);
    CHECK(waits.wait(event, WaitLimits{}).ok());
  }
  CHECK(judged == 3);
  CHECK(waits.wait(other, WaitLimits{}).code() == WEFT_ERROR_TIMEOUT_WAIT);  // with the doorbell it is believed
}
