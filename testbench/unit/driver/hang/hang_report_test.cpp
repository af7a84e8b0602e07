// Hang reports: what makes one, what stands in it, what follows for the device.
#include "driver/hang/hang_report.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "driver/hang/rerun_line.hpp"
#include "driver/report/fault_state.hpp"
#include "driver/report/report_file.hpp"
#include "testbench/unit/driver/device_fixture.hpp"

using namespace weft::driver;
using namespace weft::driver::test;
using Catch::Contains;

namespace {

/// A folder for this test's reports, gone afterwards.
class Folder {
 public:
  Folder() {
    std::string pattern = "/tmp/weft-report-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    REQUIRE_OK(weft_set_report_folder(path_.c_str()));
  }
  ~Folder() {
    (void)!weft_set_report_folder(nullptr);
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  size_t files() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {})); }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string report_path() {
  weft_error_info info = WEFT_INIT(weft_error_info);
  REQUIRE_OK(weft_last_error(&info));
  return info.report_path;
}

weft_wait_options soon() {
  weft_wait_options options = WEFT_INIT(weft_wait_options);
  options.deadline_cycles = 1000;
  return options;
}

weft_event* tagged_nop(weft_queue* queue, uint32_t tag) {
  weft_command_options options = WEFT_INIT(weft_command_options);
  options.tag = tag;
  weft_event* event = nullptr;
  REQUIRE_OK(weft_nop(queue, &options, &event));
  return event;
}

}  // namespace

