// What the device tells of itself, against the mock: its count of errors, and news for those who listen.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

weft_event* listen(MockDevice& device) {
  weft_event* event = nullptr;
  REQUIRE_OK(weft_device_listen(device.handle(), &event));
  return event;
}

weft_device_news news_of(weft_event* event) {
  weft_device_news news = WEFT_INIT(weft_device_news);
  REQUIRE_OK(weft_event_get_news(event, &news));
  return news;
}

}  // namespace

TEST_CASE("whoever listens hears of a halted queue, in a wait and in a callback") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_event* first = listen(device);
  weft_event* second = listen(device);
  std::atomic<int> called{0};
  const auto count = [](weft_event* event, weft_status status, void* user) {
    weft_device_news news = WEFT_INIT(weft_device_news);
    if (status == WEFT_ERROR_OK && weft_event_get_news(event, &news) == WEFT_ERROR_OK && news.queue == 1)
      ++*static_cast<std::atomic<int>*>(user);
  };
  REQUIRE_OK(weft_event_set_callback(second, count, &called));
  CHECK(query(first).done == 0);
  device.mock().halt_queue(1, 99);
  REQUIRE_OK(weft_event_wait(first, nullptr));
  const auto news = news_of(first);
  CHECK(news.kind == WEFT_ASYNC_EVENT_QUEUE_HALTED);
  CHECK(news.queue == 1);
  CHECK(news.error == WEFT_ERROR_BAD_DOORBELL);
  CHECK(news.cycle == query(first).end_cycle);
  CHECK(query(first).start_cycle == query(first).end_cycle);
  device.mock().halt_queue(1, 100);
  for (int i = 0; i < 2000 && called == 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(called == 1);
  weft_event_release(first);
  weft_event_release(second);
  (void)!weft_queue_release(queue);
}

TEST_CASE("news that came while nobody listened ends the next question at once") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().halt_queue(1, 99);
  weft_event* event = listen(device);
  CHECK(query(event).done == 1);
  CHECK(news_of(event).queue == 1);
  weft_event_release(event);
  (void)!weft_queue_release(queue);
}

TEST_CASE("a wait for news of an idle device times out without a hang report") {
  MockDevice device;
  weft_event* event = listen(device);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_TIMEOUT_WAIT);
  weft_error_info info = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&info));
  CHECK_THAT(info.message, Contains("nothing is pending"));
  CHECK(std::string(info.report_path).empty());
  CHECK(query(event).done == 0);
  weft_event_release(event);
}

TEST_CASE("a question holds up neither a wait nor a close, and ends with CANCELLED at the latest") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_event* event = listen(device);
  weft_event* other = nop(queue);
  REQUIRE_OK(weft_event_wait(other, nullptr));
  weft_event_release(other);
  const auto begin = std::chrono::steady_clock::now();
  device.close(600'000);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes(5));  // an ordinary command gets all the time
  CHECK(query(event).done == 1);
  CHECK(query(event).status == WEFT_ERROR_CANCELLED);
  weft_device_news news = WEFT_INIT(weft_device_news);
  CHECK(weft_event_get_news(event, &news) == WEFT_ERROR_INVALID_STATE);
  CHECK_THAT(last_message(), Contains("ended without news") && Contains("closed"));
  weft_event_release(event);
  (void)!weft_queue_release(queue);
}

TEST_CASE("a question can be taken back, and one too many is QUEUE_FULL") {
  MockDevice device;
  std::vector<weft_event*> events;
  for (uint32_t i = 0; i < WEFT_LIMIT_ASYNC_EVENTS; i++) events.push_back(listen(device));
  weft_event* more = listen(device);
  CHECK(weft_event_wait(more, nullptr) == WEFT_ERROR_QUEUE_FULL);
  weft_event_release(more);
  REQUIRE_OK(weft_event_cancel(events[1]));
  CHECK(weft_event_wait(events[1], nullptr) == WEFT_ERROR_CANCELLED);
  CHECK(query(events[0]).done == 0);
  more = listen(device);
  CHECK(query(more).done == 0);
  weft_event_release(more);
  for (weft_event* event : events) weft_event_release(event);
}

TEST_CASE("a reset ends a question with ABORTED_BY_RESET, which its report does not count") {
  MockDevice device;
  weft_event* event = listen(device);
  weft_reset_report report = WEFT_INIT(weft_reset_report);
  REQUIRE_OK(weft_reset(device.handle(), nullptr, WEFT_RESET_LEVEL_DEVICE, &report));
  CHECK(report.innocent == 0);
  CHECK(report.guilty == 0);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_ABORTED_BY_RESET);
  weft_event_release(event);
  const auto counts = device.statistics();
  CHECK(counts.completed == counts.submitted);
}

TEST_CASE("the device's own count of errors names the newest of each code") {
  MockDevice device;
  weft_queue* queue = device.queue();
  for (const uint32_t tag : {5u, 6u}) {
    device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_COMPUTE_FAULT; });
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.tag = tag;
    weft_event* event = nullptr;
    REQUIRE_OK(weft_nop(queue, &options, &event));
    CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_COMPUTE_FAULT);
    weft_event_release(event);
  }
  weft_error_log log{};
  weft_error_log_entry entries[WEFT_LIMIT_ERROR_LOG_ENTRIES]{};
  REQUIRE_OK(weft_device_get_errors(device.handle(), &log, entries, WEFT_LIMIT_ERROR_LOG_ENTRIES));
  CHECK(log.failed == 2);
  CHECK(entries[WEFT_ERROR_COMPUTE_FAULT].count == 2);
  CHECK(entries[WEFT_ERROR_COMPUTE_FAULT].tag == 6);
  CHECK(entries[WEFT_ERROR_COMPUTE_FAULT].queue_id == 1);
  CHECK(entries[WEFT_ERROR_DMA_FAULT].count == 0);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("news is read only from a question that has ended") {
  MockDevice device;
  weft_queue* queue = device.queue();
  weft_event* other = nop(queue);
  weft_device_news news = WEFT_INIT(weft_device_news);
  CHECK(weft_event_get_news(other, &news) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(last_message(), Contains("not of weft_device_listen"));
  weft_event* event = listen(device);
  CHECK(weft_event_get_news(event, &news) == WEFT_ERROR_INVALID_STATE);
  news.size--;
  CHECK(weft_event_get_news(event, &news) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_event_release(event);
  weft_event_release(other);
  REQUIRE_OK(weft_queue_release(queue));
}
