/// Instructions a second of the manager's processor: idle passes of the firmware's image, with registers that answer at
/// once and no chip around them. One core of the host.
///
///   hart_speed [--seconds S] [--json]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <nlohmann/json.hpp>

#include "firmware/bare/registers.hpp"
#include "firmware/image.hpp"
#include "model/rv32/hart.hpp"

namespace {

using namespace weft;

/// A chip of one function on which nothing happens.
class IdleRegisters final : public rv32::Bus {
 public:
  bool load(uint32_t address, unsigned, uint32_t& value) override {
    using namespace fw::bare;
    accesses++;
    const uint32_t offset = address - static_cast<uint32_t>(kManager);
    value = offset == kRunning || offset == kFunctions ? 1 : offset == kHbmBytes ? 1u << 24 : 0;
    if (offset == kEvent) hart->set_external_interrupt(false);
    return true;
  }
  bool store(uint32_t, unsigned, uint32_t) override {
    accesses++;
    return true;
  }
  rv32::Hart* hart = nullptr;
  uint64_t accesses = 0;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Instructions a second of the manager's processor, on idle passes of the firmware's image."};
  double seconds = 1;
  bool json = false;
  app.add_option("--seconds", seconds, "of processor time to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 60.0));
  app.add_flag("--json", json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  const fw::Image* image = fw::embedded_image();
  if (image == nullptr) {
    fmt::print(stderr, "hart_speed: this build has no image of the firmware\n");
    return 1;
  }
  IdleRegisters registers;
  rv32::Hart hart({.sram_base = fw::bare::kSramBase, .sram_bytes = fw::bare::kSramBytes}, image->rom, registers);
  registers.hart = &hart;
  const std::clock_t begin = std::clock();  // of this process, whatever else the host does
  uint64_t passes = 0;
  double taken = 0;
  while (taken < seconds) {
    for (int i = 0; i < 1000; i++) {
      if (hart.run(hart.cycles() + 1'000'000) != rv32::Stop::kWaiting || hart.traps() != 0) {
        fmt::print(stderr, "hart_speed: the firmware does not sleep: pc {:#x}, {} traps\n", hart.pc(), hart.traps());
        return 1;
      }
      hart.set_external_interrupt(true);
      passes++;
    }
    taken = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  const double rate = static_cast<double>(hart.instructions()) / taken;
  if (json) {
    const nlohmann::ordered_json out = {{"instructions", hart.instructions()},
                                        {"passes", passes},
                                        {"accesses", registers.accesses},
                                        {"seconds", taken},
                                        {"instructions_per_second", rate}};
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{:.0f} M instructions a second: {} passes of {:.0f} instructions, {:.0f} accesses of registers each\n",
               rate / 1e6, passes, static_cast<double>(hart.instructions()) / static_cast<double>(passes),
               static_cast<double>(registers.accesses) / static_cast<double>(passes));
  }
  return 0;
}
