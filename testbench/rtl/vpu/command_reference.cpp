// Reference for whole VPU commands.
#include "testbench/rtl/vpu/command_reference.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "model/golden/vpu_functions.hpp"
#include "testbench/rtl/vpu/lane_reference.hpp"

namespace weft::vpu_test {
namespace {

using Row = std::array<uint32_t, kN>;  // bf16 in the low half

bool two_words(uint8_t dtype) { return dtype == WEFT_VPU_DTYPE_F32 || dtype == WEFT_VPU_DTYPE_I32; }
bool is_integer(uint8_t dtype) { return dtype == WEFT_VPU_DTYPE_I32 || dtype == WEFT_VPU_DTYPE_I8; }
bool is_function(uint8_t op) { return op >= WEFT_VPU_OP_EXP2 && op <= WEFT_VPU_OP_ERF; }

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

/// What a lane computes; c is scalar2. Functions are the golden model's, which has its own test.
using Operation = std::function<uint32_t(uint32_t a, uint32_t b, uint32_t c)>;

Operation float_operation(uint8_t op) {
  const auto flag = [](bool value) { return value ? 0x3f800000u : 0u; };
  if (is_function(op))
    return [op](uint32_t a, uint32_t, uint32_t) { return golden::vpu_function_f32(static_cast<weft_vpu_op>(op), a); };
  const std::map<unsigned, Operation> table = {
      {WEFT_VPU_OP_ADD, [](auto a, auto b, auto) { return add(a, b); }},
      {WEFT_VPU_OP_SUM, [](auto a, auto b, auto) { return add(a, b); }},
      {WEFT_VPU_OP_SUB, [](auto a, auto b, auto) { return add(a, b ^ kSign); }},
      {WEFT_VPU_OP_MUL, [](auto a, auto b, auto) { return mul(a, b); }},
      {WEFT_VPU_OP_MIN, [](auto a, auto b, auto) { return smaller(a, b); }},
      {WEFT_VPU_OP_RMIN, [](auto a, auto b, auto) { return smaller(a, b); }},
      {WEFT_VPU_OP_MAX, [](auto a, auto b, auto) { return larger(a, b); }},
      {WEFT_VPU_OP_RMAX, [](auto a, auto b, auto) { return larger(a, b); }},
      {WEFT_VPU_OP_FMA, [](auto a, auto b, auto c) { return fma(a, b, c); }},
      {WEFT_VPU_OP_AXPY, [](auto a, auto b, auto c) { return fma(a, c, b); }},
      {WEFT_VPU_OP_SELECT, [](auto a, auto b, auto c) { return canonical(equal(a, 0) ? c : b); }},
      {WEFT_VPU_OP_EQ, [=](auto a, auto b, auto) { return flag(equal(a, b)); }},
      {WEFT_VPU_OP_NE, [=](auto a, auto b, auto) { return flag(!equal(a, b)); }},
      {WEFT_VPU_OP_LT, [=](auto a, auto b, auto) { return flag(less(a, b)); }},
      {WEFT_VPU_OP_LE, [=](auto a, auto b, auto) { return flag(less(a, b) || equal(a, b)); }},
      {WEFT_VPU_OP_GT, [=](auto a, auto b, auto) { return flag(less(b, a)); }},
      {WEFT_VPU_OP_GE, [=](auto a, auto b, auto) { return flag(less(b, a) || equal(a, b)); }}};
  const auto found = table.find(op);
  return found == table.end() ? [](auto a, auto, auto) { return canonical(a); } : found->second;
}

Operation integer_operation(uint8_t op) {
  const auto less_i32 = [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b); };
  const std::map<unsigned, Operation> table = {
      {WEFT_VPU_OP_ADD, [](auto a, auto b, auto) { return a + b; }},
      {WEFT_VPU_OP_SUM, [](auto a, auto b, auto) { return a + b; }},
      {WEFT_VPU_OP_SUB, [](auto a, auto b, auto) { return a - b; }},
      {WEFT_VPU_OP_MUL, [](auto a, auto b, auto) { return a * b; }},
      {WEFT_VPU_OP_MIN, [](auto a, auto b, auto) { return smaller_i32(a, b); }},
      {WEFT_VPU_OP_RMIN, [](auto a, auto b, auto) { return smaller_i32(a, b); }},
      {WEFT_VPU_OP_MAX, [](auto a, auto b, auto) { return larger_i32(a, b); }},
      {WEFT_VPU_OP_RMAX, [](auto a, auto b, auto) { return larger_i32(a, b); }},
      {WEFT_VPU_OP_FMA, [](auto a, auto b, auto c) { return a * b + c; }},
      {WEFT_VPU_OP_AXPY, [](auto a, auto b, auto c) { return a * c + b; }},
      {WEFT_VPU_OP_SELECT, [](auto a, auto b, auto c) { return a == 0 ? c : b; }},
      {WEFT_VPU_OP_EQ, [](auto a, auto b, auto) { return uint32_t{a == b}; }},
      {WEFT_VPU_OP_NE, [](auto a, auto b, auto) { return uint32_t{a != b}; }},
      {WEFT_VPU_OP_LT, [=](auto a, auto b, auto) { return uint32_t{less_i32(a, b)}; }},
      {WEFT_VPU_OP_LE, [=](auto a, auto b, auto) { return uint32_t{!less_i32(b, a)}; }},
      {WEFT_VPU_OP_GT, [=](auto a, auto b, auto) { return uint32_t{less_i32(b, a)}; }},
      {WEFT_VPU_OP_GE, [=](auto a, auto b, auto) { return uint32_t{!less_i32(a, b)}; }},
      {WEFT_VPU_OP_AND, [](auto a, auto b, auto) { return a & b; }},
      {WEFT_VPU_OP_OR, [](auto a, auto b, auto) { return a | b; }},
      {WEFT_VPU_OP_XOR, [](auto a, auto b, auto) { return a ^ b; }},
      {WEFT_VPU_OP_SLL, [](auto a, auto b, auto) { return shifted_left(a, b); }},
      {WEFT_VPU_OP_SRL, [](auto a, auto b, auto) { return shifted_right(a, b, false); }},
      {WEFT_VPU_OP_SRA, [](auto a, auto b, auto) { return shifted_right(a, b, true); }},
      {WEFT_VPU_OP_LTU, [](auto a, auto b, auto) { return uint32_t{a < b}; }},
      {WEFT_VPU_OP_LEU, [](auto a, auto b, auto) { return uint32_t{a <= b}; }},
      {WEFT_VPU_OP_GTU, [](auto a, auto b, auto) { return uint32_t{a > b}; }},
      {WEFT_VPU_OP_GEU, [](auto a, auto b, auto) { return uint32_t{a >= b}; }}};
  const auto found = table.find(op);
  return found == table.end() ? [](auto a, auto, auto) { return a; } : found->second;
}

/// The tree over lanes [first, first + size), size a power of two; lanes at or beyond cols are absent.
std::optional<uint32_t> reduce(const Row& row, unsigned cols, unsigned first, unsigned size, const Operation& op) {
  if (first >= cols) return std::nullopt;
  if (size == 1) return row[first];
  const auto left = reduce(row, cols, first, size / 2, op), right = reduce(row, cols, first + size / 2, size / 2, op);
  return right ? op(*left, *right, 0) : left;
}

/// A value computed in the source type as the destination type; a bf16 source was computed in f32.
uint32_t convert(uint8_t from, uint8_t to, uint32_t value) {
  if (to == WEFT_VPU_DTYPE_BF16) return f32_to_bf16(value);
  if (is_integer(from) && to == WEFT_VPU_DTYPE_F32) return i32_to_f32(value);
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
             i32 = c.src_dtype == WEFT_VPU_DTYPE_I32, i8 = c.src_dtype == WEFT_VPU_DTYPE_I8;
  const bool to_f32 = c.dst_dtype == WEFT_VPU_DTYPE_F32, to_bf16 = c.dst_dtype == WEFT_VPU_DTYPE_BF16,
             to_i32 = c.dst_dtype == WEFT_VPU_DTYPE_I32, to_i8 = c.dst_dtype == WEFT_VPU_DTYPE_I8;
  const bool wide = f32 || bf16 || i32;
  const bool no_b = c.b_mode == WEFT_VPU_B_MODE_NONE, tensor = c.b_mode == WEFT_VPU_B_MODE_TENSOR,
             row = c.b_mode == WEFT_VPU_B_MODE_ROW, scalar_b = c.b_mode == WEFT_VPU_B_MODE_SCALAR,
             column = c.b_mode == WEFT_VPU_B_MODE_COLUMN;
  const bool identity = c.activation == WEFT_VPU_ACTIVATION_NONE, relu = c.activation == WEFT_VPU_ACTIVATION_RELU,
             leaky_relu = c.activation == WEFT_VPU_ACTIVATION_LEAKY, clamp = c.activation == WEFT_VPU_ACTIVATION_CLAMP;
  const bool none = c.op == WEFT_VPU_OP_NONE, iota = c.op == WEFT_VPU_OP_IOTA, function = is_function(c.op);
  const bool arithmetic =
      (c.op >= WEFT_VPU_OP_ADD && c.op <= WEFT_VPU_OP_MAX) || (c.op >= WEFT_VPU_OP_FMA && c.op <= WEFT_VPU_OP_GE);
  const bool bits = c.op >= WEFT_VPU_OP_AND && c.op <= WEFT_VPU_OP_GEU;
  const bool three = c.op == WEFT_VPU_OP_FMA || c.op == WEFT_VPU_OP_AXPY || c.op == WEFT_VPU_OP_SELECT;
  const bool across = c.axis == WEFT_VPU_AXIS_ROWS, rotate = c.op == WEFT_VPU_OP_ROTATE;
  const bool residual = c.b_mode == WEFT_VPU_B_MODE_RESIDUAL, scaled = c.b_mode == WEFT_VPU_B_MODE_SCALED,
             upper = c.op == WEFT_VPU_OP_UPPER;
  bool zero_point = false;
  bool op = none, space = c.src_space == WEFT_VPU_SPACE_VMEM, src = wide, dst = c.dst_dtype == c.src_dtype, mode = no_b,
       activation = identity, row_limit = true, axis = c.axis == WEFT_VPU_AXIS_LANES;
  switch (c.header.opcode) {
    case WEFT_OPCODE_ELEMENTWISE:
      op = none || arithmetic || bits || function || iota || rotate;
      dst = dst || (f32 && to_bf16);
      src = function ? f32 || bf16 : iota || bits ? i32 : wide;
      mode = arithmetic || bits ? tensor || row || scalar_b || column : no_b || (rotate && (tensor || row));
      activation = identity || (none && (relu || clamp || (leaky_relu && !i32)));
      break;
    case WEFT_OPCODE_REDUCE:
      op = c.op == WEFT_VPU_OP_SUM || c.op == WEFT_VPU_OP_RMAX || c.op == WEFT_VPU_OP_RMIN;
      axis = axis || across;
      break;
    case WEFT_OPCODE_TRANSPOSE:
      row_limit = c.rows <= kN;
      break;
    case WEFT_OPCODE_EPILOGUE:
      op = none || upper;
      space = c.src_space == WEFT_VPU_SPACE_ACC;
      src = (f32 && !upper) || i32;
      dst = (f32 && (to_f32 || to_bf16)) || (i32 && ((to_i32 && !upper) || to_i8));
      mode = no_b || tensor || row || column || (to_i8 ? scaled : residual);
      activation = identity || relu || (!to_i8 && !residual && (clamp || (leaky_relu && f32)));
      zero_point = to_i8;
      break;
    default:  // CAST
      op = none || upper;
      zero_point = to_i8;
      src = i8 || (none && wide);
      dst = (f32 && (to_bf16 || to_i32 || to_i8)) || (bf16 && to_f32) || (i32 && (to_f32 || to_i8)) ||
            (i8 && (to_i32 || to_f32));
      mode = no_b || (to_i8 && tensor);
  }
  if (!op) return 16;
  if (!space) return 17;
  if (!src) return 18;
  if (!dst) return 19;
  if (c.rows == 0 || !row_limit) return 20;
  if (c.cols == 0 || c.cols > kN) return 22;
  if (iota && c.a_addr != 0) return 24;
  if (iota && c.a_stride != 0) return 28;
  if (c.b_addr != 0 && (no_b || scalar_b)) return 32;
  if (c.b_stride != 0 && !tensor && !column && !residual && !across) return 36;
  const auto bytes = static_cast<int32_t>(c.scalar);
  if (rotate       ? c.scalar >= kN
      : zero_point ? bytes != static_cast<int8_t>(bytes)
                   : c.scalar != 0 && !scalar_b && !clamp && !iota)
    return 48;
  if (!mode) return 52;
  if (!activation) return 53;
  if (!axis) return 54;
  const uint32_t first = c.scalar2 % 65536, end = c.scalar2 / 65536;
  if (rotate ? first >= end || end > kN
             : c.scalar2 != 0 && !three && !iota && !leaky_relu && !clamp && !to_i8 && !residual && !scaled)
    return 56;
  if ((c.window == 0) == across) return 60;
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
  if (kept_rows(c) != 0 && c.scalar2 % 2 != 0) return 56;
  return std::nullopt;
}

}  // namespace

