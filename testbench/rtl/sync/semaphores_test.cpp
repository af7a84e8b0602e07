// semaphores.sv against a plain model: waits, posts, overflow, register access, fairness.
#include <Vsemaphores_bench.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>

#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

constexpr unsigned kQueues = WEFT_CORE_QUEUES;
constexpr uint8_t kNone = WEFT_NO_SEMAPHORE;

struct Pair {
  uint8_t sem0 = kNone, sem1 = kNone;
  uint16_t count0 = 0, count1 = 0;
};

/// The block and its inputs for one cycle; step() clocks it.
class Bench {
 public:
  Bench() {
    top_.clk_i = 0;
    top_.rst_ni = 0;
    post(std::nullopt);
    write(std::nullopt, 0);
    step();
    top_.rst_ni = 1;
  }
  void wait(unsigned queue, const std::optional<Pair>& pair) {
    valid_ = (valid_ & ~(1u << queue)) | (pair ? 1u << queue : 0u);
    const Pair p = pair.value_or(Pair{});
    sem0_[queue] = p.sem0;
    sem1_[queue] = p.sem1;
    count0_[queue] = p.count0;
    count1_[queue] = p.count1;
  }
  void post(const std::optional<Pair>& pair) {
    const Pair p = pair.value_or(Pair{});
    top_.post_valid_i = pair.has_value();
    top_.post_sem0_i = p.sem0;
    top_.post_sem1_i = p.sem1;
    top_.post_count0_i = p.count0;
    top_.post_count1_i = p.count1;
  }
  void write(std::optional<unsigned> index, uint16_t value) {
    top_.csr_write_i = index.has_value();
    if (index) top_.csr_index_i = static_cast<uint8_t>(*index);
    top_.csr_wdata_i = value;
  }
  /// Lets this cycle's inputs settle.
  void settle() {
    top_.wait_valid_i = static_cast<uint8_t>(valid_);
    top_.wait_sem0_i = pack(sem0_);
    top_.wait_sem1_i = pack(sem1_);
    std::memcpy(top_.wait_count0_i.data(), count0_.data(), sizeof count0_);
    std::memcpy(top_.wait_count1_i.data(), count1_.data(), sizeof count1_);
    top_.clk_i = 0;
    top_.eval();
  }
  void step() {
    settle();
    waves_.before_edge(cycle_);
    top_.clk_i = 1;
    top_.eval();
    waves_.after_edge(cycle_++);
  }
  [[nodiscard]] unsigned grant() const { return top_.wait_grant_o; }
  [[nodiscard]] bool overflow() const { return top_.overflow_o != 0; }
  [[nodiscard]] unsigned overflow_sem() const { return top_.overflow_sem_o; }
  uint16_t value(unsigned index) {
    const uint8_t before = top_.csr_index_i;
    top_.csr_index_i = static_cast<uint8_t>(index);
    top_.eval();
    const uint16_t value = top_.csr_rdata_o;
    top_.csr_index_i = before;
    return value;
  }
  [[nodiscard]] uint64_t nonzero() const { return top_.nonzero_o; }
  void reset() {
    top_.rst_ni = 0;
    step();
    top_.rst_ni = 1;
  }

 private:
  static uint64_t pack(const std::array<uint8_t, kQueues>& bytes) {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data(), bytes.size());
    return v;
  }
  std::unique_ptr<VerilatedContext> context_ = weft::bench::make_context();
  Vsemaphores_bench top_{context_.get()};
  weft::bench::Waves<Vsemaphores_bench> waves_{*context_, top_};
  uint64_t cycle_ = 0;
  unsigned valid_ = 0;
  std::array<uint8_t, kQueues> sem0_{}, sem1_{};
  std::array<uint16_t, kQueues> count0_{}, count1_{};
};

using Counts = std::array<uint16_t, WEFT_SEMAPHORES>;

bool ready(const Counts& counts, const Pair& p) {
  return (p.sem0 == kNone || counts[p.sem0] >= p.count0) && (p.sem1 == kNone || counts[p.sem1] >= p.count1);
}

void add(Counts& counts, const Pair& p, int sign) {
  if (p.sem0 != kNone) counts[p.sem0] = static_cast<uint16_t>(counts[p.sem0] + sign * p.count0);
  if (p.sem1 != kNone) counts[p.sem1] = static_cast<uint16_t>(counts[p.sem1] + sign * p.count1);
}

/// The semaphore that a post would overflow after `counts`, lowest operand first.
std::optional<uint8_t> overflowing(const Counts& counts, const Pair& p) {
  if (p.sem0 != kNone && counts[p.sem0] + p.count0 > UINT16_MAX) return p.sem0;
  if (p.sem1 != kNone && counts[p.sem1] + p.count1 > UINT16_MAX) return p.sem1;
  return std::nullopt;
}

uint64_t nonzero(const Counts& counts) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < counts.size(); i++) bits |= uint64_t{counts[i] != 0} << i;
  return bits;
}

