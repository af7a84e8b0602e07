// Every check of docs/command_checks.md section 4: its code, its address, its tag, and that nothing is written.
#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <functional>

#include "testbench/rtl/vpu/vpu_harness.hpp"

namespace weft::vpu_test::check_test {
using Change = std::function<void(spec::VpuCommand&)>;

inline constexpr uint64_t kVmemBytes = static_cast<uint64_t>(kVmemWords) * kWordBytes;

/// A legal command of each opcode.
spec::VpuCommand legal(uint8_t opcode) {
  spec::VpuCommand c;
  c.header.opcode = opcode;
  c.header.tag = 0x1234;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = 4;
  c.cols = kN;
  c.a_addr = 10;
  c.a_stride = 2;
  c.d_addr = 200;
  c.d_stride = 2;
  if (opcode == WEFT_OPCODE_ELEMENTWISE) {
    c.op = WEFT_VPU_OP_ADD;
    c.b_mode = WEFT_VPU_B_MODE_TENSOR;
    c.b_addr = 100;
    c.b_stride = 2;
  }
  if (opcode == WEFT_OPCODE_REDUCE) c.op = WEFT_VPU_OP_SUM;
  if (opcode == WEFT_OPCODE_EPILOGUE) c.src_space = WEFT_VPU_SPACE_ACC;
  if (opcode == WEFT_OPCODE_CAST) c.dst_dtype = WEFT_VPU_DTYPE_BF16;
  return c;
}

/// A legal ELEMENTWISE of one operand.
spec::VpuCommand unary(uint8_t op) {
  spec::VpuCommand c = legal(WEFT_OPCODE_ELEMENTWISE);
  c.op = op;
  c.b_mode = WEFT_VPU_B_MODE_NONE;
  c.b_addr = c.b_stride = 0;
  if (op == WEFT_VPU_OP_IOTA) {
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
    c.a_addr = c.a_stride = 0;
  }
  return c;
}

/// Runs one command on a fresh unit; the reference's verdict must be the RTL's.
std::optional<Fault> verdict(const spec::VpuCommand& c) {
  VpuHarness bench(7, 0);
  const Vmem before = bench.vmem;
  bench.push(c);
  REQUIRE(bench.run());
  for (int i = 0; i < 10; i++) bench.cycle();
  CHECK(bench.violation() == "");
  if (!bench.fault()) return std::nullopt;
  CHECK(bench.fault()->tag == c.header.tag);
  CHECK(bench.fault()->cycle - bench.times()[0].accepted == 3);
  CHECK(bench.faults_reported() == 1);
  CHECK(bench.vmem == before);
  CHECK(bench.counters().rows == 0);
  CHECK(bench.counters().busy == 0);
  CHECK_FALSE(bench.ready());
  CHECK(bench.active());
  return bench.fault()->fault;
}

void expect(spec::VpuCommand c, const char* what, weft_fault code, uint64_t address, const Change& change) {
  change(c);
  INFO(fmt::format("opcode {:#x}, {}", c.header.opcode, what));
  const Fault want{code, address};
  const auto rtl = verdict(c);
  REQUIRE(rtl);
  CHECK(rtl->code == want.code);
  CHECK(rtl->address == want.address);
  CHECK(check(c) == want);
}

void expect(uint8_t opcode, const char* what, weft_fault code, uint64_t address, const Change& change) {
  expect(legal(opcode), what, code, address, change);
}

inline constexpr uint8_t kElementwise = WEFT_OPCODE_ELEMENTWISE, kReduce = WEFT_OPCODE_REDUCE,
                         kTranspose = WEFT_OPCODE_TRANSPOSE, kEpilogue = WEFT_OPCODE_EPILOGUE, kCast = WEFT_OPCODE_CAST;

TEST_CASE("a legal command of each opcode is not refused") {
  for (uint8_t opcode : {kElementwise, kReduce, kTranspose, kEpilogue, kCast}) {
    CAPTURE(static_cast<int>(opcode));
    CHECK_FALSE(verdict(legal(opcode)));
    CHECK_FALSE(check(legal(opcode)));
  }
  for (uint8_t op : {0, 18, 19, 20, 21, 22, 23, 24}) {
    CAPTURE(static_cast<int>(op));
    CHECK_FALSE(verdict(unary(op)));
    CHECK_FALSE(check(unary(op)));
  }
}

TEST_CASE("an opcode that the VPU does not execute is ILLEGAL_OPCODE with the opcode as address") {
  for (uint8_t opcode : {0x00, 0x10, 0x20, 0x2f, 0x35, 0x40, 0xff})
    expect(kCast, "opcode", WEFT_FAULT_ILLEGAL_OPCODE, opcode, [=](auto& c) { c.header.opcode = opcode; });
}

TEST_CASE("each illegal field is ILLEGAL_FIELD with its byte offset") {
  const auto bad = [](uint8_t opcode, const char* what, uint64_t offset, const Change& change) {
    expect(opcode, what, WEFT_FAULT_ILLEGAL_FIELD, offset, change);
  };
  for (uint8_t op : {6, 7, 8, 25, 37, 255}) bad(kElementwise, "op", 16, [=](auto& c) { c.op = op; });
  for (uint8_t op : {1, 5, 9, 24, 28}) bad(kTranspose, "op", 16, [=](auto& c) { c.op = op; });
  for (uint8_t op : {0, 1, 5, 9, 18, 26, 35, 36}) bad(kReduce, "op", 16, [=](auto& c) { c.op = op; });
  for (uint8_t op : {1, 7, 24, 26}) bad(kEpilogue, "op", 16, [=](auto& c) { c.op = op; });
  for (uint8_t op : {1, 7, 24, 26}) bad(kCast, "op", 16, [=](auto& c) { c.op = op; });
  for (uint8_t opcode : {kElementwise, kReduce, kTranspose, kCast})
    for (uint8_t space : {1, 2}) bad(opcode, "src_space", 17, [=](auto& c) { c.src_space = space; });
  for (uint8_t space : {0, 2}) bad(kEpilogue, "src_space", 17, [=](auto& c) { c.src_space = space; });
  for (uint8_t opcode : {kElementwise, kReduce, kTranspose, kEpilogue})
    for (uint8_t dtype : {0, 4, 5}) bad(opcode, "src_dtype", 18, [=](auto& c) { c.src_dtype = c.dst_dtype = dtype; });
  for (uint8_t dtype : {0, 5}) bad(kCast, "src_dtype", 18, [=](auto& c) { c.src_dtype = dtype; });
  for (uint8_t dtype : {1, 2, 3})
    bad(kCast, "src_dtype of upper", 18, [=](auto& c) { c.op = WEFT_VPU_OP_UPPER, c.src_dtype = dtype; });
  bad(kEpilogue, "src_dtype bf16", 18, [](auto& c) { c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16; });
  for (uint8_t opcode : {kReduce, kTranspose})
    for (uint8_t dtype : {0, 2, 3, 4}) bad(opcode, "dst_dtype", 19, [=](auto& c) { c.dst_dtype = dtype; });
  for (uint8_t dtype : {0, 3, 4}) bad(kElementwise, "dst_dtype", 19, [=](auto& c) { c.dst_dtype = dtype; });
  for (uint8_t dtype : {1, 3})
    bad(kElementwise, "dst_dtype of bf16", 19,
        [=](auto& c) { c.src_dtype = WEFT_VPU_DTYPE_BF16, c.dst_dtype = dtype; });
  for (uint8_t dtype : {0, 3, 4}) bad(kEpilogue, "dst_dtype", 19, [=](auto& c) { c.dst_dtype = dtype; });
  bad(kEpilogue, "dst_dtype i32 to f32", 19, [](auto& c) { c.src_dtype = WEFT_VPU_DTYPE_I32; });
  for (uint8_t dtype : {0, 1, 5}) bad(kCast, "dst_dtype", 19, [=](auto& c) { c.dst_dtype = dtype; });
  for (uint8_t dtype : {2, 3}) {
    bad(kCast, "dst_dtype of bf16", 19, [=](auto& c) { c.src_dtype = WEFT_VPU_DTYPE_BF16, c.dst_dtype = dtype; });
    bad(kCast, "dst_dtype of i32", 19, [=](auto& c) { c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = dtype; });
  }
  for (uint8_t dtype : {2, 4})
    bad(kCast, "dst_dtype of i8", 19, [=](auto& c) { c.src_dtype = WEFT_VPU_DTYPE_I8, c.dst_dtype = dtype; });
  bad(kTranspose, "rows", 20, [](auto& c) { c.rows = kN + 1; });
  for (uint8_t opcode : {kElementwise, kReduce, kTranspose, kEpilogue, kCast}) {
    bad(opcode, "axis", 54, [=](auto& c) { c.axis = opcode == kReduce ? 2 : 1, c.window = opcode == kReduce ? 0 : 1; });
    bad(opcode, "scalar2", 56, [](auto& c) { c.scalar2 = 1; });
    bad(opcode, "window", 60, [](auto& c) { c.window = 1; });
    bad(opcode, "rows", 20, [](auto& c) { c.rows = 0; });
    bad(opcode, "cols", 22, [](auto& c) { c.cols = 0; });
    bad(opcode, "cols", 22, [](auto& c) { c.cols = kN + 1; });
    bad(opcode, "b_mode", 52, [](auto& c) { c.b_mode = 7, c.b_addr = c.b_stride = 0; });
    if (opcode == kEpilogue) continue;
    for (uint8_t mode : {WEFT_VPU_B_MODE_RESIDUAL, WEFT_VPU_B_MODE_SCALED})
      bad(opcode, "b_mode of EPILOGUE", 52, [=](auto& c) { c.b_mode = mode, c.b_addr = c.b_stride = 0; });
  }
  for (uint8_t opcode : {kReduce, kTranspose, kEpilogue, kCast}) {
    bad(opcode, "b_addr with none", 32, [](auto& c) { c.b_addr = 2; });
    bad(opcode, "b_stride with none", 36, [](auto& c) { c.b_stride = 2; });
    bad(opcode, "scalar with none", 48, [](auto& c) { c.scalar = 1; });
    if (opcode != kEpilogue) bad(opcode, "b_mode tensor", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_TENSOR; });
    bad(opcode, "b_mode scalar", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALAR; });
  }
  const auto to_i8 = [&](const char* what, uint64_t offset, const Change& change) {
    for (uint8_t opcode : {kEpilogue, kCast}) {
      spec::VpuCommand c = legal(opcode);
      c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_I8;
      for (const int32_t zero_point : {-128, 127}) {
        c.scalar = static_cast<uint32_t>(zero_point);
        CHECK_FALSE(verdict(c));
        CHECK_FALSE(check(c));
      }
      expect(c, what, WEFT_FAULT_ILLEGAL_FIELD, offset, change);
    }
  };
  to_i8("zero point 128", 48, [](auto& c) { c.scalar = 128; });
  to_i8("zero point -129", 48, [](auto& c) { c.scalar = static_cast<uint32_t>(-129); });
  to_i8("zero point 2^31", 48, [](auto& c) { c.scalar = 1u << 31; });
  to_i8("zero point 256", 48, [](auto& c) { c.scalar = 256; });
  const auto kept = [&](const char* what, uint8_t mode, uint64_t offset, const Change& change) {
    spec::VpuCommand c = legal(kEpilogue);
    c.b_mode = mode, c.scalar2 = 400;
    if (mode == WEFT_VPU_B_MODE_RESIDUAL) c.b_stride = 2;
    if (mode == WEFT_VPU_B_MODE_SCALED) c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_I8;
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
    expect(c, what, WEFT_FAULT_ILLEGAL_FIELD, offset, change);
  };
  constexpr uint8_t kResidual = WEFT_VPU_B_MODE_RESIDUAL, kScaled = WEFT_VPU_B_MODE_SCALED;
  kept("residual to i8", kResidual, 52, [](auto& c) { c.src_dtype = 3, c.dst_dtype = 4; });
  kept("scales to i32", kScaled, 52, [](auto& c) { c.dst_dtype = 3; });
  kept("scales of f32", kScaled, 19, [](auto& c) { c.src_dtype = 1; });
  kept("b_stride of scales", kScaled, 36, [](auto& c) { c.b_stride = 2; });
  kept("scalar of a residual", kResidual, 48, [](auto& c) { c.scalar = 1; });
  for (uint8_t activation : {2, 3}) {
    kept("activation of a residual", kResidual, 53, [=](auto& c) { c.activation = activation; });
    kept("activation of scales", kScaled, 53, [=](auto& c) { c.activation = activation; });
  }
  kept("upper half of f32", kResidual, 18, [](auto& c) { c.op = WEFT_VPU_OP_UPPER; });
  kept("upper half of i32", kScaled, 19, [](auto& c) { c.op = WEFT_VPU_OP_UPPER, c.dst_dtype = 3; });
  for (uint8_t opcode : {kReduce, kTranspose, kCast}) {
    bad(opcode, "b_mode row", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_ROW; });
    bad(opcode, "b_mode column", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_COLUMN; });
  }
  for (uint8_t op : {0, 18, 23, 24})
    for (uint8_t mode : {1, 2, 3, 4})
      expect(unary(op), "b_mode of one operand", WEFT_FAULT_ILLEGAL_FIELD, 52, [=](auto& c) { c.b_mode = mode; });
  expect(unary(WEFT_VPU_OP_IOTA), "a_addr", WEFT_FAULT_ILLEGAL_FIELD, 24, [](auto& c) { c.a_addr = 2; });
  expect(unary(WEFT_VPU_OP_IOTA), "a_stride", WEFT_FAULT_ILLEGAL_FIELD, 28, [](auto& c) { c.a_stride = 2; });
  expect(unary(WEFT_VPU_OP_IOTA), "dtype", WEFT_FAULT_ILLEGAL_FIELD, 18,
         [](auto& c) { c.src_dtype = c.dst_dtype = 1; });
  for (uint8_t op = WEFT_VPU_OP_AND; op <= WEFT_VPU_OP_GEU; op++) {
    const auto of_type = [=](uint8_t dtype) { return [=](auto& c) { c.op = op, c.src_dtype = c.dst_dtype = dtype; }; };
    for (uint8_t dtype : {WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_BF16, WEFT_VPU_DTYPE_I8})
      bad(kElementwise, "logic of another type", 18, of_type(dtype));
    bad(kElementwise, "logic to another type", 19,
        [=](auto& c) { c.op = op, c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_F32; });
    bad(kElementwise, "scalar2 of logic", 56,
        [=](auto& c) { c.op = op, c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32, c.scalar2 = 1; });
    spec::VpuCommand c = legal(kElementwise);
    of_type(WEFT_VPU_DTYPE_I32)(c);
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
  }
  const auto rotated = [&](const char* what, uint64_t offset, const Change& change) {
    spec::VpuCommand c = legal(kElementwise);
    c.op = WEFT_VPU_OP_ROTATE, c.scalar = kN - 1, c.scalar2 = kN << 16;
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
    expect(c, what, WEFT_FAULT_ILLEGAL_FIELD, offset, change);
  };
  rotated("rotation by N", 48, [](auto& c) { c.scalar = kN; });
  rotated("rotation by 2^31", 48, [](auto& c) { c.scalar = 1u << 31; });
  rotated("rotation by N, b_mode scalar", 48,
          [](auto& c) { c.scalar = kN, c.b_mode = WEFT_VPU_B_MODE_SCALAR, c.b_addr = c.b_stride = 0; });
  rotated("no lane", 56, [](auto& c) { c.scalar2 = 0; });
  rotated("no lane at 3", 56, [](auto& c) { c.scalar2 = 3 | 3 << 16; });
  rotated("end before first", 56, [](auto& c) { c.scalar2 = 3 | 2 << 16; });
  rotated("end above N", 56, [](auto& c) { c.scalar2 = (kN + 1) << 16; });
  rotated("first lane N", 56, [](auto& c) { c.scalar2 = kN | (kN + 1) << 16; });
  rotated("i8", 18, [](auto& c) { c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I8; });
  rotated("i32 to f32", 19, [](auto& c) { c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_F32; });
  rotated("b_mode scalar", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALAR, c.b_addr = c.b_stride = 0; });
  rotated("b_mode column", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_COLUMN; });
  rotated("activation", 53, [](auto& c) { c.activation = WEFT_VPU_ACTIVATION_RELU; });
  expect(unary(WEFT_VPU_OP_ERF), "dtype", WEFT_FAULT_ILLEGAL_FIELD, 18, [](auto& c) { c.src_dtype = c.dst_dtype = 3; });
  bad(kReduce, "axis rows without window", 60, [](auto& c) { c.axis = WEFT_VPU_AXIS_ROWS; });
  bad(kElementwise, "b_addr with scalar", 32, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALAR, c.b_stride = 0; });
  bad(kElementwise, "b_stride with scalar", 36, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALAR, c.b_addr = 0; });
  bad(kElementwise, "b_stride with row", 36, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_ROW; });
  bad(kElementwise, "scalar with tensor", 48, [](auto& c) { c.scalar = 1; });
  bad(kElementwise, "b_mode none", 52, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_NONE, c.b_addr = c.b_stride = 0; });
  for (uint8_t opcode : {kElementwise, kReduce, kTranspose, kCast})
    bad(opcode, "activation", 53, [](auto& c) { c.activation = 1; });
  bad(kEpilogue, "activation", 53, [](auto& c) { c.activation = 4; });
  bad(kEpilogue, "activation of i32", 53, [](auto& c) { c.src_dtype = c.dst_dtype = 3, c.activation = 2; });
  for (uint8_t activation : {2, 3})
    bad(kEpilogue, "activation to i8", 53,
        [=](auto& c) { c.src_dtype = 3, c.dst_dtype = 4, c.activation = activation; });
  expect(unary(WEFT_VPU_OP_NONE), "activation of i32", WEFT_FAULT_ILLEGAL_FIELD, 53,
         [](auto& c) { c.src_dtype = c.dst_dtype = 3, c.activation = WEFT_VPU_ACTIVATION_LEAKY; });
  expect(unary(WEFT_VPU_OP_TANH), "activation", WEFT_FAULT_ILLEGAL_FIELD, 53, [](auto& c) { c.activation = 1; });
}

