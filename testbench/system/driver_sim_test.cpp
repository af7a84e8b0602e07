// The driver against weft-sim: boot, NOPs, copies and fills in every direction, waits, faults, reset, latency.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "testbench/system/driver_handles.hpp"

using namespace weft::test;
using Catch::Contains;

namespace {

constexpr const char* kDevice = "sim:nano?core=fast";

struct Device {
  explicit Device(const char* name = kDevice) {
    weft_device* d = nullptr;
    require_ok(weft_open(name, &d));
    device.reset(d);
    weft_queue* q = nullptr;
    require_ok(weft_queue_create(d, nullptr, &q));
    queue.reset(q);
  }
  Handle<weft_buffer> buffer(weft_memory memory, uint64_t bytes) {
    weft_buffer* b = nullptr;
    require_ok(weft_buffer_create(device.get(), memory, bytes, &b));
    return Handle<weft_buffer>(b);
  }
  Handle<weft_event> nop() {
    weft_event* e = nullptr;
    require_ok(weft_nop(queue.get(), nullptr, &e));
    return Handle<weft_event>(e);
  }
  void copy(weft_buffer* to, uint64_t to_offset, weft_buffer* from, uint64_t from_offset, uint64_t bytes) {
    weft_event* e = nullptr;
    require_ok(weft_copy(queue.get(), to, to_offset, from, from_offset, bytes, nullptr, &e));
    const Handle<weft_event> event(e);
    require_ok(weft_event_wait(e, nullptr));
  }

  Handle<weft_device> device;
  Handle<weft_queue> queue;
};

unsigned char* bytes_of(const Handle<weft_buffer>& buffer) {
  void* pointer = nullptr;
  require_ok(weft_buffer_map(buffer.get(), &pointer));
  return static_cast<unsigned char*>(pointer);
}

}  // namespace

TEST_CASE("a simulator boots, describes itself and takes a NOP") {
  Device d;
  weft_device_info info = WEFT_INIT(weft_device_info);
  require_ok(weft_device_get_info(d.device.get(), &info));
  CHECK(std::string(info.preset) == "nano");
  CHECK(info.core == WEFT_CORE_KIND_FAST);
  CHECK(info.state == WEFT_DEVICE_STATE_READY);
  const auto event = d.nop();
  require_ok(weft_event_wait(event.get(), nullptr));
  weft_log_record records[64];
  uint32_t count = 0;
  require_ok(weft_device_read_log(d.device.get(), records, 64, &count, nullptr));
  CHECK(count >= 3);
}

TEST_CASE("copies and fills of odd sizes and offsets round trip and stay within their ranges") {
  Device d;
  std::mt19937 random(11);
  constexpr uint64_t kBytes = 70000;
  const auto source = d.buffer(WEFT_MEMORY_HOST, kBytes), target = d.buffer(WEFT_MEMORY_HOST, kBytes);
  const auto first = d.buffer(WEFT_MEMORY_HBM, kBytes), second = d.buffer(WEFT_MEMORY_HBM, kBytes);
  unsigned char* from = bytes_of(source);
  unsigned char* to = bytes_of(target);
  for (uint64_t i = 0; i < kBytes; i++) from[i] = static_cast<unsigned char>(random());
  for (const uint64_t bytes : {1u, 3u, 15u, 16u, 17u, 63u, 64u, 65u, 4095u, 4097u, 65536u, 65537u}) {
    const uint64_t a = random() % 1000, b = random() % 1000, c = random() % 1000, e = random() % 1000;
    CAPTURE(bytes, a, b, c, e);
    std::memset(to, 0xee, kBytes);
    d.copy(first.get(), b, source.get(), a, bytes);
    d.copy(second.get(), c, first.get(), b, bytes);
    d.copy(target.get(), e, second.get(), c, bytes);
    REQUIRE(std::memcmp(to + e, from + a, bytes) == 0);
    REQUIRE(std::all_of(to, to + e, [](unsigned char v) { return v == 0xee; }));
    REQUIRE(std::all_of(to + e + bytes, to + kBytes, [](unsigned char v) { return v == 0xee; }));
  }
  std::memset(to, 0xee, kBytes);
  weft_event* e = nullptr;
  require_ok(weft_fill(d.queue.get(), first.get(), 4, 4000, 0x04030201, nullptr, nullptr));
  require_ok(weft_copy(d.queue.get(), target.get(), 0, first.get(), 4, 4000, nullptr, nullptr));
  require_ok(weft_fill(d.queue.get(), target.get(), 4000, 8, 0x55555555, nullptr, &e));
  const Handle<weft_event> event(e);
  require_ok(weft_event_wait(e, nullptr));
  CHECK(std::memcmp(to, "\1\2\3\4\1\2\3\4", 8) == 0);
  CHECK(to[3999] == 4);
  CHECK(to[4000] == 0x55);
  CHECK(to[4008] == 0xee);
}