std::optional<Fault> check(const spec::VpuCommand& c) {
  switch (c.header.opcode) {
    case WEFT_OPCODE_ELEMENTWISE:
    case WEFT_OPCODE_REDUCE:
    case WEFT_OPCODE_TRANSPOSE:
    case WEFT_OPCODE_EPILOGUE:
    case WEFT_OPCODE_CAST:
      break;
    default:
      return Fault{WEFT_FAULT_ILLEGAL_OPCODE, c.header.opcode};
  }
  if (const auto field = illegal_field(c)) return Fault{WEFT_FAULT_ILLEGAL_FIELD, *field};
  if (const auto field = misaligned_field(c)) return Fault{WEFT_FAULT_ALIGNMENT, *field};
  const auto last = [&](uint64_t addr, uint64_t stride, uint64_t rows) { return addr + (rows - 1u) * stride; };
  const uint64_t source_extra = two_words(c.src_dtype) ? 1 : 0, result_extra = two_words(c.dst_dtype) ? 1 : 0;
  const uint64_t window = c.axis == WEFT_VPU_AXIS_ROWS ? (c.window - 1u) * uint64_t{c.b_stride} : 0;
  const uint64_t a_last = last(c.a_addr, c.a_stride, c.rows) + window;
  if (c.src_space == WEFT_VPU_SPACE_ACC && a_last >= kAccRows) return Fault{WEFT_FAULT_ACC_RANGE, c.a_addr};
  const bool a_outside = c.src_space == WEFT_VPU_SPACE_VMEM && a_last + source_extra >= kVmemWords;
  const bool kept_outside = kept_rows(c) != 0 && c.scalar2 + uint64_t{1} >= kVmemWords;
  const bool b_outside = b_rows(c) != 0 && last(c.b_addr, c.b_stride, b_rows(c)) + source_extra >= kVmemWords;
  if (a_outside || b_outside || kept_outside || last(c.d_addr, c.d_stride, result_rows(c)) + result_extra >= kVmemWords)
    return Fault{WEFT_FAULT_RANGE, static_cast<uint64_t>(kVmemWords) * kWordBytes};
  return std::nullopt;
}

