// The core in simulated time: when it runs, how far ahead, and what the manager sees of it.
#include "model/chip/core_host.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;

namespace {

std::unique_ptr<chip::Simulation> simulate(std::function<void()> firmware,
                                           chip::ChipOptions options = test::chip_options()) {
  test::firmware = [firmware = std::move(firmware)] {
    firmware();
    while (hal::running()) hal::wait_for_event(UINT64_MAX);
  };
  std::string error;
  return chip::Simulation::make(options, error);
}

bool push(uint16_t cycles) { return hal::push_command(0, test::command_of(cycles).bytes.data()); }

}  // namespace

TEST_CASE("accesses and pushes reach the core at the manager's cycle") {
  const auto simulation = simulate([] {
    (void)hal::csr_read(WEFT_CSR_CYCLE);  // 20 manager cycles
    push(1000);                           // 16 core cycles
    (void)hal::csr_read(WEFT_CSR_CYCLE);
    hal::csr_write(WEFT_CSR_QUEUE_LOW, 4);  // 4 manager cycles
  });
  REQUIRE(test::core->accesses.size() == 3);
  CHECK(test::core->accesses[0] == 40);
  CHECK(test::core->pushes[0] == 56);
  CHECK(test::core->accesses[1] == 96);
  CHECK(test::core->accesses[2] == 104);
}

TEST_CASE("an interrupt of the core wakes the firmware in its very cycle") {
  uint64_t woken = 0;
  const auto simulation = simulate([&] {
    push(10'000);
    hal::wait_for_event(UINT64_MAX);
    woken = hal::now();
  });
  CHECK(woken == 16 + 10'000);
  CHECK(simulation->cycle() == woken);
}

TEST_CASE("the core runs ahead to the next event in few calls, never past the slice") {
  const auto simulation = simulate([] {
    push(50'000);
    hal::wait_for_event(20'000);
    (void)hal::csr_read(WEFT_CSR_STATUS);
  });
  CHECK(simulation->cycle() == 50'016);
  CHECK(test::core->advances.size() < 60);
  CHECK(test::core->accesses.back() == 20'040);
}

TEST_CASE("an idle core is not clocked, and jumps to the cycle in which it is looked at") {
  uint64_t cycle = 0;
  const auto simulation = simulate([&] {
    hal::wait_for_event(1'000'000);
    cycle = hal::csr_read(WEFT_CSR_CYCLE);
  });
  CHECK(cycle == 1'000'040);
  CHECK(test::core->advances.size() <= 2);
}

TEST_CASE("a core that becomes idle without an interrupt leaves time there, however far it might have run") {
  const auto simulation = simulate([] { hal::csr_write(WEFT_CSR_QUEUE_LOW, 4); });
  REQUIRE(!simulation->pending());
  CHECK(test::core->cycle() == test::core->accesses.back() + 1);
  CHECK(simulation->cycle() == test::core->cycle());
}

TEST_CASE("a host that looks at the firmware's status leaves the core where it is") {
  const auto simulation = simulate([] { hal::wait_for_event(1'000'000); });
  const uint64_t core_cycle = test::core->cycle();
  REQUIRE(core_cycle < simulation->cycle());  // idle, and not clocked since
  const size_t advances = test::core->advances.size();
  const uint32_t status = simulation->function().registers().read(WEFT_REG_FIRMWARE_STATUS);
  CHECK((status & 1u << 9) == 0);  // not busy
  CHECK(test::core->cycle() == core_cycle);
  CHECK(test::core->advances.size() == advances);
}

TEST_CASE("who looks at a core that has run ahead does not bring its interrupt forward") {
  uint64_t woken = 0;
  const auto simulation = simulate([&] {
    hal::wait_for_event(UINT64_MAX);
    woken = hal::now();
  });
  chip::CoreHost& core = simulation->chip().core();
  const uint64_t now = simulation->cycle();
  REQUIRE(core.push(0, test::command_of(10'000)));
  while (!core.core().interrupt()) core.run_ahead(now + 20'000);
  REQUIRE(core.core().cycle() == now + 10'000);
  std::array<uint64_t, WEFT_COUNTERS> counters{};
  core.read_snapshot(counters);
  CHECK_FALSE(core.interrupt());
  simulation->run_until_idle();
  CHECK(woken == now + 10'000);
}

TEST_CASE("an interrupt bit that was set while others were cleared is not slept over") {
  uint64_t turns = 0;
  const auto simulation = simulate([&] {
    push(10);
    hal::wait_for_event(UINT64_MAX);
    hal::csr_write(WEFT_CSR_INTERRUPT, 1);  // not the bit that is set
    hal::wait_for_event(UINT64_MAX);        // returns at once: the line is still high
    turns++;
    hal::csr_write(WEFT_CSR_INTERRUPT, 2);
    hal::charge(10);
    hal::wait_for_event(UINT64_MAX);
    turns++;
  });
  CHECK(turns == 1);
  CHECK_FALSE(test::core->interrupt());
}

TEST_CASE("firmware that leaves the interrupt line alone sleeps all the same") {
  const auto simulation = simulate([] { push(10); });
  CHECK(test::core->interrupt());
  CHECK_FALSE(simulation->pending());
}

TEST_CASE("a counter snapshot reads the counters of now, and time follows the core") {
  const auto simulation = simulate([] {
    for (int i = 0; i < 3; i++) push(10);
  });
  chip::Function& function = simulation->function();
  CHECK(test::read_register(function, WEFT_REG_COUNTERS, 8) == 0);
  const uint64_t before = test::read_register(function, WEFT_REG_CYCLES, 8);
  test::write_register(function, WEFT_REG_COUNTER_SNAPSHOT, 1);
  CHECK(test::read_register(function, WEFT_REG_COUNTERS, 8) == 3);
  CHECK(test::read_register(function, WEFT_REG_CYCLES, 8) - before == 2);
  simulation->run_until_idle();
  CHECK(test::read_register(function, WEFT_REG_CYCLES, 8) - before == 2);
}

TEST_CASE("a mismatch is told once, sticks in FIRST_ERROR, and reads as a fault until the core's reset") {
  chip::ChipOptions options = test::chip_options();
  options.find_mismatch = [](const core::TensorCore& core) {
    return core::Mismatch{static_cast<const test::StandInCore&>(core).differs, "lane 3", "vpu"};
  };
  std::vector<std::string> reports;
  options.report_mismatch = [&](const std::string& report) { reports.push_back(report); };
  uint64_t status = 0, code = 0, interrupt = 0, after = 0;
  const auto simulation = simulate(
      [&] {
        push(100);
        test::core->differs = true;
        hal::wait_for_event(UINT64_MAX);
        status = hal::csr_read(WEFT_CSR_STATUS);
        code = hal::csr_read(WEFT_CSR_FAULT_CODE);
        interrupt = hal::csr_read(WEFT_CSR_INTERRUPT);
        hal::csr_write(WEFT_CSR_CONTROL, 1);
        hal::charge(20);
        after = hal::csr_read(WEFT_CSR_STATUS);
      },
      options);
  CHECK(reports == std::vector<std::string>{"lane 3"});
  CHECK((status & 6) == 6);
  CHECK((code & 0xff) == chip::CoreHost::kMismatchFault);
  CHECK((interrupt & 1) == 1);
  CHECK(after == 0);
  CHECK(test::read_register(simulation->function(), WEFT_REG_FIRST_ERROR) == WEFT_ERROR_GOLDEN_MISMATCH);
}
