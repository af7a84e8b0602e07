// execute() against nested loops that follow the specification's words, and written_ranges() against what changed.
#include "model/golden/core_state.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

#include "model/golden/arith.hpp"
#include "random_values.hpp"

namespace golden = weft::golden;
namespace spec = weft::spec;
using golden::Fault;
using weft::test::RandomValues;

namespace {

/// 1 MiB of HBM from address 0, with a hole in which every access fails.
class Memory : public golden::MemoryAccess {
 public:
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 20);
  uint64_t hole_first = UINT64_MAX, hole_end = UINT64_MAX;

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

 private:
  [[nodiscard]] bool inside(weft_address_space space, uint64_t address, size_t size) const {
    return space == WEFT_ADDRESS_SPACE_HBM && address + size <= bytes.size() &&
           (address + size <= hole_first || address >= hole_end);
  }
};

/// memcmp(): operator== looks at one byte after the other.
bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Fixture {
  explicit Fixture(const char* preset) : core(*spec::find_chip(preset)), random(weft::test::seed()) {
    core.segments()[3] = {kBase, 1 << 18, WEFT_ADDRESS_SPACE_HBM, true, true};
    for (auto& b : memory.bytes) b = static_cast<std::byte>(random.bits());
    fill_vmem([&] { return random.bf16(); });
    for (uint32_t r = 0; r < core.acc_rows(); r++)
      for (auto& v : core.acc_row(r)) v = random.f32();
  }
  template <class Make>
  void fill_vmem(Make make) {
    std::vector<uint16_t> values(core.vmem().size() / 2);
    for (auto& v : values) v = make();
    std::memcpy(core.vmem().data(), values.data(), core.vmem().size());
  }
  template <class T>
  T at(uint64_t byte_address) const {
    T v;
    std::memcpy(&v, core.vmem().data() + byte_address, sizeof v);
    return v;
  }
  [[nodiscard]] std::vector<std::byte> vmem_copy() const { return {core.vmem().begin(), core.vmem().end()}; }
  template <class C>
  std::optional<Fault> run(const C& c, unsigned queue) {
    return core.execute(spec::encode(c), queue, memory);
  }

  static constexpr uint64_t kBase = 0x1000;
  golden::CoreState core;
  Memory memory;
  RandomValues random;
};

spec::DmaCommand random_dma(Fixture& f, bool in, bool fill) {
  const int64_t word = f.core.chip().word_bytes;
  spec::DmaCommand c;
  c.header.opcode = fill ? WEFT_OPCODE_FILL : WEFT_OPCODE_COPY;
  c.size0 = static_cast<uint32_t>(16 * (1 + f.random.below(12)));
  c.size1 = static_cast<uint16_t>(1 + f.random.below(4));
  c.size2 = static_cast<uint16_t>(1 + f.random.below(4));
  c.size3 = static_cast<uint16_t>(1 + f.random.below(3));
  const auto stride = [&](int64_t granule) { return static_cast<int32_t>(granule * f.random.between(-40, 40)); };
  const int64_t s = in ? 16 : word, d = in ? word : 16;
  if (!fill) std::tie(c.src_stride1, c.src_stride2, c.src_stride3) = std::tuple{stride(s), stride(s), stride(s)};
  std::tie(c.dst_stride1, c.dst_stride2, c.dst_stride3) = std::tuple{stride(d), stride(d), stride(d)};
  c.src_off = fill ? f.random.below(UINT32_MAX) : 0x10000;
  c.dst_off = 0x10000;
  (in ? c.src_seg : c.dst_seg) = 3;
  if (fill) c.src_seg = 0;
  return c;
}

}  // namespace

