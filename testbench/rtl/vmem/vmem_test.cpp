// VMEM against a C++ array: random traffic on all ports, the bank rule, priorities, the starvation bound, counters,
// peeking.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "model/verilated/vmem_banks.hpp"
#include "testbench/rtl/bench/mismatch.hpp"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/chips.hpp"

// The target names the model and its preset.
#include WEFT_MODEL_HEADER

namespace {

consteval unsigned chip_index(std::string_view name) {
  unsigned i = 0;
  while (weft::spec::kChips[i].name != name) i++;
  return i;
}
constexpr const weft::spec::Chip& kChip = weft::spec::kChips[chip_index(WEFT_PRESET)];
constexpr unsigned kWordBytes = kChip.word_bytes;
constexpr unsigned kStarveLimit = 15;
using Word = std::array<uint32_t, kWordBytes / 4>;

enum Port { kX, kW, kVa, kVb, kDr, kVw, kDw, kPorts };

struct Request {
  bool valid = false;
  unsigned addr = 0;
  unsigned words = 1;
  unsigned strobes = 0;  // kDw, one each 16 bytes
  std::array<Word, 4> data{};
  bool upper = false;  // kVw, of one word
};

/// What the RTL must do, said again: grants by a list of owned banks, memory as an array.
class Reference {
 public:
  std::vector<Word> words = std::vector<Word>(kChip.vmem_words);
  unsigned dr_refused = 0, dw_refused = 0;

  /// Who is granted this cycle. Updates the refusal counts.
  std::array<bool, kPorts> arbitrate(const std::array<Request, kPorts>& r) {
    std::array<bool, kPorts> granted{};
    std::vector<Port> reads{kX, kW, kVa, kVb, kDr}, writes{kVw, kDw};
    if (dr_refused == kStarveLimit) reads = {kDr, kX, kW, kVa, kVb};
    if (dw_refused == kStarveLimit) writes = {kDw, kVw};
    for (const auto& order : {reads, writes}) {
      std::vector<bool> owned(kChip.vmem_banks);
      for (Port p : order) {
        if (!r[p].valid) continue;
        bool free = true;
        for (unsigned i = 0; i < r[p].words; i++) free = free && !owned[(r[p].addr + i) % kChip.vmem_banks];
        granted[p] = free;
        for (unsigned i = 0; free && i < r[p].words; i++) owned[(r[p].addr + i) % kChip.vmem_banks] = true;
      }
    }
    dr_refused = r[kDr].valid && !granted[kDr] ? dr_refused + 1 : 0;
    dw_refused = r[kDw].valid && !granted[kDw] ? dw_refused + 1 : 0;
    return granted;
  }
};

class Bench {
 public:
  Bench()
      : context_(weft::bench::make_context()),
        model(std::make_unique<WEFT_MODEL>(context_.get())),
        waves_(*context_, *model) {
    drive({});
    model->rst_ni = 0;
    tick();
    model->rst_ni = 1;
  }
  void settle() {
    model->clk_i = 0;
    model->eval();
  }
  void tick() {
    settle();
    waves_.before_edge(cycle_);
    model->clk_i = 1;
    model->eval();
    waves_.after_edge(cycle_++);
  }
  void drive(const std::array<Request, kPorts>& r) {
    auto& m = *model;
    m.x_req_i = r[kX].valid, m.x_addr_i = r[kX].addr;
    m.w_req_i = r[kW].valid, m.w_addr_i = r[kW].addr;
    m.va_req_i = r[kVa].valid, m.va_addr_i = r[kVa].addr, m.va_pair_i = r[kVa].words == 2;
    m.vb_req_i = r[kVb].valid, m.vb_addr_i = r[kVb].addr, m.vb_pair_i = r[kVb].words == 2;
    m.dr_req_i = r[kDr].valid, m.dr_addr_i = r[kDr].addr, m.dr_words_i = r[kDr].words;
    m.vw_req_i = r[kVw].valid, m.vw_addr_i = r[kVw].addr, m.vw_pair_i = r[kVw].words == 2;
    m.vw_upper_i = r[kVw].upper;
    m.dw_req_i = r[kDw].valid, m.dw_addr_i = r[kDw].addr, m.dw_words_i = r[kDw].words, m.dw_strb_i = r[kDw].strobes;
    std::memcpy(m.vw_wdata_i.data(), r[kVw].data.data(), 2 * kWordBytes);
    std::memcpy(m.dw_wdata_i.data(), r[kDw].data.data(), 4 * kWordBytes);
  }
  std::array<bool, kPorts> grants() const {
    const auto& m = *model;
    return {!!m.x_gnt_o, !!m.w_gnt_o, !!m.va_gnt_o, !!m.vb_gnt_o, !!m.dr_gnt_o, !!m.vw_gnt_o, !!m.dw_gnt_o};
  }
  std::array<bool, kDr + 1> valids() const {
    const auto& m = *model;
    return {!!m.x_rvalid_o, !!m.w_rvalid_o, !!m.va_rvalid_o, !!m.vb_rvalid_o, !!m.dr_rvalid_o};
  }
  const void* data(int port) const {
    const auto& m = *model;
    const std::array<const void*, kDr + 1> ports{m.x_rdata_o.data(), m.w_rdata_o.data(), m.va_rdata_o.data(),
                                                 m.vb_rdata_o.data(), m.dr_rdata_o.data()};
    return ports[static_cast<size_t>(port)];
  }
  /// What is stored, read by no port.
  const void* peek(unsigned word) const {
    return weft::core::VmemBanks(*context_, "TOP.vmem_bench.u_vmem.u_storage", kWordBytes).word(word);
  }
  /// Writes a word through vw: memories start with random values.
  void poke(unsigned word, const Word& value) {
    std::array<Request, kPorts> request{};
    request[kVw] = {.valid = true, .addr = word, .words = 1, .strobes = 0, .data = {value}};
    drive(request);
    tick();
    drive({});
  }

