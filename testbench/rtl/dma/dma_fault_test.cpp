// Refusals and bus errors: code, address, nothing written, nothing finished afterwards.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "testbench/rtl/dma/dma_reference.hpp"

namespace weft::bench::dma_fault_test {

inline constexpr uint64_t kHbmBytes = 1 << 16;
inline constexpr uint64_t kHbmBase = 0x2'0000'0000;
inline constexpr unsigned kBothWays = 3, kReadOnly = 4, kWriteOnly = 5, kUnmapped = 6, kBeyond = 7;

std::array<Segment, 32> prepare(DmaBench& bench) {
  std::array<Segment, 32> segments{};
  bench.memory.space(WEFT_ADDRESS_SPACE_HBM) = {.base = kHbmBase, .bytes = std::vector<uint8_t>(kHbmBytes, 0x5a)};
  segments[kBothWays] = {
      .base = kHbmBase, .limit = kHbmBytes, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true};
  segments[kReadOnly] = {.base = kHbmBase, .limit = kHbmBytes, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true};
  segments[kWriteOnly] = {.base = kHbmBase, .limit = kHbmBytes, .space = WEFT_ADDRESS_SPACE_HBM, .writable = true};
  segments[kUnmapped] = {.base = kHbmBase, .limit = kHbmBytes, .space = 0, .readable = true, .writable = true};
  segments[kBeyond] = {
      .base = kHbmBase, .limit = ~0ull, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true};
  for (unsigned i = 1; i < 32; i++) bench.set_segment(i, segments[i]);
  return segments;
}

/// A small legal command: COPY or FILL, in or out.
spec::DmaCommand legal(bool out, bool fill) {
  spec::DmaCommand c;
  c.header.opcode = fill ? WEFT_OPCODE_FILL : WEFT_OPCODE_COPY;
  c.header.tag = 0xbeef;
  c.src_seg = out || fill ? 0 : kBothWays;
  c.dst_seg = out ? kBothWays : 0;
  c.size0 = 32, c.size1 = 3, c.size2 = 2, c.size3 = 2;
  c.src_off = fill ? 0xdeadbeef : 4096;
  c.dst_off = 8192;
  if (!fill) c.src_stride1 = 128, c.src_stride2 = -1024, c.src_stride3 = 512;
  c.dst_stride1 = -64, c.dst_stride2 = 1024, c.dst_stride3 = 512;
  return c;
}

/// Issues one command on a fresh bench and expects what the reference says.
void expect(const spec::DmaCommand& c, bool out) {
  DmaBench bench({.latency_cycles = 5});
  const auto segments = prepare(bench);
  const Refusal want = check(c, out, segments);
  const auto vmem = bench.vmem_image();
  const auto hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes;
  out ? bench.issue_out(c) : bench.issue_in(c);
  REQUIRE(bench.run(20000));
  if (want.code == WEFT_FAULT_NONE) {
    REQUIRE(bench.faults.empty());
    CHECK(bench.retired.size() == 1);
    return;
  }
  REQUIRE(bench.faults.size() == 1);
  CHECK(bench.faults[0].code == want.code);
  CHECK(bench.faults[0].address == want.address);
  CHECK(bench.faults[0].tag == c.header.tag);
  CHECK(bench.faults[0].channel == (out ? 2u : 0u));
  for (unsigned i = 0; i < 50; i++) bench.tick();
  CHECK(bench.faults.size() == 1);
  CHECK(bench.retired.empty());
  CHECK(bench.vmem_image() == vmem);
  CHECK(bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes == hbm);
}

TEST_CASE("each field that a DMA command may not hold is refused with its offset") {
  using Change = std::function<void(spec::DmaCommand&)>;
  const std::vector<std::pair<const char*, Change>> changes{
      {"legal", [](auto&) {}},
      {"src_seg 64", [](auto& c) { c.src_seg = 64; }},
      {"src_seg 0", [](auto& c) { c.src_seg = 0; }},
      {"src_seg 3", [](auto& c) { c.src_seg = 3; }},
      {"dst_seg 64", [](auto& c) { c.dst_seg = 64; }},
      {"dst_seg 0", [](auto& c) { c.dst_seg = 0; }},
      {"dst_seg 3", [](auto& c) { c.dst_seg = 3; }},
      {"remote_chip", [](auto& c) { c.remote_chip = 0x100; }},
      {"src_off 33 bits", [](auto& c) { c.src_off |= 1ull << 32; }},
      {"size0 0", [](auto& c) { c.size0 = 0; }},
      {"size1 0", [](auto& c) { c.size1 = 0; }},
      {"size2 0", [](auto& c) { c.size2 = 0; }},
      {"size3 0", [](auto& c) { c.size3 = 0; }},
      {"src_stride1", [](auto& c) { c.src_stride1 += 8; }},
      {"src_stride2", [](auto& c) { c.src_stride2 += 8; }},
      {"src_stride3", [](auto& c) { c.src_stride3 += 8; }},
      {"dst_stride1", [](auto& c) { c.dst_stride1 += 8; }},
      {"dst_stride2", [](auto& c) { c.dst_stride2 += 8; }},
      {"dst_stride3", [](auto& c) { c.dst_stride3 += 8; }},
      {"src_off odd", [](auto& c) { c.src_off += 8; }},
      {"dst_off odd", [](auto& c) { c.dst_off += 8; }},
      {"size0 odd", [](auto& c) { c.size0 += 8; }},
      {"segment not mapped", [](auto& c) { (c.src_seg ? c.src_seg : c.dst_seg) = kUnmapped; }},
      {"segment not readable", [](auto& c) { (c.src_seg ? c.src_seg : c.dst_seg) = kWriteOnly; }},
      {"segment not writable", [](auto& c) { (c.src_seg ? c.src_seg : c.dst_seg) = kReadOnly; }},
      {"source below 0", [](auto& c) { c.src_off = 512; }},
      {"source beyond", [](auto& c) { c.src_off = (1ull << 40) - 256; }},
      {"source stride far", [](auto& c) { c.src_stride3 = INT32_MAX - 255, c.size3 = 0xffff; }},
      {"destination below 0", [](auto& c) { c.dst_off = 0; }},
      {"destination beyond", [](auto& c) { c.dst_off = (1ull << 40) - 256; }},
      {"destination stride far", [](auto& c) { c.dst_stride2 = INT32_MIN, c.size2 = 0xffff; }},
      {"all wrong", [](auto& c) { c.src_off = 8, c.dst_off = 8, c.size0 = 8, c.size3 = 0; }},
  };
  for (bool out : {false, true})
    for (bool fill : {false, true})
      for (const auto& [name, change] : changes) {
        spec::DmaCommand c = legal(out, fill);
        change(c);
        INFO((out ? "out " : "in ") << (fill ? "FILL " : "COPY ") << name);
        expect(c, out);
      }
}

TEST_CASE("a range is legal up to the limit's last byte and refused one granule beyond") {
  for (bool out : {false, true}) {
    spec::DmaCommand c = legal(out, false);
    c.size0 = 48, c.size1 = c.size2 = c.size3 = 1;
    c.src_off = (out ? kChip.vmem_bytes : kHbmBytes) - 48;
    c.dst_off = (out ? kHbmBytes : kChip.vmem_bytes) - 48;
    INFO((out ? "out" : "in"));
    expect(c, out);
    c.src_off += 16;
    expect(c, out);
    c.src_off -= 16, c.dst_off += 16;
    expect(c, out);
  }
}

TEST_CASE("random damage to commands is refused as the reference says") {
  const unsigned seed = 31;
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  std::map<unsigned, unsigned> seen;
  DmaBench bench({.latency_cycles = 5});
  const auto segments = prepare(bench);
  for (unsigned n = 0; n < 4000; n++) {
    const bool out = random() % 2;
    spec::DmaCommand c = legal(out, random() % 3 == 0);
    c.header.tag = static_cast<uint16_t>(random());
    const auto wild = [&](auto& field) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(static_cast<uint64_t>(random()) << 8 ^ random());
    };
    for (unsigned k = 0; k < 1 + n % 2; k++) switch (random() % 22) {
        case 0:
          c.src_seg = static_cast<uint8_t>(random() % 66);
          break;
        case 1:
          c.dst_seg = static_cast<uint8_t>(random() % 66);
          break;
        case 2:
          c.remote_chip = static_cast<uint16_t>(random() % 2);
          break;
        case 3:
          c.src_off = static_cast<uint64_t>(random()) << 8 & 0xff'ffff'ffff;
          break;
        case 4:
          c.dst_off = static_cast<uint64_t>(random()) << 8 & 0xff'ffff'ffff;
          break;
        case 5:
          c.size0 = static_cast<uint32_t>(random() % 64);
          break;
        case 6:
          c.size1 = static_cast<uint16_t>(random() % 64);
          break;
        case 7:
          c.size2 = static_cast<uint16_t>(random() % 16);
          break;
        case 8:
          c.size3 = static_cast<uint16_t>(random() % 16);
          break;
        case 9:
          wild(c.src_stride1);
          break;
        case 10:
          wild(c.src_stride2);
          break;
        case 11:
          wild(c.dst_stride3);
          break;
        case 12:
          c.src_stride3 = -16 * static_cast<int32_t>(random() % 1024);
          break;
        case 13:
          c.dst_stride1 = -16 * static_cast<int32_t>(random() % 1024);
          break;
        case 14:
          c.dst_off = 16 * (random() % 20000);
          break;
        case 15:
          c.src_off = 16 * (random() % 20000);
          break;
        case 16:
          c.src_stride1 = static_cast<int32_t>(0x7fffff00), c.size1 = 0xffff;
          break;
        case 17:
          c.dst_stride1 = INT32_MIN, c.size1 = 0xffff;
          break;
        case 18:
          (out ? c.dst_seg : c.src_seg) = kBeyond, c.size0 = 16, c.size1 = c.size2 = c.size3 = 1;
          break;
        default:
          break;
      }
    const Refusal want = check(c, out, segments);
    if (want.code == 0 && beats(c) > 100000) continue;
    const bool beyond = (out ? c.dst_seg : c.src_seg) == kBeyond && want.code == 0;
    bench.faults.clear(), bench.retired.clear();
    for (auto& flying : bench.flying) flying.clear();
    out ? bench.issue_out(c) : bench.issue_in(c);
    INFO("command " << n);
    REQUIRE(bench.run(300000));
    seen[bench.faults.empty() ? 0 : bench.faults[0].code]++;
    if (beyond && !bench.faults.empty()) {
      REQUIRE(bench.faults[0].code == WEFT_FAULT_DMA_BUS);
    } else {
      REQUIRE((bench.faults.empty() ? 0 : bench.faults[0].code) == want.code);
      if (want.code) REQUIRE(bench.faults[0].address == want.address);
    }
    if (!bench.faults.empty()) {
      for (unsigned i = 0; i < 40; i++) bench.tick();  // what is under way comes back before the reset
      REQUIRE(bench.faults.size() == 1);
      bench.reset_after_fault();
    }
  }
  for (const auto& [code, count] : seen) fmt::print("code {}: {} commands\n", code, count);
  for (unsigned code :
       {WEFT_FAULT_NONE, WEFT_FAULT_ILLEGAL_FIELD, WEFT_FAULT_ALIGNMENT, WEFT_FAULT_SEGMENT, WEFT_FAULT_RANGE})
    CHECK(seen[code] > 20);
}

