// The sweep's own parts: vectors hit what they are aimed at, outcomes are told apart, oracles agree on known values.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <map>

#include "model/golden/arith.hpp"
#include "testbench/numerics/fma_outcome.hpp"
#include "testbench/numerics/host_arith.hpp"
#include "testbench/numerics/mpfr_oracle.hpp"

namespace {

using namespace weft::numerics;

std::map<FmaOutcome, unsigned> outcomes_of(FmaClass wanted, unsigned vectors) {
  std::map<FmaOutcome, unsigned> counts;
  for (uint64_t i = 0; i < uint64_t{vectors} * kFmaClasses; i++)
    if (class_of(i) == wanted) counts[fma_outcome(fma_vector(7, i))]++;
  return counts;
}

}  // namespace

TEST_CASE("each outcome is told by a vector made by hand") {
  const std::array<std::pair<FmaVector, FmaOutcome>, 20> cases{{
      {{0x7fc0, 0x3f80, 0}, FmaOutcome::kNanOperand},
      {{0x3f80, 0x3f80, 0x7f800001}, FmaOutcome::kNanOperand},
      {{0x7f80, 0x0000, 0}, FmaOutcome::kInvalid},
      {{0x7f80, 0x0001, 0}, FmaOutcome::kInvalid},  // a subnormal is zero
      {{0x7f80, 0x3f80, 0xff800000}, FmaOutcome::kInvalid},
      {{0x7f80, 0x3f80, 0x7f800000}, FmaOutcome::kInfiniteOperand},
      {{0x3f80, 0x3f80, 0xff800000}, FmaOutcome::kInfiniteOperand},
      {{0x8000, 0x3f80, 0x00000001}, FmaOutcome::kZeroSum},
      {{0x3f80, 0x3f80, 0xbf800000}, FmaOutcome::kCancelled},
      {{0x3f80, 0x3f80, 0x3f800000}, FmaOutcome::kExact},
      {{0x3f80, 0x3300, 0x3f800000}, FmaOutcome::kRoundedDown},        // 1 + 2^-25
      {{0x3f80, 0x33c0, 0x3f800000}, FmaOutcome::kRoundedUp},          // 1 + 3 * 2^-25
      {{0x3f80, 0x3380, 0x3f800000}, FmaOutcome::kTieDown},            // 1 + 2^-24
      {{0x3f80, 0x3380, 0x3f800001}, FmaOutcome::kTieUp},              // 1 + 3 * 2^-24
      {{0x3f80, 0x3380, 0x3fffffff}, FmaOutcome::kCarried},            // 2 - 2^-23 + 2^-24
      {{0x0080, 0x3f00, 0x00000000}, FmaOutcome::kFlushed},            // 2^-127
      {{0x8080, 0x3180, 0x00800000}, FmaOutcome::kRescued},            // 2^-126 - 2^-154
      {{0x7f00, 0x4000, 0x00000000}, FmaOutcome::kOverflow},           // 2^128
      {{0x7300, 0x3f80, 0x7f7fffff}, FmaOutcome::kRoundedToInfinity},  // the largest and 2^103
      {{0x7f7f, 0x7f7f, 0xff7fffff}, FmaOutcome::kOverflow},
  }};
  for (const auto& [v, outcome] : cases) {
    INFO(std::hex << v.a << " * " << v.b << " + " << v.c);
    CHECK(kFmaOutcomeNames[static_cast<size_t>(fma_outcome(v))] == kFmaOutcomeNames[static_cast<size_t>(outcome)]);
  }
}