 private:
  std::unique_ptr<VerilatedContext> context_;

 public:
  std::unique_ptr<WEFT_MODEL> model;

 private:
  weft::bench::Waves<WEFT_MODEL> waves_;
  uint64_t cycle_ = 0;
};

Request random_request(std::mt19937& random, Port port, unsigned span) {
  Request r;
  r.valid = true;
  r.addr = random() % span;
  if (port == kVa || port == kVb || port == kVw) {
    r.words = 1 + random() % 2;
    if (r.words == 2) r.addr &= ~1u;
    r.upper = port == kVw && r.words == 1 && random() % 2 == 0;
  }
  if (port == kDr || port == kDw) {
    r.words = 1 + random() % kChip.dma_words;
    r.addr = std::min(r.addr, kChip.vmem_words - r.words);
  }
  if (port == kDw) {
    const unsigned all = (1u << (r.words * kWordBytes / 16)) - 1;
    r.strobes = random() % 4 ? all : static_cast<unsigned>(random()) & all;
  }
  if (port == kVw || port == kDw)
    for (auto& word : r.data)
      for (auto& lane : word) lane = static_cast<uint32_t>(random());
  return r;
}

}  // namespace

TEST_CASE("random traffic on all ports reads and writes what an array does") {
  // In percent: how often an idle port asks. A narrow span makes reads meet writes and banks clash.
  struct Mix {
    unsigned ask, span, cycles;
  };
  const auto mix = GENERATE(Mix{100, 64, 20000}, Mix{75, 16384, 20000}, Mix{25, 24, 20000});  // idles 0, 25, 75 %
  const auto seed = static_cast<unsigned>(weft::bench::stimulus_seed(2024));
  fmt::print("seed {}, ask {} %, span {} words\n", seed, mix.ask, mix.span);
  std::mt19937 random(seed + mix.ask);
  Bench bench;
  Reference reference;
  for (unsigned word = 0; word < kChip.vmem_words; word++) bench.poke(word, reference.words[word]);
  std::array<Request, kPorts> request{};
  std::array<uint64_t, kPorts> refused{};
  unsigned both_sides = 0;
  for (unsigned cycle = 0; cycle < mix.cycles; cycle++) {
    for (int p = 0; p < kPorts; p++)
      if (!request[static_cast<size_t>(p)].valid && random() % 100 < mix.ask)
        request[static_cast<size_t>(p)] = random_request(random, static_cast<Port>(p), mix.span);
    bench.drive(request);
    bench.settle();
    const auto want = reference.arbitrate(request);
    const auto got = bench.grants();
    for (size_t p = 0; p < kPorts; p++) {
      INFO("cycle " << cycle << " port " << p);
      REQUIRE(got[p] == want[p]);
      refused[p] += request[p].valid && !want[p];
    }
    const auto refusal = [&](Port p) { return request[p].valid && !want[p]; };
    const unsigned grant_pulses =
        want[kX] | want[kW] << 1 | (want[kVa] || want[kVb]) << 2 | want[kVw] << 3 | want[kDr] << 4 | want[kDw] << 5;
    const unsigned conflict_pulses = refusal(kX) | refusal(kW) << 1 | (refusal(kVa) || refusal(kVb)) << 2 |
                                     refusal(kVw) << 3 | refusal(kDr) << 4 | refusal(kDw) << 5;
    REQUIRE(bench.model->cnt_grant_o == grant_pulses);
    REQUIRE(bench.model->cnt_conflict_o == conflict_pulses);

    // What the reads must show: the words with this cycle's writes.
    for (Port p : {kVw, kDw})
      for (unsigned i = 0; want[p] && i < request[p].words; i++)
        for (unsigned half = 0; half < kWordBytes / 8; half++)
          if (p == kVw ? !request[p].upper || half >= kWordBytes / 16
                       : (request[p].strobes >> (i * kWordBytes / 16 + half / 2) & 1) != 0) {
            for (size_t read = 0; read <= kDr; read++)
              both_sides += want[read] && request[p].addr + i - request[read].addr < request[read].words;
            std::copy_n(&request[p].data[i][2 * half], 2, &reference.words[request[p].addr + i][2 * half]);
          }
    std::array<std::array<Word, 4>, kDr + 1> expected{};
    for (size_t p = 0; p <= kDr; p++)
      for (unsigned i = 0; want[p] && i < request[p].words; i++) expected[p][i] = reference.words[request[p].addr + i];
    const auto asked = request;
    for (size_t p = 0; p < kPorts; p++)
      if (want[p]) request[p] = {};
    bench.tick();
    const auto valid = bench.valids();
    for (size_t p = 0; p <= kDr; p++) {
      INFO("cycle " << cycle << " port " << p << " word " << asked[p].addr);
      REQUIRE(valid[p] == want[p]);
      if (!want[p]) continue;
      const auto* got = static_cast<const uint32_t*>(bench.data(static_cast<int>(p)));
      for (unsigned lane = 0; lane < asked[p].words * kWordBytes / 4; lane++) {
        const uint32_t expect = expected[p][lane / (kWordBytes / 4)][lane % (kWordBytes / 4)];
        if (got[lane] != expect)
          FAIL(weft::bench::mismatch_text(
              {.command = fmt::format("read port {} word {} words {}", p, asked[p].addr, asked[p].words),
               .row = asked[p].addr + lane / (kWordBytes / 4),
               .lane = lane % (kWordBytes / 4),
               .rtl = got[lane],
               .reference = expect,
               .cycle = cycle,
               .seed = seed}));
      }
    }
  }
  for (unsigned word = 0; word < kChip.vmem_words; word++) {
    INFO("word " << word);
    REQUIRE(std::memcmp(bench.peek(word), reference.words[word].data(), kWordBytes) == 0);
  }
  fmt::print("refused: x {} w {} va {} vb {} dr {} vw {} dw {}; words read and written in one cycle: {}\n", refused[kX],
             refused[kW], refused[kVa], refused[kVb], refused[kDr], refused[kVw], refused[kDw], both_sides);
  CHECK(refused[kDr] > 0);
  if (mix.span < 100) CHECK(both_sides > 0);
}

