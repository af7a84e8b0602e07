// Random VPU commands against the reference: every command, type, mode and size, with memories that refuse.
#include <fmt/core.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "model/golden/vpu_functions.hpp"
#include "testbench/rtl/bench/mismatch.hpp"
#include "testbench/rtl/vpu/lane_vectors.hpp"
#include "testbench/rtl/vpu/vpu_harness.hpp"

namespace weft::vpu_test::command_test {

/// Draws legal commands and memory contents.
class Generator {
 public:
  /// `rounds`: elementwise commands of f32 write bf16.
  explicit Generator(uint64_t seed, bool rounds = false) : rounds_(rounds), random_(seed) {}

  void fill(VpuHarness& bench) {
    for (size_t i = 0; i < bench.vmem.size(); i += 4) {
      const uint32_t value = element();
      for (unsigned b = 0; b < 4; b++) bench.vmem[i + b] = static_cast<uint8_t>(value >> (8 * b));
    }
    for (auto& v : bench.acc) v = element();
  }

  spec::VpuCommand command() {
    spec::VpuCommand c;
    c.header.tag = static_cast<uint16_t>(random_());
    constexpr std::array kOpcodes{WEFT_OPCODE_ELEMENTWISE, WEFT_OPCODE_ELEMENTWISE, WEFT_OPCODE_REDUCE,
                                  WEFT_OPCODE_TRANSPOSE,   WEFT_OPCODE_EPILOGUE,    WEFT_OPCODE_CAST};
    c.header.opcode = kOpcodes[below(kOpcodes.size())];
    c.rows = row_count();
    c.cols = static_cast<uint16_t>(below(3) == 0 ? kN : 1 + below(kN));
    c.src_dtype = c.dst_dtype = static_cast<uint8_t>(1 + below(3));
    uint8_t special = WEFT_VPU_B_MODE_RESIDUAL;  // of EPILOGUE
    switch (c.header.opcode) {
      case WEFT_OPCODE_ELEMENTWISE:
        elementwise(c);
        if (rounds_ && c.src_dtype == WEFT_VPU_DTYPE_F32) c.dst_dtype = WEFT_VPU_DTYPE_BF16;
        break;
      case WEFT_OPCODE_REDUCE:
        c.op = static_cast<uint8_t>(WEFT_VPU_OP_SUM + below(3));
        if (below(2)) c.axis = WEFT_VPU_AXIS_ROWS, c.window = static_cast<uint16_t>(1 + below(2 * kN + 1));
        break;
      case WEFT_OPCODE_TRANSPOSE:
        c.rows = static_cast<uint16_t>(below(3) == 0 ? kN : 1 + below(kN));
        break;
      case WEFT_OPCODE_EPILOGUE:
        c.src_space = WEFT_VPU_SPACE_ACC;
        c.src_dtype = below(3) ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_I32;
        c.dst_dtype =
            c.src_dtype == WEFT_VPU_DTYPE_I32 ? static_cast<uint8_t>(3 + below(2)) : static_cast<uint8_t>(1 + below(2));
        if (c.dst_dtype == WEFT_VPU_DTYPE_I8) special = WEFT_VPU_B_MODE_SCALED;
        if (c.dst_dtype == WEFT_VPU_DTYPE_I8 && below(2)) c.op = WEFT_VPU_OP_UPPER;
        c.b_mode = pick<uint8_t>(
            {WEFT_VPU_B_MODE_NONE, WEFT_VPU_B_MODE_TENSOR, WEFT_VPU_B_MODE_ROW, WEFT_VPU_B_MODE_COLUMN, special});
        c.activation = static_cast<uint8_t>(
            below(c.dst_dtype == WEFT_VPU_DTYPE_I8 || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL ? 2 : 4));
        if (c.src_dtype == WEFT_VPU_DTYPE_I32 && c.activation == WEFT_VPU_ACTIVATION_LEAKY) c.activation = 0;
        break;
      default:
        cast(c);
    }
    if (c.dst_dtype == WEFT_VPU_DTYPE_I8) {
      c.scalar2 = scale();
      c.scalar = below(3) == 0 ? 0 : static_cast<uint32_t>(static_cast<int32_t>(below(256)) - 128);
    }
    if (c.activation == WEFT_VPU_ACTIVATION_LEAKY || c.activation == WEFT_VPU_ACTIVATION_CLAMP) c.scalar2 = scalar(c);
    if (c.activation == WEFT_VPU_ACTIVATION_CLAMP) c.scalar = scalar(c);
    place(c);
    return c;
  }

