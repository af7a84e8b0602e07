// Links of a slice that fail while programs use them, and what their callers see: the same bits by another way, a fault
// with cause and chip, or the watchdog; never a wait without end.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <set>

#include "host/compiler/collectives/collective.hpp"
#include "host/reference/collective_reference.hpp"
#include "host/runtime/fault_schedule.hpp"
#include "testbench/system/remote_copy_kernels.hpp"
#include "testbench/system/slice_devices.hpp"

using namespace weft;
using namespace weft::test;

namespace {

constexpr uint32_t kUpX = 0, kDownX = 1, kUpY = 2;  // ports

void arm(SliceDevices& slice, uint32_t chip, const std::string& fault) {
  const auto schedule = runtime::read_fault_schedule("[[fault]]\n" + fault, "test");
  if (!schedule.ok()) FAIL(schedule.error().message);
  for (const auto& one : schedule.value()) require_ok(weft_fault_inject(slice.device(chip), &one));
}

weft_link_info link(SliceDevices& slice, uint32_t chip, uint32_t port) {
  weft_link_info info = WEFT_INIT(weft_link_info);
  require_ok(weft_slice_get_link(slice.handle(), chip, port, &info));
  return info;
}

std::string last_message() {
  weft_error_info error = WEFT_INIT(weft_error_info);
  REQUIRE(weft_last_error(&error) == WEFT_ERROR_OK);
  return error.message;
}

void load_copy(SliceDevices& slice) {
  slice.load(0, sender(kArgument, 1));
  slice.load(1, receiver(1));
  slice.buffer(0, pattern());
  slice.buffer(1, std::vector<std::byte>(kBytes));
}

/// Cycles of the launch of chip 1 in which chip 0's data came, which are compared.
uint64_t copy_right(SliceDevices& slice) {
  const auto events = slice.launch({0, 1});
  for (const auto& event : events) CHECK(event.status == WEFT_ERROR_OK);
  CHECK(slice.read(1, 0) == pattern());
  return events[1].end_cycle - events[1].start_cycle;
}

}  // namespace

