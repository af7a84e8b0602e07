// The HAL of the simulator: what its calls do and what they cost.
#include "model/chip/manager.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;

namespace {

std::unique_ptr<chip::Simulation> simulate(std::function<void()> firmware) {
  test::firmware = std::move(firmware);
  std::string error;
  return chip::Simulation::make(test::chip_options(), error);
}

void sleep_forever() {
  while (hal::running()) hal::wait_for_event(UINT64_MAX);
}

template <typename Call>
uint64_t cost(Call call) {
  const uint64_t begin = hal::now();
  call();
  return hal::now() - begin;
}

}  // namespace

TEST_CASE("each call costs what the specification says, in core cycles") {
  std::vector<std::pair<uint64_t, uint64_t>> costs;  // measured, expected
  const auto simulation = simulate([&] {
    constexpr uint64_t kDivider = WEFT_MANAGER_CLOCK_DIVIDER;
    std::array<std::byte, 340> sram{};
    const auto expect = [&](uint64_t measured, uint64_t expected) { costs.emplace_back(measured, expected); };
    expect(cost([] { (void)hal::csr_read(0); }), kDivider * WEFT_MANAGER_MMIO_READ);
    expect(cost([] { hal::csr_write(0x20, 0); }), kDivider * WEFT_MANAGER_MMIO_WRITE);
    expect(cost([] { hal::function_write(0, WEFT_REG_HEARTBEAT, 1); }), kDivider * WEFT_MANAGER_MMIO_WRITE);
    expect(cost([] { (void)hal::push_command(0, test::command_of(1).bytes.data()); }),
           WEFT_MANAGER_COMMAND_PUSH_CORE_CYCLES);
    expect(cost([] { hal::charge(123); }), kDivider * 123);
    expect(cost([&] { (void)hal::crc32c(sram.data(), 64); }), kDivider * WEFT_MANAGER_CRC_PER_64_BYTES);
    expect(cost([&] { (void)hal::crc32c(sram.data(), 65); }), kDivider * 2 * WEFT_MANAGER_CRC_PER_64_BYTES);
    expect(cost([&] { (void)hal::dma_read(fw::hbm_at(0), sram.data(), 340); }),
           kDivider * WEFT_MANAGER_DMA_KICK + 10 + 400);
    expect(cost([&] { (void)hal::dma_write(fw::hbm_at(0), sram.data(), 340); }),
           kDivider * WEFT_MANAGER_DMA_KICK + 10 + 200);
    expect(cost([&] { (void)hal::dma_read(fw::host_at(0, 0), sram.data(), 64); }),
           kDivider * WEFT_MANAGER_DMA_KICK + 4 + 700);
    sleep_forever();
  });
  REQUIRE(costs.size() == 10);
  for (const auto& [measured, expected] : costs) CHECK(measured == expected);
}

TEST_CASE("the CRC is Castagnoli's") {
  uint32_t crc = 0, none = 1;
  const auto simulation = simulate([&] {
    crc = hal::crc32c("123456789", 9);
    none = hal::crc32c("", 0);
    sleep_forever();
  });
  CHECK(crc == 0xe3069283);
  CHECK(none == 0);
}

TEST_CASE("manager DMA moves data, and an unmapped address is a bus error") {
  test::SharedMemory shared(4096);
  bool mapped = false, unmapped = true, outside = true;
  uint64_t word = 0;
  const auto simulation = simulate([&] {
    hal::wait_for_event(UINT64_MAX);
    const uint64_t value = 0x0123456789abcdef;
    mapped = hal::dma_write(fw::host_at(0, 0x8008), &value, 8) && hal::dma_read(fw::host_at(0, 0x8008), &word, 8);
    unmapped = hal::dma_read(fw::host_at(0, 0x9000), &word, 8);
    outside = hal::dma_write(fw::hbm_at(hal::hbm_bytes() - 4), &value, 8);
    sleep_forever();
  });
  REQUIRE(simulation->function().host_memory().map(shared.fd(), 0, 0x8000, 4096, chip::Access::kReadWrite) == 0);
  test::ring_doorbell(simulation->function(), 0, 1);
  simulation->run_until_idle();
  CHECK(mapped);
  CHECK(word == 0x0123456789abcdef);
  CHECK(*shared.at<uint64_t>(8) == 0x0123456789abcdef);
  CHECK_FALSE(unmapped);
  CHECK_FALSE(outside);
}