TEST_CASE("each odd address or stride of a two-word type is ALIGNMENT with its byte offset") {
  const auto odd = [](uint8_t opcode, const char* what, uint64_t offset, const Change& change) {
    expect(opcode, what, WEFT_FAULT_ALIGNMENT, offset, change);
  };
  for (uint8_t opcode : {kElementwise, kReduce, kCast}) {
    odd(opcode, "a_addr", 24, [](auto& c) { c.a_addr++; });
    odd(opcode, "a_stride", 28, [](auto& c) { c.a_stride++; });
  }
  odd(kElementwise, "b_addr", 32, [](auto& c) { c.b_addr++; });
  odd(kElementwise, "b_stride", 36, [](auto& c) { c.b_stride++; });
  odd(kEpilogue, "b_addr", 32, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_ROW, c.b_addr = 101; });
  odd(kEpilogue, "b_stride", 36, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 3; });
  odd(kEpilogue, "row kept", 56, [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.scalar2 = 401; });
  odd(kEpilogue, "scales", 56,
      [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALED, c.src_dtype = 3, c.dst_dtype = 4, c.scalar2 = 401; });
  for (uint8_t opcode : {kElementwise, kReduce, kEpilogue}) {
    odd(opcode, "d_addr", 40, [](auto& c) { c.d_addr++; });
    odd(opcode, "d_stride", 44, [](auto& c) { c.d_stride++; });
  }
  const auto passes = [](uint8_t opcode, const Change& change) {
    spec::VpuCommand c = legal(opcode);
    change(c);
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
  };
  passes(kCast, [](auto& c) { c.d_addr++, c.d_stride++; });      // bf16 result
  passes(kEpilogue, [](auto& c) { c.a_addr++, c.a_stride++; });  // ACC rows
  passes(kElementwise, [](auto& c) {
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
    c.a_addr++, c.a_stride++, c.b_addr++, c.b_stride++, c.d_addr++, c.d_stride++;
  });
}

