/// ELEMENTWISE, EPILOGUE, CAST, REDUCE and TRANSPOSE: one row after the other, each read before it is written.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "model/golden/arith.hpp"
#include "model/golden/execute.hpp"
#include "model/golden/lane_operations.hpp"
#include "model/golden/matmul.hpp"
#include "model/golden/rows.hpp"
#include "model/golden/rows_fast.hpp"

namespace weft::golden {
namespace {

constexpr size_t kMaxLanes = 256;

/// A row in the lanes: f32 bits (bf16 widened), or int32 (i8 extended).
using Lanes = std::array<uint32_t, kMaxLanes>;

/// A command with what all rows of it need.
class Rows {
 public:
  Rows(CoreState& core, const spec::VpuCommand& command)
      : core_(core),
        c_(command),
        n_(core.chip().n),
        integers_(command.src_dtype == WEFT_VPU_DTYPE_I32 || command.src_dtype == WEFT_VPU_DTYPE_I8) {
    if (c_.b_mode == WEFT_VPU_B_MODE_SCALAR) b_.fill(value(c_.scalar));
    if (keeps_row(c_)) load(word(c_.scalar2), kept_);
  }

  [[nodiscard]] size_t cols() const { return c_.cols; }
  [[nodiscard]] bool integers() const { return integers_; }
  /// A field's scalar as a lane holds it.
  [[nodiscard]] uint32_t value(uint32_t field) const {
    return c_.src_dtype == WEFT_VPU_DTYPE_BF16 ? field << 16 : field;
  }

  /// Row `at` (word of VMEM, row of ACC) in a's space and type; of op rotate all lanes.
  void load_a(uint64_t at, Lanes& lanes) const {
    const auto* source = c_.src_space == WEFT_VPU_SPACE_ACC
                             ? reinterpret_cast<const std::byte*>(core_.acc_row(static_cast<uint32_t>(at)).data())
                             : word(at);
    load(source + (c_.op == WEFT_VPU_OP_UPPER && c_.src_dtype == WEFT_VPU_DTYPE_I8 ? n_ : 0), lanes,
         c_.op == WEFT_VPU_OP_ROTATE ? n_ : c_.cols);
  }

  /// The second operand of row r.
  const Lanes& b(uint64_t r) {
    const bool tensor = c_.b_mode == WEFT_VPU_B_MODE_TENSOR || c_.b_mode == WEFT_VPU_B_MODE_RESIDUAL;
    const bool row = c_.b_mode == WEFT_VPU_B_MODE_ROW || c_.b_mode == WEFT_VPU_B_MODE_SCALED;
    if (tensor || (row && r == 0)) load(word(c_.b_addr + r * c_.b_stride), b_);
    if (c_.b_mode == WEFT_VPU_B_MODE_COLUMN) {
      if (r % n_ == 0) load(word(c_.b_addr + r / n_ * c_.b_stride), column_, n_);
      std::fill_n(b_.begin(), c_.cols, column_[r % n_]);
    }
    return b_;
  }

  /// b_mode residual: the bias.
  [[nodiscard]] const Lanes& kept() const { return kept_; }

  void activate(Lanes& d) const {
    const auto activation = static_cast<weft_vpu_activation>(c_.activation);
    const std::span<uint32_t> row(d.data(), c_.cols);
    if (integers_)
      activate_i32(activation, value(c_.scalar), value(c_.scalar2), row);
    else
      activate_f32(activation, value(c_.scalar), value(c_.scalar2), row);
  }

