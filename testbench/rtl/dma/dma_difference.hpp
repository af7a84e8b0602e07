/// Which command of a batch wrote the first byte that is wrong, and where in its box.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "testbench/rtl/bench/mismatch.hpp"
#include "testbench/rtl/dma/dma_reference.hpp"

namespace weft::bench {

inline std::string describe(const spec::DmaCommand& c) {
  return fmt::format(
      "opcode {:#x} tag {} seg {} -> {} off {:#x} -> {:#x} size {} x {} x {} x {} strides {},{},{} -> {},{},{}",
      c.header.opcode, c.header.tag, c.src_seg, c.dst_seg, c.src_off, c.dst_off, c.size0, c.size1, c.size2, c.size3,
      c.src_stride1, c.src_stride2, c.src_stride3, c.dst_stride1, c.dst_stride2, c.dst_stride3);
}

/// Empty: equal. `offset` is what a command's dst_off counts from in these bytes. Tile: the beat in its run; row: the
/// run; lane: the 32-bit word in the beat.
inline std::string first_difference(std::span<const uint8_t> rtl, std::span<const uint8_t> reference, uint64_t offset,
                                    const std::vector<spec::DmaCommand>& commands, uint64_t cycle, uint64_t seed) {
  const auto [a, b] = std::mismatch(rtl.begin(), rtl.end(), reference.begin());
  if (a == rtl.end()) return {};
  const auto at = static_cast<size_t>(a - rtl.begin()) / 4 * 4;
  Mismatch mismatch{.command = "none: no command of the batch writes here", .cycle = cycle, .seed = seed};
  std::memcpy(&mismatch.rtl, &rtl[at], 4);
  std::memcpy(&mismatch.reference, &reference[at], 4);
  for (const auto& c : commands) {
    unsigned run = 0;
    for_each_run(c, [&](uint64_t, uint64_t to) {
      if (at >= to + offset && at < to + offset + c.size0) {
        const auto in_run = static_cast<unsigned>(at - to - offset);
        mismatch.command = describe(c);
        mismatch.tile = in_run / kBeatBytes;
        mismatch.row = run;
        mismatch.lane = in_run % kBeatBytes / 4;
      }
      run++;
    });
  }
  return fmt::format("byte {:#x}: {}", at, mismatch_text(mismatch));
}

}  // namespace weft::bench
