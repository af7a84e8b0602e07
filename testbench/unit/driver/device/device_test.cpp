// Commands, events, waits and callbacks against the mock.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

TEST_CASE("a thousand commands in flight all end, in order") {
  MockDevice device;
  weft_queue* queue = device.queue(1024);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  std::vector<weft_event*> events;
  for (uint32_t i = 0; i < 1000; i++) {
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.tag = i;
    weft_event* event = nullptr;
    REQUIRE_OK(weft_nop(queue, &options, &event));
    events.push_back(event);
  }
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(queue, &info));
  CHECK(info.in_flight == 1000);
  CHECK(query(events[0]).done == 0);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  uint64_t last = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    REQUIRE_OK(weft_event_wait(events[i], nullptr));
    const auto ended = query(events[i]);
    REQUIRE(ended.tag == i);
    REQUIRE(ended.end_cycle > last);
    last = ended.end_cycle;
    weft_event_release(events[i]);
  }
  REQUIRE_OK(weft_queue_release(queue));
  CHECK(device.statistics().completed == device.statistics().submitted);
}

TEST_CASE("rings of every size run many laps") {
  const uint32_t entries = GENERATE(2u, 4u, 16u);
  MockDevice device;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = entries;
  options.completion_entries = GENERATE(0u, 1u) * entries;
  weft_queue* queue = nullptr;
  REQUIRE_OK(weft_queue_create(device.handle(), &options, &queue));
  for (uint32_t i = 0; i < 100 * entries + 3; i++) {
    weft_event* event = nop(queue);
    if (i % 3 == 0) REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
  }
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a full queue says head, tail and size, and takes more once something has ended") {
  MockDevice device;
  weft_queue* queue = device.queue(4);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  for (int i = 0; i < 4; i++) REQUIRE_OK(weft_nop(queue, nullptr, nullptr));
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_QUEUE_FULL);
  CHECK_THAT(last_message(), Contains("head 0, tail 4, size 4"));
  weft_error_info info = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&info));
  CHECK(info.retryable == 1);
  device.mock().run(1);
  REQUIRE_OK(weft_nop(queue, nullptr, nullptr));
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_QUEUE_FULL);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("copies and fills move the bytes of their ranges and no others") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_buffer *a = nullptr, *b = nullptr, *hbm = nullptr;
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 5000, &a));
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 5000, &b));
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 9000, &hbm));
  void *pa = nullptr, *pb = nullptr;
  REQUIRE_OK(weft_buffer_map(a, &pa));
  REQUIRE_OK(weft_buffer_map(b, &pb));
  for (int i = 0; i < 5000; i++) static_cast<unsigned char*>(pa)[i] = static_cast<unsigned char>(i * 7);
  REQUIRE_OK(weft_copy(queue, hbm, 33, a, 5, 4000, nullptr, nullptr));
  REQUIRE_OK(weft_copy(queue, hbm, 4500, hbm, 33, 4000, nullptr, nullptr));
  REQUIRE_OK(weft_fill(queue, b, 0, 5000, 0xabababab, nullptr, nullptr));
  weft_event* event = nullptr;
  REQUIRE_OK(weft_copy(queue, b, 10, hbm, 4500, 4000, nullptr, &event));
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  CHECK(std::memcmp(static_cast<char*>(pb) + 10, static_cast<char*>(pa) + 5, 4000) == 0);
  CHECK(static_cast<unsigned char*>(pb)[9] == 0xab);
  CHECK(static_cast<unsigned char*>(pb)[4010] == 0xab);
  CHECK(weft_copy(queue, a, 0, b, 0, 1, nullptr, nullptr) == WEFT_ERROR_UNSUPPORTED);
  CHECK(weft_copy(queue, hbm, 8999, a, 0, 2, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_copy(queue, hbm, ~uint64_t{0}, a, 0, 2, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_copy(queue, hbm, 0, a, 0, 0, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_copy(queue, hbm, 0, hbm, 8, 16, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_fill(queue, a, 2, 8, 0, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_fill(queue, a, 0, 6, 0, nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  REQUIRE_OK(weft_queue_release(queue));
  weft_buffer_release(a);
  weft_buffer_release(b);
  weft_buffer_release(hbm);
}

TEST_CASE("a buffer released while a command uses it stays until the command has ended") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_buffer* buffer = nullptr;
  const size_t before = device.mock().mapped_ranges();
  REQUIRE_OK(weft_buffer_create(device.handle(), WEFT_MEMORY_HOST, 64, &buffer));
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nullptr;
  REQUIRE_OK(weft_fill(queue, buffer, 0, 64, 1, nullptr, &event));
  weft_buffer_release(buffer);
  CHECK(device.mock().mapped_ranges() == before + 1);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(event, nullptr));
  CHECK(device.mock().mapped_ranges() == before);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("HBM that is not there is refused with what is") {
  MockDevice device;
  weft_buffer* buffer = nullptr;
  CHECK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, uint64_t{1} << 40, &buffer) ==
        WEFT_ERROR_NO_DEVICE_MEMORY);
  CHECK(buffer == nullptr);
  CHECK_THAT(last_message(), Contains("1099511627776 bytes") && Contains("are free") && Contains("largest"));
  CHECK(weft_buffer_create(device.handle(), WEFT_MEMORY_HBM, 0, &buffer) == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a lost interrupt costs the poll timer's latency and a count") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_event* first = nop(queue);
  REQUIRE_OK(weft_event_wait(first, nullptr));
  const uint64_t before = device.statistics().lost_interrupts;
  // It completes while the wait sleeps, and no interrupt tells.
  device.mock().configure([](MockFaults& f) { f.lose_interrupts = f.paused = f.complete_on_alarm = true; });
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  CHECK(device.statistics().lost_interrupts == before + 1);
  device.mock().configure([](MockFaults& f) { f.lose_interrupts = f.paused = f.complete_on_alarm = false; });
  weft_event_release(first);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("duplicate, late and unknown completions are counted and end nothing") {
  MockDevice device;
  weft_queue* queue = device.queue(2);
  weft_queue_info info = WEFT_INIT(weft_queue_info);
  REQUIRE_OK(weft_queue_get_info(queue, &info));

  device.mock().configure([](MockFaults& f) { f.duplicate_completions = true; });
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  CHECK(device.statistics().duplicate_completions == 1);
  device.mock().configure([](MockFaults& f) { f.duplicate_completions = false; });

  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* old = nop(queue);
  const uint16_t old_id = device.mock().pending_id(info.id, 0);
  device.mock().run(1);
  REQUIRE_OK(weft_event_wait(old, nullptr));
  weft_event *a = nop(queue), *b = nop(queue);  // b has the slot of old
  REQUIRE((device.mock().pending_id(info.id, 1) & 0xfff) == (old_id & 0xfff));
  device.mock().inject_completion(info.id, old_id, WEFT_ERROR_OK, 2);
  device.mock().inject_completion(info.id, 0x1abc, WEFT_ERROR_OK, 2);
  CHECK(query(b).done == 0);
  CHECK(device.statistics().late_completions == 1);
  CHECK(device.statistics().unknown_completions == 1);
  device.mock().inject_completion(info.id, old_id, WEFT_ERROR_OK, 77);
  CHECK(query(b).done == 0);
  CHECK(device.statistics().bad_completions == 1);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(a, nullptr));
  REQUIRE_OK(weft_event_wait(b, nullptr));
  for (weft_event* e : {old, a, b}) weft_event_release(e);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a completion of the wrong phase is no completion, and the wait says that nothing is pending") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.wrong_phase = true; });
  weft_event* event = nop(queue);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(last_message(), Contains("nothing is pending on the device"));
  device.mock().configure([](MockFaults& f) { f.wrong_phase = false; });
  REQUIRE_OK(weft_device_reset(device.handle()));
  CHECK(query(event).status == WEFT_ERROR_ABORTED_BY_RESET);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a wait ends at its deadline in device cycles, and the work goes on") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  uint64_t before = 0, after = 0;
  REQUIRE_OK(weft_device_cycle(device.handle(), &before));
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  options.deadline_cycles = 12345;
  CHECK(weft_event_wait(event, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK_THAT(last_message(), Contains("deadline of 12345 cycles"));
  weft_error_info info = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&info));
  CHECK(info.cycle - before == 12345);
  REQUIRE_OK(weft_device_cycle(device.handle(), &after));
  CHECK(after >= info.cycle);  // the hang report asks the firmware after the deadline
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(event, &options));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a failed command tells its fault, and an unknown code is a device fault") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_COMPUTE_FAULT; });
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = 99;
  weft_event* event = nullptr;
  REQUIRE_OK(weft_nop(queue, &options, &event));
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_COMPUTE_FAULT);
  weft_error_info info = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&info));
  CHECK(info.tag == 99);
  CHECK(info.origin == WEFT_ERROR_CLASS_UNIT);
  CHECK(info.fault == WEFT_FAULT_ILLEGAL_FIELD);
  CHECK(info.fault_unit == WEFT_UNIT_MXU);
  CHECK(info.fault_tag == 7);
  CHECK(info.fault_address == 36);
  CHECK_THAT(info.message, Contains("NOP") && Contains("ILLEGAL_FIELD") && Contains("unit mxu"));
  weft_event_release(event);

  device.mock().configure([](MockFaults& f) { f.fail_next = 4242; });
  event = nop(queue);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_INTERNAL);
  CHECK_THAT(last_message(), Contains("unknown status"));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("two threads submit to one queue and wait for their own events") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  std::atomic<int> bad{0};
  const auto work = [&](uint32_t base) {
    for (uint32_t i = 0; i < 500; i++) {
      weft_command_options options = WEFT_INIT(weft_command_options);
      options.tag = base + i;
      weft_event* event = nullptr;
      weft_status status = WEFT_ERROR_QUEUE_FULL;
      while (status == WEFT_ERROR_QUEUE_FULL) status = weft_nop(queue, &options, &event);
      weft_event_info info = WEFT_INIT(weft_event_info);
      if (status != WEFT_ERROR_OK || weft_event_wait(event, nullptr) != WEFT_ERROR_OK ||
          weft_event_query(event, &info) != WEFT_ERROR_OK || info.tag != base + i)
        bad++;
      weft_event_release(event);
    }
  };
  std::thread a(work, 1000u), b(work, 5000u), c(work, 9000u);
  a.join();
  b.join();
  c.join();
  CHECK(bad == 0);
  REQUIRE_OK(weft_queue_release(queue));
  CHECK(device.statistics().duplicate_completions == 0);
}

