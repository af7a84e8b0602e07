// Fault records as a person reads them.
#include "driver/report/fault_log.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <vector>

using namespace weft::driver;
using Catch::Contains;

namespace {

weft_fault_record core_fault(weft_fault code, uint64_t address) {
  weft_fault_record record{};
  record.fault_code = static_cast<decltype(record.fault_code)>(code);
  record.fault_unit = WEFT_UNIT_DMA2;
  record.fault_queue = WEFT_QUEUE_DMA_OUT;
  record.fault_tag = 7;
  record.fault_address = address;
  return record;
}

}  // namespace

TEST_CASE("a core fault names unit, queue, tag and address") {
  const std::string text = describe_record(core_fault(WEFT_FAULT_RANGE, 0x40));
  CHECK_THAT(text, Contains("RANGE") && Contains("dma2") && Contains("dma_out") && Contains("tag 7") &&
                       Contains("address 0x40, at"));
}

TEST_CASE("fault ICI names its cause, the chip and the detail") {
  const uint64_t address = uint64_t{WEFT_ICI_CAUSE_SEGMENT} << 56 | 3ull << 32 | 9;
  CHECK_THAT(describe_record(core_fault(WEFT_FAULT_ICI, address)), Contains("(cause segment, chip 3, detail 0x9)"));
  CHECK_THAT(describe_record(core_fault(WEFT_FAULT_ICI, ~uint64_t{0})), Contains("chip 65535"));
}

TEST_CASE("a context within a function is refused with the reason") {
  for (const uint64_t opcode : {WEFT_ADMIN_OPCODE_BIND_CONTEXT, WEFT_ADMIN_OPCODE_RELEASE_CONTEXT}) {
    weft_fault_record record{};
    record.error = WEFT_ERROR_UNSUPPORTED;
    record.detail1 = opcode;
    CHECK_THAT(describe_record(record), Contains("a function is a context") && Contains("opening it binds it"));
    record.error = WEFT_ERROR_BAD_DESCRIPTOR;
    CHECK_THAT(describe_record(record), Contains("the field at byte 0 holds"));
  }
}

TEST_CASE("any record has a text") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; i++) {
    weft_fault_record record{};
    for (size_t at = 0; at < sizeof record; at++) reinterpret_cast<unsigned char*>(&record)[at] = random() & 0xff;
    REQUIRE_FALSE(describe_record(record).empty());
  }
}

TEST_CASE("what changes at every look is given up, what settles is read") {
  int looks = 0;
  CHECK_FALSE(settled<int>([&] { return ++looks; }));
  CHECK(looks < 100);
  int steps = 0;
  const auto read = settled<int>([&] { return std::min(++steps, 5); });
  REQUIRE(read);
  CHECK(*read == 5);
}

TEST_CASE("a device that writes fault records without end is read for one lap at a time, and nothing is lost") {
  std::vector<std::byte> memory(WEFT_LIMIT_FAULT_ENTRIES * sizeof(weft_fault_record));
  FaultLog log(memory.data());
  uint64_t written = 0;
  const auto write_next = [&] {
    weft_fault_record record{};
    record.record_number = ++written;
    std::memcpy(&memory[(written - 1) % WEFT_LIMIT_FAULT_ENTRIES * sizeof record], &record, sizeof record);
  };
  write_next();
  std::vector<uint64_t> seen;
  const auto look = [&](const weft_fault_record& record) {
    seen.push_back(record.record_number);
    REQUIRE(seen.size() < 1000);
    write_next();  // one ahead, always
  };
  log.for_each_new(look);
  CHECK(seen.size() == WEFT_LIMIT_FAULT_ENTRIES);
  log.for_each_new(look);
  CHECK(seen.size() == 2 * WEFT_LIMIT_FAULT_ENTRIES);
  for (size_t i = 0; i < seen.size(); i++) REQUIRE(seen[i] == i + 1);
}
