/// The critical batch: how many rows a product needs to be bound by the MXUs and no longer by its weights.
///
///   critical_batch [--json]
///
/// Column blocks of W stream from HBM through slots of VMEM, once each, dealt out to all MXUs; B rows of x lie in VMEM.
/// In the steady state a wave of blocks, one an MXU, takes max(weights / HBM bandwidth, tiles max(B, N)) cycles.
/// Measured on the fast core is the smallest B whose wave takes tiles B cycles, to 0.2 %. "From VMEM": the weights are
/// there.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "testbench/unit/model_core/core_bench.hpp"

namespace {

using namespace weft;

constexpr unsigned kTiles = 8;       // K tiles of a column block
constexpr unsigned kFirst = 24;      // products before the steady state; a multiple of any number of MXUs
constexpr unsigned kMeasured = 32;   // products that are measured
constexpr uint8_t kConsumed = 40;    // posted by each MATMUL
constexpr unsigned kReadyRing = 32;  // semaphores 0 .. 31: the weights of product i are there
constexpr unsigned kSlots = 12;      // of VMEM that weights go through; with 8 of them v5p measures 219 rows, not 166
constexpr double kTolerance = 0.002;

struct Question {
  std::string name, chip;
  weft_mxu_dtype dtype;
  bool from_vmem;
  double published;
};

const std::vector<Question> kQuestions{
    {"v5e, bf16, weights from HBM", "v5e", WEFT_MXU_DTYPE_BF16, false, 240},
    {"v5e, int8, weights from HBM", "v5e", WEFT_MXU_DTYPE_INT8, false, 271},
    {"v5e, bf16, weights from VMEM", "v5e", WEFT_MXU_DTYPE_BF16, true, 128},
    {"v5p, bf16, weights from HBM", "v5p", WEFT_MXU_DTYPE_BF16, false, 165},
    {"v6e, bf16, weights from HBM", "v6e", WEFT_MXU_DTYPE_BF16, false, 570},
    {"one MXU of v5e, bf16, weights from HBM", "v5e-1mxu", WEFT_MXU_DTYPE_BF16, false, 128},
    {"one MXU of v5e, bf16, weights from VMEM", "v5e-1mxu", WEFT_MXU_DTYPE_BF16, true, 128},
};

struct Retired final : core::CoreObserver {
  void command_started(weft_unit_index, const spec::Command&, uint64_t) override {}
  void command_retired(weft_unit_index, const spec::Command& command, uint64_t cycle) override {
    if (command.bytes[0] == WEFT_OPCODE_MATMUL) cycles.push_back(cycle);
  }
  std::vector<uint64_t> cycles;
};

/// Rows at which weights and arithmetic take equally long, and a shadow load of N cycles is hidden.
double closed_form(const Question& q, const spec::Chip& chip) {
  if (q.from_vmem) return chip.n;
  const double bytes_a_cycle = static_cast<double>(chip.hbm_bytes_per_second) / static_cast<double>(chip.clock_hz);
  return std::max<double>(chip.n, chip.num_mxu * chip.n * chip.word_bytes / bytes_a_cycle);
}

/// Cycles of a wave in the steady state with `rows` rows of x; nothing if the program does not run.
std::optional<double> wave_cycles(const Question& q, unsigned rows) {
  bench::CoreBench bench(q.chip, core::CoreKind::kFast);
  Retired log;
  bench.core->set_observer(&log);
  const spec::Chip& chip = bench.chip;
  const uint32_t block_words = kTiles * chip.n;
  const uint32_t x_stride = chip.vmem_banks - 1;  // rows walk the banks downwards, as weights do
  const uint32_t weights = rows * x_stride / chip.vmem_banks * chip.vmem_banks + chip.vmem_banks;
  for (unsigned i = 0; i < kFirst + kMeasured + 1; i++) {
    const auto ready = static_cast<uint8_t>(i % kReadyRing);
    const uint32_t word = weights + i % kSlots * block_words;
    if (!q.from_vmem) {
      spec::DmaCommand load;
      bench::Semaphores tie{.post0 = ready, .post_count0 = 1};
      if (i >= kSlots) tie.wait0 = kConsumed, tie.wait_count0 = 1;
      load.header = bench::header(WEFT_OPCODE_COPY, static_cast<uint16_t>(i), tie);
      load.src_seg = 1;
      load.dst_off = uint64_t{word} * chip.word_bytes;
      load.size0 = block_words * chip.word_bytes;
      if (!bench.push(WEFT_QUEUE_DMA_IN, encode(load))) return std::nullopt;
    }
    spec::MxuCommand product;
    bench::Semaphores tie;
    if (!q.from_vmem) {
      tie.wait0 = ready, tie.wait_count0 = 1;
      tie.post0 = kConsumed, tie.post_count0 = 1;
    }
    product.header = bench::header(WEFT_OPCODE_MATMUL, static_cast<uint16_t>(i), tie);
    product.x_row_stride = x_stride, product.x_tile_stride = 1;
    product.w_addr = word, product.w_tile_stride = chip.n;
    product.k = kTiles * chip.n * (q.dtype == WEFT_MXU_DTYPE_INT8 ? 2 : 1);
    product.m = static_cast<uint16_t>(rows), product.cols = static_cast<uint16_t>(chip.n);
    product.acc_row = static_cast<uint16_t>(i / chip.num_mxu % 2 * chip.acc_bank_rows);
    product.dtype = static_cast<uint8_t>(q.dtype);
    product.mxu = static_cast<uint8_t>(i % chip.num_mxu);
    if (!bench.push(WEFT_QUEUE_MXU, encode(product))) return std::nullopt;
  }
  if (!bench.run() || bench::fault(bench).code != 0 || log.cycles.size() != kFirst + kMeasured + 1) return std::nullopt;
  const auto cycles = static_cast<double>(log.cycles[kFirst + kMeasured] - log.cycles[kFirst]);
  return cycles * chip.num_mxu / kMeasured;
}

/// The smallest number of rows that keeps the MXUs busy all the time; 0: a program did not run.
unsigned measure(const Question& q, const spec::Chip& chip) {
  unsigned low = 0, high = chip.acc_bank_rows;  // low: bound by weights, high: by the MXUs
  while (high - low > 1) {
    const unsigned rows = (low + high) / 2;
    const auto cycles = wave_cycles(q, rows);
    if (!cycles) return 0;
    (*cycles <= kTiles * rows * (1 + kTolerance) ? high : low) = rows;
  }
  return high;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Rows at which a product with weights from HBM becomes bound by the MXUs, on the fast core"};
  bool json = false;
  app.add_flag("--json", json, "print a list of {name, chip, published, closed_form, measured}");
  CLI11_PARSE(app, argc, argv);
  auto rows = nlohmann::json::array();
  bool good = true;
  if (!json) fmt::print("{:42} {:>9} {:>11} {:>8}\n", "critical batch (rows)", "published", "closed form", "measured");
  for (const Question& q : kQuestions) {
    const spec::Chip& chip = *spec::find_chip(q.chip);
    const unsigned measured = measure(q, chip);
    const double expected = closed_form(q, chip);
    good = good && measured != 0;
    rows.push_back({{"name", q.name},
                    {"chip", q.chip},
                    {"published", q.published},
                    {"closed_form", expected},
                    {"measured", measured}});
    if (!json) fmt::print("{:42} {:>9.0f} {:>11.1f} {:>8}\n", q.name, q.published, expected, measured);
  }
  if (json) fmt::print("{}\n", rows.dump(1));
  if (!good) fmt::print(stderr, "critical_batch: a program did not run to its end\n");
  return good ? 0 : 1;
}
