// Launches through weft.h against weft-sim: an empty one, a thousand at once, and a simulator that is killed.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "testbench/system/driver_handles.hpp"
#include "testbench/system/empty_program.hpp"
#include "testbench/system/product.hpp"

using namespace weft;
using namespace weft::test;

namespace {

/// An open device with a queue and helpers to load programs. Released in the order of its members, last first.
struct Device {
  explicit Device(const char* name) {
    weft_device* d = nullptr;
    require_ok(weft_open(name, &d));
    device.reset(d);
    weft_queue* q = nullptr;
    require_ok(weft_queue_create(d, nullptr, &q));
    queue.reset(q);
  }

  weft_kernel* load(const Result<std::vector<std::byte>>& executable) {
    if (!executable.ok()) FAIL(executable.error().message);
    weft_program* p = nullptr;
    require_ok(weft_program_load(device.get(), executable.value().data(), executable.value().size(), &p));
    programs.emplace_back(p);
    weft_kernel* kernel = nullptr;
    require_ok(weft_program_get_kernel(p, 0, &kernel));
    return kernel;
  }

  Handle<weft_event> launch_empty(weft_kernel* kernel, uint32_t tag) {
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.tag = tag;
    weft_event* event = nullptr;
    require_ok(weft_launch(queue.get(), kernel, nullptr, 0, &options, &event));
    return Handle<weft_event>(event);
  }

  /// Launches a product of zeros: work that keeps the core busy.
  Handle<weft_event> launch_product(weft_kernel* kernel) {
    std::vector<weft_argument> arguments;
    for (uint32_t i = 0; i < 3; i++) {
      weft_argument_info info = WEFT_INIT(weft_argument_info);
      require_ok(weft_kernel_get_argument(kernel, i, &info));
      weft_buffer* b = nullptr;
      require_ok(weft_buffer_create(device.get(), WEFT_MEMORY_HBM, info.size_bytes, &b));
      buffers.emplace_back(b);
      arguments.push_back({b, 0});
    }
    weft_event* event = nullptr;
    require_ok(weft_launch(queue.get(), kernel, arguments.data(), 3, nullptr, &event));
    return Handle<weft_event>(event);
  }

  Handle<weft_device> device;
  Handle<weft_queue> queue;
  std::vector<Handle<weft_program>> programs;
  std::vector<Handle<weft_buffer>> buffers;
};

const spec::Chip& nano() { return *spec::find_chip("nano"); }

weft_event_info query(weft_event* event) {
  weft_event_info info = WEFT_INIT(weft_event_info);
  require_ok(weft_event_query(event, &info));
  return info;
}

/// The weft-sim that this process has started; 0: none.
pid_t simulator_pid() {
  pid_t found = 0;
  DIR* folder = opendir("/proc");
  REQUIRE(folder != nullptr);
  while (const dirent* entry = readdir(folder)) {
    std::ifstream file(std::string("/proc/") + entry->d_name + "/stat");
    int pid = 0, parent = 0;
    std::string command;
    char state = 0;
    if (file >> pid >> command >> state >> parent && parent == getpid() && command == "(weft-sim)" && state != 'Z')
      found = pid;
  }
  closedir(folder);
  return found;
}

struct Count {
  std::atomic<uint32_t> calls{0}, failed{0};
};

void count_event(weft_event*, weft_status status, void* user) {
  auto* count = static_cast<Count*>(user);
  if (status != WEFT_ERROR_OK) count->failed++;
  count->calls++;
}

}  // namespace

TEST_CASE("an empty launch completes, with its tag and with steps in order", "[empty]") {
  for (const char* name : {"sim:nano?core=rtl", "sim:nano?core=fast", "sim:nano?core=lockstep"}) {
    INFO(name);
    Device d(name);
    weft_kernel* kernel = d.load(empty_executable(nano()));
    weft_command_options options = WEFT_INIT(weft_command_options);
    options.tag = 0xabcd1234;
    options.profile = 1;
    weft_event* event = nullptr;
    require_ok(weft_launch(d.queue.get(), kernel, nullptr, 0, &options, &event));
    const Handle<weft_event> handle(event);
    require_ok(weft_event_wait(event, nullptr));
    const auto info = query(event);
    CHECK(info.done == 1);
    CHECK(info.tag == 0xabcd1234);
    CHECK(info.start_cycle <= info.end_cycle);
    weft_launch_profile profile{};
    require_ok(weft_event_get_profile(event, &profile));
    CHECK(profile.doorbell > 0);
    CHECK(profile.doorbell < profile.fetched);
    CHECK(profile.fetched < profile.validated);
    CHECK(profile.validated <= profile.completion);
    require_ok(weft_close(d.device.release(), nullptr));
  }
}

