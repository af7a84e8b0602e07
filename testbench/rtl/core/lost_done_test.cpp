// retire.sv under fault injection: a command whose done is lost, one that is never done, and the reset that ends both.
#include <Vretire_model.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

constexpr unsigned kUnits = sizeof(Vretire_model::post_i) / sizeof(uint64_t);

/// What a command posts: any semaphores and counts, the same for the same tag.
uint64_t post_of(uint16_t tag) { return uint64_t{tag} << 48 | (tag * 0x9e3779b97f4a7c15u >> 16); }

class RetireBench : public weft::bench::VerilatedBench<Vretire_model> {
 public:
  explicit RetireBench(unsigned unit) : unit_(unit) {
    for (auto& post : top->post_i) post = 0;
    top->start_i = top->done_i = top->not_done_i = top->lost_done_i = 0;
    top->post_overflow_i = 0, top->post_overflow_sem_i = 0;
    reset();
  }
  enum class Mark { kNone, kNotDone, kLostDone };
  /// The unit takes a command.
  void start(uint16_t tag, Mark mark = Mark::kNone) {
    top->post_i[unit_] = post_of(tag);
    top->start_i = 1u << unit_;
    top->not_done_i = static_cast<uint8_t>(unsigned{mark == Mark::kNotDone} << unit_);
    top->lost_done_i = static_cast<uint8_t>(unsigned{mark == Mark::kLostDone} << unit_);
    cycle_of_work();
    top->start_i = top->not_done_i = top->lost_done_i = 0;
  }
  void done() {
    top->done_i = 1u << unit_;
    cycle_of_work();
    top->done_i = 0;
  }
  void idle(unsigned cycles) {
    for (unsigned i = 0; i < cycles; i++) cycle_of_work();
  }
  [[nodiscard]] bool held() {
    settle();
    return (top->held_o >> unit_ & 1) != 0;
  }
  std::vector<uint16_t> retired;  ///< tags, in order

 private:
  void cycle_of_work() {
    settle();
    if ((top->retire_o >> unit_ & 1) != 0) {
      retired.push_back(static_cast<uint16_t>(top->post_o >> 48));
      CHECK(top->post_o == post_of(retired.back()));
    }
    step();
    settle();
  }
  unsigned unit_;
};
using Mark = RetireBench::Mark;
using Tags = std::vector<uint16_t>;

}  // namespace

TEST_CASE("a command that is never done holds its unit for ever: no done of it or after it counts, until a reset") {
  const unsigned unit = GENERATE(range(0u, kUnits));
  RetireBench bench(unit);
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
  Tags expected{1};
  for (uint16_t tag = 4; tag < 40; tag++) {
    bench.start(tag), bench.done(), bench.idle(2);
    expected.push_back(tag);
  }
  CHECK(bench.retired == expected);
}

TEST_CASE("of a command whose done is lost the next done of its unit counts, and the last command waits") {
  const unsigned unit = GENERATE(range(0u, kUnits));
  RetireBench bench(unit);
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
