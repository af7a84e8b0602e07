// The RAMs against C++ arrays: one with a write enable for each granule, and both forms of ACC's columns.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <random>

#include "Vram_1r1w_bench.h"
#include "Vram_columns_bench.h"
#include "Vram_columns_structural_bench.h"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using namespace weft::bench;

constexpr unsigned kColumns = 8, kWords = 16, kGranules = 4;

struct Code {
  uint64_t data = 0;
  uint8_t check = 0;
  bool operator==(const Code&) const = default;
};

template <class Top>
class Model {
 public:
  Model() : context_(make_context()), top(context_.get()) {}
  void tick() {
    top.clk_i = 0;
    top.eval();
    top.clk_i = 1;
    top.eval();
  }

 private:
  std::unique_ptr<VerilatedContext> context_;

 public:
  Top top;
};

constexpr uint32_t kEnable = uint32_t{1} << 31;

// Random reads of columns, reads of a row of the bank that no column reads, writes and flips.
template <class Top>
void run_columns(uint64_t seed) {
  std::mt19937_64 random(seed);
  Model<Top> model;
  Top& top = model.top;
  std::array<std::array<Code, 2 * kWords>, kColumns> stored{};
  const auto set_data = [&](unsigned j, Code code) {
    top.wdata_i[j] = static_cast<uint32_t>(code.data), top.wcheck_i[j] = code.check;
  };
  top.row_read_i = top.flip_i = 0;
  for (unsigned j = 0; j < kColumns; j++) top.read_i[j] = 0, set_data(j, {});
  for (unsigned word = 0; word < 2 * kWords; word++) {
    for (unsigned j = 0; j < kColumns; j++) top.write_i[j] = kEnable | word;
    model.tick();
  }
  struct Seen {
    unsigned reads = 0, meetings = 0, old_words = 0, new_words = 0;
  } columns, rows;
  unsigned flips = 0;
  for (unsigned cycle = 0; cycle < 20'000; cycle++) {
    const bool reads = random() % 4 != 0, reads_row = random() % 4 != 0;
    const auto row = static_cast<uint32_t>(random() % (2 * kWords));
    top.row_read_i = (reads_row ? kEnable : 0) | row;
    top.flip_i = random() % 8 == 0;
    top.flip_column_i = random() % kColumns, top.flip_addr_i = random() % (2 * kWords);
    top.flip_data_i = static_cast<uint32_t>(random()), top.flip_check_i = random() & 0x7f;
    std::array<Code, kColumns> expected{}, expected_row{}, written{};
    for (unsigned j = 0; j < kColumns; j++) {
      // a column does not read the bank of the row
      const auto word = static_cast<uint32_t>(random() % kWords + (row < kWords ? kWords : 0));
      top.read_i[j] = (reads && random() % 4 != 0 ? kEnable : 0) | word;
      const uint32_t places[] = {word, row, static_cast<uint32_t>(random() % (2 * kWords))};
      top.write_i[j] = (random() % 2 ? kEnable : 0) | places[random() % 3];
      written[j] = {static_cast<uint32_t>(random()), static_cast<uint8_t>(random() & 0x7f)};
      set_data(j, written[j]);
      expected[j] = stored[j][word], expected_row[j] = stored[j][row];
    }
    const auto asked = top.read_i, put = top.write_i;
    for (unsigned j = 0; j < kColumns; j++)
      if (put[j] & kEnable) stored[j][put[j] & ~kEnable] = written[j];
    if (top.flip_i) {
      Code& code = stored[top.flip_column_i][top.flip_addr_i];
      code.data ^= top.flip_data_i, code.check ^= top.flip_check_i;
      flips++;
    }
    model.tick();
    const auto look = [&](Seen& seen, unsigned j, uint32_t access, Code shown, Code old) {
      INFO("cycle " << cycle << " column " << j << " seed " << seed);
      if (access == put[j]) {
        seen.meetings++;
        seen.old_words += shown == old, seen.new_words += shown == written[j];
      } else {
        seen.reads++;
        REQUIRE(shown == old);
      }
    };
    for (unsigned j = 0; j < kColumns; j++) {
      if (asked[j] & kEnable)
        look(columns, j, asked[j], {top.rdata_o[j], static_cast<uint8_t>(top.rcheck_o[j])}, expected[j]);
      if (reads_row)
        look(rows, j, kEnable | row, {top.row_rdata_o[j], static_cast<uint8_t>(top.row_rcheck_o[j])}, expected_row[j]);
    }
  }
  for (const Seen& seen : {columns, rows}) {
    fmt::print("seed {}: {} reads, {} beside a write of their word, {} flips\n", seed, seen.reads, seen.meetings,
               flips);
    CHECK(seen.reads > 10'000);
    REQUIRE(seen.meetings > 1000);
    CHECK(seen.old_words < seen.meetings / 100);  // noise
    CHECK(seen.new_words < seen.meetings / 100);
  }
}

}  // namespace