TEST_CASE("a thousand launches in flight on one queue all complete once and in order", "[thousand]") {
  constexpr uint32_t kLaunches = 1000;
  Device d("sim:nano?core=fast");
  weft_kernel* empty = d.load(empty_executable(nano()));
  weft_kernel* work = d.load(product_executable(nano(), {WEFT_MXU_DTYPE_BF16, 1024, 1024, 512}));
  // Declared before the queue can call back, and read after all have.
  Count count;
  weft_device_statistics before = WEFT_INIT(weft_device_statistics), after = WEFT_INIT(weft_device_statistics);
  require_ok(weft_device_get_statistics(d.device.get(), &before));
  const auto first = d.launch_product(work);  // the others wait behind it
  std::vector<Handle<weft_event>> events;
  for (uint32_t i = 0; i < kLaunches; i++) {
    events.push_back(d.launch_empty(empty, i));
    require_ok(weft_event_set_callback(events.back().get(), count_event, &count));
  }
  weft_queue_info queue = WEFT_INIT(weft_queue_info);
  require_ok(weft_queue_get_info(d.queue.get(), &queue));
  CHECK(queue.in_flight == kLaunches + 1);
  REQUIRE(weft_event_wait(events.back().get(), nullptr) == WEFT_ERROR_OK);

  uint64_t last_end = query(first.get()).end_cycle;
  uint32_t out_of_order = 0, wrong = 0;
  for (uint32_t i = 0; i < kLaunches; i++) {
    const auto info = query(events[i].get());
    if (info.done != 1 || info.status != WEFT_ERROR_OK || info.tag != i) wrong++;
    if (info.end_cycle < last_end) out_of_order++;
    last_end = info.end_cycle;
  }
  CHECK(wrong == 0);
  CHECK(out_of_order == 0);
  for (int i = 0; i < 1000 && count.calls < kLaunches; i++) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(count.calls == kLaunches);
  CHECK(count.failed == 0);
  require_ok(weft_device_get_statistics(d.device.get(), &after));
  CHECK(after.submitted - before.submitted == kLaunches + 1);
  CHECK(after.completed - before.completed == kLaunches + 1);
  CHECK(after.duplicate_completions + after.late_completions + after.unknown_completions + after.bad_completions == 0);
  std::printf("in_flight: %u at once, %u completed, %u wrong, %u out of order, %llu duplicate\n", queue.in_flight,
              count.calls.load(), wrong, out_of_order, static_cast<unsigned long long>(after.duplicate_completions));
  require_ok(weft_close(d.device.release(), nullptr));
}

TEST_CASE("a full queue answers QUEUE_FULL and takes work again once an event has ended", "[full]") {
  Device d("sim:nano?core=fast");
  weft_kernel* empty = d.load(empty_executable(nano()));
  weft_kernel* work = d.load(product_executable(nano(), {WEFT_MXU_DTYPE_BF16, 1024, 1024, 512}));
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = 4;
  weft_queue* q = nullptr;
  require_ok(weft_queue_create(d.device.get(), &options, &q));
  d.queue.reset(q);
  std::vector<Handle<weft_event>> events;
  events.push_back(d.launch_product(work));
  for (uint32_t i = 0; i < 3; i++) events.push_back(d.launch_empty(empty, i));
  weft_event* event = nullptr;
  CHECK(weft_launch(q, empty, nullptr, 0, nullptr, &event) == WEFT_ERROR_QUEUE_FULL);
  CHECK(event == nullptr);
  weft_error_info info = WEFT_INIT(weft_error_info);
  require_ok(weft_last_error(&info));
  CHECK(info.retryable == 1);
  CHECK(std::string(info.message).find('4') != std::string::npos);
  require_ok(weft_event_wait(events.front().get(), nullptr));
  (void)d.launch_empty(empty, 4);
  require_ok(weft_event_wait(events.back().get(), nullptr));
  d.queue.reset();
  require_ok(weft_close(d.device.release(), nullptr));
}

TEST_CASE("a simulator killed in the middle of a launch is DEVICE_LOST, and the next open works", "[killed]") {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{10};
  {
    Device d("sim:nano?core=rtl");
    weft_kernel* empty = d.load(empty_executable(nano()));
    weft_kernel* work = d.load(product_executable(nano(), {WEFT_MXU_DTYPE_BF16, 1024, 1024, 1024}));
    const auto running = d.launch_product(work);
    const auto behind = d.launch_empty(empty, 7);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    REQUIRE(query(running.get()).done == 0);
    const pid_t pid = simulator_pid();
    REQUIRE(pid > 0);
    const auto begin = Clock::now();
    REQUIRE(kill(pid, SIGKILL) == 0);
    CHECK(weft_event_wait(running.get(), nullptr) == WEFT_ERROR_DEVICE_LOST);
    weft_error_info info = WEFT_INIT(weft_error_info);
    require_ok(weft_last_error(&info));
    CHECK(info.scope == WEFT_ERROR_SCOPE_DEVICE);
    INFO("message: " << info.message);
    CHECK(std::string(info.message).find("signal 9") != std::string::npos);
    CHECK(weft_event_wait(behind.get(), nullptr) == WEFT_ERROR_DEVICE_LOST);
    weft_event* event = nullptr;
    CHECK(weft_launch(d.queue.get(), empty, nullptr, 0, nullptr, &event) == WEFT_ERROR_DEVICE_LOST);
    weft_buffer* buffer = nullptr;
    if (weft_buffer_create(d.device.get(), WEFT_MEMORY_HBM, 64, &buffer) == WEFT_ERROR_OK) weft_buffer_release(buffer);
    uint64_t cycle = 0;
    CHECK(weft_device_cycle(d.device.get(), &cycle) == WEFT_ERROR_DEVICE_LOST);
    CHECK(query(running.get()).status == WEFT_ERROR_DEVICE_LOST);
    d.programs.clear();
    d.buffers.clear();
    d.queue.reset();
    d.device.reset();
    CHECK(Clock::now() - begin < kPatience);
    CHECK(simulator_pid() == 0);
  }
  Device next("sim:nano?core=rtl");
  weft_kernel* empty = next.load(empty_executable(nano()));
  const auto event = next.launch_empty(empty, 1);
  require_ok(weft_event_wait(event.get(), nullptr));
}

TEST_CASE("no simulator is left behind by a device that was closed", "[closed]") {
  {
    const Device d("sim:nano?core=fast");
    CHECK(simulator_pid() > 0);
  }
  CHECK(simulator_pid() == 0);
}
