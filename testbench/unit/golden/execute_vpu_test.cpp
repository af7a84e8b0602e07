// EPILOGUE to bytes and with a residual against loops in double and 64 bits, which share no code with the model.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "model/golden/core_state.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
namespace spec = weft::spec;

namespace {

class NoMemory : public golden::MemoryAccess {
 public:
  bool read(weft_address_space, uint64_t, std::span<std::byte>) override { return false; }
  bool write(weft_address_space, uint64_t, std::span<const std::byte>) override { return false; }
};

constexpr uint32_t kRows = 19, kBias = 10, kKept = 20, kResidual = 200, kResult = 600;  // VMEM words

struct Fixture {
  Fixture() : random(weft::test::seed()) {
    for (size_t i = 0; i < core.vmem().size(); i++) core.vmem()[i] = static_cast<std::byte>(random());
    for (uint32_t r = 0; r < core.acc_rows(); r++)
      for (auto& v : core.acc_row(r)) v = static_cast<uint32_t>(random()) >> random() % 32;
  }
  template <class T>
  T at(uint64_t word, uint64_t lane) const {
    T v;
    std::memcpy(&v, core.vmem().data() + word * core.chip().word_bytes + lane * sizeof v, sizeof v);
    return v;
  }
  template <class T>
  void put(uint64_t word, uint64_t lane, T v) {
    std::memcpy(core.vmem().data() + word * core.chip().word_bytes + lane * sizeof v, &v, sizeof v);
  }
  void run(const spec::VpuCommand& c) {
    NoMemory none;
    REQUIRE_FALSE(core.execute(spec::encode(c), WEFT_QUEUE_VPU, none));
  }
  golden::CoreState core{*spec::find_chip("nano")};
  std::mt19937_64 random;
};

spec::VpuCommand epilogue(uint8_t from, uint8_t to, uint8_t mode) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.src_dtype = from, c.dst_dtype = to;
  c.rows = kRows, c.cols = 7;
  c.a_addr = 5, c.a_stride = 2;
  c.b_mode = mode;
  c.d_addr = kResult, c.d_stride = 4;
  return c;
}

/// Round half to even, plus the zero point, then saturate, as ONNX's QuantizeLinear has it.
int8_t quantised(int64_t sum, float scale, int zero_point) {
  const float product = static_cast<float>(static_cast<int32_t>(sum)) * scale;
  const double value = std::nearbyint(static_cast<double>(product)) + zero_point;
  return static_cast<int8_t>(std::fmin(std::fmax(value, -128), 127));
}

}  // namespace

TEST_CASE("EPILOGUE to i8 takes a scale for each lane or one, a zero point and either half of a word") {
  const bool scaled = GENERATE(false, true), relu = GENERATE(false, true), upper = GENERATE(false, true);
  const int zero_point = GENERATE(-128, -3, 0, 127);
  Fixture f;
  const uint32_t n = f.core.chip().n;
  std::uniform_real_distribution<float> scale(0.0f, 0.01f);
  for (uint32_t j = 0; j < n; j++) {
    f.put(kKept, j, scale(f.random));
    f.put(kBias, j, static_cast<int32_t>(f.random() % 2001) - 1000);
  }
  auto c = epilogue(WEFT_VPU_DTYPE_I32, WEFT_VPU_DTYPE_I8, scaled ? WEFT_VPU_B_MODE_SCALED : WEFT_VPU_B_MODE_ROW);
  c.b_addr = kBias;
  const float one = scale(f.random);
  c.scalar2 = kKept;
  if (!scaled) std::memcpy(&c.scalar2, &one, sizeof one);
  c.scalar = static_cast<uint32_t>(zero_point);
  c.activation = relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
  c.op = upper ? WEFT_VPU_OP_UPPER : WEFT_VPU_OP_NONE;
  const std::vector<std::byte> before{f.core.vmem().begin(), f.core.vmem().end()};
  f.run(c);
  std::vector<std::byte> expected = before;
  int inside = 0;
  for (uint32_t r = 0; r < kRows; r++) {
    const auto row = static_cast<ptrdiff_t>((kResult + 4 * r) * f.core.chip().word_bytes);
    if (!upper) std::fill_n(expected.begin() + row, 2 * n, std::byte{0});
    if (upper) std::fill_n(expected.begin() + row + n, n, std::byte{0});
    for (uint32_t j = 0; j < c.cols; j++) {
      const uint32_t wrapped = f.core.acc_row(c.a_addr + 2 * r)[j] + f.at<uint32_t>(kBias, j);
      int64_t sum = static_cast<int32_t>(wrapped);
      if (relu) sum = std::max<int64_t>(sum, 0);
      const int8_t byte = quantised(sum, scaled ? f.at<float>(kKept, j) : one, zero_point);
      inside += byte != -128 && byte != 127 ? 1 : 0;
      expected[static_cast<size_t>(row) + (upper ? n : 0) + j] = static_cast<std::byte>(byte);
    }
  }
  CHECK((inside > 0) == !(relu && zero_point == 127));  // where nothing is below it
  CHECK(std::memcmp(expected.data(), f.core.vmem().data(), expected.size()) == 0);
  const auto ranges = golden::written_ranges(spec::encode(c), f.core.chip(), f.core.segments()).vmem;
  REQUIRE(ranges.size() == kRows);
  for (const auto& range : ranges) {
    CHECK(range.bytes == (upper ? n : 2 * n));
    CHECK(range.address % f.core.chip().word_bytes == (upper ? n : 0));
  }
}

TEST_CASE("EPILOGUE adds a residual behind the bias, each with a rounding of its own, before the activation") {
  const bool integers = GENERATE(false, true), bias = GENERATE(false, true), relu = GENERATE(false, true);
  Fixture f;
  const uint32_t n = f.core.chip().n;
  std::normal_distribution<float> value(0, 100);
  if (!integers) {
    for (uint32_t r = 0; r < f.core.acc_rows(); r++)
      for (auto& v : f.core.acc_row(r)) v = std::bit_cast<uint32_t>(value(f.random));
    for (uint32_t word = 0; word < 400; word += 2)
      for (uint32_t j = 0; j < n; j++) f.put(word, j, value(f.random));
  }
  const uint8_t type = integers ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_F32;
  auto c = epilogue(type, type, bias ? WEFT_VPU_B_MODE_RESIDUAL : WEFT_VPU_B_MODE_TENSOR);
  c.b_addr = kResidual, c.b_stride = 6;
  if (bias) c.scalar2 = kKept;
  c.activation = relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
  f.run(c);
  for (uint32_t r = 0; r < kRows; r++)
    for (uint32_t j = 0; j < n; j++) {
      const uint32_t a = f.core.acc_row(c.a_addr + 2 * r)[j], b = f.at<uint32_t>(kResidual + 6 * r, j),
                     kept = bias ? f.at<uint32_t>(kKept, j) : 0;
      uint32_t expected = a + kept + b;
      if (relu && static_cast<int32_t>(expected) < 0) expected = 0;
      if (!integers) {
        const auto real = [](uint32_t bits) { return std::bit_cast<float>(bits); };
        volatile float sum = bias ? real(a) + real(kept) : real(a);
        sum = sum + real(b);
        expected = std::bit_cast<uint32_t>(relu && sum < 0 ? 0.0f : static_cast<float>(sum));
      }
      REQUIRE(f.at<uint32_t>(kResult + 4 * r, j) == (j < c.cols ? expected : 0));
    }
}
