// What a cycle of DMA engine and VMEM costs to simulate: nothing to do, and a beat read and a beat written in every
// cycle.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <memory>

#include WEFT_MODEL_HEADER
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/chips.hpp"
#include "weft/spec/commands.hpp"

int main() {
  using namespace weft::spec;
  constexpr unsigned kCycles = 200'000;
  const Chip& chip = *find_chip(WEFT_PRESET);
  const auto context = weft::bench::make_context();
  auto m = std::make_unique<WEFT_MODEL>(context.get());
  const auto tick = [&] {
    m->clk_i = 0;
    m->eval();
    const unsigned asked = m->mrd_valid_o, written = m->mwr_valid_o;
    const unsigned read_channel = m->mrd_channel_o, write_channel = m->mwr_channel_o;
    m->clk_i = 1;
    m->eval();
    // memory without latency: the answer to a request in the next cycle
    m->mrsp_valid_i = asked, m->mrsp_channel_i = read_channel;
    m->mack_valid_i = written, m->mack_channel_i = write_channel;
  };
  m->mrd_ready_i = m->mwr_ready_i = 1;
  m->rst_ni = 0;
  tick();
  m->rst_ni = 1;
  m->segment_write_i = 1, m->segment_index_i = 3, m->segment_limit_i = ~0ull, m->segment_attributes_i = 0xe;
  tick();
  m->segment_write_i = 0;
  DmaCommand in, out;
  in.header.opcode = out.header.opcode = WEFT_OPCODE_COPY;
  in.src_seg = out.dst_seg = 3;
  in.size0 = out.size0 = 64 * chip.dma_words * chip.word_bytes;
  in.dst_off = chip.vmem_bytes / 2 + 4 * chip.word_bytes;
  std::memcpy(m->cmd_in_i.data(), encode(in).bytes.data(), 64);
  std::memcpy(m->cmd_out_i.data(), encode(out).bytes.data(), 64);
  uint64_t beats = 0;
  const auto run = [&](unsigned valid) {
    m->cmd_valid_i = valid;
    const auto start = std::chrono::steady_clock::now();
    for (unsigned cycle = 0; cycle < kCycles; cycle++) {
      tick();
      beats += m->read_beat_o + m->write_beat_o;
    }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kCycles;
  };
  const double idle = run(0), busy = run(0xf);
  fmt::print("{}: idle cycle {:.3f} us, busy cycle {:.3f} us, {:.3f} beats a cycle\n", WEFT_PRESET, idle, busy,
             static_cast<double>(beats) / kCycles);
}
