// Errors in the indices of GATHER and SCATTER, which lie in VMEM: on the RTL and on the fast core, with one outcome.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "testbench/unit/model_core/injection_bench.hpp"
#include "weft/spec/names.hpp"

namespace {

using namespace weft;
using namespace weft::bench;

constexpr uint64_t kWord = 16, kGranule = 8;                       // of nano's VMEM
constexpr uint64_t kIndexAt = 32 * kWord, kRowsAt = 64 * kWord;    // in VMEM
constexpr uint64_t kIndicesFrom = 0x8000, kRowsFrom = 0x9000;      // in HBM
constexpr uint64_t kTable = 0x10000, kPitch = 64, kRowBytes = 48;  // in HBM
constexpr unsigned kCount = 13, kTableRows = 40;
constexpr uint16_t kTag = 7;

std::vector<int32_t> indices() {
  std::vector<int32_t> all;
  for (unsigned i = 0; i < kCount; i++) all.push_back(static_cast<int32_t>((i * 11 + 5) % kTableRows));
  return all;
}

spec::Command copy(uint64_t from, uint64_t to, uint64_t bytes) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_COPY, 1, {.post0 = 5, .post_count0 = 1});
  c.src_seg = 1, c.src_off = from, c.dst_off = to;
  c.size0 = static_cast<uint32_t>(bytes);
  return encode(c);
}

spec::Command indexed(bool gathers) {
  spec::IndexedCommand c;
  c.header = header(gathers ? WEFT_OPCODE_GATHER : WEFT_OPCODE_SCATTER, kTag, {.wait0 = 5, .wait_count0 = 2});
  (gathers ? c.src_seg : c.dst_seg) = 1;
  (gathers ? c.src_off : c.dst_off) = kTable;
  (gathers ? c.dst_off : c.src_off) = kRowsAt;
  (gathers ? c.src_stride : c.dst_stride) = kPitch;
  (gathers ? c.dst_stride : c.src_stride) = kRowBytes;
  c.row_bytes = kRowBytes, c.count = kCount, c.table_rows = kTableRows, c.index_off = kIndexAt;
  return encode(c);
}

/// Indices and rows come from HBM; the first write of the word of indices takes the flip.
Outcome run(core::CoreKind kind, bool gathers, const Injection& injection) {
  CoreBench bench("nano", kind);
  auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  for (uint64_t i = 0; i < 0x20000; i++) hbm[i] = static_cast<std::byte>(i * 37 + i / 251);
  const auto list = indices();
  std::memcpy(&hbm[kIndicesFrom], list.data(), 4 * list.size());
  inject(bench, injection);
  REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, copy(kIndicesFrom, kIndexAt, 64)));
  REQUIRE(bench.push(WEFT_QUEUE_DMA_IN, copy(kRowsFrom, kRowsAt, kCount * kRowBytes)));
  REQUIRE(bench.push(gathers ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT, indexed(gathers)));
  REQUIRE(bench.run(200'000));
  bench.skip(1000);  // what should not be under way would arrive
  return outcome(bench);
}

/// The first `moved` rows are moved, to the byte, and nothing else.
void check_moved(const Outcome& o, bool gathers, unsigned moved) {
  std::vector<std::byte> hbm(0x20000);
  for (uint64_t i = 0; i < hbm.size(); i++) hbm[i] = static_cast<std::byte>(i * 37 + i / 251);
  const auto list = indices();
  std::memcpy(&hbm[kIndicesFrom], list.data(), 4 * list.size());
  std::vector<std::byte> rows(&hbm[kRowsFrom], &hbm[kRowsFrom + kCount * kRowBytes]);
  for (unsigned i = 0; i < moved; i++) {
    std::byte* const row = &rows[i * kRowBytes];
    std::byte* const place = &hbm[kTable + static_cast<uint64_t>(list[i]) * kPitch];
    std::copy_n(gathers ? place : row, kRowBytes, gathers ? row : place);
  }
  CHECK(std::equal(hbm.begin(), hbm.end(), o.hbm.begin()));
  CHECK(std::equal(rows.begin(), rows.end(), o.vmem.begin() + kRowsAt));
}

/// On both cores, which agree to the cycle and the counter.
Outcome run_both(bool gathers, const Injection& injection) {
  const Outcome rtl = run(core::CoreKind::kRtl, gathers, injection),
                fast = run(core::CoreKind::kFast, gathers, injection);
  CHECK(rtl.fault.code == fast.fault.code);
  CHECK(rtl.fault.unit == fast.fault.unit);
  CHECK(rtl.fault.queue == fast.fault.queue);
  CHECK(rtl.fault.tag == fast.fault.tag);
  CHECK(rtl.fault.address == fast.fault.address);
  CHECK(rtl.fault.cycle == fast.fault.cycle);
  CHECK(rtl.last_retire == fast.last_retire);
  CHECK(rtl.retired == fast.retired);
  for (unsigned i = 0; i < WEFT_COUNTERS; i++) {
    INFO(spec::counter_name(i));
    CHECK(rtl.counters[i] == fast.counters[i]);
  }
  CHECK((rtl.hbm == fast.hbm));
  CHECK((rtl.vmem == fast.vmem));
  return rtl;
}

Injection flip(unsigned index, uint64_t data, uint64_t check = 0) {
  return {.kind = WEFT_INJECT_KIND_VMEM_FLIP,
          .address = kIndexAt + index / 2 * kGranule,
          .data = index % 2 == 0 ? data : data << 32,
          .check = check,
          .n = 1};
}

}  // namespace

TEST_CASE("a single error in an index is corrected and counted and the right rows move") {
  for (const bool gathers : {true, false}) {
    for (unsigned index = 0; index < kCount; index++)
      for (const uint64_t data : {uint64_t{1}, uint64_t{1} << 31, uint64_t{0}}) {
        CAPTURE(gathers, index, data);
        const Outcome o = run_both(gathers, flip(index, data, data == 0 ? 4 : 0));
        CHECK(o.fault.code == 0);
        CHECK(o.inject_status == uint64_t{1} << (16 + WEFT_INJECT_KIND_VMEM_FLIP));
        CHECK(o.counters[WEFT_COUNTER_ECC_VMEM_CORRECTED] == 1);
        CHECK(o.counters[WEFT_COUNTER_ECC_VMEM_UNCORRECTABLE] == 0);
        check_moved(o, gathers, kCount);
      }
  }
}

TEST_CASE("a double error in an index stops its command and no row from there on moves") {
  for (const bool gathers : {true, false})
    for (unsigned index = 0; index < kCount; index += 2)
      for (const uint64_t data : {uint64_t{3}, uint64_t{0x80000001}}) {
        CAPTURE(gathers, index, data);
        const Outcome o = run_both(gathers, flip(index, data));
        CHECK(o.fault.code == WEFT_FAULT_ECC_UNCORRECTABLE);
        CHECK(o.fault.queue == (gathers ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT));
        CHECK(o.fault.tag == kTag);
        CHECK(o.fault.address == kIndexAt + index / 2 * kGranule);
        CHECK(o.fault.count == 1);
        CHECK(o.idle);
        check_moved(o, gathers, index);
      }
}

TEST_CASE("a double error behind the last index is no fault") {
  for (const bool gathers : {true, false}) {
    const Outcome o = run_both(gathers, flip(kCount + 1, 3));
    CHECK(o.fault.code == 0);
    check_moved(o, gathers, kCount);
  }
}
