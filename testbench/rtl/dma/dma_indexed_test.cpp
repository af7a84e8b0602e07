// GATHER and SCATTER: exact rows, every refusal, indices that are no row, bus errors, and cycles.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "testbench/rtl/dma/dma_difference.hpp"
#include "testbench/rtl/dma/dma_indexed_reference.hpp"
#include "weft/spec/command_fields.hpp"

namespace weft::bench::dma_indexed_test {

inline constexpr uint64_t kHbmBytes = 1 << 18, kHbmBase = 0x3'0000'0000;
inline constexpr uint64_t kVmemUsed = 1 << 17;       // bytes of VMEM in play
inline constexpr uint64_t kIndexAt = kVmemUsed / 2;  // rows below, indices above
inline constexpr unsigned kScratchWords = 64;
inline constexpr unsigned kTables = 3, kReadOnly = 4, kWriteOnly = 5, kUnmapped = 6;

std::array<Segment, 32> prepare(DmaBench& bench, std::mt19937& random) {
  std::array<Segment, 32> segments{};
  auto& hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM);
  hbm = {.base = kHbmBase, .bytes = std::vector<uint8_t>(kHbmBytes)};
  for (auto& byte : hbm.bytes) byte = static_cast<uint8_t>(random());
  for (uint64_t i = 0; i < kVmemUsed; i++) *bench.vmem(i) = static_cast<uint8_t>(random());
  bench.seal_vmem(kVmemUsed);
  const Segment all{
      .base = kHbmBase, .limit = kHbmBytes, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true};
  segments[kTables] = segments[kReadOnly] = segments[kWriteOnly] = segments[kUnmapped] = all;
  segments[kReadOnly].writable = segments[kWriteOnly].readable = false;
  segments[kUnmapped].space = 0;
  for (unsigned i = 1; i < 32; i++) bench.set_segment(i, segments[i]);
  return segments;
}

void write_indices(DmaBench& bench, uint64_t at, std::span<const int32_t> indices) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(indices.data());
  for (uint64_t i = 0; i < indices.size_bytes(); i++) *bench.vmem(at + i) = bytes[i];
  bench.seal_vmem(kVmemUsed);
}

void issue(DmaBench& bench, bool out, const spec::IndexedCommand& c) {
  const auto command = spec::decode_dma(spec::encode(c));
  out ? bench.issue_out(command) : bench.issue_in(command);
}

/// Rows packed in VMEM from `rows` on, a table of `table_rows` at `table` of the segment.
spec::IndexedCommand command(bool out, unsigned count, uint32_t row_bytes, uint32_t table_rows, uint64_t rows = 0,
                             uint64_t table = 0) {
  spec::IndexedCommand c;
  c.header.opcode = out ? WEFT_OPCODE_SCATTER : WEFT_OPCODE_GATHER;
  c.header.tag = 0xcafe;
  (out ? c.dst_seg : c.src_seg) = kTables;
  (out ? c.src_off : c.dst_off) = rows;
  (out ? c.dst_off : c.src_off) = table;
  (out ? c.src_stride : c.dst_stride) = static_cast<int32_t>((row_bytes + kWordBytes - 1) / kWordBytes * kWordBytes);
  (out ? c.dst_stride : c.src_stride) = static_cast<int32_t>(row_bytes);
  c.row_bytes = row_bytes;
  c.count = static_cast<uint16_t>(count);
  c.table_rows = table_rows;
  c.index_off = kIndexAt;
  return c;
}

