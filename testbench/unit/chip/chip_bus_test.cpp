// Timing of HBM and PCIe, exact in cycles.
#include "model/chip/chip_bus.hpp"

#include <array>
#include <catch2/catch.hpp>

using namespace weft;
using chip::ChipBus;

namespace {

constexpr auto kHbm = WEFT_ADDRESS_SPACE_HBM;
constexpr auto kHost = WEFT_ADDRESS_SPACE_HOST;

/// nano: 1 GHz, HBM 34 bytes a cycle, 400 cycles to read and 200 to write; PCIe 16 bytes a cycle, 350 cycles one way.
struct Fixture {
  std::string error;
  const spec::Chip& chip = *spec::find_chip("nano");
  std::unique_ptr<chip::SparseMemory> hbm = chip::SparseMemory::make(chip.hbm_bytes, error);
  chip::HostMemory host;
  ChipBus bus{chip, *hbm, {&host}};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "an HBM read takes its transfer and the read latency") {
  CHECK(bus.schedule_read(kHbm, 34, 1000) == 1000 + 1 + 400);
  CHECK(bus.schedule_read(kHbm, 340, 5000) == 5000 + 10 + 400);
}

TEST_CASE_METHOD(Fixture, "HBM reads and writes share one path") {
  CHECK(bus.schedule_read(kHbm, 340, 0) == 10 + 400);
  CHECK(bus.schedule_write(kHbm, 340, 0) == 20 + 200);
  CHECK(bus.schedule_read(kHbm, 34, 5) == 21 + 400);
}

TEST_CASE_METHOD(Fixture, "a host read crosses PCIe twice, a write once, and the two ways do not share") {
  CHECK(bus.schedule_read(kHost, 160, 100) == 100 + 350 + 10 + 350);
  CHECK(bus.schedule_write(kHost, 160, 100) == 100 + 10 + 350);
  CHECK(bus.schedule_read(kHost, 16, 100) == 100 + 350 + 11 + 350);
  CHECK(bus.schedule_write(kHost, 16, 100) == 100 + 11 + 350);
}

TEST_CASE_METHOD(Fixture, "v5e moves 540 bytes of HBM a cycle") {
  const spec::Chip& v5e = *spec::find_chip("v5e-1mxu");
  ChipBus fast(v5e, *hbm, {&host});
  uint64_t end = 0;
  for (int i = 0; i < 1000; i++) end = fast.schedule_read(kHbm, 1024, 0);
  CHECK(end == (1024 * 1000 + 539) / 540 + 600);
  CHECK(fast.schedule_read(kHost, 1000, 10'000) == 10'000 + 525 + 100 + 525);
}

TEST_CASE_METHOD(Fixture, "a space is congested with more than 64 cycles of transfer booked ahead") {
  CHECK_FALSE(bus.congested(kHbm, 0));
  bus.schedule_read(kHbm, 34 * 64, 0);
  CHECK_FALSE(bus.congested(kHbm, 0));
  bus.schedule_read(kHbm, 1, 0);
  CHECK(bus.congested(kHbm, 0));
  CHECK_FALSE(bus.congested(kHbm, 1));
  CHECK_FALSE(bus.congested(kHost, 0));
  bus.schedule_write(kHost, 16 * 65, 0);
  CHECK(bus.congested(kHost, 0));
}

TEST_CASE_METHOD(Fixture, "bookings on a drained bus do not depend on what ran before") {
  const uint64_t first = bus.schedule_read(kHbm, 100, 10'000) - 10'000;
  bus.schedule_write(kHbm, 12'345, 11'000);
  CHECK(bus.schedule_read(kHbm, 100, 20'000) - 20'000 == first);
}

TEST_CASE_METHOD(Fixture, "bytes are counted by space and direction") {
  bus.schedule_read(kHbm, 1, 0);
  bus.schedule_write(kHbm, 2, 0);
  bus.schedule_read(kHost, 4, 0);
  bus.schedule_write(kHost, 8, 0);
  CHECK(bus.traffic().hbm_read_bytes == 1);
  CHECK(bus.traffic().hbm_written_bytes == 2);
  CHECK(bus.traffic().host_read_bytes == 4);
  CHECK(bus.traffic().host_written_bytes == 8);
}

TEST_CASE_METHOD(Fixture, "accesses outside of a space are bus errors") {
  std::array<std::byte, 16> data{};
  CHECK(bus.write(kHbm, chip.hbm_bytes - 16, data));
  CHECK_FALSE(bus.write(kHbm, chip.hbm_bytes - 15, data));
  CHECK_FALSE(bus.read(kHost, 0, data));
  CHECK_FALSE(bus.read(WEFT_ADDRESS_SPACE_NONE, 0, data));
  CHECK_FALSE(bus.write(WEFT_ADDRESS_SPACE_VMEM, 0, data));
}