  /// Row r of d: `count` lanes converted, zeros beyond. i8: `upper` fills the word's second half.
  void store(uint64_t r, const Lanes& d, size_t count, const Lanes* upper = nullptr) {
    const uint64_t target = (c_.d_addr + r * c_.d_stride) * core_.chip().word_bytes;
    const bool counts = c_.header.opcode == WEFT_OPCODE_EPILOGUE;
    switch (c_.dst_dtype) {
      case WEFT_VPU_DTYPE_BF16: {
        std::array<uint16_t, kMaxLanes> out{};
        words_to_bf16(std::span<const uint32_t>(d).first(count), std::span(out).first(count));
        if (counts)
          for (size_t i = 0; i < count; i++) count_special(uint32_t{out[i]} << 16);
        core_.write_vmem(target, std::as_bytes(std::span(out).first(n_)));
        return;
      }
      case WEFT_VPU_DTYPE_I8: {
        std::array<uint8_t, 2 * kMaxLanes> out{};
        for (size_t i = 0; i < count; i++) out[i] = to_i8(d[i], i);
        if (writes_upper_half(c_)) return core_.write_vmem(target + n_, std::as_bytes(std::span(out).first(n_)));
        if (upper != nullptr)
          for (size_t i = 0; i < count; i++) out[n_ + i] = to_i8((*upper)[i], i);
        core_.write_vmem(target, std::as_bytes(std::span(out).first(2 * n_)));
        return;
      }
      default: {
        Lanes out{};
        const bool to_float = integers_ && c_.dst_dtype == WEFT_VPU_DTYPE_F32;
        const bool to_integer = !integers_ && c_.dst_dtype == WEFT_VPU_DTYPE_I32;
        for (size_t i = 0; i < count; i++) out[i] = to_float ? i32_to_f32(d[i]) : to_integer ? f32_to_i32(d[i]) : d[i];
        if (counts && c_.dst_dtype == WEFT_VPU_DTYPE_F32)
          for (size_t i = 0; i < count; i++) count_special(out[i]);
        core_.write_vmem(target, std::as_bytes(std::span(out).first(n_)));
      }
    }
  }

 private:
  /// A row in VMEM; until the next one.
  [[nodiscard]] const std::byte* word(uint64_t at) const {
    const uint64_t word = core_.chip().word_bytes;
    return core_.view_vmem(at * word, words_per_row(c_.src_dtype) * word, row_).data();
  }
  void load(const std::byte* bytes, Lanes& lanes) const { load(bytes, lanes, c_.cols); }
  void load(const std::byte* bytes, Lanes& lanes, size_t count) const {
    if (c_.src_dtype == WEFT_VPU_DTYPE_BF16) {
      std::array<uint16_t, kMaxLanes> in;
      std::memcpy(in.data(), bytes, count * sizeof in[0]);
      for (size_t i = 0; i < count; i++) lanes[i] = uint32_t{in[i]} << 16;
    } else if (c_.src_dtype == WEFT_VPU_DTYPE_I8) {
      for (size_t i = 0; i < count; i++)
        lanes[i] = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(bytes[i])));
    } else {
      std::memcpy(lanes.data(), bytes, count * sizeof lanes[0]);
    }
  }
  [[nodiscard]] uint8_t to_i8(uint32_t v, size_t lane) const {
    const uint32_t scale = c_.b_mode == WEFT_VPU_B_MODE_SCALED ? kept_[lane] : c_.scalar2;
    return static_cast<uint8_t>(f32_to_i8(mul_f32(integers_ ? i32_to_f32(v) : v, scale), zero_point(c_)));
  }
  void count_special(uint32_t bits) {
    core_.status().nan_results += is_nan_f32(bits);
    core_.status().inf_results += is_infinite_f32(bits);
  }

  CoreState& core_;
  const spec::VpuCommand& c_;
  const size_t n_;
  const bool integers_;
  Lanes b_{}, column_{}, kept_{};
  mutable std::vector<std::byte> row_;  // scratch of word()
};

void fill_iota(const spec::VpuCommand& c, uint64_t row, Lanes& d) {
  for (uint32_t i = 0; i < c.cols; i++) d[i] = c.scalar + static_cast<uint32_t>(row) * c.scalar2 + i;
}

/// Some lanes of a, each `by` lanes further up the row, among those of b.
void rotate(const spec::VpuCommand& c, size_t n, const Lanes& a, const Lanes& b, Lanes& d) {
  const RotatedLanes lanes = rotated_lanes(c);
  std::copy_n(b.begin(), c.cols, d.begin());
  for (size_t i = lanes.first; i < std::min<size_t>(lanes.end, c.cols); i++) d[i] = a[(i + c.scalar) % n];
}

/// d += b.
void add(bool integers, const Lanes& b, std::span<uint32_t> d) {
  const std::span<const uint32_t> y(b.data(), d.size());
  if (integers) return operate_i32(WEFT_VPU_OP_ADD, d, y, 0, d);
  operate_f32(WEFT_VPU_OP_ADD, d, y, 0, d);
}

BinaryFunction fold_function(const spec::VpuCommand& c) {
  const auto op = static_cast<weft_vpu_op>(c.op);
  return c.src_dtype == WEFT_VPU_DTYPE_I32 ? binary_i32(op) : binary_f32(op);
}

