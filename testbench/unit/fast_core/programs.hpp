/// A small memory, an observer and programs, for any TensorCore.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <vector>

#include "model/core/tensor_core.hpp"

namespace weft::test {

/// HBM of `size` bytes with the preset's bandwidth and latencies; accesses that touch [hole_first, hole_end) fail.
class Bus : public core::MemoryBus {
 public:
  explicit Bus(const spec::Chip& chip, size_t size = 4 << 20)
      : bytes(size), bytes_per_cycle_(std::max<uint64_t>(1, chip.hbm_bytes_per_second / chip.clock_hz)), chip_(chip) {}

  std::vector<std::byte> bytes;
  uint64_t hole_first = UINT64_MAX, hole_end = UINT64_MAX;
  uint64_t accesses = 0;  ///< that were scheduled

  bool read(weft_address_space space, uint64_t address, std::span<std::byte> out) override {
    if (!inside(space, address, out.size())) return false;
    std::memcpy(out.data(), bytes.data() + address, out.size());
    return true;
  }
  bool write(weft_address_space space, uint64_t address, std::span<const std::byte> data) override {
    if (!inside(space, address, data.size())) return false;
    std::memcpy(bytes.data() + address, data.data(), data.size());
    return true;
  }
  uint64_t schedule_read(weft_address_space, uint64_t size, uint64_t cycle) override {
    return book(size, cycle) + chip_.hbm_read_latency_cycles;
  }
  uint64_t schedule_write(weft_address_space, uint64_t size, uint64_t cycle) override {
    return book(size, cycle) + chip_.hbm_write_latency_cycles;
  }
  [[nodiscard]] bool congested(weft_address_space, uint64_t cycle) const override {
    return free_ / bytes_per_cycle_ > cycle + 64;
  }

