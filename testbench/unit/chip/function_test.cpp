// What the host sees of a function: registers, access sizes, interrupts through both masks.
#include "model/chip/function.hpp"

#include <linux/pci_regs.h>

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
  for (const Region region : {Region::kRegisters, Region::kDoorbells, Region::kMsix}) {
    for (const size_t bytes : {1, 2, 4, 8}) {
      CHECK(read(region, 8 + bytes % 8, bytes) == 0);
      CHECK(write(region, 8 + bytes % 8, bytes) == 0);
      if (bytes == 1) continue;
      CHECK(read(region, 8 + bytes / 2, bytes) == (bytes == 8 ? 0 : EINVAL));  // two words
      CHECK(write(region, 8 + bytes / 2, bytes) == EINVAL);
    }
    for (const size_t bytes : {3, 5, 6, 7}) {
      CHECK(read(region, 0, bytes) == EINVAL);
      CHECK(write(region, 0, bytes) == EINVAL);
    }
  }
  events.wakes = 0;
  CHECK(read(Region::kRegisters, WEFT_REG_COUNTERS, 4096) == 0);
  CHECK(write(Region::kRegisters, 0x84, 8) == EINVAL);
  CHECK(write(Region::kRegisters, 0x80, 16) == EINVAL);
  CHECK(write(Region::kDoorbells, 8 * 17, 4) == 0);  // no such queue: ignored
  CHECK(events.wakes == 0);
  CHECK(write(Region::kConfig, 0x3c, 1) == 0);
}

TEST_CASE_METHOD(Fixture, "an access of a part of a register reads and writes these bytes and no other") {
  write_register(function, WEFT_REG_PARAMETER_PAGE, 0x1122334455667788, 8);
  for (unsigned byte = 0; byte < 8; byte++)
    CHECK(read_register(function, WEFT_REG_PARAMETER_PAGE + byte, 1) == (0x1122334455667788 >> 8 * byte & 0xff));
  CHECK(read_register(function, WEFT_REG_PARAMETER_PAGE + 2, 2) == 0x5566);
  write_register(function, WEFT_REG_PARAMETER_PAGE + 1, 0xaa, 1);
  write_register(function, WEFT_REG_PARAMETER_PAGE + 6, 0xbbcc, 2);
  CHECK(read_register(function, WEFT_REG_PARAMETER_PAGE, 8) == 0xbbcc33445566aa88);

  write_register(function, WEFT_REG_INTERRUPT_MASK, 0x1ffff);
  write_register(function, WEFT_REG_INTERRUPT_MASK + 1, 0, 1);
  CHECK(read_register(function, WEFT_REG_INTERRUPT_MASK) == 0x100ff);
  write_register(function, WEFT_REG_INTERRUPT_MASK, 0);
  // Ones clear the bits of the bytes that are written.
  function.registers().raise(0);
  function.registers().raise(9);
  write_register(function, WEFT_REG_INTERRUPT_STATUS + 1, 0xff, 1);
  CHECK(read_register(function, WEFT_REG_INTERRUPT_STATUS) == 1);
  // A part of the key is no key.
  write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY & 0xffff, 2);
  write_register(function, WEFT_REG_RESET_CONTROL + 2, WEFT_RESET_KEY >> 16, 2);
  CHECK(events.resets == 0);

  const auto put = [&](Region region, uint64_t offset, uint64_t value, size_t bytes) {
    REQUIRE(function.write(region, offset, std::as_bytes(std::span(&value, 1)).first(bytes)) == 0);
  };
  put(Region::kDoorbells, 8, 0x11223344, 4);
  put(Region::kDoorbells, 9, 0xaa, 1);
  CHECK(function.submission_tail(1) == 0x1122aa44);
  put(Region::kDoorbells, 16, 0x5566778811223344, 8);  // tail and head of queue 2
  CHECK(function.submission_tail(2) == 0x11223344);
  CHECK(function.completion_head(2) == 0x55667788);
  CHECK(function.take_pending_doorbells() == (1 << 1 | 1 << 2));
  put(Region::kMsix, 0, 0x1122334455667788, 8);
  put(Region::kMsix, 3, 0xaa, 1);
  CHECK(function.msix().read(0) == 0xaa667788);
  CHECK(function.msix().read(4) == 0x11223344);
}

