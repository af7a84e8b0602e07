// Latency and throughput of the VPU in cycles, as rtl/vpu/README.md states them.
#include <catch2/catch.hpp>

#include "testbench/rtl/vpu/vpu_harness.hpp"

namespace weft::vpu_test::timing_test {

inline constexpr int64_t kAcceptToRequest = 3;
inline constexpr int64_t kRequestToWrite = 3;
inline constexpr int64_t kTreeLevels = 3;  // log2 N
inline constexpr int64_t kFunctionStages = 6;

/// Cycles in which so many rows go by.
constexpr int64_t groups(int64_t rows) { return (rows + kSublanes - 1) / kSublanes; }

spec::VpuCommand epilogue(uint16_t rows) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.src_dtype = WEFT_VPU_DTYPE_F32;
  c.dst_dtype = WEFT_VPU_DTYPE_BF16;
  c.rows = rows;
  c.cols = kN;
  c.a_stride = 1;
  c.d_addr = 1000;
  c.d_stride = 1;
  c.b_mode = WEFT_VPU_B_MODE_ROW;
  c.activation = WEFT_VPU_ACTIVATION_RELU;
  return c;
}

/// i32 to i8 with a row of scales, into the upper half.
spec::VpuCommand scaled(uint16_t rows) {
  spec::VpuCommand c = epilogue(rows);
  c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_I8;
  c.op = WEFT_VPU_OP_UPPER;
  c.b_mode = WEFT_VPU_B_MODE_SCALED, c.scalar2 = 2;
  return c;
}

spec::VpuCommand residual(uint16_t rows) {
  spec::VpuCommand c = epilogue(rows);
  c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 2, c.scalar2 = 4000;
  return c;
}

spec::VpuCommand elementwise(uint16_t rows, uint8_t b_mode) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.op = WEFT_VPU_OP_MUL;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = rows;
  c.cols = kN;
  c.a_stride = c.d_stride = 2;
  c.d_addr = 8000;
  c.b_mode = b_mode;
  if (b_mode == WEFT_VPU_B_MODE_TENSOR) c.b_stride = 2;
  return c;
}

spec::VpuCommand cast(uint16_t rows) {
  spec::VpuCommand c = elementwise(rows, WEFT_VPU_B_MODE_NONE);
  c.header.opcode = WEFT_OPCODE_CAST;
  c.op = WEFT_VPU_OP_NONE;
  c.dst_dtype = WEFT_VPU_DTYPE_I32;
  return c;
}

spec::VpuCommand reduce(uint16_t rows) {
  spec::VpuCommand c = elementwise(rows, WEFT_VPU_B_MODE_NONE);
  c.header.opcode = WEFT_OPCODE_REDUCE;
  c.op = WEFT_VPU_OP_SUM;
  return c;
}

spec::VpuCommand function(uint16_t rows) {
  spec::VpuCommand c = elementwise(rows, WEFT_VPU_B_MODE_NONE);
  c.op = WEFT_VPU_OP_LOG2;
  return c;
}

spec::VpuCommand rotate(uint16_t rows) {
  spec::VpuCommand c = elementwise(rows, WEFT_VPU_B_MODE_TENSOR);
  c.op = WEFT_VPU_OP_ROTATE;
  c.scalar = kN - 1, c.scalar2 = 1 | kN << 16;
  return c;
}

spec::VpuCommand iota(uint16_t rows) {
  spec::VpuCommand c = elementwise(rows, WEFT_VPU_B_MODE_NONE);
  c.op = WEFT_VPU_OP_IOTA;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
  c.a_stride = 0;
  return c;
}

spec::VpuCommand windows(uint16_t rows, uint16_t window) {
  spec::VpuCommand c = reduce(rows);
  c.axis = WEFT_VPU_AXIS_ROWS;
  c.window = window;
  c.b_stride = 2;
  return c;
}

spec::VpuCommand transpose(uint16_t rows, uint16_t cols) {
  spec::VpuCommand c = reduce(rows);
  c.header.opcode = WEFT_OPCODE_TRANSPOSE;
  c.op = WEFT_VPU_OP_NONE;
  c.cols = cols;
  return c;
}

