// Registers: what must stand there, and what must hold what is written.
#include <fmt/format.h>

#include <array>

#include "driver/abi/abi.hpp"
#include "driver/transport/registers.hpp"
#include "host/tools/selftest/driver_handles.hpp"
#include "host/tools/selftest/selftest.hpp"

namespace weft::tools {
namespace {

struct Writable {
  const char* name;
  uint32_t offset;
  uint32_t mask;  ///< bits that exist
};

/// Registers that hold what is written and do nothing else meanwhile. The INJECT registers are only looked at by a
/// write of INJECT_CONTROL.
constexpr std::array<Writable, 8> kWritable{{
    {"INTERRUPT_MASK", WEFT_REG_INTERRUPT_MASK, (1u << WEFT_PCI_MSIX_VECTORS) - 1},
    {"FIRMWARE_WATCHDOG", WEFT_REG_FIRMWARE_WATCHDOG, 0xffffffff},
    {"INJECT_TARGET", WEFT_REG_INJECT_TARGET, 0xffffffff},
    {"INJECT_NTH", WEFT_REG_INJECT_NTH, 0xffffffff},
    {"INJECT_VALUE0", WEFT_REG_INJECT_VALUE0, 0xffffffff},
    {"INJECT_VALUE0 + 4", WEFT_REG_INJECT_VALUE0 + 4, 0xffffffff},
    {"INJECT_VALUE3", WEFT_REG_INJECT_VALUE3, 0xffffffff},
    {"INJECT_VALUE3 + 4", WEFT_REG_INJECT_VALUE3 + 4, 0xffffffff},
}};

/// Walking ones, walking zeros, all, none, and two checkerboards. Large values come last except 0: the watchdog must
/// not bite while it is small, so the firmware sleeps meanwhile.
std::vector<uint32_t> patterns() {
  std::vector<uint32_t> values{0xffffffff, 0x55555555, 0xaaaaaaaa};
  for (unsigned bit = 0; bit < 32; bit++) {
    values.push_back(1u << bit);
    values.push_back(~(1u << bit));
  }
  return values;
}

/// The first wrong value of a register that must read `wanted`; empty: right.
std::string differs(driver::Transport& transport, const char* name, uint32_t offset, uint64_t wanted, bool wide) {
  const auto narrow = driver::read32(transport, offset);
  const auto both = wide ? driver::read64(transport, offset) : driver::Result<uint64_t>(uint64_t{0});
  if (!narrow.ok()) return fmt::format("{}: {}", name, narrow.status().message());
  if (!both.ok()) return fmt::format("{}: {}", name, both.status().message());
  const uint64_t found = wide ? both.value() : narrow.value();
  if (found == wanted) return {};
  return fmt::format("{} at {:#05x} reads {:#x}, not {:#x}", name, offset, found, wanted);
}

std::string check_writable_register(driver::Transport& transport, const Writable& reg) {
  for (const uint32_t pattern : patterns()) {
    if (const auto written = driver::write32(transport, reg.offset, pattern & reg.mask); !written.ok())
      return fmt::format("{}: {}", reg.name, written.message());
    if (auto wrong = differs(transport, reg.name, reg.offset, pattern & reg.mask, false); !wrong.empty()) return wrong;
  }
  const auto cleared = driver::write32(transport, reg.offset, 0);
  return cleared.ok() ? std::string() : fmt::format("{}: {}", reg.name, cleared.message());
}

}  // namespace

CheckResult passed(std::string name, std::string numbers) { return {std::move(name), true, std::move(numbers), {}}; }
CheckResult failed(std::string name, std::string failure) { return {std::move(name), false, {}, std::move(failure)}; }

CheckResult check_registers(runtime::Session& session) {
  driver::Transport& transport = session.device()->device->transport();
  const spec::Chip& chip = session.chip();
  constexpr uint32_t kAbi = WEFT_ABI_MAJOR << 16 | WEFT_ABI_MINOR;
  for (const std::string& wrong :
       {differs(transport, "MAGIC", WEFT_REG_MAGIC, WEFT_MAGIC, false),
        differs(transport, "ABI_VERSION", WEFT_REG_ABI_VERSION, kAbi, false),
        differs(transport, "CHIP_FINGERPRINT", WEFT_REG_CHIP_FINGERPRINT, chip.fingerprint, true),
        differs(transport, "CLOCK_HZ", WEFT_REG_CLOCK_HZ, chip.clock_hz, true),
        differs(transport, "DEVICE_STATE", WEFT_REG_DEVICE_STATE, WEFT_DEVICE_STATE_READY, false),
        differs(transport, "BOOT_STAGE", WEFT_REG_BOOT_STAGE, WEFT_BOOT_STAGE_READY, false)}) {
    if (!wrong.empty()) return failed("registers", wrong);
  }
  for (const Writable& reg : kWritable) {
    if (auto wrong = check_writable_register(transport, reg); !wrong.empty()) return failed("registers", wrong);
  }
  return passed("registers",
                fmt::format("ABI {}.{}, fingerprint {:#018x} ({}), {} patterns in {} registers", WEFT_ABI_MAJOR,
                            WEFT_ABI_MINOR, chip.fingerprint, chip.name, patterns().size(), kWritable.size()));
}

}  // namespace weft::tools
