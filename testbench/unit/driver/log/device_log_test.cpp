// Lines of the driver and records of the firmware come out in the order of device cycles.
#include "driver/log/device_log.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using Catch::Contains;

namespace {

/// Takes the process's log for a test.
struct Captured {
  explicit Captured(const char* levels = "debug") {
    std::string complaint;
    set_log(parse_log_levels(levels, complaint), [this](const std::string& device, const LogLine& line) {
      devices.push_back(device);
      lines.push_back(line);
    });
  }
  ~Captured() { set_log({}, {}); }
  std::vector<uint64_t> cycles() const {
    std::vector<uint64_t> out;
    for (const LogLine& line : lines) out.push_back(line.cycle);
    return out;
  }
  std::vector<std::string> devices;
  std::vector<LogLine> lines;
};

struct Ring {
  std::vector<weft_log_record> records = std::vector<weft_log_record>(WEFT_LIMIT_LOG_ENTRIES);
  uint32_t sequence = 0;
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(records.data()); }
  void write(uint64_t cycle, weft_log_event event = WEFT_LOG_EVENT_BOOT_STAGE, uint16_t level = 2) {
    weft_log_record& record = records[sequence % WEFT_LIMIT_LOG_ENTRIES];
    record = weft_log_record{};
    record.cycle = cycle;
    record.event = static_cast<uint16_t>(event);
    record.level = level;
    record.sequence = ++sequence;
  }
};

}  // namespace

TEST_CASE("lines and records are merged by cycle, and a line without one stays behind the line before it") {
  Captured captured;
  Ring ring;
  DeviceLog log;
  log.set_device("mock");
  log.set_ring(ring.bytes());
  log.line(LogModule::kDriverQueue, LogLevel::kInfo, 100, "first");
  log.line(LogModule::kDriverQueue, LogLevel::kDebug, {}, "behind the first");
  log.line(LogModule::kDriverQueue, LogLevel::kInfo, 300, "last");
  ring.write(50);
  ring.write(200, WEFT_LOG_EVENT_LAUNCH_STARTED, 3);
  CHECK(captured.lines.empty());
  log.flush();
  CHECK(captured.cycles() == std::vector<uint64_t>{50, 100, 100, 200, 300});
  CHECK(captured.lines[2].text == "behind the first");
  CHECK_FALSE(captured.lines[2].cycle_known);
  CHECK(captured.lines[3].module == LogModule::kFirmwareCore);
  CHECK(captured.lines[3].text == "program 0, kernel 0 starts");
  CHECK(captured.devices.front() == "mock");
  log.flush();
  CHECK(captured.lines.size() == 5);
  ring.write(400);
  log.flush();
  CHECK(captured.lines.size() == 6);
}

TEST_CASE("records that were overwritten are counted, and a new ring counts from 1 again") {
  Captured captured;
  Ring first, second;
  DeviceLog log;
  log.set_device("mock");
  log.set_ring(first.bytes());
  for (uint64_t i = 0; i < WEFT_LIMIT_LOG_ENTRIES + 10; i++) first.write(1000 + i);
  log.flush();
  CHECK(captured.lines.size() == WEFT_LIMIT_LOG_ENTRIES + 1);
  CHECK_THAT(captured.lines.front().text, Contains("10 records"));
  first.write(5000);
  log.set_ring(second.bytes());  // takes what the first one still holds
  second.write(6000);
  log.flush();
  CHECK(captured.lines[captured.lines.size() - 2].cycle == 5000);
  CHECK(captured.lines.back().cycle == 6000);
}

TEST_CASE("each module has its own level, the firmware's too") {
  Captured captured("driver.queue=info,firmware.queue=warning");
  Ring ring;
  DeviceLog log;
  log.set_device("mock");
  log.set_ring(ring.bytes());
  log.line(LogModule::kDriverQueue, LogLevel::kDebug, 1, "not wanted");
  log.line(LogModule::kDriverDevice, LogLevel::kError, 2, "not wanted");
  log.line(LogModule::kDriverQueue, LogLevel::kInfo, 3, "wanted");
  ring.write(4, WEFT_LOG_EVENT_QUEUE_CREATED, 2);
  ring.write(5, WEFT_LOG_EVENT_BAD_DOORBELL, 0);
  ring.write(6, WEFT_LOG_EVENT_CORE_FAULT, 0);
  log.flush();
  CHECK(captured.cycles() == std::vector<uint64_t>{3, 5});
}

TEST_CASE("a ring full of garbage is safe") {
  const uint64_t seed = Catch::rngSeed() != 0 ? Catch::rngSeed() : 20'261'122;
  WARN("seed " << seed << " (rerun with --rng-seed)");
  std::mt19937_64 random(seed);
  for (int i = 0; i < 50; i++) {
    Captured captured;
    Ring ring;
    auto* words = reinterpret_cast<uint64_t*>(ring.records.data());
    for (size_t w = 0; w < ring.records.size() * sizeof(weft_log_record) / 8; w++)
      words[w] = random() % 3 == 0 ? random() % 300 : random();
    DeviceLog log;
    log.set_device("mock");
    log.set_ring(ring.bytes());
    log.flush();
    log.flush();
    const auto cycles = captured.cycles();
    REQUIRE(std::is_sorted(cycles.begin(), cycles.end()));
    for (const LogLine& line : captured.lines) REQUIRE_FALSE(log_line_text(line).empty());
  }
}

TEST_CASE("the log of a device tells its life in order, through the C ABI") {
  struct Seen {
    std::vector<std::string> lines;
    static void take(const weft_log_line* line, void* user) {
      static_cast<Seen*>(user)->lines.push_back(std::string(line->module) + ": " + line->text);
      CHECK(line->level <= 3);
      CHECK(line->size == sizeof *line);
    }
  } seen;
  REQUIRE(weft_set_log("driver=debug,firmware=debug", Seen::take, &seen) == WEFT_ERROR_OK);
  {
    weft_device* device = nullptr;
    REQUIRE(weft_open("mock:nano", &device) == WEFT_ERROR_OK);
    weft_queue* queue = nullptr;
    REQUIRE(weft_queue_create(device, nullptr, &queue) == WEFT_ERROR_OK);
    weft_event* event = nullptr;
    REQUIRE(weft_nop(queue, nullptr, &event) == WEFT_ERROR_OK);
    REQUIRE(weft_event_wait(event, nullptr) == WEFT_ERROR_OK);
    weft_event_release(event);
    REQUIRE(weft_queue_release(queue) == WEFT_ERROR_OK);
    REQUIRE(weft_close(device, nullptr) == WEFT_ERROR_OK);
  }
  REQUIRE(weft_set_log("off", nullptr, nullptr) == WEFT_ERROR_OK);
  const auto at = [&](std::string_view part) {
    for (size_t i = 0; i < seen.lines.size(); i++) {
      if (seen.lines[i].find(part) != std::string::npos) return i;
    }
    FAIL("no line holds '" << part << "'");
    return size_t{0};
  };
  CHECK(at("driver.device: ready: nano") < at("driver.queue: queue 1 created"));
  CHECK(at("driver.queue: queue 1 created") < at("NOP"));
  CHECK(at("NOP") < at("driver.queue: queue 1 deleted"));
  CHECK(at("driver.queue: queue 1 deleted") < at("driver.device: closed"));
  CHECK(weft_set_log("driver.queu=debug", nullptr, nullptr) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(test::last_message(), Contains("driver.queue=debug,firmware=info"));
}
