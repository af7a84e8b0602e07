// Random legal commands of every kind in lockstep: one after the other, and with the queues running beside each other.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "model/core/lockstep/lockstep_core.hpp"
#include "model/golden/check.hpp"
#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::CoreBench;

/// Words [first, first + count) of VMEM.
struct Region {
  uint32_t first, count;
};

/// Draws commands until one is legal. Side by side, each queue has a quarter of VMEM, the MXU ACC bank 0 and the VPU
/// bank 1, and a semaphore keeps the commands of a DMA queue apart: no two commands that run together touch the same
/// place.
class Generator {
 public:
  Generator(CoreBench& bench, unsigned seed, bool serial) : bench_(bench), random_(seed), serial_(serial) {}

  struct Drawn {
    unsigned queue;
    spec::Command command;
  };
  Drawn draw(uint16_t tag) {
    for (;;) {
      Drawn d = draw_any(tag);
      if (d.queue == kAgain) continue;
      if (!golden::check_command(d.command, d.queue, bench_.chip, segments())) return d;
    }
  }

 private:
  static constexpr unsigned kAgain = WEFT_CORE_QUEUES;
  /// Where the commands of a queue read and write.
  Region region(unsigned queue) const {
    const uint32_t words = bench_.chip.vmem_words;
    if (serial_) return {0, words};
    return {queue * words / 4, words / 4};
  }
  uint32_t address(Region region, uint32_t room) { return region.first + (below(region.count - room) & ~1u); }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  golden::SegmentTable segments() const {
    golden::SegmentTable table{};
    table[1] = {0, bench::SimpleBus::kBytes, WEFT_ADDRESS_SPACE_HBM, true, true};
    table[3] = {0, bench::SimpleBus::kBytes, WEFT_ADDRESS_SPACE_HOST, true, true};
    return table;
  }
  Drawn draw_any(uint16_t tag) {
    switch (below(5)) {
      case 0:
        return dma(tag, true);
      case 1:
        return dma(tag, false);
      case 2:
        return {WEFT_QUEUE_MXU, product(tag)};
      default:
        return {WEFT_QUEUE_VPU, vector(tag)};
    }
  }
  Drawn dma(uint16_t tag, bool in) {
    const unsigned queue = in ? WEFT_QUEUE_DMA_IN : WEFT_QUEUE_DMA_OUT;
    const unsigned word = bench_.chip.word_bytes;
    const Region words = region(queue);
    const bool fill = below(6) == 0;
    const auto turn = static_cast<uint8_t>(queue);
    spec::DmaCommand c;
    c.header = bench::header(fill ? WEFT_OPCODE_FILL : WEFT_OPCODE_COPY, tag,
                             {.wait0 = turn, .wait_count0 = 1, .post0 = turn, .post_count0 = 1});
    const uint8_t outside = below(3) == 0 ? 3 : 1;
    const uint64_t vmem = uint64_t{words.first + below(words.count)} * word;
    // Reads and writes of memory are apart: what runs beside each other must not meet.
    const uint64_t memory = 16 * uint64_t{below(1u << 15)} + (in ? 0 : 2u << 20);
    c.src_seg = in ? outside : uint8_t{0}, c.dst_seg = in ? uint8_t{0} : outside;
    c.src_off = in ? memory : vmem, c.dst_off = in ? vmem : memory;
    c.size0 = 16 * (1 + below(below(4) == 0 ? 40 : 9));
    c.size1 = static_cast<uint16_t>(1 + below(6)), c.size2 = static_cast<uint16_t>(1 + below(3)),
    c.size3 = static_cast<uint16_t>(1 + below(2));
    auto stride = [&](bool is_vmem) {
      const auto granules = static_cast<int32_t>(below(60)) - (below(4) == 0 ? 30 : 0);
      return granules * static_cast<int32_t>(is_vmem ? word : 16u);
    };
    c.src_stride1 = stride(!in), c.src_stride2 = stride(!in), c.src_stride3 = stride(!in);
    c.dst_stride1 = stride(in), c.dst_stride2 = stride(in), c.dst_stride3 = stride(in);
    if (fill) c.src_seg = 0, c.src_off = random_() & 0xffffffff, c.src_stride1 = c.src_stride2 = c.src_stride3 = 0;
    // The bytes of VMEM that it touches lie in its region.
    const auto strides = in ? std::array{c.dst_stride1, c.dst_stride2, c.dst_stride3}
                            : std::array{c.src_stride1, c.src_stride2, c.src_stride3};
    const std::array<int64_t, 3> steps{c.size1 - 1, c.size2 - 1, c.size3 - 1};
    auto low = static_cast<int64_t>(vmem), high = low + c.size0;
    for (unsigned i = 0; i < 3; i++) (strides[i] < 0 ? low : high) += strides[i] * steps[i];
    const int64_t first = int64_t{words.first} * word;
    if (low < first || high > first + int64_t{words.count} * word) return {kAgain, {}};
    return {queue, encode(c)};
  }
  spec::Command product(uint16_t tag) {
    const unsigned n = bench_.chip.n;
    const Region words = region(WEFT_QUEUE_MXU);
    spec::MxuCommand c;
    c.header = bench::header(WEFT_OPCODE_MATMUL, tag, {});
    c.dtype = below(3) == 0 ? WEFT_MXU_DTYPE_INT8 : WEFT_MXU_DTYPE_BF16;
    c.x_addr = address(words, 800), c.x_row_stride = below(3), c.x_tile_stride = below(70);
    c.w_addr = address(words, 800), c.w_tile_stride = below(2) == 0 ? n : below(2 * n);
    c.k = 1 + below(5 * n), c.m = static_cast<uint16_t>(1 + below(below(2) == 0 ? n : bench_.chip.acc_bank_rows));
    c.cols = static_cast<uint16_t>(below(3) == 0 ? 1 + below(n) : n);
    c.acc_row = static_cast<uint16_t>(below((serial_ ? 2 : 1) * bench_.chip.acc_bank_rows));
    c.seed = static_cast<uint8_t>(below(2));
    return encode(c);
  }
  spec::Command vector(uint16_t tag) {
    constexpr std::array<weft_opcode, 4> kOpcodes{WEFT_OPCODE_ELEMENTWISE, WEFT_OPCODE_REDUCE, WEFT_OPCODE_EPILOGUE,
                                                  WEFT_OPCODE_CAST};
    const Region words = region(WEFT_QUEUE_VPU);
    const weft_opcode opcode = kOpcodes[below(4)];
    const bool acc = opcode == WEFT_OPCODE_EPILOGUE;
    spec::VpuCommand c;
    c.header = bench::header(opcode, tag, {});
    c.op = static_cast<uint8_t>(opcode == WEFT_OPCODE_ELEMENTWISE ? 1 + below(5)
                                : opcode == WEFT_OPCODE_REDUCE    ? 6 + below(2)
                                                                  : 0);
    c.src_space = acc, c.src_dtype = static_cast<uint8_t>(1 + below(3)),
    c.dst_dtype = static_cast<uint8_t>(1 + below(3));
    c.rows = static_cast<uint16_t>(1 + below(20)),
    c.cols = static_cast<uint16_t>(below(2) == 0 ? bench_.chip.n : 1 + below(bench_.chip.n));
    c.a_addr = acc ? below(bench_.chip.acc_bank_rows) + (serial_ && below(2) == 0 ? 0 : bench_.chip.acc_bank_rows)
                   : address(words, 400),
    c.a_stride = acc ? below(3) : 2 * below(3);
    c.b_mode = static_cast<uint8_t>(below(4));
    if (c.b_mode == WEFT_VPU_B_MODE_TENSOR || c.b_mode == WEFT_VPU_B_MODE_ROW) c.b_addr = address(words, 400);
    if (c.b_mode == WEFT_VPU_B_MODE_TENSOR) c.b_stride = 2 * below(3);
    if (c.b_mode == WEFT_VPU_B_MODE_SCALAR) c.scalar = static_cast<uint32_t>(random_());
    c.d_addr = address(words, 400), c.d_stride = 2 * below(3);
    c.activation = static_cast<uint8_t>(below(2));
    return encode(c);
  }

