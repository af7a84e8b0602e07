// A slice in one simulator, through the C ABI: topology, programs that write to each other's memory, faults,
// determinism.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "testbench/system/remote_copy_kernels.hpp"
#include "testbench/system/slice_devices.hpp"

using namespace weft;
using namespace weft::test;

namespace {

struct Copied {
  std::vector<std::byte> there;
  std::vector<weft_event_info> events;
};

Copied remote_copy(const std::string& name = "sim:nano-2x2") {
  SliceDevices slice(name);
  slice.load(0, sender(kArgument, 1));
  slice.load(1, receiver(1));
  slice.buffer(0, pattern());
  slice.buffer(1, std::vector<std::byte>(kBytes));
  Copied out;
  out.events = slice.launch({0, 1});
  out.there = slice.read(1, 0);
  return out;
}

}  // namespace

TEST_CASE("A slice tells its shape, and each chip its place and neighbours") {
  SliceDevices slice("sim:nano-2x4");
  weft_slice_info info = WEFT_INIT(weft_slice_info);
  REQUIRE(weft_slice_get_info(slice.handle(), &info) == WEFT_ERROR_OK);
  CHECK(info.chips == 8);
  CHECK(info.dimensions[0] == 2);
  CHECK(info.dimensions[1] == 4);
  CHECK(info.dimensions[2] == 1);
  CHECK(info.wraps[0] + info.wraps[1] + info.wraps[2] + info.twisted == 0);
  CHECK(info.link_bytes_per_second == 2'000'000'000);
  weft_chip_place place = WEFT_INIT(weft_chip_place);
  REQUIRE(weft_slice_get_chip(slice.handle(), 3, &place) == WEFT_ERROR_OK);
  CHECK(place.coordinates[0] == 1);
  CHECK(place.coordinates[1] == 1);
  CHECK(place.neighbors[0] == WEFT_NO_CHIP);
  CHECK(place.neighbors[1] == 2);
  CHECK(place.neighbors[2] == 5);
  CHECK(place.neighbors[3] == 1);
  CHECK(place.neighbors[4] == WEFT_NO_CHIP);
  const uint32_t at[3] = {1, 3, 0};
  uint32_t chip = 0;
  REQUIRE(weft_slice_find_chip(slice.handle(), at, &chip) == WEFT_ERROR_OK);
  CHECK(chip == 7);
}

TEST_CASE("Wrong chips, coordinates and calls are refused, and the slice works on") {
  SliceDevices slice("sim:nano-2x2");
  weft_chip_place place = WEFT_INIT(weft_chip_place);
  CHECK(weft_slice_get_chip(slice.handle(), 4, &place) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_device* device = nullptr;
  CHECK(weft_slice_get_device(slice.handle(), UINT32_MAX, &device) == WEFT_ERROR_INVALID_ARGUMENT);
  const uint32_t outside[3] = {0, 2, 0};
  uint32_t chip = 0;
  CHECK(weft_slice_find_chip(slice.handle(), outside, &chip) == WEFT_ERROR_INVALID_ARGUMENT);
  CHECK(weft_slice_resume(slice.handle()) == WEFT_ERROR_INVALID_STATE);
  REQUIRE(weft_slice_get_device(slice.handle(), 1, &device) == WEFT_ERROR_OK);
  CHECK(weft_close(device, nullptr) == WEFT_ERROR_INVALID_STATE);
  REQUIRE(weft_slice_hold(slice.handle()) == WEFT_ERROR_OK);
  CHECK(weft_slice_hold(slice.handle()) == WEFT_ERROR_INVALID_STATE);
  CHECK(weft_slice_resume(slice.handle()) == WEFT_ERROR_OK);
}

TEST_CASE("A slice that cannot be is refused with the rule that it breaks") {
  weft_slice* slice = nullptr;
  CHECK(weft_slice_open("sim:nano-17x2", &slice) == WEFT_ERROR_INVALID_ARGUMENT);
  weft_error_info error = WEFT_INIT(weft_error_info);
  REQUIRE(weft_last_error(&error) == WEFT_ERROR_OK);
  CAPTURE(error.message);
  CHECK(std::strstr(error.message, "nano") != nullptr);
  CHECK(slice == nullptr);
  weft_device* device = nullptr;
  CHECK(weft_open("sim:nano-2x2", &device) == WEFT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("Time stands still while it is held") {
  SliceDevices slice("sim:nano-2x2");
  REQUIRE(weft_slice_hold(slice.handle()) == WEFT_ERROR_OK);
  uint64_t before = 0, after = 0;
  REQUIRE(weft_device_cycle(slice.device(1), &before) == WEFT_ERROR_OK);
  weft_event* event = nullptr;
  REQUIRE(weft_nop(slice.queue(1), nullptr, &event) == WEFT_ERROR_OK);
  REQUIRE(weft_device_cycle(slice.device(1), &after) == WEFT_ERROR_OK);
  CHECK(before == after);
  REQUIRE(weft_slice_resume(slice.handle()) == WEFT_ERROR_OK);
  CHECK(weft_event_wait(event, nullptr) == WEFT_ERROR_OK);
  weft_event_release(event);
}

TEST_CASE("A program writes into a neighbour's buffer, whose program wakes with the data there, at the link's speed") {
  const Copied copied = remote_copy();
  REQUIRE(copied.events[0].status == WEFT_ERROR_OK);
  REQUIRE(copied.events[1].status == WEFT_ERROR_OK);
  CHECK(copied.there == pattern());
  // Half a cycle a byte on the link, 4.9 % of framing, a hop of 1000 cycles; before it the barrier, two hops.
  const uint64_t wire = kBytes / 2 * 1049 / 1000 + 1000;
  const uint64_t took = copied.events[1].end_cycle - copied.events[1].start_cycle;
  CHECK(took > wire + 1000);
  CHECK(took < wire + 2000 + 6000);  // both launches, loading, reading
}

TEST_CASE("Three runs of a launch group take the same cycles and give the same bits") {
  std::set<std::vector<uint64_t>> cycles;
  for (int run = 0; run < 3; run++) {
    const Copied copied = remote_copy();
    CHECK(copied.there == pattern());
    const auto& e = copied.events;
    cycles.insert(
        {e[0].end_cycle - e[0].start_cycle, e[1].end_cycle - e[1].start_cycle, e[1].start_cycle - e[0].start_cycle});
  }
  CHECK(cycles.size() == 1);
}

TEST_CASE(
    "A segment that the neighbour does not have fails the sender with ICI_FAULT, and the neighbour's wait is named") {
  SliceDevices slice("sim:nano-2x2");
  slice.load(0, sender(29, 1));
  slice.load(1, receiver(1));
  slice.buffer(0, pattern());
  slice.buffer(1, std::vector<std::byte>(kBytes));
  REQUIRE(weft_device_set_watchdog(slice.device(1), 200'000) == WEFT_ERROR_OK);
  const auto events = slice.launch({0, 1});
  CHECK(events[0].status == WEFT_ERROR_ICI_FAULT);
  CHECK(events[1].status == WEFT_ERROR_DEVICE_HUNG);
  CHECK(slice.read(1, 0) == std::vector<std::byte>(kBytes));
}

TEST_CASE("Programs that begin different things fail with ICI_FAULT on every chip, and both chips work on") {
  SliceDevices slice("sim:nano-2x2");
  slice.load(0, sender(kArgument, 1));
  slice.load(1, receiver(2));
  slice.buffer(0, pattern());
  slice.buffer(1, std::vector<std::byte>(kBytes));
  auto events = slice.launch({0, 1});
  CHECK(events[0].status == WEFT_ERROR_ICI_FAULT);
  CHECK(events[1].status == WEFT_ERROR_ICI_FAULT);
  slice.load(1, receiver(1));
  events = slice.launch({0, 1});
  CHECK(events[0].status == WEFT_ERROR_OK);
  CHECK(events[1].status == WEFT_ERROR_OK);
  CHECK(slice.read(1, 0) == pattern());
}

namespace {

/// Its first argument goes to its second, on this chip.
compiler::Kernel local_copy() {
  compiler::Kernel kernel;
  kernel.name = "copy";
  kernel.arguments = {{.name = "from", .rows = 1, .columns = kBytes / 4, .pitch_bytes = kBytes, .size_bytes = kBytes},
                      {.name = "to",
                       .direction = WEFT_ARGUMENT_DIRECTION_OUTPUT,
                       .rows = 1,
                       .columns = kBytes / 4,
                       .pitch_bytes = kBytes,
                       .size_bytes = kBytes}};
  auto load = copy(kArgument, 0);
  load.header.post_sem0 = kLoaded;
  load.header.post_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_IN].push_back(spec::encode(load));
  auto store = copy(0, kArgument + 1);
  store.header.wait_sem0 = kLoaded;
  store.header.wait_count0 = 1;
  kernel.queues[WEFT_QUEUE_DMA_OUT].push_back(spec::encode(store));
  kernel.vmem_bytes = kBytes;
  return kernel;
}

}  // namespace

TEST_CASE("Chips with RTL cores run beside fast ones that write to each other, in the same cycles as alone") {
  const auto launch = [](const std::string& name) {
    SliceDevices slice(name);
    slice.load(0, sender(kArgument, 1));
    slice.load(1, receiver(1));
    slice.load(2, local_copy());
    slice.buffer(0, pattern());
    slice.buffer(1, std::vector<std::byte>(kBytes));
    slice.buffer(2, pattern());
    slice.buffer(2, std::vector<std::byte>(kBytes));
    const auto events = slice.launch({0, 1, 2});
    for (const auto& event : events) REQUIRE(event.status == WEFT_ERROR_OK);
    CHECK(slice.read(1, 0) == pattern());
    CHECK(slice.read(2, 1) == pattern());
    std::vector<uint64_t> cycles;
    for (const auto& event : events) cycles.push_back(event.end_cycle - event.start_cycle);
    return cycles;
  };
  CHECK(launch("sim:nano-2x2?core=fast,fast,rtl,rtl") == launch("sim:nano-2x2"));
}

TEST_CASE("RTL, lockstep and fast cores write to each other's memory, with the same bits and in the same cycles") {
  const auto cycles = [](const Copied& copied) {
    const auto& e = copied.events;
    return std::vector<uint64_t>{e[0].end_cycle - e[0].start_cycle, e[1].end_cycle - e[1].start_cycle,
                                 e[1].start_cycle - e[0].start_cycle};
  };
  const auto fast = cycles(remote_copy());
  for (const char* cores :
       {"rtl,rtl,fast,fast", "rtl,fast,fast,fast", "fast,rtl,fast,fast", "lockstep,lockstep,fast,fast"}) {
    INFO(cores);
    const Copied copied = remote_copy(std::string("sim:nano-2x2?core=") + cores);
    CHECK(copied.events[0].status == WEFT_ERROR_OK);
    CHECK(copied.events[1].status == WEFT_ERROR_OK);
    CHECK(copied.there == pattern());
    CHECK(cycles(copied) == fast);
  }
}

TEST_CASE("A write to a chip that has launched nothing fails its sender, whatever its core") {
  const char* cores = GENERATE("fast", "fast,rtl,fast,fast", "rtl,fast,fast,fast");
  INFO(cores);
  SliceDevices slice(std::string("sim:nano-2x2?core=") + cores);
  auto kernel = sender(kArgument, 1);
  kernel.queues[WEFT_QUEUE_SYNC].clear();
  auto send = spec::decode_dma(kernel.queues[WEFT_QUEUE_DMA_OUT].front());
  send.header.wait_sem1 = WEFT_NO_SEMAPHORE;
  send.header.wait_count1 = 0;
  kernel.queues[WEFT_QUEUE_DMA_OUT].front() = spec::encode(send);
  slice.load(0, kernel);
  slice.buffer(0, pattern());
  CHECK(slice.launch({0})[0].status == WEFT_ERROR_ICI_FAULT);
}
