// The hart against QEMU's user-mode emulator: the same random code, the same data in every byte.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "model/rv32/hart.hpp"
#include "random_code.hpp"

namespace weft::rv32::test {
namespace {

class NoBus final : public Bus {
 public:
  bool load(uint32_t, unsigned, uint32_t&) override { return false; }
  bool store(uint32_t, unsigned, uint32_t) override { return false; }
};

/// What QEMU's run of the program writes out.
std::vector<std::byte> by_qemu(const RandomCode& program) {
  const auto path = std::filesystem::temp_directory_path() / ("weft-rv32-" + std::to_string(std::random_device()()));
  const std::vector<std::byte> file = elf(program);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  std::vector<std::byte> out;
  if (std::FILE* pipe = popen((WEFT_QEMU_RISCV32 " " + path.string()).c_str(), "r"); pipe != nullptr) {
    std::byte buffer[65536];
    for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;)
      out.insert(out.end(), buffer, buffer + got);
    pclose(pipe);
  }
  std::filesystem::remove(path);
  return out;
}

uint64_t seed() {
  const char* text = std::getenv("WEFT_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

}  // namespace

TEST_CASE("random code leaves the same registers and memory as under QEMU") {
  constexpr unsigned kBlocks = 500, kInstructions = 60, kPrograms = 4;
  for (uint64_t s = seed(); s < seed() + kPrograms; s++) {
    INFO("WEFT_SEED=" << s);
    const RandomCode program = random_code(s, kBlocks, kInstructions);
    const std::vector<std::byte> expected = by_qemu(program);
    REQUIRE(expected.size() == program.data.size());

    NoBus bus;
    Hart hart({.rom_base = kCodeBase, .sram_base = kDataBase, .sram_bytes = static_cast<uint32_t>(program.data.size())},
              program.code, bus);
    std::memcpy(hart.sram().data(), program.data.data(), program.data.size());
    while (hart.pc() != program.end && hart.traps() == 0) REQUIRE(hart.run(hart.cycles() + 1) == Stop::kLimit);
    REQUIRE(hart.traps() == 0);
    CHECK(hart.instructions() > kBlocks * kInstructions);
    size_t differing = 0;
    for (size_t i = 0; i < expected.size(); i++) differing += hart.sram()[i] != expected[i] ? 1 : 0;
    CHECK(differing == 0);
  }
}

}  // namespace weft::rv32::test