  CoreBench& bench_;
  std::mt19937_64 random_;
  const bool serial_;
};

void run_random(const char* chip, unsigned seed, unsigned commands, bool serial) {
  INFO(chip << ", seed " << seed << (serial ? ", one after the other" : ", side by side"));
  CoreBench bench(chip, core::CoreKind::kLockstep);
  std::mt19937_64 random(seed);
  for (const auto space : {WEFT_ADDRESS_SPACE_HBM, WEFT_ADDRESS_SPACE_HOST}) {
    auto& memory = bench.bus.memory(space);
    for (size_t i = 0; i < memory.size(); i += 2) {  // bf16 and f32 of middle exponents, now and then anything
      const uint64_t bits = random();
      memory[i] = static_cast<std::byte>(bits);
      memory[i + 1] = static_cast<std::byte>(bits % 16 == 0 ? bits >> 8 : (bits >> 8 & 0x80) | 0x3c | (bits >> 9 & 3));
    }
  }
  bench.write(WEFT_CSR_SEMAPHORE + 8 * WEFT_QUEUE_DMA_IN, 1);
  bench.write(WEFT_CSR_SEMAPHORE + 8 * WEFT_QUEUE_DMA_OUT, 1);
  Generator generator(bench, seed, serial);
  uint16_t tag = 0;
  for (unsigned i = 0; i < commands; i++) {
    const auto drawn = generator.draw(tag++);
    REQUIRE(bench.push(drawn.queue, drawn.command));
    if (serial || i % 64 == 63) {
      REQUIRE(bench.run());
      const auto mismatch = core::find_mismatch(*bench.core);
      INFO(mismatch.report);
      REQUIRE_FALSE(mismatch.differs);
      REQUIRE(bench.read(WEFT_CSR_FAULT_CODE) == 0);
    }
  }
  REQUIRE(bench.run());
  CHECK_FALSE(core::find_mismatch(*bench.core).differs);
  CHECK(dynamic_cast<core::LockstepCore&>(*bench.core).commands_compared() == commands);
}

}  // namespace

TEST_CASE("random commands one after the other agree with the golden model at nano") {
  for (unsigned seed = 1; seed <= 6; seed++) run_random("nano", seed, 250, true);
}

TEST_CASE("random commands of all queues side by side agree with the golden model at nano") {
  for (unsigned seed = 11; seed <= 16; seed++) run_random("nano", seed, 512, false);
}

TEST_CASE("random commands agree with the golden model at small and v5e-1mxu") {
  run_random("small", 17, 256, false);
  run_random("small", 21, 120, true);
  run_random("v5e-1mxu", 22, 40, true);
}