/// Folds neighbours 2i and 2i + 1 until one value is left; a value without a partner passes through.
uint32_t fold_neighbours(Lanes& values, size_t count, BinaryFunction join) {
  if (join == add_f32 && count > 1 && host_fma_is_exact() && fast::sum_neighbours_f32(values.data(), count))
    return values[0];
  for (; count > 1; count = (count + 1) / 2) {
    for (size_t i = 0; i < count / 2; i++) values[i] = join(values[2 * i], values[2 * i + 1]);
    if (count % 2 != 0) values[count / 2] = values[count - 1];
  }
  return values[0];
}

/// d[i] = join(d[i], a[i]).
void join_rows(BinaryFunction join, const Lanes& a, Lanes& d, size_t count) {
  if (join == add_f32) return operate_f32(WEFT_VPU_OP_ADD, {d.data(), count}, {a.data(), count}, 0, {d.data(), count});
  for (size_t i = 0; i < count; i++) d[i] = join(d[i], a[i]);
}

}  // namespace

std::optional<Fault> execute_elementwise(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  Rows rows(core, c);
  auto op = c.op == WEFT_VPU_OP_UPPER ? WEFT_VPU_OP_NONE : static_cast<weft_vpu_op>(c.op);
  if (c.header.opcode == WEFT_OPCODE_EPILOGUE && c.b_mode != WEFT_VPU_B_MODE_NONE) op = WEFT_VPU_OP_ADD;
  const bool packs = c.header.opcode == WEFT_OPCODE_CAST && c.b_mode == WEFT_VPU_B_MODE_TENSOR;
  const bool residual = c.b_mode == WEFT_VPU_B_MODE_RESIDUAL;
  Lanes a{}, d{};
  for (uint64_t r = 0; r < c.rows; r++) {
    if (op == WEFT_VPU_OP_IOTA) {
      fill_iota(c, r, d);
      rows.store(r, d, c.cols);
      continue;
    }
    rows.load_a(c.a_addr + r * c.a_stride, a);
    const Lanes& b = rows.b(r);
    if (op == WEFT_VPU_OP_ROTATE) {
      rotate(c, core.chip().n, a, b, d);
      if (!rows.integers())
        for (size_t i = 0; i < c.cols; i++) d[i] = canonical_f32(d[i]);
      rows.store(r, d, c.cols);
      continue;
    }
    const std::span<const uint32_t> x(a.data(), c.cols), y((residual ? rows.kept() : b).data(), c.cols);
    if (rows.integers())
      operate_i32(op, x, y, c.scalar2, {d.data(), c.cols});
    else
      operate_f32(op, x, y, rows.value(c.scalar2), {d.data(), c.cols});
    if (residual) add(rows.integers(), b, {d.data(), c.cols});
    rows.activate(d);
    rows.store(r, d, c.cols, packs ? &b : nullptr);
  }
  core.status().vpu_rows += c.rows;
  return std::nullopt;
}

std::optional<Fault> execute_reduce(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  Rows rows(core, c);
  const BinaryFunction join = fold_function(c);
  const bool across = c.axis == WEFT_VPU_AXIS_ROWS;
  Lanes a{}, d{};
  for (uint64_t r = 0; r < c.rows; r++) {
    for (uint64_t k = 0; k < (across ? c.window : 1); k++) {
      rows.load_a(c.a_addr + r * c.a_stride + k * c.b_stride, a);
      if (!rows.integers())
        for (size_t i = 0; i < c.cols; i++) a[i] = canonical_f32(a[i]);
      if (k == 0) d = a;
      if (k != 0) join_rows(join, a, d, c.cols);
    }
    if (!across) std::fill_n(d.begin(), c.cols, fold_neighbours(a, c.cols, join));
    rows.store(r, d, c.cols);
  }
  core.status().vpu_rows += c.rows;
  return std::nullopt;
}

/// All of a is read before anything is written.
std::optional<Fault> execute_transpose(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  Rows rows(core, c);
  std::vector<Lanes> a(c.rows);
  for (uint64_t r = 0; r < c.rows; r++) {
    rows.load_a(c.a_addr + r * c.a_stride, a[r]);
    if (!rows.integers())
      for (size_t i = 0; i < c.cols; i++) a[r][i] = canonical_f32(a[r][i]);
  }
  Lanes d{};
  for (uint64_t r = 0; r < c.cols; r++) {
    for (size_t i = 0; i < c.rows; i++) d[i] = a[i][r];
    rows.store(r, d, c.rows);
  }
  core.status().vpu_rows += c.cols;
  return std::nullopt;
}

}  // namespace weft::golden