TEST_CASE("ACC rows outside are ACC_RANGE with the first row as address") {
  const auto outside = [](uint32_t addr, uint32_t stride, uint16_t rows) {
    expect(kEpilogue, "acc", WEFT_FAULT_ACC_RANGE, addr,
           [=](auto& c) { c.a_addr = addr, c.a_stride = stride, c.rows = rows; });
  };
  outside(kAccRows, 0, 1);
  outside(kAccRows - 3, 1, 4);
  outside(0, kAccRows / 3 + 1, 4);
  outside(0xffffffff, 1, 1);
  outside(1, 0xffffffff, 65535);
  spec::VpuCommand c = legal(kEpilogue);
  c.a_addr = kAccRows - 4, c.a_stride = 1;
  CHECK_FALSE(verdict(c));
  c.a_addr = 0, c.a_stride = (kAccRows - 1) / 3;
  CHECK_FALSE(verdict(c));
}

TEST_CASE("the first row outside of VMEM is RANGE with VMEM's bytes as address, and the last row inside is not") {
  struct Field {
    const char* name;
    uint32_t spec::VpuCommand::*addr;
    uint32_t spec::VpuCommand::*stride;
  };
  const Field a{"a", &spec::VpuCommand::a_addr, &spec::VpuCommand::a_stride};
  const Field b{"b", &spec::VpuCommand::b_addr, &spec::VpuCommand::b_stride};
  const Field d{"d", &spec::VpuCommand::d_addr, &spec::VpuCommand::d_stride};
  for (const Field& field : {a, b, d}) {
    const auto place = [&](uint32_t addr, uint32_t stride) {
      return [=](spec::VpuCommand& c) { c.*field.addr = addr, c.*field.stride = stride; };
    };
    const auto outside = [&](uint32_t addr, uint32_t stride) {
      expect(kElementwise, field.name, WEFT_FAULT_RANGE, kVmemBytes, place(addr, stride));
    };
    outside(kVmemWords, 0);
    outside(kVmemWords - 6, 2);
    outside(0x80000000, 0);
    outside(0, 0x80000000);
    outside(0xfffffffe, 0xfffffffe);
    spec::VpuCommand c = legal(kElementwise);
    place(kVmemWords - 8, 2)(c);
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
    // One-word rows reach the last word exactly.
    const auto narrow = [&](uint32_t addr) {
      return [=](spec::VpuCommand& n) { n.src_dtype = n.dst_dtype = WEFT_VPU_DTYPE_BF16, place(addr, 1)(n); };
    };
    expect(kElementwise, field.name, WEFT_FAULT_RANGE, kVmemBytes, narrow(kVmemWords - 3));
    c = legal(kElementwise);
    narrow(kVmemWords - 4)(c);
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
  }
  expect(kEpilogue, "bias", WEFT_FAULT_RANGE, kVmemBytes,
         [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_ROW, c.b_addr = kVmemWords; });
  for (uint32_t word : {uint32_t{kVmemWords}, 0xfffffffe}) {
    expect(kEpilogue, "scales", WEFT_FAULT_RANGE, kVmemBytes,
           [=](auto& c) { c.b_mode = WEFT_VPU_B_MODE_SCALED, c.src_dtype = 3, c.dst_dtype = 4, c.scalar2 = word; });
    expect(kEpilogue, "bias", WEFT_FAULT_RANGE, kVmemBytes,
           [=](auto& c) { c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.scalar2 = word; });
  }
  expect(kEpilogue, "residual", WEFT_FAULT_RANGE, kVmemBytes,
         [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 2, c.b_addr = kVmemWords - 6; });
  expect(kEpilogue, "residual without bias", WEFT_FAULT_RANGE, kVmemBytes,
         [](auto& c) { c.b_mode = WEFT_VPU_B_MODE_TENSOR, c.b_stride = 2, c.b_addr = kVmemWords - 6; });
  // A vector of kN + 1 elements is two rows of b; a transpose writes cols rows; a window reaches beyond its first row.
  const auto column = [](uint32_t addr, uint16_t rows) {
    return [=](spec::VpuCommand& c) { c.b_mode = WEFT_VPU_B_MODE_COLUMN, c.b_addr = addr, c.rows = rows; };
  };
  const auto turn = [](uint32_t addr) { return [=](spec::VpuCommand& c) { c.rows = 2, c.cols = 5, c.d_addr = addr; }; };
  const auto windows = [](uint32_t addr) {
    return [=](spec::VpuCommand& c) { c.axis = WEFT_VPU_AXIS_ROWS, c.window = 3, c.b_stride = 4, c.a_addr = addr; };
  };
  expect(kElementwise, "column", WEFT_FAULT_RANGE, kVmemBytes, column(kVmemWords - 2, kN + 1));
  expect(kTranspose, "columns", WEFT_FAULT_RANGE, kVmemBytes, turn(kVmemWords - 8));
  expect(kReduce, "windows", WEFT_FAULT_RANGE, kVmemBytes, windows(kVmemWords - 14));
  const auto residual = [](spec::VpuCommand& c) {
    c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_stride = 2, c.b_addr = kVmemWords - 8, c.scalar2 = kVmemWords - 2;
  };
  const std::pair<uint8_t, Change> inside[] = {{kEpilogue, residual},
                                               {kElementwise, column(kVmemWords - 2, kN)},
                                               {kElementwise, column(kVmemWords - 4, kN + 1)},
                                               {kTranspose, turn(kVmemWords - 10)},
                                               {kReduce, windows(kVmemWords - 16)}};
  for (const auto& [opcode, change] : inside) {
    spec::VpuCommand c = legal(opcode);
    change(c);
    CHECK_FALSE(verdict(c));
    CHECK_FALSE(check(c));
  }
  expect(kCast, "bf16 result", WEFT_FAULT_RANGE, kVmemBytes,
         [](auto& c) { c.d_addr = kVmemWords - 3, c.d_stride = 1; });
}

