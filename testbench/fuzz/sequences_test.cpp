// What the mutators of sequences promise: operations are cut where they end, results fit, rings go round.
#include <algorithm>
#include <catch2/catch.hpp>

#include "driver/queue/ring.hpp"
#include "testbench/fuzz/core_operations.hpp"
#include "testbench/fuzz/fuzz_target.hpp"
#include "testbench/fuzz/host_operations.hpp"
#include "testbench/fuzz/host_rings.hpp"
#include "testbench/fuzz/vfio_user_messages.hpp"

using namespace weft;
using namespace weft::fuzz;

size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) {
  if (size != 0) data[size / 2] ^= 0x55;
  return size;
}

namespace {

using Bytes = std::vector<uint8_t>;

Bytes joined(const Operations& operations) {
  Bytes bytes;
  for (const Operation& operation : operations) bytes.insert(bytes.end(), operation.begin(), operation.end());
  return bytes;
}

size_t count(const Bytes& input, const OperationFormat& format, HostOperation what) {
  const Operations operations = split_operations(input, format);
  return static_cast<size_t>(std::count_if(operations.begin(), operations.end(), [&](const Operation& operation) {
    return host_operation(operation.front()) == what;
  }));
}

}  // namespace

TEST_CASE("an input is cut where its operations end, also if the last one is cut short, and nothing is lost") {
  const auto check = [](const Seeds& seeds, const OperationFormat& format) {
    for (const auto& [name, bytes] : seeds) {
      for (size_t size = 0; size <= bytes.size(); size++) {
        const Bytes part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
        const Operations operations = split_operations(part, format);
        CAPTURE(name, size);
        REQUIRE(joined(operations) == part);
      }
      for (const Operation& operation : split_operations(bytes, format))
        REQUIRE(operation.size() == 1 + format.operand_bytes(operation));
    }
  };
  check(firmware_seeds(), format_of(firmware_seeds(), host_operand_bytes));
  check(core_seeds(), format_of(core_seeds(), core_operand_bytes));
}

TEST_CASE("changed sequences fit into their room, and some take a ring through many laps") {
  const OperationFormat format = format_of(firmware_seeds(), host_operand_bytes);
  const Bytes laps = firmware_seeds().at("laps");
  size_t most_entries = 0;
  for (unsigned seed = 0; seed < 2000; seed++) {
    for (const size_t room : {laps.size(), laps.size() + 1, size_t{8192}}) {
      Bytes input = laps;
      input.resize(room);
      input.resize(mutate_operations(input.data(), laps.size(), room, seed, format));
      CAPTURE(seed, room);
      REQUIRE(input.size() <= room);
      most_entries = std::max(most_entries, count(input, format, HostOperation::kEntry));
    }
  }
  CHECK(most_entries > 32);  // eight laps of a ring of four
  Bytes nothing(64);
  CHECK(mutate_operations(nothing.data(), 0, nothing.size(), 1, format) <= nothing.size());
}

TEST_CASE("submitted entries are sealed for the lap in which they lie, and the doorbell tells the tail") {
  std::vector<std::byte> memory(kHostMemoryBytes);
  fill_host_memory(memory);
  HostRings rings(memory);
  std::array<weft_submission_entry, 12> entries{};
  uint32_t tail = 4;  // fill_host_memory() has put four
  for (int turn = 0; turn < 4; turn++) {
    const auto doorbells = rings.submit(submission_of(1, entries));
    REQUIRE(doorbells.size() == 2);
    for (size_t i = 0; i < entries.size(); i++, tail++) {
      weft_submission_entry entry;
      std::memcpy(&entry, &memory[kSubmission + tail % kRingEntries * sizeof entry], sizeof entry);
      CAPTURE(turn, i);
      CHECK(entry.crc32c == driver::submission_seal(entry, driver::ring_lap(tail, kRingEntries)));
      CHECK(entry.command_id == tail);
    }
    uint32_t told = 0;
    const Bytes& doorbell = doorbells.back().bytes;
    std::memcpy(&told, &doorbell[doorbell.size() - sizeof told], sizeof told);
    CHECK(told == tail);
  }
  CHECK(rings.submit(submission_of(0, std::span(entries).first(1))).size() == 2);
  CHECK(rings.submit({}).size() == 2);
}