  void elementwise(spec::VpuCommand& c) {
    do c.op = static_cast<uint8_t>(below(WEFT_VPU_OP_ROTATE + 1));
    while ((c.op >= WEFT_VPU_OP_SUM && c.op <= WEFT_VPU_OP_RMIN) || c.op == WEFT_VPU_OP_UPPER);
    if (c.op >= WEFT_VPU_OP_AND && c.op <= WEFT_VPU_OP_GEU) c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
    const bool function = c.op >= WEFT_VPU_OP_EXP2 && c.op <= WEFT_VPU_OP_ERF;
    if (function) c.src_dtype = c.dst_dtype = static_cast<uint8_t>(1 + below(2));
    if (c.op == WEFT_VPU_OP_IOTA) {
      c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
      c.scalar = static_cast<uint32_t>(random_());
      c.scalar2 = static_cast<uint32_t>(random_());
    } else if (c.op == WEFT_VPU_OP_NONE) {
      c.activation = static_cast<uint8_t>(below(c.src_dtype == WEFT_VPU_DTYPE_I32 ? 2 : 4));
      if (c.src_dtype == WEFT_VPU_DTYPE_I32 && below(2)) c.activation = WEFT_VPU_ACTIVATION_CLAMP;
    } else if (c.op == WEFT_VPU_OP_ROTATE) {
      c.b_mode = static_cast<uint8_t>(below(3));
      const auto first = static_cast<uint32_t>(below(kN));
      c.scalar = static_cast<uint32_t>(below(kN));
      c.scalar2 = first | (first + 1 + static_cast<uint32_t>(below(kN - first))) << 16;
    } else if (!function) {
      c.b_mode = static_cast<uint8_t>(1 + below(4));
      if (c.op >= WEFT_VPU_OP_FMA && c.op <= WEFT_VPU_OP_SELECT) c.scalar2 = scalar(c);
    }
  }

  void cast(spec::VpuCommand& c) {
    c.src_dtype = static_cast<uint8_t>(1 + below(4));
    c.dst_dtype = WEFT_VPU_DTYPE_F32;
    if (c.src_dtype == WEFT_VPU_DTYPE_F32)
      c.dst_dtype = pick<uint8_t>({WEFT_VPU_DTYPE_BF16, WEFT_VPU_DTYPE_I32, WEFT_VPU_DTYPE_I8});
    if (c.src_dtype == WEFT_VPU_DTYPE_I32) c.dst_dtype = pick<uint8_t>({WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_I8});
    if (c.src_dtype == WEFT_VPU_DTYPE_I8) {
      c.dst_dtype = pick<uint8_t>({WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_I32});
      if (below(2)) c.op = WEFT_VPU_OP_UPPER;
    }
    if (c.dst_dtype == WEFT_VPU_DTYPE_I8 && below(2)) c.b_mode = WEFT_VPU_B_MODE_TENSOR;
  }

  uint64_t below(uint64_t n) { return random_() % n; }

 private:
  uint32_t element() {
    const auto& v = special_values();
    switch (below(6)) {
      case 5:  // a count of a shift
        return static_cast<uint32_t>(below(40));
      case 0:
        return v[below(v.size())];
      case 1:
        return static_cast<uint32_t>(v[below(v.size())] >> 16 | v[below(v.size())] << 16);
      case 2:
        return static_cast<uint32_t>(random_());
      default:
        return draw(VectorClass::kTies, random_).first % 0x20000000 + 0x30000000;  // ordinary sizes
    }
  }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  uint32_t scalar(const spec::VpuCommand& c) {
    return c.src_dtype == WEFT_VPU_DTYPE_BF16 ? element() >> 16 : element();
  }
  /// Of a requantisation: often such that bytes come out that are neither 0 nor saturated.
  uint32_t scale() { return below(3) == 0 ? element() : 0x2f000000u + static_cast<uint32_t>(below(0x18000000)); }

  uint16_t row_count() {
    constexpr std::array<uint16_t, 8> kEdges{1, 2, 3, kN - 1, kN, kN + 1, 2 * kN, 61};
    return below(2) ? kEdges[below(kEdges.size())] : static_cast<uint16_t>(1 + below(40));
  }

