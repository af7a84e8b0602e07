/// Random graphs of commands, and what they compute when each command runs alone behind the one before.
#pragma once
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "host/compiler/command_graph/command_graph.hpp"
#include "testbench/unit/compiler/program_executor.hpp"

namespace weft::test {

/// Loads, elementwise sums, products with their epilogues, stores, and values that go through scratch and come back;
/// several readers of a value, values that are written over. All rows are bf16 of N lanes.
class RandomGraph {
 public:
  static constexpr uint64_t kRows = 32, kInputs = 64, kScratchSlots = 4;

  RandomGraph(const spec::Chip& chip, uint64_t seed, int commands) : chip_(chip), random_(seed), graph_(chip) {
    inputs_.resize(kInputs * kRows * chip.word_bytes);
    for (size_t i = 0; i < inputs_.size(); i += 2) {
      const auto bits = static_cast<uint16_t>(0x3c00 + random_() % 0x0400 + (random_() % 2 << 15));
      std::memcpy(&inputs_[i], &bits, 2);
    }
    while (static_cast<int>(graph_.commands().size()) < commands) add();
    for (const auto& value : values_) store(value, 4, outputs_++ * kRows * chip_.word_bytes);
  }

  [[nodiscard]] const compiler::command_graph::CommandGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<std::byte>& inputs() const { return inputs_; }
  [[nodiscard]] uint64_t output_bytes() const { return outputs_ * kRows * chip_.word_bytes; }
  [[nodiscard]] uint64_t scratch_bytes() const { return kScratchSlots * kRows * chip_.word_bytes; }

  /// One command after the other, each buffer in a place of its own.
  [[nodiscard]] std::vector<std::byte> expected() const {
    spec::Chip wide = chip_;
    wide.vmem_words = static_cast<unsigned>(graph_.buffers().size() * kRows);
    wide.vmem_bytes = uint64_t{wide.vmem_words} * wide.word_bytes;
    golden::CoreState state(wide);
    FlatMemory memory;
    const uint64_t scratch = inputs_.size(), outputs = scratch + scratch_bytes();
    memory.bytes = inputs_;
    memory.bytes.resize(outputs + output_bytes());
    state.segments()[2] = {scratch, scratch_bytes(), WEFT_ADDRESS_SPACE_HBM, true, true};
    state.segments()[3] = {0, inputs_.size(), WEFT_ADDRESS_SPACE_HBM, true, true};
    state.segments()[4] = {outputs, output_bytes(), WEFT_ADDRESS_SPACE_HBM, true, true};
    const auto word = [](compiler::command_graph::BufferId b) {
      return b == compiler::command_graph::kNoBuffer ? 0 : static_cast<uint32_t>(index_of(b) * kRows);
    };
    for (const auto& c : graph_.commands()) {
      spec::Command encoded;
      if (const auto* dma = std::get_if<spec::DmaCommand>(&c.body)) {
        auto body = *dma;
        body.src_off += uint64_t{word(c.a)} * chip_.word_bytes, body.dst_off += uint64_t{word(c.d)} * chip_.word_bytes;
        encoded = spec::encode(body);
      } else if (const auto* mxu = std::get_if<spec::MxuCommand>(&c.body)) {
        auto body = *mxu;
        body.x_addr += word(c.a), body.w_addr += word(c.b);
        encoded = spec::encode(body);
      } else {
        auto body = std::get<spec::VpuCommand>(c.body);
        if (body.src_space == WEFT_VPU_SPACE_VMEM) body.a_addr += word(c.a);
        body.b_addr += word(c.b), body.d_addr += word(c.d);
        if (c.kept != compiler::command_graph::kNoBuffer) body.scalar2 += word(c.kept);
        encoded = spec::encode(body);
      }
      if (auto fault = state.execute(encoded, c.queue, memory)) return {};
    }
    const auto first = memory.bytes.begin() + static_cast<ptrdiff_t>(outputs);
    return {first, memory.bytes.end()};
  }

 private:
  using BufferId = compiler::command_graph::BufferId;
  struct Value {
    BufferId buffer;
    uint64_t rows;
  };

  BufferId new_buffer() { return graph_.add_buffer(compiler::command_graph::BufferSpace::kVmem, kRows); }
  Value& any() { return values_[random_() % values_.size()]; }
  void keep(const Value& value) {
    if (values_.size() < 12)
      values_.push_back(value);
    else
      any() = value;
  }

  void add() {
    const auto kind = random_() % 10;
    if (values_.size() < 3 || kind < 3) return load();
    if (kind < 6) return sum();
    if (kind < 8) return product();
    if (kind == 8) return store(any(), 4, outputs_++ * kRows * chip_.word_bytes);
    through_scratch();
  }