TEST_CASE("a DMA read that MXU reads keep away is granted after fifteen refusals, once") {
  Bench bench;
  std::array<Request, kPorts> request{};
  request[kX] = {.valid = true, .addr = 5};
  request[kDr] = {.valid = true, .addr = 4, .words = 4};
  for (unsigned cycle = 0; cycle < 64; cycle++) {
    bench.drive(request);
    bench.settle();
    const bool turn = cycle % 16 == 15;
    INFO("cycle " << cycle);
    CHECK(!!bench.model->dr_gnt_o == turn);
    CHECK(!!bench.model->x_gnt_o == !turn);
    bench.tick();
  }
}

TEST_CASE("a DMA write that VPU writes keep away is granted after fifteen refusals, once") {
  Bench bench;
  std::array<Request, kPorts> request{};
  request[kVw] = {.valid = true, .addr = 18, .words = 2};
  request[kDw] = {.valid = true, .addr = 31, .words = 4};  // banks 15, 0, 1, 2
  for (unsigned cycle = 0; cycle < 64; cycle++) {
    bench.drive(request);
    bench.settle();
    const bool turn = cycle % 16 == 15;
    INFO("cycle " << cycle);
    CHECK(!!bench.model->dw_gnt_o == turn);
    CHECK(!!bench.model->vw_gnt_o == !turn);
    bench.tick();
  }
}