TEST_CASE("several threads wait for one event") {
  MockDevice device;
  weft_queue* queue = device.queue(8);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  std::atomic<int> done{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; i++) {
    waiters.emplace_back([&] {
      weft_status status = WEFT_ERROR_TIMEOUT_WAIT;
      while (status == WEFT_ERROR_TIMEOUT_WAIT) status = weft_event_wait(event, nullptr);
      if (status == WEFT_ERROR_OK) done++;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  for (auto& waiter : waiters) waiter.join();
  CHECK(done == 4);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

namespace {

struct Chain {
  weft_queue* queue;
  std::atomic<int> left;
  std::atomic<int> failed{0};
  std::thread::id thread;
  std::atomic<bool> one_thread{true};
};

void submit_again(weft_event* event, weft_status status, void* user) {
  auto& chain = *static_cast<Chain*>(user);
  if (status != WEFT_ERROR_OK) chain.failed++;
  if (chain.thread == std::thread::id()) chain.thread = std::this_thread::get_id();
  if (chain.thread != std::this_thread::get_id()) chain.one_thread = false;
  weft_event* next = nullptr;
  if (chain.left > 1) {
    if (weft_nop(chain.queue, nullptr, &next) != WEFT_ERROR_OK ||
        weft_event_set_callback(next, submit_again, user) != WEFT_ERROR_OK)
      chain.failed++;
    weft_event_release(next);
  }
  weft_event_info info = WEFT_INIT(weft_event_info);
  if (weft_event_query(event, &info) != WEFT_ERROR_OK || info.done != 1) chain.failed++;
  chain.left--;
}

}  // namespace

TEST_CASE("a callback may submit, and all callbacks run on one thread") {
  MockDevice device;
  weft_queue* queue = device.queue(4);
  Chain chain{queue, {200}, {0}, {}, {true}};
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_set_callback(event, submit_again, &chain));
  CHECK(weft_event_set_callback(event, submit_again, &chain) == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  for (int i = 0; i < 5000 && chain.left > 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(chain.left == 0);
  CHECK(chain.failed == 0);
  CHECK(chain.one_thread);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("callbacks run while another thread waits for something that does not end") {
  MockDevice device;
  weft_queue *busy = device.queue(4), *stuck = device.queue(4);
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* never = nop(stuck);
  std::atomic<bool> stop{false};
  std::thread waiter([&] {
    while (!stop) (void)!weft_event_wait(never, nullptr);
  });
  std::atomic<int> called{0};
  for (int i = 0; i < 50; i++) {
    weft_event* event = nop(busy);
    REQUIRE_OK(weft_event_set_callback(
        event, [](weft_event*, weft_status, void* user) { (*static_cast<std::atomic<int>*>(user))++; }, &called));
    device.mock().run(1, 1);
    weft_event_release(event);
    for (int spin = 0; spin < 5000 && called != i + 1; spin++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(called == i + 1);
  }
  stop = true;
  waiter.join();
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(never, nullptr));
  weft_event_release(never);
  REQUIRE_OK(weft_queue_release(busy));
  REQUIRE_OK(weft_queue_release(stuck));
}

TEST_CASE("a callback cannot close or reset its device, and may wait") {
  MockDevice device;
  weft_queue* queue = device.queue(4);
  struct Seen {
    weft_device* device;
    weft_queue* queue;
    std::atomic<int> close{-1}, reset{-1}, wait{-1};
  } seen{device.handle(), queue, {-1}, {-1}, {-1}};
  weft_event* event = nop(queue);
  REQUIRE_OK(weft_event_set_callback(
      event,
      [](weft_event*, weft_status, void* user) {
        auto& s = *static_cast<Seen*>(user);
        weft_event* inner = nullptr;
        const weft_status submitted = weft_nop(s.queue, nullptr, &inner);
        s.wait = submitted == WEFT_ERROR_OK ? weft_event_wait(inner, nullptr) : submitted;
        weft_event_release(inner);
        s.close = weft_close(s.device, nullptr);
        s.reset = weft_device_reset(s.device);
      },
      &seen));
  for (int i = 0; i < 5000 && seen.reset < 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(seen.wait == WEFT_ERROR_OK);
  CHECK(seen.close == WEFT_ERROR_INVALID_STATE);
  CHECK(seen.reset == WEFT_ERROR_INVALID_STATE);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a short wait costs one message: the doorbell") {
  MockDevice device;
  weft_queue* queue = device.queue(64);
  const uint64_t before = device.mock().doorbell_writes();
  for (int i = 0; i < 60; i++) {
    weft_event* event = nop(queue);
    REQUIRE_OK(weft_event_wait(event, nullptr));
    weft_event_release(event);
  }
  CHECK(device.mock().doorbell_writes() == before + 60);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("all queues can be created, and no more") {
  MockDevice device;
  std::vector<weft_queue*> queues;
  for (uint32_t i = 0; i < WEFT_LIMIT_IO_QUEUES; i++) queues.push_back(device.queue(2));
  weft_queue* more = nullptr;
  CHECK(weft_queue_create(device.handle(), nullptr, &more) == WEFT_ERROR_BUSY);
  for (weft_queue* queue : queues) REQUIRE_OK(weft_queue_release(queue));
  more = device.queue();
  REQUIRE_OK(weft_queue_release(more));
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 12;
  CHECK(weft_queue_create(device.handle(), &options, &more) == WEFT_ERROR_INVALID_ARGUMENT);
  options.entries = 8;
  options.completion_entries = 4;
  CHECK(weft_queue_create(device.handle(), &options, &more) == WEFT_ERROR_INVALID_ARGUMENT);
}