  /// A region for each operand, so that nothing but a deliberate in-place result overlaps: a at 0, b at 5000, d at
  /// 10000.
  void place(spec::VpuCommand& c) {
    const uint32_t source = words(c.src_dtype), result = words(c.dst_dtype);
    const auto stride = [&](uint32_t unit) { return static_cast<uint32_t>(unit * (1 + (below(2) ? 0 : below(30)))); };
    const auto address = [&](uint32_t base, uint32_t unit) { return base + static_cast<uint32_t>(unit * below(100)); };
    if (c.src_space == WEFT_VPU_SPACE_ACC) {
      c.a_stride = static_cast<uint32_t>(below(3));
      c.a_addr = static_cast<uint32_t>(below(kAccRows - (c.rows - 1u) * std::min<uint32_t>(c.a_stride, 2)));
    } else if (c.op != WEFT_VPU_OP_IOTA) {
      c.a_addr = address(0, source);
      c.a_stride = below(8) == 0 ? 0 : stride(source);
    }
    if (b_rows(c) != 0) c.b_addr = address(5000, source);
    if (kept_rows(c) != 0) c.scalar2 = address(15000, 2);
    if (c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_COLUMN ||
        c.b_mode == WEFT_VPU_B_MODE_RESIDUAL || c.axis == WEFT_VPU_AXIS_ROWS)
      c.b_stride = below(8) == 0 ? 0 : stride(source);
    if (c.b_mode == WEFT_VPU_B_MODE_SCALAR) c.scalar = scalar(c);
    c.d_addr = address(10000, result);
    c.d_stride = stride(result);
    if (c.axis == WEFT_VPU_AXIS_ROWS) return;
    // In place, row onto itself: over a, or over b.
    if (source == result && c.src_space == WEFT_VPU_SPACE_VMEM && c.a_stride != 0 && below(4) == 0)
      c.d_addr = c.a_addr, c.d_stride = c.a_stride;
    else if (source == result && (c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_RESIDUAL) &&
             c.b_stride != 0 && below(4) == 0)
      c.d_addr = c.b_addr, c.d_stride = c.b_stride;
  }

  static uint32_t words(uint8_t dtype) { return dtype == WEFT_VPU_DTYPE_F32 || dtype == WEFT_VPU_DTYPE_I32 ? 2 : 1; }

