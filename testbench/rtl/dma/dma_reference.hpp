/// What a DMA command must do and when it must be refused, written from docs/command_checks.md.
#pragma once
#include <functional>
#include <random>

#include "testbench/rtl/dma/dma_bench.hpp"

namespace weft::bench {

struct Refusal {
  unsigned code = 0;  ///< WEFT_FAULT_NONE: legal
  uint64_t address = 0;
};

/// Where a core stands; alone by default.
struct Place {
  unsigned chip = 0;
  unsigned chips = 1;
};

inline bool is_remote(const spec::DmaCommand& c) { return (c.header.flags & WEFT_COMMAND_FLAG_REMOTE) != 0; }

/// Section 2 of docs/command_checks.md.
inline Refusal check(const spec::DmaCommand& c, bool out, const std::array<Segment, 32>& segments,
                     const Place& place = {}) {
  const bool remote = is_remote(c);
  const bool fill = c.header.opcode == WEFT_OPCODE_FILL;
  const auto illegal = [](uint64_t at) { return Refusal{WEFT_FAULT_ILLEGAL_FIELD, at}; };
  if (c.src_seg >= 64 || (fill && c.src_seg != 0) || (!fill && !out && c.src_seg == 0) ||
      (!fill && out && c.src_seg != 0))
    return illegal(16);
  if (c.dst_seg >= (remote ? 32 : 64) || (!out && c.dst_seg != 0) || (out && !remote && c.dst_seg == 0))
    return illegal(17);
  if (!remote && c.remote_chip != 0) return illegal(18);
  if (fill && c.src_off >> 32 != 0) return illegal(20);
  if (c.size0 == 0) return illegal(30);
  if (c.size1 == 0) return illegal(34);
  if (c.size2 == 0) return illegal(36);
  if (c.size3 == 0) return illegal(38);
  if (fill && c.src_stride1 != 0) return illegal(40);
  if (fill && c.src_stride2 != 0) return illegal(44);
  if (fill && c.src_stride3 != 0) return illegal(48);

  const auto misaligned = [](uint64_t at) { return Refusal{WEFT_FAULT_ALIGNMENT, at}; };
  const int64_t src_granule = out ? kWordBytes : 16, dst_granule = c.dst_seg == 0 ? kWordBytes : 16;
  if (!fill && static_cast<int64_t>(c.src_off) % src_granule) return misaligned(20);
  if (static_cast<int64_t>(c.dst_off) % dst_granule) return misaligned(25);
  if (c.size0 % 16) return misaligned(30);
  if (c.src_stride1 % src_granule) return misaligned(40);
  if (c.src_stride2 % src_granule) return misaligned(44);
  if (c.src_stride3 % src_granule) return misaligned(48);
  if (c.dst_stride1 % dst_granule) return misaligned(52);
  if (c.dst_stride2 % dst_granule) return misaligned(56);
  if (c.dst_stride3 % dst_granule) return misaligned(60);

  const Segment vmem{.base = 0, .limit = kChip.vmem_bytes, .space = 1, .readable = true, .writable = true};
  const Segment& src = out ? vmem : segments[c.src_seg % 32];  // in both versions
  const Segment& dst = out ? segments[c.dst_seg % 32] : vmem;
  if (!fill && (src.space == 0 || !src.readable)) return {WEFT_FAULT_SEGMENT, c.src_seg % 32u};
  if (!remote && (dst.space == 0 || !dst.writable)) return {WEFT_FAULT_SEGMENT, c.dst_seg % 32u};

  const auto range = [&](uint64_t off, int64_t s1, int64_t s2, int64_t s3, uint64_t limit) -> Refusal {
    __int128 lo = off, hi = off;
    const std::array<std::pair<int64_t, int64_t>, 3> dims{{{s1, c.size1}, {s2, c.size2}, {s3, c.size3}}};
    for (const auto& [stride, size] : dims) {
      const __int128 reach = static_cast<__int128>(stride) * (size - 1);
      lo += std::min<__int128>(0, reach);
      hi += std::max<__int128>(0, reach);
    }
    hi += c.size0;
    if (lo < 0) return {WEFT_FAULT_RANGE, static_cast<uint64_t>(lo)};
    if (hi > static_cast<__int128>(limit)) return {WEFT_FAULT_RANGE, limit};
    return {};
  };
  if (!fill)
    if (const Refusal r = range(c.src_off, c.src_stride1, c.src_stride2, c.src_stride3, src.limit); r.code) return r;
  if (remote && (c.remote_chip >= place.chips || c.remote_chip == place.chip))
    return {WEFT_FAULT_ICI, uint64_t{WEFT_ICI_CAUSE_NO_SUCH_CHIP} << 56 | uint64_t{c.remote_chip} << 32};
  if (remote) return {};
  return range(c.dst_off, c.dst_stride1, c.dst_stride2, c.dst_stride3, dst.limit);
}

/// Calls `run(source offset, destination offset)` for every run, in order.
inline void for_each_run(const spec::DmaCommand& c, const std::function<void(uint64_t, uint64_t)>& run) {
  for (int64_t k = 0; k < c.size3; k++)
    for (int64_t j = 0; j < c.size2; j++)
      for (int64_t i = 0; i < c.size1; i++)
        run(c.src_off + static_cast<uint64_t>(i * c.src_stride1 + j * c.src_stride2 + k * c.src_stride3),
            c.dst_off + static_cast<uint64_t>(i * c.dst_stride1 + j * c.dst_stride2 + k * c.dst_stride3));
}

/// Executes a legal command on images of both sides.
inline void execute(const spec::DmaCommand& c, const uint8_t* src, uint8_t* dst) {
  const bool fill = c.header.opcode == WEFT_OPCODE_FILL;
  const uint32_t pattern = static_cast<uint32_t>(c.src_off);
  for_each_run(c, [&](uint64_t from, uint64_t to) {
    if (!fill) std::memcpy(dst + to, src + from, c.size0);
    for (unsigned b = 0; fill && b < c.size0; b += 4) std::memcpy(dst + to + b, &pattern, 4);
  });
}

/// Beats of a command: what a request covers never crosses a run's end.
inline uint64_t beats(const spec::DmaCommand& c) {
  return static_cast<uint64_t>(c.size3) * c.size2 * c.size1 * ((c.size0 + kBeatBytes - 1) / kBeatBytes);
}

/// Random strides of one side, so that the box lies in [begin, end); the offset follows. False: did not fit.
inline bool place(std::mt19937& random, const spec::DmaCommand& c, unsigned granule, uint64_t begin, uint64_t end,
                  uint64_t& off, std::array<int32_t*, 3> strides) {
  const std::array<unsigned, 3> sizes{c.size1, c.size2, c.size3};
  const int64_t room = static_cast<int64_t>((end - begin) / granule);
  int64_t lo = 0, hi = 0;
  for (unsigned d = 0; d < 3; d++) {
    const int64_t most = std::max<int64_t>(1, room / (2 * sizes[d]));
    int64_t stride = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * most + 1)) - most;
    if (random() % 4 == 0) stride = (c.size0 + granule - 1) / granule;  // back to back
    *strides[d] = static_cast<int32_t>(stride * granule);
    const int64_t reach = stride * granule * (static_cast<int64_t>(sizes[d]) - 1);
    lo += std::min<int64_t>(0, reach);
    hi += std::max<int64_t>(0, reach);
  }
  hi += c.size0;
  const int64_t slack = static_cast<int64_t>(end - begin) - (hi - lo);
  if (slack < 0) return false;
  off = begin + static_cast<uint64_t>(
                    -lo + static_cast<int64_t>(random() % static_cast<uint64_t>(slack / granule + 1)) * granule);
  return true;
}

/// Sizes at and around the boundaries: 16 bytes, a word, a beat, odd tails.
inline uint32_t random_size0(std::mt19937& random) {
  const std::array<uint32_t, 4> near{16, kWordBytes, kBeatBytes, 3 * kBeatBytes};
  const uint32_t step = static_cast<uint32_t>(random() % 3);
  const uint32_t size = near[random() % 4] + 16 * step - 16;
  return random() % 4 ? std::max(16u, size) : 16 * (1 + static_cast<uint32_t>(random() % (4 * kBeatBytes / 16)));
}

}  // namespace weft::bench
