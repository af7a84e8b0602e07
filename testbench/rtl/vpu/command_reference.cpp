// Reference for whole VPU commands.
#include "testbench/rtl/vpu/command_reference.hpp"

#include <array>
#include <functional>

#include "testbench/rtl/vpu/lane_reference.hpp"

namespace weft::vpu_test {
namespace {

using Row = std::array<uint32_t, kN>;  // bf16 in the low half
using Binary = std::function<uint32_t(uint32_t, uint32_t)>;

bool two_words(uint8_t dtype) { return dtype != WEFT_VPU_DTYPE_BF16; }

Row load_row(const Vmem& vmem, uint64_t word, uint8_t dtype) {
  Row row{};
  const unsigned bytes = two_words(dtype) ? 4 : 2;
  for (unsigned i = 0; i < kN; i++)
    for (unsigned b = 0; b < bytes; b++)
      row[i] |= static_cast<uint32_t>(vmem[word * kWordBytes + bytes * i + b]) << (8 * b);
  return row;
}

void store_row(Vmem& vmem, uint64_t word, uint8_t dtype, const Row& row) {
  const unsigned bytes = two_words(dtype) ? 4 : 2;
  for (unsigned i = 0; i < kN; i++)
    for (unsigned b = 0; b < bytes; b++)
      vmem[word * kWordBytes + bytes * i + b] = static_cast<uint8_t>(row[i] >> (8 * b));
}

Binary operation(uint8_t op, uint8_t dtype) {
  const bool i32 = dtype == WEFT_VPU_DTYPE_I32;
  switch (static_cast<weft_vpu_op>(op)) {
    case WEFT_VPU_OP_ADD:
    case WEFT_VPU_OP_SUM:
      return i32 ? Binary([](uint32_t a, uint32_t b) { return a + b; }) : Binary(add);
    case WEFT_VPU_OP_SUB:
      return i32 ? Binary([](uint32_t a, uint32_t b) { return a - b; })
                 : Binary([](uint32_t a, uint32_t b) { return add(a, b ^ kSign); });
    case WEFT_VPU_OP_MUL:
      return i32 ? Binary([](uint32_t a, uint32_t b) { return a * b; }) : Binary(mul);
    case WEFT_VPU_OP_MIN:
      return i32 ? Binary(smaller_i32) : Binary(smaller);
    case WEFT_VPU_OP_MAX:
    case WEFT_VPU_OP_RMAX:
      return i32 ? Binary(larger_i32) : Binary(larger);
    case WEFT_VPU_OP_NONE:
      break;
  }
  return [](uint32_t a, uint32_t) { return a; };
}

/// The tree over lanes [first, first + size), size a power of two; lanes at or beyond cols are absent.
std::optional<uint32_t> reduce(const Row& row, unsigned cols, unsigned first, unsigned size, const Binary& op) {
  if (first >= cols) return std::nullopt;
  if (size == 1) return row[first];
  const auto left = reduce(row, cols, first, size / 2, op), right = reduce(row, cols, first + size / 2, size / 2, op);
  return right ? op(*left, *right) : left;
}

/// A value computed in the source type as the destination type; a bf16 source was computed in f32.
uint32_t convert(uint8_t from, uint8_t to, uint32_t value) {
  if (to == WEFT_VPU_DTYPE_BF16) return f32_to_bf16(value);
  if (from == WEFT_VPU_DTYPE_I32 && to == WEFT_VPU_DTYPE_F32) return i32_to_f32(value);
  if (from == WEFT_VPU_DTYPE_F32 && to == WEFT_VPU_DTYPE_I32) return f32_to_i32(value);
  return value;
}

/// An element as the unit reads it: bf16 widened, floats canonical.
uint32_t read_element(uint8_t dtype, uint32_t bits) {
  if (dtype == WEFT_VPU_DTYPE_BF16) return bf16_to_f32(bits & 0xffff);
  return dtype == WEFT_VPU_DTYPE_F32 ? canonical(bits) : bits;
}

std::optional<uint64_t> illegal_field(const spec::VpuCommand& c) {
  const bool f32 = c.src_dtype == WEFT_VPU_DTYPE_F32, bf16 = c.src_dtype == WEFT_VPU_DTYPE_BF16,
             i32 = c.src_dtype == WEFT_VPU_DTYPE_I32;
  const bool to_f32 = c.dst_dtype == WEFT_VPU_DTYPE_F32, to_bf16 = c.dst_dtype == WEFT_VPU_DTYPE_BF16,
             to_i32 = c.dst_dtype == WEFT_VPU_DTYPE_I32;
  const bool same = (f32 && to_f32) || (bf16 && to_bf16) || (i32 && to_i32);
  bool op = false, space = c.src_space == WEFT_VPU_SPACE_VMEM, src = false, dst = same,
       mode = c.b_mode == WEFT_VPU_B_MODE_NONE, activation = c.activation == WEFT_VPU_ACTIVATION_NONE;
  switch (c.header.opcode) {
    case WEFT_OPCODE_ELEMENTWISE:
      op = c.op >= WEFT_VPU_OP_ADD && c.op <= WEFT_VPU_OP_MAX;
      src = f32 || bf16 || i32;
      mode =
          c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_ROW || c.b_mode == WEFT_VPU_B_MODE_SCALAR;
      break;
    case WEFT_OPCODE_REDUCE:
      op = c.op == WEFT_VPU_OP_SUM || c.op == WEFT_VPU_OP_RMAX;
      src = f32 || i32;
      break;
    case WEFT_OPCODE_EPILOGUE:
      op = c.op == WEFT_VPU_OP_NONE;
      space = c.src_space == WEFT_VPU_SPACE_ACC;
      src = f32 || i32;
      dst = (f32 && (to_f32 || to_bf16)) || (i32 && to_i32);
      mode = c.b_mode == WEFT_VPU_B_MODE_NONE || c.b_mode == WEFT_VPU_B_MODE_ROW;
      activation = c.activation == WEFT_VPU_ACTIVATION_NONE || c.activation == WEFT_VPU_ACTIVATION_RELU;
      break;
    default:  // CAST
      op = c.op == WEFT_VPU_OP_NONE;
      src = f32 || bf16 || i32;
      dst = (f32 && (to_bf16 || to_i32)) || (bf16 && to_f32) || (i32 && to_f32);
  }
  if (!op) return 16;
  if (!space) return 17;
  if (!src) return 18;
  if (!dst) return 19;
  if (c.rows == 0) return 20;
  if (c.cols == 0 || c.cols > kN) return 22;
  if (c.b_addr != 0 && (c.b_mode == WEFT_VPU_B_MODE_NONE || c.b_mode == WEFT_VPU_B_MODE_SCALAR)) return 32;
  if (c.b_stride != 0 && c.b_mode != WEFT_VPU_B_MODE_TENSOR) return 36;
  if (c.scalar != 0 && c.b_mode != WEFT_VPU_B_MODE_SCALAR) return 48;
  if (!mode) return 52;
  if (!activation) return 53;
  return std::nullopt;
}

std::optional<uint64_t> misaligned_field(const spec::VpuCommand& c) {
  const bool source = two_words(c.src_dtype), a = source && c.src_space == WEFT_VPU_SPACE_VMEM,
             d = two_words(c.dst_dtype);
  if (a && c.a_addr % 2 != 0) return 24;
  if (a && c.a_stride % 2 != 0) return 28;
  if (source && c.b_addr % 2 != 0) return 32;
  if (source && c.b_stride % 2 != 0) return 36;
  if (d && c.d_addr % 2 != 0) return 40;
  if (d && c.d_stride % 2 != 0) return 44;
  return std::nullopt;
}

}  // namespace

std::optional<Fault> check(const spec::VpuCommand& c) {
  switch (c.header.opcode) {
    case WEFT_OPCODE_ELEMENTWISE:
    case WEFT_OPCODE_REDUCE:
    case WEFT_OPCODE_EPILOGUE:
    case WEFT_OPCODE_CAST:
      break;
    default:
      return Fault{WEFT_FAULT_ILLEGAL_OPCODE, c.header.opcode};
  }
  if (const auto field = illegal_field(c)) return Fault{WEFT_FAULT_ILLEGAL_FIELD, *field};
  if (const auto field = misaligned_field(c)) return Fault{WEFT_FAULT_ALIGNMENT, *field};
  const auto last = [&](uint64_t addr, uint64_t stride) { return addr + (c.rows - 1u) * stride; };
  const uint64_t source_extra = two_words(c.src_dtype) ? 1 : 0, result_extra = two_words(c.dst_dtype) ? 1 : 0;
  if (c.src_space == WEFT_VPU_SPACE_ACC && last(c.a_addr, c.a_stride) >= kAccRows)
    return Fault{WEFT_FAULT_ACC_RANGE, c.a_addr};
  const bool a_outside = c.src_space == WEFT_VPU_SPACE_VMEM && last(c.a_addr, c.a_stride) + source_extra >= kVmemWords;
  const bool b_outside =
      (c.b_mode == WEFT_VPU_B_MODE_TENSOR && last(c.b_addr, c.b_stride) + source_extra >= kVmemWords) ||
      (c.b_mode == WEFT_VPU_B_MODE_ROW && c.b_addr + source_extra >= kVmemWords);
  if (a_outside || b_outside || last(c.d_addr, c.d_stride) + result_extra >= kVmemWords)
    return Fault{WEFT_FAULT_RANGE, static_cast<uint64_t>(kVmemWords) * kWordBytes};
  return std::nullopt;
}

StatusCounts execute(const spec::VpuCommand& c, Vmem& vmem, const Acc& acc) {
  StatusCounts counts;
  const bool epilogue = c.header.opcode == WEFT_OPCODE_EPILOGUE, reduction = c.header.opcode == WEFT_OPCODE_REDUCE;
  const uint8_t op_code = epilogue && c.b_mode == WEFT_VPU_B_MODE_ROW ? static_cast<uint8_t>(WEFT_VPU_OP_ADD) : c.op;
  const Binary op = operation(op_code, c.src_dtype);
  Row bias{};
  if (c.b_mode == WEFT_VPU_B_MODE_ROW) bias = load_row(vmem, c.b_addr, c.src_dtype);
  for (uint64_t r = 0; r < c.rows; r++) {
    Row a{}, b = bias, d{};
    if (c.src_space == WEFT_VPU_SPACE_ACC)
      for (unsigned i = 0; i < kN; i++) a[i] = acc[(c.a_addr + r * c.a_stride) * kN + i];
    else
      a = load_row(vmem, c.a_addr + r * c.a_stride, c.src_dtype);
    if (c.b_mode == WEFT_VPU_B_MODE_TENSOR) b = load_row(vmem, c.b_addr + r * c.b_stride, c.src_dtype);
    if (c.b_mode == WEFT_VPU_B_MODE_SCALAR) b.fill(c.scalar);
    for (auto& v : a) v = read_element(c.src_dtype, v);
    for (auto& v : b) v = read_element(c.src_dtype, v);
    std::optional<uint32_t> whole;
    if (reduction) whole = reduce(a, c.cols, 0, kN, op);
    for (unsigned i = 0; i < c.cols; i++) {
      uint32_t value = reduction ? *whole : op(a[i], b[i]);
      if (c.activation == WEFT_VPU_ACTIVATION_RELU)
        value = c.src_dtype == WEFT_VPU_DTYPE_I32 ? larger_i32(value, 0) : relu_f32(value);
      d[i] = convert(c.src_dtype, c.dst_dtype, value);
      if (epilogue && c.dst_dtype != WEFT_VPU_DTYPE_I32) {
        const uint32_t magnitude = (c.dst_dtype == WEFT_VPU_DTYPE_BF16 ? d[i] << 16 : d[i]) & ~kSign;
        counts.nans += magnitude > kInfinity;
        counts.infinities += magnitude == kInfinity;
      }
    }
    store_row(vmem, c.d_addr + r * c.d_stride, c.dst_dtype, d);
  }
  return counts;
}

}  // namespace weft::vpu_test