TEST_CASE("a link tells what a program has sent by it, and a port without a neighbour that it is absent") {
  SliceDevices slice("sim:nano-2x2");
  load_copy(slice);
  CHECK(link(slice, 0, kUpX).packets == 0);
  copy_right(slice);
  const weft_link_info forth = link(slice, 0, kUpX), back = link(slice, 1, kDownX);
  CHECK(forth.state == WEFT_LINK_STATE_UP);
  CHECK(forth.neighbor == 1);
  CHECK(forth.payload_bytes >= kBytes);
  CHECK(forth.wire_bytes > forth.payload_bytes);
  CHECK(forth.busy_cycles >= forth.wire_bytes / 2);  // 2 bytes a cycle
  CHECK(forth.busy_cycles < forth.cycle);
  CHECK((forth.frame_errors == 0 && forth.replay_cycles == 0 && forth.downs == 0));
  CHECK(back.packets == 1);  // the barrier's end
  CHECK(link(slice, 2, kUpX).packets == 0);
  const weft_link_info none = link(slice, 0, kDownX);
  CHECK(none.state == WEFT_LINK_STATE_ABSENT);
  CHECK((none.neighbor == WEFT_NO_CHIP && none.packets == 0));
  weft_link_info info = WEFT_INIT(weft_link_info);
  CHECK(weft_slice_get_link(slice.handle(), 4, 0, &info) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_slice_get_link(slice.handle(), 0, 6, &info) == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a link that dies at any packet of a remote write: the data go round, the same bits, some cycles later") {
  const uint64_t without = [] {
    SliceDevices slice("sim:nano-2x2");
    load_copy(slice);
    return copy_right(slice);
  }();
  for (const unsigned nth : {1u, 2u, 3u, 20u}) {
    INFO("packet " << nth);
    std::set<uint64_t> cycles;
    for (int run = 0; run < 2; run++) {
      SliceDevices slice("sim:nano-2x2");
      load_copy(slice);
      arm(slice, 0, "kind = \"link_down\"\nport = \"+x\"\nnth = " + std::to_string(nth));
      cycles.insert(copy_right(slice));
      CHECK(link(slice, 0, kUpX).state == WEFT_LINK_STATE_DOWN);
      CHECK(link(slice, 1, kDownX).state == WEFT_LINK_STATE_DOWN);
      CHECK(link(slice, 0, kUpY).payload_bytes > 0);
      CHECK(link(slice, 0, kUpY).state == WEFT_LINK_STATE_UP);
      copy_right(slice);  // and again
    }
    CHECK(cycles.size() == 1);
    CHECK(*cycles.begin() > without);
  }
}

TEST_CASE("a link that flaps, is dark in one direction, flips bits or starves costs time and no bit") {
  struct Case {
    const char* fault;
    weft_link_state state;
    bool errors;
  };
  SliceDevices clean("sim:nano-2x2");
  load_copy(clean);
  const uint64_t without = copy_right(clean);
  for (const Case& c : {Case{"kind = \"link_flap\"\nport = \"+x\"\nnth = 3\nvalue = 5000", WEFT_LINK_STATE_UP, false},
                        Case{"kind = \"link_dark\"\nport = \"+x\"\nnth = 3", WEFT_LINK_STATE_DOWN, false},
                        Case{"kind = \"link_bit_errors\"\nport = \"+x\"\ncount = \"for ever\"\nvalue = 10000000",
                             WEFT_LINK_STATE_UP, true},
                        Case{"kind = \"link_credit_late\"\nport = \"+x\"\ncount = \"for ever\"\nvalue = 100000",
                             WEFT_LINK_STATE_UP, false}}) {
    INFO(c.fault);
    SliceDevices slice("sim:nano-2x2");
    load_copy(slice);
    require_ok(weft_device_set_watchdog(slice.device(1), 10'000'000));
    arm(slice, 0, c.fault);
    CHECK(copy_right(slice) > without);
    const weft_link_info forth = link(slice, 0, kUpX), back = link(slice, 1, kDownX);
    CHECK(forth.state == c.state);
    CHECK(back.state == c.state);
    CHECK((forth.frame_errors > 0) == c.errors);
    CHECK((forth.replay_cycles > 0) == c.errors);
    CHECK(back.frame_errors == 0);  // the other direction is as it was
  }
}

TEST_CASE("a write to a chip that is cut off fails its sender with ICI_FAULT, unreachable, and names the chip") {
  SliceDevices slice("sim:nano-2x2");
  load_copy(slice);
  slice.buffer(2, pattern());
  // chip 1 is cut off when it answers the barrier: its sender has begun and cannot reach it any more
  arm(slice, 1, "kind = \"chip_cut\"\nport = \"-x\"");
  require_ok(weft_device_set_watchdog(slice.device(0), 300'000));
  require_ok(weft_device_set_watchdog(slice.device(1), 300'000));
  const auto events = slice.launch({0, 1});
  CHECK(events[0].status != WEFT_ERROR_OK);
  CHECK(events[1].status != WEFT_ERROR_OK);
  CHECK(link(slice, 1, kDownX).state == WEFT_LINK_STATE_DOWN);
  CHECK(link(slice, 1, kUpY).state == WEFT_LINK_STATE_DOWN);
  CHECK(link(slice, 2, kUpX).state == WEFT_LINK_STATE_UP);
  CHECK(slice.read(1, 0) == std::vector<std::byte>(kBytes));

  // without a barrier before it, the write itself is told; the receiver is alive for its own host
  auto kernel = sender(kArgument, 1);
  kernel.queues[WEFT_QUEUE_SYNC].clear();
  auto send = spec::decode_dma(kernel.queues[WEFT_QUEUE_DMA_OUT].front());
  send.header.wait_sem1 = WEFT_NO_SEMAPHORE;
  send.header.wait_count1 = 0;
  kernel.queues[WEFT_QUEUE_DMA_OUT].front() = spec::encode(send);
  slice.load(0, kernel);
  CHECK(slice.launch({0})[0].status == WEFT_ERROR_ICI_FAULT);
  CHECK(last_message().find("unreachable, chip 1") != std::string::npos);
}

TEST_CASE("a barrier that cannot reach its group's lowest chip ends with ICI_FAULT at once, and others work on") {
  SliceDevices slice("sim:nano-2x2");
  load_copy(slice);
  arm(slice, 1, "kind = \"chip_cut\"\nport = \"-x\"");
  require_ok(weft_device_set_watchdog(slice.device(0), 300'000));
  const auto events = slice.launch({0, 1});
  CHECK(events[1].status == WEFT_ERROR_ICI_FAULT);  // what chip 1 sent was on the link that died, and cannot go round
  CHECK(events[1].end_cycle - events[1].start_cycle < 50'000);
  CHECK(events[0].status == WEFT_ERROR_DEVICE_HUNG);

  slice.load(2, sender(kArgument, 1, 2));  // chips 2 and 3 have a barrier of their own
  slice.load(3, receiver(1, 2));
  slice.buffer(2, pattern());
  slice.buffer(3, std::vector<std::byte>(kBytes));
  for (const auto& event : slice.launch({2, 3})) CHECK(event.status == WEFT_ERROR_OK);
  CHECK(slice.read(3, 0) == pattern());
}

TEST_CASE("a chip that is reset in an all-reduce ends it for all in bounded time, and the next one is right") {
  SliceDevices slice("sim:nano-2x2");
  const compiler::SliceShape shape{.size = {2, 2, 1}};
  const compiler::Collective sum{.bytes = 32768};
  std::mt19937_64 random(3);
  tools::ChipData inputs;
  for (uint32_t chip = 0; chip < 4; chip++) {
    const auto kernel = compiler::compile_collective(*spec::find_chip("nano"), shape, chip, sum);
    REQUIRE(kernel.ok());
    slice.load(chip, kernel.value());
    inputs.push_back(tools::draw_numbers(random, sum.bytes, sum.dtype));
    auto padded = inputs.back();
    padded.resize(kernel.value().arguments[0].size_bytes);
    slice.buffer(chip, padded);
    slice.buffer(chip, std::vector<std::byte>(kernel.value().arguments[1].size_bytes));
    require_ok(weft_device_set_watchdog(slice.device(chip), 500'000));
  }
  // its second addition fails: the firmware resets the core in the middle of the collective
  arm(slice, 1, "kind = \"core_raise\"\nqueue = \"vpu\"\ncommand = 2\ncode = \"ALIGNMENT\"");
  auto events = slice.launch({0, 1, 2, 3});
  CHECK(events[1].status == WEFT_ERROR_COMPUTE_FAULT);
  CHECK((events[0].status == WEFT_ERROR_ICI_FAULT || events[0].status == WEFT_ERROR_DEVICE_HUNG));
  CHECK(events[0].end_cycle - events[0].start_cycle < 1'000'000);
  CHECK(events[2].status == WEFT_ERROR_OK);  // the other row is another group
  CHECK(events[3].status == WEFT_ERROR_OK);
  for (const auto& event : slice.launch({0, 1, 2, 3})) CHECK(event.status == WEFT_ERROR_OK);
  const auto expected = tools::collective_reference(shape, sum, inputs);
  for (uint32_t chip = 0; chip < 4; chip++) {
    auto got = slice.read(chip, 1);
    got.resize(expected[chip].size());
    CHECK(got == expected[chip]);
  }
}

TEST_CASE("faults of links are refused where there is no link, beyond their range, and by a chip that stands alone") {
  SliceDevices slice("sim:nano-2x2");
  weft_fault_injection fault = WEFT_INIT(weft_fault_injection);
  fault.kind = WEFT_INJECTED_FAULT_LINK_DOWN;
  fault.target = kDownX;
  CHECK(weft_fault_inject(slice.device(0), &fault) == WEFT_ERROR_INVALID_ARGUMENT);
  fault.target = 6;
  CHECK(weft_fault_inject(slice.device(0), &fault) == WEFT_ERROR_INVALID_ARGUMENT);
  fault.target = kUpX;
  fault.value[0] = 1;
  CHECK(weft_fault_inject(slice.device(0), &fault) == WEFT_ERROR_INVALID_ARGUMENT);
  fault.kind = WEFT_INJECTED_FAULT_LINK_BIT_ERRORS;
  fault.value[0] = 100'000'001;
  CHECK(weft_fault_inject(slice.device(0), &fault) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_device* alone = nullptr;
  require_ok(weft_open("sim:nano", &alone));
  fault.value[0] = 1;
  CHECK(weft_fault_inject(alone, &fault) == WEFT_ERROR_INVALID_ARGUMENT);
  require_ok(weft_close(alone, nullptr));
}
