// The memory side of a Verilated core: order, cycles, errors.
#include "model/core/rtl/rtl_memory.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace {

using namespace weft;

/// Answers take as many cycles as the address says; address 999 fails.
class AddressBus final : public core::MemoryBus {
 public:
  bool read(weft_address_space, uint64_t address, std::span<std::byte> out) override {
    std::memset(out.data(), static_cast<int>(address & 0xff), out.size());
    return address != 999;
  }
  bool write(weft_address_space, uint64_t address, std::span<const std::byte>) override { return address != 999; }
  uint64_t schedule_read(weft_address_space, uint64_t, uint64_t cycle) override { return cycle + delay; }
  uint64_t schedule_write(weft_address_space, uint64_t, uint64_t cycle) override { return cycle + delay; }
  bool congested(weft_address_space, uint64_t) const override { return false; }
  uint64_t delay = 0;
};

}  // namespace

TEST_CASE("an answer is due in the cycle that was booked, at the earliest in the next one") {
  AddressBus bus;
  core::RtlMemory memory(bus);
  memory.read(0, WEFT_ADDRESS_SPACE_HBM, 7, 64, 100);
  CHECK(memory.answer_due(100) == -1);
  CHECK(memory.answer_due(101) == 0);
  CHECK(memory.answer(0).data == std::vector<std::byte>(64, std::byte{7}));
  memory.take_answer(0);
  bus.delay = 50;
  memory.read(2, WEFT_ADDRESS_SPACE_HBM, 8, 16, 200);
  CHECK(memory.answer_due(249) == -1);
  CHECK(memory.answer_due(251) == 2);
}

TEST_CASE("answers keep the order of a channel and are held until taken") {
  AddressBus bus;
  core::RtlMemory memory(bus);
  bus.delay = 10;
  memory.read(1, WEFT_ADDRESS_SPACE_HOST, 1, 16, 0);
  bus.delay = 2;
  memory.read(1, WEFT_ADDRESS_SPACE_HBM, 2, 16, 1);  // booked for 3, behind the one for 10
  memory.read(0, WEFT_ADDRESS_SPACE_HBM, 3, 16, 2);
  CHECK(memory.answer_due(5) == 0);
  CHECK(memory.answer_due(20) == 0);
  memory.take_answer(0);
  CHECK(memory.answer_due(20) == 1);
  CHECK(memory.answer(1).data[0] == std::byte{1});
  memory.take_answer(1);
  CHECK(memory.answer_due(20) == 1);
  CHECK(memory.answer(1).data[0] == std::byte{2});
}

TEST_CASE("errors come back with their answer or acknowledgement") {
  AddressBus bus;
  core::RtlMemory memory(bus);
  memory.read(0, WEFT_ADDRESS_SPACE_HBM, 999, 16, 0);
  REQUIRE(memory.answer_due(1) == 0);
  CHECK(memory.answer(0).error);
  const std::vector<std::byte> data(16);
  memory.write(3, WEFT_ADDRESS_SPACE_HBM, 998, data, 0);
  memory.write(3, WEFT_ADDRESS_SPACE_HBM, 999, data, 0);
  bool error = true;
  CHECK(memory.take_acknowledgement(1, error) == 3);
  CHECK_FALSE(error);
  CHECK(memory.take_acknowledgement(1, error) == 3);
  CHECK(error);
  CHECK(memory.take_acknowledgement(1, error) == -1);
}

TEST_CASE("a reset drops what is outstanding") {
  AddressBus bus;
  core::RtlMemory memory(bus);
  for (unsigned channel = 0; channel < WEFT_CORE_DMA_CHANNELS; channel++)
    memory.read(channel, WEFT_ADDRESS_SPACE_HBM, channel, 16, 0);
  CHECK(memory.answer_due(9) >= 0);
  memory.clear();
  CHECK(memory.answer_due(9) == -1);
}

TEST_CASE("a ring grows and keeps its order at every offset") {
  core::Ring<unsigned> ring;
  unsigned next_in = 0, next_out = 0;
  for (unsigned round = 0; round < 300; round++) {
    for (unsigned i = 0; i < round % 37; i++) ring.push() = next_in++;
    for (unsigned i = 0; i < round % 23 && !ring.empty(); i++) {
      REQUIRE(ring.front() == next_out++);
      ring.pop();
    }
    REQUIRE(ring.size() == next_in - next_out);
  }
}
