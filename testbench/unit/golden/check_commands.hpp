/// Legal commands for the tests of the checks, and what a change to one must give.
#pragma once
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "model/golden/check.hpp"

namespace weft::test {

using golden::Fault;

inline const spec::Chip& chip() { return *spec::find_chip("small"); }  // N = 32, words of 64 bytes

inline golden::SegmentTable segments() {
  golden::SegmentTable table{};
  table[3] = {0x10000, 0x8000, WEFT_ADDRESS_SPACE_HBM, true, false};
  table[4] = {0x20000, 0x8000, WEFT_ADDRESS_SPACE_HBM, false, true};
  table[5] = {0x30000, UINT64_MAX, WEFT_ADDRESS_SPACE_HOST, true, true};
  return table;
}

inline spec::DmaCommand copy_in() {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.src_seg = 3;
  c.dst_off = 128;
  c.size0 = 64;
  c.size1 = 4;
  c.src_stride1 = 128;
  c.dst_stride1 = 64;
  return c;
}
inline spec::DmaCommand copy_out() {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.dst_seg = 4;
  c.src_off = 64;
  c.size0 = 48;
  return c;
}
inline spec::DmaCommand fill_in() {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_FILL;
  c.src_off = 0xffffffff;
  c.size0 = 64;
  return c;
}
inline spec::DmaCommand fill_out() {
  auto c = fill_in();
  c.dst_seg = 5;
  return c;
}
inline spec::MxuCommand matmul() {
  spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.k = 70;  // 3 tiles, 6 words in the last
  c.m = 16;
  c.cols = 32;
  c.x_row_stride = 3;
  c.x_tile_stride = 1;
  c.w_addr = 100;
  c.w_tile_stride = 32;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  return c;
}
inline spec::VpuCommand elementwise() {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.op = WEFT_VPU_OP_ADD;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = 8;
  c.cols = 32;
  c.a_stride = c.b_stride = c.d_stride = 2;
  c.b_addr = 100;
  c.d_addr = 200;
  c.b_mode = WEFT_VPU_B_MODE_TENSOR;
  return c;
}
inline spec::VpuCommand reduce() {
  auto c = elementwise();
  c.header.opcode = WEFT_OPCODE_REDUCE;
  c.op = WEFT_VPU_OP_SUM;
  c.b_mode = WEFT_VPU_B_MODE_NONE;
  c.b_addr = c.b_stride = 0;
  return c;
}
inline spec::VpuCommand epilogue() {
  auto c = reduce();
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.op = WEFT_VPU_OP_NONE;
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.a_stride = 1;
  c.activation = WEFT_VPU_ACTIVATION_RELU;
  return c;
}
/// One operand: op none or a function.
inline spec::VpuCommand unary(uint8_t op) {
  auto c = elementwise();
  c.op = op;
  c.b_mode = WEFT_VPU_B_MODE_NONE;
  c.b_addr = c.b_stride = 0;
  return c;
}
inline spec::VpuCommand iota() {
  auto c = unary(WEFT_VPU_OP_IOTA);
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
  c.a_addr = c.a_stride = 0;
  return c;
}
/// Of i32 only.
inline spec::VpuCommand logic() {
  auto c = elementwise();
  c.op = WEFT_VPU_OP_SRA;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_I32;
  return c;
}
inline spec::VpuCommand transpose() {
  auto c = unary(WEFT_VPU_OP_NONE);
  c.header.opcode = WEFT_OPCODE_TRANSPOSE;
  return c;
}
inline spec::VpuCommand rotate() {
  auto c = elementwise();
  c.op = WEFT_VPU_OP_ROTATE;
  c.scalar = 31;
  c.scalar2 = 5 | 32 << 16;
  return c;
}
/// From i8, the upper half.
inline spec::VpuCommand upper() {
  auto c = unary(WEFT_VPU_OP_UPPER);
  c.header.opcode = WEFT_OPCODE_CAST;
  c.src_dtype = WEFT_VPU_DTYPE_I8;
  return c;
}
inline spec::VpuCommand cast() {
  auto c = reduce();
  c.header.opcode = WEFT_OPCODE_CAST;
  c.op = WEFT_VPU_OP_NONE;
  c.dst_dtype = WEFT_VPU_DTYPE_BF16;
  return c;
}
/// From i32.
inline spec::VpuCommand to_i8(spec::VpuCommand c) {
  c.src_dtype = WEFT_VPU_DTYPE_I32;
  c.dst_dtype = WEFT_VPU_DTYPE_I8;
  return c;
}
inline spec::VpuCommand upper_half() {
  auto c = to_i8(epilogue());
  c.op = WEFT_VPU_OP_UPPER;
  return c;
}

template <class C>
std::optional<Fault> check(const C& command, unsigned queue) {
  return golden::check_command(spec::encode(command), queue, chip(), segments());
}

/// `change` applied to `base` must give `code` and `address`.
template <class C>
void expect(const C& base, unsigned queue, const std::function<void(C&)>& change, weft_fault code, uint64_t address) {
  C c = base;
  change(c);
  const auto fault = check(c, queue);
  REQUIRE(fault.has_value());
  CHECK(fault->code == code);
  CHECK(fault->address == address);
}
template <class C>
void expect_legal(const C& base, unsigned queue, const std::function<void(C&)>& change) {
  C c = base;
  change(c);
  CHECK(check(c, queue) == std::nullopt);
}

using Dma = spec::DmaCommand;
using Mxu = spec::MxuCommand;
using Vpu = spec::VpuCommand;
using None = spec::NoneCommand;
constexpr auto kField = WEFT_FAULT_ILLEGAL_FIELD;
constexpr auto kAlignment = WEFT_FAULT_ALIGNMENT;
constexpr unsigned kIn = WEFT_QUEUE_DMA_IN, kOut = WEFT_QUEUE_DMA_OUT, kMxu = WEFT_QUEUE_MXU, kVpu = WEFT_QUEUE_VPU,
                   kSync = WEFT_QUEUE_SYNC;

}  // namespace weft::test