/// Random cycles over `semaphores` semaphores with counts up to `largest`.
void run_random(unsigned seed, unsigned semaphores, unsigned largest) {
  INFO("seed " << seed << ", semaphores " << semaphores << ", largest " << largest);
  std::mt19937 random(seed);
  auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  auto pair = [&] {
    Pair p;
    if (draw(4) != 0) p = {static_cast<uint8_t>(draw(semaphores)), kNone, static_cast<uint16_t>(1 + draw(largest)), 0};
    if (draw(2) != 0) {
      const auto sem = static_cast<uint8_t>(draw(semaphores));
      if (sem != p.sem0) p.sem1 = sem, p.count1 = static_cast<uint16_t>(1 + draw(largest));
    }
    return p;
  };
  Bench bench;
  Counts counts{};
  std::array<std::optional<Pair>, kQueues> waits;
  std::array<unsigned, kQueues> passed_over{};
  unsigned grants = 0, overflows = 0, contended = 0;
  for (unsigned cycle = 0; cycle < 40000; cycle++) {
    for (unsigned q = 0; q < kQueues; q++) {
      if (!waits[q] && draw(3) == 0) waits[q] = pair();
      bench.wait(q, waits[q]);
    }
    std::optional<Pair> post;
    if (draw(2) == 0) post = pair();
    bench.post(post);
    std::optional<unsigned> written;
    const auto value = static_cast<uint16_t>(draw(8) == 0 ? 65535 - draw(largest) : draw(100));
    if (draw(200) == 0) written = draw(semaphores);
    bench.write(written, value);
    bench.settle();

    const unsigned grant = bench.grant();
    REQUIRE((grant & (grant - 1)) == 0);
    unsigned eligible = 0;
    for (unsigned q = 0; q < kQueues; q++)
      if (waits[q] && ready(counts, *waits[q])) eligible |= 1u << q;
    REQUIRE((grant & ~eligible) == 0);
    REQUIRE((grant != 0) == (eligible != 0));
    contended += (eligible & (eligible - 1)) != 0;
    for (unsigned q = 0; q < kQueues; q++) {
      const bool passed = (eligible >> q & 1) != 0 && (grant >> q & 1) == 0;
      passed_over[q] = passed ? passed_over[q] + 1 : 0;
      REQUIRE(passed_over[q] < kQueues);
      if ((grant >> q & 1) != 0) {
        add(counts, *waits[q], -1);
        waits[q].reset();
        grants++;
      }
    }
    const auto over = post ? overflowing(counts, *post) : std::nullopt;
    REQUIRE(bench.overflow() == over.has_value());
    if (over) {
      REQUIRE(bench.overflow_sem() == *over);
      overflows++;
    } else if (post) {
      add(counts, *post, 1);
    }
    if (written) counts[*written] = value;
    bench.step();
    bench.write(std::nullopt, 0);
    const unsigned looked_at = draw(WEFT_SEMAPHORES);
    REQUIRE(bench.value(looked_at) == counts[looked_at]);
    REQUIRE(bench.nonzero() == nonzero(counts));
  }
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) REQUIRE(bench.value(i) == counts[i]);
  CHECK(grants > 1000);
  CHECK(contended > 100);
  if (largest > 1000) CHECK(overflows > 100);
}

}  // namespace

TEST_CASE("random waits and posts lose and double no count") {
  for (unsigned seed = 1; seed <= 4; seed++) run_random(seed, 4, 3);
  run_random(5, 64, 3);
}

TEST_CASE("a post that would overflow posts neither semaphore") {
  for (unsigned seed = 11; seed <= 14; seed++) run_random(seed, 3, 60000);
  Bench bench;
  bench.write(7, 65535);
  bench.step();
  bench.write(std::nullopt, 0);
  bench.post(Pair{3, 7, 5, 1});
  bench.settle();
  CHECK(bench.overflow());
  CHECK(bench.overflow_sem() == 7);
  bench.step();
  CHECK(bench.value(3) == 0);
  CHECK(bench.value(7) == 65535);
}

TEST_CASE("a wait takes both counts or none") {
  Bench bench;
  bench.write(1, 2);
  bench.step();
  bench.write(std::nullopt, 0);
  bench.wait(0, Pair{1, 2, 2, 1});
  for (unsigned i = 0; i < 3; i++) {
    bench.step();
    CHECK(bench.value(1) == 2);
  }
  bench.post(Pair{2, kNone, 1, 0});
  bench.step();
  bench.post(std::nullopt);
  bench.settle();
  CHECK(bench.grant() == 1);
  bench.step();
  CHECK(bench.value(1) == 0);
  CHECK(bench.value(2) == 0);
}

TEST_CASE("a wait for no semaphore takes nothing, whatever its counts") {
  Bench bench;
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) {
    bench.write(i, 1000);
    bench.step();
  }
  bench.write(std::nullopt, 0);
  for (const Pair& pair : {Pair{kNone, 5, 7, 0}, Pair{5, kNone, 0, 7}, Pair{kNone, kNone, 7, 7}}) {
    bench.wait(0, pair);
    bench.settle();
    CHECK(bench.grant() == 1);
    bench.step();
    bench.wait(0, std::nullopt);
    for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) CHECK(bench.value(i) == 1000);
  }
}

TEST_CASE("queues that want the same semaphore are served in turn, from queue 0 after a rest") {
  Bench bench;
  bench.write(9, 1000);
  bench.step();
  bench.write(std::nullopt, 0);
  for (unsigned round = 0; round < 3; round++) {
    for (unsigned q = 0; q < kQueues; q++) bench.wait(q, Pair{9, kNone, 1, 0});
    for (unsigned i = 0; i < 7; i++) {
      bench.settle();
      CHECK(bench.grant() == 1u << (i % kQueues));
      bench.step();
    }
    for (unsigned q = 0; q < kQueues; q++) bench.wait(q, std::nullopt);
    bench.step();
  }
}

TEST_CASE("reset clears all counts") {
  Bench bench;
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) {
    bench.write(i, static_cast<uint16_t>(i + 1));
    bench.step();
  }
  bench.write(std::nullopt, 0);
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) CHECK(bench.value(i) == i + 1);
  CHECK(bench.nonzero() == UINT64_MAX);
  bench.reset();
  CHECK(bench.nonzero() == 0);
  for (unsigned i = 0; i < WEFT_SEMAPHORES; i++) CHECK(bench.value(i) == 0);
}