uint64_t b_rows(const spec::VpuCommand& c) {
  switch (c.b_mode) {
    case WEFT_VPU_B_MODE_TENSOR:
    case WEFT_VPU_B_MODE_RESIDUAL:
      return c.rows;
    case WEFT_VPU_B_MODE_ROW:
    case WEFT_VPU_B_MODE_SCALED:
      return 1;
    case WEFT_VPU_B_MODE_COLUMN:
      return (c.rows + kN - 1) / kN;
    default:
      return 0;
  }
}
uint64_t kept_rows(const spec::VpuCommand& c) {
  return c.b_mode == WEFT_VPU_B_MODE_RESIDUAL || c.b_mode == WEFT_VPU_B_MODE_SCALED ? 1 : 0;
}
uint64_t result_rows(const spec::VpuCommand& c) { return c.header.opcode == WEFT_OPCODE_TRANSPOSE ? c.cols : c.rows; }
uint64_t source_rows(const spec::VpuCommand& c) {
  return c.axis == WEFT_VPU_AXIS_ROWS ? uint64_t{c.rows} * c.window : c.rows;
}

namespace {

/// One command on its memories.
class Execution {
 public:
  Execution(const spec::VpuCommand& c, Vmem& vmem, const Acc& acc) : c_(c), vmem_(vmem), acc_(acc) {
    const bool adds = c.header.opcode == WEFT_OPCODE_EPILOGUE && c.b_mode != WEFT_VPU_B_MODE_NONE;
    const uint8_t op = adds ? static_cast<uint8_t>(WEFT_VPU_OP_ADD) : c.op;
    operation_ = is_integer(c.src_dtype) ? integer_operation(op) : float_operation(op);
  }