TEST_CASE("doorbells keep their last value, their ring and their cycle, and reading the pending ones clears them") {
  uint32_t pending = 0, again = 1, tail = 0, head = 0;
  uint64_t cycle = 0;
  const auto simulation = simulate([&] {
    hal::wait_for_event(5000);
    hal::wait_for_event(UINT64_MAX);
    pending = hal::doorbell_pending(0);
    again = hal::doorbell_pending(0);
    tail = hal::doorbell_submission(0, 3);
    head = hal::doorbell_completion(0, 3);
    cycle = hal::doorbell_cycle(0, 3);
    (void)hal::doorbell_submission(0, 1000);
    sleep_forever();
  });
  test::ring_doorbell(simulation->function(), 16, 1);
  test::ring_doorbell(simulation->function(), 3, 7);
  test::ring_doorbell(simulation->function(), 3, 9);
  const uint32_t value = 5;
  REQUIRE(simulation->function().write(chip::Region::kDoorbells, 8 * 3 + 4, std::as_bytes(std::span(&value, 1))) == 0);
  simulation->run_until_idle();
  CHECK(pending == (1u << 16 | 1u << 3));
  CHECK(again == 0);
  CHECK(tail == 9);
  CHECK(head == 5);
  CHECK(cycle == 5000);
}

TEST_CASE("a wait ends at its deadline, and one in the past returns at once") {
  uint64_t first = 0, second = 0;
  const auto simulation = simulate([&] {
    hal::wait_for_event(777);
    first = hal::now();
    hal::wait_for_event(700);
    second = hal::now();
    sleep_forever();
  });
  CHECK(first == 777);
  CHECK(second == 777);
}

