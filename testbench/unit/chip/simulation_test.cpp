// Slices, alarms, idleness, determinism.
#include "model/chip/simulation.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;
using test::read_register;
using test::write_register;

namespace {

struct Sink : chip::InterruptSink {
  bool signal(unsigned vector) override {
    seen.push_back(vector);
    last_cycle = simulation->cycle();
    return true;
  }
  std::vector<unsigned> seen;
  const chip::Simulation* simulation = nullptr;
  uint64_t last_cycle = 0;  ///< device cycle of the last vector
};

/// At each doorbell: runs a command of 100'000 cycles, raises vector 1 when it is done.
void work() {
  for (;;) {
    hal::wait_for_event(UINT64_MAX);
    if (hal::doorbell_pending(0) == 0) continue;
    (void)hal::push_command(0, test::command_of(50'000).bytes.data());
    (void)hal::push_command(0, test::command_of(50'000, WEFT_OPCODE_COPY).bytes.data());
    std::byte sram[256];
    for (int i = 0; i < 50; i++) (void)hal::dma_read(fw::hbm_at(0), sram, sizeof sram);
    while ((hal::csr_read(WEFT_CSR_STATUS) & 1) != 0) hal::wait_for_event(UINT64_MAX);
    hal::csr_write(WEFT_CSR_INTERRUPT, 2);
    hal::raise_interrupt(0, 1);
  }
}

struct Fixture {
  Fixture() {
    test::firmware = work;
    std::string error;
    simulation = chip::Simulation::make(test::chip_options(), error);
    sink.simulation = simulation.get();
    chip::Function& f = simulation->function();
    f.msix().set_sink(&sink);
    f.config().enable_msix(true);
    for (unsigned v = 0; v < chip::Msix::kVectors; v++) f.msix().set_vector_mask(v, false);
  }
  chip::Function& function() { return simulation->function(); }
  std::unique_ptr<chip::Simulation> simulation;
  Sink sink;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "time stands still while nothing is pending, and register reads take none") {
  CHECK_FALSE(simulation->pending());
  const uint64_t cycle = read_register(function(), WEFT_REG_CYCLES, 8);
  for (int i = 0; i < 100; i++) simulation->run_slice();
  CHECK(read_register(function(), WEFT_REG_CYCLES, 8) == cycle);
}

TEST_CASE_METHOD(Fixture, "an alarm goes off in its very cycle while the device works on") {
  test::ring_doorbell(function(), 1, 1);
  const uint64_t alarm = simulation->cycle() + 33'333;
  write_register(function(), WEFT_REG_WAIT_ALARM, alarm, 8);
  while (sink.seen.empty()) simulation->run_slice();
  CHECK(sink.seen == std::vector<unsigned>{0});
  CHECK(simulation->cycle() == alarm);
  CHECK(read_register(function(), WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_DEADLINE);
  CHECK(simulation->pending());
  simulation->run_until_idle();
  CHECK(sink.seen == std::vector<unsigned>{0, 1});
}

TEST_CASE_METHOD(Fixture, "an alarm goes off in its very cycle while the firmware never sleeps") {
  test::firmware = [] {
    for (;;) (void)hal::csr_read(WEFT_CSR_STATUS);
  };
  function().reset();
  for (int i = 0; i < 20; i++) {
    const uint64_t alarm = simulation->cycle() + 777 + 1000 * static_cast<uint64_t>(i);
    write_register(function(), WEFT_REG_WAIT_ALARM, alarm, 8);
    while (sink.seen.empty()) simulation->run_slice();
    CHECK(read_register(function(), WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_DEADLINE);
    CHECK(sink.last_cycle == alarm);
    sink.seen.clear();
  }
}

TEST_CASE_METHOD(Fixture, "time is brought to where it stood in another run, also where nothing is pending") {
  REQUIRE(!simulation->pending());
  const uint64_t cycle = simulation->cycle() + 64;
  simulation->run_to({cycle, chip::Standstill::Kind::kAfter});
  CHECK(simulation->cycle() == cycle);
  simulation->run_to({cycle, chip::Standstill::Kind::kAfter});
  CHECK(simulation->cycle() == cycle);
}

TEST_CASE_METHOD(Fixture, "an alarm in the past goes off with the next slice") {
  test::ring_doorbell(function(), 1, 1);
  for (int i = 0; i < 3; i++) simulation->run_slice();
  write_register(function(), WEFT_REG_WAIT_ALARM, 1, 8);
  simulation->run_slice();
  CHECK(sink.seen == std::vector<unsigned>{0});
}

TEST_CASE_METHOD(Fixture, "a wait on an idle device ends as idle, whatever its deadline, with or without one") {
  for (const uint64_t alarm : {uint64_t{1'000'000}, UINT64_MAX}) {
    write_register(function(), WEFT_REG_WAIT_ALARM, alarm, 8);
    simulation->end_idle_wait();
    CHECK(read_register(function(), WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING);
  }
  CHECK(sink.seen == std::vector<unsigned>{0, 0});
}

TEST_CASE_METHOD(Fixture, "the same work takes the same cycles again, however it is sliced") {
  std::vector<uint64_t> cycles;
  for (int run = 0; run < 4; run++) {
    const uint64_t begin = simulation->cycle();
    test::ring_doorbell(function(), 1, static_cast<uint32_t>(run + 1));
    if (run == 1) write_register(function(), WEFT_REG_WAIT_ALARM, begin + 12'345, 8);
    if (run == 2) {
      while (simulation->pending()) {  // many short slices
        write_register(function(), WEFT_REG_WAIT_ALARM, simulation->cycle() + 97, 8);
        simulation->run_slice();
        (void)read_register(function(), WEFT_REG_CYCLES, 8);
      }
    }
    simulation->run_until_idle();
    cycles.push_back(simulation->cycle() - begin);
  }
  for (const uint64_t c : cycles) CHECK(c == cycles.front());
  CHECK(cycles.front() > 100'000);
}

TEST_CASE_METHOD(Fixture, "between two slices time stands where the core does, however far it ran in its quiet") {
  test::ring_doorbell(function(), 1, 1);
  int slices = 0;
  for (; simulation->pending(); slices++) {
    simulation->run_slice();
    REQUIRE(read_register(function(), WEFT_REG_CYCLES, 8) == simulation->standstill().cycle);
  }
  CHECK(slices > 3);
}

TEST_CASE_METHOD(Fixture, "after a reset in the middle of work the same work takes the same cycles") {
  const auto measure = [&] {
    const uint64_t begin = simulation->cycle();
    test::ring_doorbell(function(), 1, 1);
    simulation->run_until_idle();
    return simulation->cycle() - begin;
  };
  const uint64_t cycles = measure();
  test::ring_doorbell(function(), 1, 2);
  write_register(function(), WEFT_REG_WAIT_ALARM, simulation->cycle() + 50'000, 8);
  while (function().registers().alarm_cycle() != 0) simulation->run_slice();
  REQUIRE(simulation->pending());
  function().reset();
  simulation->run_until_idle();
  CHECK(measure() == cycles);
}

TEST_CASE_METHOD(Fixture, "a client that leaves finds HBM zero when it comes back") {
  const std::array<std::byte, 4> data{std::byte{1}};
  REQUIRE(simulation->chip().bus().write(WEFT_ADDRESS_SPACE_HBM, 4096, data));
  simulation->disconnect();
  std::array<std::byte, 4> back{};
  REQUIRE(simulation->chip().bus().read(WEFT_ADDRESS_SPACE_HBM, 4096, back));
  CHECK(back == std::array<std::byte, 4>{});
  simulation->run_until_idle();
  CHECK(read_register(function(), WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_PRESENT);
}

TEST_CASE("a chip whose core cannot be made is refused with the core's message") {
  chip::ChipOptions options = test::chip_options();
  options.make_core = [](core::MemoryBus&, std::string& error) {
    error = "no such core";
    return std::unique_ptr<core::TensorCore>();
  };
  std::string error;
  CHECK(chip::Simulation::make(options, error) == nullptr);
  CHECK(error == "no such core");
}