  StatusCounts run() {
    if (c_.header.opcode == WEFT_OPCODE_TRANSPOSE)
      transpose();
    else
      for (uint64_t r = 0; r < c_.rows; r++) row(r);
    return counts_;
  }

 private:
  /// Row `at` of a, as the unit reads it.
  Row load_a(uint64_t at) const {
    if (c_.src_space == WEFT_VPU_SPACE_VMEM) return load(at, c_.op == WEFT_VPU_OP_UPPER ? kN : 0);
    Row row{};
    for (unsigned i = 0; i < kN; i++) row[i] = read_element(c_.src_dtype, acc_[at * kN + i]);
    return row;
  }
  Row load(uint64_t word, unsigned i8_offset = 0) const {
    Row row{};
    if (c_.src_dtype == WEFT_VPU_DTYPE_I8) {
      for (unsigned i = 0; i < kN; i++)
        row[i] = static_cast<uint32_t>(int32_t{static_cast<int8_t>(vmem_[word * kWordBytes + i8_offset + i])});
      return row;
    }
    row = load_row(vmem_, word, c_.src_dtype);
    for (auto& v : row) v = read_element(c_.src_dtype, v);
    return row;
  }

  Row load_b(uint64_t r) {
    Row row{};
    if (c_.b_mode == WEFT_VPU_B_MODE_TENSOR || c_.b_mode == WEFT_VPU_B_MODE_RESIDUAL)
      row = load(c_.b_addr + r * c_.b_stride);
    if (c_.b_mode == WEFT_VPU_B_MODE_SCALAR) row.fill(read_element(c_.src_dtype, c_.scalar));
    if (c_.b_mode == WEFT_VPU_B_MODE_COLUMN) row.fill(load(c_.b_addr + r / kN * c_.b_stride)[r % kN]);
    if (c_.b_mode == WEFT_VPU_B_MODE_ROW || c_.b_mode == WEFT_VPU_B_MODE_SCALED) {
      if (r == 0) bias_ = load(c_.b_addr);
      row = bias_;
    }
    return row;
  }

