// VMEM's ECC: flips in data and check bits, seen through every read port, cleared by every write port.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "model/golden/secded.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/chips.hpp"

// The target names the model and its preset.
#include WEFT_MODEL_HEADER

namespace {

using weft::golden::kSecded64;
using weft::golden::SecdedResult;

constexpr unsigned kWords = 24;  // that the traffic uses

/// A granule as it is stored.
struct Stored {
  uint64_t data = 0;
  uint8_t check = 0;
};

class Bench {
 public:
  explicit Bench(const weft::spec::Chip& chip) : granules_(chip.word_bytes / 8), model_(context_.get()) {
    model_.rst_ni = 0;
    tick();
    model_.rst_ni = 1;
  }
  void tick() {
    model_.clk_i = 0;
    model_.eval();
    hit_ = model_.flip_write_o;
    model_.clk_i = 1;
    model_.eval();
    model_.x_req_i = model_.w_req_i = model_.va_req_i = model_.vb_req_i = model_.dr_req_i = 0;
    model_.vw_req_i = model_.dw_req_i = 0;
  }
  /// core_pkg::flip_t, lowest field first: check, data, granule, next, watch, now.
  void flip(bool now, bool watch, bool next, uint32_t granule, uint64_t data, uint8_t check) {
    unsigned __int128 bits = check;
    bits |= static_cast<unsigned __int128>(data) << 8;
    bits |= static_cast<unsigned __int128>(granule) << 72;
    bits |= static_cast<unsigned __int128>(next | watch << 1 | now << 2) << 104;
    std::memcpy(model_.flip_i.data(), &bits, 14);
  }
  [[nodiscard]] bool hit() const { return hit_; }
  [[nodiscard]] unsigned granules() const { return granules_; }

  /// Writes `words` words from `addr` on by a port; `upper`: of one word the upper half, not by DMA.
  void write(bool dma, unsigned addr, unsigned words, const std::vector<uint64_t>& data, uint64_t strobes, bool upper) {
    if (dma) {
      model_.dw_req_i = 1, model_.dw_addr_i = addr, model_.dw_words_i = words;
      constexpr unsigned kChunks = sizeof(model_.dw_wdata_i) / 16;  // bits beyond the port's are not the bench's to set
      strobes &= UINT64_MAX >> (64 - kChunks);
      std::memcpy(&model_.dw_strb_i, &strobes, sizeof model_.dw_strb_i);
      std::memcpy(model_.dw_wdata_i.data(), data.data(), data.size() * 8);
    } else {
      model_.vw_req_i = 1, model_.vw_addr_i = addr, model_.vw_pair_i = words == 2, model_.vw_upper_i = upper;
      std::memcpy(model_.vw_wdata_i.data(), data.data(), data.size() * 8);
    }
    tick();
  }
  struct Read {
    std::vector<uint64_t> data;
    std::vector<bool> poison;
    unsigned corrected, poisoned;
  };
  /// Ports 0 to 4: x, w, va, vb, dr.
  Read read(unsigned port, unsigned addr, unsigned words) {
    if (port == 0) model_.x_req_i = 1, model_.x_addr_i = addr;
    if (port == 1) model_.w_req_i = 1, model_.w_addr_i = addr;
    if (port == 2) model_.va_req_i = 1, model_.va_addr_i = addr, model_.va_pair_i = words == 2;
    if (port == 3) model_.vb_req_i = 1, model_.vb_addr_i = addr, model_.vb_pair_i = words == 2;
    if (port == 4) model_.dr_req_i = 1, model_.dr_addr_i = addr, model_.dr_words_i = words;
    tick();
    const std::array<const void*, 5> data{model_.x_rdata_o.data(), model_.w_rdata_o.data(), model_.va_rdata_o.data(),
                                          model_.vb_rdata_o.data(), model_.dr_rdata_o.data()};
    const std::array<const void*, 5> poison{&model_.x_poison_o, &model_.w_poison_o, &model_.va_poison_o,
                                            &model_.vb_poison_o, &model_.dr_poison_o};
    Read seen{std::vector<uint64_t>(words * granules_), {}, model_.cnt_corrected_o, model_.cnt_poison_o};
    std::memcpy(seen.data.data(), data[port], seen.data.size() * 8);
    for (unsigned g = 0; g < words * granules_; g++)
      seen.poison.push_back((static_cast<const uint8_t*>(poison[port])[g / 8] >> (g % 8) & 1) != 0);
    return seen;
  }

