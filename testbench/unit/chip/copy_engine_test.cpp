// Big copies: data, cycles, errors, and what they leave to others.
#include "model/chip/copy_engine.hpp"

#include <catch2/catch.hpp>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
namespace hal = fw::hal;

namespace {

constexpr auto kHbm = WEFT_ADDRESS_SPACE_HBM;
constexpr auto kHost = WEFT_ADDRESS_SPACE_HOST;
constexpr uint64_t kBytes = uint64_t{1} << 20;
constexpr uint64_t kIova = 0x100000;

/// One copy started by the firmware at the first doorbell; `cycles` from its start to its result.
struct Fixture {
  Fixture() {
    test::firmware = [this] {
      hal::wait_for_event(UINT64_MAX);
      if (hal::doorbell_pending(0) == 0) return;
      const fw::Location from{source_space, 0, source};
      const fw::Location to{destination_space, 0, destination};
      started = hal::copy_start(from, to, bytes);
      const uint64_t begin = hal::now();
      second_refused = !hal::copy_start(from, to, bytes);
      while ((result = hal::copy_result()) == 0) hal::wait_for_event(UINT64_MAX);
      cycles = hal::now() - begin;
      cleared = hal::copy_result() == 0;
    };
    std::string error;
    simulation = chip::Simulation::make(test::chip_options(), error);
    if (simulation->function().host_memory().map(shared.fd(), 0, kIova, kBytes, chip::Access::kReadWrite) != 0)
      std::abort();
  }
  void run() {
    test::ring_doorbell(simulation->function(), 0, 1);
    simulation->run_until_idle();
  }

  /// Runs to that cycle exactly: the end of an armed wait ends a slice.
  void run_to(uint64_t cycle) {
    test::write_register(simulation->function(), WEFT_REG_WAIT_ALARM, cycle, 8);
    while (simulation->cycle() < cycle && simulation->pending()) simulation->run_slice();
  }

  test::SharedMemory shared{kBytes};
  std::unique_ptr<chip::Simulation> simulation;
  weft_address_space source_space = kHost;
  weft_address_space destination_space = kHbm;
  uint64_t source = kIova;
  uint64_t destination = 0;
  uint64_t bytes = kBytes;
  bool started = false;
  bool second_refused = false;
  bool cleared = false;
  uint32_t result = 0;
  uint64_t cycles = 0;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a copy from host to HBM moves all bytes at PCIe's rate, latencies overlapped") {
  for (size_t i = 0; i < kBytes; i++) shared.data()[i] = static_cast<std::byte>(i * 7 + i / 251);
  destination = 123;
  run();
  CHECK(started);
  CHECK(second_refused);
  CHECK(result == 1);
  CHECK(cleared);
  std::vector<std::byte> back(kBytes);
  REQUIRE(simulation->chip().bus().read(kHbm, 123, back));
  CHECK(std::memcmp(back.data(), shared.data(), kBytes) == 0);
  const uint64_t transfer = kBytes / 16;  // cycles, at 16 bytes a cycle
  CHECK(cycles >= transfer + 700 + 200);
  CHECK(cycles <= transfer + 700 + 200 + 200);
}

TEST_CASE_METHOD(Fixture, "a copy from HBM to host is paced by PCIe and does not fill its path") {
  source_space = kHbm;
  source = 0;
  destination_space = kHost;
  destination = kIova;
  run();
  CHECK(result == 1);
  CHECK(cycles >= kBytes / 16 + 400 + 350);
  CHECK(cycles <= kBytes / 16 + 400 + 350 + 400);
}

TEST_CASE_METHOD(Fixture, "a fill writes its pattern everywhere and nowhere else") {
  source_space = WEFT_ADDRESS_SPACE_NONE;
  source = 0xa1b2c3d4;
  destination = 64;
  bytes = 10'000;
  run();
  CHECK(result == 1);
  std::vector<uint32_t> back(10'064 / 4 + 1);
  REQUIRE(simulation->chip().bus().read(kHbm, 0, std::as_writable_bytes(std::span(back))));
  for (size_t i = 0; i < back.size(); i++) REQUIRE(back[i] == (i >= 16 && i < 16 + 2500 ? 0xa1b2c3d4 : 0));
}

TEST_CASE_METHOD(Fixture, "a copy that leaves its space ends with a bus error and what was in front of it is done") {
  source = kIova + kBytes - 8192;
  bytes = 16384;
  std::memset(shared.data(), 5, kBytes);
  run();
  CHECK(result == 2);
  std::vector<std::byte> back(16384);
  REQUIRE(simulation->chip().bus().read(kHbm, 0, back));
  CHECK(back[8191] == std::byte{5});
  CHECK(back[8192] == std::byte{0});
}

TEST_CASE_METHOD(Fixture, "a copy whose memory is unmapped under it ends with a bus error") {
  test::ring_doorbell(simulation->function(), 0, 1);
  run_to(20'000);
  REQUIRE(simulation->pending());
  REQUIRE(simulation->function().host_memory().unmap(kIova, kBytes) == 0);
  simulation->run_until_idle();
  CHECK(result == 2);
}

TEST_CASE_METHOD(Fixture, "a device reset ends a copy, and no byte moves afterwards") {
  std::memset(shared.data(), 5, kBytes);
  test::ring_doorbell(simulation->function(), 0, 1);
  run_to(20'000);
  test::write_register(simulation->function(), WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  std::vector<std::byte> before(kBytes), after(kBytes);
  REQUIRE(simulation->chip().bus().read(kHbm, 0, before));
  CHECK(before[0] == std::byte{5});
  CHECK(before[kBytes - 1] == std::byte{0});
  simulation->run_until_idle();
  REQUIRE(simulation->chip().bus().read(kHbm, 0, after));
  CHECK(before == after);
  CHECK(result == 0);
}