TEST_CASE("COPY and FILL are four nested loops, in both directions, and write only where written_ranges says") {
  const bool in = GENERATE(true, false), fill = GENERATE(true, false);
  Fixture f("small");
  std::vector<std::byte> vmem, memory, before_vmem, before_memory, patched_vmem,
      patched_memory;  // megabytes, made once
  for (int round = 0; round < 100; round++) {
    const auto c = random_dma(f, in, fill);
    vmem.assign(f.core.vmem().begin(), f.core.vmem().end());
    memory = f.memory.bytes;
    before_vmem = vmem;
    before_memory = memory;
    for (int64_t l = 0; l < c.size3; l++)
      for (int64_t k = 0; k < c.size2; k++)
        for (int64_t j = 0; j < c.size1; j++)
          for (int64_t i = 0; i < c.size0; i++) {
            const int64_t src =
                static_cast<int64_t>(c.src_off) + i + j * c.src_stride1 + k * c.src_stride2 + l * c.src_stride3;
            const int64_t dst =
                static_cast<int64_t>(c.dst_off) + i + j * c.dst_stride1 + k * c.dst_stride2 + l * c.dst_stride3;
            const auto pattern = static_cast<std::byte>(c.src_off >> (8 * (i % 4)));
            if (in) {
              vmem[static_cast<size_t>(dst)] = fill ? pattern : memory[static_cast<size_t>(src) + Fixture::kBase];
            } else {
              memory[static_cast<size_t>(dst) + Fixture::kBase] = fill ? pattern : vmem[static_cast<size_t>(src)];
            }
          }
    REQUIRE_FALSE(f.run(c, in ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT));
    REQUIRE(same(f.core.vmem(), vmem));
    REQUIRE(same(f.memory.bytes, memory));

    const auto ranges = golden::written_ranges(spec::encode(c), f.core.chip(), f.core.segments());
    patched_vmem = before_vmem;
    patched_memory = before_memory;
    for (const auto& r : ranges.vmem)
      std::copy_n(vmem.begin() + static_cast<int64_t>(r.address), r.bytes,
                  patched_vmem.begin() + static_cast<int64_t>(r.address));
    for (const auto& r : ranges.memory)
      std::copy_n(memory.begin() + static_cast<int64_t>(r.address), r.bytes,
                  patched_memory.begin() + static_cast<int64_t>(r.address));
    REQUIRE(same(patched_vmem, vmem));
    REQUIRE(same(patched_memory, memory));
    REQUIRE(ranges.acc.empty());
  }
}

TEST_CASE("A bus error names the beat's address, and what came before it has been written") {
  Fixture f("nano");  // beats of 64 bytes
  const uint64_t hole = Fixture::kBase + 0x150;
  f.memory.hole_first = hole;
  f.memory.hole_end = hole + 16;
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.src_seg = 3;
  c.size0 = 0x200;
  const auto before = f.vmem_copy();
  CHECK(f.run(c, WEFT_QUEUE_DMA_IN) == Fault{WEFT_FAULT_DMA_BUS, Fixture::kBase + 0x140});
  CHECK(std::memcmp(f.core.vmem().data(), f.memory.bytes.data() + Fixture::kBase, 0x140) == 0);
  CHECK(std::memcmp(f.core.vmem().data() + 0x180, before.data() + 0x180, 0x80) == 0);
  for (const auto opcode : {WEFT_OPCODE_COPY, WEFT_OPCODE_FILL}) {
    c.header.opcode = static_cast<uint8_t>(opcode);
    c.src_seg = 0;
    c.dst_seg = 3;
    CHECK(f.run(c, WEFT_QUEUE_DMA_OUT) == Fault{WEFT_FAULT_DMA_BUS, Fixture::kBase + 0x140});
    CHECK(f.memory.bytes[Fixture::kBase] == (opcode == WEFT_OPCODE_COPY ? f.core.vmem()[0] : std::byte{0}));
  }
}

TEST_CASE("Bit 5 of a segment's number is the version of its base and a fault names the segment without it") {
  constexpr uint8_t kVersion1 = 3 | golden::kSegmentVersion1;
  constexpr uint64_t kBytes = 64, kOther = Fixture::kBase + 0x8000;
  Fixture f("small");
  golden::copy_to_version1(f.core.segments());
  f.core.segments()[kVersion1].base = kOther;
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_COPY;
  c.size0 = kBytes;
  for (const auto& [segment, base] : {std::pair{uint8_t{3}, Fixture::kBase}, {kVersion1, kOther}}) {
    c.src_seg = segment, c.dst_seg = 0;
    REQUIRE(!f.run(c, WEFT_QUEUE_DMA_IN));
    CHECK(std::memcmp(f.core.vmem().data(), f.memory.bytes.data() + base, kBytes) == 0);
    c.src_seg = 0, c.dst_seg = segment, c.src_off = 4096;
    const auto written = golden::written_ranges(spec::encode(c), f.core.chip(), f.core.segments());
    REQUIRE(!f.run(c, WEFT_QUEUE_DMA_OUT));
    CHECK(std::memcmp(f.core.vmem().data() + 4096, f.memory.bytes.data() + base, kBytes) == 0);
    REQUIRE(written.memory.size() == 1);
    CHECK(written.memory[0].address == base);
    c.src_off = 0;
  }
  c.src_seg = 0, c.dst_seg = 7 | golden::kSegmentVersion1;
  CHECK(f.run(c, WEFT_QUEUE_DMA_OUT) == Fault{WEFT_FAULT_SEGMENT, 7});
  c.src_seg = golden::kSegmentVersion1, c.dst_seg = 0;  // VMEM has no other version
  CHECK(f.run(c, WEFT_QUEUE_DMA_IN) == Fault{WEFT_FAULT_SEGMENT, 0});
}