TEST_CASE("a wait that times out writes one report a command, as text and as JSON, and names it") {
  const Folder folder;
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = tagged_nop(queue, 4242);
  const auto options = soon();
  CHECK(weft_event_wait(event, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  const std::string path = report_path();
  CHECK_THAT(path, Contains(folder.path()));
  const std::string text = read_file(path);
  CHECK_THAT(text, Contains("Weft hang report: TIMEOUT_WAIT") && Contains("(tag 4242)") && Contains("answers"));
  const auto json = nlohmann::json::parse(read_file(path.substr(0, path.size() - 3) + "json"));
  CHECK(json["code"] == "TIMEOUT_WAIT");
  CHECK(json["firmware"]["health"] == "answers");
  CHECK(json["outstanding"][0]["tag"] == 4242);
  CHECK(json["state"]["queues"].size() == 2);
  struct stat file {};
  REQUIRE(::stat(path.c_str(), &file) == 0);
  CHECK((file.st_mode & 077) == 0);
  CHECK(weft_event_wait(event, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(report_path() == path);
  CHECK(folder.files() == 2);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_event_wait(event, nullptr));
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("firmware that does not answer is told apart, and the device has failed until it is reset") {
  const Folder folder;
  MockDevice device;
  weft_queue* queue = device.queue();
  std::string health;
  const auto hang = [&](auto change) {
    device.mock().configure([&](MockFaults& f) {
      f.paused = f.silent = true;
      change(f);
    });
    weft_event* event = nop(queue);
    CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_DEVICE_HUNG);
    weft_event_release(event);
    const std::string path = report_path();
    health = nlohmann::json::parse(read_file(path.substr(0, path.size() - 3) + "json"))["firmware"]["health"];
  };
  SECTION("dead: asleep, and a doorbell does not wake it") {
    hang([](MockFaults&) {});
    CHECK(health == "dead");
  }
  SECTION("loops: awake without a heartbeat") {
    hang([](MockFaults& f) { f.firmware_status = WEFT_WAYPOINT_FETCH; });
    CHECK(health == "loops");
    CHECK_THAT(last_message(), Contains("awake at waypoint fetch"));
  }
  SECTION("beats without progress") {
    hang([](MockFaults& f) { f.beats = true; });
    CHECK(health == "beats_without_progress");
  }
  CHECK(weft_nop(queue, nullptr, nullptr) == WEFT_ERROR_DEVICE_HUNG);
  REQUIRE_OK(weft_queue_release(queue));
  device.mock().configure([](MockFaults& f) { f = MockFaults{}; });
  REQUIRE_OK(weft_device_reset(device.handle()));
  weft_queue* fresh = device.queue();
  weft_event* fine = nop(fresh);
  REQUIRE_OK(weft_event_wait(fine, nullptr));
  weft_event_release(fine);
  REQUIRE_OK(weft_queue_release(fresh));
}

TEST_CASE("firmware that dies after a command's report is noticed by the next wait without a deadline") {
  const Folder folder;
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event* event = nop(queue);
  const auto options = soon();
  CHECK(weft_event_wait(event, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(folder.files() == 2);
  device.mock().configure([](MockFaults& f) { f.silent = true; });
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_DEVICE_HUNG);
  CHECK_THAT(last_message(), Contains("is dead"));
  CHECK(folder.files() == 4);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("firmware that the chip's watchdog has halted ends every command with DEVICE_HUNG") {
  const Folder folder;
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  weft_event *first = nop(queue), *second = nop(queue);
  device.mock().halt_firmware();
  CHECK(weft_event_wait(first, nullptr) == WEFT_ERROR_DEVICE_HUNG);
  CHECK_THAT(read_file(report_path()), Contains("its watchdog has halted it at waypoint fetch"));
  CHECK(query(second).status == WEFT_ERROR_DEVICE_HUNG);
  weft_event_release(first);
  weft_event_release(second);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a command that its budget ended has a report, and it is made once") {
  const Folder folder;
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.fail_next = WEFT_ERROR_BUDGET_EXCEEDED; });
  weft_event* event = nop(queue);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_BUDGET_EXCEEDED);
  const std::string path = report_path();
  CHECK_THAT(read_file(path), Contains("BUDGET_EXCEEDED") && Contains("record 1"));
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_BUDGET_EXCEEDED);
  CHECK(report_path() == path);
  weft_event_release(event);
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("reports can be switched off, and a folder that is not there loses nothing but the report") {
  MockDevice device;
  weft_queue* queue = device.queue();
  device.mock().configure([](MockFaults& f) { f.paused = true; });
  const auto options = soon();
  const uint64_t lost_before = lost_reports();
  ::setenv("WEFT_REPORT_DIR", "off", 1);
  weft_event* event = nop(queue);
  CHECK(weft_event_wait(event, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(report_path().empty());
  CHECK(lost_reports() == lost_before);
  ::setenv("WEFT_REPORT_DIR", "/nowhere/at/all", 1);
  weft_event* other = nop(queue);  // a command has one report
  CHECK(weft_event_wait(other, &options) == WEFT_ERROR_TIMEOUT_WAIT);
  CHECK(report_path().empty());
  CHECK(lost_reports() == lost_before + 1);
  ::unsetenv("WEFT_REPORT_DIR");
  weft_event_release(event);
  weft_event_release(other);
  device.mock().configure([](MockFaults& f) { f.paused = false; });
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("the state of a device can be had as text, JSON and page at any time, and a page decodes without a device") {
  MockDevice device;
  weft_queue* queue = device.queue();
  size_t size = 0;
  REQUIRE_OK(weft_state_dump(device.handle(), WEFT_STATE_FORMAT_TEXT, nullptr, 0, &size));
  std::string text(size + 100, '\0');
  REQUIRE_OK(weft_state_dump(device.handle(), WEFT_STATE_FORMAT_TEXT, text.data(), text.size(), &size));
  CHECK_THAT(text, Contains("firmware  answers"));
  char little[10];
  REQUIRE_OK(weft_state_dump(device.handle(), WEFT_STATE_FORMAT_JSON, little, sizeof little, &size));
  CHECK(little[9] == 0);
  CHECK(size > sizeof little);
  std::vector<char> page(WEFT_LIMIT_STATE_PAGE_BYTES);
  REQUIRE_OK(weft_state_dump(device.handle(), WEFT_STATE_FORMAT_PAGE, page.data(), page.size(), &size));
  std::string json(100000, '\0');
  REQUIRE_OK(weft_state_decode(page.data(), size, WEFT_STATE_FORMAT_JSON, json.data(), json.size(), &size));
  CHECK(nlohmann::json::parse(json.c_str())["state"]["queues"].size() == 2);
  CHECK(weft_state_decode(page.data(), 100, WEFT_STATE_FORMAT_TEXT, nullptr, 0, &size) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_state_dump(device.handle(), static_cast<weft_state_format>(9), nullptr, 0, &size) ==
        WEFT_ERROR_INVALID_ARGUMENT);
  device.mock().configure([](MockFaults& f) { f.silent = true; });
  REQUIRE_OK(weft_state_dump(device.handle(), WEFT_STATE_FORMAT_TEXT, text.data(), text.size(), &size));
  CHECK_THAT(text, Contains("is dead"));
  CHECK(weft_state_dump(device.handle(), WEFT_STATE_FORMAT_PAGE, page.data(), page.size(), &size) ==
        WEFT_ERROR_TIMEOUT_WAIT);
  device.mock().configure([](MockFaults& f) { f.silent = false; });
  REQUIRE_OK(weft_queue_release(queue));
}

TEST_CASE("a fault record and its program give the commands at the heads and who posts what") {
  weft_fault_record record{};
  record.queue_id = 3;
  record.command_id = 0x1001;
  record.queue_total[WEFT_QUEUE_MXU] = record.queue_pushed[WEFT_QUEUE_MXU] = 3;
  record.queue_level[WEFT_QUEUE_MXU] = 2;
  record.queue_retired[WEFT_QUEUE_MXU] = 1;
  record.semaphore[7] = 5;
  ExecutableKernel kernel{};
  kernel.queue_first[WEFT_QUEUE_MXU] = 2;
  kernel.queue_count[WEFT_QUEUE_MXU] = 3;
  std::vector<std::byte> commands(5 * WEFT_COMMAND_BYTES, std::byte{0xff});
  commands[3 * WEFT_COMMAND_BYTES] = std::byte{WEFT_OPCODE_MATMUL};
  commands[4 * WEFT_COMMAND_BYTES + 6] = std::byte{9};
  const StatePage page = state_of_record(record, {{&kernel, 1}, commands});
  const auto& mxu = page.core_queues.at(WEFT_QUEUE_MXU);
  CHECK(mxu.head_valid == 1);
  CHECK(mxu.head[0] == WEFT_OPCODE_MATMUL);
  CHECK(mxu.running == 0);
  CHECK(mxu.posts == uint64_t{1} << 9);
  CHECK(page.semaphores[7] == 5);
  CHECK(page.engine(WEFT_ENGINE_CORE)->remaining == 2);
  CHECK(state_of_record(record, {}).core_queues.at(WEFT_QUEUE_MXU).head_valid == 0);
  weft_fault_record wild;
  std::memset(&wild, 0xff, sizeof wild);
  CHECK(state_of_record(wild, {{&kernel, 1}, commands}).core_queues.size() == WEFT_CORE_QUEUES);
}

TEST_CASE("the rerun line is a shell's, asks for waves around the moment, and for RTL if the core has none") {
  const std::vector<std::string> command{"./my program", "it's", "--n=3"};
  CHECK(rerun_line(command, "/a b", "fast", "x.fst", 50000) ==
        "cd '/a b' && WEFT_CORE=rtl WEFT_WAVE=x.fst WEFT_WAVE_FROM=30000 WEFT_WAVE_TO=52000 './my program' 'it'\\''s' "
        "--n=3");
  CHECK(rerun_line(command, "", "rtl", "x.fst", 10).find("WEFT_WAVE=x.fst WEFT_WAVE_FROM=0") == 0);
  CHECK(!own_command_line().empty());
}