TEST_CASE("columns in loops read what was written, and noise where it is written beside the read") {
  run_columns<Vram_columns_bench>(stimulus_seed(31));
}

TEST_CASE("columns in instances read what was written, and noise where it is written beside the read") {
  run_columns<Vram_columns_structural_bench>(stimulus_seed(31));
}

TEST_CASE("a RAM keeps what its granules' enables let through, and shows noise in granules written beside the read") {
  const uint64_t seed = stimulus_seed(32);
  std::mt19937_64 random(seed);
  Model<Vram_1r1w_bench> model;
  auto& top = model.top;
  std::array<std::array<Code, kGranules>, kWords> stored{};
  const auto put = [&](unsigned granule, Code code) {
    std::memcpy(reinterpret_cast<char*>(top.wdata_i.data()) + 8 * granule, &code.data, 8);
    top.wcheck_i = (top.wcheck_i & ~(0xffu << 8 * granule)) | uint32_t{code.check} << 8 * granule;
  };
  top.read_i = top.flip_i = 0;
  for (unsigned word = 0; word < kWords; word++) {
    top.write_i = 15, top.waddr_i = word;
    for (unsigned g = 0; g < kGranules; g++) put(g, {});
    model.tick();
  }
  std::array<Code, kGranules> shown{}, beside{};
  unsigned noisy = 0, reads = 0, noise = 0, old_granules = 0, new_granules = 0, flips = 0;
  bool known = false;
  for (unsigned cycle = 0; cycle < 20'000; cycle++) {
    top.read_i = random() % 4 != 0;
    top.raddr_i = random() % kWords;
    top.waddr_i = random() % 2 ? top.raddr_i : random() % kWords;
    top.write_i = random() % 3 == 0 ? 15 : random() % 16;
    if (top.read_i) {
      shown = stored[top.raddr_i], known = true;
      noisy = top.raddr_i == top.waddr_i ? top.write_i : 0;
    }
    for (unsigned g = 0; g < kGranules; g++) {
      const Code code{random(), static_cast<uint8_t>(random())};
      put(g, code);
      if (top.write_i >> g & 1) stored[top.waddr_i][g] = code;
      if (top.read_i) beside[g] = code;
    }
    top.flip_i = random() % 8 == 0 ? 1u << random() % kGranules : 0;
    top.flip_addr_i = random() % kWords, top.flip_data_i = random(), top.flip_check_i = random() & 0xff;
    for (unsigned g = 0; g < kGranules; g++)
      if (top.flip_i >> g & 1) {
        stored[top.flip_addr_i][g].data ^= top.flip_data_i;
        stored[top.flip_addr_i][g].check ^= top.flip_check_i;
        flips++;
      }
    model.tick();
    for (unsigned g = 0; g < kGranules && known; g++) {
      Code got;
      std::memcpy(&got.data, reinterpret_cast<const char*>(top.rdata_o.data()) + 8 * g, 8);
      got.check = static_cast<uint8_t>(top.rcheck_o >> 8 * g);
      INFO("cycle " << cycle << " granule " << g << " seed " << seed);
      if (noisy >> g & 1) {
        noise++;
        old_granules += got == shown[g], new_granules += got == beside[g];
      } else {
        reads++;
        REQUIRE(got == shown[g]);
      }
    }
  }
  fmt::print("seed {}: {} granules read, {} beside a write, {} flips\n", seed, reads, noise, flips);
  CHECK(reads > 10'000);
  CHECK(flips > 1000);
  REQUIRE(noise > 1000);
  CHECK(old_granules < noise / 100);
  CHECK(new_granules < noise / 100);
}