  uint32_t activated(uint32_t value) const {
    const uint32_t low = read_element(c_.src_dtype, c_.scalar), high = read_element(c_.src_dtype, c_.scalar2);
    const bool i32 = c_.src_dtype == WEFT_VPU_DTYPE_I32;
    if (c_.activation == WEFT_VPU_ACTIVATION_RELU) return i32 ? larger_i32(value, 0) : relu_f32(value);
    if (c_.activation == WEFT_VPU_ACTIVATION_LEAKY) return leaky(value, high);
    if (c_.activation == WEFT_VPU_ACTIVATION_CLAMP)
      return i32 ? smaller_i32(larger_i32(value, low), high) : smaller(larger(value, low), high);
    return value;
  }

  /// Lane i behind op rotate: turns the row lane by lane.
  uint32_t rotated(Row a, const Row& b, unsigned i) const {
    if (i < (c_.scalar2 & 0xffff) || i >= c_.scalar2 >> 16) return b[i];
    for (uint32_t by = c_.scalar; by > 0; by--) std::rotate(a.begin(), a.begin() + 1, a.end());
    return a[i];
  }

  uint8_t quantised(uint32_t value, unsigned lane) const {
    const uint32_t scale = c_.b_mode == WEFT_VPU_B_MODE_SCALED ? kept_[lane] : c_.scalar2;
    return static_cast<uint8_t>(f32_to_i8(mul(c_.src_dtype == WEFT_VPU_DTYPE_I32 ? i32_to_f32(value) : value, scale),
                                          static_cast<int32_t>(c_.scalar)));
  }