TEST_CASE_METHOD(Fixture, "a host without the right to it neither holds time nor arms a fault, whatever its access") {
  const auto put = [&](uint64_t offset, uint64_t value, size_t bytes) {
    return function.write(Region::kRegisters, offset, std::as_bytes(std::span(&value, 1)).first(bytes));
  };
  write_register(function, WEFT_REG_INJECT_KIND, WEFT_INJECTED_FAULT_SIMULATOR_EXIT);
  write_register(function, WEFT_REG_INJECT_NTH, 1);
  write_register(function, WEFT_REG_INJECT_COUNT, 1);
  function.set_rights({.hold = false, .inject = false});
  CHECK(put(WEFT_REG_SIM_HOLD, 1, 1) == EPERM);
  CHECK(put(WEFT_REG_SIM_HOLD, 0xff01, 2) == EPERM);
  CHECK(put(WEFT_REG_SIM_HOLD, 1, 4) == EPERM);
  CHECK(put(WEFT_REG_SIM_HOLD - 4, uint64_t{1} << 32, 8) == EPERM);
  CHECK(put(WEFT_REG_SIM_HOLD, 0xfffffffe, 4) == 0);
  CHECK(put(WEFT_REG_SIM_HOLD + 1, 0xff, 1) == 0);
  CHECK_FALSE(function.registers().holds_time());
  for (const size_t bytes : {1, 2, 4, 8}) CHECK(put(WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM, bytes) == EPERM);
  CHECK(function.faults().armed() == 0);
  CHECK(put(WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_DISARM, 4) == 0);
  function.set_rights({.hold = true, .inject = true});
  CHECK(put(WEFT_REG_SIM_HOLD, 1, 1) == 0);
  CHECK(function.registers().holds_time());
  CHECK(put(WEFT_REG_INJECT_CONTROL, WEFT_INJECT_CONTROL_ARM, 1) == 0);
  CHECK(function.faults().armed() == 1);
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

TEST_CASE_METHOD(Fixture,
                 "a function-level reset brings configuration space and MSI-X back to power-up, and keeps maps") {
  test::SharedMemory shared(4096);
  REQUIRE(function.host_memory().map(shared.fd(), 0, 0, 4096, chip::Access::kReadWrite) == 0);
  const auto config = [&](uint64_t offset, uint64_t value, size_t bytes) {
    REQUIRE(function.write(Region::kConfig, offset, std::as_bytes(std::span(&value, 1)).first(bytes)) == 0);
  };
  const auto word = [&](uint64_t offset) {
    uint16_t value = 0;
    REQUIRE(function.read(Region::kConfig, offset, std::as_writable_bytes(std::span(&value, 1))) == 0);
    return value;
  };
  config(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
  config(PCI_BASE_ADDRESS_0, 0x12340000, 4);
  CHECK((word(chip::PciConfig::kMsixControl) & chip::PciConfig::kMsixEnable) != 0);
  config(chip::PciConfig::kPcieCapability + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
  CHECK(events.resets == 1);
  CHECK(read_register(function, WEFT_REG_RESET_GENERATION) == 1);
  CHECK(word(PCI_COMMAND) == 0);
  CHECK(word(PCI_BASE_ADDRESS_0 + 2) == 0);
  CHECK((word(chip::PciConfig::kMsixControl) & chip::PciConfig::kMsixEnable) == 0);
  CHECK(function.msix().vector_masked(0));
  CHECK(function.host_memory().size() == 1);
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
