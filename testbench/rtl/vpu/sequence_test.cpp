// Softmax, layer norm and gelu as sequences of VPU commands: RTL and golden model leave the same bits, and they are
// near what double precision says.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "model/golden/core_state.hpp"
#include "testbench/rtl/vpu/vpu_harness.hpp"
#include "weft/spec/chips.hpp"

namespace weft::vpu_test::sequence_test {

inline constexpr uint16_t kRows = 37;
// VMEM words of the tensors, two a row.
inline constexpr uint32_t kInput = 0, kFirst = 1000, kSecond = 2000, kThird = 3000, kOutput = 4000, kScale = 5000,
                          kShift = 5002;

uint32_t bits(double v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }

struct NoMemory final : golden::MemoryAccess {
  bool read(weft_address_space, uint64_t, std::span<std::byte>) override { return false; }
  bool write(weft_address_space, uint64_t, std::span<const std::byte>) override { return false; }
};

/// Commands on f32 tensors of kRows x kN, executed by both.
class Sequence {
 public:
  explicit Sequence(uint64_t seed) : bench_(seed, 25), core_(kChip), random_(seed) {}

  /// Fills `rows` rows of the tensor at `word` with normal numbers.
  void fill(uint32_t word, uint16_t rows, double mean, double deviation) {
    std::normal_distribution<double> normal(mean, deviation);
    for (unsigned i = 0; i < rows * kN; i++) {
      const auto v = static_cast<float>(normal(random_));
      std::memcpy(&bench_.vmem[word * kWordBytes + 4 * i], &v, 4);
    }
    std::memcpy(core_.vmem().data(), bench_.vmem.data(), bench_.vmem.size());
  }

  /// d = a op b, tensors at words.
  void tensor(uint8_t op, uint32_t a, uint32_t b, uint32_t d) { add(op, a, d, WEFT_VPU_B_MODE_TENSOR, b, 2, 0, 0); }
  void row(uint8_t op, uint32_t a, uint32_t b, uint32_t d) { add(op, a, d, WEFT_VPU_B_MODE_ROW, b, 0, 0, 0); }
  void scalar(uint8_t op, uint32_t a, double b, uint32_t d, double c = 0) {
    add(op, a, d, WEFT_VPU_B_MODE_SCALAR, 0, 0, bits(b), bits(c));
  }
  void function(uint8_t op, uint32_t a, uint32_t d) { add(op, a, d, WEFT_VPU_B_MODE_NONE, 0, 0, 0, 0); }
  /// The same value in all lanes.
  void reduce(uint8_t op, uint32_t a, uint32_t d) {
    function(op, a, d);
    commands_.back().header.opcode = WEFT_OPCODE_REDUCE;
  }

  /// Runs both; every byte of VMEM must be equal.
  void run() {
    NoMemory none;
    for (const auto& c : commands_) {
      bench_.push(c);
      REQUIRE_FALSE(core_.execute(spec::encode(c), WEFT_QUEUE_VPU, none));
    }
    REQUIRE(bench_.run());
    CHECK(bench_.violation() == "");
    REQUIRE(bench_.vmem.size() == core_.vmem().size());
    size_t differing = 0;
    for (size_t i = 0; i < bench_.vmem.size(); i++)
      differing += bench_.vmem[i] != static_cast<uint8_t>(core_.vmem()[i]);
    REQUIRE(differing == 0);
  }

  [[nodiscard]] std::vector<double> read(uint32_t word, unsigned row) const {
    std::vector<double> out(kN);
    for (unsigned i = 0; i < kN; i++) {
      float v;
      std::memcpy(&v, &bench_.vmem[(word + 2 * row) * kWordBytes + 4 * i], 4);
      out[i] = v;
    }
    return out;
  }

 private:
  void add(uint8_t op, uint32_t a, uint32_t d, uint8_t mode, uint32_t b, uint32_t b_stride, uint32_t scalar,
           uint32_t scalar2) {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.op = op;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
    c.rows = kRows;
    c.cols = kN;
    c.a_addr = a, c.a_stride = 2;
    c.b_addr = b, c.b_stride = b_stride, c.b_mode = mode;
    c.d_addr = d, c.d_stride = 2;
    c.scalar = scalar, c.scalar2 = scalar2;
    commands_.push_back(c);
  }

