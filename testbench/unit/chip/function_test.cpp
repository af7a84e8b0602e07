// What the host sees of a function: registers, access sizes, interrupts through both masks.
#include "model/chip/function.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <vector>

#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
using chip::Region;
using test::read_register;
using test::write_register;

namespace {

struct Events : chip::FunctionEvents {
  void simulator_exits() override {}
  uint64_t device_cycle() const override { return 0x123456789; }
  void wake_manager() override { wakes++; }
  void function_reset(unsigned) override { resets++; }
  void function_left(unsigned) override { departures++; }
  void snapshot(std::array<uint64_t, WEFT_COUNTERS>& counters) override { counters[2] = 0x1122334455667788; }
  int wakes = 0;
  int resets = 0;
  int departures = 0;
};

struct Sink : chip::InterruptSink {
  bool signal(unsigned vector) override {
    seen.push_back(vector);
    return true;
  }
  std::vector<unsigned> seen;
};

struct Fixture {
  Fixture() {
    function.msix().set_sink(&sink);
    function.config().enable_msix(true);
    for (unsigned v = 0; v < chip::Msix::kVectors; v++) function.msix().set_vector_mask(v, false);
  }
  int read(Region region, uint64_t offset, size_t bytes) {
    std::vector<std::byte> data(bytes);
    return function.read(region, offset, data);
  }
  int write(Region region, uint64_t offset, size_t bytes) {
    return function.write(region, offset, std::vector<std::byte>(bytes));
  }

