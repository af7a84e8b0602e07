// Images of the firmware, of any bytes: refused by name, or run; registers of the manager answer anything.
#include <algorithm>
#include <vector>

#include "firmware/bare/registers.hpp"
#include "firmware/image.hpp"
#include "firmware/state.hpp"
#include "model/chip/image_report.hpp"
#include "model/rv32/hart.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/unit/chip/image_crc.hpp"

using namespace weft;

namespace {

constexpr uint64_t kCycles = 20'000, kStride = 1'000;  // of the processor: of one input, between two looks at it

/// Answers with what is left of a stream of numbers; now and then nothing answers.
class AnyRegisters final : public rv32::Bus {
 public:
  explicit AnyRegisters(uint64_t seed) : random_(seed | 1) {}
  bool load(uint32_t address, unsigned bytes, uint32_t& value) override {
    fuzz::require(bytes == 1 || bytes == 2 || bytes == 4, "an access has 1, 2 or 4 bytes");
    fuzz::require(address % bytes == 0, "an access is aligned");
    value = next() >> (32 - 8 * bytes);
    return next() % 64 != 0;
  }
  bool store(uint32_t address, unsigned bytes, uint32_t) override {
    fuzz::require(address % bytes == 0, "an access is aligned");
    return next() % 64 != 0;
  }
  void exception(rv32::Cause cause, uint32_t) override {
    fuzz::require(std::string_view(rv32::cause_name(cause)) != "unknown exception", "an exception has a name");
  }

 private:
  uint32_t next() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<uint32_t>(random_ >> 16);
  }
  uint64_t random_;
};

void told(const fw::Image& image, const rv32::Hart& hart) {
  const std::string text = chip::image_backtrace(image, hart);
  fuzz::require(text.starts_with("0x"), "a backtrace begins with a place");
  fuzz::require(std::ranges::count(text, '\n') <= 16, "a backtrace ends");
  fuzz::require(chip::register_lines(hart).ends_with("t6 " + std::string(8, '0')) || hart.x()[31] != 0,
                "registers are told to the last");
}

void run(const fw::Image& image, uint64_t seed) {
  AnyRegisters registers(seed);
  rv32::Hart hart({.sram_base = fw::bare::kSramBase, .sram_bytes = fw::bare::kSramBytes}, image.rom, registers);
  for (uint64_t limit = kStride; limit <= kCycles; limit += kStride) {
    const uint64_t before = hart.cycles();
    switch (hart.run(limit)) {
      case rv32::Stop::kLimit:
        fuzz::require(hart.cycles() >= limit, "a run ends at its limit");
        break;
      case rv32::Stop::kWaiting:
        hart.set_external_interrupt(true);
        break;
      case rv32::Stop::kLockedUp:
        told(image, hart);
        hart.reset();
        break;
    }
    fuzz::require(hart.cycles() >= before, "cycles never go back");
    hart.set_external_interrupt(seed >> (limit / kStride) & 1);
    told(image, hart);
  }
}

}  // namespace

/// Layout: how u8 (bit 0: the embedded image, changed; bit 1: a wrong checksum; bit 2: State of another build), seed of
/// the registers u64, bytes that are cut off u16. Then, of the embedded image: changes, each an offset u16 and a word u32;
/// else the image.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto how = input.take<uint8_t>();
  const auto seed = input.take<uint64_t>();
  const auto cut = input.take<uint16_t>();
  const fw::Image* embedded = fw::embedded_image();
  std::vector<std::byte> rom;
  if ((how & 1) != 0 && embedded != nullptr) {
    rom.assign(embedded->rom.begin(), embedded->rom.end());
    while (!input.empty()) {
      const size_t offset = input.take<uint16_t>() % (rom.size() - sizeof(uint32_t));
      const auto word = input.take<uint32_t>();
      std::memcpy(&rom[offset], &word, sizeof word);
    }
  } else {
    const auto rest = std::as_bytes(input.take_rest());
    rom.assign(rest.begin(), rest.end());
  }
  rom.resize(rom.size() - std::min<size_t>(cut, rom.size()));
  fw::Image image{rom, fw::bare::kStateBase, sizeof(fw::State), test::image_crc(rom), {}};
  if (embedded != nullptr) image.functions = embedded->functions;
  if ((how & 2) != 0) image.crc += 1;
  if ((how & 4) != 0) image.state_bytes += 8;
  const std::string error = chip::image_error(image);
  const bool good = (how & 6) == 0 && rom.size() > rv32::Processor::kResetOffset && rom.size() <= 64 * 1024;
  fuzz::require(error.empty() == good, "an image is taken if it fits, and only then");
  if (error.empty())
    run(image, seed);
  else
    fuzz::require(error.starts_with("the firmware's image has "), "a refusal names the image");
  return 0;
}