TEST_CASE("A refused command writes nothing") {
  Fixture f("nano");
  const auto before = f.vmem_copy();
  spec::DmaCommand c;
  c.header.opcode = WEFT_OPCODE_FILL;
  c.size0 = 64;
  c.dst_off = f.core.chip().vmem_bytes - 32;
  CHECK(f.run(c, WEFT_QUEUE_DMA_IN) == Fault{WEFT_FAULT_RANGE, f.core.chip().vmem_bytes});
  CHECK(f.vmem_copy() == before);
}

TEST_CASE("MATMUL is one chain per element over all K tiles, and lanes at or beyond cols are zero") {
  const char* preset = GENERATE("nano", "mini", "small");
  const uint8_t dtype = GENERATE(uint8_t{WEFT_MXU_DTYPE_BF16}, uint8_t{WEFT_MXU_DTYPE_INT8});
  Fixture f(preset);
  const auto& chip = f.core.chip();
  for (int round = 0; round < 40; round++) {
    if (dtype == WEFT_MXU_DTYPE_INT8) f.fill_vmem([&] { return static_cast<uint16_t>(f.random.bits()); });
    spec::MxuCommand c;
    c.header.opcode = WEFT_OPCODE_MATMUL;
    c.dtype = dtype;
    c.k = static_cast<uint32_t>(1 + f.random.below(5 * chip.n));
    c.m = static_cast<uint16_t>(1 + f.random.below(20));
    c.cols = static_cast<uint16_t>(1 + f.random.below(chip.n));
    c.acc_row =
        static_cast<uint16_t>(f.random.below(2) * chip.acc_bank_rows + f.random.below(chip.acc_bank_rows - c.m));
    c.seed = static_cast<uint8_t>(f.random.below(2));
    c.x_addr = static_cast<uint32_t>(f.random.below(50));
    c.x_row_stride = static_cast<uint32_t>(f.random.below(9));
    c.x_tile_stride = static_cast<uint32_t>(f.random.below(3));
    c.w_addr = static_cast<uint32_t>(300 + f.random.below(50));
    c.w_tile_stride = static_cast<uint32_t>(f.random.below(2 * chip.n));

    std::vector<std::vector<uint32_t>> expected;
    bool overflow = false;
    for (uint32_t r = 0; r < c.m; r++) {
      std::vector<uint32_t> row(chip.n);
      const auto old = f.core.acc_row(c.acc_row + r);
      for (uint32_t j = 0; j < c.cols; j++) {
        uint32_t sum = c.seed == WEFT_MXU_SEED_KEEP ? old[j] : 0;
        if (dtype == WEFT_MXU_DTYPE_BF16) {
          for (uint32_t k = 0; k < c.k; k++) {
            const uint64_t x_word = c.x_addr + uint64_t{r} * c.x_row_stride + k / chip.n * c.x_tile_stride;
            const uint64_t w_word = c.w_addr + k / chip.n * c.w_tile_stride + k % chip.n;
            sum = golden::fma_bf16(f.at<uint16_t>(x_word * chip.word_bytes + 2 * (k % chip.n)),
                                   f.at<uint16_t>(w_word * chip.word_bytes + 2 * j), sum);
          }
        } else {
          auto total = static_cast<int32_t>(sum);
          for (uint32_t k = 0; k < c.k; k += 2) {
            const uint32_t tile = k / (2 * chip.n), inner = k % (2 * chip.n);
            const uint64_t x_byte =
                (c.x_addr + uint64_t{r} * c.x_row_stride + tile * c.x_tile_stride) * chip.word_bytes + inner;
            const uint64_t w_byte = (c.w_addr + tile * c.w_tile_stride + inner / 2) * chip.word_bytes + 2 * j;
            int32_t pair = f.at<int8_t>(x_byte) * f.at<int8_t>(w_byte);
            if (k + 1 < c.k) pair += f.at<int8_t>(x_byte + 1) * f.at<int8_t>(w_byte + 1);
            overflow |= __builtin_add_overflow(total, pair, &total);
          }
          sum = static_cast<uint32_t>(total);
        }
        row[j] = sum;
      }
      expected.push_back(row);
    }
    const uint64_t macs = f.core.status().macs;
    f.core.status().int_overflow = false;
    REQUIRE_FALSE(f.run(c, WEFT_QUEUE_MXU));
    for (uint32_t r = 0; r < c.m; r++) {
      const auto row = f.core.acc_row(c.acc_row + r);
      REQUIRE(std::vector<uint32_t>(row.begin(), row.end()) == expected[r]);
    }
    REQUIRE(f.core.status().int_overflow == overflow);
    REQUIRE(f.core.status().macs - macs == uint64_t{c.m} * c.k * c.cols);
    const auto ranges = golden::written_ranges(spec::encode(c), chip, f.core.segments());
    REQUIRE(ranges.acc.size() == 1);
    REQUIRE(ranges.acc[0].row == c.acc_row);
    REQUIRE(ranges.acc[0].rows == c.m);
  }
}

