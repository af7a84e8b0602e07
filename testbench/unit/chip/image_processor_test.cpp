// Images that the manager's processor runs: made by hand, refused, broken, random. The firmware's own image runs in the
// system tests (testbench/system, WEFT_MANAGER=rv32).
#include "model/chip/image_processor.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "firmware/bare/registers.hpp"
#include "firmware/state.hpp"
#include "testbench/unit/chip/image_crc.hpp"
#include "testbench/unit/chip/own_process.hpp"
#include "testbench/unit/chip/stand_in_firmware.hpp"

using namespace weft;
using test::in_own_process;

namespace {

constexpr uint32_t kWfi = 0x1050'0073, kForEver = 0x0000'006f;
constexpr uint32_t addi(uint32_t rd, uint32_t rs1, uint32_t imm) {
  return 0x13 | rd << 7 | rs1 << 15 | (imm & 0xfff) << 20;
}
constexpr uint32_t lui(uint32_t rd, uint32_t value) { return 0x37 | rd << 7 | (value & 0xffff'f000); }
constexpr uint32_t lw(uint32_t rd, uint32_t rs1, uint32_t imm) {
  return 0x2003 | rd << 7 | rs1 << 15 | (imm & 0xfff) << 20;
}
constexpr uint32_t lb(uint32_t rd, uint32_t rs1, uint32_t imm) {
  return 0x0003 | rd << 7 | rs1 << 15 | (imm & 0xfff) << 20;
}
constexpr uint32_t sw(uint32_t rs2, uint32_t rs1, uint32_t imm) {
  return 0x2023 | (imm & 31) << 7 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7f) << 25;
}

/// A ROM with a program at the reset vector; its exceptions go to `handler`.
class TestImage {
 public:
  explicit TestImage(const std::vector<uint32_t>& program, const std::vector<uint32_t>& handler = {kWfi, 0xffdf'f06f})
      : rom_(rv32::Processor::kResetOffset + 4 * program.size()) {
    std::memcpy(rom_.data(), handler.data(), 4 * handler.size());
    std::memcpy(&rom_[rv32::Processor::kResetOffset], program.data(), 4 * program.size());
    image_ = {rom_, fw::bare::kStateBase, sizeof(fw::State), test::image_crc(rom_), functions_};
  }
  fw::Image* operator&() { return &image_; }

 private:
  std::vector<std::byte> rom_;
  fw::ImageFunction functions_[2] = {{0, "the_handler"}, {rv32::Processor::kResetOffset, "the_program"}};
  fw::Image image_{};
};

/// A chip that runs the image; what it traps for.
struct Run {
  explicit Run(const fw::Image* image) {
    chip::ChipOptions options = test::chip_options();
    options.firmware = image;
    options.report_firmware = [this](const std::string& report) { traps.push_back(report); };
    simulation = chip::Simulation::make(options, error);
  }
  std::vector<std::string> traps;
  std::string error;
  std::unique_ptr<chip::Simulation> simulation;
};

}  // namespace

TEST_CASE("a chip whose image does not fit the processor is not made, and says why") {
  TestImage image({kForEver});
  (&image)->state_bytes -= 8;
  CHECK(in_own_process([&] { return Run(&image).error; }).find("the firmware's image has") == 0);
}

TEST_CASE("an image reaches function registers as two words with the low one first") {
  // BOOT_STAGE = 5 | 7 << 32: function registers at kFunction
  TestImage image({lui(5, fw::bare::kFunction), addi(6, 0, 5), addi(7, 0, 7), sw(6, 5, WEFT_REG_BOOT_STAGE),
                   sw(7, 5, WEFT_REG_BOOT_STAGE + 4), kWfi, kForEver});
  const Run run(&image);
  REQUIRE(run.simulation != nullptr);
  CHECK(run.traps.empty());
  CHECK(test::read_register(run.simulation->function(), WEFT_REG_BOOT_STAGE) == 5);
}

TEST_CASE("an access where nothing is traps with function and address in its report") {
  const auto [name, instruction, base] = GENERATE(table<std::string, uint32_t, uint32_t>(
      {{"load access fault (mtval 0x30000000)", lw(1, 5, 0), 0x3000'0000},
       {"store access fault (mtval 0x30000000)", sw(1, 5, 0), 0x3000'0000},
       {"load access fault (mtval 0x40040000)", lb(1, 5, 0), 0x4004'0000},     // a byte of a register
       {"load access fault (mtval 0x40040010)", lw(1, 5, 0x10), 0x4004'0000},  // kRaise can be written only
       {"store access fault (mtval 0x40040004)", sw(5, 5, 4), 0x4004'0000},    // no such function for the core
       {"load access fault (mtval 0x41110000)", lw(1, 5, 0), 0x4111'0000},     // behind the last function
       {"store access fault (mtval 0x40)", sw(0, 0, 0x40), 0}}));              // ROM
  TestImage image({lui(5, base), instruction, kForEver});
  const std::string report = in_own_process([&] {
    const Run run(&image);
    return run.traps.size() == 1 ? run.traps.front() : std::to_string(run.traps.size()) + " traps";
  });
  INFO(report);
  CHECK(report.find(name) == 0);
  CHECK(report.find("the_program+0x4") != std::string::npos);
}

TEST_CASE("a DMA whose memory side leaves SRAM is a bus error") {
  // DMA of 4096 bytes into SRAM's last word; the status goes to BOOT_STAGE.
  TestImage image({lui(5, fw::bare::kManager), lui(6, fw::bare::kSramBase + fw::bare::kSramBytes), addi(6, 6, -4),
                   sw(6, 5, fw::bare::kDmaSram), lui(7, 0x1'1000), addi(7, 7, 0), sw(7, 5, fw::bare::kDmaControl),
                   lw(8, 5, fw::bare::kDmaStatus), lui(9, fw::bare::kFunction), sw(8, 9, WEFT_REG_BOOT_STAGE),
                   sw(0, 9, WEFT_REG_BOOT_STAGE + 4), kWfi, kForEver});
  const Run run(&image);
  REQUIRE(run.simulation != nullptr);
  CHECK(test::read_register(run.simulation->function(), WEFT_REG_BOOT_STAGE) == 2);
}

TEST_CASE("a processor that locks up is a failed device until its reset") {
  TestImage locked({lui(5, 0x7000'0000), 0x3052'9073 /* csrw mtvec, x5 */, 0});
  Run run(&locked);
  REQUIRE(run.simulation != nullptr);
  chip::Function& function = run.simulation->function();
  CHECK(test::read_register(function, WEFT_REG_DEVICE_STATE) == WEFT_DEVICE_STATE_FAILED);
  CHECK(test::read_register(function, WEFT_REG_FIRST_ERROR) == WEFT_ERROR_DEVICE_HUNG);
  const size_t traps = run.traps.size();
  CHECK(traps == 1);
  test::write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
  run.simulation->run_until_idle();
  CHECK(run.traps.size() == 2 * traps);  // it has started again
}

TEST_CASE("an image that fails every function is reported once with where it stood") {
  const uint32_t all = fw::bare::kFunction + WEFT_LIMIT_FUNCTIONS * fw::bare::kFunctionStride;
  TestImage image({lui(5, all), addi(6, 0, WEFT_DEVICE_STATE_FAILED), sw(6, 5, WEFT_REG_DEVICE_STATE),
                   sw(0, 5, WEFT_REG_DEVICE_STATE + 4), sw(6, 5, WEFT_REG_DEVICE_STATE),
                   sw(0, 5, WEFT_REG_DEVICE_STATE + 4), kWfi, kForEver});
  const Run run(&image);
  REQUIRE(run.simulation != nullptr);
  REQUIRE(run.traps.size() == 1);
  INFO(run.traps.front());
  CHECK(run.traps.front().find("panicked in cycle ") == 0);
  CHECK(run.traps.front().find("waypoint reset\n  at 0x0008c the_program+0xc") != std::string::npos);
}

TEST_CASE("an image without a heartbeat is reported when its watchdog halts it") {
  TestImage image({lui(5, fw::bare::kFunction), addi(6, 0, WEFT_DEVICE_STATE_BOOTING), sw(6, 5, WEFT_REG_DEVICE_STATE),
                   sw(0, 5, WEFT_REG_DEVICE_STATE + 4), kForEver});
  const Run run(&image);
  REQUIRE(run.simulation != nullptr);
  run.simulation->run_until_idle();
  REQUIRE(run.traps.size() == 1);
  INFO(run.traps.front());
  CHECK(run.traps.front().find("halted: it stays awake without a heartbeat in cycle ") == 0);
  CHECK(run.traps.front().find("the_program+0x10") != std::string::npos);
}

TEST_CASE("an image that never comes to its first sleep is halted by name, and again after its reset") {
  TestImage image({kForEver});
  const std::string told = in_own_process([&] {
    Run run(&image);
    for (int life = 0; life < 2; life++) {
      if (run.traps.size() != 1) return fmt::format("{} reports in life {}", run.traps.size(), life);
      const std::string text = std::exchange(run.traps, {}).front();
      if (!text.starts_with("halted: it stays awake without a heartbeat in cycle ")) return text;
      if (text.find("waypoint reset\n  at 0x00080 the_program+0x0\n") == std::string::npos) return text;
      chip::Function& function = run.simulation->function();
      if (test::read_register(function, WEFT_REG_DEVICE_STATE) != WEFT_DEVICE_STATE_FAILED)
        return std::string("no failure");
      if (test::read_register(function, WEFT_REG_FIRST_ERROR) != WEFT_ERROR_DEVICE_HUNG) return std::string("no error");
      test::write_register(function, WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
      run.simulation->run_until_idle();
    }
    return std::string("halted twice");
  });
  CHECK(told == "halted twice");
}

TEST_CASE("no random image ends the simulator") {
  const uint64_t seed = GENERATE(range<uint64_t>(1, 40));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<uint32_t> program(2000);
  for (uint32_t& word : program) {
    constexpr uint32_t kOpcodes[] = {0x37, 0x17, 0x6f, 0x67, 0x63, 0x03, 0x23, 0x13, 0x33, 0x73};
    word = static_cast<uint32_t>(random());
    if (random() % 4 != 0) word = (word & ~0x7fu) | kOpcodes[random() % std::size(kOpcodes)];
    if (random() % 16 == 0) word = lui(1 + random() % 31, 0x4000'0000 + (random() % 0x120) * 0x1'0000);
  }
  TestImage image(program);
  CHECK(in_own_process([&] {
          Run run(&image);
          for (int lives = 0; lives < 2; lives++) {
            for (int i = 0; i < 20 && run.simulation->pending(); i++) run.simulation->run_for(10'000);
            test::write_register(run.simulation->function(), WEFT_REG_RESET_CONTROL, WEFT_RESET_KEY);
          }
          return std::string("alive");
        }) == "alive");
}
