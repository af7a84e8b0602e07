// retire.sv under fault injection: a command whose done is lost, one that is never done, and the reset that ends both.
#include <Vretire_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "testbench/rtl/bench/verilated_bench.hpp"
#include "weft/spec/spec.h"

namespace {

constexpr unsigned kUnit = WEFT_UNIT_VPU;

class RetireBench : public weft::bench::VerilatedBench<Vretire_model> {
 public:
  RetireBench() {
    top->start_i = top->done_i = top->not_done_i = top->lost_done_i = 0;
    top->post_overflow_i = 0, top->post_overflow_sem_i = 0;
    reset();
  }
  enum class Mark { kNone, kNotDone, kLostDone };
  /// The unit takes a command.
  void start(uint16_t tag, Mark mark = Mark::kNone) {
    top->post_i[kUnit] = uint64_t{tag} << 48 | 0xffff;
    top->start_i = 1u << kUnit;
    top->not_done_i = static_cast<uint8_t>(unsigned{mark == Mark::kNotDone} << kUnit);
    top->lost_done_i = static_cast<uint8_t>(unsigned{mark == Mark::kLostDone} << kUnit);
    cycle_of_work();
    top->start_i = top->not_done_i = top->lost_done_i = 0;
  }
  void done() {
    top->done_i = 1u << kUnit;
    cycle_of_work();
    top->done_i = 0;
  }
  void idle(unsigned cycles) {
    for (unsigned i = 0; i < cycles; i++) cycle_of_work();
  }
  [[nodiscard]] bool held() {
    settle();
    return (top->held_o >> kUnit & 1) != 0;
  }
  std::vector<uint16_t> retired;  ///< tags, in order

 private:
  void cycle_of_work() {
    settle();
    if ((top->retire_o >> kUnit & 1) != 0) retired.push_back(static_cast<uint16_t>(top->post_o >> 48));
    step();
    settle();
  }
};
using Mark = RetireBench::Mark;
using Tags = std::vector<uint16_t>;

}  // namespace

TEST_CASE("a command that is never done holds its unit for ever: no done of it or after it counts, until a reset") {
  RetireBench bench;
  bench.start(1);
  bench.start(2, Mark::kNotDone);
  bench.start(3);
  for (unsigned i = 0; i < 2; i++) bench.done(), bench.idle(3);
  CHECK(bench.retired == Tags{1});
  bench.done();
  bench.idle(10);
  CHECK(bench.retired == Tags{1});
  CHECK(bench.held());
  bench.reset();
  CHECK_FALSE(bench.held());
  for (uint16_t tag = 4; tag < 10; tag++) bench.start(tag), bench.done(), bench.idle(2);
  CHECK(bench.retired == Tags{1, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("of a command whose done is lost the next done of its unit counts, and the last command waits") {
  RetireBench bench;
  bench.start(1);
  bench.start(2, Mark::kLostDone);
  bench.start(3);
  for (unsigned i = 0; i < 3; i++) bench.done(), bench.idle(3);
  CHECK(bench.retired == Tags{1, 2});
  CHECK(bench.held());
  bench.done();
  bench.idle(3);
  CHECK(bench.retired == Tags{1, 2, 3});
  CHECK_FALSE(bench.held());
  for (uint16_t tag = 4; tag < 12; tag++) bench.start(tag), bench.done(), bench.idle(2);
  CHECK(bench.retired.size() == 11);
}
