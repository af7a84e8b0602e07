// mxu_pe.sv alone, of one to four cycles: the multiply-add of both types, the shadow and the active weight, bypass,
// what travels on.
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>

#include "Vmxu_pe2_model.h"
#include "Vmxu_pe3_model.h"
#include "Vmxu_pe4_model.h"
#include "Vmxu_pe_model.h"
#include "testbench/rtl/bench/mismatch.hpp"
#include "testbench/rtl/bench/stream.hpp"
#include "testbench/rtl/bench/verilated_bench.hpp"
#include "testbench/rtl/mxu/mxu_reference.hpp"

namespace {

using namespace weft::bench;

/// mxu_pe has no reset: its control comes from flip-flops that have one.
template <class Top>
class PeBench {
 public:
  PeBench() : context_(make_context()), top(std::make_unique<Top>(context_.get())) {
    top->swap_i = top->bypass_i = top->int8_i = top->shift_i = top->left_i = 0;
    top->x_i = top->shadow_i = 0;
    top->sum_i = 0;
  }
  void step() {
    context_->time(cycle++);
    top->clk_i = 0;
    top->eval();
    top->clk_i = 1;
    top->eval();
  }

 private:
  std::unique_ptr<VerilatedContext> context_;

 public:
  std::unique_ptr<Top> top;
  uint64_t cycle = 0;
};

int32_t byte(uint16_t value, unsigned index) { return static_cast<int8_t>(value >> (8 * index)); }

/// The PE said again, and what its registers hold.
struct Model {
  uint16_t shadow = 0, active = 0;
  uint32_t sum = 0;
  bool left = false;

  template <class Top>
  void step(const Top& t) {
    const uint16_t weight = t.swap_i ? shadow : active;
    const int64_t exact = static_cast<int64_t>(static_cast<int32_t>(t.sum_i)) + byte(t.x_i, 0) * byte(weight, 0) +
                          byte(t.x_i, 1) * byte(weight, 1);
    left = t.left_i || (t.int8_i && !t.bypass_i && (exact > INT32_MAX || exact < INT32_MIN));
    sum = t.bypass_i ? t.sum_i
          : t.int8_i ? static_cast<uint32_t>(exact)
                     : weft::mxu_bench::host_fma(t.x_i, weight, t.sum_i);
    active = weight;
    if (t.shift_i) shadow = t.shadow_i;
  }
};

/// Sums of the last steps: that of `latency` steps ago is at the PE's output.
class Pipeline {
 public:
  explicit Pipeline(unsigned latency) : latency_(latency) {}
  void step(uint32_t sum, bool left) {
    entered_.push_back({sum, left});
    if (entered_.size() > latency_) entered_.pop_front();
  }
  [[nodiscard]] bool full() const { return entered_.size() == latency_; }
  [[nodiscard]] uint32_t sum() const { return entered_.front().first; }
  [[nodiscard]] bool left() const { return entered_.front().second; }

 private:
  unsigned latency_;
  std::deque<std::pair<uint32_t, bool>> entered_;
};

template <class Top>
void check_weights_and_sums(unsigned latency) {
  uint64_t compared = 0;
  const uint64_t seed = stimulus_seed(1);
  for (const unsigned idle : kStreamLevels)
    for (const bool int8 : {false, true}) {
      std::mt19937_64 random(seed + idle + int8);
      PeBench<Top> bench;
      Model model;
      Pipeline pipeline(latency);
      auto& t = *bench.top;
      // Both planes are defined first, as a tile's load and its first row do.
      t.shift_i = 1;
      bench.step();
      model.step(t);
      t.swap_i = 1;
      bench.step();
      model.step(t);
      constexpr uint32_t kEdges[] = {0,          0x80000000, 0x7fffffff, 0x7f800000,
                                     0xff800000, 0x7fc00000, 0x00800000, 0xffffffff};
      for (unsigned i = 0; i < 40000; i++) {
        const uint64_t r = random();
        t.int8_i = int8;
        t.shift_i = !chance(random, idle), t.swap_i = !chance(random, 50), t.bypass_i = chance(random, idle / 2);
        t.x_i = static_cast<uint16_t>(r), t.shadow_i = static_cast<uint16_t>(r >> 16);
        if (r >> 60 < 8 && !int8) t.x_i = static_cast<uint16_t>((t.x_i & 0x807f) | 0x3f80);
        t.sum_i = r >> 59 & 1 ? kEdges[r >> 56 & 7] : static_cast<uint32_t>(r >> 24);
        t.left_i = chance(random, 5);
        const auto before = model;
        bench.step();
        model.step(t);
        pipeline.step(model.sum, model.left);
        compared += pipeline.full();
        if (pipeline.full() && t.sum_o != pipeline.sum())
          FAIL(mismatch_text(
              {.command = fmt::format("x {:04x} shadow {:04x} active {:04x} swap {} bypass {} sum {:08x}", t.x_i,
                                      before.shadow, before.active, +t.swap_i, +t.bypass_i, t.sum_i),
               .element = int8 ? Element::kI32 : Element::kF32,
               .rtl = t.sum_o,
               .reference = pipeline.sum(),
               .cycle = bench.cycle,
               .seed = seed}));
        INFO(rerun_line(seed, bench.cycle));
        if (pipeline.full()) REQUIRE(!!t.left_o == pipeline.left());
        REQUIRE(t.shadow_o == model.shadow);
        REQUIRE(t.x_o == t.x_i);
        REQUIRE(t.swap_o == t.swap_i);
        REQUIRE(t.bypass_o == t.bypass_i);
        REQUIRE(t.int8_o == t.int8_i);
        REQUIRE(t.shift_o == t.shift_i);
      }
    }
  CHECK(compared == std::size(kStreamLevels) * 2 * (40000 - (latency - 1)));
}

template <class Top>
void check_ends(unsigned latency) {
  for (const int32_t start : {INT32_MAX, INT32_MAX - 1, INT32_MIN, INT32_MIN + 1, INT32_MAX - 32258, INT32_MIN + 32512})
    for (const uint16_t x : {uint16_t{0x0001}, uint16_t{0x7f7f}, uint16_t{0x8080}, uint16_t{0xff00}})
      for (const uint16_t w : {uint16_t{0x0001}, uint16_t{0x7f7f}, uint16_t{0x8080}, uint16_t{0x0100}}) {
        PeBench<Top> bench;
        Model model;
        auto& t = *bench.top;
        t.shift_i = 1, t.shadow_i = w;
        bench.step();
        model.step(t);
        t.shift_i = 0, t.swap_i = t.int8_i = 1, t.x_i = x, t.sum_i = static_cast<uint32_t>(start);
        for (unsigned i = 0; i < latency; i++) bench.step();
        model.step(t);
        INFO("start " << start << " x " << x << " w " << w);
        CHECK(t.sum_o == model.sum);
        CHECK(!!t.left_o == model.left);
      }
}

}  // namespace

TEST_CASE(
    "at every rate of shifts and swaps the active weight is what the shadow held at the swap, and sums are right") {
  check_weights_and_sums<Vmxu_pe_model>(1);
  check_weights_and_sums<Vmxu_pe2_model>(2);
  check_weights_and_sums<Vmxu_pe3_model>(3);
  check_weights_and_sums<Vmxu_pe4_model>(4);
}

TEST_CASE("an int8 sum leaves int32 exactly beyond its ends") {
  check_ends<Vmxu_pe_model>(1);
  check_ends<Vmxu_pe2_model>(2);
  check_ends<Vmxu_pe3_model>(3);
  check_ends<Vmxu_pe4_model>(4);
}
