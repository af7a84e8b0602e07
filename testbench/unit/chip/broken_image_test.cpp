// The firmware's own image with a function that is broken: each ends as a failure with a name and a backtrace, and the
// device works again after its reset. On each processor that the build has.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "model/chip/manager.hpp"
#include "model/ibex/ibex.hpp"
#include "testbench/unit/chip/image_crc.hpp"
#include "testbench/unit/chip/image_host.hpp"
#include "testbench/unit/chip/own_process.hpp"
#include "weft/spec/names.hpp"

using namespace weft;

namespace {

constexpr uint64_t kIbexWatchdogCycles = 100'000;
constexpr const char* kBroken = "weft::fw::(anonymous namespace)::start_piece";  // runs when a queue fills or copies

/// The embedded image with other instructions at the beginning of a function.
class BrokenImage {
 public:
  explicit BrokenImage(const std::vector<uint32_t>& code) : image_(*fw::embedded_image()) {
    rom_.assign(image_.rom.begin(), image_.rom.end());
    for (const fw::ImageFunction& function : image_.functions)
      if (std::string_view(function.name).starts_with(kBroken)) address_ = function.address;
    REQUIRE(address_ != 0);
    std::memcpy(&rom_[address_], code.data(), 4 * code.size());
    image_.rom = rom_;
    image_.crc = test::image_crc(rom_);
  }
  fw::Image* operator&() { return &image_; }

 private:
  fw::Image image_;
  std::vector<std::byte> rom_;
  uint32_t address_ = 0;
};

std::string state_of(test::ImageHost& host) {
  return fmt::format(
      "{} {}", host.device_state() == WEFT_DEVICE_STATE_FAILED ? "failed" : "not failed",
      spec::error_name(static_cast<uint32_t>(test::read_register(host.function(), WEFT_REG_FIRST_ERROR))));
}

}  // namespace

