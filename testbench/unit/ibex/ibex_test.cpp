// Ibex's RTL beside the instruction-set simulator: registers after every instruction, exceptions, sleep, cycles.
#include "model/ibex/ibex.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/rv32/hart.hpp"
#include "testbench/unit/rv32/random_code.hpp"

namespace weft::ibex {
namespace {

using rv32::Cause;
using rv32::Hart;
using rv32::Layout;
using rv32::Processor;
using rv32::Stop;

constexpr uint32_t kSramBase = 0x2000'0000, kSramBytes = 4096, kDevice = 0x4000'0000;

/// 16 words of registers at kDevice; what was accessed, and what trapped.
class Registers final : public rv32::Bus {
 public:
  struct Access {
    bool store;
    uint32_t address, value;
    bool operator==(const Access&) const = default;
  };
  struct Exception {
    Cause cause;
    uint32_t value, pc;
    bool operator==(const Exception&) const = default;
  };
  bool load(uint32_t address, unsigned bytes, uint32_t& value) override {
    if (address - kDevice >= sizeof words || bytes != 4) return false;
    value = words[(address - kDevice) / 4];
    accesses.push_back({false, address, value});
    return true;
  }
  bool store(uint32_t address, unsigned bytes, uint32_t value) override {
    if (address - kDevice >= sizeof words || bytes != 4) return false;
    words[(address - kDevice) / 4] = value;
    accesses.push_back({true, address, value});
    return true;
  }
  void exception(Cause cause, uint32_t value) override { exceptions.push_back({cause, value, processor->pc()}); }

  uint32_t words[16] = {};
  std::vector<Access> accesses;
  std::vector<Exception> exceptions;
  const Processor* processor = nullptr;
};

/// Both with the same image.
struct Pair {
  Pair(const Layout& layout, std::span<const std::byte> image)
      : ibex(make(layout, image, ibex_bus)), hart(layout, image, hart_bus) {
    REQUIRE(ibex != nullptr);
    ibex_bus.processor = ibex.get();
    hart_bus.processor = &hart;
  }
  /// One instruction, or one trap.
  static Stop step(Processor& p) {
    const uint64_t done = p.instructions() + p.traps();
    for (;;) {
      const Stop stop = p.run(p.cycles() + 1);
      if (stop != Stop::kLimit || p.instructions() + p.traps() != done) return stop;
    }
  }
  [[nodiscard]] bool same_registers() const { return std::ranges::equal(ibex->x(), hart.x()); }
  [[nodiscard]] bool same_sram() const {
    return std::memcmp(ibex->sram().data(), hart.sram().data(), hart.sram().size()) == 0;
  }

