// secded_encode and secded_decode: every single and every double flip on many words, against the same codes in C++.
#include "model/golden/secded.hpp"

#include <Vsecded_bench_model.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "testbench/rtl/bench/verilated_bench.hpp"

namespace {

using weft::golden::kSecded32;
using weft::golden::kSecded64;
using weft::golden::SecdedResult;

constexpr unsigned kSeed = 7;

/// One decode of the RTL.
struct Decoded {
  uint64_t data;
  bool corrected, poison;
};

class Bench {
 public:
  Decoded decode64(uint64_t data, uint64_t flip, unsigned flip_check) {
    top_.data64_i = data, top_.flip64_i = flip, top_.flip_check64_i = static_cast<uint8_t>(flip_check);
    top_.eval();
    return {top_.data64_o, top_.corrected64_o != 0, top_.poison64_o != 0};
  }
  Decoded decode32(uint64_t data, uint64_t flip, unsigned flip_check) {
    top_.data32_i = static_cast<uint32_t>(data), top_.flip32_i = static_cast<uint32_t>(flip);
    top_.flip_check32_i = static_cast<uint8_t>(flip_check);
    top_.eval();
    return {top_.data32_o, top_.corrected32_o != 0, top_.poison32_o != 0};
  }
  [[nodiscard]] unsigned check64() const { return top_.check64_o; }
  [[nodiscard]] unsigned check32() const { return top_.check32_o; }

 private:
  std::unique_ptr<VerilatedContext> context_ = weft::bench::make_context();
  Vsecded_bench_model top_{context_.get()};
};

/// Zero, all ones, one bit each, and random words.
std::vector<uint64_t> words(unsigned bits) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> all{0, mask};
  for (unsigned i = 0; i < bits; i++) all.push_back(uint64_t{1} << i);
  std::mt19937_64 random(kSeed);
  while (all.size() < 300) all.push_back(random() & mask);
  return all;
}

/// Every flip of one bit and of two, of `data_bits` + `check_bits`. decode(data, flipped data bits, flipped check
/// bits).
template <class Decode>
void check_flips(unsigned data_bits, unsigned check_bits, Decode&& decode) {
  const auto part = [&](unsigned bit, uint64_t& data, unsigned& check) {
    if (bit < data_bits) {
      data ^= uint64_t{1} << bit;
    } else {
      check ^= 1u << (bit - data_bits);
    }
  };
  INFO("seed " << kSeed);
  for (const uint64_t word : words(data_bits)) {
    const Decoded good = decode(word, 0, 0);
    REQUIRE((good.data == word && !good.corrected && !good.poison));
    for (unsigned a = 0; a < data_bits + check_bits; a++) {
      uint64_t data = 0;
      unsigned check = 0;
      part(a, data, check);
      const Decoded one = decode(word, data, check);
      if (one.data != word || !one.corrected || one.poison) FAIL("word " << word << ", bit " << a);
      for (unsigned b = a + 1; b < data_bits + check_bits; b++) {
        uint64_t data2 = data;
        unsigned check2 = check;
        part(b, data2, check2);
        const Decoded two = decode(word, data2, check2);
        if (!two.poison || two.corrected) FAIL("word " << word << ", bits " << a << " and " << b);
      }
    }
  }
}

}  // namespace

TEST_CASE("64 + 8: every single flip of 300 words is corrected, every double flip is told") {
  Bench bench;
  check_flips(64, 8, [&](uint64_t word, uint64_t data, unsigned check) { return bench.decode64(word, data, check); });
}

TEST_CASE("32 + 7: every single flip of 300 words is corrected, every double flip is told") {
  Bench bench;
  check_flips(32, 7, [&](uint64_t word, uint64_t data, unsigned check) { return bench.decode32(word, data, check); });
}

TEST_CASE("check bits and the verdict on any flips equal those of the code in C++") {
  Bench bench;
  std::mt19937_64 random(kSeed);
  INFO("seed " << kSeed);
  for (unsigned i = 0; i < 100'000; i++) {
    const uint64_t word = random(), flip = random() & random() & random() & random();
    const auto check = static_cast<uint8_t>(random() & random() & random());
    const Decoded is = bench.decode64(word, flip, check);
    REQUIRE(bench.check64() == kSecded64.encode(word));
    const auto should = kSecded64.decode(word ^ flip, static_cast<uint8_t>(kSecded64.encode(word) ^ check));
    REQUIRE(is.poison == (should.result == SecdedResult::kPoison));
    REQUIRE(is.corrected == (should.result == SecdedResult::kCorrected));
    REQUIRE(is.data == should.data);
    const auto low = static_cast<uint32_t>(word);
    const uint8_t check7 = check & 0x7f;
    const Decoded is32 = bench.decode32(low, static_cast<uint32_t>(flip), check7);
    REQUIRE(bench.check32() == kSecded32.encode(low));
    const auto should32 =
        kSecded32.decode(low ^ static_cast<uint32_t>(flip), static_cast<uint8_t>(kSecded32.encode(low) ^ check7));
    REQUIRE(is32.poison == (should32.result == SecdedResult::kPoison));
    REQUIRE(is32.corrected == (should32.result == SecdedResult::kCorrected));
    REQUIRE(is32.data == should32.data);
  }
}

TEST_CASE("zero is a codeword of both codes") {
  Bench bench;
  (void)bench.decode64(0, 0, 0);
  CHECK(bench.check64() == 0);
  (void)bench.decode32(0, 0, 0);
  CHECK(bench.check32() == 0);
}
