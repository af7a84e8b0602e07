// Seeds for what a core reads: commands, segments, registers.
#include "model/core/fast/fast_core.hpp"
#include "testbench/fuzz/core_operations.hpp"
#include "testbench/fuzz/seeds.hpp"
#include "testbench/unit/fast_core/programs.hpp"

namespace weft::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename Command>
Bytes command_seed(unsigned queue, const Command& command) {
  Bytes bytes{static_cast<uint8_t>(queue), 0};
  for (unsigned i = 0; i < 3; i++) {
    append(bytes, uint64_t{i} << 20);
    append(bytes, uint64_t{1} << 20);
    bytes.push_back(WEFT_ADDRESS_SPACE_HBM | 4 | 8);
  }
  const spec::Command encoded = spec::encode(command);
  bytes.insert(bytes.end(), encoded.bytes.begin(), encoded.bytes.end());
  return bytes;
}

spec::VpuCommand vpu(weft_opcode opcode, uint8_t op, uint8_t from, uint8_t to, uint8_t b_mode) {
  spec::VpuCommand c = test::epilogue(0, 4, 8, 64);
  c.header.opcode = static_cast<uint8_t>(opcode);
  c.op = op;
  c.src_space = WEFT_VPU_SPACE_VMEM;
  c.src_dtype = from;
  c.dst_dtype = to;
  c.b_mode = b_mode;
  c.a_stride = c.b_stride = 2;
  c.b_addr = 32;
  return c;
}

/// Into the upper half of words, with a row of scales and a zero point.
spec::VpuCommand to_bytes(uint16_t columns) {
  spec::VpuCommand c = test::epilogue(0, 4, columns, 0);
  c.src_dtype = WEFT_VPU_DTYPE_I32, c.dst_dtype = WEFT_VPU_DTYPE_I8;
  c.op = WEFT_VPU_OP_UPPER;
  c.b_mode = WEFT_VPU_B_MODE_SCALED, c.b_addr = 32, c.scalar = 3, c.scalar2 = 34;
  return c;
}
spec::VpuCommand residual(uint16_t columns) {
  spec::VpuCommand c = test::epilogue(0, 4, columns, 0);
  c.b_mode = WEFT_VPU_B_MODE_RESIDUAL, c.b_addr = 32, c.b_stride = 2, c.scalar2 = 64;
  return c;
}

/// Rows of the segment by indices behind them.
spec::IndexedCommand indexed(weft_opcode opcode) {
  spec::IndexedCommand c;
  c.header.opcode = static_cast<uint8_t>(opcode);
  const bool gathers = opcode == WEFT_OPCODE_GATHER;
  (gathers ? c.src_seg : c.dst_seg) = gathers ? 3 : 4;
  (gathers ? c.src_stride : c.dst_stride) = 64;
  (gathers ? c.dst_stride : c.src_stride) = 64;
  c.row_bytes = 64, c.count = 5, c.table_rows = 20;
  c.index_off = 8192;
  return c;
}

}  // namespace

Seeds command_seeds() {
  const uint32_t n = spec::kChips[0].n;
  return {
      {"copy_in", command_seed(WEFT_QUEUE_DMA_IN, test::copy_in(3, 0, 0, 256))},
      {"copy_out", command_seed(WEFT_QUEUE_DMA_OUT, test::copy_out(0, 4, 64, 256))},
      {"gather", command_seed(WEFT_QUEUE_DMA_IN, indexed(WEFT_OPCODE_GATHER))},
      {"scatter", command_seed(WEFT_QUEUE_DMA_OUT, indexed(WEFT_OPCODE_SCATTER))},
      {"matmul", command_seed(WEFT_QUEUE_MXU, test::matmul(0, 1, 64, 4, n, static_cast<uint16_t>(n), n))},
      {"epilogue", command_seed(WEFT_QUEUE_VPU, test::epilogue(0, 4, static_cast<uint16_t>(n), 0))},
      {"bytes", command_seed(WEFT_QUEUE_VPU, to_bytes(static_cast<uint16_t>(n)))},
      {"residual", command_seed(WEFT_QUEUE_VPU, residual(static_cast<uint16_t>(n)))},
      {"add", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_ELEMENTWISE, WEFT_VPU_OP_ADD, WEFT_VPU_DTYPE_F32,
                                               WEFT_VPU_DTYPE_F32, WEFT_VPU_B_MODE_TENSOR))},
      {"sum", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_REDUCE, WEFT_VPU_OP_SUM, WEFT_VPU_DTYPE_F32,
                                               WEFT_VPU_DTYPE_F32, WEFT_VPU_B_MODE_NONE))},
      {"cast", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_CAST, WEFT_VPU_OP_NONE, WEFT_VPU_DTYPE_F32,
                                                WEFT_VPU_DTYPE_BF16, WEFT_VPU_B_MODE_NONE))},
      {"transpose", command_seed(WEFT_QUEUE_VPU, vpu(WEFT_OPCODE_TRANSPOSE, WEFT_VPU_OP_NONE, WEFT_VPU_DTYPE_F32,
                                                     WEFT_VPU_DTYPE_F32, WEFT_VPU_B_MODE_NONE))},
      {"signal", command_seed(WEFT_QUEUE_SYNC, test::posting(test::sync(WEFT_OPCODE_SIGNAL), 3))},
      {"fence", command_seed(WEFT_QUEUE_SYNC, test::waiting(test::sync(WEFT_OPCODE_FENCE), 3))},
  };
}

Seeds core_seeds() {
  const spec::Chip& chip = *spec::find_chip("nano");
  Bytes bytes;
  for (uint8_t i = 2; i < 4; i++) {  // operation kSegment counts from segment 1: segments 3 and 4
    append(bytes, CoreOperation::kSegment);
    append(bytes, i);
    append(bytes, uint32_t{i} << 13);
    append(bytes, uint32_t{1} << 13);
    append(bytes, uint8_t{WEFT_ADDRESS_SPACE_HBM | 4 | 8});
  }
  auto program = test::product(chip, 8, 2 * chip.n, 2);
  const Bytes mapped = bytes;
  for (uint8_t q = 0; q < WEFT_CORE_QUEUES; q++) {
    for (spec::Command& command : program.queues[q]) {
      if (q == WEFT_QUEUE_DMA_OUT) command.bytes[17] = 4;  // the third segment of the product's bench
      append(bytes, CoreOperation::kPush);
      append(bytes, q);
      append(bytes, command);
    }
  }
  append(bytes, CoreOperation::kAdvance);
  append(bytes, uint8_t{200});
  Bytes faulty = mapped;
  append(faulty, CoreOperation::kPush);
  append(faulty, uint8_t{WEFT_QUEUE_DMA_IN});
  append(faulty, spec::encode(test::copy_in(9, 0, 0, 64)));
  append(faulty, CoreOperation::kReset);
  Bytes registers;
  for (const uint16_t offset : {WEFT_CSR_QUEUE_LOW, WEFT_CSR_WATCHDOG_LIMIT, WEFT_CSR_COUNTER_SNAPSHOT}) {
    append(registers, CoreOperation::kRegister);
    append(registers, offset);
    append(registers, uint64_t{100});
    append(registers, CoreOperation::kRead);
    append(registers, offset);
  }
  return {{"product", bytes}, {"refused", faulty}, {"registers", registers}};
}

}  // namespace weft::fuzz
