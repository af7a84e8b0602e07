// Cycles and femtoseconds, against sums of 128 bits.
#include "model/chip/time_base.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "weft/spec/chips.hpp"

using namespace weft;

namespace {

constexpr chip::Uint128 kSecond = chip::kFemtosecondsPerSecond;

void check(const chip::TimeBase& time, uint64_t cycle, uint64_t fs) {
  CAPTURE(time.clock_hz(), cycle, fs);
  const uint64_t reached = std::min(cycle, time.last_cycle());
  REQUIRE(time.edge_fs(cycle) == static_cast<uint64_t>(chip::Uint128{reached} * kSecond / time.clock_hz()));
  REQUIRE(time.cycle_at(fs) == static_cast<uint64_t>((chip::Uint128{fs} * time.clock_hz() + kSecond - 1) / kSecond));
  REQUIRE(time.cycle_at(time.edge_fs(cycle)) == reached);
}

}  // namespace

TEST_CASE("edges of every preset's clock, and of clocks that divide nothing, are exact over all of simulated time") {
  std::mt19937_64 random(1);
  std::vector<uint64_t> clocks{1, 2, 999'999'937, 1'000'000'000, 1'499'999'999};
  for (const auto& preset : spec::kChips) clocks.push_back(preset.clock_hz);
  for (const uint64_t clock : clocks) {
    const chip::TimeBase time(clock);
    for (const uint64_t fs : {uint64_t{0}, uint64_t{1}, UINT64_MAX / 2, UINT64_MAX}) check(time, fs, fs);
    for (int i = 0; i < 2000; i++) {
      const uint64_t number = random() >> random() % 64;
      check(time, number, number / 2);
    }
  }
}
