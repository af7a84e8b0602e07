// Prints how fast the Verilated MXU runs, busy in every cycle: device cycles and multiply-accumulates a second of CPU
// time.
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <string_view>
#include <vector>

#include "Vmxu_speed_nano.h"
#include "Vmxu_v5e.h"
#include "testbench/rtl/mxu/mxu_driver.hpp"

namespace {
using weft::spec::Chip;
constexpr unsigned kWords = 4096;

/// bf16 numbers of magnitude 1 to 2 (none is zero: a zero of x is cheaper), or random bytes.
std::vector<uint16_t> make_vmem(const Chip& chip, bool int8) {
  std::vector<uint16_t> vmem(size_t{kWords} * chip.n);
  uint64_t state = 1;
  for (auto& lane : vmem) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    lane = static_cast<uint16_t>(state >> 48);
    if (!int8) lane = static_cast<uint16_t>((lane & 0x807f) | 0x3f80);
  }
  return vmem;
}

template <class Top>
void measure(std::string_view name, bool int8, double seconds) {
  const Chip& chip = *weft::spec::find_chip(name);
  const auto vmem = make_vmem(chip, int8);
  weft::spec::MxuCommand command;
  command.header.opcode = WEFT_OPCODE_MATMUL;
  command.x_row_stride = 1;
  command.x_tile_stride = chip.n;
  command.w_addr = kWords / 4;
  command.w_tile_stride = chip.n;
  command.k = 8 * chip.n * (int8 ? 2 : 1);
  command.m = static_cast<uint16_t>(2 * chip.n);
  command.cols = static_cast<uint16_t>(chip.n);
  command.dtype = int8 ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;

  weft::mxu_bench::Driver<Top> driver(chip, vmem);
  const std::clock_t begin = std::clock();
  double elapsed = 0;
  while (elapsed < seconds) {
    for (unsigned i = 0; i < 256; i++) {
      if (!driver.waiting()) driver.push(command);
      driver.step();
    }
    elapsed = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  const auto cycles = static_cast<double>(driver.cycles());
  fmt::print("{:9} {}  {:10.0f} cycles/s  {:8.1f} M MAC/s  ({:.1f} % busy)\n", name, int8 ? "int8" : "bf16",
             cycles / elapsed, static_cast<double>(driver.macs()) / elapsed / 1e6,
             100.0 * static_cast<double>(driver.busy()) / cycles);
}
}  // namespace

int main() {
  for (bool int8 : {false, true}) {
    measure<Vmxu_speed_nano>("nano", int8, 1.0);
    measure<Vmxu_v5e>("v5e-1mxu", int8, 2.0);
  }
}