  spec::DmaCommand copy() {
    spec::DmaCommand c;
    c.header.opcode = WEFT_OPCODE_COPY;
    return c;
  }
  void load() {
    auto c = copy();
    const uint64_t rows = 1 + random_() % kRows;
    c.src_seg = 3, c.src_off = random_() % kInputs * kRows * chip_.word_bytes;
    c.size0 = static_cast<uint32_t>(rows * chip_.word_bytes);
    // Sometimes over a value that others have read.
    const bool over = values_.size() >= 3 && random_() % 4 == 0;
    if (over) {
      Value& value = any();
      value.rows = std::max(value.rows, rows);
      return graph_.load(c, value.buffer);
    }
    const Value value{new_buffer(), rows};
    graph_.load(c, value.buffer);
    keep(value);
  }
  void store(const Value& value, uint8_t segment, uint64_t offset) {
    auto c = copy();
    c.dst_seg = segment, c.dst_off = offset, c.size0 = static_cast<uint32_t>(value.rows * chip_.word_bytes);
    graph_.store(c, value.buffer);
  }
  void sum() {
    const Value a = any(), b = any();
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
    c.op = random_() % 2 == 0 ? WEFT_VPU_OP_MIN : WEFT_VPU_OP_SUB;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_BF16;
    c.rows = static_cast<uint16_t>(std::min(a.rows, b.rows)), c.cols = static_cast<uint16_t>(chip_.n);
    c.a_stride = c.b_stride = c.d_stride = 1, c.b_mode = WEFT_VPU_B_MODE_TENSOR;
    const Value d{random_() % 3 == 0 ? a.buffer : new_buffer(), c.rows};
    graph_.vector(c, a.buffer, b.buffer, d.buffer);
    if (d.buffer != a.buffer) keep(d);
  }
  void product() {
    const Value x = any(), w = any();
    const BufferId acc = graph_.add_buffer(compiler::command_graph::BufferSpace::kAcc, x.rows);
    const uint64_t parts = 1 + random_() % 2;
    for (uint64_t i = 0; i < parts; i++) {
      spec::MxuCommand c;
      c.header.opcode = WEFT_OPCODE_MATMUL;
      c.x_row_stride = 1, c.x_tile_stride = 1, c.w_tile_stride = chip_.n;
      c.k = static_cast<uint32_t>(std::min<uint64_t>(w.rows, chip_.n)), c.m = static_cast<uint16_t>(x.rows);
      c.cols = static_cast<uint16_t>(chip_.n), c.dtype = WEFT_MXU_DTYPE_BF16;
      c.seed = i == 0 ? WEFT_MXU_SEED_ZERO : WEFT_MXU_SEED_KEEP;
      graph_.product(c, x.buffer, w.buffer, acc);
    }
    spec::VpuCommand e;
    e.header.opcode = WEFT_OPCODE_EPILOGUE;
    e.src_space = WEFT_VPU_SPACE_ACC, e.src_dtype = WEFT_VPU_DTYPE_F32, e.dst_dtype = WEFT_VPU_DTYPE_BF16;
    e.activation = WEFT_VPU_ACTIVATION_CLAMP;  // so that chains of products stay finite
    e.scalar = 0xbf800000u, e.scalar2 = 0x3f800000u;
    e.rows = static_cast<uint16_t>(x.rows), e.cols = static_cast<uint16_t>(chip_.n), e.a_stride = e.d_stride = 1;
    const Value d{new_buffer(), x.rows}, residual = any(), bias = any();
    if (random_() % 2 == 0 && residual.rows >= 2 * x.rows && bias.rows >= 2) {
      e.b_mode = WEFT_VPU_B_MODE_RESIDUAL, e.b_stride = 2;
      e.activation = WEFT_VPU_ACTIVATION_RELU, e.scalar = e.scalar2 = 0;
      graph_.vector(e, acc, residual.buffer, d.buffer, bias.buffer);
    } else {
      graph_.vector(e, acc, compiler::command_graph::kNoBuffer, d.buffer);
    }
    keep(d);
  }
  void through_scratch() {
    const Value value = any();
    const uint64_t offset = random_() % kScratchSlots * kRows * chip_.word_bytes;
    store(value, 2, offset);
    auto c = copy();
    c.src_seg = 2, c.src_off = offset, c.size0 = static_cast<uint32_t>(value.rows * chip_.word_bytes);
    const Value back{new_buffer(), value.rows};
    graph_.load(c, back.buffer);
    keep(back);
  }

  const spec::Chip& chip_;
  std::mt19937_64 random_;
  compiler::command_graph::CommandGraph graph_;
  std::vector<std::byte> inputs_;
  std::vector<Value> values_;
  uint64_t outputs_ = 0;
};

}  // namespace weft::test
