// Traps, interrupts, CSRs, wfi, accesses that leave memory, and cycles.
#include "model/rv32/hart.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "model/rv32/ibex_cycles.hpp"

namespace weft::rv32 {
namespace {

constexpr uint32_t kSramBase = 0x2000'0000, kSramBytes = 256, kDevice = 0x4000'0000;

/// One register at kDevice.
class OneRegister final : public Bus {
 public:
  bool load(uint32_t address, unsigned bytes, uint32_t& out) override {
    if (address != kDevice || bytes != 4) return false;
    out = value;
    return true;
  }
  bool store(uint32_t address, unsigned bytes, uint32_t in) override {
    if (address != kDevice || bytes != 4) return false;
    value = in;
    return true;
  }
  uint32_t value = 0;
};

// Instructions by hand.
constexpr uint32_t addi(uint32_t rd, uint32_t rs1, uint32_t imm) { return 0x13 | rd << 7 | rs1 << 15 | imm << 20; }
constexpr uint32_t lui(uint32_t rd, uint32_t value) { return 0x37 | rd << 7 | (value & 0xffff'f000); }
constexpr uint32_t lw(uint32_t rd, uint32_t rs1, uint32_t imm) { return 0x2003 | rd << 7 | rs1 << 15 | imm << 20; }
constexpr uint32_t sw(uint32_t rs2, uint32_t rs1, uint32_t imm) {
  return 0x2023 | (imm & 31) << 7 | rs1 << 15 | rs2 << 20 | (imm >> 5) << 25;
}
constexpr uint32_t csrrw(uint32_t rd, uint32_t number, uint32_t rs1) {
  return 0x1073 | rd << 7 | rs1 << 15 | number << 20;
}
constexpr uint32_t csrrs(uint32_t rd, uint32_t number, uint32_t rs1) {
  return 0x2073 | rd << 7 | rs1 << 15 | number << 20;
}
constexpr uint32_t kHalfX5 = 0x0012'd293;  // srli x5, x5, 1
constexpr uint32_t kMret = 0x3020'0073, kWfi = 0x1050'0073, kEcall = 0x73, kEbreak = 0x0010'0073,
                   kForEver = 0x0000'006f;
constexpr uint32_t kMstatus = 0x300, kMie = 0x304, kMtvec = 0x305, kMscratch = 0x340, kMepc = 0x341, kMcause = 0x342;

/// A hart whose ROM holds `handler` at 0 and `program` at the reset address.
struct Machine {
  explicit Machine(const std::vector<uint32_t>& program, const std::vector<uint32_t>& handler = {kForEver})
      : hart({.sram_base = kSramBase, .sram_bytes = kSramBytes}, image(program, handler), bus) {}
  static std::vector<std::byte> image(const std::vector<uint32_t>& program, const std::vector<uint32_t>& handler) {
    std::vector<std::byte> rom(Hart::kResetOffset + 4 * program.size());
    std::memcpy(rom.data(), handler.data(), 4 * handler.size());
    std::memcpy(&rom[Hart::kResetOffset], program.data(), 4 * program.size());
    return rom;
  }
  /// So many instructions or traps.
  void step(unsigned n) {
    for (unsigned i = 0; i < n; i++) (void)hart.run(hart.cycles() + 1);
  }
  OneRegister bus;
  Hart hart;
};

}  // namespace

TEST_CASE("an access outside of ROM, SRAM and the bus traps with its address") {
  const auto [instruction, cause] =
      GENERATE(std::pair{lw(1, 5, 0), Cause::kLoadFault}, std::pair{sw(1, 5, 0), Cause::kStoreFault});
  const uint32_t address = GENERATE(0x3000'0000u, kSramBase + kSramBytes, kSramBase - 4, kDevice + 4, kDevice + 1);
  Machine m({lui(5, address + 0x800), addi(5, 5, address & 0xfff), instruction});
  m.step(3);
  CHECK(m.hart.traps() == 1);
  CHECK(m.hart.csrs().mcause == static_cast<uint32_t>(cause));
  CHECK(m.hart.csrs().mtval == address);
  CHECK(m.hart.csrs().mepc == Hart::kResetOffset + 8);
  CHECK(m.hart.pc() == 0);
}

TEST_CASE("an access that begins in SRAM and ends outside traps") {
  Machine m({lui(5, kSramBase), lw(1, 5, kSramBytes - 2)});
  m.step(2);
  CHECK(m.hart.csrs().mcause == static_cast<uint32_t>(Cause::kLoadFault));
}

TEST_CASE("code can neither be written nor lie in SRAM") {
  Machine store({sw(0, 0, 0x80)});
  store.step(1);
  CHECK(store.hart.csrs().mcause == static_cast<uint32_t>(Cause::kStoreFault));
  Machine jump({lui(5, kSramBase), 0x67 | 5u << 15});
  jump.step(3);
  CHECK(jump.hart.csrs().mcause == static_cast<uint32_t>(Cause::kFetchFault));
  CHECK(jump.hart.csrs().mtval == kSramBase);
  CHECK(jump.hart.csrs().mepc == kSramBase);
}

TEST_CASE("running off the end of the ROM is a fetch fault") {
  Machine m({addi(1, 0, 1)});
  m.step(2);
  CHECK(m.hart.csrs().mcause == static_cast<uint32_t>(Cause::kFetchFault));
}

TEST_CASE("ecall, ebreak and illegal instructions trap with their cause") {
  const auto [instruction, cause] =
      GENERATE(std::pair{kEcall, Cause::kEcall}, std::pair{kEbreak, Cause::kBreakpoint}, std::pair{0u, Cause::kIllegal},
               std::pair{0xffff'ffffu, Cause::kIllegal}, std::pair{csrrs(1, 0x7c0, 0), Cause::kIllegal},
               std::pair{csrrw(0, 0xf14, 1), Cause::kIllegal});
  Machine m({instruction});
  m.step(1);
  CHECK(m.hart.csrs().mcause == static_cast<uint32_t>(cause));
  CHECK(m.hart.csrs().mepc == Hart::kResetOffset);
}

TEST_CASE("a trap whose vector cannot be fetched locks the hart up") {
  Machine m({lui(5, 0x7000'0000), csrrw(0, kMtvec, 5), kEcall});
  CHECK(m.hart.run(100) == Stop::kLockedUp);
  CHECK(m.hart.run(200) == Stop::kLockedUp);
  m.hart.reset();
  CHECK(m.hart.pc() == Hart::kResetOffset);
}

TEST_CASE("wfi waits for an interrupt that mie enables, and goes on without a trap while mstatus disables it") {
  Machine m({lui(5, 0x1000), kHalfX5, csrrw(0, kMie, 5), kWfi, addi(1, 0, 7), kForEver});
  CHECK(m.hart.run(1000) == Stop::kWaiting);
  CHECK(m.hart.run(1000) == Stop::kWaiting);
  CHECK(m.hart.x()[1] == 0);
  m.hart.set_external_interrupt(true);
  CHECK(m.hart.run(m.hart.cycles() + 10) == Stop::kLimit);
  CHECK(m.hart.x()[1] == 7);
  CHECK(m.hart.traps() == 0);
}

TEST_CASE("an enabled interrupt is taken between two instructions, and mret goes back") {
  std::vector<uint32_t> handler(12, kForEver);
  handler[11] = kMret;  // vector of the machine external interrupt
  Machine m({lui(5, 0x1000), kHalfX5, csrrw(0, kMie, 5), addi(6, 0, 8), csrrw(0, kMstatus, 6), addi(1, 1, 1), kForEver},
            handler);
  (void)m.hart.run(50);
  CHECK(m.hart.x()[1] == 1);
  const uint32_t pc = m.hart.pc();
  m.hart.set_external_interrupt(true);
  (void)m.hart.run(m.hart.cycles() + kTrapCycles + 1);
  CHECK(m.hart.csrs().mcause == kExternalInterrupt);
  CHECK(m.hart.csrs().mepc == pc);
  CHECK((m.hart.csrs().mstatus & 8) != 0);  // after mret, which took the step
  CHECK(m.hart.traps() == 1);
  CHECK(m.hart.pc() == pc);
}

TEST_CASE("CSRs hold what their fields can hold") {
  Machine m({lui(5, 0xffff'f000), addi(5, 5, 0xfff), csrrw(0, kMtvec, 5), csrrs(1, kMtvec, 0), csrrw(0, kMepc, 5),
             csrrs(2, kMepc, 0), csrrw(0, kMcause, 5), csrrs(3, kMcause, 0), csrrw(0, kMscratch, 5),
             csrrs(4, kMscratch, 0), csrrs(6, 0x301, 0)});
  m.step(11);
  CHECK(m.hart.x()[1] == 0xffff'ef01);
  CHECK(m.hart.x()[2] == 0xffff'effe);
  CHECK(m.hart.x()[3] == 0x8000'001f);
  CHECK(m.hart.x()[4] == 0xffff'efff);
  CHECK(m.hart.x()[6] == 0x4000'1104);
}

TEST_CASE("the bus sees accesses of devices, and x0 stays 0") {
  Machine m({lui(5, kDevice), addi(6, 0, 42), sw(6, 5, 0), lw(7, 5, 0), lw(0, 5, 0)});
  m.step(5);
  CHECK(m.bus.value == 42);
  CHECK(m.hart.x()[7] == 42);
  CHECK(m.hart.x()[0] == 0);
}

TEST_CASE("images of odd and of no length are read to their end and not beyond") {
  OneRegister bus;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{0x81}, size_t{0x82}, size_t{0x83}}) {
    Hart hart({.sram_bytes = 64}, std::vector<std::byte>(bytes, std::byte{0xff}), bus);
    (void)hart.run(20);
    CHECK(hart.traps() + (hart.run(hart.cycles()) == Stop::kLockedUp ? 1 : 0) > 0);
  }
}

}  // namespace weft::rv32
