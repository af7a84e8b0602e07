// What a cycle of VMEM costs to simulate: nothing asked, and all seven ports granted.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include WEFT_MODEL_HEADER
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/chips.hpp"

int main() {
  constexpr unsigned kCycles = 200'000;
  const weft::spec::Chip& chip = *weft::spec::find_chip(WEFT_PRESET);
  const auto context = weft::bench::make_context();
  const auto begin = std::chrono::steady_clock::now();
  auto model = std::make_unique<WEFT_MODEL>(context.get());
  model->rst_ni = 1;
  model->clk_i = 0;
  model->eval();
  const std::chrono::duration<double> construction = std::chrono::steady_clock::now() - begin;
  uint64_t granted = 0;
  const auto run = [&](bool busy) {
    const auto start = std::chrono::steady_clock::now();
    for (unsigned cycle = 0; cycle < kCycles; cycle++) {
      const unsigned row = cycle * chip.vmem_banks % chip.vmem_words;
      model->x_req_i = model->w_req_i = model->va_req_i = model->vb_req_i = model->dr_req_i = model->vw_req_i =
          model->dw_req_i = busy;
      model->va_pair_i = model->vb_pair_i = model->vw_pair_i = 1;
      model->dr_words_i = model->dw_words_i = 4;
      model->x_addr_i = row, model->w_addr_i = row + 1, model->va_addr_i = row + 2, model->vb_addr_i = row + 4;
      model->dr_addr_i = row + 6, model->vw_addr_i = row, model->dw_addr_i = row + 2;
      auto* strobes = reinterpret_cast<uint8_t*>(&model->dw_strb_i);
      for (unsigned i = 0; i < sizeof(model->dw_strb_i); i++) strobes[i] = WEFT_PRESET[0] == 'n' ? 0xf : 0xff;
      model->clk_i = 0;
      model->eval();
      granted += model->cnt_grant_o == 0x3f;
      model->clk_i = 1;
      model->eval();
    }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kCycles;
  };
  run(true);
  const double idle = run(false), busy = run(true);
  fmt::print("{}: construction {:.2f} s, idle cycle {:.3f} us, busy cycle {:.3f} us ({} of {} granted)\n", WEFT_PRESET,
             construction.count(), idle, busy, granted, 2 * kCycles);
}