TEST_CASE("rings of 2 run many laps, and two queues do not disturb each other") {
  Device d;
  weft_queue_options options = WEFT_INIT(weft_queue_options);
  options.entries = options.completion_entries = 2;
  weft_queue* q = nullptr;
  require_ok(weft_queue_create(d.device.get(), &options, &q));
  const Handle<weft_queue> small(q);
  for (int i = 0; i < 200; i++) {
    weft_event* e = nullptr;
    weft_status status = WEFT_ERROR_QUEUE_FULL;
    while (status == WEFT_ERROR_QUEUE_FULL) status = weft_nop(q, nullptr, &e);
    require_ok(status);
    const Handle<weft_event> event(e);
    (void)d.nop();
    if (i % 7 == 0) require_ok(weft_event_wait(e, nullptr));
  }
}

TEST_CASE("a wait with a deadline that work meets is OK, and time stamps grow") {
  Device d;
  uint64_t last = 0;
  for (int i = 0; i < 5; i++) {
    weft_event* e = nullptr;
    require_ok(weft_timestamp(d.queue.get(), nullptr, &e));
    const Handle<weft_event> event(e);
    weft_wait_options options = WEFT_INIT(weft_wait_options);
    options.deadline_cycles = 10000000;
    require_ok(weft_event_wait(e, &options));
    weft_event_info info = WEFT_INIT(weft_event_info);
    require_ok(weft_event_query(e, &info));
    CHECK(info.start_cycle > last);
    last = info.start_cycle;
  }
}

TEST_CASE("an executable's refusal by the driver leaves the device working") {
  Device d;
  weft_program* program = nullptr;
  CHECK(weft_program_load(d.device.get(), "WEFT", 4, &program) == WEFT_ERROR_EXECUTABLE_INVALID);
  require_ok(weft_event_wait(d.nop().get(), nullptr));
}

TEST_CASE("a reset with work in flight ends it, and the device works again") {
  Device d;
  const auto big = d.buffer(WEFT_MEMORY_HBM, 32u << 20);
  std::vector<Handle<weft_event>> events;
  for (int i = 0; i < 8; i++) {
    weft_event* e = nullptr;
    require_ok(weft_fill(d.queue.get(), big.get(), 0, 32u << 20, 1, nullptr, &e));
    events.emplace_back(e);
  }
  require_ok(weft_device_reset(d.device.get()));
  for (const auto& event : events) {
    const weft_status status = weft_event_wait(event.get(), nullptr);
    CHECK((status == WEFT_ERROR_OK || status == WEFT_ERROR_ABORTED_BY_RESET));
  }
  weft_queue* q = nullptr;
  require_ok(weft_queue_create(d.device.get(), nullptr, &q));
  d.queue.reset(q);
  require_ok(weft_event_wait(d.nop().get(), nullptr));
}

TEST_CASE("a device reads and writes memory that the program has had before") {
  Device d;
  constexpr size_t kBytes = 64 * 4096, kOffset = 4096;
  const int fd = ::memfd_create("program", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(fd >= 0);
  REQUIRE(::ftruncate(fd, kBytes + kOffset) == 0);
  REQUIRE(::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  void* mapping = ::mmap(nullptr, kBytes + kOffset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(mapping != MAP_FAILED);
  unsigned char* own = static_cast<unsigned char*>(mapping) + kOffset;
  constexpr uint32_t kSeed = 3;
  std::mt19937 random(kSeed);
  std::generate_n(own, kBytes / 2, [&] { return static_cast<unsigned char>(random()); });
  weft_buffer* b = nullptr;
  require_ok(weft_buffer_import(d.device.get(), fd, kOffset, kBytes, &b));
  Handle<weft_buffer> imported(b);
  ::close(fd);
  const auto hbm = d.buffer(WEFT_MEMORY_HBM, kBytes / 2);
  d.copy(hbm.get(), 0, imported.get(), 0, kBytes / 2);
  d.copy(imported.get(), kBytes / 2, hbm.get(), 0, kBytes / 2);
  CHECK(std::equal(own, own + kBytes / 2, own + kBytes / 2));
  imported.reset();
  own[0] = static_cast<unsigned char>(own[0] + 1);  // the program's still
  CHECK(own[0] != own[kBytes / 2]);
  REQUIRE(::munmap(mapping, kBytes + kOffset) == 0);
  require_ok(weft_event_wait(d.nop().get(), nullptr));
}

TEST_CASE("the path to the device and back", "[latency]") {
  Device d;
  constexpr int kRounds = 2000;
  std::vector<double> us;
  for (int i = 0; i < kRounds; i++) {
    const auto start = std::chrono::steady_clock::now();
    const auto event = d.nop();
    require_ok(weft_event_wait(event.get(), nullptr));
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(us.begin(), us.end());
  std::printf("nop latency: median %.1f us, 90%% %.1f us, 99%% %.1f us\n", us[kRounds / 2], us[kRounds * 9 / 10],
              us[kRounds * 99 / 100]);
  weft_device_statistics s = WEFT_INIT(weft_device_statistics);
  require_ok(weft_device_get_statistics(d.device.get(), &s));
  CHECK(s.lost_interrupts == 0);
  CHECK(us[kRounds / 2] < 10000);  // a bound that only a missed wake-up exceeds; the figure is the result
}