TEST_CASE("first and last words, every count, every bank, every strobe: a write is read back by every port") {
  const auto seed = static_cast<unsigned>(weft::bench::stimulus_seed(7));
  std::mt19937 random(seed);
  Bench bench;
  std::vector<Word> words(kChip.vmem_words);
  const auto draw = [&] {
    Word word;
    for (auto& lane : word) lane = static_cast<uint32_t>(random());
    return word;
  };
  std::vector<unsigned> firsts;
  for (unsigned i = 0; i < 2 * kChip.vmem_banks; i++) firsts.push_back(i), firsts.push_back(kChip.vmem_words - 1 - i);
  for (const unsigned first : firsts) bench.poke(first, words[first] = draw());
  const auto read_all = [&](unsigned word) {
    std::array<Request, kPorts> request{};
    for (const Port port : {kX, kW, kVa, kVb, kDr}) {
      request = {};
      request[port] = {.valid = true, .addr = word, .words = 1};
      bench.drive(request);
      bench.tick();
      INFO("word " << word << " port " << port << " seed " << seed);
      REQUIRE(std::memcmp(bench.data(port), words[word].data(), kWordBytes) == 0);
    }
  };
  for (const unsigned first : firsts)
    for (unsigned count = 1; count <= kChip.dma_words && first + count <= kChip.vmem_words; count++) {
      Request request{.valid = true, .addr = first, .words = count};
      for (auto& word : request.data) word = draw();
      const unsigned chunks = count * kWordBytes / 16;
      request.strobes = static_cast<unsigned>(random()) & ((1u << chunks) - 1);
      if (random() % 4 == 0) request.strobes = (1u << chunks) - 1;
      std::array<Request, kPorts> all{};
      all[kDw] = request;
      bench.drive(all);
      bench.tick();
      bench.drive({});
      for (unsigned chunk = 0; chunk < chunks; chunk++)
        if ((request.strobes >> chunk & 1) != 0)
          std::copy_n(&request.data[chunk * 16 / kWordBytes][chunk * 16 % kWordBytes / 4], 4,
                      &words[first + chunk * 16 / kWordBytes][chunk * 16 % kWordBytes / 4]);
      for (unsigned i = 0; i < count; i++)
        if (first < 2 * kChip.vmem_banks - 4 || first >= kChip.vmem_words - 2 * kChip.vmem_banks) read_all(first + i);
    }
}

TEST_CASE("all seven ports move in one cycle when their banks differ") {
  Bench bench;
  std::array<Request, kPorts> request{};
  request[kX] = {.valid = true, .addr = 0};
  request[kW] = {.valid = true, .addr = 16 + 1};
  request[kVa] = {.valid = true, .addr = 32 + 2, .words = 2};
  request[kVb] = {.valid = true, .addr = 4, .words = 2};
  request[kDr] = {.valid = true, .addr = 6, .words = 4};
  request[kVw] = {.valid = true, .addr = 0, .words = 2};
  request[kDw] = {.valid = true, .addr = 2, .words = 4, .strobes = (1u << (4 * kWordBytes / 16)) - 1};
  bench.drive(request);
  bench.settle();
  for (bool granted : bench.grants()) CHECK(granted);
  CHECK(bench.model->cnt_grant_o == 0x3f);
  CHECK(bench.model->cnt_conflict_o == 0);
}
