// Section 2b of docs/command_checks.md, field by field.
#include "check_commands.hpp"
#include "model/golden/indexed_rows.hpp"

using namespace weft::test;
namespace golden = weft::golden;
namespace spec = weft::spec;

namespace {

using Indexed = spec::IndexedCommand;

Indexed gather() {
  Indexed c;
  c.header.opcode = WEFT_OPCODE_GATHER;
  c.src_seg = 3;
  c.src_off = 0x100, c.src_stride = 48;
  c.dst_off = 4 * 64, c.dst_stride = 64;
  c.row_bytes = 48, c.count = 7, c.table_rows = 20;
  c.index_off = 2 * 64;
  return c;
}
Indexed scatter() {
  Indexed c = gather();
  c.header.opcode = WEFT_OPCODE_SCATTER;
  std::swap(c.src_off, c.dst_off);
  std::swap(c.src_stride, c.dst_stride);
  c.src_seg = 0, c.dst_seg = 4;
  return c;
}

}  // namespace

TEST_CASE("GATHER and SCATTER are legal on one queue each, and no flag goes with them") {
  CHECK(check(gather(), kIn) == std::nullopt);
  CHECK(check(scatter(), kOut) == std::nullopt);
  CHECK(check(gather(), kOut) == Fault{WEFT_FAULT_ILLEGAL_OPCODE, WEFT_OPCODE_GATHER});
  CHECK(check(scatter(), kIn) == Fault{WEFT_FAULT_ILLEGAL_OPCODE, WEFT_OPCODE_SCATTER});
  Indexed remote = scatter();
  remote.header.flags = WEFT_COMMAND_FLAG_REMOTE;
  CHECK(golden::check_command(spec::encode(remote), kOut, chip(), segments(), {.chip = 0, .chips = 4}) ==
        Fault{WEFT_FAULT_ILLEGAL_FIELD, 1});
  auto reserved = spec::encode(gather());
  reserved.bytes[19] = 1;
  CHECK(golden::check_command(reserved, kIn, chip(), segments()) == Fault{WEFT_FAULT_ILLEGAL_FIELD, 19});
}

TEST_CASE("Fields of GATHER and SCATTER: segments, sizes, rows of the table") {
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_seg = 0; }, kField, 16);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_seg = 64; }, kField, 16);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.dst_seg = 3; }, kField, 17);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.src_seg = 3; }, kField, 16);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.dst_seg = 0; }, kField, 17);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.row_bytes = 0; }, kField, 30);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.count = 0; }, kField, 34);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.table_rows = 0; }, kField, 36);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.table_rows = 1u << 31; }, kField, 36);
}

TEST_CASE("Alignment of GATHER and SCATTER: 16 bytes in memory, a word in VMEM, the indices too") {
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_off += 8; }, kAlignment, 20);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.dst_off += 16; }, kAlignment, 25);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.row_bytes = 40; }, kAlignment, 30);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_stride = 24; }, kAlignment, 40);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.index_off += 16; }, kAlignment, 44);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.dst_stride = 16; }, kAlignment, 52);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.src_off += 16; }, kAlignment, 20);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.dst_off += 8; }, kAlignment, 25);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.src_stride = 16; }, kAlignment, 40);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.dst_stride = 8; }, kAlignment, 52);
}

TEST_CASE("All of a table lies in its segment, whatever the indices are, and rows and indices in VMEM") {
  const uint64_t limit = 0x8000, vmem = chip().vmem_bytes;
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_seg = 4; }, WEFT_FAULT_SEGMENT, 4);
  expect<Indexed>(
      scatter(), kOut, [](Indexed& c) { c.dst_seg = 3; }, WEFT_FAULT_SEGMENT, 3);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_seg = 7; }, WEFT_FAULT_SEGMENT, 7);
  const auto to_the_end = [&](Indexed& c) {
    c.src_off = 0, c.src_stride = 64, c.row_bytes = 64, c.table_rows = static_cast<uint32_t>(limit / 64);
  };
  expect_legal<Indexed>(gather(), kIn, to_the_end);
  expect<Indexed>(
      gather(), kIn, [&](Indexed& c) { to_the_end(c), c.table_rows++; }, WEFT_FAULT_RANGE, limit);
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_stride = -16; }, WEFT_FAULT_RANGE, static_cast<uint64_t>(0x100 - 19 * 16));
  expect<Indexed>(
      gather(), kIn, [](Indexed& c) { c.src_stride = INT32_MIN, c.table_rows = INT32_MAX; }, WEFT_FAULT_RANGE,
      static_cast<uint64_t>(0x100 + int64_t{INT32_MIN} * (INT32_MAX - 1)));
  expect<Indexed>(
      gather(), kIn, [&](Indexed& c) { c.dst_off = vmem - 6 * 64; }, WEFT_FAULT_RANGE, vmem);
  expect_legal<Indexed>(gather(), kIn,
                        [&](Indexed& c) { c.index_off = static_cast<uint32_t>(vmem - 64), c.count = 16; });
  expect<Indexed>(
      gather(), kIn, [&](Indexed& c) { c.index_off = static_cast<uint32_t>(vmem - 64), c.count = 17; },
      WEFT_FAULT_RANGE, vmem);
  expect<Indexed>(
      scatter(), kOut, [&](Indexed& c) { c.dst_off = limit - 16; }, WEFT_FAULT_RANGE, limit);
  expect<Indexed>(
      scatter(), kOut, [&](Indexed& c) { c.src_off = vmem; }, WEFT_FAULT_RANGE, vmem);
}

TEST_CASE("An index is a row of the table or -1") {
  const Indexed c = gather();
  for (const int32_t index : {-1, 0, 19}) CHECK(golden::index_legal(c, index));
  for (const int32_t index : {-2, 20, INT32_MIN, INT32_MAX}) CHECK(!golden::index_legal(c, index));
  CHECK(golden::index_fault_address(5, -2) == 0x5fffffffe);
}