TEST_CASE("an event that came while the firmware worked ends its next wait") {
  int turns = 0;
  const auto simulation = simulate([&] {
    hal::wait_for_event(UINT64_MAX);
    while (hal::now() < 100'000) hal::charge(1000);
    hal::wait_for_event(UINT64_MAX);
    turns++;
    hal::wait_for_event(UINT64_MAX);
    turns++;
    sleep_forever();
  });
  test::ring_doorbell(simulation->function(), 0, 1);
  simulation->run_slice();
  test::ring_doorbell(simulation->function(), 0, 2);
  simulation->run_until_idle();
  CHECK(turns == 1);
}

namespace {

enum class Stuck : uint8_t { kAsleep, kWorking, kInDma };

/// Firmware that never looks at running() is reset all the same.
void reset_stuck_firmware(Stuck stuck) {
  int starts = 0;
  const auto simulation = simulate([&] {
    if (++starts > 1) return sleep_forever();
    hal::wait_for_event(UINT64_MAX);
    std::byte sram[4096];
    for (;;) {
      switch (stuck) {
        case Stuck::kAsleep:
          hal::wait_for_event(UINT64_MAX);
          break;
        case Stuck::kWorking:
          hal::charge(10);
          break;
        case Stuck::kInDma:
          (void)hal::dma_read(fw::hbm_at(0), sram, sizeof sram);
          break;
      }
    }
  });
  test::ring_doorbell(simulation->function(), 0, 1);
  for (int i = 0; i < 5 && simulation->pending(); i++) simulation->run_slice();
  test::write_register(simulation->function(), WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  CHECK(test::read_register(simulation->function(), WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_RESETTING);
  simulation->run_until_idle();
  CHECK(starts == 2);
  CHECK(test::read_register(simulation->function(), WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_PRESENT);
  CHECK(test::read_register(simulation->function(), WEFT_REG_RESET_GENERATION) == 1);
}

}  // namespace

TEST_CASE("a device reset restarts firmware that sleeps") { reset_stuck_firmware(Stuck::kAsleep); }
TEST_CASE("a device reset restarts firmware that works for ever") { reset_stuck_firmware(Stuck::kWorking); }
TEST_CASE("a device reset restarts firmware that waits for DMA") { reset_stuck_firmware(Stuck::kInDma); }

TEST_CASE("a boot request that follows a reset at once reaches the new firmware, doorbells from before do not") {
  std::vector<uint64_t> pages;
  uint32_t pending = 1;
  const auto simulation = simulate([&] {
    for (;;) {
      uint64_t page = 0;
      if (hal::boot_requested(0, &page)) {
        pages.push_back(page);
        pending = hal::doorbell_pending(0);
      }
      hal::wait_for_event(UINT64_MAX);
    }
  });
  chip::Function& function = simulation->function();
  test::ring_doorbell(function, 2, 1);
  test::write_register(function, WEFT_REG_PARAMETER_PAGE, 0x1000, 8);
  test::write_register(function, WEFT_REG_BOOT_CONTROL, 1);
  test::write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  test::write_register(function, WEFT_REG_PARAMETER_PAGE, 0x2000, 8);
  test::write_register(function, WEFT_REG_BOOT_CONTROL, 1);
  simulation->run_until_idle();
  CHECK(pages == std::vector<uint64_t>{0x2000});
  CHECK(pending == 0);
}

namespace {

/// Firmware that boots and beats its heart each time it wakes.
void beating_firmware() {
  hal::function_write(0, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_BOOTING);
  for (uint64_t beat = 1; hal::running(); beat++) {
    hal::show_waypoint(WEFT_WAYPOINT_DOORBELL);
    hal::function_write(0, WEFT_REG_HEARTBEAT, beat);
    (void)hal::doorbell_pending(0);
    hal::show_waypoint(WEFT_WAYPOINT_IDLE);
    hal::wait_for_event(UINT64_MAX);
  }
}

}  // namespace

TEST_CASE("FIRMWARE_STATUS shows the waypoint, and whether the firmware sleeps") {
  const auto simulation = simulate(beating_firmware);
  constexpr uint64_t kAsleep = 1u << 8;
  CHECK(test::read_register(simulation->function(), WEFT_REG_FIRMWARE_STATUS) == (kAsleep | WEFT_WAYPOINT_IDLE));
}

TEST_CASE("firmware that loops is halted by its watchdog in the same cycle each time, and a reset revives it") {
  const auto simulation = simulate(beating_firmware);
  chip::Function& function = simulation->function();
  uint64_t taken = 0;
  for (int turn = 0; turn < 2; turn++) {
    test::write_register(function, WEFT_REG_FIRMWARE_WATCHDOG, 50000);
    simulation->chip().manager().ail(chip::Ailment::kLoops);
    const uint64_t from = simulation->cycle();
    test::ring_doorbell(function, 0, 1);
    simulation->run_until_idle();
    CHECK(test::read_register(function, WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_FAILED);
    CHECK(test::read_register(function, WEFT_REG_FIRST_ERROR) == WEFT_ERROR_DEVICE_HUNG);
    CHECK((test::read_register(function, WEFT_REG_FIRMWARE_STATUS) >> 8 & 0x11) == 0x10);  // halted, not asleep
    CHECK((test::read_register(function, WEFT_REG_INTERRUPT_STATUS) & 1) == 1);
    CHECK((turn == 0 || simulation->cycle() - from == taken));
    taken = simulation->cycle() - from;
    CHECK((taken > 50000 && taken < 60000));
    test::write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
    simulation->run_until_idle();
    const uint64_t beat = test::read_register(function, WEFT_REG_HEARTBEAT, 8);
    test::ring_doorbell(function, 0, 1);
    simulation->run_until_idle();
    CHECK(test::read_register(function, WEFT_REG_HEARTBEAT, 8) == beat + 1);
  }
}

TEST_CASE("the watchdog stops the engines before it says that the device has failed") {
  const auto simulation = simulate([] {
    hal::function_write(0, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_BOOTING);
    hal::wait_for_event(UINT64_MAX);
    (void)hal::push_command(0, test::command_of(60000).bytes.data());
    (void)hal::copy_start({WEFT_ADDRESS_SPACE_NONE, 0, 0xffffffff}, fw::hbm_at(1 << 16), 32 << 20);
    sleep_forever();
  });
  chip::Function& function = simulation->function();
  auto& bus = simulation->chip().bus();
  test::write_register(function, WEFT_REG_FIRMWARE_WATCHDOG, 20000);
  test::ring_doorbell(function, 0, 1);
  simulation->run_for(1000);
  REQUIRE(simulation->chip().copy_engine().busy());
  simulation->chip().manager().ail(chip::Ailment::kLoops);
  test::ring_doorbell(function, 0, 2);
  const auto state = [&] { return test::read_register(function, WEFT_REG_DEVICE_STATE); };
  while (simulation->pending() && state() != WEFT_DEVICE_STATE_FAILED) simulation->run_slice();
  REQUIRE(state() == WEFT_DEVICE_STATE_FAILED);
  constexpr uint32_t kEnginesBusy = 1u << 9 | 1u << 11;
  CHECK((test::read_register(function, WEFT_REG_FIRMWARE_STATUS) & kEnginesBusy) == 0);
  const auto moved = simulation->chip().copy_engine().moved_bytes();
  simulation->run_until_idle();
  CHECK(simulation->chip().copy_engine().moved_bytes() == moved);
  std::array<std::byte, 8> last{};
  CHECK(bus.read(WEFT_ADDRESS_SPACE_HBM, (1 << 16) + (32 << 20) - 8, last));
  CHECK(last[7] == std::byte{0});
}

TEST_CASE("dead firmware sleeps through doorbells, deaf firmware beats and sees none, and a reset ends both") {
  const auto simulation = simulate(beating_firmware);
  chip::Function& function = simulation->function();
  const auto beats = [&] { return test::read_register(function, WEFT_REG_HEARTBEAT, 8); };
  simulation->chip().manager().ail(chip::Ailment::kDead);
  const uint64_t before = beats();
  test::ring_doorbell(function, 0, 1);
  simulation->run_until_idle();
  CHECK(beats() == before);
  CHECK((test::read_register(function, WEFT_REG_FIRMWARE_STATUS) >> 8 & 0x11) == 1);
  test::write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  simulation->run_until_idle();
  simulation->chip().manager().ail(chip::Ailment::kDeaf);
  test::ring_doorbell(function, 0, 1);
  for (int i = 0; i < 100; i++) simulation->run_slice();
  CHECK(beats() > 100);
  CHECK(simulation->pending());
  CHECK(test::read_register(function, WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_BOOTING);
  test::write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  simulation->run_until_idle();
  CHECK(beats() == 1);
}

TEST_CASE("firmware that waits for a slow access, or sleeps for long, is not halted") {
  const auto simulation = simulate([] {
    hal::function_write(0, WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_BOOTING);
    hal::wait_for_event(hal::now() + 10'000'000);
    hal::charge(1000);
    hal::function_write(0, WEFT_REG_HEARTBEAT, 1);
    sleep_forever();
  });
  CHECK(test::read_register(simulation->function(), WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_BOOTING);
  CHECK(test::read_register(simulation->function(), WEFT_REG_HEARTBEAT, 8) == 1);
}

TEST_CASE("an aborted copy moves nothing more and leaves no result") {
  uint32_t result = 9;
  bool again = false;
  const auto simulation = simulate([&] {
    (void)hal::copy_start({WEFT_ADDRESS_SPACE_NONE, 0, 0xffffffff}, fw::hbm_at(1 << 16), 1 << 20);
    hal::charge(300);
    (void)hal::copy_abort();
    hal::charge(100000);
    result = hal::copy_result();
    again = hal::copy_start({WEFT_ADDRESS_SPACE_NONE, 0, 1}, fw::hbm_at(1 << 16), 64);
    sleep_forever();
  });
  CHECK(result == 0);
  CHECK(again);
  std::array<std::byte, 8> last{};
  CHECK(simulation->chip().bus().read(WEFT_ADDRESS_SPACE_HBM, (1 << 16) + (1 << 20) - 8, last));
  CHECK(last[7] == std::byte{0});
}