/// One command alone, nothing refused.
void check_alone(const spec::VpuCommand& c, int64_t request_to_write) {
  VpuHarness bench(1, 0);
  bench.cycle();
  bench.push(c);
  REQUIRE(bench.run());
  const CommandTimes& t = bench.times()[0];
  CHECK(bench.violation() == "");
  CHECK(t.accepted == 1);
  CHECK(t.first_request - t.accepted == kAcceptToRequest);
  CHECK(t.first_write - t.first_request == request_to_write);
  CHECK(t.last_write - t.first_write == groups(c.rows) - 1);
  CHECK(t.writes == c.rows);
  CHECK(t.done - t.last_write == 1);
  CHECK(bench.counters().stalled == 0);
}

TEST_CASE("a command alone takes the cycles the README states") {
  for (uint16_t rows : {1, 2, 3, 7, 8, 9, 64, 128}) {
    CAPTURE(rows);
    check_alone(epilogue(rows), kRequestToWrite);
    check_alone(scaled(rows), kRequestToWrite);
    check_alone(residual(rows), kRequestToWrite);
    check_alone(elementwise(rows, WEFT_VPU_B_MODE_TENSOR), kRequestToWrite);
    check_alone(elementwise(rows, WEFT_VPU_B_MODE_ROW), kRequestToWrite);
    check_alone(rotate(rows), kRequestToWrite);
    check_alone(elementwise(rows, WEFT_VPU_B_MODE_SCALAR), kRequestToWrite);
    check_alone(cast(rows), kRequestToWrite);
    check_alone(elementwise(rows, WEFT_VPU_B_MODE_COLUMN), kRequestToWrite);
    check_alone(function(rows), kRequestToWrite + kFunctionStages);
    check_alone(reduce(rows), kRequestToWrite + kTreeLevels);
  }
}

/// Cycles from the start's successor to the last write, nothing refused.
int64_t cycles_of(const spec::VpuCommand& c) {
  VpuHarness bench(1, 0);
  bench.push(c);
  REQUIRE(bench.run());
  CHECK(bench.violation() == "");
  CHECK(bench.counters().stalled == 0);
  return bench.times()[0].last_write - bench.times()[0].accepted - kAcceptToRequest;
}

TEST_CASE("iota, windows and transposes take the cycles the README states") {
  for (uint16_t rows : {1, 2, 7, 8, 9, 64}) {
    CAPTURE(rows);
    CHECK(cycles_of(iota(rows)) == kRequestToWrite + groups(rows) - 1);
    for (uint16_t window : {1, 2, 7, 8, 9}) {
      CAPTURE(window);
      CHECK(cycles_of(windows(rows, window)) == kRequestToWrite + groups(rows) * window - 1);
    }
  }
  for (uint16_t rows = 1; rows <= kN; rows++)
    for (uint16_t cols = 1; cols <= kN; cols++) {
      CAPTURE(rows, cols);
      CHECK(cycles_of(transpose(rows, cols)) == kRequestToWrite + groups(rows) + groups(cols));
    }
}

TEST_CASE("back-to-back commands read in the cycle after the last write") {
  VpuHarness bench(2, 0);
  for (int i = 0; i < 3; i++) {
    bench.push(epilogue(64));
    bench.push(elementwise(16, WEFT_VPU_B_MODE_TENSOR));
    bench.push(reduce(16));
  }
  REQUIRE(bench.run());
  CHECK(bench.violation() == "");
  const auto& times = bench.times();
  for (size_t i = 1; i < times.size(); i++) {
    CAPTURE(i);
    CHECK(times[i].first_request - times[i - 1].last_write == 1);
    CHECK(times[i].first_write - times[i - 1].last_write == 1 + kRequestToWrite + (i % 3 == 2 ? kTreeLevels : 0));
  }
}

TEST_CASE("the next command is taken and checked while one executes") {
  VpuHarness bench(3, 0);
  bench.push(epilogue(128));
  bench.push(epilogue(128));
  bench.push(epilogue(128));
  REQUIRE(bench.run());
  CHECK(bench.times()[1].accepted < bench.times()[0].first_write);
  CHECK(bench.times()[2].accepted > bench.times()[0].last_write);
}

TEST_CASE("a refused write costs the cycles it was refused and no more") {
  VpuHarness bench(4, 25);
  bench.push(cast(1000));
  REQUIRE(bench.run());
  const CommandTimes& t = bench.times()[0];
  const Counters& c = bench.counters();
  const auto refused = static_cast<int64_t>(c.read_refused + c.write_refused);
  CHECK(c.write_refused > 100);
  CHECK(c.read_refused > 100);
  CHECK(t.last_write - t.first_request < kRequestToWrite + groups(1000) + refused);
  CHECK(t.last_write - t.first_request < 2 * 1000);
}

}  // namespace weft::vpu_test::timing_test