TEST_CASE("EPILOGUE adds the bias row, applies relu, rounds, masks lanes beyond cols and counts NaN and infinities") {
  Fixture f("small");
  const auto& chip = f.core.chip();
  for (const bool bias : {false, true}) {
    for (const bool relu : {false, true}) {
      for (const uint8_t dst : {WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_BF16}) {
        spec::VpuCommand c;
        c.header.opcode = WEFT_OPCODE_EPILOGUE;
        c.src_space = WEFT_VPU_SPACE_ACC;
        c.src_dtype = WEFT_VPU_DTYPE_F32;
        c.dst_dtype = dst;
        c.rows = 19;
        c.cols = 21;
        c.a_addr = 5;
        c.a_stride = 3;
        c.b_mode = bias ? WEFT_VPU_B_MODE_ROW : WEFT_VPU_B_MODE_NONE;
        c.b_addr = bias ? 10 : 0;
        c.d_addr = 1000;
        c.d_stride = 4;
        c.activation = relu ? WEFT_VPU_ACTIVATION_RELU : WEFT_VPU_ACTIVATION_NONE;
        f.core.status() = {};
        std::ranges::fill(f.core.acc_row(5).first(8), 0x7f800000u);
        uint64_t nans = 0, infinities = 0;
        REQUIRE_FALSE(f.run(c, WEFT_QUEUE_VPU));
        for (uint32_t r = 0; r < c.rows; r++) {
          for (uint32_t j = 0; j < chip.n; j++) {
            uint32_t v = golden::canonical_f32(f.core.acc_row(c.a_addr + r * c.a_stride)[j]);
            if (bias) v = golden::add_f32(v, f.at<uint32_t>(c.b_addr * chip.word_bytes + 4 * j));
            if (relu) v = golden::relu_f32(v);
            const uint64_t at = (c.d_addr + r * c.d_stride) * chip.word_bytes;
            if (dst == WEFT_VPU_DTYPE_BF16) {
              const uint16_t expected = j < c.cols ? golden::f32_to_bf16(v) : 0;
              REQUIRE(f.at<uint16_t>(at + 2 * j) == expected);
              v = static_cast<uint32_t>(expected) << 16;
            } else {
              v = j < c.cols ? v : 0;
              REQUIRE(f.at<uint32_t>(at + 4 * j) == v);
            }
            nans += golden::is_nan_f32(v);
            infinities += golden::is_infinite_f32(v);
          }
        }
        CHECK(f.core.status().nan_results == nans);
        CHECK(f.core.status().inf_results == infinities);
        CHECK(nans > 0);
        CHECK(infinities > 0);
        CHECK(f.core.status().vpu_rows == c.rows);
      }
    }
  }
}