  Registers ibex_bus, hart_bus;
  std::unique_ptr<Processor> ibex;
  Hart hart;
};

/// `handler` at the trap vector, `program` at the reset address.
std::vector<std::byte> image_of(const std::vector<uint32_t>& program, const std::vector<uint32_t>& handler = {0x6f}) {
  std::vector<std::byte> rom(Processor::kResetOffset + 4 * program.size());
  std::memcpy(rom.data(), handler.data(), 4 * handler.size());
  std::memcpy(&rom[Processor::kResetOffset], program.data(), 4 * program.size());
  return rom;
}
constexpr Layout kLayout{.sram_base = kSramBase, .sram_bytes = kSramBytes};

constexpr uint32_t addi(uint32_t rd, uint32_t rs1, uint32_t imm) { return 0x13 | rd << 7 | rs1 << 15 | imm << 20; }
constexpr uint32_t lui(uint32_t rd, uint32_t value) { return 0x37 | rd << 7 | (value & 0xffff'f000); }
constexpr uint32_t load(uint32_t funct3, uint32_t rd, uint32_t rs1, uint32_t imm) {
  return 0x03 | funct3 << 12 | rd << 7 | rs1 << 15 | imm << 20;
}
constexpr uint32_t store(uint32_t funct3, uint32_t rs2, uint32_t rs1, uint32_t imm) {
  return 0x23 | funct3 << 12 | (imm & 31) << 7 | rs1 << 15 | rs2 << 20 | (imm >> 5) << 25;
}
constexpr uint32_t csrrw(uint32_t rd, uint32_t number, uint32_t rs1) {
  return 0x1073 | rd << 7 | rs1 << 15 | number << 20;
}
constexpr uint32_t csrrs(uint32_t rd, uint32_t number, uint32_t rs1) {
  return 0x2073 | rd << 7 | rs1 << 15 | number << 20;
}
constexpr uint32_t kWfi = 0x1050'0073, kEcall = 0x73, kEbreak = 0x0010'0073, kForEver = 0x6f;
constexpr uint32_t kMie = 0x304, kMtvec = 0x305, kMepc = 0x341, kMcause = 0x342, kMtval = 0x343;

uint64_t first_seed() {
  const char* text = std::getenv("WEFT_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

}  // namespace

TEST_CASE("random code leaves the same registers after every instruction, and takes the same cycles") {
  constexpr unsigned kBlocks = 60, kInstructions = 60, kPrograms = 4;
  for (uint64_t seed = first_seed(); seed < first_seed() + kPrograms; seed++) {
    INFO("WEFT_SEED=" << seed);
    const auto program = rv32::test::random_code(seed, kBlocks, kInstructions);
    Pair both({.rom_base = rv32::test::kCodeBase,
               .sram_base = rv32::test::kDataBase,
               .sram_bytes = static_cast<uint32_t>(program.data.size())},
              program.code);
    std::ranges::copy(program.data, both.ibex->sram().begin());
    std::ranges::copy(program.data, both.hart.sram().begin());
    while (both.hart.pc() != program.end) {
      const uint32_t pc = both.hart.pc();
      REQUIRE(Pair::step(both.hart) == Stop::kLimit);
      REQUIRE(Pair::step(*both.ibex) == Stop::kLimit);
      if (both.ibex->pc() == both.hart.pc() && both.same_registers()) continue;
      INFO("behind the instruction at " << std::hex << pc);
      REQUIRE(both.ibex->pc() == both.hart.pc());
      REQUIRE(both.same_registers());
    }
    CHECK(both.hart.instructions() > kBlocks * kInstructions);
    CHECK(both.ibex->instructions() == both.hart.instructions());
    CHECK(both.same_sram());
    CHECK(both.hart.traps() + both.ibex->traps() == 0);
    CHECK(both.ibex->cycles() == both.hart.cycles());
  }
}

TEST_CASE("each kind of instruction takes the same cycles at either half of a word") {
  constexpr uint32_t kNop = 0x0001;  // compressed; one of two halves
  const auto [name, body] = GENERATE(table<std::string, std::vector<uint32_t>>({
      {"operation", {addi(1, 1, 1)}},
      {"compressed operations", {kNop << 16 | kNop}},
      {"load", {load(2, 1, 5, 0)}},
      {"load and use", {load(2, 1, 5, 0), addi(2, 1, 1)}},
      {"store", {store(2, 1, 5, 0)}},
      {"load over two words", {load(2, 1, 5, 2)}},
      {"half over two words", {load(1, 1, 5, 3)}},
      {"store over two words", {store(2, 1, 5, 2)}},
      {"load of a register", {load(2, 1, 6, 0)}},
      {"store to a register", {store(2, 1, 6, 4)}},
      {"jump", {0x0080'006f, addi(1, 1, 1)}},
      {"jump to an odd half", {0x0060'006f, 0x0093'0001, 0x0001'0010}},  // over a c.nop to addi x1, x0, 1; c.nop
      {"branch that is taken", {0x0000'0463, addi(1, 1, 1)}},
      {"branch that is not taken", {0x0000'1463, addi(1, 1, 1)}},
      {"product", {0x0231'00b3}},
      {"high half of a product", {0x0231'10b3}},
      {"division", {0x0273'c0b3}},
      {"division by zero", {0x0203'c0b3}},
      {"remainder by zero", {0x0203'f0b3}},
      {"CSR that is read", {csrrs(1, kMcause, 0)}},
      {"CSR that is written", {csrrw(0, kMepc, 5)}},
      {"mie that is written", {csrrw(0, kMie, 0)}},
      {"mstatus that is written", {csrrw(0, 0x300, 0)}},
      {"fence", {0x0000'000f}},
  }));
  const unsigned halves = GENERATE(1u, 2u);  // of c.nop in front
  INFO(name << " behind " << halves << " c.nop");
  constexpr unsigned kTimes = 50;
  std::vector<uint16_t> code(Processor::kResetOffset / 2);
  const auto put = [&code](uint32_t word) {
    code.push_back(static_cast<uint16_t>(word));
    code.push_back(static_cast<uint16_t>(word >> 16));
  };
  for (const uint32_t word : {lui(5, kSramBase), lui(6, kDevice), addi(7, 0, 77)}) put(word);
  code.insert(code.end(), halves, kNop);
  for (unsigned i = 0; i < kTimes; i++)
    for (const uint32_t word : body) put(word);
  const auto end = static_cast<uint32_t>(2 * code.size());
  code.insert(code.end(), 16, kNop);
  Pair both(kLayout, std::as_bytes(std::span(code)));
  for (Processor* p : {both.ibex.get(), static_cast<Processor*>(&both.hart)}) {
    while (p->pc() != end) REQUIRE(Pair::step(*p) == Stop::kLimit);
    REQUIRE(p->traps() == 0);
    REQUIRE(Pair::step(*p) == Stop::kLimit);  // a delay may show in the next instruction
  }
  CHECK(both.ibex->instructions() == both.hart.instructions());
  CHECK(both.ibex->cycles() == both.hart.cycles());
}

TEST_CASE("exceptions have the same cause, value and address on both") {
  const auto [name, instruction, base] = GENERATE(table<std::string, uint32_t, uint32_t>({
      {"load where nothing is", load(2, 1, 5, 0), 0x3000'0000},
      {"store where nothing is", store(2, 1, 5, 0), 0x3000'0000},
      {"load behind SRAM", load(2, 1, 5, 0), kSramBase + kSramBytes},
      {"byte of a register", load(0, 1, 5, 0), kDevice},
      {"half of a register", store(1, 1, 5, 2), kDevice},
      {"store into the ROM", store(2, 1, 5, 0), 0},
      {"byte store into the ROM", store(0, 1, 5, 3), 0},
      {"jump into SRAM", 0x67 | 5 << 15, kSramBase},
      {"jump behind the ROM", 0x67 | 5 << 15, 0x1000},
      {"environment call", kEcall, 0},
      {"breakpoint", kEbreak, 0},
      {"illegal word", 0xffff'ffff, 0},
      {"illegal CSR", csrrs(1, 0x7ff, 0), 0},
      {"write of a read-only CSR", csrrw(0, 0xf14, 5), 0},
  }));
  INFO(name);
  // The handler writes mcause, mepc and mtval into SRAM.
  const std::vector<uint32_t> handler = {lui(6, kSramBase), csrrs(7, kMcause, 0), store(2, 7, 6, 0), csrrs(7, kMepc, 0),
                                         store(2, 7, 6, 4), csrrs(7, kMtval, 0),  store(2, 7, 6, 8), kForEver};
  Pair both(kLayout, image_of({lui(5, base), addi(1, 0, 0x55), instruction, kForEver}, handler));
  for (Processor* p : {both.ibex.get(), static_cast<Processor*>(&both.hart)})
    while (p->instructions() < 10 + handler.size()) REQUIRE(Pair::step(*p) == Stop::kLimit);
  CHECK(both.ibex->cycles() == both.hart.cycles());
  REQUIRE(both.hart_bus.exceptions.size() == 1);
  CHECK(both.ibex_bus.exceptions == both.hart_bus.exceptions);
  CHECK(both.ibex->traps() == 1);
  CHECK(both.same_registers());
  CHECK(both.same_sram());
}

TEST_CASE("a trap vector that cannot be fetched locks both up, and a reset starts them again") {
  Pair both(kLayout, image_of({lui(5, 0x7000'0000), csrrw(0, kMtvec, 5), 0}));
  for (Processor* p : {both.ibex.get(), static_cast<Processor*>(&both.hart)}) {
    for (int life = 1; life <= 2; life++) {
      REQUIRE(p->run(p->cycles() + 100) == Stop::kLockedUp);
      CHECK(p->pc() == 0x7000'0000);
      p->reset();
      CHECK(p->pc() == Processor::kResetOffset);
    }
    CHECK(p->traps() == 2);
  }
}

TEST_CASE("wfi sleeps without cycles until the interrupt that is enabled, and goes on behind it") {
  Pair both(kLayout, image_of({lui(5, 0x1000), addi(5, 5, 0x800), csrrw(0, kMie, 5), kWfi, addi(6, 6, 1), kForEver}));
  for (Processor* p : {both.ibex.get(), static_cast<Processor*>(&both.hart)}) {
    REQUIRE(p->run(1000) == Stop::kWaiting);
    const uint64_t cycles = p->cycles();
    REQUIRE(p->run(1000) == Stop::kWaiting);
    CHECK(p->cycles() == cycles);
    CHECK(p->x()[6] == 0);
    CHECK(p->pc() == Processor::kResetOffset + 16);
    p->set_external_interrupt(true);
    while (p->x()[6] == 0) REQUIRE(Pair::step(*p) == Stop::kLimit);
    CHECK(p->traps() == 0);  // mstatus.MIE is 0
  }
  CHECK(both.ibex->cycles() == both.hart.cycles());
}

TEST_CASE("a reset clears registers, and leaves SRAM and the counters") {
  Pair both(kLayout, image_of({addi(5, 0, 7), lui(6, kSramBase), store(2, 5, 6, 0), kForEver}));
  REQUIRE(both.ibex->run(50) == Stop::kLimit);
  CHECK(both.ibex->x()[5] == 7);
  const uint64_t cycles = both.ibex->cycles(), instructions = both.ibex->instructions();
  both.ibex->reset();
  CHECK(both.ibex->x()[5] == 0);
  CHECK(both.ibex->sram()[0] == std::byte{7});
  CHECK((both.ibex->cycles() == cycles && both.ibex->instructions() == instructions));
}

}  // namespace weft::ibex