/// A random one whose rows and table lie in parts of their own; its indices follow. False: it did not fit.
bool draw(std::mt19937& random, bool out, unsigned part, unsigned parts, spec::IndexedCommand& c,
          std::vector<int32_t>& indices) {
  const uint64_t vmem = kIndexAt / parts / kWordBytes * kWordBytes, hbm = kHbmBytes / parts / 16 * 16;
  const uint32_t bytes = random_size0(random);
  c = command(out, 1 + random() % 70, bytes, 1 + random() % 40, vmem * part, hbm * part);
  c.header.tag = static_cast<uint16_t>(part);
  int32_t &rows = out ? c.src_stride : c.dst_stride, &table = out ? c.dst_stride : c.src_stride;
  if (random() % 3 == 0) table += static_cast<int32_t>(16 * (random() % 5));
  if (random() % 4 == 0) rows = -rows, (out ? c.src_off : c.dst_off) += vmem - static_cast<uint64_t>(-rows);
  if (random() % 4 == 0) table = -table, (out ? c.dst_off : c.src_off) += hbm - static_cast<uint64_t>(-table);
  if (static_cast<uint64_t>(std::abs(rows)) * c.count > vmem ||
      static_cast<uint64_t>(std::abs(table)) * c.table_rows > hbm)
    return false;
  const uint64_t room = (kVmemUsed - kIndexAt) / parts / kWordBytes * kWordBytes;
  if (4ull * c.count > room) return false;
  c.index_off = static_cast<uint32_t>(kIndexAt + room * part);
  indices.clear();
  const unsigned skips = random() % 3;  // none, some, most
  for (unsigned i = 0; i < c.count; i++)
    indices.push_back(random() % 4 < 2 * skips && random() % 4 != 0 ? -1
                                                                    : static_cast<int32_t>(random() % c.table_rows));
  return true;
}

TEST_CASE("random gathers and scatters, many in flight, move exactly their rows") {
  const unsigned refuse_percent = GENERATE(0u, 25u, 75u);
  const auto seed = static_cast<unsigned>(stimulus_seed(11));
  fmt::print("refusals {} %\n", refuse_percent);
  std::mt19937 random(seed + refuse_percent);
  DmaBench bench({.latency_cycles = 30,
                  .bytes_per_cycle = 1.0 * kBeatBytes,
                  .refuse_percent = refuse_percent,
                  .booked_ahead_cycles = 64},
                 seed);
  const auto segments = prepare(bench, random);
  bench.set_interference(refuse_percent, kScratchWords);
  for (unsigned batch = 0; batch < (kChip.n <= 8 ? 60 : 8); batch++) {
    INFO("batch " << batch);
    constexpr unsigned kCommands = 12;
    auto vmem = bench.vmem_image(kVmemUsed);
    auto hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes;
    std::vector<spec::IndexedCommand> commands;
    for (unsigned i = 0; i < kCommands; i++) {
      spec::IndexedCommand c;
      std::vector<int32_t> indices;
      while (!draw(random, i % 2 != 0, i, kCommands, c, indices)) {
      }
      REQUIRE(check(c, i % 2 != 0, segments).code == 0);
      write_indices(bench, c.index_off, indices);
      std::memcpy(vmem.data() + c.index_off, indices.data(), 4 * indices.size());
      commands.push_back(c);
    }
    for (unsigned i = 0; i < kCommands; i++) {
      REQUIRE(execute(commands[i], i % 2 != 0, vmem.data(), hbm.data()).code == 0);
      issue(bench, i % 2 != 0, commands[i]);
    }
    REQUIRE(bench.run(2'000'000));
    for (const auto& f : bench.faults)
      fmt::print("fault: channel {} code {} tag {} address {:#x}\n", f.channel, f.code, f.tag, f.address);
    REQUIRE(bench.faults.empty());
    const auto after = bench.vmem_image(kVmemUsed);
    REQUIRE(after.size() == vmem.size());
    REQUIRE(after == vmem);
    REQUIRE(bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes == hbm);
  }
}