TEST_CASE("each class hits what it is aimed at") {
  auto tie = outcomes_of(FmaClass::kTie, 20000);
  CHECK(tie[FmaOutcome::kTieUp] > 4000);
  CHECK(tie[FmaOutcome::kTieDown] > 4000);
  auto near_tie = outcomes_of(FmaClass::kNearTie, 20000);
  CHECK(near_tie[FmaOutcome::kRoundedUp] > 4000);
  CHECK(near_tie[FmaOutcome::kRoundedDown] > 4000);
  CHECK(outcomes_of(FmaClass::kCancellation, 20000)[FmaOutcome::kCancelled] > 100);
  auto underflow = outcomes_of(FmaClass::kUnderflow, 20000);
  CHECK(underflow[FmaOutcome::kFlushed] > 1000);
  CHECK(underflow[FmaOutcome::kRescued] > 100);
  auto overflow = outcomes_of(FmaClass::kOverflow, 20000);
  CHECK(overflow[FmaOutcome::kOverflow] > 1000);
  CHECK(overflow[FmaOutcome::kRoundedToInfinity] > 300);
  auto special = outcomes_of(FmaClass::kSpecial, 20000);
  for (const auto outcome :
       {FmaOutcome::kNanOperand, FmaOutcome::kInvalid, FmaOutcome::kInfiniteOperand, FmaOutcome::kZeroSum})
    CHECK(special[outcome] > 100);
}

TEST_CASE("half of the near ties come out wrong if they are rounded twice") {
  unsigned wrong = 0, vectors = 0;
  for (uint64_t i = 0; i < 80000; i++) {
    if (class_of(i) != FmaClass::kNearTie) continue;
    const FmaVector v = fma_vector(3, i);
    // first to 26 bits (round to nearest, ties away), then to 24: what a unit with too few guard bits would do
    const auto exact = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(uint32_t{v.a} << 16)) *
                                                   static_cast<double>(std::bit_cast<float>(uint32_t{v.b} << 16)) +
                                               static_cast<double>(std::bit_cast<float>(v.c)));
    const double once = std::bit_cast<double>((exact + (uint64_t{1} << 26)) & ~((uint64_t{1} << 27) - 1));
    const uint32_t twice = std::bit_cast<uint32_t>(static_cast<float>(once));
    vectors++;
    wrong += twice != weft::golden::fma_bf16(v.a, v.b, v.c);
  }
  INFO(wrong << " of " << vectors);
  CHECK(wrong > vectors / 4);
}

TEST_CASE("a vector depends on its seed and index only, and sweeps of two seeds differ") {
  unsigned same = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    const FmaVector v = fma_vector(5, i), again = fma_vector(5, i), other = fma_vector(6, i);
    CHECK((v.a == again.a && v.b == again.b && v.c == again.c));
    same += v.a == other.a && v.b == other.b && v.c == other.c;
  }
  CHECK(same < 50);
}

TEST_CASE("host, integers and MPFR give known results") {
  struct Known {
    FmaVector v;
    uint32_t result;
  };
  const std::array<Known, 9> known{{{{0x3f80, 0x3380, 0x3f800001}, 0x3f800002},
                                    {{0x8080, 0x3180, 0x00800000}, 0x00800000},
                                    {{0x0080, 0x3f00, 0x80000000}, 0x00000000},
                                    {{0x8080, 0x3f00, 0x80000000}, 0x80000000},
                                    {{0x3f80, 0x3f80, 0xbf800000}, 0x00000000},
                                    {{0x7300, 0x3f80, 0x7f7fffff}, 0x7f800000},
                                    {{0x7f80, 0x0001, 0x00000000}, 0x7fc00000},
                                    {{0xff81, 0x3f80, 0x00000000}, 0x7fc00000},
                                    {{0x8001, 0x3f80, 0x80000001}, 0x80000000}}};
  for (const auto& [v, result] : known) {
    std::array<uint32_t, 1> host{};
    host_fma(std::span(&v.a, 1), std::span(&v.b, 1), std::span(&v.c, 1), host);
    INFO(std::hex << v.a << " * " << v.b << " + " << v.c);
    CHECK(host[0] == result);
    CHECK(weft::golden::fma_bf16(v.a, v.b, v.c) == result);
    CHECK(mpfr_fma_bits(v) == result);
  }
}
