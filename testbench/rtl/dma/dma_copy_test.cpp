// Copies and fills: exact bytes on both sides, nothing outside of the box touched, under latency, refusals and bank
// conflicts.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "testbench/rtl/dma/dma_difference.hpp"

namespace weft::bench::dma_copy_test {

inline constexpr uint64_t kHbmBytes = 1 << 18, kHostBytes = 1 << 16;
inline constexpr uint64_t kVmemUsed = 1 << 18;  // bytes of VMEM in play
inline constexpr unsigned kScratchWords = 64;   // written by the interference
inline constexpr unsigned kInSegment = 3, kHostSegment = 4, kOutSegment = 31;

struct Setup {
  std::array<Segment, 32> segments{};
};

/// HBM: the lower half is read, the upper half written; host memory is read and written in halves too.
Setup prepare(DmaBench& bench, std::mt19937& random) {
  Setup setup;
  bench.memory.space(WEFT_ADDRESS_SPACE_HBM) = {.base = 0x1'0000'0000, .bytes = std::vector<uint8_t>(kHbmBytes)};
  bench.memory.space(WEFT_ADDRESS_SPACE_HOST) = {.base = 0xffff'8000'0000'0000,
                                                 .bytes = std::vector<uint8_t>(kHostBytes)};
  for (unsigned s : {WEFT_ADDRESS_SPACE_HBM, WEFT_ADDRESS_SPACE_HOST})
    for (auto& byte : bench.memory.space(s).bytes) byte = static_cast<uint8_t>(random());
  for (uint64_t i = 0; i < kVmemUsed; i++) *bench.vmem(i) = static_cast<uint8_t>(random());
  bench.seal_vmem(kVmemUsed);
  setup.segments[kInSegment] = {
      .base = 0x1'0000'0000, .limit = kHbmBytes / 2, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true};
  setup.segments[kHostSegment] = {.base = 0xffff'8000'0000'0000,
                                  .limit = kHostBytes,
                                  .space = WEFT_ADDRESS_SPACE_HOST,
                                  .readable = true,
                                  .writable = true};
  setup.segments[kOutSegment] = {
      .base = 0x1'0000'0000 + kHbmBytes / 2, .limit = kHbmBytes / 2, .space = WEFT_ADDRESS_SPACE_HBM, .writable = true};
  for (unsigned i = 1; i < 32; i++) bench.set_segment(i, setup.segments[i]);
  return setup;
}

spec::DmaCommand random_shape(std::mt19937& random, uint16_t tag) {
  spec::DmaCommand c;
  c.header.tag = tag;
  c.header.opcode = random() % 4 ? WEFT_OPCODE_COPY : WEFT_OPCODE_FILL;
  c.size0 = random_size0(random);
  c.size1 = static_cast<uint16_t>(1 + random() % 5);
  c.size2 = static_cast<uint16_t>(random() % 2 ? 1 : 1 + random() % 3);
  c.size3 = static_cast<uint16_t>(random() % 2 ? 1 : 1 + random() % 3);
  return c;
}

void make_fill(std::mt19937& random, spec::DmaCommand& c) {
  c.src_seg = 0;
  c.src_off = static_cast<uint32_t>(random());
  c.src_stride1 = c.src_stride2 = c.src_stride3 = 0;
}

/// VMEM [begin, end) is written from the read half of HBM or from host memory.
spec::DmaCommand random_in(std::mt19937& random, uint16_t tag, uint64_t begin, uint64_t end) {
  for (;;) {
    spec::DmaCommand c = random_shape(random, tag);
    const bool host = random() % 3 == 0;
    c.src_seg = host ? kHostSegment : kInSegment;
    if (!place(random, c, kWordBytes, begin, end, c.dst_off, {&c.dst_stride1, &c.dst_stride2, &c.dst_stride3}))
      continue;
    if (!place(random, c, 16, 0, host ? kHostBytes / 2 : kHbmBytes / 2, c.src_off,
               {&c.src_stride1, &c.src_stride2, &c.src_stride3}))
      continue;
    if (c.header.opcode == WEFT_OPCODE_FILL) make_fill(random, c);
    return c;
  }
}

/// The lower half of VMEM is read; `part` of `parts` of the written half of a memory is written.
spec::DmaCommand random_out(std::mt19937& random, uint16_t tag, unsigned part, unsigned parts) {
  for (;;) {
    spec::DmaCommand c = random_shape(random, tag);
    const bool host = random() % 3 == 0;
    c.dst_seg = host ? kHostSegment : kOutSegment;
    const uint64_t base = host ? kHostBytes / 2 : 0, length = (host ? kHostBytes / 2 : kHbmBytes / 2) / parts / 16 * 16;
    if (!place(random, c, kWordBytes, 0, kVmemUsed / 2, c.src_off, {&c.src_stride1, &c.src_stride2, &c.src_stride3}))
      continue;
    if (!place(random, c, 16, base + length * part, base + length * (part + 1), c.dst_off,
               {&c.dst_stride1, &c.dst_stride2, &c.dst_stride3}))
      continue;
    if (c.header.opcode == WEFT_OPCODE_FILL) make_fill(random, c);
    return c;
  }
}

TEST_CASE("random 4-D copies and fills, many in flight, move exactly their bytes") {
  const unsigned refuse_percent = GENERATE(0u, 25u, 75u);
  const unsigned batches = kChip.n <= 8 ? 120 : 12;
  const auto seed = static_cast<unsigned>(stimulus_seed(7));
  fmt::print("refusals {} %\n", refuse_percent);
  std::mt19937 random(seed + refuse_percent);
  DmaBench bench({.latency_cycles = 30,
                  .bytes_per_cycle = 1.0 * kBeatBytes,
                  .refuse_percent = refuse_percent,
                  .booked_ahead_cycles = 64},
                 seed);
  prepare(bench, random);
  const uint64_t writable = std::min<uint64_t>(kVmemUsed, kChip.vmem_bytes - kScratchWords * kWordBytes);
  bench.set_interference(refuse_percent, kScratchWords);
  const bool scratch_in_play = writable < kVmemUsed;

  std::vector<uint8_t> vmem(kVmemUsed);
  bench.read_vmem(0, vmem);
  auto hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes;
  auto host = bench.memory.space(WEFT_ADDRESS_SPACE_HOST).bytes;
  uint64_t read_bytes = 0, write_bytes = 0, read_beats = 0, write_beats = 0, vmem_beats = 0;
  uint16_t tag = 0;
  for (unsigned batch = 0; batch < batches; batch++) {
    // The commands of a batch write apart from each other and read what none of them writes.
    constexpr unsigned kCommands = 12;
    std::vector<spec::DmaCommand> in, out;
    const uint64_t part = (writable - kVmemUsed / 2) / kCommands / kWordBytes * kWordBytes;
    for (unsigned i = 0; i < kCommands; i++) {
      in.push_back(random_in(random, tag++, kVmemUsed / 2 + part * i, kVmemUsed / 2 + part * (i + 1)));
      out.push_back(random_out(random, tag++, i, kCommands));
    }
    for (const auto& c : in) {
      execute(c, (c.src_seg == kHostSegment ? host : hbm).data(), vmem.data());
      const bool fill = c.header.opcode == WEFT_OPCODE_FILL;
      vmem_beats += beats(c);
      read_beats += fill ? 0 : beats(c);
      read_bytes += fill ? 0 : static_cast<uint64_t>(c.size0) * c.size1 * c.size2 * c.size3;
      bench.issue_in(c);
    }
    for (const auto& c : out) {
      execute(c, vmem.data(), c.dst_seg == kHostSegment ? host.data() : hbm.data() + kHbmBytes / 2);
      write_beats += beats(c);
      write_bytes += static_cast<uint64_t>(c.size0) * c.size1 * c.size2 * c.size3;
      bench.issue_out(c);
    }
    REQUIRE(bench.run(2'000'000));
    INFO("batch " << batch);
    for (const auto& f : bench.faults)
      fmt::print("fault: channel {} code {} tag {} address {:#x}\n", f.channel, f.code, f.tag, f.address);
    REQUIRE(bench.faults.empty());
    if (scratch_in_play) bench.read_vmem(writable, std::span(vmem).subspan(writable));
    std::vector<spec::DmaCommand> to_host, to_hbm;
    for (const auto& c : out) (c.dst_seg == kHostSegment ? to_host : to_hbm).push_back(c);
    const auto compare = [&](std::span<const uint8_t> rtl, std::span<const uint8_t> want, uint64_t offset,
                             const std::vector<spec::DmaCommand>& commands) {
      const std::string difference = first_difference(rtl, want, offset, commands, bench.cycle(), seed);
      if (!difference.empty()) FAIL(difference);
    };
    compare(bench.vmem_image(vmem.size()), vmem, 0, in);
    compare(bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes, hbm, kHbmBytes / 2, to_hbm);
    compare(bench.memory.space(WEFT_ADDRESS_SPACE_HOST).bytes, host, 0, to_host);
  }
  CHECK(bench.retired.size() == tag);
  CHECK(bench.counted_read_bytes == read_bytes);
  CHECK(bench.counted_write_bytes == write_bytes);
  CHECK(bench.counted_read_beats == read_beats);
  CHECK(bench.counted_write_beats == write_beats);
  // Within a channel commands retire as they came; across channels they may overtake.
  for (unsigned c = 0; c < 4; c++) {
    uint64_t last = 0;
    for (const auto& life : bench.retired)
      if (life.channel == c) {
        CHECK(life.done > last);
        last = life.done;
      }
  }
  fmt::print("{} commands, {} cycles, {} beats in, {} out, VMEM refused: read {}, write {}\n", tag, bench.cycle(),
             vmem_beats, write_beats, bench.dr_conflicts, bench.dw_conflicts);
}

TEST_CASE("every size around 16 bytes, a word and a beat is copied to the byte, there and back") {
  const unsigned refuse_percent = GENERATE(0u, 25u, 75u);
  DmaBench bench({.latency_cycles = 3, .refuse_percent = refuse_percent});
  std::mt19937 random(5);
  prepare(bench, random);
  for (uint32_t size = 16; size <= 2 * kBeatBytes + 32; size += 16) {
    const auto before = bench.vmem_image(kVmemUsed);
    auto hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes;
    spec::DmaCommand in;
    in.header.opcode = WEFT_OPCODE_COPY;
    in.src_seg = kInSegment, in.src_off = 48, in.dst_off = 5 * kWordBytes, in.size0 = size;
    bench.issue_in(in);
    REQUIRE(bench.run(10000));
    auto vmem = before;
    execute(in, hbm.data(), vmem.data());
    INFO("size " << size);
    REQUIRE(vmem == bench.vmem_image(vmem.size()));
    spec::DmaCommand out = in;
    out.src_seg = 0, out.dst_seg = kOutSegment, out.src_off = 5 * kWordBytes, out.dst_off = 1024 + 16;
    bench.issue_out(out);
    REQUIRE(bench.run(10000));
    execute(out, vmem.data(), hbm.data() + kHbmBytes / 2);
    REQUIRE(hbm == bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes);
    REQUIRE(vmem == bench.vmem_image(vmem.size()));
  }
}

TEST_CASE("a short command overtakes a long one on the other channel") {
  DmaBench bench({.latency_cycles = 20});
  std::mt19937 random(6);
  prepare(bench, random);
  spec::DmaCommand big;
  big.header.opcode = WEFT_OPCODE_COPY, big.header.tag = 1;
  big.src_seg = kInSegment, big.size0 = 200 * kBeatBytes;
  if (big.size0 > kHbmBytes / 2) big.size0 = kHbmBytes / 2;
  spec::DmaCommand small = big;
  small.header.tag = 2, small.size0 = 16, small.dst_off = 220 * kBeatBytes;
  bench.issue_in(big);
  bench.issue_in(small);
  REQUIRE(bench.run(10000));
  REQUIRE(bench.retired.size() == 2);
  CHECK(bench.retired[0].tag == 2);
  CHECK(bench.retired[0].channel == 1);
  CHECK(bench.retired[1].tag == 1);
}

}  // namespace weft::bench::dma_copy_test
