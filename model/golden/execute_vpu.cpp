/// ELEMENTWISE, REDUCE, EPILOGUE and CAST: one row after the other, each read before it is written.
#include <algorithm>
#include <array>
#include <cstring>

#include "model/golden/arith.hpp"
#include "model/golden/execute.hpp"
#include "model/golden/rows.hpp"

namespace weft::golden {
namespace {

constexpr size_t kMaxLanes = 256;

/// One row in its own type: the same storage as float, int32 or bf16.
class Row {
 public:
  std::span<float> f32(size_t count) { return {f32_.data(), count}; }
  std::span<int32_t> i32(size_t count) { return {i32_.data(), count}; }
  std::span<uint16_t> bf16(size_t count) { return {bf16_.data(), count}; }

  /// Fills the storage of `dtype` from `count` elements at `bytes`.
  void load(uint8_t dtype, const void* bytes, size_t count) {
    switch (dtype) {
      case WEFT_VPU_DTYPE_BF16:
        std::memcpy(bf16_.data(), bytes, count * sizeof(uint16_t));
        return;
      case WEFT_VPU_DTYPE_I32:
        std::memcpy(i32_.data(), bytes, count * sizeof(int32_t));
        return;
      default:
        std::memcpy(f32_.data(), bytes, count * sizeof(float));
        return;
    }
  }
  /// Writes `count` elements and zeros up to `lanes`.
  void store(uint8_t dtype, std::byte* bytes, size_t count, size_t lanes) const {
    switch (dtype) {
      case WEFT_VPU_DTYPE_BF16:
        return put(bf16_.data(), bytes, count, lanes);
      case WEFT_VPU_DTYPE_I32:
        return put(i32_.data(), bytes, count, lanes);
      default:
        return put(f32_.data(), bytes, count, lanes);
    }
  }

 private:
  template <class T>
  static void put(const T* data, std::byte* bytes, size_t count, size_t lanes) {
    std::memcpy(bytes, data, count * sizeof(T));
    std::memset(bytes + count * sizeof(T), 0, (lanes - count) * sizeof(T));
  }
  alignas(64) std::array<float, kMaxLanes> f32_{};
  alignas(64) std::array<int32_t, kMaxLanes> i32_{};
  alignas(64) std::array<uint16_t, kMaxLanes> bf16_{};
};

std::byte* vmem_word(CoreState& core, uint64_t word) { return core.vmem().data() + word * core.chip().word_bytes; }

void load_scalar(const spec::VpuCommand& c, size_t count, Row& row) {
  for (size_t i = 0; i < count; i++) {
    std::memcpy(&row.f32(count)[i], &c.scalar, sizeof c.scalar);
    std::memcpy(&row.i32(count)[i], &c.scalar, sizeof c.scalar);
    row.bf16(count)[i] = static_cast<uint16_t>(c.scalar);
  }
}

/// Runs compute(a, b, d) on every row of the command.
template <class Compute>
void for_each_row(CoreState& core, const spec::VpuCommand& c, Compute&& compute) {
  Row a, b, d;
  if (c.b_mode == WEFT_VPU_B_MODE_SCALAR) load_scalar(c, c.cols, b);
  for (uint64_t r = 0; r < c.rows; r++) {
    const uint64_t at = c.a_addr + r * c.a_stride;
    const void* source = c.src_space == WEFT_VPU_SPACE_ACC
                             ? static_cast<const void*>(core.acc_row(static_cast<uint32_t>(at)).data())
                             : vmem_word(core, at);
    a.load(c.src_dtype, source, c.cols);
    if (c.b_mode == WEFT_VPU_B_MODE_TENSOR || (c.b_mode == WEFT_VPU_B_MODE_ROW && r == 0))
      b.load(c.src_dtype, vmem_word(core, c.b_addr + r * c.b_stride), c.cols);
    compute(a, b, d);
    d.store(c.dst_dtype, vmem_word(core, c.d_addr + r * c.d_stride), c.cols, core.chip().n);
  }
  core.status().vpu_rows += c.rows;
}

void count_specials(CoreState& core, std::span<const float> row) {
  for (const float value : row) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    core.status().nan_results += is_nan_f32(bits);
    core.status().inf_results += is_infinite_f32(bits);
  }
}
void count_specials(CoreState& core, std::span<const uint16_t> row) {
  for (const uint16_t value : row) {
    core.status().nan_results += is_nan_f32(uint32_t{value} << 16);
    core.status().inf_results += is_infinite_f32(uint32_t{value} << 16);
  }
}

}  // namespace

std::optional<Fault> execute_elementwise(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  const size_t n = c.cols;
  const auto op = static_cast<weft_vpu_op>(c.op);
  for_each_row(core, c, [&](Row& a, Row& b, Row& d) {
    switch (c.src_dtype) {
      case WEFT_VPU_DTYPE_BF16:
        elementwise_bf16(op, a.bf16(n), b.bf16(n), d.bf16(n));
        return;
      case WEFT_VPU_DTYPE_I32:
        elementwise_i32(op, a.i32(n), b.i32(n), d.i32(n));
        return;
      default:
        elementwise_f32(op, a.f32(n), b.f32(n), d.f32(n));
        return;
    }
  });
  return std::nullopt;
}

std::optional<Fault> execute_reduce(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  const size_t n = c.cols;
  const bool sum = c.op == WEFT_VPU_OP_SUM;
  for_each_row(core, c, [&](Row& a, Row&, Row& d) {
    if (c.src_dtype == WEFT_VPU_DTYPE_F32) {
      std::ranges::fill(d.f32(n), sum ? sum_row_f32(a.f32(n)) : max_row_f32(a.f32(n)));
    } else {
      std::ranges::fill(d.i32(n), sum ? sum_row_i32(a.i32(n)) : max_row_i32(a.i32(n)));
    }
  });
  return std::nullopt;
}

std::optional<Fault> execute_epilogue(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  const size_t n = c.cols;
  const size_t bias = c.b_mode == WEFT_VPU_B_MODE_ROW ? n : 0;
  const auto activation = static_cast<weft_vpu_activation>(c.activation);
  for_each_row(core, c, [&](Row& a, Row& b, Row& d) {
    if (c.src_dtype == WEFT_VPU_DTYPE_I32) {
      epilogue_row_i32(a.i32(n), b.i32(bias), activation, d.i32(n));
      return;
    }
    epilogue_row_f32(a.f32(n), b.f32(bias), activation, d.f32(n));
    if (c.dst_dtype == WEFT_VPU_DTYPE_BF16) {
      cast_f32_to_bf16(d.f32(n), d.bf16(n));
      count_specials(core, d.bf16(n));
    } else {
      count_specials(core, d.f32(n));
    }
  });
  return std::nullopt;
}

std::optional<Fault> execute_cast(CoreState& core, const spec::Command& command, MemoryAccess&) {
  const auto c = spec::decode_vpu(command);
  const size_t n = c.cols;
  for_each_row(core, c, [&](Row& a, Row&, Row& d) {
    switch (c.src_dtype) {
      case WEFT_VPU_DTYPE_BF16:
        cast_bf16_to_f32(a.bf16(n), d.f32(n));
        return;
      case WEFT_VPU_DTYPE_I32:
        cast_i32_to_f32(a.i32(n), d.f32(n));
        return;
      default:
        if (c.dst_dtype == WEFT_VPU_DTYPE_BF16) {
          cast_f32_to_bf16(a.f32(n), d.bf16(n));
        } else {
          cast_f32_to_i32(a.f32(n), d.i32(n));
        }
    }
  });
  return std::nullopt;
}

}  // namespace weft::golden
