// How fast the RTL core is simulated while its MXU is busy: a long stream of products with DMA and epilogues beside it.
//
// core_speed [chip] [products] : prints device cycles/s, MAC/s and the MXU's utilisation. Not a test.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;
using bench::header;

// Semaphores: x tile filled and free, accumulators filled and free.
constexpr uint8_t kFilled = 0, kFree = 1, kComputed = 2, kAccFree = 3;
// Rows of a product, and its K tiles.
constexpr unsigned kTiles = 4;

struct Layout {
  unsigned rows, x_words, w_word, y_word;
};

spec::Command load(const spec::Chip& chip, const Layout& l, unsigned i) {
  spec::DmaCommand c;
  c.header = header(WEFT_OPCODE_COPY, static_cast<uint16_t>(i),
                    {.wait0 = kFree, .wait_count0 = 1, .post0 = kFilled, .post_count0 = 1});
  c.src_seg = 1;
  c.dst_off = uint64_t{i % 2 * l.x_words} * chip.word_bytes;
  c.size0 = l.x_words * chip.word_bytes;
  return encode(c);
}

spec::Command product(const spec::Chip& chip, const Layout& l, unsigned i) {
  spec::MxuCommand c;
  c.header = header(WEFT_OPCODE_MATMUL, static_cast<uint16_t>(i),
                    {.wait0 = kFilled,
                     .wait_count0 = 1,
                     .wait1 = kAccFree,
                     .wait_count1 = 1,
                     .post0 = kComputed,
                     .post_count0 = 1,
                     .post1 = kFree,
                     .post_count1 = 1});
  c.x_addr = i % 2 * l.x_words, c.x_row_stride = 1, c.x_tile_stride = l.rows;
  c.w_addr = l.w_word, c.w_tile_stride = chip.n;
  c.k = kTiles * chip.n, c.m = static_cast<uint16_t>(l.rows), c.cols = static_cast<uint16_t>(chip.n);
  c.acc_row = static_cast<uint16_t>(i % 2 * chip.acc_bank_rows), c.dtype = WEFT_MXU_DTYPE_BF16;
  return encode(c);
}

spec::Command epilogue(const spec::Chip& chip, const Layout& l, unsigned i) {
  spec::VpuCommand c;
  c.header = header(WEFT_OPCODE_EPILOGUE, static_cast<uint16_t>(i),
                    {.wait0 = kComputed, .wait_count0 = 1, .post0 = kAccFree, .post_count0 = 1});
  c.src_space = WEFT_VPU_SPACE_ACC, c.src_dtype = WEFT_VPU_DTYPE_F32, c.dst_dtype = WEFT_VPU_DTYPE_BF16;
  c.rows = static_cast<uint16_t>(l.rows), c.cols = static_cast<uint16_t>(chip.n);
  c.a_addr = i % 2 * chip.acc_bank_rows, c.a_stride = 1, c.d_addr = l.y_word, c.d_stride = 1;
  c.activation = WEFT_VPU_ACTIVATION_RELU;
  return encode(c);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string chip_name = argc > 1 ? argv[1] : "v5e-1mxu";
  bench::CoreBench bench(chip_name);
  const spec::Chip& chip = bench.chip;
  const unsigned products = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : chip.n >= 128 ? 24 : 2000;
  Layout l{};
  l.rows = chip.acc_bank_rows;
  l.x_words = kTiles * l.rows;
  l.w_word = 2 * l.x_words;
  l.y_word = l.w_word + kTiles * chip.n;

  auto& hbm = bench.bus.memory(WEFT_ADDRESS_SPACE_HBM);
  for (size_t i = 0; i < hbm.size() / 2; i++) {  // bf16 of about 1
    hbm[2 * i] = static_cast<std::byte>(i * 37);
    hbm[2 * i + 1] = static_cast<std::byte>(i % 3 == 0 ? 0xbf : 0x3f);
  }
  spec::DmaCommand weights;
  weights.header = header(WEFT_OPCODE_COPY, 0xffff, {});
  weights.src_seg = 1, weights.dst_off = uint64_t{l.w_word} * chip.word_bytes,
  weights.size0 = kTiles * chip.n * chip.word_bytes;
  if (!bench.push(WEFT_QUEUE_DMA_IN, encode(weights)) || !bench.run()) return EXIT_FAILURE;
  bench.write(WEFT_CSR_SEMAPHORE + 8 * kFree, 2);
  bench.write(WEFT_CSR_SEMAPHORE + 8 * kAccFree, 2);
  bench.write(WEFT_CSR_COUNTER_CLEAR, 1);

  const uint64_t first = bench.core->cycle();
  const auto start = std::chrono::steady_clock::now();
  std::array<unsigned, 3> pushed{};
  while (pushed[2] < products || bench.core->busy()) {
    while (pushed[0] < products && bench.core->push(WEFT_QUEUE_DMA_IN, load(chip, l, pushed[0]))) pushed[0]++;
    while (pushed[1] < products && bench.core->push(WEFT_QUEUE_MXU, product(chip, l, pushed[1]))) pushed[1]++;
    while (pushed[2] < products && bench.core->push(WEFT_QUEUE_VPU, epilogue(chip, l, pushed[2]))) pushed[2]++;
    bench.core->advance(bench.core->cycle() + 100);
    if (bench.read(WEFT_CSR_FAULT_CODE) != 0) {
      std::fprintf(stderr, "fault %u at %llu\n", bench::fault(bench).code,
                   static_cast<unsigned long long>(bench::fault(bench).address));
      return EXIT_FAILURE;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const uint64_t cycles = bench.read(WEFT_CSR_LAST_RETIRE_CYCLE) - first;
  const auto counters = bench.counters();
  const auto macs = static_cast<double>(counters[WEFT_COUNTER_MXU_MACS]);
  std::printf("%s: %u products, %llu cycles in %.2f s\n", chip_name.c_str(), products,
              static_cast<unsigned long long>(cycles), seconds);
  std::printf("  %.1f k cycles/s, %.0f M MAC/s, MXU busy %.1f %%, utilisation %.1f %%\n",
              static_cast<double>(cycles) / seconds * 1e-3, macs / seconds * 1e-6,
              100.0 * static_cast<double>(counters[WEFT_COUNTER_MXU_BUSY]) / static_cast<double>(cycles),
              100.0 * macs / (static_cast<double>(cycles) * static_cast<double>(chip.peak_macs_per_cycle)));
  return EXIT_SUCCESS;
}
