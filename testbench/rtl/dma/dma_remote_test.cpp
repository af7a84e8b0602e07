// Remote COPYs: their beats go to the interconnect, exactly and in order, and nothing of them to memory; what is
// refused is never announced.
#include <catch2/catch.hpp>
#include <map>

#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/dma/dma_reference.hpp"

namespace weft::bench::dma_remote_test {

inline constexpr uint64_t kHbmBase = 0x3'0000'0000, kHbmBytes = 1 << 16;
inline constexpr uint64_t kVmemUsed = 1 << 15, kThere = 1 << 20;  // bytes of VMEM read, and of the receiver's segment
inline constexpr unsigned kSegment = 5;
inline constexpr Place kPlace{.chip = 2, .chips = 4};

/// VMEM and HBM hold random bytes; the core is chip 2 of 4.
std::array<Segment, 32> prepare(DmaBench& bench, std::mt19937& random) {
  std::array<Segment, 32> segments{};
  bench.memory.space(WEFT_ADDRESS_SPACE_HBM) = {.base = kHbmBase, .bytes = std::vector<uint8_t>(kHbmBytes, 0x5a)};
  segments[kSegment] = {.base = kHbmBase, .limit = kHbmBytes, .space = WEFT_ADDRESS_SPACE_HBM, .writable = true};
  for (unsigned i = 1; i < 32; i++) bench.set_segment(i, segments[i]);
  for (uint64_t i = 0; i < kVmemUsed; i++) *bench.vmem(i) = static_cast<uint8_t>(random());
  bench.seal_vmem(kVmemUsed);
  bench.set_place(kPlace.chip, kPlace.chips);
  return segments;
}

/// A copy out of VMEM of any shape, to this chip's HBM or to another chip's VMEM or a segment of it.
spec::DmaCommand random_copy(std::mt19937& random, uint16_t tag, bool remote) {
  for (;;) {
    spec::DmaCommand c;
    c.header.opcode = WEFT_OPCODE_COPY;
    c.header.tag = tag;
    c.size0 = random_size0(random);
    c.size1 = static_cast<uint16_t>(1 + random() % 4);
    c.size2 = static_cast<uint16_t>(random() % 2 ? 1 : 1 + random() % 3);
    c.size3 = static_cast<uint16_t>(random() % 2 ? 1 : 1 + random() % 2);
    c.dst_seg = kSegment;
    if (remote) {
      constexpr uint8_t kReduce[] = {0, WEFT_COMMAND_FLAG_REDUCE_F32, WEFT_COMMAND_FLAG_REDUCE_BF16};
      c.header.flags = static_cast<uint8_t>(WEFT_COMMAND_FLAG_REMOTE | kReduce[random() % 3]);
      c.dst_seg = random() % 2 ? 0 : 17;
      c.remote_chip = static_cast<uint16_t>(random() % 2 ? 3 : 1);
    }
    if (!place(random, c, kWordBytes, 0, kVmemUsed, c.src_off, {&c.src_stride1, &c.src_stride2, &c.src_stride3}))
      continue;
    if (!place(random, c, kWordBytes, 0, remote ? kThere : kHbmBytes, c.dst_off,
               {&c.dst_stride1, &c.dst_stride2, &c.dst_stride3}))
      continue;
    return c;
  }
}

/// The beats of a command, cut from its runs.
std::vector<RemoteBeat> expected_beats(const spec::DmaCommand& c, const std::vector<uint8_t>& vmem) {
  std::vector<RemoteBeat> all;
  for_each_run(c, [&](uint64_t from, uint64_t to) {
    for (uint32_t done = 0; done < c.size0; done += kBeatBytes) {
      const uint32_t bytes = std::min(kBeatBytes, c.size0 - done);
      const auto first = vmem.begin() + static_cast<int64_t>(from + done);
      all.push_back({.channel = 0, .offset = to + done, .data = {first, first + bytes}, .last = false});
    }
  });
  all.back().last = true;
  return all;
}

TEST_CASE(
    "remote copies are announced in order, and their beats leave exactly, beside local ones, at every level of "
    "refusal") {
  const unsigned refusals = GENERATE(from_range(kStreamLevels.begin(), kStreamLevels.end()));
  const auto seed = static_cast<unsigned>(stimulus_seed(7));
  std::mt19937 random(seed + refusals);
  DmaBench bench({.latency_cycles = 9, .refuse_percent = refusals}, seed + refusals);
  prepare(bench, random);
  bench.set_ici_refusals(refusals);
  const auto vmem = bench.vmem_image();
  std::vector<spec::DmaCommand> remote;
  std::vector<uint8_t> hbm(kHbmBytes, 0x5a);
  uint64_t local_bytes = 0, all_bytes = 0;
  for (uint16_t tag = 0; tag < 150; tag++) {
    const auto c = random_copy(random, tag, random() % 3 != 0);
    if (is_remote(c)) remote.push_back(c);
    const uint64_t bytes = uint64_t{c.size0} * c.size1 * c.size2 * c.size3;
    all_bytes += bytes;
    if (!is_remote(c)) local_bytes += bytes;
    // One local copy at a time may write a byte: what overlaps may be written in any order.
    if (!is_remote(c)) execute(c, vmem.data(), hbm.data());
    bench.issue_out(c);
    if (!is_remote(c)) REQUIRE(bench.run(400000));
  }
  REQUIRE(bench.run(2000000));
  INFO("refusals " << refusals << " %, " << rerun_line(seed, bench.cycle()));
  REQUIRE(bench.faults.empty());
  CHECK(bench.retired.size() == 150);
  REQUIRE(bench.opened.size() == remote.size());
  std::map<unsigned, std::vector<RemoteBeat>> wanted;
  for (size_t i = 0; i < remote.size(); i++) {
    const auto announced = spec::encode(bench.opened[i].command), asked = spec::encode(remote[i]);
    REQUIRE(announced.bytes == asked.bytes);
    auto& channel = wanted[bench.opened[i].channel];
    for (auto& beat : expected_beats(remote[i], vmem)) channel.push_back(std::move(beat));
  }
  std::map<unsigned, size_t> next;
  for (const auto& beat : bench.remote_beats) {
    REQUIRE((beat.channel == 2 || beat.channel == 3));
    REQUIRE(next[beat.channel] < wanted[beat.channel].size());
    const auto& want = wanted[beat.channel][next[beat.channel]++];
    REQUIRE(beat.offset == want.offset);
    REQUIRE(beat.data == want.data);
    REQUIRE(beat.last == want.last);
  }
  for (const auto& [channel, beats] : wanted) CHECK(next[channel] == beats.size());
  CHECK(wanted.size() == 2);
  CHECK(bench.memory.write_bytes == local_bytes);
  CHECK(bench.counted_write_bytes == all_bytes);
  CHECK(bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes == hbm);
}

TEST_CASE("a remote copy is announced four cycles after it was taken, once, also while its first beat waits") {
  std::mt19937 random(1);
  DmaBench bench({.latency_cycles = 3});
  prepare(bench, random);
  bench.set_ici_refusals(100);
  const auto c = random_copy(random, 1, true);
  bench.issue_out(c);
  bench.issue_out(c);
  bench.issue_out(c);
  REQUIRE_FALSE(bench.run(500));
  REQUIRE(bench.opened.size() == 3);
  CHECK(bench.opened[0].cycle == bench.flying[bench.opened[0].channel].front().taken + 4);
  CHECK(bench.remote_beats.empty());
  CHECK(bench.write_stalls > 400);
  bench.set_ici_refusals(0);
  REQUIRE(bench.run(20000));
  CHECK(bench.opened.size() == 3);
  CHECK(bench.retired.size() == 3);
}

TEST_CASE("each wrong field of a remote copy is a fault with its place, and is not announced") {
  std::mt19937 random(1);
  unsigned refused = 0, passed = 0;
  const auto expect = [&](auto change) {
    spec::DmaCommand c;
    c.header.opcode = WEFT_OPCODE_COPY;
    c.header.flags = WEFT_COMMAND_FLAG_REMOTE;
    c.header.tag = 0xbeef;
    c.remote_chip = 1;
    c.size0 = 4 * kWordBytes, c.size1 = c.size2 = c.size3 = 2;
    c.src_stride1 = c.src_stride2 = c.src_stride3 = static_cast<int32_t>(kWordBytes);
    change(c);
    DmaBench bench({.latency_cycles = 5});
    const auto segments = prepare(bench, random);
    const Refusal want = check(c, true, segments, kPlace);
    bench.issue_out(c);
    REQUIRE(bench.run(20000));
    INFO("chip " << c.remote_chip << ", segment " << +c.dst_seg << ", offset " << c.dst_off);
    if (want.code == WEFT_FAULT_NONE) {
      CHECK(bench.faults.empty());
      CHECK(bench.opened.size() == 1);
      passed++;
      return;
    }
    REQUIRE(bench.faults.size() == 1);
    CHECK(bench.faults[0].code == want.code);
    CHECK(bench.faults[0].address == want.address);
    CHECK(bench.faults[0].tag == 0xbeef);
    CHECK(bench.opened.empty());
    CHECK(bench.remote_beats.empty());
    refused++;
  };
  for (const unsigned chip : {0u, 1u, 2u, 3u, 4u, 5u, 0x102u, 0x8001u, 65535u})
    expect([&](auto& c) { c.remote_chip = static_cast<uint16_t>(chip); });
  for (const unsigned segment : {0u, 1u, 31u, 32u, 35u, 63u, 64u, 128u, 255u})
    expect([&](auto& c) { c.dst_seg = static_cast<uint8_t>(segment); });
  for (const uint8_t segment : {uint8_t{0}, uint8_t{9}}) {
    expect([&](auto& c) { c.dst_seg = segment, c.dst_off = 8; });
    expect([&](auto& c) { c.dst_seg = segment, c.dst_off = 16; });
    expect([&](auto& c) { c.dst_seg = segment, c.dst_stride1 = 16; });
    expect([&](auto& c) { c.dst_seg = segment, c.dst_stride2 = -16; });
    expect([&](auto& c) { c.dst_seg = segment, c.dst_stride3 = 8; });
  }
  expect([](auto& c) { c.dst_stride1 = -static_cast<int32_t>(kWordBytes); });  // the receiver's to refuse
  expect([](auto& c) { c.dst_off = 0xff'ffff'ff00; });
  expect([](auto& c) { c.src_off = kChip.vmem_bytes; });
  expect([](auto& c) { c.src_off = kChip.vmem_bytes, c.remote_chip = 9; });  // the source comes first
  expect([](auto& c) { c.src_seg = 1; });
  expect([](auto& c) { c.size0 = 0; });
  CHECK(refused > 12);
  CHECK(passed > 6);
}

TEST_CASE(
    "a double-bit error in the source stops a remote copy: the beats before it leave, the poisoned one does not") {
  std::mt19937 random(3);
  DmaBench bench({.latency_cycles = 3});
  prepare(bench, random);
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  c.remote_chip = 1;
  c.size0 = 6 * kBeatBytes;
  c.size1 = c.size2 = c.size3 = 1;
  *bench.vmem(4 * kBeatBytes + 8) ^= 3;
  bench.issue_out(c);
  REQUIRE(bench.run(20000));
  REQUIRE(bench.faults.size() == 1);
  CHECK(bench.faults[0].code == WEFT_FAULT_ECC_UNCORRECTABLE);
  CHECK(bench.faults[0].address == 4 * kBeatBytes + 8);
  CHECK(bench.remote_beats.size() == 4);
  for (const auto& beat : bench.remote_beats) CHECK_FALSE(beat.last);
}

}  // namespace weft::bench::dma_remote_test