TEST_CASE("gathers and scatters that are damaged are refused with the fault of a second reading of the rules") {
  const unsigned seed = 19;
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  DmaBench bench({.latency_cycles = 3});
  const auto segments = prepare(bench, random);
  std::map<unsigned, unsigned> seen;
  write_indices(bench, kIndexAt, std::vector<int32_t>(64, 1));
  for (unsigned n = 0; n < 3000; n++) {
    const bool out = n % 2 != 0;
    spec::IndexedCommand c = command(out, 5, 3 * kWordBytes, 9, 64 * kWordBytes, 4096);
    for (unsigned times = 1 + random() % 2; times > 0; times--) {
      const auto& fields = spec::kIndexedFields;
      const auto& field = fields[random() % fields.size()];
      auto bytes = spec::encode(c);
      const uint64_t old = spec::load_le(bytes, field.offset, field.bytes), bits = uint64_t{random()} << 20 ^ random();
      const std::array<uint64_t, 12> values{0,
                                            1,
                                            old + 1,
                                            old - 1,
                                            old + 8,
                                            old + 16,
                                            old * 2,
                                            bits,
                                            ~uint64_t{0},
                                            uint64_t{1} << (8 * field.bytes - 1),
                                            old << 8,
                                            kReadOnly + random() % 3};
      spec::store_le(bytes, field.offset, field.bytes, values[random() % values.size()]);
      c = spec::decode_indexed(bytes);
    }
    const Refusal want = check(c, out, segments);
    if (want.code == 0 && (c.count > 64 || c.table_rows < 2 || c.row_bytes > 4096 || c.index_off != kIndexAt)) continue;
    INFO("command " << n);
    const auto hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes;
    issue(bench, out, c);
    REQUIRE(bench.run(20000));
    REQUIRE((bench.faults.empty() ? 0 : bench.faults[0].code) == want.code);
    seen[want.code]++;
    if (want.code == 0) {
      write_indices(bench, kIndexAt, std::vector<int32_t>(64, 1));  // rows may lie over them
      continue;
    }
    REQUIRE(bench.faults[0].address == want.address);
    REQUIRE(bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes == hbm);
    bench.reset_after_fault();
  }
  for (const auto& [code, count] : seen) fmt::print("code {}: {} commands\n", code, count);
  for (unsigned code :
       {WEFT_FAULT_NONE, WEFT_FAULT_ILLEGAL_FIELD, WEFT_FAULT_ALIGNMENT, WEFT_FAULT_SEGMENT, WEFT_FAULT_RANGE})
    CHECK(seen[code] > 20);
}

TEST_CASE("a table ends with the segment's last byte, and one row more is refused, for the largest strides too") {
  const auto model = std::make_shared<DmaModel>();
  for (const bool out : {false, true})
    for (const uint32_t rows : {1u, 2u, 65536u, 65537u, 0x7fffffffu}) {
      std::mt19937 random(1);
      DmaBench bench({.latency_cycles = 3}, 1, model);
      prepare(bench, random);
      const int32_t stride = 0x7ffffff0;
      const uint64_t limit = static_cast<uint64_t>(stride) * (rows - 1) + 16;
      bench.set_segment(
          kTables,
          {.base = kHbmBase, .limit = limit, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true});
      write_indices(bench, kIndexAt, std::vector<int32_t>{0});
      spec::IndexedCommand c = command(out, 1, 16, rows);
      (out ? c.dst_stride : c.src_stride) = stride;
      issue(bench, out, c);
      INFO("rows " << rows);
      REQUIRE(bench.run(2000));
      CHECK(bench.faults.empty());
      if (rows == 0x7fffffffu) continue;
      c.table_rows++;
      issue(bench, out, c);
      REQUIRE(bench.run(2000));
      REQUIRE(bench.faults.size() == 1);
      CHECK(bench.faults[0].code == WEFT_FAULT_RANGE);
      CHECK(bench.faults[0].address == limit);
    }
}