 private:
  uint64_t book(uint64_t size, uint64_t cycle) {
    accesses++;
    free_ = std::max(free_, cycle * bytes_per_cycle_) + size;
    return (free_ + bytes_per_cycle_ - 1) / bytes_per_cycle_;
  }
  [[nodiscard]] bool inside(weft_address_space space, uint64_t address, size_t size) const {
    return space == WEFT_ADDRESS_SPACE_HBM && address + size <= bytes.size() &&
           (address + size <= hole_first || address >= hole_end);
  }
  uint64_t bytes_per_cycle_;
  uint64_t free_ = 0;  // in bytes of bandwidth since cycle 0
  const spec::Chip& chip_;
};

/// A line for each start and retirement.
struct Log : core::CoreObserver {
  std::vector<std::tuple<char, unsigned, unsigned, uint64_t>> lines;  // 's' or 'r', unit, tag, cycle
  void command_started(weft_unit_index unit, const spec::Command& c, uint64_t cycle) override {
    lines.emplace_back('s', unit, spec::decode_header(c).tag, cycle);
  }
  void command_retired(weft_unit_index unit, const spec::Command& c, uint64_t cycle) override {
    lines.emplace_back('r', unit, spec::decode_header(c).tag, cycle);
  }
  /// Cycle of the line, 0 if there is none.
  [[nodiscard]] uint64_t at(char what, unsigned tag) const {
    for (const auto& [w, unit, t, cycle] : lines)
      if (w == what && t == tag) return cycle;
    return 0;
  }
};

template <class C>
C tagged(C c, uint16_t tag) {
  c.header.tag = tag;
  return c;
}
template <class C>
C waiting(C c, uint8_t semaphore, uint16_t count = 1) {
  auto& h = c.header;
  (h.wait_sem0 == WEFT_NO_SEMAPHORE ? h.wait_sem0 : h.wait_sem1) = semaphore;
  (h.wait_count0 == 0 ? h.wait_count0 : h.wait_count1) = count;
  return c;
}
template <class C>
C posting(C c, uint8_t semaphore, uint16_t count = 1) {
  auto& h = c.header;
  (h.post_sem0 == WEFT_NO_SEMAPHORE ? h.post_sem0 : h.post_sem1) = semaphore;
  (h.post_count0 == 0 ? h.post_count0 : h.post_count1) = count;
  return c;
}

inline spec::DmaCommand copy_in(uint8_t segment, uint64_t from, uint64_t to, uint32_t bytes) {
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.src_seg = segment;
  c.src_off = from;
  c.dst_off = to;
  c.size0 = bytes;
  return c;
}
inline spec::DmaCommand copy_out(uint64_t from, uint8_t segment, uint64_t to, uint32_t bytes) {
  auto c = copy_in(0, from, to, bytes);
  c.dst_seg = segment;
  return c;
}
inline spec::MxuCommand matmul(uint32_t x, uint32_t x_stride, uint32_t w, uint16_t m, uint32_t k, uint16_t cols,
                               uint32_t n) {
  spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.x_addr = x;
  c.x_row_stride = x_stride;
  c.x_tile_stride = 1;
  c.w_addr = w;
  c.w_tile_stride = n;
  c.k = k;
  c.m = m;
  c.cols = cols;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  return c;
}
inline spec::VpuCommand epilogue(uint32_t acc_row, uint16_t rows, uint16_t cols, uint32_t to) {
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_EPILOGUE;
  c.src_space = WEFT_VPU_SPACE_ACC;
  c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
  c.rows = rows;
  c.cols = cols;
  c.a_addr = acc_row;
  c.a_stride = 1;
  c.d_addr = to;
  c.d_stride = 2;
  return c;
}
inline spec::NoneCommand sync(weft_opcode opcode) {
  spec::NoneCommand c;
  c.header.opcode = static_cast<uint8_t>(opcode);
  return c;
}

/// Commands of each queue.
struct Program {
  std::array<std::vector<spec::Command>, WEFT_CORE_QUEUES> queues;
  template <class C>
  void add(unsigned queue, const C& c) {
    queues[queue].push_back(spec::encode(c));
  }
};

/// out[M, N] = x[M, K] x w[K, N]: `blocks` column blocks, double-buffered weights, results by way of ACC banks in turn.
inline Program product(const spec::Chip& chip, uint16_t m, uint32_t k, unsigned blocks) {
  Program p;
  const uint32_t n = chip.n, word = chip.word_bytes, tiles = (k + n - 1) / n;
  const uint32_t x_bytes = (m * tiles + 1) / 2 * 2 * word, w_bytes = tiles * n * word, out_bytes = m * 2 * word;
  const uint32_t w_at[2] = {x_bytes, x_bytes + w_bytes}, out_at[2] = {w_at[1] + w_bytes, w_at[1] + w_bytes + out_bytes};
  p.add(WEFT_QUEUE_DMA_IN, posting(copy_in(3, 0, 0, x_bytes), 0));
  for (unsigned b = 0; b < blocks; b++) {
    const unsigned side = b % 2;
    const auto tag = static_cast<uint16_t>(b);
    auto load = posting(copy_in(4, uint64_t{b} * w_bytes, w_at[side], w_bytes), static_cast<uint8_t>(1 + side));
    auto multiply = matmul(0, tiles, w_at[side] / word, m, k, static_cast<uint16_t>(n), n);
    multiply.acc_row = static_cast<uint16_t>(side * chip.acc_bank_rows);
    multiply = waiting(multiply, static_cast<uint8_t>(1 + side));
    if (b == 0) multiply = waiting(multiply, 0);
    auto finish = waiting(epilogue(multiply.acc_row, m, static_cast<uint16_t>(n), out_at[side] / word),
                          static_cast<uint8_t>(3 + side));
    if (b >= 2) {
      load = waiting(load, static_cast<uint8_t>(5 + side));
      multiply = waiting(multiply, static_cast<uint8_t>(7 + side));
      finish = waiting(finish, static_cast<uint8_t>(11 + side));
    }
    multiply = posting(posting(multiply, static_cast<uint8_t>(3 + side)), static_cast<uint8_t>(5 + side));
    finish = posting(posting(finish, static_cast<uint8_t>(7 + side)), static_cast<uint8_t>(9 + side));
    const auto store =
        posting(waiting(copy_out(out_at[side], 5, uint64_t{b} * out_bytes, out_bytes), static_cast<uint8_t>(9 + side)),
                static_cast<uint8_t>(11 + side));
    p.add(WEFT_QUEUE_DMA_IN, tagged(load, tag));
    p.add(WEFT_QUEUE_MXU, tagged(multiply, tag));
    p.add(WEFT_QUEUE_VPU, tagged(finish, tag));
    p.add(WEFT_QUEUE_DMA_OUT, tagged(store, tag));
  }
  return p;
}

}  // namespace weft::test