  Events events;
  Sink sink;
  const spec::Chip& chip = *spec::find_chip("v5e-1mxu");
  chip::Function function{chip, core::CoreKind::kLockstep, 0, events};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "identity registers tell the chip") {
  CHECK(read_register(function, WEFT_REG_MAGIC) == WEFT_MAGIC);
  CHECK(read_register(function, WEFT_REG_ABI_VERSION) == (WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR));
  CHECK(read_register(function, WEFT_REG_CHIP_FINGERPRINT, 8) == chip.fingerprint);
  CHECK(read_register(function, WEFT_REG_CAPABILITIES) == (16 | 12 << 8 | 3 << 16));
  CHECK(read_register(function, WEFT_REG_HBM_BYTES, 8) == chip.hbm_bytes);
  CHECK(read_register(function, WEFT_REG_HBM_RESERVED_BYTES, 8) == WEFT_MANAGER_HBM_RESERVED_BYTES);
  CHECK(read_register(function, WEFT_REG_CLOCK_HZ, 8) == chip.clock_hz);
  CHECK(read_register(function, WEFT_REG_CYCLES, 8) == 0x123456789);
  CHECK(read_register(function, WEFT_REG_CYCLES + 4) == 1);
  write_register(function, WEFT_REG_MAGIC, 0);
  CHECK(read_register(function, WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "accesses outside of a region, or of a size it does not take, are refused") {
  for (const Region region : {Region::kRegisters, Region::kDoorbells, Region::kMsix, Region::kConfig}) {
    const uint64_t bytes = chip::region_bytes(region);
    CHECK(read(region, bytes - 4, 4) == 0);
    CHECK(read(region, bytes, 4) == EINVAL);
    CHECK(read(region, bytes - 4, 8) == EINVAL);
    CHECK(read(region, UINT64_MAX - 3, 8) == EINVAL);
    CHECK(read(region, 0, 0) == EINVAL);
    CHECK(write(region, bytes, 4) == EINVAL);
    CHECK(write(region, bytes - 4, 8) == EINVAL);
    CHECK(write(region, 0, 0) == EINVAL);
  }
  CHECK(read(Region::kRegisters, 2, 4) == EINVAL);
  CHECK(read(Region::kRegisters, 0, 6) == EINVAL);
  CHECK(read(Region::kRegisters, WEFT_REG_COUNTERS, 4096) == 0);
  CHECK(write(Region::kRegisters, 0x84, 8) == EINVAL);
  CHECK(write(Region::kRegisters, 0x80, 16) == EINVAL);
  CHECK(write(Region::kDoorbells, 0, 8) == EINVAL);
  CHECK(write(Region::kDoorbells, 2, 4) == EINVAL);
  CHECK(write(Region::kDoorbells, 8 * 17, 4) == 0);  // no such queue: ignored
  CHECK(events.wakes == 0);
  CHECK(write(Region::kConfig, 0x3c, 1) == 0);
}

TEST_CASE_METHOD(Fixture, "the host cannot write the firmware's registers, nor the firmware the host's") {
  for (const uint32_t offset : {WEFT_REG_DEVICE_STATE, WEFT_REG_BOOT_STAGE, WEFT_REG_HEARTBEAT, WEFT_REG_PENDING_ERRORS,
                                WEFT_REG_RESET_GENERATION}) {
    const uint64_t before = read_register(function, offset);
    write_register(function, offset, 0x55);
    CHECK(read_register(function, offset) == before);
  }
  function.registers().firmware_write(WEFT_REG_HEARTBEAT, 0x100000002);
  CHECK(read_register(function, WEFT_REG_HEARTBEAT, 8) == 0x100000002);
  CHECK(function.registers().firmware_read(WEFT_REG_HEARTBEAT) == 0x100000002);
  function.registers().firmware_write(WEFT_REG_MAGIC, 1);
  CHECK(read_register(function, WEFT_REG_MAGIC) == WEFT_MAGIC);
}

TEST_CASE_METHOD(Fixture, "the first error sticks until it is cleared, and errors are counted") {
  function.registers().note_error(WEFT_ERROR_DMA_FAULT);
  function.registers().note_error(WEFT_ERROR_DEVICE_HUNG);
  CHECK(read_register(function, WEFT_REG_FIRST_ERROR) == WEFT_ERROR_DMA_FAULT);
  CHECK(read_register(function, WEFT_REG_PENDING_ERRORS) == 2);
  write_register(function, WEFT_REG_FIRST_ERROR, 0xffffffff);
  CHECK(read_register(function, WEFT_REG_FIRST_ERROR) == 0);
  CHECK(read_register(function, WEFT_REG_PENDING_ERRORS) == 0);
}

TEST_CASE_METHOD(Fixture,
                 "INTERRUPT_MASK holds a vector back until it is unmasked, and INTERRUPT_STATUS is cleared by ones") {
  write_register(function, WEFT_REG_INTERRUPT_MASK, 1 << 4);
  function.registers().raise(4);
  function.registers().raise(5);
  CHECK(sink.seen == std::vector<unsigned>{5});
  CHECK(read_register(function, WEFT_REG_INTERRUPT_STATUS) == (1 << 4 | 1 << 5));
  write_register(function, WEFT_REG_INTERRUPT_STATUS, 1 << 5);
  CHECK(read_register(function, WEFT_REG_INTERRUPT_STATUS) == 1 << 4);
  write_register(function, WEFT_REG_INTERRUPT_MASK, 0);
  CHECK(sink.seen == std::vector<unsigned>{5, 4});
}

TEST_CASE_METHOD(Fixture, "a wait is armed by its alarm, disarmed by zero, and ends once with vector 0") {
  write_register(function, WEFT_REG_WAIT_ALARM, 500, 8);
  CHECK(read_register(function, WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_ARMED);
  write_register(function, WEFT_REG_WAIT_ALARM, 0, 8);
  CHECK(read_register(function, WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_NONE);
  function.registers().end_wait(WEFT_WAIT_STATUS_DEADLINE);
  CHECK(sink.seen.empty());
  write_register(function, WEFT_REG_WAIT_ALARM, UINT32_MAX);  // in two halves
  write_register(function, WEFT_REG_WAIT_ALARM + 4, UINT32_MAX);
  CHECK(function.registers().alarm_cycle() == UINT64_MAX);
  function.registers().end_wait(WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING);
  function.registers().end_wait(WEFT_WAIT_STATUS_DEADLINE);
  CHECK(sink.seen == std::vector<unsigned>{0});
  CHECK(read_register(function, WEFT_REG_WAIT_STATUS) == WEFT_WAIT_STATUS_IDLE_WITH_OUTSTANDING);
  CHECK(read_register(function, WEFT_REG_WAIT_ALARM, 8) == 0);
}

TEST_CASE_METHOD(Fixture,
                 "only the key resets, and a reset clears what host and firmware wrote and counts the generation") {
  write_register(function, WEFT_REG_RESET_CONTROL, 1);
  CHECK(events.resets == 0);
  write_register(function, WEFT_REG_INTERRUPT_MASK, 0xff);
  test::ring_doorbell(function, 3, 5);
  function.registers().raise(1);
  write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  CHECK(events.resets == 1);
  CHECK(read_register(function, WEFT_REG_RESET_CONTROL) == 0);
  CHECK(read_register(function, WEFT_REG_RESET_GENERATION) == 1);
  CHECK(read_register(function, WEFT_REG_INTERRUPT_MASK) == 0);
  CHECK(read_register(function, WEFT_REG_INTERRUPT_STATUS) == 0);
  CHECK(function.submission_tail(3) == 0);
  CHECK(function.take_pending_doorbells() == 0);
  function.registers().raise(2);
  CHECK(sink.seen == std::vector<unsigned>{2});  // MSI-X stays as the host set it up
  function.reset();
  CHECK(read_register(function, WEFT_REG_RESET_GENERATION) == 2);
}

TEST_CASE_METHOD(Fixture, "a client that leaves takes its maps, masks and interrupts with it") {
  test::SharedMemory shared(4096);
  REQUIRE(function.host_memory().map(shared.fd(), 0, 0, 4096, chip::Access::kReadWrite) == 0);
  function.disconnect();
  CHECK(events.departures == 1);
  function.registers().raise(1);
  CHECK(sink.seen.empty());
  CHECK_FALSE(function.settled());
  CHECK(function.host_memory().size() == 1);  // the device may still be writing there
  function.registers().firmware_write(WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_PRESENT);
  CHECK(function.settled());
  CHECK(function.host_memory().size() == 0);
  CHECK(function.msix().vector_masked(1));
}

TEST_CASE_METHOD(Fixture, "a counter snapshot fills the counter block") {
  write_register(function, WEFT_REG_COUNTER_SNAPSHOT, 1);
  CHECK(read_register(function, WEFT_REG_COUNTERS + 16, 8) == 0x1122334455667788);
  CHECK(read_register(function, WEFT_REG_COUNTERS + 8 * WEFT_COUNTERS, 8) == 0);
}