TEST_CASE("a bus error reports the beat's address, stops its command, and lets the other channel go on") {
  const unsigned seed = 77;
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 60; n++) {
    const bool out = n % 2;
    DmaBench bench({.latency_cycles = 10 + static_cast<unsigned>(random() % 50),
                    .bytes_per_cycle = kBeatBytes,
                    .refuse_percent = n % 3 * 30},
                   seed + n);
    prepare(bench);
    bench.set_interference(n % 4 * 30, 16);  // VMEM refuses the other channel's beats while the first one is dead
    spec::DmaCommand c = legal(out, false);
    c.size0 = random_size0(random), c.size1 = 4, c.size2 = 2, c.size3 = 2;
    REQUIRE(place(random, c, kWordBytes, 0, kHbmBytes / 2, out ? c.src_off : c.dst_off,
                  out ? std::array{&c.src_stride1, &c.src_stride2, &c.src_stride3}
                      : std::array{&c.dst_stride1, &c.dst_stride2, &c.dst_stride3}));
    REQUIRE(place(random, c, 16, 0, kHbmBytes / 2, out ? c.dst_off : c.src_off,
                  out ? std::array{&c.dst_stride1, &c.dst_stride2, &c.dst_stride3}
                      : std::array{&c.src_stride1, &c.src_stride2, &c.src_stride3}));
    // One byte of one run is bad; the beat that first covers it is the fault's address.
    std::vector<uint64_t> addresses;
    std::vector<unsigned> sizes;
    for_each_run(c, [&](uint64_t from, uint64_t to) {
      for (uint32_t b = 0; b < c.size0; b += kBeatBytes)
        addresses.push_back(kHbmBase + (out ? to : from) + b), sizes.push_back(std::min(kBeatBytes, c.size0 - b));
    });
    const size_t bad = random() % addresses.size();
    const uint64_t bad_byte = addresses[bad] + random() % sizes[bad];
    bench.memory.poison(WEFT_ADDRESS_SPACE_HBM, bad_byte);
    uint64_t want = 0;
    for (size_t i = 0; !want; i++)
      if (bad_byte - addresses[i] < sizes[i]) want = addresses[i];
    // The other channel works elsewhere and is not disturbed.
    spec::DmaCommand other = legal(out, false);
    other.header.tag = 1;
    other.size0 = kHbmBytes / 4, other.size1 = other.size2 = other.size3 = 1;
    other.src_off = other.dst_off = kHbmBytes - kHbmBytes / 4;
    out ? bench.issue_out(c) : bench.issue_in(c);
    out ? bench.issue_out(other) : bench.issue_in(other);
    INFO("case " << n << (out ? " out" : " in"));
    for (unsigned i = 0; i < 3000; i++) bench.tick();
    REQUIRE(bench.faults.size() == 1);
    CHECK(bench.faults[0].code == WEFT_FAULT_DMA_BUS);
    CHECK(bench.faults[0].address == want);
    CHECK(bench.faults[0].tag == c.header.tag);
    REQUIRE(bench.retired.size() == 1);
    CHECK(bench.retired[0].tag == 1);
    if (out) continue;
    std::vector<uint8_t> moved(other.size0);
    bench.read_vmem(other.dst_off, moved);
    CHECK(moved == std::vector<uint8_t>(other.size0, 0x5a));
  }
}

TEST_CASE("a refused command waits with its fault for the commands before it, and those behind it do not start") {
  DmaBench bench({.latency_cycles = 200});
  prepare(bench);
  spec::DmaCommand good = legal(false, false), bad = good;
  bad.size2 = 0;
  // Channels are chosen by the number of held commands: good 0, good 1, bad 0, good 1.
  good.header.tag = 1, bench.issue_in(good);
  good.header.tag = 2, bench.issue_in(good);
  bad.header.tag = 3, bench.issue_in(bad);
  good.header.tag = 4, bench.issue_in(good);
  for (unsigned i = 0; i < 1000; i++) bench.tick();
  REQUIRE(bench.faults.size() == 1);
  CHECK(bench.faults[0].tag == 3);
  CHECK(bench.faults[0].channel == 0);
  REQUIRE(bench.retired.size() == 3);
  CHECK(bench.faults[0].cycle > bench.retired[0].done);
  CHECK(bench.retired[0].tag == 1);
}

}  // namespace weft::bench::dma_fault_test