TEST_CASE("an index that is no row stops its command behind the rows before it, and the other channel goes on") {
  const auto model = std::make_shared<DmaModel>();
  const unsigned seed = 23;
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 60; n++) {
    const bool out = n % 2 != 0;
    DmaBench bench({.latency_cycles = 1 + static_cast<unsigned>(random() % 50), .refuse_percent = n % 3 * 30}, seed + n,
                   model);
    prepare(bench, random);
    bench.set_interference(n % 4 * 30, kScratchWords);
    const unsigned count = 1 + random() % 40, bad = random() % count;
    const uint32_t rows = 1 + random() % 20;
    spec::IndexedCommand c = command(out, count, 16 * (1 + random() % (2 * kBeatBytes / 16)), rows);
    c.header.tag = 7;
    if (static_cast<uint64_t>(out ? c.src_stride : c.dst_stride) * count > kIndexAt / 2) continue;
    std::vector<int32_t> indices(count);
    for (auto& index : indices) index = static_cast<int32_t>(random() % (rows + 1)) - 1;
    const std::array<int32_t, 5> wrong{static_cast<int32_t>(rows), -2, INT32_MAX, INT32_MIN,
                                       static_cast<int32_t>(rows + random() % 1000)};
    indices[bad] = wrong[random() % wrong.size()];
    write_indices(bench, kIndexAt, indices);
    auto vmem = bench.vmem_image(kVmemUsed);
    auto hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes;
    const Refusal want = execute(c, out, vmem.data(), hbm.data());
    REQUIRE(want.code == WEFT_FAULT_INDEX);
    spec::IndexedCommand other = command(out, 20, 2 * kWordBytes, 8, kIndexAt / 2, kHbmBytes / 2);
    other.header.tag = 1;
    other.index_off = static_cast<uint32_t>(kIndexAt + 1024 / kWordBytes * kWordBytes);
    write_indices(bench, other.index_off, std::vector<int32_t>(20, 3));
    std::memcpy(vmem.data() + other.index_off, std::vector<int32_t>(20, 3).data(), 80);
    REQUIRE(execute(other, out, vmem.data(), hbm.data()).code == 0);
    issue(bench, out, c);
    issue(bench, out, other);
    for (unsigned i = 0; i < 6000 && (bench.faults.empty() || bench.retired.empty()); i++) bench.tick();
    for (unsigned i = 0; i < 500; i++) bench.tick();  // what has been given to the memory by then is written
    INFO("case " << n << (out ? " out" : " in"));
    REQUIRE(bench.faults.size() == 1);
    CHECK(bench.faults[0].code == WEFT_FAULT_INDEX);
    CHECK(bench.faults[0].address == want.address);
    CHECK(bench.faults[0].tag == 7);
    REQUIRE(bench.retired.size() == 1);
    CHECK(bench.retired[0].tag == 1);
    CHECK(bench.vmem_image(kVmemUsed) == vmem);
    CHECK(bench.memory.space(WEFT_ADDRESS_SPACE_HBM).bytes == hbm);
  }
}

TEST_CASE("a bus error of a row reports the row's address") {
  const auto model = std::make_shared<DmaModel>();
  const unsigned seed = 29;
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  for (unsigned n = 0; n < 40; n++) {
    const bool out = n % 2 != 0;
    DmaBench bench({.latency_cycles = 10, .refuse_percent = n % 3 * 30}, seed + n, model);
    prepare(bench, random);
    spec::IndexedCommand c = command(out, 12, 3 * kWordBytes, 10);
    std::vector<int32_t> indices(12);
    for (auto& index : indices) index = static_cast<int32_t>(random() % 11) - 1;
    indices[5] = 4;
    write_indices(bench, kIndexAt, indices);
    const uint64_t row = kHbmBase + 4 * c.row_bytes;
    bench.memory.poison(WEFT_ADDRESS_SPACE_HBM, row + 3);
    issue(bench, out, c);
    for (unsigned i = 0; i < 2000 && bench.faults.empty(); i++) bench.tick();
    for (unsigned i = 0; i < 200; i++) bench.tick();
    REQUIRE(bench.faults.size() == 1);
    CHECK(bench.faults[0].code == WEFT_FAULT_DMA_BUS);
    CHECK(bench.faults[0].address == row);
    CHECK(bench.retired.empty());
  }
}