 private:
  const unsigned granules_;
  std::unique_ptr<VerilatedContext> context_ = weft::bench::make_context();
  WEFT_MODEL model_;
  bool hit_ = false;
};

}  // namespace

TEST_CASE("reads through every port show what a decoder makes of what is stored, and count it") {
  const weft::spec::Chip& chip = *weft::spec::find_chip(WEFT_PRESET);
  Bench bench(chip);
  const unsigned granules = bench.granules();
  constexpr unsigned kSeed = 11;
  INFO("seed " << kSeed);
  std::mt19937_64 random(kSeed);
  std::vector<Stored> stored(kWords * granules);
  unsigned corrected = 0, poisoned = 0, watched = 0;
  for (unsigned step = 0; step < 20'000; step++) {
    bench.flip(false, false, false, 0, 0, 0);
    const unsigned kind = random() % 3;
    if (kind == 0) {  // bits flip
      const auto granule = static_cast<uint32_t>(random() % stored.size());
      uint64_t data = uint64_t{1} << random() % 64;
      uint8_t check = 0;
      if (random() % 2 == 0) data ^= uint64_t{1} << random() % 64;
      if (random() % 4 == 0) data = 0, check = static_cast<uint8_t>(1u << random() % 8);
      bench.flip(true, false, false, granule, data, check);
      bench.tick();
      stored[granule].data ^= data;
      stored[granule].check ^= check;
    } else if (kind == 1) {  // a write, which may be watched
      const bool dma = random() % 2 == 0;
      const unsigned words = dma ? 1 + random() % 4 : 1 + random() % 2;
      const unsigned addr = dma || words == 1 ? random() % (kWords - words + 1) : random() % (kWords / 2) * 2;
      std::vector<uint64_t> data(words * granules);
      for (auto& d : data) d = random();
      const uint64_t strobes = dma ? random() | random() : ~uint64_t{0};
      const bool upper = !dma && words == 1 && random() % 2 == 0;
      const auto watch = static_cast<uint32_t>(random() % stored.size());
      const bool next = random() % 2 == 0;
      const uint64_t mask = uint64_t{1} << random() % 64;
      bench.flip(false, true, next, watch, mask, 1);
      bench.write(dma, addr, words, data, strobes, upper);
      bool hit = false;
      for (unsigned g = 0; g < data.size(); g++) {
        if ((strobes >> (g / 2) & 1) == 0 || (upper && g < granules / 2)) continue;
        const unsigned at = addr * granules + g;
        stored[at] = {data[g], kSecded64.encode(data[g])};
        if (at == watch) {
          hit = true;
          if (next) stored[at].data ^= mask, stored[at].check ^= 1;
        }
      }
      REQUIRE(bench.hit() == hit);
      watched += hit;
    } else {
      const unsigned port = random() % 5;
      const unsigned words = port < 2 ? 1 : port < 4 ? 1 + random() % 2 : 1 + random() % 4;
      const unsigned addr = port < 4 && words == 2 ? random() % (kWords / 2) * 2 : random() % (kWords - words + 1);
      const Bench::Read seen = bench.read(port, addr, words);
      unsigned should_correct = 0, should_poison = 0;
      for (unsigned g = 0; g < words * granules; g++) {
        const Stored& s = stored[addr * granules + g];
        const auto should = kSecded64.decode(s.data, s.check);
        INFO("port " << port << ", word " << addr << ", granule " << g);
        REQUIRE(seen.data[g] == should.data);
        REQUIRE(seen.poison[g] == (should.result == SecdedResult::kPoison));
        should_correct += should.result == SecdedResult::kCorrected;
        should_poison += should.result == SecdedResult::kPoison;
      }
      REQUIRE(seen.corrected == should_correct);
      REQUIRE(seen.poisoned == should_poison);
      corrected += should_correct, poisoned += should_poison;
    }
  }
  CHECK(corrected > 100);
  CHECK(poisoned > 100);
  CHECK(watched > 50);
}