TEST_CASE("ELEMENTWISE takes b as a tensor, one row, or a scalar") {
  const uint8_t mode =
      GENERATE(uint8_t{WEFT_VPU_B_MODE_TENSOR}, uint8_t{WEFT_VPU_B_MODE_ROW}, uint8_t{WEFT_VPU_B_MODE_SCALAR});
  const uint8_t dtype =
      GENERATE(uint8_t{WEFT_VPU_DTYPE_F32}, uint8_t{WEFT_VPU_DTYPE_BF16}, uint8_t{WEFT_VPU_DTYPE_I32});
  Fixture f("nano");
  const auto& chip = f.core.chip();
  const uint64_t element = dtype == WEFT_VPU_DTYPE_BF16 ? 2 : 4;
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
  c.op = WEFT_VPU_OP_MUL;
  c.src_dtype = c.dst_dtype = dtype;
  c.rows = 30;
  c.cols = 7;
  c.a_stride = 4;
  c.b_mode = mode;
  if (mode != WEFT_VPU_B_MODE_SCALAR) c.b_addr = 200;
  if (mode == WEFT_VPU_B_MODE_TENSOR) c.b_stride = 6;
  if (mode == WEFT_VPU_B_MODE_SCALAR) c.scalar = dtype == WEFT_VPU_DTYPE_BF16 ? 0x4048 : 0x40490fdb;
  c.d_addr = 600;
  c.d_stride = 2;
  REQUIRE_FALSE(f.run(c, WEFT_QUEUE_VPU));
  const auto load = [&](uint64_t at) { return element == 2 ? f.at<uint16_t>(at) : f.at<uint32_t>(at); };
  for (uint32_t r = 0; r < c.rows; r++) {
    for (uint32_t j = 0; j < chip.n; j++) {
      const uint32_t a = load((c.a_addr + r * c.a_stride) * chip.word_bytes + element * j);
      const uint32_t b =
          mode == WEFT_VPU_B_MODE_SCALAR ? c.scalar : load((c.b_addr + r * c.b_stride) * chip.word_bytes + element * j);
      uint32_t expected = a * b;
      if (dtype == WEFT_VPU_DTYPE_F32) expected = golden::mul_f32(a, b);
      if (dtype == WEFT_VPU_DTYPE_BF16) expected = golden::f32_to_bf16(golden::mul_f32(a << 16, b << 16));
      REQUIRE(load((c.d_addr + r * c.d_stride) * chip.word_bytes + element * j) == (j < c.cols ? expected : 0));
    }
  }
}

TEST_CASE("ELEMENTWISE rotate moves some lanes of a among those of b, around the row's end, and the rest is 0") {
  const uint8_t mode =
      GENERATE(uint8_t{WEFT_VPU_B_MODE_NONE}, uint8_t{WEFT_VPU_B_MODE_TENSOR}, uint8_t{WEFT_VPU_B_MODE_ROW});
  const bool wide = GENERATE(false, true);
  Fixture f("nano");
  const auto& chip = f.core.chip();
  const auto before = f.vmem_copy();
  for (uint32_t by = 0; by < chip.n; by++)
    for (uint32_t first = 0; first < chip.n; first++) {
      const uint32_t end = first + 1 + (3 * by + first) % (chip.n - first);
      std::memcpy(f.core.vmem().data(), before.data(), before.size());
      spec::VpuCommand c;
      c.header.opcode = WEFT_OPCODE_ELEMENTWISE;
      c.op = WEFT_VPU_OP_ROTATE;
      c.src_dtype = c.dst_dtype = wide ? WEFT_VPU_DTYPE_I32 : WEFT_VPU_DTYPE_BF16;
      c.rows = 5, c.cols = static_cast<uint16_t>(chip.n - by % 3);
      c.a_stride = 4, c.d_addr = 600, c.d_stride = 2;
      c.b_mode = mode;
      if (mode != WEFT_VPU_B_MODE_NONE) c.b_addr = 200;
      if (mode == WEFT_VPU_B_MODE_TENSOR) c.b_stride = 6;
      c.scalar = by, c.scalar2 = first | end << 16;
      REQUIRE_FALSE(f.run(c, WEFT_QUEUE_VPU));
      for (uint64_t r = 0; r < c.rows; r++)
        for (uint32_t j = 0; j < chip.n; j++) {
          const auto load = [&](uint64_t word, uint32_t lane) {
            const uint64_t at = word * chip.word_bytes;
            return wide ? f.at<uint32_t>(at + 4 * lane) : uint32_t{f.at<uint16_t>(at + 2 * lane)} << 16;
          };
          uint32_t expected = mode == WEFT_VPU_B_MODE_NONE ? 0 : load(c.b_addr + r * c.b_stride, j);
          if (j >= first && j < end) expected = load(r * c.a_stride, j + by < chip.n ? j + by : j + by - chip.n);
          if (!wide) expected = golden::canonical_f32(expected);
          REQUIRE(load(c.d_addr + r * c.d_stride, j) == (j < c.cols ? expected : 0));
        }
    }
}