TEST_CASE("one indexed command's cycles are those of the formulas in rtl/dma/README.md") {
  const auto model = std::make_shared<DmaModel>();
  for (unsigned rows : {1u, 3u, kWordBytes / 4, kWordBytes / 4 + 1, 60u})
    for (unsigned latency : {1u, 10u, 200u}) {
      INFO("rows " << rows << " latency " << latency);
      std::vector<int32_t> indices(rows);
      for (unsigned i = 0; i < rows; i++) indices[i] = static_cast<int32_t>(i * 7 % 16);
      for (const bool out : {false, true}) {
        std::mt19937 random(1);
        DmaBench bench({.latency_cycles = latency}, 1, model);
        prepare(bench, random);
        write_indices(bench, kIndexAt, indices);
        issue(bench, out, command(out, rows, kWordBytes, 16));
        REQUIRE(bench.run(10000));
        const uint64_t taken = bench.retired.at(0).taken, first = out ? taken + 11 : taken + 10;
        CHECK((out ? *bench.first_mwr : *bench.first_mrd) == first);
        // Words of indices behind the first two are read between beats of data.
        const unsigned words = (rows + kWordBytes / 4 - 1) / (kWordBytes / 4),
                       between = out && words > 2 ? words - 2 : 0;
        CHECK((out ? *bench.last_ack : *bench.last_answer) == first + rows - 1 + between + latency);
        CHECK(bench.retired.at(0).done == (out ? *bench.last_ack + 1 : *bench.last_answer + 2));
      }
      // Skipped rows cost their beats of zeros, or a cycle each.
      for (const bool out : {false, true}) {
        std::mt19937 random(1);
        DmaBench bench({.latency_cycles = latency}, 1, model);
        prepare(bench, random);
        write_indices(bench, kIndexAt, std::vector<int32_t>(rows, -1));
        issue(bench, out, command(out, rows, kWordBytes, 16));
        REQUIRE(bench.run(10000));
        CHECK(!bench.first_mrd);
        CHECK(!bench.first_mwr);
        CHECK(bench.retired.at(0).done == bench.retired.at(0).taken + (out ? 9 : 10) + rows);
      }
    }
}

TEST_CASE("rows of 512 bytes and more move at the memory's rate") {
  const auto model = std::make_shared<DmaModel>();
  const bool out = GENERATE(false, true);
  const double memory = static_cast<double>(kChip.hbm_bytes_per_second) / static_cast<double>(kChip.clock_hz);
  for (const uint32_t bytes : {64u, 128u, 256u, 512u, 1024u, 2048u, 4096u})
    for (const unsigned latency : {20u, 600u}) {
      const unsigned count = std::max(64u, 1u << 17 >> std::bit_width(bytes)), commands = 12;
      std::mt19937 random(bytes);
      DmaBench bench({.latency_cycles = latency, .bytes_per_cycle = memory}, 1, model);
      auto& hbm = bench.memory.space(WEFT_ADDRESS_SPACE_HBM);
      hbm = {.base = 0, .bytes = std::vector<uint8_t>(1 << 22)};
      bench.set_segment(
          kTables, {.base = 0, .limit = 1 << 22, .space = WEFT_ADDRESS_SPACE_HBM, .readable = true, .writable = true});
      const uint32_t table_rows = (1u << 22) / bytes;
      std::vector<int32_t> indices(std::min<uint64_t>(count, (kVmemUsed - kIndexAt) / 4));
      for (auto& index : indices) index = static_cast<int32_t>(random() % table_rows);
      write_indices(bench, kIndexAt, indices);
      for (unsigned i = 0; i < commands; i++) {
        spec::IndexedCommand c = command(out, static_cast<unsigned>(indices.size()), bytes, table_rows);
        (out ? c.src_stride : c.dst_stride) = 0;
        issue(bench, out, c);
      }
      REQUIRE(bench.run(10'000'000));
      const double cycles = static_cast<double>(bench.retired.back().done - bench.retired.front().taken - latency - 12);
      const double rate = static_cast<double>(commands) * static_cast<double>(indices.size()) * bytes / cycles;
      // A beat a cycle is all that any command can have, and as many outstanding as two channels may.
      const double flight = 2.0 * (out ? WEFT_CORE_DMA_OUTSTANDING_WRITES : WEFT_CORE_DMA_OUTSTANDING_BEATS) / latency;
      const double beats = std::ceil(static_cast<double>(bytes) / kBeatBytes);
      const double most = std::min(memory, std::min(1.0, flight) * bytes / beats);
      fmt::print("{}: rows of {} bytes {}, latency {}: {:.1f} bytes a cycle, {:.1f} % of the memory's {:.1f}\n",
                 kChip.name, bytes, out ? "out" : "in", latency, rate, 100 * rate / memory, memory);
      if (bytes >= 512) CHECK(rate >= 0.97 * most);
    }
}

}  // namespace weft::bench::dma_indexed_test
