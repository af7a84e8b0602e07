// Chooses the largest K chunk, and resident weights if they fit.
#include "host/compiler/tiles/gemm_tiling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/compiler/layout.hpp"

namespace weft::compiler {
namespace {

constexpr uint64_t kAccBlocks = 4;    // of sums, of a bank
constexpr uint64_t kOutputSlots = 4;  // results on their way to memory

std::vector<Span> cut(uint64_t total, uint64_t size) {
  std::vector<Span> spans;
  for (uint64_t first = 0; first < total; first += size) spans.push_back({first, std::min(size, total - first)});
  return spans;
}

/// VMEM words of all slots, of which each begins at an even one.
uint64_t words_of(const GemmTiling& plan) {
  const auto even = [](uint64_t words) { return (words + 1) / 2 * 2; };
  return even(kOutputSlots * plan.output_slot_words) + even(plan.bias_slots * 2) +
         even(plan.x_slots * plan.x_slot_words) + even(plan.weight_slots * plan.weight_slot_words);
}

/// Rows of the first chunk: every block of it brings weights along, so it must be computed no faster than HBM brings
/// them.
uint64_t first_rows(const spec::Chip& chip, uint64_t tiles) {
  const uint64_t weight_bytes = tiles * chip.n * chip.word_bytes;
  const uint64_t load_cycles = weight_bytes * chip.clock_hz / chip.hbm_bytes_per_second;
  return load_cycles * chip.num_mxu > tiles * chip.n ? 2 * chip.n : chip.n;
}

/// Chooses K chunks and weight slots for the rows and stores that the caller has chosen. False: VMEM is too small.
bool complete(const spec::Chip& chip, uint64_t rows, uint64_t vmem_words, GemmTiling& plan) {
  plan.output_slot_words = (rows * plan.store_blocks * plan.output_row_words + 1) / 2 * 2;
  for (uint64_t chunk_tiles = plan.tiles;; chunk_tiles = (chunk_tiles + 1) / 2) {
    plan.k_chunks = cut(plan.tiles, chunk_tiles);
    plan.x_row_stride = conflict_free_stride(chunk_tiles, chip.vmem_banks);
    plan.x_slot_words = rows * plan.x_row_stride;
    if (chunk_tiles == plan.tiles) {
      plan.weights_resident = true;
      plan.weight_slots = plan.column_blocks;
      plan.weight_slot_words = plan.tiles * chip.n;
      if ((plan.words_used = words_of(plan)) <= vmem_words) return true;
    }
    plan.weights_resident = false;
    plan.weight_slot_words = chunk_tiles * chip.n;
    for (plan.weight_slots = 4 * chip.num_mxu; plan.weight_slots >= 2; plan.weight_slots--)
      if ((plan.words_used = words_of(plan)) <= vmem_words) return true;
    if (chunk_tiles == 1) return false;
  }
}

}  // namespace

uint64_t blocks_of_store(const spec::Chip& chip, uint64_t tiles, uint64_t column_blocks, uint64_t rows,
                         uint64_t row_words) {
  constexpr uint64_t kMost = 8, kChannels = 2;
  const uint64_t block_cycles =
      std::max(tiles * std::max(rows, uint64_t{chip.pe_latency} * chip.n) / chip.num_mxu, rows);
  const uint64_t row_bytes = row_words * chip.word_bytes;
  const uint64_t transfer = rows * std::max<uint64_t>(1, row_bytes * chip.clock_hz / chip.hbm_bytes_per_second);
  uint64_t blocks = 1;
  while (blocks < kMost && blocks < column_blocks &&
         chip.hbm_write_latency_cycles + blocks * transfer > kChannels * blocks * block_cycles)
    blocks *= 2;
  return std::min(blocks, column_blocks);
}

uint64_t conflict_free_stride(uint64_t tiles, uint64_t banks) { return tiles / banks * banks + banks - 1; }

std::vector<Span> cut_rows(const spec::Chip& chip, uint64_t total, uint64_t first_rows) {
  const uint64_t edge = chip.n;
  if (chip.pe_latency > 2) {  // 2 N rows would leave the array idle between tiles; an ACC bank has 4 N
    const uint64_t chunks = std::max<uint64_t>(1, (total + 4 * edge - 1) / (4 * edge));
    return cut(total, (total + chunks - 1) / chunks);
  }
  if (total < 2 * edge) return {{0, total}};
  uint64_t first = first_rows != 0 && total >= 4 * edge ? first_rows : edge;
  std::vector<Span> chunks{{0, first}};
  while (total - first >= 2 * edge) {
    const uint64_t count = std::min(2 * edge, total - first - edge);
    chunks.push_back({first, count});
    first += count;
  }
  chunks.push_back({first, total - first});
  return chunks;
}

Result<GemmTiling> plan_gemm(const spec::Chip& chip, const DenseStep& step, uint64_t vmem_words) {
  GemmTiling plan;
  plan.tile_k = tile_k(chip, step.dtype);
  plan.tiles = (step.k + plan.tile_k - 1) / plan.tile_k;
  plan.column_blocks = (step.n + chip.n - 1) / chip.n;
  plan.row_chunks = cut_rows(chip, step.m, first_rows(chip, plan.tiles));
  uint64_t rows = 0;
  for (const auto& chunk : plan.row_chunks) rows = std::max(rows, chunk.count);
  plan.acc_blocks = std::clamp<uint64_t>(chip.acc_bank_rows / rows, 1, kAccBlocks);
  plan.output_row_words = step.y_dtype == WEFT_VPU_DTYPE_BF16 ? 1 : 2;
  if (step.bias) {
    plan.bias_resident = plan.column_blocks * 2 <= vmem_words / 16;
    plan.bias_slots = plan.bias_resident ? plan.column_blocks : 6 + 2 * plan.acc_blocks * chip.num_mxu;
  }
  if (!complete(chip, rows, vmem_words, plan))
    return Error{
        WEFT_ERROR_NO_DEVICE_MEMORY,
        fmt::format("{}: the smallest tiling of {} x {} x {} needs {} bytes of VMEM, chip {} has {}", step.name, step.m,
                    step.k, step.n, plan.words_used * chip.word_bytes, chip.name, chip.vmem_bytes)};
  // Wider stores take no room from operands.
  const uint64_t most = blocks_of_store(chip, plan.tiles, plan.column_blocks, rows, plan.output_row_words);
  for (uint64_t blocks = most; blocks > 1; blocks /= 2) {
    GemmTiling wider = plan;
    wider.store_blocks = blocks;
    if (complete(chip, rows, vmem_words, wider) && wider.k_chunks.size() == plan.k_chunks.size() &&
        wider.weight_slots == plan.weight_slots && wider.weights_resident == plan.weights_resident)
      return wider;
  }
  return plan;
}

}  // namespace weft::compiler
