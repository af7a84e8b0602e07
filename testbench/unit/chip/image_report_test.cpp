// Images that are refused, and what is told of processors that stand anywhere.
#include "model/chip/image_report.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "firmware/bare/registers.hpp"
#include "firmware/state.hpp"
#include "model/rv32/hart.hpp"
#include "testbench/unit/chip/image_crc.hpp"

using namespace weft;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr size_t kReset = rv32::Processor::kResetOffset;
constexpr rv32::Layout kLayout{.sram_base = fw::bare::kSramBase, .sram_bytes = fw::bare::kSramBytes};

/// A ROM with any words behind the vectors.
struct AnyImage {
  explicit AnyImage(size_t words = 60, uint64_t seed = 11) : rom(kReset + 4 * words) {
    std::mt19937_64 random(seed);
    for (size_t at = kReset; at < rom.size(); at += 4) {
      const auto word = static_cast<uint32_t>(random());
      std::memcpy(&rom[at], &word, sizeof word);
    }
    seal();
  }
  void seal() { image = {rom, fw::bare::kStateBase, sizeof(fw::State), test::image_crc(rom), functions}; }

  std::vector<std::byte> rom;
  fw::ImageFunction functions[2] = {{0, "the_handler"}, {kReset, "the_program"}};
  fw::Image image;
};

class NoBus final : public rv32::Bus {
 public:
  bool load(uint32_t, unsigned, uint32_t&) override { return false; }
  bool store(uint32_t, unsigned, uint32_t) override { return false; }
};

}  // namespace

TEST_CASE("images that do not fit the processor are refused by name") {
  AnyImage any;
  REQUIRE(chip::image_error(any.image).empty());
  std::string why = "bytes of state at";
  SECTION("none") {
    any.image.rom = {};
    why = "has 0 bytes; a ROM of 65536 bytes holds more than 128";
  }
  SECTION("nothing but vectors") {
    any.image.rom = any.image.rom.first(kReset);
    why = "has 128 bytes; a ROM of 65536 bytes holds more than 128";
  }
  SECTION("one byte too large") {
    any.rom.resize(64 * 1024 + 1);
    any.seal();
    why = "has 65537 bytes; a ROM of 65536 bytes";
  }
  SECTION("a State of another build") { any.image.state_bytes -= 8; }
  SECTION("a State in another place") { any.image.state_address += 16; }
  SECTION("a State beside SRAM") { any.image.state_address = 0xffff'fff0; }
  SECTION("another checksum") {
    any.image.crc ^= 1;
    why = "its bytes have";
  }
  CHECK_THAT(chip::image_error(any.image), StartsWith("the firmware's image has ") && Contains(why));
}

TEST_CASE("the largest image that a ROM holds is taken") {
  AnyImage any;
  any.rom.resize(64 * 1024);
  any.seal();
  CHECK(chip::image_error(any.image).empty());
}

TEST_CASE("an image that is cut off anywhere is refused by name") {
  AnyImage any;
  for (size_t bytes = 0; bytes < any.rom.size(); bytes++) {
    INFO(bytes << " bytes of " << any.rom.size());
    any.image.rom = std::span<const std::byte>(any.rom).first(bytes);
    CHECK_THAT(chip::image_error(any.image), StartsWith("the firmware's image has "));
  }
}

TEST_CASE("an image with any bit flipped is refused by its checksum") {
  AnyImage any;
  for (size_t bit = 0; bit < 8 * any.rom.size(); bit++) {
    any.rom[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    INFO("bit " << bit);
    CHECK_THAT(chip::image_error(any.image), Contains("checksum"));
    any.rom[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
}

TEST_CASE("a program counter is told by function, or as it is outside of all") {
  AnyImage any;
  CHECK(chip::image_place(any.image, 0x84) == "0x00084 the_program+0x4");
  CHECK(chip::image_place(any.image, 0x7f) == "0x0007f the_handler+0x7f");
  CHECK(chip::image_place(any.image, 0x2000'0000) == "0x20000000");
  any.image.functions = {};
  CHECK(chip::image_place(any.image, 0x84) == "0x00000084");
}

TEST_CASE("a backtrace has the return addresses of the stack, also of one that has overflowed") {
  // jal ra at 0x80 and 0x84: return addresses 0x84 and 0x88
  AnyImage any;
  const uint32_t calls[] = {0x0080'00ef, 0x0040'00ef};
  std::memcpy(&any.rom[kReset], calls, sizeof calls);
  any.seal();
  NoBus bus;
  rv32::Hart hart(kLayout, any.rom, bus);
  const auto put = [&](uint32_t offset, uint32_t word) { std::memcpy(&hart.sram()[offset], &word, sizeof word); };
  hart.x()[1] = 0x84;
  hart.x()[2] = fw::bare::kStateBase - 16;
  put(fw::bare::kStackBytes - 8, 0x88);
  put(fw::bare::kStackBytes - 4, 0x86);  // behind no call
  put(fw::bare::kStackBytes, 0x84);      // State
  CHECK(chip::image_backtrace(any.image, hart) ==
        "0x00080 the_program+0x0\n  from 0x00084 the_program+0x4\n  from 0x00088 the_program+0x8");
  hart.x()[1] = 0;
  hart.x()[2] = fw::bare::kSramBase - 12;
  put(4, 0x84);
  CHECK(chip::image_backtrace(any.image, hart) ==
        "0x00080 the_program+0x0\n  from 0x00084 the_program+0x4\n  from 0x00088 the_program+0x8");
  for (const uint32_t nowhere : {0u, 0x7000'0000u, 0xffff'fffcu, uint32_t{fw::bare::kStateBase}}) {
    hart.x()[2] = nowhere;
    CHECK(chip::image_backtrace(any.image, hart) == "0x00080 the_program+0x0");
  }
}

TEST_CASE("registers are told with their names") {
  AnyImage any;
  NoBus bus;
  rv32::Hart hart(kLayout, any.rom, bus);
  hart.x()[2] = 0x2000'3ff0;
  hart.x()[31] = 7;
  const std::string text = chip::register_lines(hart);
  CHECK_THAT(text, StartsWith("\n  zero 00000000  ra 00000000  sp 20003ff0  gp 00000000"));
  CHECK_THAT(text, Contains("  t6 00000007"));
}