TEST_CASE("a broken function of the image fails the device by name, and a reset makes it work again") {
  const auto [what, code, first_error,
              report] = GENERATE(table<std::string, std::vector<uint32_t>, std::string, std::string>({
      {"an illegal instruction", {0xffff'ffff}, "FIRMWARE_PANIC", "illegal instruction (mtval 0xffffffff) in cycle "},
      {"a store outside of SRAM",
       {0x3000'02b7, 0x0002'a023},  // lui t0, 0x30000; sw zero, 0(t0)
       "FIRMWARE_PANIC",
       "store access fault (mtval 0x30000000) in cycle "},
      {"a store into the ROM", {0x0000'2023}, "FIRMWARE_PANIC", "store access fault (mtval 0x0) in cycle "},
      {"a load from nowhere", {0xff00'2283}, "FIRMWARE_PANIC", "load access fault (mtval 0xfffffff0) in cycle "},
      {"a jump to nowhere",
       {0x2000'02b7, 0x0002'8067},  // into SRAM
       "FIRMWARE_PANIC",
       "instruction access fault (mtval 0x20000000) in cycle "},
      {"a register that is not aligned",
       {0x4004'02b7, 0x0022'a303},  // lui t0, 0x40040; lw t1, 2(t0)
       "FIRMWARE_PANIC",
       "load access fault (mtval 0x40040002) in cycle "},
      {"a breakpoint", {0x0010'0073}, "FIRMWARE_PANIC", "breakpoint (mtval 0x0) in cycle "},
      {"an environment call", {0x0000'0073}, "FIRMWARE_PANIC", "environment call (mtval 0x0) in cycle "},
      {"recursion without end",
       // addi sp, sp, -16; sw ra, 0(sp); sw ra, 4(sp); sw ra, 8(sp); sw ra, 12(sp); jal ra, -20
       {0xff01'0113, 0x0011'2023, 0x0011'2223, 0x0011'2423, 0x0011'2623, 0xfedf'f0ef},
       "FIRMWARE_PANIC",
       "store access fault (mtval 0x1ffff"},
      {"a stack that is nowhere",
       {0x7000'0137, 0x0001'2023},  // lui sp, 0x70000; sw zero, 0(sp)
       "FIRMWARE_PANIC",
       "store access fault (mtval 0x70000000) in cycle "},
      {"an endless loop", {0x0000'006f}, "DEVICE_HUNG", "halted: it stays awake without a heartbeat in cycle "},
  }));
  const bool on_ibex = GENERATE(false, true);
  if (on_ibex && !ibex::is_built()) return;
  INFO(what << (on_ibex ? " on Ibex" : " on the simulator"));
  BrokenImage image(code);
  const std::string told = test::in_own_process([&, &what = what, &first_error = first_error, &report = report] {
    test::ImageHost host(&image, "v5e-1mxu", 1, on_ibex ? chip::MakeProcessor(ibex::make) : chip::MakeProcessor());
    if (!host.error.empty()) return host.error;
    for (int life = 0; life < 2; life++) {
      host.traps.clear();
      host.boot();
      if (host.device_state() != WEFT_DEVICE_STATE_READY) return fmt::format("life {}: no boot", life);
      if (host.create_queue() != WEFT_ERROR_OK) return fmt::format("life {}: no queue", life);
      if (host.load({0}) != WEFT_ERROR_OK || host.launch(0) != WEFT_ERROR_OK)
        return fmt::format("life {}: no launch", life);
      if (!host.traps.empty()) return host.traps.front();
      // The default is 2,000,000 cycles, each of which Ibex computes.
      if (on_ibex) test::write_register(host.function(), WEFT_REG_FIRMWARE_WATCHDOG, kIbexWatchdogCycles);
      (void)host.fill();
      if (state_of(host) != "failed " + first_error) return fmt::format("life {}: {}", life, state_of(host));
      if (host.traps.empty()) return fmt::format("life {}: nothing is reported", life);
      const std::string& text = host.traps.front();
      if (!text.starts_with(report)) return text;
      // where it stood, and who called
      if (report.find("instruction access") == std::string::npos && text.find(kBroken) == std::string::npos)
        return text;
      if (text.find("\n  from ") == std::string::npos) return text;
      // a stack that is lost, or full of one function, does not tell who came first
      if (what.find("stack") == std::string::npos && what.find("recursion") == std::string::npos &&
          text.find("weft_main") == std::string::npos)
        return text;
      if (text.find("\n  zero 00000000  ra ") == std::string::npos) return text;
      if (host.traps.size() != 1) return fmt::format("{} reports, the second: {}", host.traps.size(), host.traps[1]);
      test::write_register(host.function(), WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
      host.simulation->run_until_idle();
      host.forget();
    }
    return std::string("named, and reset");
  });
  CHECK(told == "named, and reset");
}

TEST_CASE("an image without an instruction, which traps for ever, is reported a few times and halted") {
  fw::Image image = *fw::embedded_image();
  const std::vector<std::byte> rom(256);
  image.rom = rom;
  image.crc = test::image_crc(rom);
  const std::string told = test::in_own_process([&] {
    test::ImageHost host(&image, "nano", 1);
    if (!host.error.empty()) return host.error;
    host.boot();
    if (state_of(host) != "failed DEVICE_HUNG") return state_of(host);
    if (host.traps.size() != chip::Manager::kReportedTraps) return fmt::format("{} reports", host.traps.size());
    return host.traps.back().substr(0, std::strlen("illegal instruction (mtval 0x0) in cycle "));
  });
  CHECK(told == "illegal instruction (mtval 0x0) in cycle ");
}

TEST_CASE("the image with bits flipped never ends the simulator, and a device that fails tells where it stood") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, 25));
  const bool on_ibex = seed % 4 == 0 && ibex::is_built();
  INFO("seed " << seed << (on_ibex ? " on Ibex" : " on the simulator"));
  std::mt19937_64 random(seed);
  fw::Image image = *fw::embedded_image();
  std::vector<std::byte> rom(image.rom.begin(), image.rom.end());
  for (uint64_t flips = 1 + seed % 8; flips > 0; flips--)
    rom[random() % rom.size()] ^= static_cast<std::byte>(1u << random() % 8);
  image.rom = rom;
  image.crc = test::image_crc(rom);
  const std::string told = test::in_own_process([&] {
    test::ImageHost host(&image, "nano", 1, on_ibex ? chip::MakeProcessor(ibex::make) : chip::MakeProcessor());
    if (!host.error.empty()) return host.error;
    for (int life = 0; life < 2; life++) {
      host.boot();
      if (host.device_state() == WEFT_DEVICE_STATE_READY && host.create_queue() == WEFT_ERROR_OK &&
          host.load({0}) == WEFT_ERROR_OK)
        for (int i = 0; i < 4; i++) {
          (void)host.launch(0);
          (void)host.fill();
        }
      if (host.device_state() == WEFT_DEVICE_STATE_FAILED) {
        const uint64_t error = test::read_register(host.function(), WEFT_REG_FIRST_ERROR);
        if (error == WEFT_ERROR_OK) return std::string("failed without an error");
        // any other error is one that the firmware itself found while it booted
        if (error == WEFT_ERROR_FIRMWARE_PANIC || error == WEFT_ERROR_DEVICE_HUNG) {
          if (host.traps.empty()) return fmt::format("failed with {} without a report", error);
          const std::string& text = host.traps.front();
          if (text.find(" in cycle ") == std::string::npos || text.find("\n  at 0x") == std::string::npos ||
              text.find("\n  zero 00000000  ra ") == std::string::npos)
            return text;
        }
      }
      if (host.traps.size() > chip::Manager::kReportedTraps + 1) return fmt::format("{} reports", host.traps.size());
      host.traps.clear();
      test::write_register(host.function(), WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
      host.simulation->run_until_idle();
      host.forget();
    }
    return std::string("alive");
  });
  CHECK(told == "alive");
}
