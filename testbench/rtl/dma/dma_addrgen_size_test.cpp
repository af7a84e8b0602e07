// The address generator at the largest sizes: a dimension of 65535 runs, in each of the three places.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>

#include "Vdma_addrgen_model.h"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

struct Walk {
  uint64_t beats, last_mem, last_vmem;
};

/// Loads a box of 16-byte runs with the strides 1, 3 and 5 times 16 and walks it to its end.
Walk walk(const std::array<uint16_t, 3>& size) {
  const auto context = weft::bench::make_context();
  Vdma_addrgen_model m(context.get());
  const auto edge = [&] {
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
  };
  m.rst_ni = 0, m.load_i = 0, m.advance_i = 0;
  edge();
  m.rst_ni = 1;
  m.size0_i = 16, m.size1_i = size[0], m.size2_i = size[1], m.size3_i = size[2];
  m.mem_address_i = 0x100, m.mem_stride1_i = 16, m.mem_stride2_i = 48, m.mem_stride3_i = 80;
  m.vmem_address_i = 0x200, m.vmem_stride1_i = 80, m.vmem_stride2_i = 16, m.vmem_stride3_i = 48;
  m.load_i = 1;
  edge();
  m.load_i = 0, m.advance_i = 1;
  Walk result{0, 0, 0};
  while (m.valid_o && result.beats < 1'000'000) {
    result = {result.beats + 1, m.mem_o, m.vmem_o};
    edge();
  }
  return result;
}

}  // namespace

TEST_CASE("a box has as many beats as its sizes say, up to 65535 along each dimension") {
  const std::array<uint16_t, 3> size = GENERATE(
      std::array<uint16_t, 3>{65535, 1, 1}, std::array<uint16_t, 3>{1, 65535, 1}, std::array<uint16_t, 3>{1, 1, 65535},
      std::array<uint16_t, 3>{32769, 2, 1}, std::array<uint16_t, 3>{2, 32769, 2}, std::array<uint16_t, 3>{3, 2, 32769});
  INFO("sizes " << size[0] << " " << size[1] << " " << size[2]);
  const Walk box = walk(size);
  CHECK(box.beats == uint64_t{size[0]} * size[1] * size[2]);
  CHECK(box.last_mem == 0x100 + 16 * (size[0] - 1u) + 48 * (size[1] - 1u) + 80 * (size[2] - 1u));
  CHECK(box.last_vmem == 0x200 + 80 * (size[0] - 1u) + 16 * (size[1] - 1u) + 48 * (size[2] - 1u));
}
