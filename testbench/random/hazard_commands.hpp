/// Commands by hand for the tests of the hazard checker, and orders in which a core without time takes them.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/core/hazard/hazard_checker.hpp"

namespace weft::random {

using Queues = std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES>;

inline const spec::Chip& nano() { return *spec::find_chip("nano"); }

/// Waits and posts; 0xff: none.
struct Semaphores {
  uint8_t wait = 0xff;
  uint16_t wait_count = 0;
  uint8_t post = 0xff;
  uint16_t post_count = 0;
};

inline spec::CommandHeader header(weft_opcode opcode, uint16_t tag, const Semaphores& s) {
  spec::CommandHeader h;
  h.opcode = opcode, h.tag = tag;
  h.wait_sem0 = s.wait, h.wait_count0 = s.wait_count, h.post_sem0 = s.post, h.post_count0 = s.post_count;
  return h;
}
/// FILL of VMEM words [word, word + words).
inline spec::Command fill(uint16_t tag, uint64_t word, uint32_t words, const Semaphores& s = {}) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_FILL, tag, s);
  c.dst_off = word * nano().word_bytes, c.size0 = words * nano().word_bytes;
  return spec::encode(c);
}
/// COPY of what fill(.., 0, 6) and cast(.., 6) write to segment 1.
inline spec::Command store(uint16_t tag, const Semaphores& s = {}) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_COPY, tag, s);
  c.dst_seg = 1, c.size0 = 6 * nano().word_bytes, c.size1 = 2;
  c.src_stride1 = 1000 * nano().word_bytes, c.dst_stride1 = 6 * nano().word_bytes;
  return spec::encode(c);
}
/// Casts `rows` rows of bf16 from word 0 on to f32 from word 1000 on.
inline spec::Command cast(uint16_t tag, uint16_t rows, const Semaphores& s = {}) {
  spec::VpuCommand c;
  c.header = header(WEFT_OPCODE_CAST, tag, s);
  c.src_dtype = WEFT_VPU_DTYPE_BF16, c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = rows, c.cols = 8, c.a_stride = 1, c.d_addr = 1000, c.d_stride = 2;
  return spec::encode(c);
}
inline spec::Command product(uint16_t tag, uint16_t acc_row, const Semaphores& s = {}) {
  spec::MxuCommand c;
  c.header = header(WEFT_OPCODE_MATMUL, tag, s);
  c.x_addr = 2000, c.w_addr = 2100, c.k = 8, c.m = 8, c.cols = 8, c.acc_row = acc_row, c.dtype = WEFT_MXU_DTYPE_BF16;
  return spec::encode(c);
}
inline spec::Command epilogue(uint16_t tag, uint32_t acc_row, const Semaphores& s = {}) {
  spec::VpuCommand c;
  c.header = header(WEFT_OPCODE_EPILOGUE, tag, s);
  c.src_space = WEFT_VPU_SPACE_ACC, c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = 8, c.cols = 8, c.a_addr = acc_row, c.a_stride = 1, c.d_addr = 3000, c.d_stride = 2;
  return spec::encode(c);
}
inline spec::Command sync(weft_opcode opcode, uint16_t tag, const Semaphores& s) {
  return spec::encode(spec::NoneCommand{header(opcode, tag, s)});
}

/// Takes any command that can go, until none is left: a core without time.
inline std::string run_in_some_order(core::HazardChecker& checker, const Queues& queues, uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr std::array<weft_unit_index, WEFT_CORE_QUEUES> kUnits{WEFT_UNIT_DMA0, WEFT_UNIT_MXU, WEFT_UNIT_VPU,
                                                                 WEFT_UNIT_DMA2, WEFT_UNIT_SYNC};
  std::array<size_t, WEFT_CORE_QUEUES> next{};
  std::array<uint64_t, WEFT_SEMAPHORES> semaphores{};
  for (;;) {
    std::vector<unsigned> ready;
    for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++) {
      if (next[q] == queues[q].size()) continue;
      const auto h = spec::decode_header(queues[q][next[q]]);
      if ((h.wait_sem0 == 0xff || semaphores[h.wait_sem0] >= h.wait_count0) &&
          (h.wait_sem1 == 0xff || semaphores[h.wait_sem1] >= h.wait_count1))
        ready.push_back(q);
    }
    if (ready.empty()) break;
    const unsigned q = ready[random() % ready.size()];
    const spec::Command& command = queues[q][next[q]++];
    const auto h = spec::decode_header(command);
    if (h.wait_sem0 != 0xff) semaphores[h.wait_sem0] -= h.wait_count0;
    if (h.wait_sem1 != 0xff) semaphores[h.wait_sem1] -= h.wait_count1;
    checker.command_started(kUnits[q], command, 0);
    checker.command_retired(kUnits[q], command, 0);
    if (h.post_sem0 != 0xff) semaphores[h.post_sem0] += h.post_count0;
    if (h.post_sem1 != 0xff) semaphores[h.post_sem1] += h.post_count1;
  }
  for (unsigned q = 0; q < WEFT_CORE_QUEUES; q++)
    if (next[q] != queues[q].size()) return "it hangs";
  return {};
}

/// Segments apart from each other.
inline golden::SegmentTable all_segments() {
  golden::SegmentTable segments{};
  for (unsigned s = 1; s < 8; s++) segments[s] = {uint64_t{s} << 24, 1 << 24, WEFT_ADDRESS_SPACE_HBM, true, true};
  return segments;
}

}  // namespace weft::random