  VpuHarness bench_;
  golden::CoreState core_;
  std::mt19937_64 random_;
  std::vector<spec::VpuCommand> commands_;
};

/// The largest |result - wanted| / max(|wanted|, floor) over all rows.
double worst(const Sequence& s, double floor, const std::function<std::vector<double>(unsigned)>& wanted) {
  double error = 0;
  for (unsigned r = 0; r < kRows; r++) {
    const auto got = s.read(kOutput, r), want = wanted(r);
    for (unsigned i = 0; i < kN; i++)
      error = std::max(error, std::fabs(got[i] - want[i]) / std::max(std::fabs(want[i]), floor));
  }
  return error;
}

inline constexpr double kUlp = 0x1p-24;

TEST_CASE("Softmax in seven commands: the same bits, and within 40 half units of double precision") {
  Sequence s(71);
  s.fill(kInput, kRows, 0, 4);
  s.reduce(WEFT_VPU_OP_RMAX, kInput, kFirst);
  s.tensor(WEFT_VPU_OP_SUB, kInput, kFirst, kSecond);
  s.scalar(WEFT_VPU_OP_MUL, kSecond, 1.4426950408889634, kSecond);
  s.function(WEFT_VPU_OP_EXP2, kSecond, kSecond);
  s.reduce(WEFT_VPU_OP_SUM, kSecond, kFirst);
  s.function(WEFT_VPU_OP_RCP, kFirst, kFirst);
  s.tensor(WEFT_VPU_OP_MUL, kSecond, kFirst, kOutput);
  s.run();
  const double error = worst(s, 0, [&](unsigned r) {
    auto x = s.read(kInput, r);
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (double& v : x) sum += v = std::exp(v - largest);
    for (double& v : x) v /= sum;
    return x;
  });
  INFO("largest relative error / 2^-24: " << error / kUlp);
  CHECK(error < 40 * kUlp);  // exp2 takes up to 30 times the rounding of its argument, which is below 30
}

TEST_CASE("Layer norm in ten commands: the same bits, and within 16 half units of the largest of double precision") {
  Sequence s(72);
  s.fill(kInput, kRows, 3, 2);
  s.fill(kScale, 1, 1, 0.3);
  s.fill(kShift, 1, 0, 1);
  s.reduce(WEFT_VPU_OP_SUM, kInput, kFirst);
  s.scalar(WEFT_VPU_OP_MUL, kFirst, 1.0 / kN, kFirst);
  s.tensor(WEFT_VPU_OP_SUB, kInput, kFirst, kSecond);
  s.tensor(WEFT_VPU_OP_MUL, kSecond, kSecond, kThird);
  s.reduce(WEFT_VPU_OP_SUM, kThird, kThird);
  s.scalar(WEFT_VPU_OP_FMA, kThird, 1.0 / kN, kThird, 1e-5);
  s.function(WEFT_VPU_OP_RSQRT, kThird, kThird);
  s.tensor(WEFT_VPU_OP_MUL, kSecond, kThird, kSecond);
  s.row(WEFT_VPU_OP_MUL, kSecond, kScale, kSecond);
  s.row(WEFT_VPU_OP_ADD, kSecond, kShift, kOutput);
  s.run();
  const auto scale = s.read(kScale, 0), shift = s.read(kShift, 0);
  const double error = worst(s, 1, [&](unsigned r) {
    auto x = s.read(kInput, r);
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / kN;
    for (const double v : x) variance += (v - mean) * (v - mean) / kN;
    for (unsigned i = 0; i < kN; i++) x[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * scale[i] + shift[i];
    return x;
  });
  INFO("largest error / 2^-24: " << error / kUlp);
  CHECK(error < 16 * kUlp);
}

TEST_CASE("Gelu in four commands: the same bits, and within 8 half units of double precision") {
  Sequence s(73);
  s.fill(kInput, kRows, 0, 2);
  s.scalar(WEFT_VPU_OP_MUL, kInput, 0.70710678118654752, kFirst);
  s.function(WEFT_VPU_OP_ERF, kFirst, kFirst);
  s.scalar(WEFT_VPU_OP_FMA, kFirst, 0.5, kFirst, 0.5);
  s.tensor(WEFT_VPU_OP_MUL, kInput, kFirst, kOutput);
  s.run();
  const double error = worst(s, 1, [&](unsigned r) {
    auto x = s.read(kInput, r);
    for (double& v : x) v = v * 0.5 * (1 + std::erf(v * 0.70710678118654752440));
    return x;
  });
  INFO("largest error / 2^-24: " << error / kUlp);
  CHECK(error < 8 * kUlp);
}

}  // namespace weft::vpu_test::sequence_test
