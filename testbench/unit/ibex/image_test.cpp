// The firmware's image on Ibex's RTL in a chip: the simulator in lockstep, and both on their own.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <iostream>
#include <sstream>

#include "model/ibex/ibex.hpp"
#include "testbench/unit/chip/image_host.hpp"
#include "testbench/unit/chip/own_process.hpp"
#include "testbench/unit/ibex/tape.hpp"

using namespace weft;

namespace {

constexpr std::array<uint32_t, 6> kLaunched{0, 1, 2, 0, 1, 2};  // kernels

/// Boot, a queue, a program of three kernels, each with four commands. What differs from success.
std::string prepare(test::ImageHost& host) {
  if (!host.error.empty()) return host.error;
  host.boot();
  if (host.device_state() != WEFT_DEVICE_STATE_READY) return "no boot";
  if (host.create_queue() != WEFT_ERROR_OK) return "no queue";
  return host.load({0, 8, 2}, 4) == WEFT_ERROR_OK ? "" : "no program";
}

/// The same, launches, and a fill, which overwrites the program.
std::string work(test::ImageHost& host) {
  if (std::string wrong = prepare(host); !wrong.empty()) return wrong;
  for (const uint32_t kernel : {0u, 1u, 2u, 0u, 1u, 2u, 0u, 1u})
    if (host.launch(kernel) != WEFT_ERROR_OK) return fmt::format("no launch of kernel {}", kernel);
  if (host.fill() != WEFT_ERROR_OK) return "no fill";
  return host.traps.empty() ? "" : host.traps.front();
}

/// The layout that the chip gave, and the processor that it runs.
struct Watched {
  rv32::Layout layout;
  std::vector<std::byte> rom;
  std::unique_ptr<ibex::test::Recorder> recorder;
  rv32::Processor* ibex = nullptr;

  chip::MakeProcessor maker() {
    return [this](const rv32::Layout& given, std::span<const std::byte> image, rv32::Bus& bus) {
      layout = given;
      rom.assign(image.begin(), image.end());
      recorder = std::make_unique<ibex::test::Recorder>(bus);
      auto made = ibex::make(given, image, *recorder);
      ibex = made.get();
      recorder->watch(*made);
      return made;
    };
  }
};

/// Cycles and instructions of launches of the image on such a processor, one line each, from a process of their own.
std::string launches(const chip::MakeProcessor& make_processor) {
  return test::in_own_process([&] {
    test::ImageHost host(fw::embedded_image(), "v5e-1mxu", 1, make_processor);
    if (std::string wrong = prepare(host); !wrong.empty()) return wrong;
    std::string lines;
    for (const uint32_t kernel : kLaunched) {
      const uint64_t begin = host.manager().processor()->processor().cycles();
      if (host.launch(kernel) != WEFT_ERROR_OK) return std::string("no launch");
      lines += fmt::format("{} {}\n", host.manager().processor()->processor().cycles() - begin, host.taken);
    }
    return lines;
  });
}

}  // namespace

TEST_CASE("the simulator that is fed with Ibex's loads and wake-ups does the same to registers and SRAM") {
  Watched watched;
  test::ImageHost host(fw::embedded_image(), "v5e-1mxu", 1, watched.maker());
  REQUIRE(work(host) == "");
  const rv32::Processor& ibex = *watched.ibex;
  std::vector<ibex::test::Access>& tape = watched.recorder->tape;
  REQUIRE(tape.size() > 1000);
  {
    ibex::test::Player player(tape);
    rv32::Hart hart(watched.layout, watched.rom, player);
    CHECK(player.play(hart) == "");
    CHECK(player.wakes > 5);
    CHECK(hart.instructions() == ibex.instructions());
    CHECK(hart.cycles() == ibex.cycles());
    CHECK(std::ranges::equal(hart.x(), ibex.x()));
    CHECK(hart.pc() == ibex.pc());
    REQUIRE(hart.sram().size() == ibex.sram().size());
    CHECK(std::memcmp(hart.sram().data(), ibex.sram().data(), ibex.sram().size()) == 0);
    std::cout << "  " << tape.size() << " accesses, " << player.wakes << " wake-ups, " << ibex.instructions()
              << " instructions, " << ibex.cycles() << " cycles\n";
  }
  const auto last_store = std::find_if(tape.rbegin(), tape.rend(), [](const auto& access) { return access.store; });
  last_store->value ^= 1;
  {
    INFO("one store is another: it must be found");
    ibex::test::Player player(tape);
    rv32::Hart hart(watched.layout, watched.rom, player);
    CHECK(player.play(hart).find(" stores ") != std::string::npos);
  }
  last_store->value ^= 1;
  size_t spoilt = 0;
  for (auto& access : tape)
    for (auto& byte : access.filled) byte ^= std::byte{1}, spoilt++;
  REQUIRE(spoilt != 0);
  {
    INFO("DMA has brought other bytes: it must be found");
    ibex::test::Player player(tape);
    rv32::Hart hart(watched.layout, watched.rom, player);
    CHECK(player.play(hart) != "");
  }
}

TEST_CASE("launches take the same cycles on Ibex and on the simulator, each on its own") {
  const std::string simulator = launches({}), rtl = launches(ibex::make);
  std::istringstream on_ibex(rtl), on_simulator(simulator);
  for (const uint32_t kernel : kLaunched) {
    uint64_t cycles = 0, instructions = 0, cycles_simulated = 0, instructions_simulated = 0;
    INFO("on Ibex:\n" << rtl << "on the simulator:\n" << simulator);
    REQUIRE(on_ibex >> cycles >> instructions);
    REQUIRE(on_simulator >> cycles_simulated >> instructions_simulated);
    std::cout << fmt::format("kernel {}: {} cycles and {} instructions on Ibex, on the simulator {} and {}\n", kernel,
                             cycles, instructions, cycles_simulated, instructions_simulated);
    CHECK(cycles == cycles_simulated);
    CHECK(instructions == instructions_simulated);
  }
}