TEST_CASE("random commands get the reference's verdict") {
  std::mt19937_64 random(88);
  INFO("seed 88");
  const auto below = [&](uint64_t n) { return random() % n; };
  unsigned refused = 0;
  for (int i = 0; i < 20000; i++) {
    constexpr std::array kOpcodes{kElementwise, kReduce, kTranspose, kEpilogue, kCast};
    spec::VpuCommand c = below(4) == 0 ? unary(static_cast<uint8_t>(below(8) == 0 ? 0 : 18 + below(7)))
                                       : legal(kOpcodes[below(kOpcodes.size())]);
    spec::Command bytes = spec::encode(c);
    for (uint64_t n = below(4); n > 0; n--) {  // disturb a few bytes of the body, mostly by small values
      const auto offset = static_cast<unsigned>(16 + below(46));
      if (offset == 55) continue;  // reserved
      const uint64_t values = offset == 16 ? WEFT_VPU_OP_ROTATE + 2 : offset == 52 ? WEFT_VPU_B_MODE_SCALED + 2 : 5;
      bytes.bytes[offset] = static_cast<uint8_t>(below(4) == 0 ? random() : below(values));
    }
    c = spec::decode_vpu(bytes);
    c.rows = static_cast<uint16_t>(c.rows % 512);
    c.window = static_cast<uint16_t>(c.window % 16);
    VpuHarness bench(static_cast<uint64_t>(i), 0);
    bench.push(c);
    REQUIRE(bench.run());
    const auto want = check(c);
    CAPTURE(i);
    REQUIRE(bench.fault().has_value() == want.has_value());
    if (want) REQUIRE(bench.fault()->fault == *want);
    refused += want.has_value();
  }
  CHECK(refused > 5000);
  CHECK(refused < 19000);
}

TEST_CASE("a refused command faults after the one before it has retired, and nothing follows") {
  VpuHarness bench(9, 25);
  spec::VpuCommand bad = legal(kCast);
  bad.header.tag = 0x4321;
  bad.cols = 0;
  bench.push(legal(kElementwise));
  bench.push(bad);
  bench.push(legal(kElementwise));
  REQUIRE(bench.run());
  for (int i = 0; i < 200; i++) bench.cycle();
  REQUIRE(bench.fault());
  CHECK(bench.fault()->tag == 0x4321);
  CHECK(bench.times()[0].done >= 0);
  CHECK(bench.fault()->cycle > bench.times()[0].done);
  CHECK(bench.times()[1].done < 0);
  CHECK(bench.times()[2].accepted < 0);
  CHECK(bench.counters().rows == legal(kElementwise).rows);
  CHECK(bench.violation() == "");
}

}  // namespace weft::vpu_test::check_test