TEST_CASE("REDUCE writes the same value to lanes below cols, and an operand may be its own result") {
  Fixture f("nano");
  const auto& chip = f.core.chip();
  for (const uint8_t op : {WEFT_VPU_OP_SUM, WEFT_VPU_OP_RMAX}) {
    spec::VpuCommand c;
    c.header.opcode = WEFT_OPCODE_REDUCE;
    c.op = op;
    c.src_dtype = c.dst_dtype = WEFT_VPU_DTYPE_F32;
    c.rows = 9;
    c.cols = 5;
    c.a_stride = c.d_stride = 2;
    std::vector<uint32_t> expected;
    const auto join = op == WEFT_VPU_OP_SUM ? golden::add_f32 : golden::max_f32;
    for (uint32_t r = 0; r < c.rows; r++) {
      const auto lane = [&](uint32_t j) { return f.at<uint32_t>(r * 2 * chip.word_bytes + 4 * j); };
      expected.push_back(join(join(join(lane(0), lane(1)), join(lane(2), lane(3))), lane(4)));
    }
    REQUIRE_FALSE(f.run(c, WEFT_QUEUE_VPU));
    for (uint32_t r = 0; r < c.rows; r++)
      for (uint32_t j = 0; j < chip.n; j++)
        REQUIRE(f.at<uint32_t>(r * 2 * chip.word_bytes + 4 * j) == (j < 5 ? expected[r] : 0));
  }
}

TEST_CASE("CAST changes the width of rows") {
  Fixture f("nano");
  const auto& chip = f.core.chip();
  spec::VpuCommand c;
  c.header.opcode = WEFT_OPCODE_CAST;
  c.rows = 12;
  c.cols = 8;
  c.d_addr = 500;
  const auto run = [&](uint8_t from, uint8_t to) {
    c.src_dtype = from;
    c.dst_dtype = to;
    c.a_stride = golden::words_per_row(from);
    c.d_stride = golden::words_per_row(to);
    REQUIRE_FALSE(f.run(c, WEFT_QUEUE_VPU));
  };
  const auto source = [&](uint32_t i, unsigned bytes) {
    return bytes == 2 ? f.at<uint16_t>(i * 2) : f.at<uint32_t>(i * 4);
  };
  const auto result = [&](uint32_t i, unsigned bytes) {
    return bytes == 2 ? f.at<uint16_t>(500 * chip.word_bytes + i * 2) : f.at<uint32_t>(500 * chip.word_bytes + i * 4);
  };
  run(WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_BF16);
  for (uint32_t i = 0; i < 96; i++) REQUIRE(result(i, 2) == golden::f32_to_bf16(source(i, 4)));
  run(WEFT_VPU_DTYPE_BF16, WEFT_VPU_DTYPE_F32);
  for (uint32_t i = 0; i < 96; i++) REQUIRE(result(i, 4) == golden::bf16_to_f32(static_cast<uint16_t>(source(i, 2))));
  run(WEFT_VPU_DTYPE_F32, WEFT_VPU_DTYPE_I32);
  for (uint32_t i = 0; i < 96; i++) REQUIRE(result(i, 4) == golden::f32_to_i32(source(i, 4)));
  run(WEFT_VPU_DTYPE_I32, WEFT_VPU_DTYPE_F32);
  for (uint32_t i = 0; i < 96; i++) REQUIRE(result(i, 4) == golden::i32_to_f32(source(i, 4)));
}

TEST_CASE("Reference and fast path leave the same state behind a MATMUL on the largest preset") {
  const spec::Chip& chip = *spec::find_chip("v5e-1mxu");
  golden::CoreState fast(chip, golden::Path::kFast), reference(chip, golden::Path::kReference);
  RandomValues random(weft::test::seed());
  std::vector<uint16_t> values(600 * chip.n);
  for (auto& v : values) v = random.bf16();
  for (auto* core : {&fast, &reference}) std::memcpy(core->vmem().data(), values.data(), values.size() * 2);
  spec::MxuCommand c;
  c.header.opcode = WEFT_OPCODE_MATMUL;
  c.dtype = WEFT_MXU_DTYPE_BF16;
  c.k = 200;
  c.m = 33;
  c.cols = 100;
  c.x_row_stride = 2;
  c.x_tile_stride = 1;
  c.w_addr = 100;
  c.w_tile_stride = 128;
  Memory memory;
  for (auto* core : {&fast, &reference}) REQUIRE_FALSE(core->execute(spec::encode(c), WEFT_QUEUE_MXU, memory));
  for (uint32_t r = 0; r < fast.acc_rows(); r++) REQUIRE(std::ranges::equal(fast.acc_row(r), reference.acc_row(r)));
}