  void row(uint64_t r) {
    const bool reduction = c_.header.opcode == WEFT_OPCODE_REDUCE, across = c_.axis == WEFT_VPU_AXIS_ROWS;
    Row a = c_.op == WEFT_VPU_OP_IOTA ? Row{} : load_a(c_.a_addr + r * c_.a_stride);
    if (r == 0 && kept_rows(c_) != 0) kept_ = load_row(vmem_, c_.scalar2, WEFT_VPU_DTYPE_I32);
    const Row b = load_b(r);
    const bool residual = c_.b_mode == WEFT_VPU_B_MODE_RESIDUAL;
    const uint32_t third = read_element(c_.src_dtype, c_.scalar2);
    if (across)
      for (uint64_t k = 1; k < c_.window; k++) {
        const Row next = load_a(c_.a_addr + r * c_.a_stride + k * c_.b_stride);
        for (unsigned i = 0; i < kN; i++) a[i] = operation_(a[i], next[i], 0);
      }
    std::optional<uint32_t> whole;
    if (reduction && !across) whole = reduce(a, c_.cols, 0, kN, operation_);
    Row d{};
    for (unsigned i = 0; i < c_.cols; i++) {
      uint32_t value = whole       ? *whole
                       : reduction ? a[i]
                       : residual  ? operation_(operation_(a[i], kept_[i], 0), b[i], 0)
                                   : operation_(a[i], b[i], third);
      if (c_.op == WEFT_VPU_OP_IOTA) value = c_.scalar + static_cast<uint32_t>(r) * c_.scalar2 + i;
      if (c_.op == WEFT_VPU_OP_ROTATE) value = rotated(a, b, i);
      d[i] = activated(value);
    }
    if (c_.dst_dtype != WEFT_VPU_DTYPE_I8) return store(r, d, c_.cols);
    uint8_t* word = &vmem_[(c_.d_addr + r * c_.d_stride) * kWordBytes];
    const bool epilogue = c_.header.opcode == WEFT_OPCODE_EPILOGUE, upper = epilogue && c_.op == WEFT_VPU_OP_UPPER;
    const bool packs = !epilogue && c_.b_mode == WEFT_VPU_B_MODE_TENSOR;
    for (unsigned i = 0; i < kN; i++) {
      word[upper ? kN + i : i] = i < c_.cols ? quantised(d[i], i) : 0;
      if (!upper) word[kN + i] = i < c_.cols && packs ? quantised(b[i], i) : 0;
    }
  }

  void transpose() {
    std::vector<Row> a;
    for (uint64_t r = 0; r < c_.rows; r++) a.push_back(load_a(c_.a_addr + r * c_.a_stride));
    for (uint64_t r = 0; r < c_.cols; r++) {
      Row d{};
      for (unsigned i = 0; i < c_.rows; i++) d[i] = a[i][r];
      store(r, d, c_.rows);
    }
  }

  /// `lanes` of d in the destination type, zeros beyond.
  void store(uint64_t r, const Row& d, unsigned lanes) {
    Row out{};
    for (unsigned i = 0; i < lanes; i++) {
      out[i] = convert(c_.src_dtype, c_.dst_dtype, d[i]);
      if (c_.header.opcode != WEFT_OPCODE_EPILOGUE || c_.dst_dtype == WEFT_VPU_DTYPE_I32) continue;
      const uint32_t magnitude = (c_.dst_dtype == WEFT_VPU_DTYPE_BF16 ? out[i] << 16 : out[i]) & ~kSign;
      counts_.nans += magnitude > kInfinity;
      counts_.infinities += magnitude == kInfinity;
    }
    store_row(vmem_, c_.d_addr + r * c_.d_stride, c_.dst_dtype, out);
  }

  const spec::VpuCommand& c_;
  Vmem& vmem_;
  const Acc& acc_;
  Operation operation_;
  Row bias_{}, kept_{};
  StatusCounts counts_;
};

}  // namespace

StatusCounts execute(const spec::VpuCommand& c, Vmem& vmem, const Acc& acc) { return Execution(c, vmem, acc).run(); }

}  // namespace weft::vpu_test
