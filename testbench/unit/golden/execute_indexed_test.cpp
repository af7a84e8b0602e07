// GATHER and SCATTER against loops that follow the specification's words.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "model/golden/core_state.hpp"
#include "model/golden/indexed_rows.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
namespace spec = weft::spec;
using golden::Fault;

namespace {

constexpr uint64_t kBase = 0x1000, kIndexAt = 0x8000;

class Memory : public golden::MemoryAccess {
 public:
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 18);
  uint64_t bad = UINT64_MAX;

  bool read(weft_address_space, uint64_t address, std::span<std::byte> out) override {
    if (bad - address < out.size()) return false;
    std::memcpy(out.data(), bytes.data() + address, out.size());
    return true;
  }
  bool write(weft_address_space, uint64_t address, std::span<const std::byte> data) override {
    if (bad - address < data.size()) return false;
    std::memcpy(bytes.data() + address, data.data(), data.size());
    return true;
  }
};

struct Fixture {
  Fixture() : core(*spec::find_chip("nano")), random(weft::test::seed()) {
    core.segments()[3] = {kBase, 1 << 17, WEFT_ADDRESS_SPACE_HBM, true, true};
    for (auto& b : memory.bytes) b = static_cast<std::byte>(random.bits());
    for (auto& b : core.vmem()) b = static_cast<std::byte>(random.bits());
  }
  std::optional<Fault> run(const spec::IndexedCommand& c, const std::vector<int32_t>& indices) {
    std::memcpy(core.vmem().data() + c.index_off, indices.data(), indices.size() * sizeof(int32_t));
    return core.execute(spec::encode(c), golden::is_gather(c) ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT, memory);
  }
  golden::CoreState core;
  Memory memory;
  weft::test::RandomValues random;
};

spec::IndexedCommand command(bool gathers, uint16_t count, uint32_t rows, uint32_t bytes = 48) {
  spec::IndexedCommand c;
  c.header.opcode = gathers ? WEFT_OPCODE_GATHER : WEFT_OPCODE_SCATTER;
  (gathers ? c.src_seg : c.dst_seg) = 3;
  (gathers ? c.src_off : c.dst_off) = 0x2000;
  (gathers ? c.dst_off : c.src_off) = 0x400;
  (gathers ? c.src_stride : c.dst_stride) = 64;
  (gathers ? c.dst_stride : c.src_stride) = 80;
  c.row_bytes = bytes, c.count = count, c.table_rows = rows, c.index_off = kIndexAt;
  return c;
}

}  // namespace

TEST_CASE(
    "GATHER and SCATTER move the rows that the indices name, in their order, and write where written_ranges says") {
  Fixture f;
  for (unsigned n = 0; n < 100; n++) {
    const bool gathers = n % 2 == 0;
    const auto rows = static_cast<uint32_t>(1 + f.random.below(30));
    auto c = command(gathers, static_cast<uint16_t>(1 + f.random.below(50)), rows,
                     static_cast<uint32_t>(16 * (1 + f.random.below(5))));
    if (f.random.below(3) == 0) {
      (gathers ? c.src_stride : c.dst_stride) = -64;
      (gathers ? c.src_off : c.dst_off) += 64 * 30;
    }
    std::vector<int32_t> indices(c.count);
    for (auto& index : indices) index = static_cast<int32_t>(f.random.below(rows + 1)) - 1;
    std::memcpy(f.core.vmem().data() + kIndexAt, indices.data(), indices.size() * 4);
    std::vector<std::byte> vmem(f.core.vmem().begin(), f.core.vmem().end());
    auto memory = f.memory.bytes;
    for (unsigned i = 0; i < c.count; i++) {
      std::byte* const row = vmem.data() + 0x400 + 80 * i;
      const int64_t table = static_cast<int64_t>(gathers ? c.src_off : c.dst_off) +
                            indices[i] * static_cast<int64_t>(gathers ? c.src_stride : c.dst_stride);
      std::byte* const entry = memory.data() + kBase + table;
      if (gathers && indices[i] < 0) std::memset(row, 0, c.row_bytes);
      if (gathers && indices[i] >= 0) std::memcpy(row, entry, c.row_bytes);
      if (!gathers && indices[i] >= 0) std::memcpy(entry, row, c.row_bytes);
    }
    const auto before = f.memory.bytes;
    REQUIRE(f.run(c, indices) == std::nullopt);
    CHECK(std::ranges::equal(f.core.vmem(), vmem));
    CHECK(f.memory.bytes == memory);
    const auto ranges = golden::written_ranges(spec::encode(c), f.core.chip(), f.core.segments());
    CHECK(ranges.vmem.empty() == !gathers);
    REQUIRE(ranges.memory.size() == (gathers ? 0 : 1));
    for (size_t i = 0; i < memory.size(); i++)
      if (before[i] != memory[i]) REQUIRE(i - ranges.memory[0].address < ranges.memory[0].bytes);
  }
}

TEST_CASE("An index that is no row ends its command behind the rows before it") {
  for (const bool gathers : {true, false}) {
    Fixture f;
    const auto c = command(gathers, 6, 10);
    const auto before = f.memory.bytes;
    CHECK(f.run(c, {1, 2, -1, 10, 3, -7}) == Fault{WEFT_FAULT_INDEX, golden::index_fault_address(3, 10)});
    const auto moved = [&](unsigned i, int64_t index) {
      const auto row = f.core.vmem().subspan(0x400 + 80 * i, 48);
      return std::ranges::equal(
          row, std::span(f.memory.bytes).subspan(kBase + 0x2000 + 64 * static_cast<uint64_t>(index), 48));
    };
    CHECK(moved(0, 1));
    CHECK(moved(1, 2));
    CHECK(!moved(4, 3));
    if (!gathers) CHECK(f.memory.bytes != before);
    CHECK(f.run(c, {1, 2, -1, 9, 3, -7}) == Fault{WEFT_FAULT_INDEX, golden::index_fault_address(5, -7)});
  }
}

TEST_CASE("Of two rows that scatter to one place the later one stays") {
  Fixture f;
  const auto c = command(false, 3, 10);
  REQUIRE(f.run(c, {4, 4, 4}) == std::nullopt);
  CHECK(std::memcmp(f.memory.bytes.data() + kBase + 0x2000 + 256, f.core.vmem().data() + 0x400 + 160, 48) == 0);
}

TEST_CASE("A bus error of a row names its beat") {
  for (const bool gathers : {true, false}) {
    Fixture f;
    const auto c = command(gathers, 3, 10);
    f.memory.bad = kBase + 0x2000 + 5 * 64 + 20;
    CHECK(f.run(c, {1, 2, 5}) == Fault{WEFT_FAULT_DMA_BUS, kBase + 0x2000 + 5 * 64});
    CHECK(f.run(c, {1, 2, 4}) == std::nullopt);
  }
}