  bool rounds_;
  std::mt19937_64 random_;
};

std::string describe(const spec::VpuCommand& c) {
  return fmt::format(
      "opcode {:#x} op {} src {} dst {} rows {} cols {} a {}+{} b {}+{} d {}+{} scalar {:08x} {:08x} mode {} act {} "
      "axis {} window {}",
      c.header.opcode, c.op, c.src_dtype, c.dst_dtype, c.rows, c.cols, c.a_addr, c.a_stride, c.b_addr, c.b_stride,
      c.d_addr, c.d_stride, c.scalar, c.scalar2, c.b_mode, c.activation, c.axis, c.window);
}

/// The first byte that differs, with its command, row and lane where the address tells them.
std::string first_difference(const Vmem& rtl, const Vmem& want, const std::vector<spec::VpuCommand>& commands) {
  if (rtl == want) return {};
  for (size_t i = 0; i < want.size(); i++) {
    if (rtl[i] == want[i]) continue;
    const size_t word = i / kWordBytes;
    std::string text =
        fmt::format("VMEM word {} byte {}: rtl {:02x}, reference {:02x}", word, i % kWordBytes, rtl[i], want[i]);
    for (size_t k = commands.size(); k-- > 0;) {
      const auto& c = commands[k];
      const size_t words = c.dst_dtype == WEFT_VPU_DTYPE_F32 || c.dst_dtype == WEFT_VPU_DTYPE_I32 ? 2 : 1;
      for (size_t r = 0; r < result_rows(c); r++) {
        const size_t first = c.d_addr + r * c.d_stride;
        if (word < first || word >= first + words) continue;
        const size_t lane = (i - first * kWordBytes) / (2 * words), at = first * kWordBytes + lane * 2 * words;
        const auto value = [&](const Vmem& memory) {
          uint32_t bits = 0;
          std::memcpy(&bits, &memory[at], 2 * words);
          const auto element = words == 1                          ? weft::bench::Element::kBf16
                               : c.dst_dtype == WEFT_VPU_DTYPE_I32 ? weft::bench::Element::kI32
                                                                   : weft::bench::Element::kF32;
          return weft::bench::element_text(element, bits);
        };
        return text + fmt::format("\n  command {} row {} lane {}: rtl {}, reference {}: {}", k, r, lane, value(rtl),
                                  value(want), describe(c));
      }
    }
    return text + "\n  outside of every destination";
  }
  return {};
}

/// Runs batches of back-to-back commands, comparing all of VMEM after each batch and the counters at the end.
void run_random(unsigned refused_percent, unsigned batches, uint64_t seed, bool rounds = false) {
  seed = weft::bench::environment_number("WEFT_SEED", seed);
  INFO("seed " << seed << ", " << refused_percent << " % refused");
  Generator generator(seed, rounds);
  VpuHarness bench(seed + 1, refused_percent);
  StatusCounts status;
  uint64_t read = 0, made = 0, groups = 0, written = 0, second = 0, kept = 0;
  generator.fill(bench);
  for (unsigned batch = 0; batch < batches; batch++) {
    if (batch % 16 == 0) generator.fill(bench);
    Vmem want = bench.vmem;
    std::vector<spec::VpuCommand> commands;
    for (uint64_t k = 1 + generator.below(4); k > 0; k--) {
      commands.push_back(generator.command());
      REQUIRE_FALSE(check(commands.back()));
      bench.push(commands.back());
      const StatusCounts counts = execute(commands.back(), want, bench.acc);
      status.nans += counts.nans;
      status.infinities += counts.infinities;
      const auto& c = commands.back();
      read += source_rows(c);
      if (c.op == WEFT_VPU_OP_IOTA) made += source_rows(c);
      groups += (c.rows + kSublanes - 1) / kSublanes * (source_rows(c) / c.rows);
      written += result_rows(commands.back());
      second += b_rows(commands.back());
      kept += kept_rows(commands.back());
    }
    INFO("batch " << batch << ", first command: " << describe(commands.front()));
    REQUIRE(bench.run());
    REQUIRE(bench.violation() == "");
    REQUIRE_FALSE(bench.fault());
    const std::string difference = first_difference(bench.vmem, want, commands);
    if (!difference.empty())
      FAIL(fmt::format("{}\n  cycle {}, seed {}\n  {}", difference, bench.now(), seed,
                       weft::bench::rerun_line(seed, static_cast<uint64_t>(bench.now()))));
    for (uint64_t idle = generator.below(5); idle > 0; idle--) bench.cycle();
  }
  const Counters& c = bench.counters();
  CHECK(c.busy + c.stalled + c.idle == static_cast<uint64_t>(bench.now()));
  // busy counts cycles; where all of a group is granted at once, a group is one
  if (kSublanes == 1) CHECK(c.busy == read);
  if (refused_percent == 0) CHECK(c.busy == groups);
  CHECK(c.a_granted == read - made);
  CHECK(c.rows == written);
  CHECK(c.b_granted == second);
  CHECK(c.kept_granted == kept);
  CHECK(c.nans == status.nans);
  CHECK(c.infinities == status.infinities);
  CHECK(status.nans > 0);
  CHECK(status.infinities > 0);
  if (refused_percent == 0) CHECK(c.stalled == 0);
}

TEST_CASE("random commands equal the reference when nothing is refused") { run_random(0, 3000, 101); }
TEST_CASE("random commands equal the reference when a quarter is refused") { run_random(25, 3000, 202); }
TEST_CASE("random commands equal the reference when three quarters are refused") { run_random(75, 1500, 303); }
TEST_CASE("random elementwise commands round f32 results to bf16 as the reference does") {
  run_random(25, 1500, 707, true);
}

TEST_CASE("every cols of every command gives zeros beyond cols and a tree without the absent lanes") {
  Generator generator(404);
  VpuHarness bench(405, 0);
  generator.fill(bench);
  for (uint16_t cols = 1; cols <= kN; cols++)
    for (uint8_t op : {WEFT_VPU_OP_SUM, WEFT_VPU_OP_RMAX, WEFT_VPU_OP_RMIN})
      for (uint8_t dtype : {WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_I32}) {
        spec::VpuCommand c;
        c.header.opcode = WEFT_OPCODE_REDUCE;
        c.op = op;
        c.src_dtype = c.dst_dtype = dtype;
        c.rows = 1000;
        c.cols = cols;
        c.a_stride = c.d_stride = 2;
        c.d_addr = 8000;
        Vmem want = bench.vmem;
        (void)execute(c, want, bench.acc);
        bench.push(c);
        REQUIRE(bench.run());
        const std::string difference = first_difference(bench.vmem, want, {c});
        if (!difference.empty()) FAIL(difference);
      }
}

TEST_CASE("a command sees what the one before it wrote") {
  VpuHarness bench(505, 25);
  Generator generator(506);
  generator.fill(bench);
  Vmem want = bench.vmem;
  std::vector<spec::VpuCommand> commands;
  for (int k = 0; k < 64;
       k++) {  // x = x + x, in place, row count from one up: the shortest distance from write to read
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.op = WEFT_VPU_OP_ADD;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
    c.rows = static_cast<uint16_t>(1 + k % 5);
    c.cols = kN;
    c.b_mode = WEFT_VPU_B_MODE_TENSOR;
    c.a_stride = c.b_stride = c.d_stride = 2;
    commands.push_back(c);
    bench.push(c);
    (void)execute(c, want, bench.acc);
  }
  REQUIRE(bench.run());
  CHECK(bench.violation() == "");
  const std::string difference = first_difference(bench.vmem, want, commands);
  if (!difference.empty()) FAIL(difference);
}

TEST_CASE("every rotation of every run of lanes, over zeros, another tensor and a row") {
  Generator generator(808);
  VpuHarness bench(809, 0);
  generator.fill(bench);
  for (uint32_t by = 0; by < kN; by++)
    for (uint32_t first = 0; first < kN; first++)
      for (uint32_t end = first + 1; end <= kN; end++)
        for (uint8_t mode : {WEFT_VPU_B_MODE_NONE, WEFT_VPU_B_MODE_TENSOR, WEFT_VPU_B_MODE_ROW}) {
          spec::VpuCommand c;
          c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
          c.op = WEFT_VPU_OP_ROTATE;
          c.src_dtype = c.dst_dtype = (by + first + end) % 2 == 0 ? WEFT_VPU_DTYPE_F32 : WEFT_VPU_DTYPE_BF16;
          c.rows = 5, c.cols = kN - by % 2;
          c.scalar = by, c.scalar2 = first | end << 16;
          c.b_mode = mode;
          c.a_addr = 2 * by, c.b_addr = mode == WEFT_VPU_B_MODE_NONE ? 0 : 5000 + 2 * first;
          c.a_stride = c.d_stride = 2, c.b_stride = mode == WEFT_VPU_B_MODE_TENSOR ? 2 : 0, c.d_addr = 10000;
          Vmem want = bench.vmem;
          (void)execute(c, want, bench.acc);
          bench.push(c);
          REQUIRE(bench.run());
          const std::string difference = first_difference(bench.vmem, want, {c});
          if (!difference.empty()) FAIL(difference);
        }
}

TEST_CASE("every function equals golden at every power of two, on both sides of it, and at special values") {
  std::vector<uint32_t> values = special_values();
  for (uint32_t exponent = 0; exponent < 256; exponent++)
    for (const uint32_t fraction : {0x000000u, 0x000001u, 0x7fffffu})
      for (const uint32_t sign : {0u, 0x80000000u}) values.push_back(sign | exponent << 23 | fraction);
  constexpr uint32_t kResult = 8192;  // VMEM word
  const auto rows = static_cast<uint16_t>((values.size() + kN - 1) / kN);
  values.resize(size_t{rows} * kN);
  for (uint8_t op = WEFT_VPU_OP_EXP2; op <= WEFT_VPU_OP_ERF; op++) {
    VpuHarness bench(op, 10);
    std::memcpy(bench.vmem.data(), values.data(), values.size() * sizeof values[0]);
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.op = op;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
    c.rows = rows, c.cols = kN, c.a_stride = c.d_stride = 2, c.d_addr = kResult;
    bench.push(c);
    REQUIRE(bench.run());
    for (size_t i = 0; i < values.size(); i++) {
      uint32_t got;
      std::memcpy(&got, &bench.vmem[kResult * 2 * kN + i * sizeof got], sizeof got);
      const uint32_t expected = golden::vpu_function_f32(static_cast<weft_vpu_op>(op), values[i]);
      if (got != expected)
        FAIL_CHECK(fmt::format("op {}: f({:#010x}) is {:#010x}, golden has {:#010x}", op, values[i], got, expected));
    }
  }
}

}  // namespace weft::vpu_test::command_test
